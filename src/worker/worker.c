/*
 * Stook's side of the workers: starts them, sends questions, enforces deadlines.
 *
 * Only worker_call(), worker_call_opener() and worker_wait_for_looks() block. The opener has a second for each file,
 * a task of it as long as it does something in each second; a parser has the time that its question allows, and may
 * not wait in the kernel for more than one and a half seconds; a worker that is late is killed. SIGKILL has no effect
 * on a process that waits in the kernel for some file systems, so its exit is not waited for: killed processes are
 * polled, and count as abandoned after a second.
 *
 * The opener handles calls in order and replies to each after it has closed the descriptor, so the oldest call
 * without a reply is the one that it hangs in. That call fails; the others are sent to the next opener. A device
 * on which this happens repeatedly is given up for a while.
 *
 * Workers are started by vfork(), since fork() would copy the page tables of ring buffers and unwind tables
 * while no samples are read. The child makes only system calls before its exec.
 */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd_io.h"
#include "base/isolated.h"
#include "base/text.h"
#include "proc/look.h"
#include "proc/process_info.h"
#include "proc/process_table.h"
#include "proc/runtime_table.h"
#include "worker/message.h"

/*
 * A worker that starts reads nothing but our own program and its libraries, so no other file is to blame if it waits. It
 * can: whatever maps libc waits for a lock that the kernel holds while it goes through all 20,000 processes that map it,
 * for 25 s where the kernel's own thread waits for a CPU beside 200 busy processes.
 */
#define START_NS      (40 * NS_PER_SEC)
#define OPEN_NS	      NS_PER_SEC	   /* for one file, once the previous one is finished */
#define MAPS_NS	      (4 * NS_PER_SEC)	   /* if it works, on the mappings of a large process */
#define STALL_NS      (3 * NS_PER_SEC / 2) /* how long a parser may wait in the kernel */
#define STALL_LOOK_NS (100 * NS_PER_MS)
#define PACE_NS \
	(20 * NS_PER_MS) /* between two looks at the CPU time of parsers that have a limit */
#define KILLED_NS     NS_PER_SEC /* then a killed process counts as abandoned */
#define LOOK_MS	      20	 /* interval at which worker_call() checks deadlines */
#define PAUSE_LOOK_MS 5		 /* … and if the pause after a crash is over */
#define END_MS	      100	 /* for each killed process at the end */

/* A parser that failed is restarted after a pause, which doubles with each failure in a row. */
#define FIRST_PAUSE_NS (10 * NS_PER_MS)
#define MAX_DOUBLINGS  10 /* 10 s */

/* A file is given up after this number of workers failed on it. */
#define FILE_FAILURES_MAX 3

/* Number of such files that are remembered; then the oldest is forgotten. */
#define BAD_FILES_MAX 256

/*
 * Limits of abandoned processes: for files of one device; for one arranger, see struct worker_file; and in all. For the
 * host's root only its own count: others must not use up what is for its files.
 */
#define DEVICE_ABANDONED_MAX   2
#define ARRANGER_ABANDONED_MAX 8
#define ABANDONED_MAX	       32

/*
 * A device on which workers waited in vain this often is not used for a while; after the first time it has a quarter
 * of the time. The deadlines for all else of its arranger are halved with each such failure, down to an eighth, until
 * there was none for a while: samples wait for the answers. A user may be many arrangers, so every fourth failure in
 * all counts for each of them, but not for the host's root. Failures so old are not counted any more, nor are those of
 * a file that was not given up.
 */
#define DEVICE_LATE_MAX 2
#define DEVICES_MAX	16 /* that are remembered; then the oldest is forgotten */
#define ARRANGERS_MAX	16 /* likewise */
#define ALL_LATE_SHARE	4
#define DEVICE_REST_NS	(60 * NS_PER_SEC)
#define MAX_HALVINGS	3
#define LATE_HALVINGS	2 /* for a device that was late once */
#define FORGIVEN_NS	(600 * NS_PER_SEC)

/* In place of an arranger: unknown; a task of the opener, which looks at many; none. */
#define ARRANGER_UNKNOWN ((uint64_t)(uid_t)-1)
#define ARRANGER_TASK	 UINT64_MAX
#define ARRANGER_NONE	 (UINT64_MAX - 1)

/* A compromised parser could keep stook busy with replies and requests: limits for a step and a question. */
#define STEP_REPLIES_MAX   16
#define QUESTION_WANTS_MAX 256

/* At most so many looks are at files, and so many at all else: anybody can make more of one kind than is looked at. */
#define KIND_LOOKS_MAX 48

/* Each parser can wait for one file, and one call may be stale; the others are looks. */
#define LOOKS_MAX 64
#define CALLS_MAX (LOOKS_MAX + 2 * NR_PARSERS + 1)

struct process {
	pid_t pid; /* 0: none */
	int pidfd;
	int socket; /* the control socket */
};

/* A killed process that has not been reaped. */
struct killed {
	struct process process;
	uint64_t since_ns;
	struct worker_file file; /* the file that it worked on; inode 0: only whose doing it is */
	bool is_abandoned;
};

struct parser_process {
	struct process process;
	int inbox;  /* our end of the socket; the opener has a copy */
	int buffer; /* the memfd */
	int niceness;
	uint64_t cpu_ns;  /* of earlier processes of this parser */
	bool is_confined; /* it has dropped its rights, and may have been compromised since */
	bool has_much;	  /* memory: it had a large question */
	unsigned nr_failures;
	uint64_t not_before_ns; /* it is not restarted before */

	bool is_busy, is_done;
	uint32_t job;
	struct worker_question question; /* bytes and handle are not valid any more */
	char path[256];			 /* of its file; empty: it has none, or it is unknown */
	uint64_t deadline_ns;
	/* When its CPU time was last read, and when that last had another value than before, or the question was asked. */
	uint64_t looked_ns, seen_ns, seen_cpu_ns;
	unsigned nr_wants;
	uint32_t owed;	  /* the delivery that worker_answer() makes; 0: none */
	uint64_t owed_ns; /* since then */
	bool is_stopped;  /* by pace() */
	int err;
	void *answer;
	size_t answer_bytes;
};

struct open_request {
	struct opener_call call;
	size_t path_bytes;	 /* used of call.paths */
	int fd;			 /* the attached handle, owned; -1: none */
	struct worker_file file; /* inode 0: none */
};

struct bad_file {
	struct worker_file file;
	unsigned nr_failures;
	uint64_t last_ns;
};

struct late_device {
	struct worker_file file; /* one of its files */
	unsigned nr_late;
	uint64_t last_ns;
};

/* Workers that waited in vain, within DEVICE_REST_NS of the last. */
struct lateness {
	uint64_t arranger;
	unsigned nr;
	uint64_t last_ns;
};

struct worker {
	int program; /* our own executable */
	int epoll;   /* of all control sockets */
	char *environment[2];
	int niceness; /* of the process that made the worker */
	struct process opener;
	int opener_niceness;
	bool is_opener_ready;	  /* it has started */
	uint64_t opener_began_ns; /* when it began the oldest call, or its start */
	uint64_t opener_late_ns;  /* deadline of that call; 0: no calls */
	struct open_request *calls[CALLS_MAX];
	size_t nr_calls, nr_sent; /* the first nr_sent were sent */
	struct file_table *files; /* see worker_set_tables() */
	struct process_table *processes;
	struct runtime_table *runtimes;
	size_t nr_looks, nr_file_looks;	     /* among the calls */
	bool has_looked;		     /* see worker_has_looked() */
	const struct opener_question *asked; /* by worker_call_opener(); NULL: none, or finished */
	int asked_err;			     /* its result */
	struct opener_progress progress;     /* when it failed */
	uint64_t opener_cpu_ns;		     /* of the opener, when that was last looked at */
	struct lateness late_in_all, late[ARRANGERS_MAX];
	size_t nr_arrangers; /* ever added to the latter, as with bad_files */
	struct parser_process parsers[NR_PARSERS];
	/* See worker_pace(): CPU time that parsers may have used, when that was last increased. */
	uint64_t pace_most_ns, allowed_ns, paced_ns;
	double pace_share;
	struct worker_memory memory;
	uint32_t last_job, last_delivery, last_call;
	struct killed *killed;
	size_t nr_killed, killed_capacity;
	struct bad_file bad_files[BAD_FILES_MAX];
	size_t nr_bad_files; /* ever added: the next index, modulo the maximum */
	uint64_t failed_ns;  /* when a worker last failed on anything; 0: never */
	struct late_device devices[DEVICES_MAX];
	size_t nr_devices; /* likewise */
	struct worker_troubles troubles;
};

/* --- processes -------------------------------------------------------------------------------- */

