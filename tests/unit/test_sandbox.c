/* worker/sandbox: what a child without rights may do, can ask its host for, and how its end is explained. */
#include "worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "unit/test.h"

static int finish(void *context, uint32_t number, struct error *error)
{
	return number == 7 ? 0 : error_set(error, -EROFS, "cannot finish output %u", number);
}

/* The answer is the question twice. */
static int answer(void *context, const void *question, size_t nr, void **ret, size_t *ret_nr,
		  struct error *error)
{
	char *bytes;

	if (!nr)
		return error_set(error, -EDOM, "nothing was asked");
	bytes = malloc(2 * nr);
	CHECK(bytes);
	memcpy(bytes, question, nr);
	memcpy(bytes + nr, question, nr);
	*ret = bytes;
	*ret_nr = 2 * nr;
	return 0;
}

static int run(int (*work)(void *context, struct sandbox *sandbox, struct error *error),
	       void *context, struct error *error)
{
	static const char *const paths[] = {"/dev/null", "/proc/self/stat", "/nowhere"};
	const struct sandbox_host host = {
		.paths = paths,
		.nr_paths = ARRAY_SIZE(paths),
		.fds = context,
		.nr_fds = context != NULL,
		.finish = finish,
		.answer = answer,
		.work = work,
		.context = context,
	};
	int err;

	*error = (struct error){0};
	err = sandbox_run(&host, error);
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	return err;
}

