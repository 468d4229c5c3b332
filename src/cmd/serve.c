/*
 * stook serve: the page and the API over a store, without sampling anything.
 *
 *	$ stook serve --store /var/lib/stook/store
 *	stook: serving '/var/lib/stook/store' at unix:/run/stook/stook.sock
 *
 * stook open: a link to the page of a server that listens at a Unix socket, for a browser, which cannot connect to one.
 *
 *	$ sudo stook open
 *	http://127.0.0.1:40123/#token=6f1c0e…
 *	stook: the link is valid until Ctrl-C
 */
#include "cmd/commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cmd/options/option_table.h"
#include "run/complain.h"
#include "serve/serve.h"

/* context: where the word belongs. */
static int refuse_word(void *context, const char *word, struct error *error)
{
	(void)error_set(error, -EINVAL, "unexpected argument '%s'", word);
	error_hint(error, "%s", (const char *)context);
	return -EINVAL;
}

/* --- serve ------------------------------------------------------------------------------------ */

/* For the handler. */
static const char *socket_path;
static pid_t own_pid;

static void remove_socket(int number)
{
	/* The server proper may not do this. */
	if (getpid() != own_pid)
		_exit(EXIT_FAILED);
	(void)unlink(socket_path);
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

static void remove_socket_at_end(const char *path)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	size_t i;

	socket_path = path;
	own_pid = getpid();
	for (i = 0; *path && i < ARRAY_SIZE(numbers); i++)
		(void)signal(numbers[i], remove_socket);
}

static const struct option_row serve_rows[] = {
	OPTION_TEXT(0, "store", "PATH", struct serve_options, store, "the store to read"),
	OPTION_TEXT(0, "listen", "WHERE", struct serve_options, listen,
		    "unix:PATH, for this user only (default: a socket in /run/stook), or "
		    "ADDRESS:PORT, with a token"),
	OPTION_TEXT(0, "token-file", "FILE", struct serve_options, token_file,
		    "the token that requests to ADDRESS:PORT must have"),
};

static int parse_serve(struct serve_options *options, int argc, char **argv, struct error *error)
{
	const struct option_group group = {serve_rows, ARRAY_SIZE(serve_rows), options};
	const struct option_table table = {
		.groups = &group,
		.nr_groups = 1,
		.take_word = refuse_word,
		.context = (void *)"a store is given by --store",
		.usage = "usage: stook serve --store PATH [--listen WHERE] [--token-file FILE]\n"
			 "\n"
			 "Serves a page and an API with what 'stook agent' keeps. Needs no rights\n"
			 "but to read the store.\n",
		.examples =
			"\nexamples:\n"
			"  stook serve --store STORE\n"
			"  stook serve --store STORE --listen 127.0.0.1:8080 --token-file TOKEN\n"
			"  curl --unix-socket /run/stook/stook.sock http://localhost/metrics",
	};
	int err = option_table_parse(&table, argc, argv, error);

	if (err || options->store)
		return err;
	(void)error_set(error, -EINVAL, "no store given");
	error_hint(error, "name the file that 'stook agent' writes: --store PATH");
	return -EINVAL;
}

int cmd_serve(int argc, char **argv)
{
	cleanup(serve_close) struct serving serving = {.fd = -1};
	struct serve_options options = {0};
	struct error error = {0};
	int err = parse_serve(&options, argc, argv, &error);

	if (err > 0)
		return 0;
	if (!err)
		err = serve_open(&serving, &options, &error);
	if (err) {
		complain_error(&error);
		return err == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	remove_socket_at_end(serving.socket);
	inform("serving '%s' at %s", options.store, serving.where);
	err = serve_run(&serving, NULL, &error);
	return complain_on_error(err, &error) ? 0 : EXIT_FAILED;
}

/* --- open ------------------------------------------------------------------------------------- */

struct open_options {
	const char *socket; /* NULL: the usual one */
};

static const struct option_row open_rows[] = {
	OPTION_TEXT(0, "socket", "FILE", struct open_options, socket,
		    "the server's socket (default: the one of 'stook serve')"),
};

static int parse_open(struct open_options *options, int argc, char **argv, struct error *error)
{
	const struct option_group group = {open_rows, ARRAY_SIZE(open_rows), options};
	const struct option_table table = {
		.groups = &group,
		.nr_groups = 1,
		.take_word = refuse_word,
		.context = (void *)"a socket is given by --socket",
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

static int relay(const struct open_options *options, struct error *error)
{
	cleanup(serve_close) struct serving serving = {.fd = -1};
	const char *socket = options->socket;
	char usual[sizeof(serving.socket)];
	int err;

	if (!socket)
		serve_usual_socket(usual);
	socket = socket ? socket : usual;
	if (!*socket) {
		(void)error_set(error, -EINVAL,
				"there is no folder for a socket: no XDG_RUNTIME_DIR");
		error_hint(error, "--socket FILE");
		return -EINVAL;
	}
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
	int err = parse_open(&options, argc, argv, &error);

	if (err > 0)
		return 0;
	if (err) {
		complain_error(&error);
		return EXIT_USAGE;
	}
	err = relay(&options, &error);
	return complain_on_error(err, &error) ? 0 : EXIT_FAILED;
}
