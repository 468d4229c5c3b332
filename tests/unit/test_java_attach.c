/*
 * proc/java_attach with children that imitate a JVM: they catch SIGQUIT, look for the attach file,
 * and serve the socket, correctly or not. They record what happened in memory shared with the test.
 * tests/live/java.sh uses a real JVM.
 */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "proc/java_attach.h"

#define NOBODY	   12345
#define PLENTY_NS  (10 * NS_PER_SEC)
#define OLD_ANSWER "-1\njava.lang.IllegalArgumentException: Unknown diagnostic command\n"

static const struct runtime java = {.name = "Java", .is_java = true};

/* Behaviour of the imitated JVM. */
struct play {
	const char *answer; /* NULL: none */
	bool writes_map;
	bool has_no_handler;  /* SIGQUIT would kill it */
	bool is_embedded;     /* -Xrs, in a program with its own handler */
	bool listens_already; /* before any signal */
	bool never_listens;
	bool keeps_connection;
	bool talks_without_end;
	bool dies_of_quit;
	uid_t uid; /* 0: unchanged */
};

/* Events recorded by the child. */
struct seen {
	unsigned nr_quits;
	bool trigger_is_right;
	bool request_is_right;
	bool peer_is_right;
};

struct jvm {
	struct runtime_process process;
	volatile struct seen *seen;
	char trigger[64], socket[64], map[64];
};

/* --- in the child ---------------------------------------------------------------------------- */

static void on_quit(int number)
{
	(void)number;
}

static void see_trigger(volatile struct seen *seen, const char *path)
{
	struct stat st;

	seen->trigger_is_right = lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
				 (st.st_mode & 07777) == 0600 && st.st_uid == geteuid() &&
				 st.st_gid == getegid() && st.st_nlink == 1;
}

static int listen_on(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	(void)unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 5) < 0)
		_exit(2);
	return fd;
}

static void see_request(volatile struct seen *seen, int fd)
{
	static const char expected[] = "1\0jcmd\0Compiler.perfmap\0\0";
	struct ucred peer;
	socklen_t bytes = sizeof(peer);
	char got[64];
	size_t nr = 0;
	ssize_t more;

	while (nr < sizeof(expected) && (more = read(fd, got + nr, sizeof(got) - nr)) > 0)
		nr += (size_t)more;
	seen->request_is_right = nr == sizeof(expected) && !memcmp(got, expected, nr);
	seen->peer_is_right = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
			      peer.uid == geteuid() && peer.gid == getegid();
}

static void write_map(const char *path)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, "1000 10 f\n", 10) != 10 || close(fd) < 0)
		_exit(2);
}

static void serve(const struct jvm *jvm, const struct play *play, int listener)
{
	int fd = accept(listener, NULL, NULL);

	see_request(jvm->seen, fd);
	if (play->writes_map)
		write_map(jvm->map);
	if (play->answer)
		(void)!write(fd, play->answer, strlen(play->answer));
	while (play->talks_without_end)
		(void)!send(fd, "and so on\n", 10, MSG_NOSIGNAL);
	while (play->keeps_connection)
		(void)pause();
	(void)close(fd);
}

static void name_files(struct jvm *jvm, int32_t pid)
{
	(void)snprintf(jvm->trigger, sizeof(jvm->trigger), "/tmp/.attach_pid%d", pid);
	(void)snprintf(jvm->socket, sizeof(jvm->socket), "/tmp/.java_pid%d", pid);
	(void)snprintf(jvm->map, sizeof(jvm->map), "/tmp/perf-%d.map", pid);
}

/* SIGQUIT is blocked except in sigsuspend(), so that every one is counted. */
static void act(struct jvm *jvm, const struct play *play, int ready_fd)
{
	struct sigaction action = {.sa_handler = on_quit};
	sigset_t quit, none;
	int listener = -1;

	name_files(jvm, getpid());
	if (!play->is_embedded)
		(void)prctl(PR_SET_NAME, "Signal Dispatcher");
	(void)sigemptyset(&none);
	(void)sigemptyset(&quit);
	(void)sigaddset(&quit, SIGQUIT);
	if (!play->has_no_handler) {
		(void)sigprocmask(SIG_BLOCK, &quit, NULL);
		(void)sigaction(SIGQUIT, &action, NULL);
	}
	if (play->listens_already)
		listener = listen_on(jvm->socket);
	(void)!write(ready_fd, "", 1);
	while (listener < 0) {
		(void)sigsuspend(&none);
		jvm->seen->nr_quits++;
		see_trigger(jvm->seen, jvm->trigger);
		if (play->dies_of_quit)
			_exit(0);
		if (!play->never_listens)
			listener = listen_on(jvm->socket);
	}
	for (;;)
		serve(jvm, play, listener);
}

