/*
 * proc/runtime_table and proc/process_info: this process and its children, and traps that a user
 * could set in a perf map's place.
 */
#include "unit/look_here.h"
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/process_info.h"
#include "proc/runtime_table.h"

#define NO_PID 2000000000
#define NOBODY 12345

static struct file_table *files;
static struct mappings *mappings;

static void begin(void)
{
	files = file_table_new(10);
	mappings = mappings_new();
	CHECK(files && mappings);
}

static void end(struct runtime_table *table)
{
	runtime_table_free(table);
	mappings_unref(mappings);
	file_table_free(files);
}

/* Maps another executable file; returns its number. */
static uint32_t map_file(const char *path)
{
	struct file_id id = {250, 7, file_table_nr(files) + 1, 0};
	int64_t number = add_file_here(files, &id, path, NO_PID, 0, 0);
	struct mapping mapping = {.start = 0x1000 * (id.inode + 1),
				  .end = 0x1000 * (id.inode + 2),
				  .kind = MAPPING_FILE,
				  .file = (uint32_t)number};

	CHECK(number >= 0);
	CHECK_EQ(mappings_add(&mappings, &mapping), 0);
	return (uint32_t)number;
}

static const struct runtime_process *add(struct runtime_table *table, int32_t pid,
					 uint64_t start_time_ns, uint64_t exec_id)
{
	int64_t number = add_runtime_here(table, pid, start_time_ns, exec_id, mappings, files);

	CHECK(number >= 0);
	return runtime_table_get(table, (uint32_t)number);
}

static void check_unknown(const struct runtime_process *process)
{
	CHECK_EQ(process->root_fd, -1);
	CHECK_EQ(process->pidfd, -1);
	CHECK_EQ(process->inner_pid, 0);
	CHECK(process->uid == (uid_t)-1 && process->gid == (gid_t)-1);
	CHECK_STR(process->comm, "");
}