/* The child between vfork() and exec. fds[i] becomes WORKER_CONTROL_FD + i. */
__attribute__((noreturn)) static void become(const struct worker *worker, const char *name,
					     const int *fds, size_t nr_fds, bool is_parser)
{
	char *const argv[] = {(char *)(uintptr_t)name, NULL};
	const struct rlimit data = {worker->memory.much_bytes, worker->memory.much_bytes};
	sigset_t none;
	size_t i;

	(void)setsid(); /* Ctrl-C is for stook only */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	/* Otherwise the exec could give it the capabilities of the file. */
	if (is_parser && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(errno);
	/* It fails if our own limit is lower, which is as good. */
	if (is_parser && worker->memory.much_bytes && !ISOLATED_HAS_SHADOW)
		(void)setrlimit(RLIMIT_DATA, &data);
	/* All descriptors are above the target numbers (raise_fd()), so none is overwritten. */
	for (i = 0; i < nr_fds; i++)
		if (dup2(fds[i], WORKER_CONTROL_FD + (int)i) < 0)
			_exit(errno);
	(void)syscall(SYS_execveat, worker->program, "", argv, worker->environment, AT_EMPTY_PATH);
	/* Linux 5.10 returned ENOENT. This comes second, since it is not our own program under valgrind. */
	(void)execve(PROCESS_OWN_PROGRAM, argv, worker->environment);
	_exit(errno);
}

static int start(struct worker *worker, const char *name, struct process *process, const int *fds,
		 size_t nr_fds, bool is_parser)
{
	sigset_t all, before;
	pid_t pid;
	int err = 0;

	if (worker->program < 0)
		return -ENOENT;
	/* Signal handlers must not run in the child, which shares our memory until the exec. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid = vfork();
	/* become() makes only system calls, which the check cannot see. */
	if (pid == 0) /* NOLINTNEXTLINE(clang-analyzer-unix.Vfork) */
		become(worker, name, fds, nr_fds, is_parser);
	if (pid < 0)
		err = -errno;
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (err < 0)
		return err;
	process->pid = pid;
	process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	return 0;
}

/* Makes worker_fd() readable when this socket is, until the socket is closed. */
static int watch(const struct worker *worker, int socket)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(worker->epoll, EPOLL_CTL_ADD, socket, &event) < 0 ? -errno : 0;
}

/* Moves a descriptor above the ones that a worker starts with. Returns the new one or -1. */
static int raise_fd(int fd)
{
	int raised;

	if (fd < 0 || fd > PARSER_BUFFER_FD)
		return fd;
	raised = fcntl(fd, F_DUPFD_CLOEXEC, PARSER_BUFFER_FD + 1);
	(void)close(fd);
	return raised;
}

