/*
 * Listening, and the process that keeps the rights to open the store's files, or to connect to another server: it
 * parses nothing.
 */
#include "serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "base/text.h"
#include "serve/server.h"
#include "worker/sandbox.h"

#define BACKLOG	      128
#define UNIX	      "unix:"
#define LISTEN_WANTED "unix:PATH or ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:8080"

/* --- a socket in the file system -------------------------------------------------------------- */

void serve_usual_socket(char ret[sizeof(((struct serving *)0)->socket)])
{
	const size_t nr = sizeof(((struct serving *)0)->socket);
	const char *folder = geteuid() == 0 ? "/run/stook" : getenv("XDG_RUNTIME_DIR");

	if (!folder || (size_t)snprintf(ret, nr, "%s/stook.sock", folder) >= nr)
		*ret = '\0';
}

/* Removes our socket if its listener is gone. */
static void remove_stale(const struct sockaddr_un *address)
{
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat status;

	if (fd >= 0 && lstat(address->sun_path, &status) == 0 && S_ISSOCK(status.st_mode) &&
	    status.st_uid == geteuid() &&
	    connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
	    errno == ECONNREFUSED)
		(void)unlink(address->sun_path);
}

/* 0 or -EINVAL. */
static int set_path(struct sockaddr_un *address, const char *path)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (!*path || strlen(path) >= sizeof(address->sun_path))
		return -EINVAL;
	(void)strcpy(address->sun_path, path);
	return 0;
}

static int listen_unix(struct serving *serving, const char *path, struct error *error)
{
	struct sockaddr_un address;
	mode_t mask;
	int result;

	if (set_path(&address, path) < 0)
		return error_set(error, -EINVAL,
				 "cannot listen at '%s': a socket's path has 1 to %zu bytes", path,
				 sizeof(address.sun_path) - 1);
	if (text_starts_with(path, "/run/stook/"))
		(void)mkdir("/run/stook", 0755);
	remove_stale(&address);
	serving->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (serving->fd < 0)
		return error_set_errno(error, "cannot make a socket");
	mask = umask(0177);
	result = bind(serving->fd, (struct sockaddr *)&address, sizeof(address));
	(void)umask(mask);
	if (result < 0)
		return error_set_errno(error, "cannot listen at '%s'", path);
	(void)strcpy(serving->socket, path);
	(void)snprintf(serving->where, sizeof(serving->where), UNIX "%s", path);
	return 0;
}

/* --- TCP -------------------------------------------------------------------------------------- */

/* "127.0.0.1:8080", "[::1]:8080", "localhost:8080" */
static int parse_address(const char *text, struct sockaddr_storage *ret, struct error *error)
{
	struct sockaddr_in *four = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret;
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2] = "";
	uint64_t port;
	size_t nr = colon ? (size_t)(colon - text) : 0;

	*ret = (struct sockaddr_storage){0};
	if (nr && nr < sizeof(host) && number_parse(colon + 1, UINT16_MAX, &port) == 0) {
		memcpy(host, text, nr);
		if (inet_pton(AF_INET, !strcmp(host, "localhost") ? "127.0.0.1" : host,
			      &four->sin_addr) == 1) {
			four->sin_family = AF_INET;
			four->sin_port = htons((uint16_t)port);
			return 0;
		}
		host[nr - 1] = host[nr - 1] == ']' ? '\0' : host[nr - 1];
		if (*host == '[' && inet_pton(AF_INET6, host + 1, &six->sin6_addr) == 1) {
			six->sin6_family = AF_INET6;
			six->sin6_port = htons((uint16_t)port);
			return 0;
		}
	}
	return error_set(error, -EINVAL, "bad value '%s' for --listen: %s", text, LISTEN_WANTED);
}

static int listen_tcp(struct serving *serving, const char *text, struct error *error)
{
	struct sockaddr_storage address;
	socklen_t nr = sizeof(address);
	const int on = 1;
	int err = parse_address(text, &address, error);
	const char *colon = strrchr(text, ':');

	if (err)
		return err;
	serving->fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (serving->fd < 0)
		return error_set_errno(error, "cannot make a socket");
	(void)setsockopt(serving->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	nr = address.ss_family == AF_INET ? sizeof(struct sockaddr_in)
					  : sizeof(struct sockaddr_in6);
	if (bind(serving->fd, (struct sockaddr *)&address, nr) < 0 ||
	    getsockname(serving->fd, (struct sockaddr *)&address, &nr) < 0)
		return error_set_errno(error, "cannot listen at '%s'", text);
	/* The port is at the same place in both. */
	serving->guard.port = ntohs(((struct sockaddr_in *)&address)->sin_port);
	(void)snprintf(serving->where, sizeof(serving->where), "http://%.*s:%u/",
		       (int)(colon - text), text, serving->guard.port);
	return 0;
}

static int read_token(struct guard *guard, const char *path, struct error *error)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[GUARD_MAX_TOKEN_BYTES + 8];
	struct error why = {0};
	struct stat status;
	ssize_t nr;

	if (fd < 0 || fstat(fd, &status) < 0)
		return error_set_errno(error, "cannot open token file '%s'", path);
	if (status.st_mode & S_IRWXO) {
		(void)error_set(error, -EPERM, "token file '%s' is open to other users", path);
		error_hint(error, "chmod o= '%s', and make a new token", path);
		return -EPERM;
	}
	nr = fd_read_up_to(fd, 0, text, sizeof(text));
	if (nr < 0)
		return error_set(error, (int)nr, "cannot read token file '%s': %s", path,
				 strerror((int)-nr));
	if (guard_set_token(guard, text, (size_t)nr, &why) == 0)
		return 0;
	(void)error_set(error, -EINVAL, "token file '%s': %s", path, why.text);
	error_hint(error, "head -c 24 /dev/urandom | base64 makes one");
	return -EINVAL;
}

