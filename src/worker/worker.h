/*
 * Helper processes that open and parse other people's files.
 *
 * Stook runs with rights over the whole host and must keep reading its ring buffers. Opening a file that
 * belongs to somebody else can block forever (a FUSE server that does not answer), and so can closing it;
 * parsing its bytes can crash or worse. So this is done by processes that may hang, crash, or be compromised:
 *
 *  - An *opener* may read everything. It opens files and passes the descriptors on; it parses nothing. If it
 *    hangs in a file for a second, it is abandoned and replaced. Its tasks search for files by name.
 *  - *Parsers* have no rights: no capability, their own user id, no files except the ones passed to them, and
 *    only a few dozen system calls. They answer questions about files.
 *
 * Stook itself holds only O_PATH handles of such files, which cannot block.
 *
 * The opener also looks at files and at the mappings of processes, for the tables of src/proc (proc/look.h):
 *
 *	worker_set_tables()	once
 *	worker_step()		sends the looks that the tables want, and gives them the results
 *
 * A question is a byte string for a *task*, which is one entry of the table passed to worker_main(). An answer
 * is a byte string as well; the caller must check it as it would check a file. A parser handles one question
 * at a time.
 */
#ifndef STOOK_WORKER_WORKER_H
#define STOOK_WORKER_WORKER_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/error.h"
#include "proc/file_open.h"
#include "proc/file_table.h"
#include "proc/process_table.h"
#include "proc/runtime_table.h"

/* Tasks of workers: indexes into the table passed to worker_main(). */
enum worker_task_number {
	TASK_UNWIND_TABLE, /* collect/unwind/table_worker */
	TASK_NAMES,	   /* sym/names_task */
	TASK_LINES,	   /* sym/source_lines */
	TASK_PROBES,	   /* probe/find/probes_task */
	TASK_NEEDED,	   /* probe/find/needed_task */
	TASK_PROGRAM,	   /* probe/find/program_task, of the opener */
	TASK_USERS,	   /* probe/find/users_task, of the opener */
	TASK_CONTEXTS,	   /* run/process_labels, of the opener */
	TASK_ATTRIBUTES,   /* likewise, of a parser */
	NR_TASKS,
};

/* --- in stook --------------------------------------------------------------------------------- */

/*
 * Each is a process of its own, started for its first question. Files that only root can write have a parser of
 * their own, so that their answers cannot be forged by a parser that another file has compromised.
 */
enum parser {
	PARSER_OTHER_FILES,
	PARSER_ROOT_FILES,
	NR_PARSERS,
};

/* Requests of a task to stook, for example for the debug file of the file that it parses. */
enum worker_want_kind {
	WANT_DEBUG_FILE =
		1, /* the debug file with this build id, or with this name from .gnu_debuglink */
	WANT_FROM_SERVER, /* the debug file with this build id, from a debuginfod server */
	WANT_PATH,	  /* the file at this path (name), which a debug file refers to */
	WANT_PERF_MAP,	  /* of the process that the question is about */
	WANT_JITDUMP,	  /* likewise */
	WANT_WORK,	  /* no file; -EEXIST if stook has the result for this build id already */
};

#define WORKER_ID_BYTES	  32 /* of a build id; worker.c checks it */
#define WORKER_NAME_BYTES 1024

/*
 * A file may be in several places, and have several names in each. They are tried in order, and the first that
 * can be opened is passed. If it is not the right one, the same request, which is left at the next name, is
 * repeated.
 */
struct worker_want {
	uint32_t kind;
	uint32_t place;
	uint32_t first; /* of the names at that place */
	uint32_t build_id_bytes;
	uint8_t build_id[WORKER_ID_BYTES];
	char name[WORKER_NAME_BYTES];
};

#define WORKER_PLACE_BYTES (2 * PATH_MAX)