static int make_pair(int fds[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	fds[0] = raise_fd(fds[0]);
	fds[1] = raise_fd(fds[1]);
	if (fds[0] >= 0 && fds[1] >= 0)
		return 0;
	cleanup_close_fd(&fds[0]);
	cleanup_close_fd(&fds[1]);
	fds[0] = fds[1] = -1;
	return -EMFILE;
}

/* Reaps a process; false if it has not exited. */
static bool reap(struct worker *worker, const struct process *process)
{
	int status;
	pid_t reaped = waitpid(process->pid, &status, WNOHANG);

	if (reaped > 0 && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		worker->troubles.last_status = status;
	return reaped != 0;
}

/* Returns the CPU time of a process that was not reaped. */
static uint64_t cpu_ns_of(const struct process *process)
{
	return process->pid ? process_cpu_ns(process->pid) : 0;
}

/* Kills a worker and resets `process`. file: the file that it worked on, or NULL. */
static void kill_process(struct worker *worker, struct process *process,
			 const struct worker_file *file)
{
	struct killed killed = {.process = *process,
				.since_ns = clock_now_ns(),
				.file = {.arranger = ARRANGER_NONE}};

	if (!process->pid) { /* it could not be started */
		cleanup_close_fd(&process->socket);
		process->socket = -1;
		return;
	}
	if (file)
		killed.file = *file;
	(void)kill(process->pid, SIGKILL); /* not reaped yet, so the pid cannot have been reused */
	(void)close(process->socket);
	*process = (struct process){.pidfd = -1, .socket = -1};
	if (!reap(worker, &killed.process) &&
	    ARRAY_ADD(worker->killed, worker->nr_killed, worker->killed_capacity, killed) == 0)
		return;
	if (killed.process.pidfd >= 0)
		(void)close(killed.process.pidfd);
}

/* --- files on which workers fail --------------------------------------------------------------- */

static bool is_same_device(const struct worker_file *a, const struct worker_file *b)
{
	return a->major == b->major && a->minor == b->minor && a->arranger == b->arranger;
}

static bool is_same(const struct worker_file *a, const struct worker_file *b)
{
	return is_same_device(a, b) && a->inode == b->inode;
}

static bool is_forgiven(uint64_t failed_ns)
{
	return clock_now_ns() - failed_ns > FORGIVEN_NS;
}

/* Its failures are 0 if they are old. */
static struct bad_file *find_bad(struct worker *worker, const struct worker_file *file)
{
	size_t nr = worker->nr_bad_files < BAD_FILES_MAX ? worker->nr_bad_files : BAD_FILES_MAX;
	size_t i;

	for (i = 0; i < nr; i++) {
		struct bad_file *bad = &worker->bad_files[i];

		if (!is_same(&bad->file, file))
			continue;
		if (is_forgiven(bad->last_ns))
			bad->nr_failures = 0;
		return bad;
	}
	return NULL;
}

/* path: for the verdict, or empty. */
static void blame(struct worker *worker, const struct worker_file *file, const char *path)
{
	struct bad_file *bad = file->inode ? find_bad(worker, file) : NULL;

	worker->failed_ns = clock_now_ns();
	if (!file->inode)
		return;
	if (!bad) {
		bad = &worker->bad_files[worker->nr_bad_files++ % BAD_FILES_MAX];
		*bad = (struct bad_file){.file = *file};
	}
	bad->last_ns = clock_now_ns();
	if (++bad->nr_failures != FILE_FAILURES_MAX)
		return;
	worker->troubles.nr_files_given_up++;
	if (!worker->troubles.given_up[0])
		text_make_safe(worker->troubles.given_up, path, strlen(path));
}

/* Its failures are 0 if they are old. */
static struct late_device *find_device(struct worker *worker, const struct worker_file *file)
{
	size_t nr = worker->nr_devices < DEVICES_MAX ? worker->nr_devices : DEVICES_MAX;
	size_t i;

	for (i = 0; i < nr; i++) {
		struct late_device *device = &worker->devices[i];

		if (!is_same_device(&device->file, file))
			continue;
		if (is_forgiven(device->last_ns))
			device->nr_late = 0;
		return device;
	}
	return NULL;
}

static unsigned nr_late_of(const struct lateness *lateness)
{
	return clock_now_ns() - lateness->last_ns > DEVICE_REST_NS ? 0 : lateness->nr;
}

static void count_late(struct lateness *lateness)
{
	lateness->nr = nr_late_of(lateness) + 1;
	lateness->last_ns = clock_now_ns();
}

static struct lateness *find_lateness(struct worker *worker, uint64_t arranger)
{
	size_t nr = worker->nr_arrangers < ARRANGERS_MAX ? worker->nr_arrangers : ARRANGERS_MAX;
	size_t i;

	for (i = 0; i < nr; i++)
		if (worker->late[i].arranger == arranger)
			return &worker->late[i];
	return NULL;
}

/* Keeps the first text only. */
static void keep_first(char kept[WORKER_WHAT_BYTES], const char *text)
{
	if (!kept[0])
		(void)snprintf(kept, WORKER_WHAT_BYTES, "%s", text);
}

/* Notes that a worker waited for this file in vain, or for what else is its arranger's. what: for the verdict. */
static void note_late(struct worker *worker, const struct worker_file *file, const char *what)
{
	struct lateness *lateness = find_lateness(worker, file->arranger);
	struct late_device *device = find_device(worker, file);

	if (!lateness) {
		lateness = &worker->late[worker->nr_arrangers++ % ARRANGERS_MAX];
		*lateness = (struct lateness){.arranger = file->arranger};
	}
	count_late(lateness);
	count_late(&worker->late_in_all);
	keep_first(worker->troubles.silent, what);
	if (!file->inode)
		return;
	if (!device) {
		device = &worker->devices[worker->nr_devices++ % DEVICES_MAX];
		*device = (struct late_device){.file = *file};
	}
	device->last_ns = clock_now_ns();
	if (++device->nr_late != DEVICE_LATE_MAX)
		return;
	worker->troubles.nr_devices_given_up++;
	keep_first(worker->troubles.silent_device, what);
}

/* The time for a file is halved so many times: see DEVICE_LATE_MAX. */
static unsigned halvings_for(struct worker *worker, const struct worker_file *file)
{
	const struct late_device *device = find_device(worker, file);
	const struct lateness *lateness = find_lateness(worker, file->arranger);
	const unsigned of_all =
		file->arranger ? nr_late_of(&worker->late_in_all) / ALL_LATE_SHARE : 0;
	unsigned nr = lateness ? nr_late_of(lateness) : 0;

	nr = nr > of_all ? nr : of_all;
	if (nr > MAX_HALVINGS)
		return MAX_HALVINGS;
	return nr < LATE_HALVINGS && device && device->nr_late ? LATE_HALVINGS : nr;
}

static bool is_device_given_up(struct worker *worker, const struct worker_file *file)
{
	const struct late_device *device = find_device(worker, file);
	size_t i, nr = 0;

	if (device && device->nr_late >= DEVICE_LATE_MAX &&
	    clock_now_ns() - device->last_ns < DEVICE_REST_NS)
		return true;

	for (i = 0; i < worker->nr_killed; i++) {
		const struct killed *killed = &worker->killed[i];

		nr += killed->is_abandoned && killed->file.inode &&
		      is_same_device(&killed->file, file);
	}
	return nr >= DEVICE_ABANDONED_MAX;
}

/* True if too many processes cannot be killed that wait for what is this arranger's, or for anything. */
static bool is_arranger_given_up(const struct worker *worker, uint64_t arranger)
{
	const bool is_bound_by_all = arranger && arranger != ARRANGER_TASK;
	size_t i, nr = 0;

	for (i = 0; i < worker->nr_killed; i++)
		nr += worker->killed[i].is_abandoned && worker->killed[i].file.arranger == arranger;
	return nr >= (arranger ? ARRANGER_ABANDONED_MAX : ABANDONED_MAX) ||
	       (is_bound_by_all && worker->troubles.nr_abandoned >= ABANDONED_MAX);
}

/* True if a failure is remembered, which may be that of a process' user: see find_arranger(). */
static bool has_failed(const struct worker *worker)
{
	return worker->troubles.nr_abandoned ||
	       (worker->failed_ns && !is_forgiven(worker->failed_ns));
}

/* Reaps killed processes, and counts the ones that are abandoned. */
static void look_at_killed(struct worker *worker)
{
	uint64_t now_ns = clock_now_ns();
	size_t i, nr = 0;

	for (i = 0; i < worker->nr_killed; i++) {
		struct killed *killed = &worker->killed[i];

		if (reap(worker, &killed->process)) {
			if (killed->process.pidfd >= 0)
				(void)close(killed->process.pidfd);
			worker->troubles.nr_abandoned -= killed->is_abandoned;
			continue;
		}
		if (!killed->is_abandoned && now_ns - killed->since_ns > KILLED_NS) {
			killed->is_abandoned = true;
			worker->troubles.nr_abandoned++;
		}
		worker->killed[nr++] = *killed;
	}
	worker->nr_killed = nr;
}

/* --- the opener ------------------------------------------------------------------------------- */

static void free_request(struct open_request *request)
{
	if (request && request->fd >= 0)
		(void)close(request->fd);
	free(request);
}

static int send_request(const struct worker *worker, const struct open_request *request)
{
	return message_send(worker->opener.socket, &request->call,
			    offsetof(struct opener_call, paths) + request->path_bytes, &request->fd,
			    request->fd >= 0);
}

static struct open_request *new_request(struct worker *worker, enum opener_action action,
					enum parser parser)
{
	struct open_request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	request->call = (struct opener_call){
		.number = ++worker->last_call,
		.action = action,
		.parser = parser,
	};
	request->fd = -1;
	return request;
}

/* Delivers an error instead of a file. */
static void deliver_failure(const struct parser_process *parser, uint32_t number, int err)
{
	const struct delivery delivery = {.number = number, .err = err};

	(void)message_send(parser->inbox, &delivery, offsetof(struct delivery, opened) + 1, NULL,
			   0);
}

/* Gives the opener a copy of a parser's inbox. The opener does not reply to this call. */
static int introduce(struct worker *worker, enum parser parser)
{
	struct opener_call call = {.action = OPENER_PARSER, .parser = parser};

	return message_send(worker->opener.socket, &call, offsetof(struct opener_call, paths),
			    &worker->parsers[parser].inbox, 1);
}

static bool is_look(const struct open_request *request)
{
	return request->call.action == OPENER_LOOK || request->call.action == OPENER_LOOK_AT_MAPS ||
	       request->call.action == OPENER_LOOK_AT_PROCESS;
}

static bool is_task(const struct open_request *request)
{
	return request->call.action == OPENER_TASK;
}

/*
 * Whose doing it is if the opener hangs in a look through this process: what is known of its files may be older than the
 * namespaces that it is in now, and anybody may keep a process of his own from answering. So it is its user's. This does
 * not block, as a look at its namespaces does while it is in the middle of an execve().
 */
static uint64_t arranger_of(uint64_t known, int32_t pid)
{
	struct process_status status;

	if (known || pid <= 0)
		return known;
	return process_status_read(pid, &status) == 0 ? status.uids[0] : ARRANGER_UNKNOWN;
}

static void find_arranger(struct open_request *request)
{
	request->file.arranger = arranger_of(request->file.arranger, request->call.pid);
}

/* The first result counts. */
static void finish_task(struct worker *worker, int err)
{
	if (!worker->asked)
		return;
	worker->asked = NULL;
	worker->asked_err = err;
}

/* Reads what a task of the opener did last. */
static void read_progress(struct worker *worker, const struct open_request *request)
{
	struct opener_progress *progress = &worker->progress;

	if (fd_read_at(request->fd, 0, progress, sizeof(*progress)) < 0)
		progress->what[0] = '\0';
	progress->what[sizeof(progress->what) - 1] = '\0';
	text_make_safe(progress->what, progress->what, strlen(progress->what));
}

/* True if the opener did anything since the last call: a task goes on. */
static bool has_gone_on(struct worker *worker)
{
	const uint64_t before_ns = worker->opener_cpu_ns;

	worker->opener_cpu_ns = cpu_ns_of(&worker->opener);
	return worker->opener_cpu_ns != before_ns;
}

/* Tells whoever wanted it that a call failed. */
static void fail_call(struct worker *worker, const struct open_request *request, int err)
{
	struct file_looked file = {.err = err, .root_err = err, .root_fd = -1};
	struct maps_looked maps = {.err = err};
	const struct process_looked process = {.err = err};

	if (is_look(request))
		worker->has_looked = true;
	if (request->call.action == OPENER_LOOK) {
		file_table_looked(worker->files, request->call.delivery, &file);
	} else if (request->call.action == OPENER_LOOK_AT_MAPS) {
		maps.began_ns = maps.ended_ns = clock_now_ns();
		(void)process_table_looked(worker->processes, request->call.pid, &maps);
	} else if (request->call.action == OPENER_LOOK_AT_PROCESS) {
		runtime_table_looked(worker->runtimes, request->call.delivery, &process);
	} else if (is_task(request)) {
		read_progress(worker, request);
		finish_task(worker, err);
	} else {
		deliver_failure(&worker->parsers[request->call.parser], request->call.delivery,
				err);
	}
}

static void drop_first_call(struct worker *worker)
{
	size_t i;

	worker->nr_looks -= is_look(worker->calls[0]);
	worker->nr_file_looks -= worker->calls[0]->call.action == OPENER_LOOK;
	free_request(worker->calls[0]);
	for (i = 1; i < worker->nr_calls; i++)
		worker->calls[i - 1] = worker->calls[i];
	worker->nr_calls--;
	worker->nr_sent -= worker->nr_sent > 0;
}

static void drop_calls(struct worker *worker, int err)
{
	while (worker->nr_calls) {
		fail_call(worker, worker->calls[0], err);
		drop_first_call(worker);
	}
	worker->opener_late_ns = 0;
}

/* The opener begins with the oldest call, or to start. */
static void set_deadline(struct worker *worker)
{
	struct open_request *first = worker->calls[0];

	worker->opener_late_ns = 0;
	if (!worker->nr_sent)
		return;
	if (has_failed(worker))
		find_arranger(first);
	worker->opener_began_ns = clock_now_ns();
	worker->opener_late_ns =
		worker->opener_began_ns + (worker->is_opener_ready
						   ? OPEN_NS >> halvings_for(worker, &first->file)
						   : START_NS);
}

/* Sends calls until the socket is full. */
static int send_calls(struct worker *worker)
{
	int err = 0;

	while (worker->nr_sent < worker->nr_calls && err == 0) {
		err = send_request(worker, worker->calls[worker->nr_sent]);
		if (err == 0 && !worker->nr_sent++)
			set_deadline(worker);
	}
	return err == -EAGAIN ? 0 : err;
}

static int start_opener(struct worker *worker)
{
	int fds[2], err;
	size_t i;

	if (worker->opener.pid)
		return 0;
	err = make_pair(fds);
	if (err < 0)
		return err;
	err = start(worker, OPENER_NAME, &worker->opener, &fds[1], 1, false);
	(void)close(fds[1]);
	if (err < 0) {
		(void)close(fds[0]);
		return err;
	}
	(void)setpriority(PRIO_PROCESS, (id_t)worker->opener.pid, worker->opener_niceness);
	worker->opener.socket = fds[0];
	err = watch(worker, fds[0]);
	for (i = 0; i < NR_PARSERS && err == 0; i++)
		if (worker->parsers[i].process.pid)
			err = introduce(worker, (enum parser)i);
	worker->nr_sent = 0;
	worker->is_opener_ready = false;
	worker->opener_late_ns = 0;
	if (err == 0)
		err = send_calls(worker);
	if (err < 0)
		kill_process(worker, &worker->opener, NULL);
	return err;
}

/* Reads the path behind a handle, which takes no request to its file system. Empty: there is none. */
static void path_of_handle(int handle, char *to, size_t room)
{
	char link[32];
	ssize_t nr;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", handle);
	nr = handle >= 0 ? readlink(link, to, room - 1) : 0;
	to[nr > 0 ? nr : 0] = '\0';
}

/* Describes what a parser is asked about, for the verdict. Empty: unknown. */
static void describe_question(const struct parser_process *parser, char text[WORKER_WHAT_BYTES])
{
	text[0] = '\0';
	if (parser->path[0])
		(void)snprintf(text, WORKER_WHAT_BYTES, "file '%.200s'", parser->path);
	else if (parser->question.file.major == WORKER_NO_DEVICE)
		(void)snprintf(text, WORKER_WHAT_BYTES, "what process %u has written",
			       parser->question.file.minor);
	text_make_safe(text, text, strlen(text));
}

/* The file that a call of the opener is about; empty: none, or one that is searched in several places. */
static void path_of_call(const struct open_request *request, char path[WORKER_WHAT_BYTES])
{
	const struct opener_call *call = &request->call;

	path[0] = '\0';
	if (call->action == OPENER_REOPEN)
		path_of_handle(request->fd, path, WORKER_WHAT_BYTES);
	else if (call->action == OPENER_LOOK || call->action == OPENER_WRITTEN)
		(void)snprintf(path, WORKER_WHAT_BYTES, "%.255s", call->paths);
}

/* Describes what a call of the opener is about, for the verdict. */
static void describe_call(const struct worker *worker, const struct open_request *request,
			  char text[WORKER_WHAT_BYTES])
{
	char path[WORKER_WHAT_BYTES];

	path_of_call(request, path);
	if (is_task(request))
		(void)snprintf(text, WORKER_WHAT_BYTES, "%s", worker->progress.what);
	else if (path[0])
		(void)snprintf(text, WORKER_WHAT_BYTES, "file '%.200s'", path);
	else if (is_look(request))
		(void)snprintf(text, WORKER_WHAT_BYTES, "process %d", request->call.pid);
	else if (worker->parsers[request->call.parser].path[0])
		(void)snprintf(text, WORKER_WHAT_BYTES, "debug file of '%.200s'",
			       worker->parsers[request->call.parser].path);
	else
		(void)snprintf(text, WORKER_WHAT_BYTES, "debug file");
	text_make_safe(text, text, strlen(text));
}

/* The time in which the opener starts is not that of the parsers that wait for it. */
static void give_time(struct worker *worker)
{
	const uint64_t took_ns = clock_now_ns() - worker->opener_began_ns;
	size_t i;

	for (i = 0; i < worker->nr_calls; i++)
		if (!is_look(worker->calls[i]) && !is_task(worker->calls[i]))
			worker->parsers[worker->calls[i]->call.parser].deadline_ns += took_ns;
}

/*
 * Replaces the opener. The call that it worked on fails with `why`; the others are sent again. Without calls the next
 * one starts it, so that an opener that always dies is not restarted endlessly. If it did not even start, all fail.
 */
static void lose_opener(struct worker *worker, int why)
{
	struct open_request *first = worker->nr_sent ? worker->calls[0] : NULL;
	char text[WORKER_WHAT_BYTES];

	if (!worker->is_opener_ready) {
		kill_process(worker, &worker->opener, NULL);
		give_time(worker);
		drop_calls(worker, why);
		return;
	}
	if (first)
		find_arranger(first);
	kill_process(worker, &worker->opener, first ? &first->file : NULL);
	if (first) {
		fail_call(worker, first, why);
		describe_call(worker, first, text);
		if (why == -ETIME)
			note_late(worker, &first->file, text);
		path_of_call(first, text);
		blame(worker, &first->file, text);
		drop_first_call(worker);
	}
	worker->opener_late_ns = 0;
	if (worker->nr_calls && start_opener(worker) < 0)
		drop_calls(worker, -EIO);
}

/* True if the other end of a socket was closed. */
static bool is_gone(int err)
{
	return err == -EPIPE || err == -ECONNRESET;
}

/* After the opener was found dead. */
static int replace_opener(struct worker *worker)
{
	worker->troubles.nr_openers_died++;
	lose_opener(worker, -EIO);
	return start_opener(worker);
}

/* Takes a request, and sends it as soon as there is room. */
static void call_opener(struct worker *worker, struct open_request *request)
{
	int err;

	if (worker->nr_calls == CALLS_MAX) {
		fail_call(worker, request, -EBUSY);
		free_request(request);
		return;
	}
	worker->calls[worker->nr_calls++] = request;
	worker->nr_looks += is_look(request);
	worker->nr_file_looks += request->call.action == OPENER_LOOK;
	err = worker->opener.pid ? send_calls(worker) : start_opener(worker);
	if (is_gone(err))
		err = replace_opener(worker);
	if (err < 0)
		drop_calls(worker, err);
}

/* --- looks ------------------------------------------------------------------------------------ */

void worker_set_tables(struct worker *worker, struct file_table *files,
		       struct process_table *processes, struct runtime_table *runtimes)
{
	worker->files = files;
	worker->processes = processes;
	worker->runtimes = runtimes;
}

bool worker_is_looking(const struct worker *worker)
{
	return worker->nr_looks > 0;
}

static void want_file(struct worker *worker, const struct file_look *look)
{
	struct worker_file file = worker_file_of(&look->id);
	struct file_looked failed = {.root_err = -EHOSTDOWN, .root_fd = -1};
	struct open_request *request = NULL;
	const size_t path_bytes = strlen(look->path) + 1;
	const struct bad_file *bad;

	if (!look->pid && look->root_fd >= 0) /* it is searched in that root */
		file.arranger = look->root_uid;
	if (has_failed(worker))
		file.arranger = arranger_of(file.arranger, look->pid);
	bad = find_bad(worker, &file);
	if (bad && bad->nr_failures >= FILE_FAILURES_MAX)
		failed.err = -EOWNERDEAD;
	else if (is_device_given_up(worker, &file))
		failed.err = -EHOSTDOWN;
	else if (is_arranger_given_up(
			 worker, file.arranger)) /* others may see it through their processes */
		failed.err = look->pid && file.arranger != look->id.arranger ? -EXDEV : -EHOSTDOWN;
	else if (path_bytes > sizeof(request->call.paths))
		failed.err = -ENAMETOOLONG;
	else
		request = new_request(worker, OPENER_LOOK, PARSER_OTHER_FILES);
	if (request && !look->pid && look->root_fd >= 0) {
		request->fd = fcntl(look->root_fd, F_DUPFD_CLOEXEC, 0);
		failed.err = request->fd < 0 ? -errno : 0;
	}
	if (!request || failed.err < 0) {
		failed.err = failed.err < 0 ? failed.err : -ENOMEM;
		free_request(request);
		worker->has_looked = true;
		file_table_looked(worker->files, look->file, &failed);
		return;
	}
	request->call.delivery = look->file;
	request->call.id = look->id;
	request->call.pid = look->pid;
	request->call.start = look->start;
	request->call.end = look->end;
	memcpy(request->call.paths, look->path, path_bytes);
	request->path_bytes = path_bytes;
	request->file = file;
	call_opener(worker, request);
}

/* number: of the process in the runtime table, if that asks. */
static void want_process(struct worker *worker, enum opener_action action, int32_t pid,
			 uint32_t number)
{
	const uint64_t arranger = has_failed(worker) ? arranger_of(0, pid) : 0;
	struct open_request *request = NULL;
	int err = -EHOSTDOWN;

	if (!is_arranger_given_up(worker, arranger)) {
		request = new_request(worker, action, PARSER_OTHER_FILES);
		err = -ENOMEM;
	}
	if (!request) {
		const struct open_request failed = {
			.call = {.action = action, .pid = pid, .delivery = number}};

		fail_call(worker, &failed, err);
		return;
	}
	request->call.pid = pid;
	request->call.delivery = number;
	request->file.arranger = arranger;
	call_opener(worker, request);
}

/* True if there is a place for a look at a process. */
static bool has_place(const struct worker *worker)
{
	return worker->nr_looks < LOOKS_MAX &&
	       worker->nr_looks - worker->nr_file_looks < KIND_LOOKS_MAX;
}

/* Sends the looks that the tables want. Files go first: a process may delete them, or exit. */
static void send_looks(struct worker *worker)
{
	struct file_look look;
	uint32_t number;
	int32_t pid;

	while (worker->files && worker->nr_looks < LOOKS_MAX &&
	       worker->nr_file_looks < KIND_LOOKS_MAX && file_table_next_look(worker->files, &look))
		want_file(worker, &look);
	while (worker->processes && has_place(worker) &&
	       process_table_next_look(worker->processes, &pid))
		want_process(worker, OPENER_LOOK_AT_MAPS, pid, 0);
	while (worker->runtimes && has_place(worker) &&
	       runtime_table_next_look(worker->runtimes, &number, &pid))
		want_process(worker, OPENER_LOOK_AT_PROCESS, pid, number);
}

/* Passes the mappings in a reply to the process table. -EPROTO: malformed. */
static int read_mappings(struct worker *worker, int32_t pid, const struct opener_reply *reply,
			 size_t bytes)
{
	size_t at = 0;

	while (at < bytes) {
		struct mapping_message message;
		struct maps_entry entry;
		const char *path = reply->bytes + at + sizeof(message);

		if (bytes - at < sizeof(message))
			return -EPROTO;
		memcpy(&message, reply->bytes + at, sizeof(message));
		at += sizeof(message);
		if (message.path_bytes > bytes - at || !memchr(path, '\0', message.path_bytes) ||
		    message.end <= message.start)
			return -EPROTO;
		at += message.path_bytes;
		entry = (struct maps_entry){.start = message.start,
					    .end = message.end,
					    .offset = message.offset,
					    .executable = true,
					    .id = message.id,
					    .path = path};
		if (process_table_add_mapping(worker->processes, pid, &entry, message.is_memory) <
		    0)
			return -ENOMEM;
	}
	return 0;
}

/* A bool must be 0 or 1, which a message need not observe. */
static bool is_bool(const bool *flag)
{
	return *(const unsigned char *)flag <= 1;
}

static bool is_well_formed(const struct opener_reply *reply, enum opener_action action)
{
	const struct process_status *status = &reply->process.status;

	return (reply->is_last || action == OPENER_LOOK_AT_MAPS) &&
	       is_bool(&reply->file.is_of_root) && is_bool(&reply->file.found.is_elf) &&
	       is_bool(&reply->file.found.is_on_server) && is_bool(&status->is_kernel) &&
	       is_bool(&status->is_nested) && memchr(status->comm, '\0', sizeof(status->comm));
}

/* Passes the answer to a look to its table. Takes the handles that it has. Returns -EPROTO if it is malformed. */
static int take_look(struct worker *worker, struct opener_reply *reply, size_t bytes,
		     int fds[MESSAGE_FDS_MAX])
{
	const struct opener_call *call = &worker->calls[0]->call;
	int next = 0, err = 0;

	if (!is_well_formed(reply, (enum opener_action)call->action))
		return -EPROTO;
	if (call->action == OPENER_LOOK) {
		reply->file.found.handle = reply->file.err == 0 ? take_fd(&fds[next++]) : -1;
		reply->file.root_fd = reply->file.root_err == 0 ? take_fd(&fds[next]) : -1;
		/* Without a descriptor to spare, none was received. */
		if (reply->file.found.handle < 0 && reply->file.err == 0)
			reply->file.err = -EMFILE;
		if (reply->file.root_fd < 0)
			reply->file.root_err = -EMFILE;
		if (reply->file.err == -EXDEV && worker->processes)
			process_table_rearranged(worker->processes, call->pid);
		file_table_looked(worker->files, call->delivery, &reply->file);
	} else if (call->action == OPENER_LOOK_AT_MAPS) {
		err = read_mappings(worker, call->pid, reply, bytes);
		if (err == -ENOMEM)
			reply->maps.err = err;
		if (reply->is_last && err != -EPROTO)
			(void)process_table_looked(worker->processes, call->pid, &reply->maps);
	} else if (call->action == OPENER_LOOK_AT_PROCESS) {
		runtime_table_looked(worker->runtimes, call->delivery, &reply->process);
	}
	worker->has_looked |= reply->is_last && is_look(worker->calls[0]);
	return err == -EPROTO ? err : 0;
}

/* Passes a part of a task's answer on, or finishes it. Returns an error of whoever takes the part. */
static int take_part(struct worker *worker, const struct opener_reply *reply, size_t bytes,
		     int fds[MESSAGE_FDS_MAX])
{
	const struct opener_question *asked = worker->asked;
	int err;

	if (reply->task_err > 0 || reply->is_last > 1)
		return -EPROTO;
	if (reply->is_last) {
		finish_task(worker, reply->task_err);
		return 0;
	}
	err = asked->take(asked->context, reply->bytes, bytes, fds);
	if (err < 0)
		finish_task(worker, err);
	return err;
}

/* True if a process waits in the kernel, or was stopped. One that the scheduler holds up is runnable. */
static bool is_waiting(const struct process *process)
{
	struct process_status status;

	return process_status_read(process->pid, &status) == 0 && status.state != 'R';
}

/*
 * True if the opener hangs in its oldest call: it waits in the kernel, or it has worked for a long time, on the
 * mappings of a large process.
 */
static bool is_hanging(const struct worker *worker)
{
	return is_waiting(&worker->opener) || clock_now_ns() - worker->opener_began_ns > MAPS_NS;
}

/* The opener's first message says that it has started. The time for the oldest call begins. */
static bool take_ready(struct worker *worker, const struct opener_reply *reply)
{
	if (worker->is_opener_ready || reply->number != OPENER_READY || reply->is_last)
		return false;
	worker->is_opener_ready = true;
	give_time(worker);
	set_deadline(worker);
	return true;
}

static void read_opener(struct worker *worker)
{
	static const size_t least = offsetof(struct opener_reply, bytes);
	const uint64_t late_ns = worker->opener_late_ns;
	const bool is_late = late_ns && clock_now_ns() >= late_ns;

	while (worker->opener.pid) {
		struct opener_reply reply;
		int fds[MESSAGE_FDS_MAX];
		ssize_t nr = message_receive(worker->opener.socket, &reply, sizeof(reply),
					     MSG_DONTWAIT, fds, ARRAY_SIZE(fds));

		bool is_ready, is_valid;
		size_t i;

		if (nr == -EAGAIN)
			break;
		is_ready = nr == (ssize_t)least && take_ready(worker, &reply);
		is_valid = is_ready ||
			   (nr >= (ssize_t)least && worker->is_opener_ready && worker->nr_sent &&
			    reply.number == worker->calls[0]->call.number &&
			    (is_task(worker->calls[0])
				     ? take_part(worker, &reply, (size_t)nr - least, fds)
				     : take_look(worker, &reply, (size_t)nr - least, fds)) == 0);
		for (i = 0; i < ARRAY_SIZE(fds); i++) /* that were not asked for */
			if (fds[i] >= 0)
				(void)close(fds[i]);
		if (!is_valid) {
			worker->troubles.nr_openers_died++;
			lose_opener(worker, -EIO);
			continue;
		}
		if (is_ready || !reply.is_last) /* mappings of a large process */
			continue;
		drop_first_call(worker);
		set_deadline(worker);
	}
	if (is_late && worker->is_opener_ready && worker->nr_sent && is_task(worker->calls[0]) &&
	    has_gone_on(worker))
		set_deadline(worker);
	/* Unless there was a reply after all. */
	if (is_late && worker->opener_late_ns == late_ns && is_hanging(worker)) {
		worker->troubles.nr_openers_late++;
		lose_opener(worker, -ETIME);
	}
	if (worker->opener.pid && is_gone(send_calls(worker)))
		(void)replace_opener(worker);
	send_looks(worker);
}

/* --- parsers ---------------------------------------------------------------------------------- */

static void close_parser(struct worker *worker, struct parser_process *parser, bool is_guilty)
{
	parser->cpu_ns += cpu_ns_of(&parser->process);
	kill_process(worker, &parser->process, is_guilty ? &parser->question.file : NULL);
	if (parser->inbox >= 0)
		(void)close(parser->inbox);
	if (parser->buffer >= 0)
		(void)close(parser->buffer);
	parser->inbox = parser->buffer = -1;
	parser->is_stopped = false;
	parser->has_much = false;
}

static int start_parser(struct worker *worker, enum parser number)
{
	struct parser_process *parser = &worker->parsers[number];
	int control[2] = {-1, -1}, inbox[2] = {-1, -1}, err;

	if (parser->process.pid)
		return 0;
	if (parser->not_before_ns == UINT64_MAX)
		return -EPERM; /* see refuse() */
	if (clock_now_ns() < parser->not_before_ns)
		return -EAGAIN;
	parser->buffer = raise_fd(memfd_create("stook-parser", MFD_CLOEXEC));
	err = parser->buffer < 0 ? -errno : make_pair(control);
	if (err == 0)
		err = make_pair(inbox);
	if (err == 0) {
		const int fds[] = {control[1], inbox[1], parser->buffer};

		err = start(worker, PARSER_NAME, &parser->process, fds, ARRAY_SIZE(fds), true);
	}
	if (control[1] >= 0)
		(void)close(control[1]);
	if (inbox[1] >= 0)
		(void)close(inbox[1]);
	parser->process.socket = control[0];
	parser->inbox = inbox[0];
	parser->is_confined = false;
	if (err == 0) {
		(void)setpriority(PRIO_PROCESS, (id_t)parser->process.pid, parser->niceness);
		err = watch(worker, control[0]);
	}
	if (err == 0)
		err = worker->opener.pid ? introduce(worker, number) : start_opener(worker);
	if (is_gone(err))
		err = replace_opener(worker);
	if (err < 0)
		close_parser(worker, parser, false);
	return err;
}

/* Marks the question as finished. */
static void finish(struct parser_process *parser, int err)
{
	parser->is_done = true;
	parser->err = err;
}

static void pause_parser(struct parser_process *parser)
{
	unsigned doublings =
		parser->nr_failures < MAX_DOUBLINGS ? parser->nr_failures : MAX_DOUBLINGS;

	parser->nr_failures++;
	parser->not_before_ns = clock_now_ns() + (FIRST_PAUSE_NS << doublings);
}

static void fail(struct worker *worker, struct parser_process *parser, int err)
{
	close_parser(worker, parser, true);
	blame(worker, &parser->question.file, parser->path);
	pause_parser(parser);
	finish(parser, err);
}

/* The parser was asked, but did not start. No file is to blame. */
static void not_started(struct worker *worker, struct parser_process *parser)
{
	worker->troubles.nr_parsers_late++;
	close_parser(worker, parser, false);
	pause_parser(parser);
	finish(parser, -ETIME);
}

/* The parser could not drop its rights. It is not started again. */
static void refuse(struct worker *worker, struct parser_process *parser,
		   const struct parser_reply *reply)
{
	char *why = worker->troubles.cannot_start;

	if (!why[0]) {
		memcpy(why, reply->want.name, sizeof(worker->troubles.cannot_start) - 1);
		text_make_safe(why, why, strlen(why));
	}
	close_parser(worker, parser, false);
	parser->not_before_ns = UINT64_MAX;
	finish(parser, -EPERM);
}

/* Copies the answer from the buffer. The parser could still modify the buffer, but not the copy. */
static void take_answer(struct worker *worker, struct parser_process *parser, uint64_t nr)
{
	int err;

	if (nr > parser->question.most_bytes) {
		err = -EMSGSIZE;
	} else {
		parser->answer = malloc(nr ? nr : 1);
		err = parser->answer ? fd_read_at(parser->buffer, 0, parser->answer, nr) : -ENOMEM;
	}
	(void)!ftruncate(parser->buffer, 0);
	if (err < 0 && err != -ENOMEM && err != -EMSGSIZE) {
		fail(worker, parser, -EPROTO);
		return;
	}
	parser->answer_bytes = nr;
	finish(parser, err);
}

/*
 * A task's error may be whatever the server of a FUSE file answered, or a compromised parser. Some have a meaning here:
 * that there is no answer yet, that somebody stopped us, that our own memory is used up.
 */
static int error_of_task(int err)
{
	if (err == -EAGAIN || err == -ECANCELED)
		return -EIO;
	return err == -ENOMEM ? -ENOBUFS : err;
}

/* Handles a request of the parser for another file. */
static void look_for(struct worker *worker, enum parser number, const struct parser_reply *reply)
{
	struct parser_process *parser = &worker->parsers[number];
	const struct worker_want *want = &reply->want;
	struct worker_place place = {.root_fd = -1};
	uint64_t began_ns = clock_now_ns();
	struct open_request *request;
	int err = -ENODATA;

	if (want->build_id_bytes <= WORKER_ID_BYTES &&
	    memchr(want->name, '\0', sizeof(want->name)) && parser->question.place)
		err = parser->question.place(parser->question.context, want, &place);
	if (err == -EINPROGRESS) {
		parser->owed = reply->delivery;
		parser->owed_ns = began_ns;
		return;
	}
	parser->deadline_ns += clock_now_ns() - began_ns;
	if (err < 0) {
		deliver_failure(parser, reply->delivery, err);
		return;
	}
	request = new_request(worker,
			      place.is_handle	 ? OPENER_REOPEN
			      : place.is_written ? OPENER_WRITTEN
			      : place.is_owned	 ? OPENER_OWNED
						 : OPENER_PATHS,
			      number);
	if (!request) { /* otherwise the answer would be as if there were no such file */
		close_parser(worker, parser, false);
		finish(parser, -ENOMEM);
		return;
	}
	if (place.root_fd >= 0) {
		request->fd = fcntl(place.root_fd, F_DUPFD_CLOEXEC, 0);
		err = request->fd < 0 ? -errno : 0;
	}
	if (err < 0) {
		deliver_failure(parser, reply->delivery, err);
		free_request(request);
		return;
	}
	request->call.delivery = reply->delivery;
	request->call.owners = place.owners;
	request->call.written_since_ns = place.written_since_ns;
	request->call.first = want->first;
	memcpy(request->call.paths, place.paths, place.nr);
	request->path_bytes = place.nr;
	request->file = parser->question.file;
	call_opener(worker, request);
}

/* True if a parser waits for a file that was requested, or for our answer. */
static bool waits_for_others(const struct worker *worker, const struct parser_process *parser)
{
	size_t i;

	if (parser->owed)
		return true;
	for (i = 0; i < worker->nr_calls; i++)
		if (!is_look(worker->calls[i]) && !is_task(worker->calls[i]) &&
		    parser == &worker->parsers[worker->calls[i]->call.parser])
			return true;
	return false;
}

/* True if a parser waits for an opener that has yet to start. */
static bool waits_for_start(const struct worker *worker, const struct parser_process *parser)
{
	return !worker->is_opener_ready && waits_for_others(worker, parser);
}

/* True if a parser has waited in the kernel for too long: for bytes of a file that do not come. */
static bool is_stalled(struct worker *worker, struct parser_process *parser)
{
	const uint64_t now_ns = clock_now_ns();
	const uint64_t most_ns = STALL_NS >> halvings_for(worker, &parser->question.file);
	uint64_t cpu_ns;

	if (parser->is_stopped) /* by us; when we did not run for long, neither did pace() */
		return false;
	if (now_ns - parser->looked_ns < STALL_LOOK_NS)
		return false;
	parser->looked_ns = now_ns;
	cpu_ns = cpu_ns_of(&parser->process);
	if (cpu_ns != parser->seen_cpu_ns || waits_for_others(worker, parser)) {
		parser->seen_cpu_ns = cpu_ns;
		parser->seen_ns = now_ns;
	}
	return now_ns - parser->seen_ns >= most_ns && is_waiting(&parser->process);
}

/* Stops parsers that work, or lets them go on. A stopped one cannot finish, so idle ones are never stopped. */
static void pace(struct worker *worker)
{
	const uint64_t now_ns = clock_now_ns(), since_ns = now_ns - worker->paced_ns;
	uint64_t used_ns = 0;
	bool is_over;
	size_t i;

	if (!worker->pace_most_ns || since_ns < PACE_NS)
		return;
	worker->paced_ns = now_ns;
	for (i = 0; i < NR_PARSERS; i++)
		used_ns += worker_cpu_ns(worker, (enum parser)i);
	worker->allowed_ns += (uint64_t)((double)since_ns * worker->pace_share);
	if (worker->allowed_ns > used_ns + worker->pace_most_ns)
		worker->allowed_ns = used_ns + worker->pace_most_ns;
	is_over = used_ns > worker->allowed_ns;
	for (i = 0; i < NR_PARSERS; i++) {
		struct parser_process *parser = &worker->parsers[i];

		if (!parser->process.pid || !parser->is_busy || parser->is_done)
			continue;
		if (parser->is_stopped) {
			parser->deadline_ns += since_ns;
			parser->seen_ns = now_ns;
		}
		if (parser->is_stopped != is_over)
			(void)kill(parser->process.pid, is_over ? SIGSTOP : SIGCONT);
		parser->is_stopped = is_over;
	}
}

static void read_parser(struct worker *worker, enum parser number)
{
	struct parser_process *parser = &worker->parsers[number];
	char text[WORKER_WHAT_BYTES];
	bool is_late;
	int i;

	for (i = 0; i < STEP_REPLIES_MAX && parser->process.pid; i++) {
		struct parser_reply reply;
		ssize_t nr = message_receive(parser->process.socket, &reply, sizeof(reply),
					     MSG_DONTWAIT, NULL, 0);

		if (nr == -EAGAIN)
			break;
		if (nr < 0) {
			worker->troubles.nr_parsers_died++;
			if (parser->is_busy && !parser->is_done)
				fail(worker, parser, -EFAULT);
			else
				close_parser(worker, parser, false);
			return;
		}
		if (nr == sizeof(reply) && !parser->is_confined && reply.kind == PARSER_CONFINED) {
			parser->is_confined = true;
			parser->deadline_ns += clock_now_ns() - parser->seen_ns;
			parser->seen_ns = clock_now_ns();
			continue;
		}
		if (nr == sizeof(reply) && !parser->is_confined &&
		    reply.kind == PARSER_UNCONFINED) {
			refuse(worker, parser, &reply);
			return;
		}
		if (nr != sizeof(reply) || !parser->is_confined || !parser->is_busy ||
		    parser->is_done || reply.job != parser->job) {
			worker->troubles.nr_parsers_died++;
			fail(worker, parser, -EPROTO);
			return;
		}
		if (reply.kind == PARSER_WANTS && parser->nr_wants++ < QUESTION_WANTS_MAX) {
			look_for(worker, number, &reply);
			parser->seen_ns = clock_now_ns();
			continue;
		}
		if (reply.kind != PARSER_DONE || reply.err > 0) {
			fail(worker, parser, -EPROTO);
			return;
		}
		parser->nr_failures = 0;
		if (reply.err < 0)
			finish(parser, error_of_task(reply.err));
		else
			take_answer(worker, parser, reply.answer_bytes);
	}
	if (!parser->is_busy || parser->is_done)
		return;
	if (!parser->is_confined) {
		if (clock_now_ns() - parser->seen_ns >= START_NS)
			not_started(worker, parser);
		return;
	}
	is_late = is_stalled(worker, parser);
	if (is_late) {
		describe_question(parser, text);
		note_late(worker, &parser->question.file, text);
	}
	if (is_late || (!parser->owed && !waits_for_start(worker, parser) &&
			clock_now_ns() >= parser->deadline_ns)) {
		worker->troubles.nr_parsers_late++;
		fail(worker, parser, -ETIME);
	}
}

/* --- the interface ---------------------------------------------------------------------------- */

struct worker *worker_new(struct error *error)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	const char *libraries = getenv("LD_LIBRARY_PATH");
	size_t i;

	if (!worker) {
		(void)error_no_memory(error, "");
		return NULL;
	}
	worker->opener = (struct process){.pidfd = -1, .socket = -1};
	for (i = 0; i < NR_PARSERS; i++) {
		worker->parsers[i].process = worker->opener;
		worker->parsers[i].inbox = worker->parsers[i].buffer = -1;
	}
	worker_set_niceness(worker, getpriority(PRIO_PROCESS, 0));
	worker->epoll = epoll_create1(EPOLL_CLOEXEC);
	worker->program = raise_fd(process_own_program());
	if (worker->epoll < 0) {
		(void)error_set_errno(error, "cannot wait for helper processes");
		worker_free(worker);
		return NULL;
	}
	/* Needed to find stook's own libraries. The rest of the environment is not passed on. */
	if (libraries && asprintf(&worker->environment[0], "LD_LIBRARY_PATH=%s", libraries) < 0) {
		worker->environment[0] = NULL;
		(void)error_no_memory(error, "");
		worker_free(worker);
		return NULL;
	}
	return worker;
}

/* Waits briefly for killed processes: all exit at once, except the ones that wait in the kernel. */
static void wait_for_killed(struct worker *worker)
{
	size_t i;

	for (i = 0; i < worker->nr_killed; i++) {
		struct pollfd ended = {.fd = worker->killed[i].process.pidfd, .events = POLLIN};

		if (!worker->killed[i].is_abandoned && ended.fd >= 0)
			(void)poll(&ended, 1, END_MS);
	}
	look_at_killed(worker);
}

void worker_end(struct worker *worker)
{
	size_t i;

	kill_process(worker, &worker->opener, NULL);
	drop_calls(worker, -EIO);
	for (i = 0; i < NR_PARSERS; i++) {
		struct parser_process *parser = &worker->parsers[i];

		close_parser(worker, parser, false);
		if (parser->is_busy && !parser->is_done)
			finish(parser, -ECANCELED);
	}
	wait_for_killed(worker);
}

void worker_limit_memory(struct worker *worker, const struct worker_memory *memory)
{
	size_t i;

	worker->memory = *memory;
	for (i = 0; i < NR_PARSERS; i++)
		close_parser(worker, &worker->parsers[i], false);
}

static void set_parser_niceness(struct parser_process *parser, int niceness)
{
	parser->niceness = niceness;
	if (parser->process.pid)
		(void)setpriority(PRIO_PROCESS, (id_t)parser->process.pid, niceness);
}

void worker_take_over(struct worker *worker)
{
	size_t i;

	for (i = 0; i < NR_PARSERS; i++) {
		struct parser_process *parser = &worker->parsers[i];

		if (parser->is_busy && !parser->is_done)
			close_parser(worker, parser, false);
		free(parser->answer);
		parser->answer = NULL;
		parser->is_busy = parser->is_done = false;
		set_parser_niceness(parser, worker->niceness);
	}
}

void worker_free(struct worker *worker)
{
	size_t i;

	if (!worker)
		return;
	worker_end(worker);
	for (i = 0; i < NR_PARSERS; i++)
		free(worker->parsers[i].answer);
	for (i = 0; i < worker->nr_killed; i++)
		if (worker->killed[i].process.pidfd >= 0)
			(void)close(worker->killed[i].process.pidfd);
	if (worker->program >= 0)
		(void)close(worker->program);
	if (worker->epoll >= 0)
		(void)close(worker->epoll);
	free(worker->environment[0]);
	free(worker->killed);
	free(worker);
}

/* Notes the first reason why a worker could not be started. Returns err. */
static int note_start(struct worker *worker, int err)
{
	if (err < 0 && err != -EAGAIN && !worker->troubles.cannot_start[0])
		(void)snprintf(worker->troubles.cannot_start, sizeof(worker->troubles.cannot_start),
			       "cannot start a helper process: %s", strerror(-err));
	return err;
}

void worker_set_niceness(struct worker *worker, int niceness)
{
	size_t i;

	worker->niceness = niceness;
	worker_set_opener_niceness(worker, niceness);
	for (i = 0; i < NR_PARSERS; i++)
		set_parser_niceness(&worker->parsers[i], niceness);
}

void worker_pace(struct worker *worker, uint64_t most_ns, double share)
{
	size_t i;

	if (!worker->pace_most_ns) {
		worker->paced_ns = clock_now_ns();
		worker->allowed_ns = most_ns;
		for (i = 0; i < NR_PARSERS; i++)
			worker->allowed_ns += worker_cpu_ns(worker, (enum parser)i);
	}
	worker->pace_most_ns = most_ns;
	worker->pace_share = share;
}

void worker_favor(struct worker *worker, enum parser parser, int by)
{
	worker->parsers[parser].niceness = worker->niceness - by;
}

void worker_set_opener_niceness(struct worker *worker, int niceness)
{
	worker->opener_niceness = niceness;
	if (worker->opener.pid)
		(void)setpriority(PRIO_PROCESS, (id_t)worker->opener.pid, niceness);
}

void worker_begin(struct worker *worker, enum parser parser)
{
	(void)note_start(worker, start_parser(worker, parser));
}

/* Ends another parser that has much memory. 0, or -EAGAIN: it has a question. */
static int take_much(struct worker *worker, const struct parser_process *asked)
{
	size_t i;

	for (i = 0; i < NR_PARSERS; i++) {
		struct parser_process *other = &worker->parsers[i];

		if (other == asked || !other->has_much)
			continue;
		if (other->is_busy)
			return -EAGAIN;
		close_parser(worker, other, false);
	}
	return 0;
}

int worker_ask(struct worker *worker, enum parser parser, const struct worker_question *question)
{
	struct parser_process *asked = &worker->parsers[parser];
	const struct bad_file *bad = find_bad(worker, &question->file);
	struct open_request *request = NULL;
	struct parser_call call = {.task = question->task, .question_bytes = question->nr};
	int err;

	if (asked->is_busy)
		return -EBUSY;
	if (bad && bad->nr_failures >= FILE_FAILURES_MAX)
		return -EOWNERDEAD;
	if (is_device_given_up(worker, &question->file) ||
	    is_arranger_given_up(worker, question->file.arranger))
		return -EHOSTDOWN;
	err = question->is_large && !asked->has_much ? take_much(worker, asked) : 0;
	if (!err)
		err = note_start(worker, start_parser(worker, parser));
	if (err < 0)
		return err;
	asked->has_much |= question->is_large;
	call.data_bytes = asked->has_much ? worker->memory.much_bytes : worker->memory.little_bytes;
	if (question->handle >= 0) {
		request = new_request(worker, OPENER_REOPEN, parser);
		if (!request)
			return -ENOMEM;
		request->fd = fcntl(question->handle, F_DUPFD_CLOEXEC, 0);
		request->file = question->file;
		request->call.delivery = call.delivery = ++worker->last_delivery;
	}
	call.job = ++worker->last_job;
	err = request && request->fd < 0 ? -errno : 0;
	if (err == 0)
		err = fd_write_at(asked->buffer, 0, question->bytes, question->nr);
	if (err == 0)
		err = message_send(asked->process.socket, &call, sizeof(call), NULL, 0);
	if (err < 0) {
		free_request(request);
		if (is_gone(err)) {
			/* It was killed between questions, so no file is to blame. */
			worker->troubles.nr_parsers_died++;
			close_parser(worker, asked, false);
			pause_parser(asked);
			err = -EAGAIN;
		}
		return err;
	}
	asked->question = *question;
	path_of_handle(question->handle, asked->path, sizeof(asked->path));
	asked->job = call.job;
	asked->is_busy = true;
	asked->is_done = false;
	asked->nr_wants = 0;
	asked->owed = 0;
	asked->seen_ns = clock_now_ns();
	asked->deadline_ns = asked->seen_ns + question->most_ns;
	if (request)
		call_opener(worker, request);
	return 0;
}

void worker_answer(struct worker *worker, enum parser parser, int err)
{
	struct parser_process *asked = &worker->parsers[parser];

	if (!asked->owed)
		return;
	asked->seen_ns = clock_now_ns();
	asked->deadline_ns += asked->seen_ns - asked->owed_ns;
	if (asked->process.pid)
		deliver_failure(asked, asked->owed, err);
	asked->owed = 0;
}

bool worker_is_busy(const struct worker *worker, enum parser parser)
{
	return worker->parsers[parser].is_busy;
}

void worker_step(struct worker *worker)
{
	size_t i;

	if (worker->nr_killed)
		look_at_killed(worker);
	read_opener(worker);
	for (i = 0; i < NR_PARSERS; i++)
		read_parser(worker, (enum parser)i);
	pace(worker);
}

bool worker_has_looked(struct worker *worker)
{
	bool has_looked = worker->has_looked;

	worker->has_looked = false;
	return has_looked;
}

int worker_fetch(struct worker *worker, enum parser parser, void **ret_bytes, size_t *ret_nr)
{
	struct parser_process *asked = &worker->parsers[parser];

	if (!asked->is_busy)
		return -EINVAL;
	if (!asked->is_done)
		return -EAGAIN;
	asked->is_busy = asked->is_done = false;
	if (asked->err < 0) {
		free(asked->answer);
	} else {
		*ret_bytes = asked->answer;
		*ret_nr = asked->answer_bytes;
	}
	asked->answer = NULL;
	return asked->err;
}

int worker_fd(const struct worker *worker)
{
	return worker->epoll;
}

/* Waits for something to read, or for a moment. -ECANCELED when stop_fd becomes readable. */
static int wait_a_moment(const struct worker *worker, int stop_fd, int most_ms)
{
	struct pollfd fds[] = {{.fd = worker->epoll, .events = POLLIN},
			       {.fd = stop_fd, .events = POLLIN}};

	(void)poll(fds, ARRAY_SIZE(fds), most_ms);
	return fds[1].revents & POLLIN ? -ECANCELED : 0;
}

int worker_wait_for_looks(struct worker *worker, uint64_t until_ns, int stop_fd)
{
	int err = 0;

	worker_step(worker);
	while (err == 0 && worker_is_looking(worker) && clock_now_ns() < until_ns) {
		err = wait_a_moment(worker, stop_fd, PAUSE_LOOK_MS);
		worker_step(worker);
	}
	return err;
}

int worker_call(struct worker *worker, enum parser parser, const struct worker_question *question,
		int stop_fd, void **ret_bytes, size_t *ret_nr)
{
	const uint64_t end_ns = clock_now_ns() + question->most_ns;
	int err;

	while ((err = worker_ask(worker, parser, question)) == -EAGAIN && clock_now_ns() < end_ns)
		if (wait_a_moment(worker, stop_fd, PAUSE_LOOK_MS) < 0)
			return -ECANCELED;
	if (err < 0)
		return err;
	for (;;) {
		worker_step(worker);
		err = worker_fetch(worker, parser, ret_bytes, ret_nr);
		if (err != -EAGAIN)
			return err;
		if (wait_a_moment(worker, stop_fd, LOOK_MS) == 0)
			continue;
		worker_end(worker);
		return worker_fetch(worker, parser, ret_bytes, ret_nr);
	}
}

int worker_call_twice(struct worker *worker, enum parser parser,
		      const struct worker_question *question, int stop_fd, void **ret_bytes,
		      size_t *ret_nr)
{
	struct worker_question again = *question;
	const bool had_much = worker->parsers[parser].has_much || !worker->memory.much_bytes;
	int err = worker_call(worker, parser, question, stop_fd, ret_bytes, ret_nr);

	again.is_large |= err == -ENOBUFS;
	return err == -EFAULT || (err == -ENOBUFS && !had_much)
		       ? worker_call(worker, parser, &again, stop_fd, ret_bytes, ret_nr)
		       : err;
}

/* Makes the memory of a question to the opener. Returns a memfd or a negative errno. */
static int make_memory(const struct opener_question *question)
{
	static const struct opener_progress none;
	cleanup_fd int memory = memfd_create("stook-opener", MFD_CLOEXEC);
	int err = memory < 0 ? -errno : fd_write_at(memory, 0, &none, sizeof(none));

	if (err == 0)
		err = fd_write_at(memory, sizeof(none), question->bytes, question->nr);
	return err < 0 ? err : take_fd(&memory);
}

/* Sends a question to the opener. The result is in worker->asked_err when worker->asked is NULL. */
static int ask_opener(struct worker *worker, const struct opener_question *question)
{
	struct open_request *request;
	int err;

	if (is_arranger_given_up(worker, ARRANGER_TASK))
		return -EHOSTDOWN;
	err = note_start(worker, start_opener(worker));
	if (err < 0)
		return err;
	request = new_request(worker, OPENER_TASK, PARSER_OTHER_FILES);
	if (!request)
		return -ENOMEM;
	request->call.task = question->task;
	request->file.arranger = ARRANGER_TASK;
	request->fd = err = make_memory(question);
	if (err < 0) {
		free_request(request);
		return err;
	}
	worker->asked = question;
	worker->progress.what[0] = '\0';
	worker->opener_cpu_ns = 0;
	call_opener(worker, request);
	return 0;
}

int worker_call_opener(struct worker *worker, const struct opener_question *question,
		       char doing[WORKER_DOING_BYTES])
{
	uint64_t end_ns = clock_now_ns() + question->most_ns;
	int err = ask_opener(worker, question);

	doing[0] = '\0';
	if (err < 0)
		return err;
	worker_step(worker);
	while (worker->asked) {
		(void)wait_a_moment(worker, -1, LOOK_MS);
		worker_step(worker);	      /* if we were late ourselves, its answer is here */
		if (!worker->is_opener_ready) /* START_NS limits that */
			end_ns = clock_now_ns() + question->most_ns;
		/* Earlier calls may be looks, which are not to blame. */
		if (worker->asked && clock_now_ns() >= end_ns && worker->nr_sent &&
		    is_task(worker->calls[0])) {
			worker->troubles.nr_openers_late++;
			lose_opener(worker, -ETIME);
		}
	}
	if (worker->asked_err == -ETIME)
		(void)snprintf(doing, WORKER_DOING_BYTES, "%s",
			       worker->progress.what[0] ? worker->progress.what
							: "the helper process that opens files");
	return worker->asked_err;
}

const char *worker_why_none(int err)
{
	switch (err) {
	case -ETIME:
		return "took too long";
	case -EFAULT:
		return "crashed";
	case -E2BIG:
	case -ENOBUFS:
		return "needs too much memory";
	case -EMSGSIZE:
	case -EPROTO:
		return "gave a malformed answer";
	case -EOWNERDEAD:
	case -EHOSTDOWN:
		return "gave up the file, or its device, after failures";
	default:
		return "failed";
	}
}

uint64_t worker_cpu_ns(const struct worker *worker, enum parser parser)
{
	return worker->parsers[parser].cpu_ns + cpu_ns_of(&worker->parsers[parser].process);
}

void worker_place_add(struct worker_place *place, const char *path)
{
	size_t nr = strlen(path) + 1;

	if (nr > sizeof(place->paths) - place->nr)
		return;
	memcpy(place->paths + place->nr, path, nr);
	place->nr += nr;
}

void worker_troubles_add(const struct worker *worker, struct worker_troubles *sum)
{
	const struct worker_troubles *own = &worker->troubles;

	sum->nr_parsers_died += own->nr_parsers_died;
	sum->nr_parsers_late += own->nr_parsers_late;
	sum->nr_openers_died += own->nr_openers_died;
	sum->nr_openers_late += own->nr_openers_late;
	sum->nr_abandoned += own->nr_abandoned;
	sum->nr_files_given_up += own->nr_files_given_up;
	sum->nr_devices_given_up += own->nr_devices_given_up;
	keep_first(sum->silent, own->silent);
	keep_first(sum->silent_device, own->silent_device);
	keep_first(sum->given_up, own->given_up);
	if (own->last_status)
		sum->last_status = own->last_status;
	if (!sum->cannot_start[0])
		memcpy(sum->cannot_start, own->cannot_start, sizeof(sum->cannot_start));
}