/* A check that fails in the child cannot be reported there. */
#define WANT(condition)                                                                \
	do                                                                             \
		if (!(condition))                                                      \
			return error_set(error, -EBADMSG, "not true: %s", #condition); \
	while (0)

/* --- files and streams ------------------------------------------------------------------------ */

static int open_files(void *context, struct sandbox *sandbox, struct error *error)
{
	char path[5000], text[64];
	int fd = sandbox_open(sandbox, "/proc/self/stat");

	memset(path, '/', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	WANT(fd >= 0);
	WANT(read(fd, text, sizeof(text)) > 0);
	WANT(close(fd) == 0);
	WANT(sandbox_open(sandbox, "/nowhere") == -ENOENT);
	WANT(sandbox_open(sandbox, "/etc/passwd") == -EACCES);
	WANT(sandbox_open(sandbox, "/dev/../dev/null") == -EACCES);
	WANT(sandbox_open(sandbox, path) == -ENAMETOOLONG);
	WANT(sandbox_spare_memory(sandbox) > 1 << 20);
	return 0;
}

TEST(sandbox_opens_what_is_listed)
{
	struct error error;

	CHECK_EQ(run(open_files, NULL, &error), 0);
	CHECK_STR(error.text, "");
}

/* A host's own way: as if every listed file were the null device. */
static int open_null(void *context, const char *path)
{
	return strcmp(path, "/locked") != 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -EBUSY;
}

static int open_in_the_hosts_way(void *context, struct sandbox *sandbox, struct error *error)
{
	char byte;
	int fd = sandbox_open(sandbox, "/nowhere");

	WANT(fd >= 0);
	WANT(read(fd, &byte, 1) == 0);
	WANT(sandbox_open(sandbox, "/locked") == -EBUSY);
	WANT(sandbox_open(sandbox, "/etc/passwd") == -EACCES);
	return 0;
}

TEST(sandbox_hosts_open_in_their_own_way)
{
	static const char *const paths[] = {"/nowhere", "/locked"};
	const struct sandbox_host host = {
		.paths = paths,
		.nr_paths = ARRAY_SIZE(paths),
		.open = open_null,
		.work = open_in_the_hosts_way,
	};
	struct error error = {0};

	CHECK_EQ(sandbox_run(&host, &error), 0);
	CHECK_STR(error.text, "");
}

static int write_output(void *context, struct sandbox *sandbox, struct error *error)
{
	const int *fd = context;

	WANT(write(*fd, "written", 7) == 7);
	WANT(sandbox_finish(sandbox, 7, error) == 0);
	return sandbox_finish(sandbox, 8, error);
}

TEST(sandbox_finishes_outputs)
{
	struct error error;
	cleanup_fd int fd = memfd_create("output", MFD_CLOEXEC);
	char text[8] = "";

	CHECK_EQ(run(write_output, &fd, &error), -EROFS);
	CHECK_STR(error.text, "cannot finish output 8");
	CHECK_EQ(pread(fd, text, 7, 0), 7);
	CHECK_STR(text, "written");
}

/* --- questions -------------------------------------------------------------------------------- */

static int ask(void *context, struct sandbox *sandbox, struct error *error)
{
	cleanup_free char *large = malloc(10 << 20);
	void *names;
	size_t nr;

	WANT(sandbox_ask(sandbox, "abc", 3, &names, &nr, error) == 0);
	WANT(nr == 6 && !memcmp(names, "abcabc", 6));
	free(names);
	WANT(large);
	memset(large, 'x', 10 << 20);
	WANT(sandbox_ask(sandbox, large, 10 << 20, &names, &nr, error) == 0);
	WANT(nr == 20 << 20 && !memcmp(names, large, 10 << 20));
	free(names);
	return sandbox_ask(sandbox, "", 0, &names, &nr, error);
}

TEST(sandbox_asks)
{
	struct error error;

	CHECK_EQ(run(ask, NULL, &error), -EDOM);
	CHECK_STR(error.text, "nothing was asked");
}

static int request_all(void *context, struct sandbox *sandbox, struct error *error)
{
	struct error refused = {0};
	size_t nr;
	void *bytes;

	WANT(sandbox_finish(sandbox, 0, &refused) == -EINVAL);
	WANT(sandbox_ask(sandbox, "?", 1, &bytes, &nr, &refused) == -EINVAL);
	WANT(sandbox_open(sandbox, "/dev/null") == -EACCES);
	return 0;
}

/* A server's host finishes no outputs; a child that was compromised can request it. */
TEST(sandbox_hosts_offer_only_what_they_have)
{
	const struct sandbox_host host = {.work = request_all};
	struct error error = {0};

	CHECK_EQ(sandbox_run(&host, &error), 0);
	CHECK_STR(error.text, "");
}

/* --- ends ------------------------------------------------------------------------------------- */

static int make_socket(void *context, struct sandbox *sandbox, struct error *error)
{
	(void)socket(AF_UNIX, SOCK_STREAM, 0);
	return 0;
}

static int change_mode(void *context, struct sandbox *sandbox, struct error *error)
{
	(void)chmod("/nowhere", 0);
	return 0;
}

static int become_root(void *context, struct sandbox *sandbox, struct error *error)
{
	(void)!setuid(0);
	return 0;
}

static int start_process(void *context, struct sandbox *sandbox, struct error *error)
{
	(void)execl("/bin/true", "true", NULL);
	return 0;
}

static int map_code(void *context, struct sandbox *sandbox, struct error *error)
{
	(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return 0;
}

static pid_t host_pid;

static int signal_host(void *context, struct sandbox *sandbox, struct error *error)
{
	(void)syscall(SYS_tgkill, host_pid, host_pid, 0);
	return 0;
}

TEST(sandbox_kills_for_system_calls)
{
	int (*const works[])(void *context, struct sandbox *sandbox, struct error *error) = {
		make_socket, change_mode, become_root, start_process, map_code, signal_host};
	struct error error;
	size_t i;

	host_pid = getpid();
	for (i = 0; i < ARRAY_SIZE(works); i++) {
		CHECK_EQ(run(works[i], NULL, &error), -EFAULT);
		CHECK(strstr(error.text, "made a forbidden system call and was killed"));
	}
}

static int crash(void *context, struct sandbox *sandbox, struct error *error)
{
	(void)signal(SIGSEGV, SIG_DFL); /* of a sanitizer, where that is allowed */
	(void)raise(SIGSEGV);
	return 0;
}

static int leave(void *context, struct sandbox *sandbox, struct error *error)
{
	_exit(3);
}

static int fail(void *context, struct sandbox *sandbox, struct error *error)
{
	(void)error_set(error, -EINVAL, "it is empty");
	error_hint(error, "fill it");
	return -EINVAL;
}

static int fail_silently(void *context, struct sandbox *sandbox, struct error *error)
{
	return -EPIPE;
}

TEST(sandbox_explains_ends)
{
	struct error error;

	(void)signal(SIGSEGV, SIG_DFL);
	CHECK_EQ(run(crash, NULL, &error), -EFAULT);
	CHECK(strstr(error.text, "killed by"));
	CHECK_EQ(run(leave, NULL, &error), -EPROTO);
	CHECK(strstr(error.text, "ended with status 3"));
	CHECK_EQ(run(fail, NULL, &error), -EINVAL);
	CHECK_STR(error.text, "it is empty");
	CHECK_STR(error.hint, "fill it");
	CHECK_EQ(run(fail_silently, NULL, &error), -EPIPE);
	CHECK_STR(error.text, "");
}
