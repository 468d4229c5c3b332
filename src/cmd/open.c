/*
 * stook open: a link to the page of a server that listens at a Unix socket, for a browser, which cannot connect to one.
 *
 *	$ sudo stook open
 *	http://127.0.0.1:40123/#token=6f1c0e…
 *	stook: the link is valid until Ctrl-C
 */
#include "cmd/commands.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cmd/options/option_table.h"
#include "run/complain.h"
#include "serve/serve.h"

struct open_options {
	const char *socket; /* NULL: the usual one */
};

static int refuse_word(void *context, const char *word, struct error *error)
{
	(void)error_set(error, -EINVAL, "unexpected argument '%s'", word);
	error_hint(error, "a socket is given by --socket");
	return -EINVAL;
}

static const struct option_row rows[] = {
	OPTION_TEXT(0, "socket", "FILE", struct open_options, socket,
		    "the server's socket (default: the one of 'stook serve')"),
};

static int parse(struct open_options *options, int argc, char **argv, struct error *error)
{
	const struct option_group group = {rows, ARRAY_SIZE(rows), options};
	const struct option_table table = {
		.groups = &group,
		.nr_groups = 1,
		.take_word = refuse_word,
		.usage = "usage: stook open [--socket FILE]\n"
			 "\n"
			 "Prints a link to the page of 'stook serve' or 'stook agent --listen', "
			 "and\n"
			 "keeps it open until it is stopped.\n",
		.examples = "\nexamples:\n"
			    "  stook open\n"
			    "  sudo stook open --socket /run/stook/agent.sock",
	};

	return option_table_parse(&table, argc, argv, error);
}

static int run(const struct open_options *options, struct error *error)
{
	cleanup(serve_close) struct serving serving = {.fd = -1};
	const char *socket = options->socket;
	char usual[sizeof(serving.socket)];
	int err;

	if (!socket)
		serve_usual_socket(usual);
	socket = socket ? socket : usual;
	if (access(socket, W_OK) < 0) {
		(void)error_set_errno(error, "cannot open socket '%s'", socket);
		error_hint(error,
			   "is 'stook serve' or 'stook agent --listen' running, as this user?");
		return error->code;
	}
	err = serve_open_local(&serving, error);
	if (err)
		return err;
	printf("%s#token=%s\n", serving.where, serving.guard.token);
	(void)fflush(stdout);
	inform("the link is valid until Ctrl-C");
	return serve_relay(&serving, socket, error);
}

int cmd_open(int argc, char **argv)
{
	struct open_options options = {0};
	struct error error = {0};
	int err = parse(&options, argc, argv, &error);

	if (err > 0)
		return 0;
	if (err) {
		complain_error(&error);
		return EXIT_USAGE;
	}
	err = run(&options, &error);
	return complain_on_error(err, &error) ? 0 : EXIT_FAILED;
}
