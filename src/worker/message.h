/*
 * Messages between stook and its workers. Each is one datagram on a SOCK_SEQPACKET socket pair. Both ends run
 * the same executable, so structs are sent as they are. Messages from parsers are checked like any untrusted
 * input, since a file may have compromised the parser.
 *
 *	stook ──parser_call──▶ parser ──parser_reply──▶ stook      control sockets
 *	stook ──opener_call──▶ opener ──opener_reply──▶ stook
 *	opener (or stook) ──delivery──▶ parser                     the parser's inbox: a descriptor or an errno
 *
 * The only descriptors that stook receives are O_PATH handles of files and roots, from the opener.
 *
 * Questions and answers are in the parser's buffer, a memfd created by stook. Stook writes the question to it,
 * the parser replaces it by the answer.
 */
#ifndef STOOK_WORKER_MESSAGE_H
#define STOOK_WORKER_MESSAGE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/file_open.h"
#include "proc/look.h"
#include "worker/worker.h"

/* Descriptors that are open when a worker starts. */
enum {
	WORKER_CONTROL_FD = 3,
	PARSER_INBOX_FD = 4,
	PARSER_BUFFER_FD = 5,
};

/* argv[0] of the two kinds of workers. */
#define OPENER_NAME "stook-opener"
#define PARSER_NAME "stook-parser"

struct parser_call {
	uint32_t job;
	uint32_t task;	   /* index into the table of tasks */
	uint32_t delivery; /* number under which the file is delivered; 0: no file */
	uint32_t reserved;
	uint64_t question_bytes;
	uint64_t data_bytes; /* that the parser may have allocated; 0: no limit */
};

enum parser_reply_kind {
	PARSER_DONE = 1,   /* the answer is in the buffer, or err < 0 */
	PARSER_WANTS,	   /* `want`, to be delivered as number `delivery` */
	PARSER_CONFINED,   /* comes first, with a question: it has dropped its rights */
	PARSER_UNCONFINED, /* in its place: it could not, and exits; `want.name` is the reason */
};

struct parser_reply {
	uint32_t job;
	uint32_t kind;
	int32_t err;
	uint32_t delivery;
	uint64_t answer_bytes;
	struct worker_want want;
};

/* If err is 0, the descriptor is attached. */
struct delivery {
	uint32_t number;
	int32_t err;
	uint32_t path;	       /* number of the path that was opened */
	char opened[PATH_MAX]; /* that path; sent only up to its NUL */
};

enum opener_action {
	OPENER_REOPEN = 1, /* open the attached handle for reading */
	OPENER_PATHS,	/* open the first possible path below the attached root, or below our own */
	OPENER_OWNED,	/* likewise, only files that belong to one of the owners */
	OPENER_WRITTEN, /* likewise, of a file that a process wrote for others to read */
	OPENER_LOOK,	/* at the file with the id and the path, see proc/look.h */
	OPENER_LOOK_AT_MAPS,	/* of process pid */
	OPENER_LOOK_AT_PROCESS, /* pid */
	OPENER_PARSER,		/* use the attached socket as this parser's inbox from now on */
	OPENER_TASK, /* run the task; the question is in the attached memfd, behind a struct opener_progress */
};

struct opener_call {
	uint32_t number;
	uint32_t action;
	uint32_t parser;
	uint32_t delivery;
	uint32_t first; /* of the paths to try */
	uint32_t task;
	struct file_owners owners;
	uint64_t written_since_ns;
	int32_t pid;
	uint64_t start, end;
	struct file_id id;
	char paths[WORKER_PLACE_BYTES]; /* each with its NUL; only those are sent */
};

/* A mapping as it is sent, with its path behind it. */
struct mapping_message {
	uint64_t start, end, offset;
	struct file_id id;
	uint32_t is_memory;
	uint32_t path_bytes; /* with its NUL, and padded to 8 bytes */
};

/* Written by a task of the opener before each step that may hang: the step. */
struct opener_progress {
	char what[WORKER_DOING_BYTES];
};

#define REPLY_BYTES (32u << 10)

/* The opener's first message has this number, which no call has, and nothing else: it has started. */
#define OPENER_READY 0

/*
 * The last one is sent after the call is finished, successful or not, and its descriptors are closed. With
 * OPENER_LOOK, the handles of the file and of the root are attached, as far as there are any; with OPENER_TASK,
 * those of a part of the answer.
 */
struct opener_reply {
	uint32_t number;
	uint32_t is_last;
	struct file_looked file;       /* the answer to OPENER_LOOK */
	struct process_looked process; /* the answer to OPENER_LOOK_AT_PROCESS */
	struct maps_looked maps;       /* the last answer to OPENER_LOOK_AT_MAPS */
	int32_t task_err;	       /* the last answer to OPENER_TASK */
	uint32_t reserved;
	char bytes
		[REPLY_BYTES]; /* mappings, or a part of a task's answer; only the used part is sent */
};

_Static_assert(offsetof(struct opener_reply, bytes) % 8 == 0, "a part of an answer is aligned");

#define MESSAGE_FDS_MAX WORKER_HANDLES_MAX

/*
 * Sends one datagram with descriptors (nr_fds may be 0). 0 or a negative errno; -EAGAIN: the socket is
 * full.
 */
int message_send(int socket, const void *message, size_t nr, const int *fds, size_t nr_fds);

/*
 * Receives one datagram; waits for it unless flags has MSG_DONTWAIT. fds[0 … nr_fds-1] are the attached descriptors, or
 * -1. Returns the number of bytes; -ECONNRESET: the peer is gone; -EPROTO: the datagram is longer than nr; or
 * another negative errno.
 */
ssize_t message_receive(int socket, void *message, size_t nr, int flags, int *fds, size_t nr_fds);

#endif
