/*
 * A FUSE server that stops answering, and processes that use its files:
 *
 *	serve DEVICE FOLDER CONTROL SECONDS
 *		mounts a file system on FOLDER and prints "ready". Its files "program", "libjvm.so" and
 *		"direct" have the bytes of this program. A line in CONTROL, a fifo, names the kind of
 *		request that is not answered from then on, except for reads of the parts of "program"
 *		that are loaded. For each request without an answer it prints "KIND PID COMM". It ends
 *		after SECONDS at the latest: then the kernel aborts all requests, and nobody waits any
 *		longer.
 *	run FOLDER CONTROL KIND SECONDS
 *		makes the server silent for KIND, prints "ready", and uses some CPU time.
 *	jvm FOLDER CONTROL KIND SECONDS
 *		the same in a process that looks like a JVM, with FOLDER/libjvm.so, JIT-compiled code,
 *		and a socket. KIND "tmp": without a socket, and FOLDER is its /tmp, in which the server
 *		does not answer lookups.
 *	map FOLDER CONTROL SECONDS
 *		prints "ready", then hangs in mmap() with its mmap_lock held, in a call that waits for
 *		a page that the server does not send. Another thread uses some CPU time.
 *	swap FOLDER CONTROL FILE…
 *		prints "ready", makes the server silent for "getattr", maps code of each FILE, and FOLDER/program
 *		in its place at once: before anybody can have looked at FILE through this process.
 *	exec FOLDER CONTROL FILE
 *		prints "ready", uses some CPU time until FILE exists, then hangs in execve(), in which it
 *		closes a file: the server is silent for "flush".
 *
 * The protocol is implemented here, so that nothing needs to be installed. The kernel caches no
 * attributes and no names, and only the pages of a file that were read: there is no read-ahead.
 *
 * The program is linked statically (Makefile): attaching a uprobe takes the mmap_lock of each
 * process that maps the file, and holds up every fork() on the host meanwhile; so no probe in a
 * shared library may meet the processes that hang.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "burn.h"

#define REQUEST_BYTES (1u << 20)
#define READ_MAX      (128u << 10)

static __attribute__((noreturn)) void die(const char *what)
{
	fprintf(stderr, "silent_files: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

/* --- serve DEVICE FOLDER CONTROL SECONDS -------------------------------------------------------- */

static const struct {
	const char *name;
	uint32_t open_flags;
} files[] = {
	/* Otherwise each open() would drop the pages that the program runs on. */
	{"program", FOPEN_KEEP_CACHE},
	{"libjvm.so", FOPEN_KEEP_CACHE},
	/* mmap() waits for pages that are being read, in order to drop them. */
	{"direct", FOPEN_DIRECT_IO | FOPEN_KEEP_CACHE},
};

#define NR_FILES   (sizeof(files) / sizeof(files[0]))
#define FIRST_NODE 2 /* of the files; 1 is the folder */

static const struct {
	const char *name;
	uint32_t opcode;
} kinds[] = {
	{"open", FUSE_OPEN},	   {"read", FUSE_READ},	    {"flush", FUSE_FLUSH},
	{"getattr", FUSE_GETATTR}, {"lookup", FUSE_LOOKUP}, {"statfs", FUSE_STATFS},
	{"ioctl", FUSE_IOCTL},
};

#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static int device, backing;
static size_t silent = NR_KINDS; /* index of the kind that is not answered; NR_KINDS: none */

static void reply(const struct fuse_in_header *in, int err, const void *body, size_t nr)
{
	struct fuse_out_header header = {.unique = in->unique, .error = -err};
	struct iovec parts[] = {{&header, sizeof(header)}, {(void *)(uintptr_t)body, nr}};

	if (err)
		nr = parts[1].iov_len = 0;
	header.len = (uint32_t)(sizeof(header) + nr);
	(void)!writev(device, parts, 2);
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr attr = {.ino = node, .nlink = 1, .uid = getuid(), .gid = getgid()};
	struct stat st = {0};

	fstat(backing, &st);
	attr.mode = node >= FIRST_NODE ? S_IFREG | 0555 : S_IFDIR | 0755;
	attr.size = node >= FIRST_NODE ? (uint64_t)st.st_size : 0;
	attr.blocks = (attr.size + 511) / 512;
	attr.blksize = 4096;
	return attr;
}

