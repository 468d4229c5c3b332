/* base/isolated: work that fails in every way that untrusted bytes can make it fail. */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/isolated.h"

#define QUICK_NS NS_PER_SEC

struct run {
	const char *path;
	int fd;
	size_t nr; /* bytes received */
	size_t most;
	char text[100]; /* the first of them */
};

static const struct isolation plain = {
	.timeout_ns = 20 * NS_PER_SEC, .root_fd = -1, .uid = (uid_t)-1};

static int take(void *context, const void *bytes, size_t nr)
{
	struct run *run = context;

	if (run->nr < sizeof(run->text) - 1)
		memcpy(run->text + run->nr, bytes,
		       nr < sizeof(run->text) - 1 - run->nr ? nr : sizeof(run->text) - 1 - run->nr);
	run->nr += nr;
	return run->most && run->nr > run->most ? -EFBIG : 0;
}

static int run_work(int (*work)(void *context, int fd), struct run *run,
		    const struct isolation *limits)
{
	struct error error = {0};
	int err = isolated_run(work, take, run, limits, &error);

	/* No child process is left. */
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	return err;
}

static int write_text(int fd, const char *text)
{
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int greet(void *context, int fd)
{
	return write_text(fd, "hello, ") < 0 ? -EIO : write_text(fd, "world");
}

TEST(isolated_work_and_its_bytes)
{
	struct run run = {0};

	CHECK_EQ(run_work(greet, &run, &plain), 0);
	CHECK_STR(run.text, "hello, world");
}

static int fail_after_greeting(void *context, int fd)
{
	(void)greet(context, fd);
	return -ENOEXEC;
}

static int return_nonsense(void *context, int fd)
{
	return 12345;
}

TEST(isolated_result_comes_back)
{
	struct run run = {0};

	CHECK_EQ(run_work(fail_after_greeting, &run, &plain), -ENOEXEC);
	CHECK_STR(run.text, "hello, world");
	CHECK_EQ(run_work(return_nonsense, &run, &plain), -EPROTO);
}

static int crash(void *context, int fd)
{
	(void)greet(context, fd);
	return raise(SIGSEGV);
}

static int abort_work(void *context, int fd)
{
	abort();
}

TEST(isolated_crash)
{
	struct run run = {0};

	CHECK_EQ(run_work(crash, &run, &plain), -EFAULT);
	CHECK_STR(run.text, "hello, world");
	CHECK_EQ(run_work(abort_work, &run, &plain), -EFAULT);
}

static int hang_in_fifo(void *context, int fd)
{
	const struct run *run = context;

	(void)greet(context, fd);
	return open(run->path, O_RDONLY) < 0 ? -errno : 0;
}

static int spin(void *context, int fd)
{
	while (fd >= 0)
		;
	return 0;
}

static int close_pipe_and_stay(void *context, int fd)
{
	while (close(fd) == 0 || pause() < 0)
		;
	return 0;
}

TEST(isolated_hangs_end_in_time)
{
	char path[] = "/tmp/stook-test-XXXXXX/fifo";
	struct isolation limits = plain;
	struct run run = {.path = path};
	uint64_t begin_ns = clock_now_ns();

	*strrchr(path, '/') = '\0';
	CHECK(mkdtemp(path));
	path[strlen(path)] = '/';
	CHECK_EQ(mkfifo(path, 0600), 0);
	limits.timeout_ns = QUICK_NS;
	CHECK_EQ(run_work(hang_in_fifo, &run, &limits), -ETIME);
	CHECK_STR(run.text, "hello, world");
	CHECK_EQ(run_work(spin, &run, &limits), -ETIME);
	CHECK_EQ(run_work(close_pipe_and_stay, &run, &limits), -ETIME);
	CHECK(clock_now_ns() - begin_ns < 10 * QUICK_NS);
	CHECK_EQ(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	CHECK_EQ(rmdir(path), 0);
}

static int eat_memory(void *context, int fd)
{
	size_t i;

	for (i = 0; i < 64; i++)
		if (mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0) == MAP_FAILED)
			return -ENOMEM;
	return 0;
}

static int ignore_the_parent(void *context, int fd)
{
	(void)context;
	(void)fd;
	for (int i = 0; i < 100; i++)
		(void)pause();
	return 0;
}

/* Without CAP_KILL, a child of another user can't be killed: it ends itself, later. */
TEST(isolated_child_that_cannot_be_killed_is_left_alone)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct all[2], some[2];
	struct isolation limits = {
		.timeout_ns = NS_PER_SEC / 10, .root_fd = -1, .uid = 65534, .gid = 65534};
	struct run run = {0};
	uint64_t begin_ns = clock_now_ns();
	int status;

	if (geteuid() != 0 || syscall(SYS_capget, &header, all) < 0 ||
	    !(all[0].effective & 1u << CAP_KILL))
		SKIP("needs root");
	memcpy(some, all, sizeof(all));
	some[0].effective &= ~(1u << CAP_KILL);
	CHECK_EQ(syscall(SYS_capset, &header, some), 0);
	CHECK_EQ(isolated_run(ignore_the_parent, take, &run, &limits, NULL), -ETIME);
	CHECK(clock_now_ns() - begin_ns < 2 * NS_PER_SEC);
	CHECK_EQ(waitpid(-1, &status, WNOHANG), 0); /* it runs */
	CHECK(waitpid(-1, &status, 0) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
	CHECK_EQ(syscall(SYS_capset, &header, all), 0);
}

TEST(isolated_memory_is_limited)
{
	struct isolation limits = plain;
	struct run run = {0};

	CHECK_EQ(run_work(eat_memory, &run, &limits), 0);
	limits.memory_bytes = 1ULL << 30;
	CHECK_EQ(run_work(eat_memory, &run, &limits), -ENOMEM);
}

static int write_much(void *context, int fd)
{
	static const char some[4096];
	int i;

	for (i = 0; i < 10000; i++)
		if (write(fd, some, sizeof(some)) != (ssize_t)sizeof(some))
			return -EIO;
	return 0;
}

static int write_forever(void *context, int fd)
{
	while (write_much(context, fd) == 0)
		;
	return -EIO;
}

TEST(isolated_much_is_taken_or_refused)
{
	struct isolation limits = plain;
	struct run run = {0};

	CHECK_EQ(run_work(write_much, &run, &plain), 0);
	CHECK_EQ(run.nr, 4096 * 10000);
	run = (struct run){.most = 100000};
	CHECK_EQ(run_work(write_forever, &run, &plain), -EFBIG);
	CHECK(run.nr < 1 << 20);
	run = (struct run){0};
	limits.timeout_ns = QUICK_NS;
	CHECK_EQ(run_work(write_forever, &run, &limits), -ETIME);
}

static int read_oom_score(void)
{
	cleanup_file FILE *file = fopen("/proc/self/oom_score_adj", "re");
	int score;

	return file && fscanf(file, "%d", &score) == 1 ? score : -1;
}

/* Prints a line with everything that is wrong; nothing if all is well. */
static int look_around(void *context, int fd)
{
	const struct run *run = context;
	struct sigaction action;
	struct rlimit core;
	sigset_t blocked;
	struct stat st, null;
	int other;

	for (other = 0; other <= STDERR_FILENO; other++)
		if (fstat(other, &st) < 0 || stat("/dev/null", &null) < 0 ||
		    st.st_rdev != null.st_rdev)
			(void)write_text(fd, "a standard stream leads somewhere;");
	for (; other < 200; other++)
		if (other != fd && other != run->fd && fcntl(other, F_GETFD) >= 0)
			(void)write_text(fd, "a descriptor is open;");
	if (fcntl(run->fd, F_GETFD) < 0)
		(void)write_text(fd, "what was to be kept is not open;");
	if (sigprocmask(SIG_SETMASK, NULL, &blocked) < 0 || sigismember(&blocked, SIGTERM))
		(void)write_text(fd, "SIGTERM is blocked;");
	if (sigaction(SIGPIPE, NULL, &action) < 0 || action.sa_handler != SIG_DFL)
		(void)write_text(fd, "SIGPIPE is ignored;");
	if (prctl(PR_GET_DUMPABLE) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		(void)write_text(fd, "it can be looked into;");
	if (getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_max)
		(void)write_text(fd, "it dumps core;");
	if (read_oom_score() != 1000)
		(void)write_text(fd, "others have to go first;");
	return 0;
}

TEST(isolated_child_is_alone)
{
	struct run run = {.fd = open("/dev/null", O_RDONLY)};
	int other = open("/dev/null", O_RDONLY), after = open("/dev/null", O_RDONLY);
	struct isolation limits = plain;
	int score = read_oom_score();
	sigset_t blocked;

	CHECK(run.fd >= 0 && other >= 0 && after >= 0);
	CHECK_EQ(dup2(run.fd, 150), 150);
	run.fd = 150;
	limits.fds = &run.fd;
	limits.nr_fds = 1;
	(void)sigemptyset(&blocked);
	(void)sigaddset(&blocked, SIGTERM);
	CHECK_EQ(sigprocmask(SIG_BLOCK, &blocked, NULL), 0);
	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	CHECK_EQ(run_work(look_around, &run, &limits), 0);
	CHECK_STR(run.text, "");
	CHECK_EQ(read_oom_score(), score);
	limits.nr_fds = ISOLATION_MAX_FDS + 1;
	CHECK_EQ(run_work(look_around, &run, &limits), -EINVAL);
}

static int write_file(void *context, int fd)
{
	const struct run *run = context;

	(void)signal(SIGXFSZ, SIG_IGN);
	return write(run->fd, "x", 1) < 0 ? -errno : 0;
}

TEST(isolated_child_writes_no_files)
{
	char path[] = "/tmp/stook-test-XXXXXX";
	struct run run = {.fd = mkstemp(path)};
	struct isolation limits = plain;

	CHECK(run.fd >= 0);
	limits.fds = &run.fd;
	limits.nr_fds = 1;
	CHECK_EQ(run_work(write_file, &run, &limits), -EFBIG);
	CHECK_EQ(unlink(path), 0);
}

static int look_as_nobody(void *context, int fd)
{
	if (getuid() != 65534 || geteuid() != 65534 || getgid() != 65534)
		(void)write_text(fd, "somebody else;");
	if (setuid(0) == 0)
		(void)write_text(fd, "root again;");
	if (access("/here", F_OK) < 0 || access("/proc/self", F_OK) == 0)
		(void)write_text(fd, "in another root;");
	if (fork() >= 0)
		(void)write_text(fd, "it multiplies;");
	return 0;
}

static int look_as_root(void *context, int fd)
{
	if (chroot("/") == 0 || errno != EPERM)
		(void)write_text(fd, "it has capabilities;");
	return 0;
}

TEST(isolated_root_and_user)
{
	char path[] = "/tmp/stook-test-XXXXXX", file[sizeof(path) + 10];
	struct isolation limits = plain;
	struct run run = {0};
	int fd;

	if (geteuid() != 0)
		SKIP("needs root");
	CHECK(mkdtemp(path));
	(void)snprintf(file, sizeof(file), "%s/here", path);
	fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	CHECK(fd >= 0 && close(fd) == 0 && chmod(path, 0755) == 0);
	limits.root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	limits.uid = limits.gid = 65534;
	CHECK_EQ(run_work(look_as_nobody, &run, &limits), 0);
	CHECK_STR(run.text, "");
	CHECK(unlink(file) == 0 && rmdir(path) == 0);

	limits = plain;
	CHECK_EQ(run_work(look_as_root, &run, &limits), 0);
	CHECK_STR(run.text, "");
}

static void ignore(int number)
{
}

static int greet_late(void *context, int fd)
{
	const struct timespec pause = {0, 300 * (long)NS_PER_MS};

	(void)nanosleep(&pause, NULL);
	return greet(context, fd);
}

TEST(isolated_signals_do_not_end_the_waiting)
{
	const struct itimerval often = {{0, 10000}, {0, 10000}};
	const struct sigaction action = {.sa_handler = ignore};
	struct run run = {0};

	CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	CHECK_EQ(run_work(greet_late, &run, &plain), 0);
	CHECK_STR(run.text, "hello, world");
}

/* Interrupts the process group like Ctrl-C when the first words arrive. */
static int take_and_interrupt(void *context, const void *bytes, size_t nr)
{
	const struct run *run = context;

	if (!run->nr)
		CHECK(kill(0, SIGINT) == 0 && kill(0, SIGQUIT) == 0 && kill(0, SIGHUP) == 0);
	return take(context, bytes, nr);
}

static int greet_twice(void *context, int fd)
{
	int signal_at_our_end;

	if (prctl(PR_GET_PDEATHSIG, &signal_at_our_end) < 0 || signal_at_our_end != SIGKILL)
		(void)write_text(fd, "it outlives us;");
	(void)greet(context, fd);
	return greet_late(context, fd);
}

TEST(isolated_work_is_not_ended_from_the_terminal)
{
	const struct sigaction action = {.sa_handler = ignore};
	struct isolation limits = plain;
	struct error error;
	int number;

	CHECK_EQ(setpgid(0, 0), 0);
	for (number = SIGHUP; number <= SIGQUIT; number++)
		CHECK_EQ(sigaction(number, &action, NULL), 0);
	for (number = 0; number < 2; number++) {
		struct run run = {0};

		limits.is_trusted = number == 1;
		CHECK_EQ(isolated_run(greet_twice, take_and_interrupt, &run, &limits, &error), 0);
		CHECK_STR(run.text, "hello, worldhello, world");
	}
}
