/*
 * Serves a store, or relays to a server that does: listens, and runs the server (serve/server.h) in a process without
 * rights, for which this one opens the store's files, or connects to the other server.
 */
#ifndef STOOK_SERVE_SERVE_H
#define STOOK_SERVE_SERVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/error.h"
#include "serve/guard.h"
#include "serve/status.h"
#include "store/store.h"

struct serve_options {
	const char *store;
	const char *listen;	 /* unix:PATH or ADDRESS:PORT; NULL: a socket of this user */
	const char *token_file;	 /* needed for an ADDRESS */
	uint64_t question_bytes; /* see serve/server.h; 0: SERVE_QUESTION_BYTES */
};

#define SERVE_QUESTION_BYTES (1ULL << 30)

struct serving {
	int fd;
	char *files[STORE_NR_FILES]; /* of the store, without links in their paths */
	char socket[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* empty: TCP */
	struct guard guard;
	uint64_t question_bytes;
	char where[192]; /* "unix:/run/stook/stook.sock", "http://127.0.0.1:8080/" */
};

/* The usual socket of this user; empty: there is no folder for it. */
void serve_usual_socket(char ret[sizeof(((struct serving *)0)->socket)]);

/*
 * Listens. The socket is for this user only; one that nobody listens to any more is replaced. The store need not exist
 * yet. 0; -EINVAL: options; or another negative errno. The caller ends with serve_close(), also after a failure.
 */
int serve_open(struct serving *serving, const struct serve_options *options, struct error *error);
void serve_close(struct serving *serving);

/* Listens at 127.0.0.1 and a free port, with a token of its own, for serve_relay(). */
int serve_open_local(struct serving *serving, struct error *error);

/* Passes requests that have the token on to the server behind a socket. Otherwise as serve_run(). */
int serve_relay(const struct serving *serving, const char *socket, struct error *error);

/* Serves until the process is killed, or the server ends. status: NULL: no agent. A negative errno. */
int serve_run(const struct serving *serving, const struct shared_status *status,
	      struct error *error);

#endif