/* --- in the test ----------------------------------------------------------------------------- */

static void start(struct jvm *jvm, const struct play *play)
{
	int fds[2];
	char byte;
	pid_t pid;

	*jvm = (struct jvm){.seen = mmap(NULL, sizeof(*jvm->seen), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
	CHECK(jvm->seen != MAP_FAILED);
	CHECK_EQ(pipe(fds), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		if (play->uid && (setgroups(0, NULL) < 0 ||
				  setresgid(play->uid + 1, play->uid + 1, play->uid + 1) < 0 ||
				  setresuid(play->uid, play->uid, play->uid) < 0))
			_exit(2);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		act(jvm, play, fds[1]);
	}
	(void)close(fds[1]);
	CHECK_EQ(read(fds[0], &byte, 1), 1);
	(void)close(fds[0]);
	name_files(jvm, pid);
	jvm->process =
		(struct runtime_process){.pid = pid,
					 .inner_pid = pid,
					 .uid = play->uid ? play->uid : geteuid(),
					 .root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
					 .pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
					 .runtime = &java,
					 .jitdump = -1};
}

/* Checks that the JVM is still alive and that no file of ours is left. */
static void stop(struct jvm *jvm)
{
	CHECK_EQ(waitpid(jvm->process.pid, NULL, WNOHANG), 0);
	CHECK_EQ(kill(jvm->process.pid, SIGKILL), 0);
	CHECK_EQ(waitpid(jvm->process.pid, NULL, 0), jvm->process.pid);
	CHECK(access(jvm->trigger, F_OK) < 0);
	(void)unlink(jvm->socket);
	(void)unlink(jvm->map);
	(void)close(jvm->process.root_fd);
	(void)close(jvm->process.pidfd);
}

static int ask(const struct jvm *jvm, uint64_t timeout_ns, struct error *error)
{
	*error = (struct error){0};
	return java_attach_write_map(&jvm->process, timeout_ns, -1, error);
}

static void check_words(const struct error *error, int code, const char *words)
{
	CHECK_EQ(error->code, code);
	if (!strstr(error->text, words))
		CHECK_STR(error->text, words);
}

static void check_asked(const struct jvm *jvm, unsigned nr_quits)
{
	CHECK_EQ(jvm->seen->nr_quits, nr_quits);
	CHECK(!nr_quits || jvm->seen->trigger_is_right);
	CHECK(jvm->seen->request_is_right);
	CHECK(jvm->seen->peer_is_right);
}

TEST(java_attach_wakes_and_asks)
{
	const struct play play = {.answer = "0\n", .writes_map = true};
	struct error error;
	struct jvm jvm;

	start(&jvm, &play);
	CHECK_EQ(ask(&jvm, PLENTY_NS, &error), 0);
	check_asked(&jvm, 1);
	CHECK(access(jvm.trigger, F_OK) < 0);
	(void)usleep(20000); /* the map's mtime must differ */
	CHECK_EQ(ask(&jvm, PLENTY_NS, &error), 0);
	check_asked(&jvm, 1); /* it listens: no second signal */
	stop(&jvm);
}

TEST(java_attach_without_a_signal)
{
	const struct play play = {.answer = "0\n",
				  .writes_map = true,
				  .listens_already = true,
				  .has_no_handler = true};
	struct error error;
	struct jvm jvm;

	start(&jvm, &play);
	CHECK_EQ(ask(&jvm, PLENTY_NS, &error), 0);
	check_asked(&jvm, 0);
	stop(&jvm);
}

TEST(java_attach_as_another_user)
{
	const struct play play = {.answer = "0\n", .writes_map = true, .uid = NOBODY};
	struct error error;
	struct jvm jvm;

	if (geteuid() != 0)
		SKIP("needs root, to be another user");
	start(&jvm, &play);
	CHECK_EQ(ask(&jvm, PLENTY_NS, &error), 0);
	check_asked(&jvm, 1);
	stop(&jvm);
}

/* The signal would kill it. */
TEST(java_attach_spares_those_that_do_not_listen)
{
	const struct play play = {.has_no_handler = true};
	struct error error;
	struct jvm jvm;

	start(&jvm, &play);
	CHECK_EQ(ask(&jvm, PLENTY_NS, &error), -EAGAIN);
	check_words(&error, -EAGAIN, "does not catch SIGQUIT");
	CHECK(*error.hint);
	(void)usleep(50000);
	stop(&jvm);
}

/* The signal would run the program's own handler. */
TEST(java_attach_spares_the_handlers_of_others)
{
	const struct play play = {.is_embedded = true};
	struct error error;
	struct jvm jvm;

	start(&jvm, &play);
	CHECK_EQ(ask(&jvm, PLENTY_NS, &error), -EAGAIN);
	check_words(&error, -EAGAIN, "does not catch SIGQUIT");
	(void)usleep(50000);
	CHECK_EQ(jvm.seen->nr_quits, 0);
	stop(&jvm);
}

TEST(java_attach_tells_what_went_wrong)
{
	static const struct {
		struct play play;
		int code;
		const char *words;
	} cases[] = {
		{{.answer = OLD_ANSWER}, -EOPNOTSUPP, "no command to write its perf map"},
		{{.answer = "0\n"}, -ENOENT, "wrote no perf map"},
		{{.answer = "1\nno \033[31mspace\nmore"}, -EREMOTEIO, "map: no ?[31mspace"},
		{{.answer = "-1\n"}, -EREMOTEIO, "refused to write its perf map"},
		{{.answer = "hello"}, -EPROTO, "sent an invalid reply"},
		{{.answer = "\n0\n"}, -EPROTO, "sent an invalid reply"},
		{{.answer = "0"}, -EPROTO, "sent an invalid reply"},
		{{.answer = NULL}, -EPROTO, "without a reply"},
	};
	struct error error;
	struct jvm jvm;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		start(&jvm, &cases[i].play);
		CHECK_EQ(ask(&jvm, PLENTY_NS, &error), cases[i].code);
		check_words(&error, cases[i].code, cases[i].words);
		check_asked(&jvm, 1);
		stop(&jvm);
	}
}

TEST(java_attach_keeps_its_time)
{
	static const struct play plays[] = {
		{.never_listens = true},
		{.keeps_connection = true},
		{.answer = "0\n", .keeps_connection = true},
		{.answer = "0\n", .talks_without_end = true},
	};
	uint64_t begin_ns, took_ns;
	struct error error;
	struct jvm jvm;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(plays); i++) {
		start(&jvm, &plays[i]);
		begin_ns = clock_now_ns();
		CHECK_EQ(ask(&jvm, NS_PER_SEC, &error), -ETIME);
		took_ns = clock_now_ns() - begin_ns;
		check_words(&error, -ETIME, "did not answer in time");
		/* It would take for ever. The host may stand still for seconds. */
		CHECK(took_ns >= NS_PER_SEC && took_ns < 20 * NS_PER_SEC);
		CHECK_EQ(jvm.seen->nr_quits, 1);
		stop(&jvm);
	}
	start(&jvm, &plays[0]);
	CHECK_EQ(ask(&jvm, 0, &error), -ETIME);
	CHECK_EQ(jvm.seen->nr_quits, 0);
	stop(&jvm);
}