/* A place where such a file may be. */
struct worker_place {
	int root_fd;	 /* O_PATH; -1: our own root */
	bool is_handle;	 /* root_fd is the file itself, and there are no paths */
	bool is_owned;	 /* only files of the owners are opened, see file_open_owned() */
	bool is_written; /* likewise, see file_open_written() */
	struct file_owners owners;
	uint64_t written_since_ns;
	char paths[WORKER_PLACE_BYTES]; /* each with its NUL */
	size_t nr;			/* bytes of paths */
};

/* Adds a path, unless there is no room for it. */
void worker_place_add(struct worker_place *place, const char *path);

/* In place of `major`, for what a process has written; `minor` is its pid. */
#define WORKER_NO_DEVICE UINT32_MAX

/*
 * Identity of a file, to give up one on which three workers have failed, or its device. Whoever arranged the mounts of a
 * process could have the disk of all given up, if a mount of his that does not answer were taken for it: by a path in his
 * root, or an overlayfs, which shows the numbers of what is below it.
 */
struct worker_file {
	uint32_t major, minor;
	uint64_t inode;
	uint64_t arranger; /* his failures are counted together; 0: the host's root */
};

static inline struct worker_file worker_file_of(const struct file_id *id)
{
	return (struct worker_file){id->major, id->minor, id->inode, id->arranger};
}

struct worker_question {
	uint32_t task;
	const void *bytes;
	size_t nr;
	int handle; /* O_PATH, of the file to parse; -1: none */
	struct worker_file file;
	uint64_t most_ns;    /* after this time the parser is killed */
	uint64_t most_bytes; /* size limit of the answer */
	bool is_large;	     /* see worker_limit_memory() */
	/*
	 * Finds want->place. 0; -ENODATA: there are no further places; -EINPROGRESS: worker_answer() will tell. The
	 * time that it takes does not count as the parser's. NULL: no requests.
	 */
	int (*place)(void *context, const struct worker_want *want, struct worker_place *ret);
	void *context;
};

struct worker;

/* Starts no process yet. Returns NULL on failure. */
struct worker *worker_new(struct error *error);

/*
 * Kills all workers, without waiting for one that cannot be killed, so that RUSAGE_CHILDREN includes their
 * cost. Pending questions fail with -ECANCELED; the next question starts a new parser.
 */
void worker_end(struct worker *worker);

/* Kills all workers likewise, and frees the worker, which may be NULL. */
void worker_free(struct worker *worker);

/*
 * Drops all questions, and answers that were not fetched, and kills the parsers that work on them; idle ones stay for
 * the next caller. The default niceness is set for all.
 */
void worker_take_over(struct worker *worker);

/* Sets the niceness of all helper processes. The default is that of worker_new()'s caller. */
void worker_set_niceness(struct worker *worker, int niceness);

/*
 * Limits the CPU time of parsers, also within a question: they may use most_ns at once, and a share of the elapsed time
 * of one CPU. While there is none left they are stopped, which does not count as time of a question. most_ns 0: no
 * limit.
 */
void worker_pace(struct worker *worker, uint64_t most_ns, double share);

/*
 * Limits the memory that parsers may allocate (RLIMIT_DATA). A question is first asked with little; if that is not
 * enough, its error is -ENOBUFS, and it may be asked again with much. Only one parser has much at a time, and keeps it
 * until another one needs it, which ends the first.
 */
struct worker_memory {
	size_t little_bytes, much_bytes; /* 0: no limit */
};

/* Ends all parsers. Not while a question is pending. */
void worker_limit_memory(struct worker *worker, const struct worker_memory *memory);

/* Starts a parser with a niceness that is lower by this much, until worker_take_over(). */
void worker_favor(struct worker *worker, enum parser parser, int by);

/* Starts a parser ahead of its first question. */
void worker_begin(struct worker *worker, enum parser parser);