static int nr_open_fds(void)
{
	int nr = 0, fd;

	for (fd = 0; fd < 2048; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

/* --- the process ----------------------------------------------------------------------------- */

TEST(runtime_table_looks_at_ourselves)
{
	struct runtime_table *table = runtime_table_new();
	const struct runtime_process *process;
	int before = nr_open_fds();
	struct stat root, ours;

	begin();
	process = add(table, getpid(), 0, 7);
	CHECK_EQ(process->pid, getpid());
	CHECK_EQ(process->exec_id, 7);
	CHECK(process->inner_pid > 0);
	CHECK_EQ(process->uid, geteuid());
	CHECK_EQ(process->gid, getegid());
	CHECK_STR(process->comm, "unit_tests");
	CHECK(fcntl(process->pidfd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(fstat(process->root_fd, &root), 0);
	CHECK_EQ(stat("/", &ours), 0);
	CHECK_EQ(root.st_ino, ours.st_ino);
	CHECK(!process->runtime);
	CHECK_EQ(process->jitdump, -1);
	CHECK_EQ(add_runtime_here(table, getpid(), 0, 7, mappings, files), 0);
	CHECK_EQ(add_runtime_here(table, getpid(), 0, 8, mappings, files), 1);
	CHECK_EQ(add_runtime_here(table, getpid(), 0, 8, NULL, files), 1);
	CHECK_EQ(runtime_table_nr(table), 2);
	end(table);
	CHECK_EQ(nr_open_fds(), before);
	runtime_table_free(NULL);
}

/* Times before and after the last fork(). */
static uint64_t fork_began_ns, fork_ended_ns;

static pid_t start_child(const char *comm)
{
	int fds[2];
	char byte;
	pid_t pid;

	CHECK_EQ(pipe(fds), 0);
	fork_began_ns = clock_now_ns();
	pid = fork();
	fork_ended_ns = clock_now_ns();
	CHECK(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)prctl(PR_SET_NAME, comm);
		(void)signal(SIGUSR1, SIG_IGN);
		(void)!write(fds[1], "", 1);
		for (;;)
			(void)pause();
	}
	CHECK_EQ(read(fds[0], &byte, 1), 1);
	(void)close(fds[0]);
	(void)close(fds[1]);
	return pid;
}

static void end_child(pid_t pid)
{
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/*
 * A process can choose its name; this name imitates the fields after the name in /proc/PID/stat, and further lines in
 * /proc/PID/status.
 */
TEST(process_status_of_a_deceiver)
{
	pid_t pid = start_child(") R 1\n\\Uid:\t0");
	struct process_status status;
	uint64_t start_ns;

	CHECK_EQ(kill(pid, SIGSTOP), 0);
	CHECK_EQ(waitpid(pid, NULL, WUNTRACED), pid);
	CHECK_EQ(process_status_read(pid, &status), 0);
	CHECK_STR(status.comm, ") R 1\n\\Uid:\t0");
	CHECK_EQ(status.uid, geteuid());
	CHECK(!status.is_kernel);
	CHECK_EQ(process_start_read(pid, &start_ns), 0);
	CHECK(start_ns <= clock_read_ns(CLOCK_BOOTTIME));
	CHECK(start_ns + 60 * NS_PER_SEC > clock_read_ns(CLOCK_BOOTTIME));
	CHECK_EQ(status.state, 'T');
	CHECK(!process_status_catches(&status, SIGUSR1));
	CHECK(!status.is_nested);
	CHECK_EQ(status.inner_pid, pid);
	end_child(pid);
	CHECK_EQ(process_status_read(pid, &status), -ESRCH);
	CHECK_EQ(process_start_read(pid, &start_ns), -ESRCH);
}

/* kthreadd; in a container, pid 2 may be any process. */
TEST(process_status_of_a_kernel_thread)
{
	struct process_status status;

	if (process_status_read(2, &status) < 0 || strcmp(status.comm, "kthreadd") != 0)
		SKIP("no kernel thread is visible here");
	CHECK(status.is_kernel);
}

TEST(process_status_knows_handlers)
{
	struct process_status status;

	CHECK_EQ(process_status_read(getpid(), &status), 0);
	CHECK(!process_status_catches(&status, SIGQUIT));
	CHECK(signal(SIGQUIT, (void (*)(int))exit) != SIG_ERR);
	CHECK_EQ(process_status_read(getpid(), &status), 0);
	CHECK(process_status_catches(&status, SIGQUIT));
	CHECK(!process_status_catches(&status, SIGINT));
}

TEST(runtime_table_of_one_that_is_gone)
{
	struct runtime_table *table = runtime_table_new();
	pid_t pid = start_child("child");

	begin();
	(void)map_file("/opt/jdk/libjvm.so");
	end_child(pid);
	check_unknown(add(table, pid, 0, 1));
	CHECK_STR(add(table, pid, 0, 1)->runtime->name, "Java");
	end(table);
}

/* The pid was reused by another process. */
/* /proc has the start time in clock ticks, rounded down, including time suspended. */
TEST(runtime_table_sees_a_reused_pid)
{
	struct runtime_table *table = runtime_table_new();
	uint64_t asleep_ns = clock_read_ns(CLOCK_BOOTTIME) - clock_now_ns();
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK), start_ns;
	pid_t pid = start_child("child");

	CHECK_EQ(process_start_read(pid, &start_ns), 0);
	start_ns -= asleep_ns;
	CHECK(start_ns <= fork_ended_ns && start_ns + 2 * tick_ns >= fork_began_ns);
	begin();
	check_unknown(add(table, pid, start_ns - asleep_ns - NS_PER_SEC, 1));
	check_unknown(add(table, pid, start_ns + NS_PER_SEC, 1));
	CHECK_STR(add(table, pid, start_ns, 1)->comm, "child");
	CHECK_EQ(runtime_table_nr(table), 3);
	end_child(pid);
	end(table);
}

static bool is_superseded(const struct runtime_table *table, uint32_t number)
{
	return runtime_table_get(table, number)->is_superseded;
}

/* The latest program that writes to a file owns it, in any order of arrival. */
TEST(runtime_table_knows_the_latest_program)
{
	struct runtime_table *table = runtime_table_new();
	pid_t child = start_child("other");

	begin();
	(void)add(table, NO_PID, 100, 2);
	(void)add(table, NO_PID + 1, 100, 2);
	CHECK(!is_superseded(table, 0));
	(void)add(table, NO_PID, 100, 3); /* exec */
	CHECK(is_superseded(table, 0) && !is_superseded(table, 1) && !is_superseded(table, 2));
	(void)add(table, NO_PID, 200, 1); /* its pid was reused */
	CHECK(is_superseded(table, 2) && !is_superseded(table, 3));
	(void)add(table, NO_PID, 100, 1); /* its samples arrive late */
	CHECK(!is_superseded(table, 3) && is_superseded(table, 4));
	CHECK(!is_superseded(table, 1));
	(void)add(table, getpid(), 0, 1);
	(void)add(table, child, 0, 1);
	CHECK(!is_superseded(table, 5) && !is_superseded(table, 6));
	(void)add(table, getpid(), 0, 2);
	CHECK(is_superseded(table, 5) && !is_superseded(table, 6) && !is_superseded(table, 7));
	end_child(child);
	end(table);
}

TEST(runtime_table_limits_descriptors)
{
	struct runtime_table *table = runtime_table_new();
	pid_t pid = start_child("child");
	int before = nr_open_fds();
	uint64_t i;

	begin();
	CHECK(add(table, pid, 0, 0)->pidfd >= 0);
	for (i = 1; i < RUNTIME_TABLE_HOLDERS; i++)
		CHECK(add(table, getpid(), 0, i)->pidfd >= 0);
	CHECK_EQ(runtime_table_nr_unheld(table), 0);
	CHECK_EQ(add(table, getpid(), 0, i)->pidfd, -1);
	CHECK_EQ(runtime_table_nr_unheld(table), 1);
	CHECK_EQ(add(table, getpid(), 0, i)->root_fd, -1);
	CHECK_STR(add(table, getpid(), 0, i)->comm, "unit_tests");
	CHECK_EQ(nr_open_fds(), before + 2 * RUNTIME_TABLE_HOLDERS);
	end_child(pid);
	CHECK(add(table, getpid(), 0, i + 1)->pidfd >= 0);
	CHECK_EQ(add(table, pid, 0, 0)->pidfd, -1);
	CHECK_EQ(runtime_table_nr_unheld(table), 2);	 /* the one that has ended */
	CHECK_EQ(add(table, pid, 0, 0)->inner_pid, pid); /* earlier results are kept */
	CHECK_EQ(add(table, getpid(), 0, i + 2)->pidfd, -1);
	CHECK_EQ(runtime_table_nr_unheld(table), 3);
	CHECK_EQ(nr_open_fds(), before + 2 * RUNTIME_TABLE_HOLDERS);
	end(table);
	CHECK_EQ(nr_open_fds(), before);
}

TEST(runtime_table_limits_processes)
{
	struct runtime_table *table = runtime_table_new();
	uint64_t i;

	begin();
	for (i = 0; i < RUNTIME_TABLE_MAX; i++)
		CHECK_EQ(add_runtime_here(table, NO_PID, 0, i, mappings, files), i);
	CHECK_EQ(add_runtime_here(table, NO_PID, 0, i, mappings, files), -ENOSPC);
	CHECK_EQ(add_runtime_here(table, NO_PID, 0, 5, mappings, files), 5);
	end(table);
}

/* Programs with JIT-compiled code come and go, for months. */
TEST(runtime_table_forgets_processes_that_are_over)
{
	struct runtime_table *table = runtime_table_new(), *copies = runtime_table_new();
	const pid_t child = fork();
	int64_t own, its, number = 0;
	int status, before;
	uint64_t i;

	if (!child) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	begin();
	before = nr_open_fds();
	own = add_runtime_here(table, getpid(), 0, 1, mappings, files);
	its = add_runtime_here(table, child, 0, 1, mappings, files);
	for (i = 0; i < 10 * RUNTIME_TABLE_MAX; i++) {
		number = add_runtime_here(table, NO_PID, 0, i, mappings, files);
		CHECK_EQ(number, i + 2); /* no number is given out again */
		if (i % 1000)
			continue;
		runtime_table_mark_used(table, (uint32_t)number);
		runtime_table_sweep(table);
		CHECK_EQ(runtime_table_nr(table), 3);
	}
	runtime_table_sweep(table);
	CHECK_EQ(runtime_table_nr(table), 2); /* the two that run */
	CHECK_EQ(runtime_table_nr_refused(table), 0);
	CHECK_EQ(runtime_table_copy(copies, table, (uint32_t)its), 0);
	CHECK_EQ(runtime_table_copy(copies, table, (uint32_t)number), 0); /* forgotten */
	CHECK_EQ(nr_open_fds(), before + 6);
	CHECK_EQ(kill(child, SIGKILL), 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	runtime_table_sweep(table);
	CHECK(runtime_table_get(table, (uint32_t)own) && !runtime_table_get(table, (uint32_t)its));
	/* A copy is needed until its interval is shown, its descriptors are not. */
	runtime_table_close_gone(copies);
	runtime_table_sweep(copies);
	CHECK(runtime_table_get(copies, (uint32_t)its));
	CHECK_EQ(nr_open_fds(), before + 2);
	runtime_table_sweep(copies);
	CHECK_EQ(runtime_table_nr(copies), 0);
	runtime_table_free(copies);
	end(table);
}

TEST(runtime_table_goes_on_counting_after_another)
{
	struct runtime_table *table = runtime_table_new();
	uint32_t number;
	int32_t pid;

	begin();
	runtime_table_begin_at(table, 7);
	CHECK(!runtime_table_next_look(table, &number, &pid));
	CHECK_EQ(runtime_table_add(table, NO_PID, 0, 1, mappings, files), 7);
	CHECK_EQ(runtime_table_next_number(table), 8);
	CHECK(runtime_table_next_look(table, &number, &pid));
	CHECK_EQ(number, 7);
	CHECK(!runtime_table_next_look(table, &number, &pid));
	CHECK(!runtime_table_get(table, 0));
	end(table);
}

/* --- mapped files ---------------------------------------------------------------------------- */

static void check_runtime(const char *first, const char *second, const char *expected)
{
	struct runtime_table *table = runtime_table_new();
	const struct runtime *runtime;

	begin();
	(void)map_file("/usr/lib/libc.so.6");
	(void)map_file(first);
	if (second)
		(void)map_file(second);
	runtime = add(table, NO_PID, 0, 0)->runtime;
	CHECK_STR(runtime ? runtime->name : "none", expected);
	CHECK(!runtime || (runtime->how_to_name && *runtime->how_to_name));
	CHECK(!runtime || runtime->is_java == !strcmp(expected, "Java"));
	end(table);
}

TEST(runtime_table_tells_runtimes)
{
	static const struct {
		const char *path, *expected;
	} cases[] = {
		{"/usr/lib/jvm/java-17/lib/server/libjvm.so", "Java"},
		{"/usr/lib/jvm/java-17/lib/server/libjvm.so (deleted)", "Java"},
		{"/usr/bin/node", "Node.js"},
		{"/usr/lib/x86_64-linux-gnu/libnode.so.108", "Node.js"},
		{"/usr/bin/python3.12", "Python"},
		{"/usr/lib/libpython3.13.so.1.0", "Python"},
		{"/usr/bin/python3.11", "none"},
		{"/usr/lib/x86_64-linux-gnu/libpcre2-8.so.0.11.2", "with PCRE2"},
		{"/usr/bin/qemu-system-x86_64", "QEMU"},
		{"/usr/bin/qemu-aarch64-static", "QEMU"},
		{"/usr/bin/qemu-img", "none"},
		{"/usr/bin/ruby3.1", "Ruby"},
		{"/usr/lib/libruby-3.1.so.3.1", "Ruby"},
		{"/usr/lib/erlang/erts-13.1.5/bin/beam.smp", "Erlang"},
		{"/usr/share/dotnet/libcoreclr.so", ".NET"},
		{"/usr/bin/php8.2", "PHP"},
		{"/usr/sbin/php-fpm8.2", "PHP"},
		{"/usr/bin/phpize", "none"},
		{"/home/node/server", "none"},
		{"/usr/bin/nodeny", "none"},
		{"node", "Node.js"},
		{"", "none"},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check_runtime(cases[i].path, NULL, cases[i].expected);
}

/* In any order of addresses, the embedding runtime is reported. */
TEST(runtime_table_prefers_the_outer_runtime)
{
	check_runtime("/usr/lib/libpython3.12.so.1.0", "/lib/libjvm.so", "Java");
	check_runtime("/lib/libjvm.so", "/usr/lib/libpython3.12.so.1.0", "Java");
	check_runtime("/opt/j9/libjvm.so", "/opt/j9/libj9vm29.so", "Java (OpenJ9)");
	check_runtime("/usr/lib/libpcre2-8.so.0", "/usr/bin/qemu-system-x86_64", "QEMU");
}

/*
 * PHP's JIT compiler keeps its code in shared memory; other JIT-compiled code is from regular
 * expressions, which opcache's settings do not affect.
 */
TEST(runtime_table_tells_code_of_php_from_that_of_pcre2)
{
	struct mapping code = {.start = 0x100000, .end = 0x101000, .kind = MAPPING_ANON};
	struct runtime_table *table = runtime_table_new();

	begin();
	(void)map_file("/usr/lib/x86_64-linux-gnu/libpcre2-8.so.0");
	(void)map_file("/usr/sbin/php-fpm8.2");
	CHECK_EQ(mappings_add(&mappings, &code), 0);
	CHECK_STR(add(table, NO_PID, 0, 0)->runtime->name, "PHP");
	CHECK(strstr(add(table, NO_PID, 0, 0)->runtime->how_to_name, "PCRE2"));
	code = (struct mapping){.start = 0x200000, .end = 0x201000, .kind = MAPPING_SHARED};
	CHECK_EQ(mappings_add(&mappings, &code), 0);
	CHECK_STR(add(table, NO_PID, 0, 1)->runtime->name, "PHP");
	CHECK(strstr(add(table, NO_PID, 0, 1)->runtime->how_to_name, "opcache.jit_debug"));
	end(table);
}

TEST(runtime_table_finds_jitdumps)
{
	static const char *const others[] = {"/tmp/jit-12.dump.old", "/tmp/jit-.dump",
					     "/tmp/jit--1.dump", "/tmp/ajit-12.dump",
					     "/tmp/jit-12.dum"};
	struct runtime_table *table = runtime_table_new();
	uint32_t inherited, own;
	char path[64];
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(others); i++)
		(void)map_file(others[i]);
	CHECK_EQ(add(table, getpid(), 0, 0)->jitdump, -1);
	inherited = map_file("/tmp/jit-12.dump");
	CHECK_EQ(add(table, getpid(), 0, 0)->jitdump, inherited); /* mapped after the first look */
	(void)snprintf(path, sizeof(path), "/home/.debug/jit-%d.dump", getpid());
	own = map_file(path);
	(void)map_file("/tmp/jit-13.dump");
	CHECK_EQ(add(table, getpid(), 0, 1)->jitdump, own);
	end(table);
}

/* A process that was forked, and then creates its own. */
TEST(runtime_table_prefers_a_jitdump_that_comes_later)
{
	struct runtime_table *table = runtime_table_new();
	uint32_t inherited, own;
	char path[64];

	begin();
	(void)map_file("/usr/bin/node");
	inherited = map_file("/tmp/jit-12.dump");
	CHECK_EQ(add(table, getpid(), 0, 0)->jitdump, inherited);
	CHECK(add(table, getpid(), 0, 0)->runtime);
	(void)snprintf(path, sizeof(path), "/tmp/jit-%d.dump", getpid());
	own = map_file(path);
	CHECK_EQ(add(table, getpid(), 0, 0)->jitdump, own);
	end(table);
}

TEST(runtime_table_learns_the_runtime_later)
{
	struct runtime_table *table = runtime_table_new();

	begin();
	CHECK(!add(table, NO_PID, 0, 0)->runtime);
	(void)map_file("/usr/lib/postgresql/15/lib/llvmjit.so");
	CHECK_STR(add(table, NO_PID, 0, 0)->runtime->name, "PostgreSQL");
	end(table);
}

TEST(runtime_table_without_memory)
{
	struct runtime_table *table;
	int64_t number = -ENOMEM;
	size_t nth;

	test_fail_allocation(1);
	CHECK(!runtime_table_new());
	test_fail_allocation(0);
	begin();
	(void)map_file("/lib/libjvm.so");
	for (nth = 1; number == -ENOMEM; nth++) {
		table = runtime_table_new();
		test_fail_allocation(nth);
		number = add_runtime_here(table, getpid(), 0, 0, mappings, files);
		test_fail_allocation(0);
		if (number == -ENOMEM)
			CHECK_EQ(runtime_table_nr(table), 0);
		CHECK_EQ(add_runtime_here(table, getpid(), 0, 0, mappings, files), 0);
		runtime_table_free(table);
	}
	CHECK_EQ(number, 0);
	CHECK(nth > 2);
	end(NULL);
}

/* --- the map that it writes ------------------------------------------------------------------ */

static char root[64], map[128];

/* Makes a root for the process, with an empty /tmp. */
static struct runtime_process make_root(void)
{
	char path[128];

	(void)snprintf(root, sizeof(root), "/tmp/stook-test-XXXXXX");
	CHECK(mkdtemp(root) != NULL);
	(void)snprintf(path, sizeof(path), "%s/tmp", root);
	CHECK_EQ(mkdir(path, 0755), 0);
	(void)snprintf(map, sizeof(map), "%s/tmp/perf-17.map", root);
	return (struct runtime_process){.pid = NO_PID,
					.inner_pid = 17,
					.uid = geteuid(),
					.root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC),
					.pidfd = -1,
					.jitdump = -1};
}

static void remove_root(const struct runtime_process *process)
{
	char path[128];

	(void)unlink(map);
	(void)snprintf(path, sizeof(path), "%s/tmp", root);
	CHECK_EQ(rmdir(path), 0);
	CHECK_EQ(rmdir(root), 0);
	(void)close(process->root_fd);
}

static void make_file(const char *path, mode_t mode)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	CHECK_EQ(fchmod(fd, mode), 0);
	CHECK_EQ(write(fd, "map\n", 4), 4);
	(void)close(fd);
}

static void check_opens(const struct runtime_process *process)
{
	cleanup_fd int fd = open_map_here(process);
	char text[5] = "";

	CHECK(fd >= 0);
	CHECK_EQ(read(fd, text, 4), 4);
	CHECK_STR(text, "map\n");
	CHECK_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
}

TEST(runtime_process_opens_its_map)
{
	struct runtime_process process = make_root();

	CHECK_EQ(open_map_here(&process), -ENOENT);
	make_file(map, 0666);
	check_opens(&process);
	remove_root(&process);
}

/* A new container starts its pids again, while its /tmp may be older. */
TEST(runtime_process_map_of_an_earlier_one)
{
	struct runtime_process process = make_root();
	const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};

	process.start_time_ns = clock_now_ns();
	make_file(map, 0600);
	check_opens(&process);
	CHECK_EQ(utimensat(AT_FDCWD, map, long_ago, 0), 0);
	CHECK_EQ(open_map_here(&process), -ENOENT);
	remove_root(&process);
}

TEST(runtime_process_map_must_be_its_own)
{
	struct runtime_process process = make_root();

	if (geteuid() != 0) {
		remove_root(&process);
		SKIP("needs root, to give files away");
	}
	make_file(map, 0644);
	process.uid = NOBODY;
	CHECK_EQ(open_map_here(&process), -EACCES); /* owned by root */
	process.has_mounts_of_root = true;
	check_opens(&process);
	process.has_mounts_of_root = false;
	file_owners_add(&process.users, 0); /* the user id seen first */
	check_opens(&process);
	process.users.nr = 0;
	CHECK_EQ(chown(map, NOBODY, NOBODY), 0);
	check_opens(&process);
	CHECK_EQ(chown(map, NOBODY + 1, NOBODY), 0);
	CHECK_EQ(open_map_here(&process), -EACCES);
	process.uid = 0;
	process.has_mounts_of_root = true;
	CHECK_EQ(chown(map, NOBODY, NOBODY), 0);
	CHECK_EQ(open_map_here(&process), -EACCES);
	remove_root(&process);
}

/*
 * Symlinks to files outside and inside the process' root, a hard link, and files that are not
 * regular or block when opened.
 */
TEST(runtime_process_map_is_no_trap)
{
	struct runtime_process process = make_root();
	char other[128];

	(void)alarm(10);
	CHECK_EQ(symlink("/etc/shadow", map), 0);
	CHECK_EQ(open_map_here(&process), -EACCES);
	CHECK_EQ(unlink(map), 0);
	CHECK_EQ(symlink("../../../../../../etc/passwd", map), 0);
	CHECK_EQ(open_map_here(&process), -EACCES);
	CHECK_EQ(unlink(map), 0);
	(void)snprintf(other, sizeof(other), "%s/secret", root);
	make_file(other, 0600);
	CHECK_EQ(symlink("/secret", map), 0);
	CHECK_EQ(open_map_here(&process), -EACCES);
	CHECK_EQ(unlink(map), 0);
	CHECK_EQ(link(other, map), 0);
	CHECK_EQ(open_map_here(&process), -EACCES);
	CHECK_EQ(unlink(map), 0);
	CHECK_EQ(unlink(other), 0);
	CHECK_EQ(mkfifo(map, 0600), 0);
	CHECK_EQ(open_map_here(&process), -EACCES);
	CHECK_EQ(unlink(map), 0);
	CHECK_EQ(mkdir(map, 0700), 0);
	CHECK_EQ(open_map_here(&process), -EACCES);
	CHECK_EQ(rmdir(map), 0);
	remove_root(&process);
}

/* The folder may be a symlink, which is resolved in the process' root. */
TEST(runtime_process_map_behind_a_linked_folder)
{
	struct runtime_process process = make_root();
	char folder[128], moved[128];

	(void)snprintf(folder, sizeof(folder), "%s/tmp", root);
	(void)snprintf(moved, sizeof(moved), "%s/moved", root);
	make_file(map, 0600);
	CHECK_EQ(rename(folder, moved), 0);
	CHECK_EQ(symlink("/moved", folder), 0);
	check_opens(&process);
	CHECK_EQ(unlink(folder), 0);
	CHECK_EQ(rename(moved, folder), 0);
	remove_root(&process);
}

/* The process ended before it was examined: only its pid is known. */
TEST(runtime_process_map_of_one_that_is_gone)
{
	struct runtime_process process = {.pid = getpid(),
					  .uid = (uid_t)-1,
					  .root_fd = -1,
					  .pidfd = -1,
					  .start_time_ns = clock_now_ns()};
	const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};

	(void)snprintf(map, sizeof(map), "/tmp/perf-%d.map", getpid());
	CHECK_EQ(open_map_here(&process), -ENOENT);
	make_file(map, 0600);
	check_opens(&process);
	process.inner_pid = getpid();
	process.uid = geteuid();
	check_opens(&process);
	process.inner_pid = 1; /* in a container */
	CHECK_EQ(open_map_here(&process), -ENOENT);
	process.inner_pid = 0;
	CHECK_EQ(utimensat(AT_FDCWD, map, long_ago, 0), 0);
	CHECK_EQ(open_map_here(&process), -ENOENT);
	CHECK_EQ(unlink(map), 0);
}

/* The kernel allocates BPF maps, and their size is known from their descriptors. */
TEST(process_sum_pss_leaves_out_bpf_maps)
{
	static const char smaps[] =
		"55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0    [heap]\n"
		"Size:                132 kB\n"
		"Pss:                 100 kB\n"
		"Pss_Dirty:            90 kB\n"
		"VmFlags: rd wr mr mw me ac\n"
		"7f0000000000-7f0000200000 rw-s 00000000 00:0f 1038  anon_inode:bpf-map\n"
		"Pss:                2048 kB\n"
		"7f0000200000-7f0000201000 r--p 00000000 08:01 7     /lib/my bpf-map\n"
		"Pss:                   3 kB\n";
	cleanup_file FILE *in = fmemopen((char *)smaps, sizeof(smaps) - 1, "r");
	cleanup_file FILE *own = fopen("/proc/self/smaps", "r");
	cleanup_file FILE *rollup = fopen("/proc/self/smaps_rollup", "r");

	CHECK_EQ(process_sum_pss(in), 103 << 10);
	CHECK(process_sum_pss(own) > 0);
	CHECK(!rollup || process_sum_pss(rollup) > 0);
}