TEST(java_attach_of_a_stopped_one)
{
	const struct play play = {.answer = "0\n", .writes_map = true};
	struct error error;
	struct jvm jvm;

	start(&jvm, &play);
	CHECK_EQ(kill(jvm.process.pid, SIGSTOP), 0);
	CHECK_EQ(waitpid(jvm.process.pid, NULL, WUNTRACED), jvm.process.pid);
	CHECK_EQ(ask(&jvm, PLENTY_NS, &error), -EAGAIN);
	check_words(&error, -EAGAIN, "it is stopped");
	CHECK_EQ(kill(jvm.process.pid, SIGCONT), 0);
	(void)usleep(50000);
	CHECK_EQ(jvm.seen->nr_quits, 0);
	stop(&jvm);
}

TEST(java_attach_of_one_that_ends)
{
	const struct play play = {.dies_of_quit = true};
	struct error error;
	struct jvm jvm;

	start(&jvm, &play);
	CHECK_EQ(ask(&jvm, PLENTY_NS, &error), -ESRCH);
	check_words(&error, -ESRCH, "exited before");
	CHECK(access(jvm.trigger, F_OK) < 0);
	CHECK_EQ(waitpid(jvm.process.pid, NULL, 0), jvm.process.pid);
	CHECK_EQ(ask(&jvm, PLENTY_NS, &error), -ESRCH);
}

TEST(java_attach_of_what_is_no_jvm)
{
	const struct play play = {.answer = "0\n", .writes_map = true};
	struct error error;
	struct jvm jvm;

	start(&jvm, &play);
	jvm.process.runtime = NULL;
	CHECK_EQ(ask(&jvm, PLENTY_NS, &error), -EINVAL);
	CHECK_EQ(jvm.seen->nr_quits, 0);
	stop(&jvm);
}

/* --- conflicting files ----------------------------------------------------------------------- */

/* A file left by a killed tool, or planted: it is not written through and not trusted. */
TEST(java_attach_replaces_an_old_file)
{
	const struct play play = {.answer = "0\n", .writes_map = true};
	char target[64];
	struct error error;
	struct jvm jvm;

	start(&jvm, &play);
	(void)snprintf(target, sizeof(target), "/tmp/stook-test-%d", getpid());
	CHECK_EQ(symlink(target, jvm.trigger), 0);
	CHECK_EQ(ask(&jvm, PLENTY_NS, &error), 0);
	check_asked(&jvm, 1);
	CHECK(access(target, F_OK) < 0);
	stop(&jvm);
}