/*
 * Sends a question to a parser. The question is copied and the handle duplicated, but question->context must
 * live until the answer is fetched. Returns 0; -EBUSY: it has a question already; -EAGAIN: it crashed a moment
 * ago, try later; -EOWNERDEAD: the file was given up; -EHOSTDOWN: its device was given up; or another negative
 * errno if no process can be started. For a large question, -EAGAIN also: another parser is at one.
 */
int worker_ask(struct worker *worker, enum parser parser, const struct worker_question *question);

/* The answer to a request for which place() returned -EINPROGRESS: a negative errno, no file. */
void worker_answer(struct worker *worker, enum parser parser, int err);

/* True if the parser has a question whose answer was not fetched yet. */
bool worker_is_busy(const struct worker *worker, enum parser parser);

/*
 * Reads the replies of workers, kills workers that are over their time, and sends the looks that the tables want.
 * Does not block.
 */
void worker_step(struct worker *worker);

/* The tables, which must outlive the worker; each may be NULL. Before this, there are no looks. */
void worker_set_tables(struct worker *worker, struct file_table *files,
		       struct process_table *processes, struct runtime_table *runtimes);

/* True if a look had a result since the last call. */
bool worker_has_looked(struct worker *worker);

/* True if looks were sent that have no result yet. */
bool worker_is_looking(const struct worker *worker);

/* Waits for the results of all looks. 0, or -ECANCELED when stop_fd (-1: none) becomes readable. */
int worker_wait_for_looks(struct worker *worker, uint64_t until_ns, int stop_fd);

/* Sets the niceness of the opener. */
void worker_set_opener_niceness(struct worker *worker, int niceness);

/*
 * Fetches an answer. -EAGAIN: not there yet. Otherwise the question is finished: 0 with the answer, which the
 * caller frees; the error of the task, of which -EAGAIN and -ECANCELED become -EIO, and -ENOMEM -ENOBUFS; -ETIME: too
 * late; -EFAULT: the parser died; -EPROTO: invalid reply; -EMSGSIZE: longer than most_bytes; -ENOMEM: no memory for it.
 */
int worker_fetch(struct worker *worker, enum parser parser, void **ret_bytes, size_t *ret_nr);

/* True for errors after which another worker may answer the same question: one died or was late, or is in its pause. */
static inline bool worker_may_answer_later(int err)
{
	return err == -EAGAIN || err == -ETIME || err == -EFAULT || err == -EPROTO || err == -EIO;
}

