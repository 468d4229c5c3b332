/*
 * The server: an HTTP server (libevent's) in one process without rights, and a process for each question. Everything is
 * limited: connections, the time until a request is complete and until its answer has been read, questions at the same
 * time and in the queue, and the time and memory of each.
 */
#ifndef STOOK_SERVE_SERVER_H
#define STOOK_SERVE_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/guard.h"
#include "serve/status.h"
#include "store/store.h"
#include "worker/sandbox.h"

struct server_options {
	int listen_fd; /* bound and listening, not blocking */
	const struct guard *guard;
	/* Opened by the sandbox's host: the files of the store; or of a relay, the socket of another server alone. */
	const char *files[STORE_NR_FILES];
	bool is_relay; /* another server answers all questions */
	/*
	 * Address space of a question. With two at a time, their answers, and those that are being sent, the server may
	 * need 2.5 times as much memory.
	 */
	uint64_t question_bytes;
	const struct shared_status *status; /* NULL: no agent */
};

/* Serves until the process is killed or the host ends; returns only a negative errno. */
int server_run(const struct server_options *options, struct sandbox *sandbox, struct error *error);

#endif
