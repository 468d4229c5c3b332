/*
 * stook serve: the page and the API over a store, without sampling anything.
 *
 *	$ stook serve --store /var/lib/stook/store
 *	stook: serving '/var/lib/stook/store' at unix:/run/stook/stook.sock
 */
#include "cmd/commands.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cmd/options/option_table.h"
#include "run/complain.h"
#include "serve/serve.h"

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

static int refuse_word(void *context, const char *word, struct error *error)
{
	(void)error_set(error, -EINVAL, "unexpected argument '%s'", word);
	error_hint(error, "a store is given by --store");
	return -EINVAL;
}

static const struct option_row rows[] = {
	OPTION_TEXT(0, "store", "PATH", struct serve_options, store, "the store to read"),
	OPTION_TEXT(0, "listen", "WHERE", struct serve_options, listen,
		    "unix:PATH, for this user only (default: a socket in /run/stook), or "
		    "ADDRESS:PORT, with a token"),
	OPTION_TEXT(0, "token-file", "FILE", struct serve_options, token_file,
		    "the token that requests to ADDRESS:PORT must have"),
};

static int parse(struct serve_options *options, int argc, char **argv, struct error *error)
{
	const struct option_group group = {rows, ARRAY_SIZE(rows), options};
	const struct option_table table = {
		.groups = &group,
		.nr_groups = 1,
		.take_word = refuse_word,
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
	int err = parse(&options, argc, argv, &error);

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