/* True for errors of worker_want() that say nothing about a file: the opener was late, died, or had no room. */
static inline bool worker_is_passing(int err)
{
	return worker_may_answer_later(err) || err == -EBUSY || err == -EHOSTDOWN ||
	       err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

/*
 * Returns a descriptor that is readable when worker_step() has a reply to read. Deadlines do not make it
 * readable, so waiting callers must also call worker_step() periodically.
 */
int worker_fd(const struct worker *worker);

/*
 * As worker_ask() and worker_fetch(), but waits, also for the end of the pause after a crash. -ECANCELED when
 * stop_fd (-1: none) becomes readable: then all workers are killed.
 */
int worker_call(struct worker *worker, enum parser parser, const struct worker_question *question,
		int stop_fd, void **ret_bytes, size_t *ret_nr);

/*
 * As worker_call(), and asks once more if the parser died, since that need not be the fault of the question, or if little
 * memory was not enough.
 */
int worker_call_twice(struct worker *worker, enum parser parser,
		      const struct worker_question *question, int stop_fd, void **ret_bytes,
		      size_t *ret_nr);

/* Texts about what a task of the opener does. */
#define WORKER_DOING_BYTES 248

#define WORKER_HANDLES_MAX 2 /* of a part of an answer */

/* A question for a task of the opener. The answer comes in parts, which may have O_PATH handles. */
struct opener_question {
	uint32_t task;
	const void *bytes;
	size_t nr;
	uint64_t most_ns; /* for all; it may wait for one thing for one to two seconds */
	/*
	 * Takes a part. Replaces the handles (-1: none) that it keeps by -1; the others are closed. 0, or a negative errno:
	 * the opener is to blame, and is replaced.
	 */
	int (*take)(void *context, const void *bytes, size_t nr, int handles[WORKER_HANDLES_MAX]);
	void *context;
};

/*
 * Asks the opener, and waits for the whole answer. 0; the error of the task, or of take(); -ETIME: it was late, in
 * what `doing` describes; -EIO: it died; -EHOSTDOWN: too many hang in earlier tasks.
 */
int worker_call_opener(struct worker *worker, const struct opener_question *question,
		       char doing[WORKER_DOING_BYTES]);

/* Why there is no answer, after "the helper process that reads it": "crashed". */
const char *worker_why_none(int err);

/* Returns the CPU time of this parser and its predecessors. */
uint64_t worker_cpu_ns(const struct worker *worker, enum parser parser);

#define WORKER_WHAT_BYTES 256 /* such as "file '/bin/true'" */

struct worker_troubles {
	uint64_t nr_parsers_died, nr_parsers_late, nr_openers_died, nr_openers_late;
	size_t nr_abandoned; /* processes that could not be killed: they wait in the kernel */
	size_t nr_files_given_up;
	char given_up[WORKER_WHAT_BYTES]; /* path of the first one; empty: unknown */
	size_t nr_devices_given_up;	  /* their file systems did not answer */
	/* What did not answer on the first of them; empty: unknown. */
	char silent_device[WORKER_WHAT_BYTES];
	/* The first file or process that did not answer in time; empty: none. */
	char silent[WORKER_WHAT_BYTES];
	int last_status;	/* of the last one that died by itself, as from waitpid() */
	char cannot_start[256]; /* the reason; empty: no failure to start a worker */
};

/* Adds those of this worker to *sum. */
void worker_troubles_add(const struct worker *worker, struct worker_troubles *sum);

/* --- in the workers --------------------------------------------------------------------------- */

struct worker_job {
	int fd; /* of the file, for reading, closed after the task; or a negative errno */
	struct bytes question;
	/* The task writes its answer to answer_fd, from offset 0, and sets its length. */
	int answer_fd;
	uint64_t answer_bytes;
	uint64_t data_bytes;	     /* that the parser may allocate; 0: no limit */
	char opened[PATH_MAX];	     /* path of the file that worker_want() returned last */
	struct parser_state *parser; /* NULL in the opener, which has no file and no answer_fd */
	struct opener_state *opener;
};

struct worker_task {
	const char *name;
	/* Returns 0 or a negative errno. *state is kept between questions and NULL at first. */
	int (*run)(struct worker_job *job, void **state);
};

/*
 * Requests another file. Returns its descriptor, to be closed by the caller, and moves want->first behind its
 * name; -ENODATA: there are no further places; another errno: none could be opened at this place. See
 * worker_is_passing().
 */
int worker_want(struct worker_job *job, struct worker_want *want);

/*
 * From now on, libraries can open files for reading: each open() becomes a request WANT_PATH. path: what they learn
 * as the path of an open descriptor. NULL: no longer; then open() kills the parser again.
 */
void worker_serve_library(struct worker_job *job, const char *path);

/*
 * In a task of the opener: what it begins to do, which may block, such as "the file '/bin/true'". Does nothing
 * without an opener.
 */
void worker_begins(struct worker_job *job, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * In a task of the opener: sends a part of the answer, with copies of its handles (-1: none). -EMSGSIZE: it is too
 * long.
 */
int worker_send_part(struct worker_job *job, const void *bytes, size_t nr,
		     const int handles[WORKER_HANDLES_MAX]);

/* Runs a worker until its end, if argv[0] is the name of one, and returns its exit status; else returns -1. */
int worker_main(int argc, char **argv, const struct worker_task *tasks, size_t nr_tasks);

#endif