/* --- the store -------------------------------------------------------------------------------- */

/* Without links in the path, the log is beside the store. */
static int find_files(struct serving *serving, const char *store, struct error *error)
{
	cleanup_free char *path = realpath(store, NULL);
	size_t i;

	if (!path && errno == ENOENT)
		path = strdup(store);
	if (!path)
		return error_set_errno(error, "cannot open store '%s'", store);
	for (i = 0; i < STORE_NR_FILES; i++) {
		serving->files[i] = text_printf("%s%s", path, store_files[i]);
		if (!serving->files[i])
			return error_no_memory(error, "");
	}
	return 0;
}

/* --- all of it -------------------------------------------------------------------------------- */

static int begin(struct serving *serving, int err, bool makes_token, struct error *error)
{
	if (!err && guard_make_secrets(&serving->guard, makes_token) < 0)
		err = error_set(error, -EIO, "cannot get random bytes");
	if (!err && listen(serving->fd, BACKLOG) < 0)
		err = error_set_errno(error, "cannot listen at '%s'", serving->where);
	return err;
}

int serve_open_local(struct serving *serving, struct error *error)
{
	*serving = (struct serving){.fd = -1, .question_bytes = SERVE_QUESTION_BYTES};
	return begin(serving, listen_tcp(serving, "127.0.0.1:0", error), true, error);
}

int serve_open(struct serving *serving, const struct serve_options *options, struct error *error)
{
	const char *where = options->listen;
	char usual[sizeof(serving->socket)];
	bool is_unix = !where || text_starts_with(where, UNIX);
	int err;

	*serving = (struct serving){
		.fd = -1,
		.question_bytes = options->question_bytes ?: SERVE_QUESTION_BYTES,
	};
	err = find_files(serving, options->store, error);
	if (err)
		return err;
	if (!where)
		serve_usual_socket(usual);
	if (!where && !*usual) {
		(void)error_set(error, -EINVAL,
				"there is no folder for a socket: no XDG_RUNTIME_DIR");
		error_hint(error, "--listen unix:PATH");
		return -EINVAL;
	}
	if (!is_unix && !options->token_file) {
		(void)error_set(error, -EINVAL, "--listen %s needs a token: --token-file FILE",
				where);
		error_hint(error,
			   "every local user can connect to it; with unix:PATH, only this one can");
		return -EINVAL;
	}
	if (!is_unix)
		err = read_token(&serving->guard, options->token_file, error);
	if (!err)
		err = !is_unix ? listen_tcp(serving, where, error)
			       : listen_unix(serving, where ? where + strlen(UNIX) : usual, error);
	return begin(serving, err, false, error);
}

void serve_close(struct serving *serving)
{
	size_t i;

	cleanup_close_fd(&serving->fd);
	if (*serving->socket)
		(void)unlink(serving->socket);
	for (i = 0; i < STORE_NR_FILES; i++)
		free(serving->files[i]);
	*serving = (struct serving){.fd = -1};
}

static int work(void *context, struct sandbox *sandbox, struct error *error)
{
	return server_run(context, sandbox, error);
}

/* Runs the server, and opens files for it. Returns a negative errno. */
static int run(struct server_options *options, size_t nr_files, store_open_fn *open,
	       struct error *error)
{
	const struct sandbox_host host = {
		.paths = options->files,
		.nr_paths = nr_files,
		.open = open,
		.fds = &options->listen_fd,
		.nr_fds = 1,
		.is_server = true,
		.work = work,
		.context = options,
	};

	/* The server may not change it. */
	(void)signal(SIGPIPE, SIG_IGN);
	return sandbox_run(&host, error);
}

int serve_run(const struct serving *serving, const struct shared_status *status,
	      struct error *error)
{
	struct server_options options = {
		.listen_fd = serving->fd,
		.guard = &serving->guard,
		.files = {serving->files[0], serving->files[1], serving->files[2]},
		.question_bytes = serving->question_bytes,
		.status = status,
	};

	return run(&options, STORE_NR_FILES, store_open_file, error);
}

/* Does not wait for a server that accepts nothing. The relay, which gets the connection, waits for the answer. */
static int connect_to(void *context, const char *path)
{
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;

	if (set_path(&address, path) < 0)
		return -EINVAL;
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    fcntl(fd, F_SETFL, 0) < 0)
		return -errno;
	return take_fd(&fd);
}

int serve_relay(const struct serving *serving, const char *socket, struct error *error)
{
	struct server_options options = {
		.listen_fd = serving->fd,
		.guard = &serving->guard,
		.files = {socket},
		.is_relay = true,
		.question_bytes = serving->question_bytes,
	};

	return run(&options, 1, connect_to, error);
}