static void answer_init(const struct fuse_in_header *in)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_write = READ_MAX,
		.max_background = 16,
	};

	reply(in, 0, &out, sizeof(out));
}

static void answer_lookup(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out out = {0};
	size_t i;

	for (i = 0; i < NR_FILES && strcmp(name, files[i].name) != 0; i++)
		;
	out.nodeid = FIRST_NODE + i;
	out.attr = attributes(out.nodeid);
	reply(in, i < NR_FILES ? 0 : ENOENT, &out, sizeof(out));
}

static void answer_open(const struct fuse_in_header *in, const struct fuse_open_in *open)
{
	struct fuse_open_out out = {.open_flags = files[in->nodeid - FIRST_NODE].open_flags};

	reply(in, (open->flags & O_ACCMODE) == O_RDONLY ? 0 : EACCES, &out, sizeof(out));
}

static void answer_read(const struct fuse_in_header *in, const struct fuse_read_in *read)
{
	static unsigned char bytes[READ_MAX];
	size_t wanted = read->size < READ_MAX ? read->size : READ_MAX;
	ssize_t nr = pread(backing, bytes, wanted, (off_t)read->offset);

	reply(in, nr < 0 ? EIO : 0, bytes, nr < 0 ? 0 : (size_t)nr);
}

static void answer(const struct fuse_in_header *in)
{
	struct fuse_attr_out attr = {0};
	struct fuse_open_out folder = {0};
	struct fuse_statfs_out statfs = {.st = {.bsize = 4096, .namelen = 255, .frsize = 4096}};
	const void *body = in + 1;

	switch (in->opcode) {
	case FUSE_INIT:
		answer_init(in);
		break;
	case FUSE_LOOKUP:
		answer_lookup(in, body);
		break;
	case FUSE_GETATTR:
		attr.attr = attributes(in->nodeid);
		reply(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_STATFS:
		reply(in, 0, &statfs, sizeof(statfs));
		break;
	case FUSE_OPEN:
		answer_open(in, body);
		break;
	case FUSE_OPENDIR:
		reply(in, 0, &folder, sizeof(folder));
		break;
	case FUSE_READ:
		answer_read(in, body);
		break;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_READDIR:
	case FUSE_FLUSH:
		reply(in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* no reply expected */
	default:
		reply(in, ENOSYS, NULL, 0);
	}
}

/* Reports a request that is left unanswered. */
static void report(uint32_t pid)
{
	char path[64], comm[32] = "?\n";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	file = fopen(path, "r");
	if (file && !fgets(comm, sizeof(comm), file))
		snprintf(comm, sizeof(comm), "?\n");
	if (file)
		fclose(file);
	printf("%s %u %s", kinds[silent].name, pid, comm);
	fflush(stdout);
}

/* Pages of the program that it runs on are sent: it would wait for them itself. */
static bool is_answered(const struct fuse_in_header *in)
{
	extern const char __executable_start[], edata[];
	const struct fuse_read_in *read = (const struct fuse_read_in *)(in + 1);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t loaded = ((size_t)(edata - __executable_start) / page + 1) * page;

	if (silent == NR_KINDS || in->opcode != kinds[silent].opcode)
		return true;
	return in->opcode == FUSE_READ && in->nodeid == FIRST_NODE &&
	       read->offset + read->size <= loaded;
}

static void serve_request(void)
{
	static _Alignas(struct fuse_in_header) char request[REQUEST_BYTES];
	const struct fuse_in_header *in = (const struct fuse_in_header *)request;
	ssize_t nr = read(device, request, sizeof(request));

	if (nr < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
		return;
	if (nr < (ssize_t)sizeof(*in))
		exit(0); /* unmounted */
	if (is_answered(in))
		answer(in);
	else
		report(in->pid);
}

static void obey(int control)
{
	char line[64] = "";
	size_t i;

	if (read(control, line, sizeof(line) - 1) <= 0)
		return;
	line[strcspn(line, "\n")] = '\0';
	for (i = 0; i < NR_KINDS && strcmp(line, kinds[i].name) != 0; i++)
		;
	silent = i;
	printf("silent %s\n", line);
	fflush(stdout);
}

static __attribute__((noreturn)) void serve(char **argv)
{
	int control = open(argv[2], O_RDWR | O_NONBLOCK | O_CLOEXEC); /* without an end of file */
	struct pollfd polled[2];
	char options[128];

	alarm((unsigned)atoi(argv[3]));
	backing = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	device = open(argv[0], O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (control < 0 || backing < 0 || device < 0)
		die(device < 0 ? argv[0] : argv[2]);
	/* allow_other is the worst case: without it even root has no access. */
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other", device, getuid(),
		 getgid());
	if (mount("silent_files", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0)
		die(argv[1]);
	ready();
	polled[0] = (struct pollfd){.fd = device, .events = POLLIN};
	polled[1] = (struct pollfd){.fd = control, .events = POLLIN};
	for (;;) {
		if (poll(polled, 2, -1) < 0)
			continue;
		if (polled[1].revents) /* first: requests that come later are not answered */
			obey(control);
		else if (polled[0].revents)
			serve_request();
	}
}

/* --- run, map --------------------------------------------------------------------------------- */

#define WORK_TURNS 200000 /* less than a millisecond */
#define PAUSE_US   2000

/* Position-independent, without calls and data, so that a copy of it runs. */
__attribute__((used, noinline, section("movable"))) static void movable_code(void)
{
	BURN_TURNS(WORK_TURNS);
}

extern const char __start_movable[], __stop_movable[];

NAMED void file_work(void)
{
	BURN_TURNS(WORK_TURNS);
}

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void work_for(int seconds, void (*code)(void))
{
	uint64_t end_ns = monotonic_ns() + (uint64_t)seconds * 1000000000ull;

	do {
		file_work();
		if (code)
			code();
		usleep(PAUSE_US);
	} while (monotonic_ns() < end_ns);
}

/* Returns memory with executable code that is in no file. */
static void (*make_code(void))(void)
{
	size_t nr = (size_t)(__stop_movable - __start_movable);
	void *code = mmap(NULL, 16 * page_bytes(), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		die("mmap");
	memcpy(code, __start_movable, nr);
	if (mprotect(code, 16 * page_bytes(), PROT_READ | PROT_EXEC) < 0)
		die("mprotect");
	__builtin___clear_cache((char *)code, (char *)code + nr);
	return (void (*)(void))code;
}

/* Maps the first page of a file. MAP_FIXED if at is not NULL. */
static void *map_file(const char *folder, const char *name, void *at)
{
	char path[4096];
	void *map;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	map = mmap(at, page_bytes(), PROT_READ | PROT_EXEC, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd,
		   0);
	if (map == MAP_FAILED)
		die(path);
	close(fd);
	return map;
}

static int open_control(const char *control)
{
	int fd = open(control, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		die(control);
	return fd;
}

static void make_silent(int control, const char *kind)
{
	if (dprintf(control, "%s\n", kind) < 0)
		die(kind);
	close(control);
}

static void on_quit(int number)
{
	(void)number;
}

/* Answers whatever it is asked, without a map of symbols. The thread has the name of a JVM's. */
static void *answer_jvm(void *listener)
{
	prctl(PR_SET_NAME, "Signal Dispatch");
	for (;;) {
		int peer = accept(*(int *)listener, NULL, NULL);

		if (peer < 0) {
			sleep(1);
			continue;
		}
		(void)!write(peer, "0\n", 2);
		close(peer);
	}
	return NULL;
}

/* A JVM without an open socket gets a signal, if its command line and environment allow for it. */
static void look_like_jvm(const char *folder, bool has_socket)
{
	static int listener = -1;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct sigaction action = {.sa_handler = on_quit, .sa_flags = SA_RESTART};
	pthread_t thread;

	map_file(folder, "libjvm.so", NULL);
	sigaction(SIGQUIT, &action, NULL);
	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/.java_pid%d", (int)getpid());
	if (has_socket) {
		listener = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		    listen(listener, 8) < 0)
			die(address.sun_path);
	}
	if (pthread_create(&thread, NULL, answer_jvm, &listener))
		die("pthread_create");
}

static __attribute__((noreturn)) void run(char **argv, bool is_jvm)
{
	const char *folder = argv[0], *kind = argv[2];
	int control = open_control(argv[1]), seconds = atoi(argv[3]);
	void (*code)(void) = is_jvm ? make_code() : NULL;
	bool has_tmp = !strcmp(kind, "tmp");

	if (is_jvm)
		look_like_jvm(folder, !has_tmp);
	if (has_tmp && (unshare(CLONE_NEWNS) < 0 || mount(folder, "/tmp", NULL, MS_BIND, NULL) < 0))
		die("/tmp");
	ready();
	make_silent(control, has_tmp ? "lookup" : kind);
	work_for(seconds, code);
	exit(0);
}

struct work {
	int seconds;
	void (*code)(void);
};

static void *work_in_thread(void *argument)
{
	const struct work *work = argument;

	work_for(work->seconds, work->code);
	_exit(0);
}

static int map(char **argv)
{
	struct work work = {atoi(argv[2]), make_code()};
	volatile char *page = map_file(argv[0], "direct", NULL);
	pthread_t thread;
	pid_t reader;

	look_like_jvm(argv[0], false);
	make_silent(open_control(argv[1]), "read");
	/* The reader locks the page and waits for the server. */
	reader = fork();
	if (reader == 0)
		_exit(*page);
	if (reader < 0 || pthread_create(&thread, NULL, work_in_thread, &work))
		die("fork");
	usleep(200000);
	ready();
	/* Replaces a mapping, so that this one is locked, too: per-VMA locks do not help. */
	map_file(argv[0], "direct", (void *)page);
	fprintf(stderr, "silent_files: mmap() did not wait\n");
	return 1;
}

static __attribute__((noreturn)) void swap(char **argv)
{
	char path[4096];
	int silent_fd;

	snprintf(path, sizeof(path), "%s/program", argv[0]);
	silent_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (silent_fd < 0)
		die(path);
	ready();
	make_silent(open_control(argv[1]), "getattr");
	usleep(100000);
	for (argv += 2; *argv; argv++) {
		int fd = open(*argv, O_RDONLY | O_CLOEXEC);
		void *map = mmap(NULL, page_bytes(), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		if (map == MAP_FAILED || mmap(map, page_bytes(), PROT_READ, MAP_PRIVATE | MAP_FIXED,
					      silent_fd, 0) == MAP_FAILED)
			die(*argv);
		close(fd);
	}
	work_for(3, NULL);
	exit(0);
}

static __attribute__((noreturn)) void execute(char **argv)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/program", argv[0]);
	if (open(path, O_RDONLY | O_CLOEXEC) < 0)
		die(path);
	ready();
	while (access(argv[2], F_OK) < 0)
		work_for(0, NULL); /* once */
	make_silent(open_control(argv[1]), "flush");
	usleep(50000);
	execl("/proc/self/exe", "silent_files", (char *)NULL);
	die("execve");
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "serve"))
		serve(argv + 2);
	if (argc == 6 && !strcmp(argv[1], "run"))
		run(argv + 2, false);
	if (argc == 6 && !strcmp(argv[1], "jvm"))
		run(argv + 2, true);
	if (argc == 5 && !strcmp(argv[1], "map"))
		return map(argv + 2);
	if (argc >= 5 && !strcmp(argv[1], "swap"))
		swap(argv + 2);
	if (argc == 5 && !strcmp(argv[1], "exec"))
		execute(argv + 2);
	fprintf(stderr, "usage: silent_files serve|run|jvm|map|swap|exec …\n");
	return 2;
}