TEST(java_attach_without_its_file)
{
	const struct play play = {.answer = "0\n", .writes_map = true};
	struct error error;
	struct jvm jvm;

	start(&jvm, &play);
	CHECK_EQ(mkdir(jvm.trigger, 0700), 0);
	CHECK(ask(&jvm, PLENTY_NS, &error) < 0);
	check_words(&error, error.code, "cannot create '/tmp/.attach_pid");
	(void)usleep(50000);
	CHECK_EQ(jvm.seen->nr_quits, 0); /* SIGQUIT would print all its stacks */
	CHECK_EQ(rmdir(jvm.trigger), 0);
	stop(&jvm);
}

/* A socket of an earlier process with the same pid. */
TEST(java_attach_replaces_an_old_socket)
{
	const struct play play = {.answer = "0\n", .writes_map = true};
	struct error error;
	struct jvm jvm;

	start(&jvm, &play);
	(void)close(listen_on(jvm.socket));
	CHECK_EQ(ask(&jvm, PLENTY_NS, &error), 0);
	check_asked(&jvm, 1);
	stop(&jvm);
}

/* Another process listens on the socket. */
TEST(java_attach_sees_a_foreign_socket)
{
	const struct play play = {.answer = "0\n", .writes_map = true};
	struct error error;
	struct jvm jvm;
	int fd;

	start(&jvm, &play);
	fd = listen_on(jvm.socket);
	CHECK_EQ(ask(&jvm, PLENTY_NS, &error), -EADDRINUSE);
	check_words(&error, -EADDRINUSE, "another process has its socket");
	CHECK_EQ(jvm.seen->nr_quits, 0);
	(void)close(fd);
	stop(&jvm);
}

TEST(java_attach_sees_a_foreign_map)
{
	const struct play play = {.answer = "0\n", .writes_map = true};
	struct error error;
	struct jvm jvm;

	start(&jvm, &play);
	CHECK_EQ(symlink("/etc/hostname", jvm.map), 0);
	CHECK_EQ(ask(&jvm, PLENTY_NS, &error), -EACCES);
	check_words(&error, -EACCES, "belongs to another user");
	CHECK_EQ(jvm.seen->nr_quits, 0);
	stop(&jvm);
}

/* --- options --------------------------------------------------------------------------------- */

/* Starts a shell that waits, with an argument or variable as a JVM could have. */
static void check_forbidden(const char *argument, const char *variable, int expected)
{
	char *const environment[] = {(char *)variable, NULL};
	struct error error = {0};
	struct runtime_process process = {.root_fd = open("/", O_PATH | O_CLOEXEC),
					  .runtime = &java};
	int in[2], closed[2];
	char byte;

	CHECK_EQ(pipe(in), 0);
	CHECK_EQ(pipe2(closed, O_CLOEXEC), 0);
	process.pid = process.inner_pid = fork();
	if (process.pid == 0) {
		(void)dup2(in[0], 0);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)execle("/bin/sh", "sh", "-c", "read x", argument, NULL, environment);
		_exit(2);
	}
	(void)close(closed[1]);
	CHECK_EQ(read(closed[0], &byte, 1), 0); /* exec has happened */
	(void)close(closed[0]);
	process.pidfd = (int)syscall(SYS_pidfd_open, process.pid, 0);
	CHECK_EQ(java_attach_write_map(&process, PLENTY_NS, -1, &error), expected);
	CHECK(!!strstr(error.text, "-XX:+DisableAttachMechanism") == (expected == -EPERM));
	CHECK_EQ(waitpid(process.pid, NULL, WNOHANG), 0);
	CHECK_EQ(kill(process.pid, SIGKILL), 0);
	CHECK_EQ(waitpid(process.pid, NULL, 0), process.pid);
	(void)close(process.pidfd);
	(void)close(process.root_fd);
	(void)close(in[0]);
	(void)close(in[1]);
}

TEST(java_attach_respects_options)
{
	check_forbidden("-XX:+DisableAttachMechanism", "A=", -EPERM);
	check_forbidden("x", "JAVA_TOOL_OPTIONS=-Xmx1g -XX:+DisableAttachMechanism", -EPERM);
	check_forbidden("x", "_JAVA_OPTIONS=-XX:+DisableAttachMechanism", -EPERM);
	check_forbidden("x", "NOTE=-XX:+DisableAttachMechanism", -EAGAIN);
	check_forbidden("-XX:-DisableAttachMechanism", "A=", -EAGAIN);
}
