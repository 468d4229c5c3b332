/*
 * probe/find/program: resolving names on this host and below the root of another process. The other
 * process is a child of the test with its own folder as root, if the test has permission.
 */
#include "probe/find/program.h"

#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/find/needed_task.h"
#include "probe/find/program_task.h"
#include "proc/mappings.h"
#include "unit/folder.h"
#include "unit/test.h"

static int find(const char *name, uint32_t pid, struct program *ret, struct error *error)
{
	struct worker *worker = worker_new(NULL); /* of its own: it keeps the current directory */
	int err;

	CHECK(worker);
	*ret = (struct program){0};
	*error = (struct error){0};
	err = program_find(worker, name, &pid, pid ? 1 : 0, ret, error);
	worker_free(worker);
	return err;
}

/* Returns the path of the only file that a name resolves to; "" and the error if there is none. */
static const char *path_of(const char *name, uint32_t pid, struct error *error)
{
	static char path[4096];
	struct program program;

	path[0] = '\0';
	if (find(name, pid, &program, error) < 0) {
		CHECK_EQ(program.nr, 0);
		CHECK(error->text[0] != '\0');
		return path;
	}
	CHECK_EQ(program.nr, 1);
	CHECK(fcntl(program.files[0].handle, F_GETFL) & O_PATH);
	(void)snprintf(path, sizeof(path), "%s", program.files[0].path);
	program_clear(&program);
	return path;
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && !strcmp(text + strlen(text) - strlen(end), end);
}

TEST(library_names)
{
	CHECK_EQ(library_fit_of("/usr/lib/libc.so.6", "c"), FIT_LIBRARY);
	CHECK_EQ(library_fit_of("/lib/ld-musl-x86_64.so.1", "c"), FIT_LIBRARY);
	CHECK_EQ(library_fit_of("/lib/libc-2.31.so", "c"), FIT_RELEASE);
	CHECK_EQ(library_fit_of("/lib/libcrypt.so.1", "c"), NR_LIBRARY_FITS);
	CHECK_EQ(library_fit_of("/lib/libc-client", "c"), NR_LIBRARY_FITS);
	CHECK_EQ(library_fit_of("/usr/bin/redis server (deleted)", "redis server"), FIT_SAME);
	CHECK_EQ(library_fit_of("/lib/libc.so.6 (deleted)", "libc.so.6"), FIT_SAME);
	CHECK_EQ(library_fit_of("", ""), FIT_SAME);
	CHECK(library_is_wanted("libssl.so", "ssl"));
	CHECK(library_is_wanted("libssl.so.3", "ssl"));
	CHECK(library_is_wanted("libssl.so.3", "libssl.so.3"));
	CHECK(library_is_wanted("libssl.so.3", "libssl"));
	CHECK(library_is_wanted("libssl.so.3", "libssl.so"));
	CHECK(!library_is_wanted("libssl.so.3", "ssl.so"));
	CHECK(!library_is_wanted("libcrypt.so.1", "libc"));
	CHECK(!library_is_wanted("lib.so", "lib.so.1"));
	CHECK_EQ(library_fit_of("/usr/lib/libc.so.6", "libc"), FIT_LIBRARY);
	CHECK_EQ(library_fit_of("/lib/ld-musl-x86_64.so.1", "libc"), FIT_LIBRARY);
	CHECK_EQ(library_fit_of("/lib/libc-2.31.so", "libc"), FIT_RELEASE);
	CHECK_EQ(library_fit_of("/usr/lib/libcrypt.so.1", "libc"), NR_LIBRARY_FITS);
	CHECK(!library_is_wanted("libssl.so.1", "libssl.so.3"));
	CHECK(!library_is_wanted("libssl.sorry", "ssl"));
	CHECK(!library_is_wanted("libssl3.so", "ssl"));
	CHECK(!library_is_wanted("ssl", "ssl"));
}

TEST(program_by_path)
{
	char own[4096], beside[4200];
	struct error error;
	ssize_t nr = readlink("/proc/self/exe", own, sizeof(own) - 1);

	need_openat2();
	CHECK(nr > 0);
	own[nr] = '\0';
	CHECK_STR(path_of(own, 0, &error), own);
	enter_folder();
	CHECK_EQ(symlink(own, in_folder("link")), 0);
	CHECK_STR(path_of(in_folder("link"), 0, &error), own);
	CHECK_EQ(chdir(folder), 0);
	CHECK_STR(path_of("./link", 0, &error), own);
	CHECK_STR(path_of("./none", 0, &error), "");
	CHECK_EQ(error.code, -ENOENT);
	(void)snprintf(beside, sizeof(beside), "%s/..", own);
	CHECK_STR(path_of(beside, 0, &error), "");
	CHECK_STR(path_of(folder, 0, &error), "");
	CHECK_EQ(error.code, -EINVAL);
	leave_folder();
}

TEST(program_that_is_none)
{
	struct error error;

	need_openat2();
	enter_folder();
	make_file(in_folder("script"), "#! /bin/sh -e\necho\n");
	make_file(in_folder("text"), "just text, and nothing to run");
	make_file(in_folder("empty"), "");
	CHECK_STR(path_of(in_folder("script"), 0, &error), "");
	CHECK_EQ(error.code, -ENOEXEC);
	CHECK(strstr(error.text, "is a script") != NULL);
	CHECK_STR(error.hint, "its interpreter is '/bin/sh'");
	CHECK_STR(path_of(in_folder("text"), 0, &error), "");
	CHECK_EQ(error.code, -ENOEXEC);
	CHECK_STR(path_of(in_folder("empty"), 0, &error), "");
	CHECK_EQ(error.code, -ENOEXEC);
	CHECK_STR(path_of("/dev/null", 0, &error), "");
	leave_folder();
}

TEST(program_by_pid)
{
	char number[32], own[4096];
	struct error error;
	ssize_t nr = readlink("/proc/self/exe", own, sizeof(own) - 1);

	need_openat2();
	CHECK(nr > 0);
	own[nr] = '\0';
	(void)snprintf(number, sizeof(number), "%d", getpid());
	CHECK_STR(path_of(number, 0, &error), own);
	CHECK_STR(path_of("4194304", 0, &error), "");
	CHECK_EQ(error.code, -ESRCH);
	CHECK_STR(path_of("99999999999999999999", 0, &error), "");
	CHECK_EQ(error.code, -ESRCH);
}

TEST(program_library)
{
	const char *path;
	struct error error;

	need_openat2();
	path = path_of("c", 0, &error);
	if (!path[0])
		SKIP("there is no shared C library");
	CHECK(strstr(path, "/libc.so") != NULL || strstr(path, "/libc-") != NULL ||
	      strstr(path, "/libc.musl") != NULL);
	CHECK_STR(path_of("no-such-library", 0, &error), "");
	CHECK_EQ(error.code, -ENOENT);
	CHECK(strstr(error.hint, "libno-such-library.so") != NULL);
}

TEST(program_mapped)
{
	struct error error;
	const char *path;

	need_openat2();
	path = path_of("c", (uint32_t)getpid(), &error);
	CHECK(strstr(path, "/libc") != NULL);
	/* By the name of its file, though it is not in PATH. */
	CHECK(ends_with(path_of("unit_tests", (uint32_t)getpid(), &error), "/unit_tests"));
	CHECK_STR(path_of("c", 4194304, &error), "");
	CHECK_EQ(error.code, -ESRCH);
}

TEST(program_on_path)
{
	const char *before = getenv("PATH");
	char path[4096], command[4200];
	struct error error;

	need_openat2();
	enter_folder();
	(void)snprintf(path, sizeof(path), "relative:%s/first::%s/second", folder, folder);
	CHECK_EQ(setenv("PATH", path, 1), 0);
	make_folder("first");
	make_folder("second");
	(void)snprintf(command, sizeof(command),
		       "PATH='%s'; cp /proc/%d/exe second/stooktest && ln -s stooktest "
		       "second/stooklink && "
		       "cp second/stooktest first/stooktest && chmod -x first/stooktest && "
		       "echo '#!/bin/sh' >first/stookscript && chmod +x first/stookscript",
		       before, getpid());
	CHECK(run_in_folder(command));
	CHECK(ends_with(path_of("stooktest", 0, &error), "second/stooktest"));
	CHECK(ends_with(path_of("stooklink", 0, &error), "second/stooklink"));
	CHECK_STR(path_of("stookscript", 0, &error), "");
	CHECK_EQ(error.code, -ENOEXEC);
	CHECK_STR(path_of("stooknone", 0, &error), "");
	CHECK_EQ(error.code, -ENOENT);
	CHECK_EQ(setenv("PATH", before, 1), 0);
	leave_folder();
}

static bool has_folder(const struct library_folders *folders, const char *path)
{
	size_t i, nr = 0;

	for (i = 0; i < folders->nr; i++)
		nr += !strcmp(folders->paths[i], path);
	CHECK(nr <= 1);
	return nr == 1;
}

TEST(library_folders_of_a_root)
{
	struct library_folders folders = {0};
	int root;

	need_openat2();
	enter_folder();
	make_folder("etc");
	make_folder("etc/ld.so.conf.d");
	make_file(
		in_folder("etc/ld.so.conf"),
		"# comment\n/opt/first # why\n\n  /opt/blanks  \ninclude /etc/ld.so.conf.d/*.conf\n"
		"include ld.so.conf\nrelative\n/usr/lib\n");
	make_file(in_folder("etc/ld.so.conf.d/b.conf"), "/opt/b\n");
	make_file(in_folder("etc/ld.so.conf.d/a.conf"), "/opt/a\n/opt/first");
	make_file(in_folder("etc/ld.so.conf.d/a.other"), "/opt/other\n");
	make_file(in_folder("etc/ld.so.conf.d/.hidden.conf"), "/opt/hidden\n");
	root = open(folder, O_PATH | O_DIRECTORY);
	CHECK_EQ(library_folders_read(&folders, root, NULL), 0);
	CHECK_STR(folders.paths[0], "/opt/first");
	CHECK_STR(folders.paths[1], "/opt/blanks");
	CHECK_STR(folders.paths[2], "/opt/a");
	CHECK_STR(folders.paths[3], "/opt/b");
	CHECK_STR(folders.paths[4], "/usr/lib");
	CHECK(has_folder(&folders, "/lib64"));
	CHECK(!has_folder(&folders, "/opt/other"));
	CHECK(!has_folder(&folders, "/opt/hidden"));
	CHECK(!has_folder(&folders, "relative"));
	library_folders_clear(&folders);
	CHECK_EQ(close(root), 0);
	leave_folder();
}

/* A container's file must not keep stook busy: fnmatch() would take years for this pattern. */
TEST(program_folders_by_a_costly_pattern)
{
	struct library_folders folders = {0};
	char command[256];
	int root;

	need_openat2();
	enter_folder();
	make_folder("etc");
	make_folder("etc/d");
	make_file(in_folder("etc/ld.so.conf"),
		  "include d/*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b\ninclude d/[ab]*c\n");
	(void)snprintf(command, sizeof(command),
		       "echo /opt/a >etc/d/$(printf 'a%%.0s' $(seq 200))c");
	CHECK(run_in_folder(command));
	root = open(folder, O_PATH | O_DIRECTORY);
	CHECK_EQ(library_folders_read(&folders, root, NULL), 0);
	CHECK_STR(folders.paths[0], "/opt/a");
	library_folders_clear(&folders);
	CHECK_EQ(close(root), 0);
	leave_folder();
}

/* Makes a root with a copy of this program as a library, and two invalid versions of it. */
static void make_root(void)
{
	char command[512];

	enter_folder();
	(void)snprintf(command, sizeof(command),
		       "mkdir -p usr/lib bin && cp /proc/%d/exe usr/lib/libstooktest.so.9 && "
		       "cp usr/lib/libstooktest.so.9 usr/lib/libstooktest.so.10 && "
		       "echo 'GROUP ( x )' >usr/lib/libstooktest.so.11 && "
		       "ln -s /etc/passwd usr/lib/libstooktest.so.12 && "
		       "cp usr/lib/libstooktest.so.9 bin/inside && chmod +x bin/inside",
		       getpid());
	CHECK(run_in_folder(command));
}

TEST(program_below_a_root)
{
	struct error error;
	pid_t pid;

	need_openat2();
	make_root();
	pid = start_in_folder();
	CHECK_STR(path_of("stooktest", (uint32_t)pid, &error), "/usr/lib/libstooktest.so.10");
	CHECK_STR(path_of("libstooktest.so.9", (uint32_t)pid, &error),
		  "/usr/lib/libstooktest.so.9");
	CHECK_STR(path_of("inside", (uint32_t)pid, &error), "/bin/inside");
	CHECK_STR(path_of("/bin/inside", (uint32_t)pid, &error), "/bin/inside");
	CHECK_STR(path_of("stooktest", 0, &error), "");
	stop_in_folder(pid);
	leave_folder();
}

/* Like memcached and curl, on this host or in a container. */
TEST(program_and_library_of_one_name)
{
	struct program program;
	struct error error;
	pid_t pid;

	need_openat2();
	make_root();
	CHECK(run_in_folder("cp bin/inside bin/both && cp bin/inside usr/lib/libboth.so.1"));
	CHECK(run_in_folder("cp bin/inside usr/lib/libscript.so && echo '#!/bin/sh' >bin/script && "
			    "chmod +x bin/script"));
	pid = start_in_folder();
	CHECK_EQ(find("both", (uint32_t)pid, &program, &error), 0);
	CHECK_EQ(program.nr, 2);
	CHECK_STR(program.files[0].path, "/bin/both");
	CHECK(!program.files[0].is_second);
	CHECK_STR(program.files[1].path, "/usr/lib/libboth.so.1");
	CHECK(program.files[1].is_second);
	program_clear(&program);
	CHECK_EQ(find("libboth", (uint32_t)pid, &program, &error), 0);
	CHECK_EQ(program.nr, 1);
	CHECK_STR(program.files[0].path, "/usr/lib/libboth.so.1");
	CHECK(!program.files[0].is_second);
	program_clear(&program);
	CHECK_STR(path_of("libboth.so", (uint32_t)pid, &error), "/usr/lib/libboth.so.1");
	CHECK_STR(path_of("script", (uint32_t)pid, &error), "/usr/lib/libscript.so");
	stop_in_folder(pid);
	leave_folder();
}

/* --- files that a program maps at its start --------------------------------------------------- */

static bool has_file(const struct program *program, const struct stat *st)
{
	size_t i;

	for (i = 0; i < program->nr; i++)
		if (program->files[i].device == st->st_dev && program->files[i].inode == st->st_ino)
			return true;
	return false;
}

static int find_started(const char *command, struct program *ret)
{
	struct worker *worker = worker_new(NULL);
	int err;

	CHECK(worker);
	err = program_find_started(worker, command, ret);
	worker_free(worker);
	return err;
}

/* The expected answer is the loader's, which has mapped the files that this test program needs. */
TEST(program_started_and_what_it_needs)
{
	struct program program = {0};
	struct maps_entry entry;
	struct maps maps;
	size_t nr = 0;

	need_openat2();
	CHECK_EQ(find_started("/proc/self/exe", &program), 0);
	CHECK(program.nr >= 1);
	CHECK_EQ(maps_open(&maps, getpid()), 0);
	while (maps_next(&maps, &entry)) {
		struct stat st;

		if (!entry.executable || entry.path[0] != '/' || stat(entry.path, &st) < 0)
			continue;
		CHECK(has_file(&program, &st));
		nr++;
	}
	maps_close(&maps);
	CHECK(nr >= 1 && program.nr >= nr);
	program_clear(&program);
}

TEST(program_started_by_a_script)
{
	struct program shell = {0}, script = {0};
	const char *path;
	size_t i;

	need_openat2();
	enter_folder();
	path = in_folder("script");
	make_file(path, "#! /bin/sh -e\necho\n");
	CHECK_EQ(find_started(path, &script), 0); /* not executable */
	CHECK_EQ(script.nr, 0);
	CHECK_EQ(chmod(path, 0755), 0);
	CHECK_EQ(find_started(path, &script), 0);
	CHECK_EQ(find_started("sh", &shell), 0);
	CHECK(shell.nr >= 1);
	CHECK_EQ(script.nr, shell.nr);
	for (i = 0; i < shell.nr; i++) {
		struct stat st;

		CHECK_EQ(fstat(shell.files[i].handle, &st), 0);
		CHECK(has_file(&script, &st));
	}
	program_clear(&script);
	program_clear(&shell);
	make_file(path, "#!");
	CHECK_EQ(find_started(path, &script), 0);
	CHECK_EQ(script.nr, 0);
	CHECK_EQ(find_started("", &script), 0);
	CHECK_EQ(find_started("/no/such/program", &script), 0);
	CHECK_EQ(script.nr, 0);
	CHECK_EQ(unlink(path), 0);
	leave_folder();
}

/* Texts come from a parser, which may have been compromised. */
TEST(program_needs_by_an_answer)
{
	static char texts[PATH_MAX + 8] = "/lib/ld.so\0libc.so.6\0libm";
	struct bytes answer = bytes_of(texts, sizeof("/lib/ld.so\0libc.so.6\0libm") - 1);

	CHECK_STR(needed_answer_next(&answer), "/lib/ld.so");
	CHECK_STR(needed_answer_next(&answer), "libc.so.6");
	CHECK(needed_answer_next(&answer) == NULL); /* without a NUL */
	CHECK(needed_answer_next(&answer) == NULL);
	answer = bytes_of(texts, 0);
	CHECK(needed_answer_next(&answer) == NULL);
	memset(texts, 'x', PATH_MAX);
	answer = bytes_of(texts, sizeof(texts));
	CHECK(needed_answer_next(&answer) == NULL); /* too long for a path */
}

/* --- answers of the opener -------------------------------------------------------------------- */

struct file_message {
	struct program_part part;
	char path[16];
};

static struct file_message valid_file(void)
{
	return (struct file_message){
		.part = {.kind = PROGRAM_FILE, .has_root = 1, .device = 1, .inode = 2, .bytes = 3},
		.path = "/bin/true",
	};
}

static const size_t file_bytes = sizeof(struct program_part) + sizeof("/bin/true");

/* Both handles are open in each case. The ones that are not kept are closed, as by the worker. */
static int take(struct program *program, const void *bytes, size_t nr, int *ret_handle)
{
	struct program_answer answer = {.program = program};
	int err, i;
	int handles[WORKER_HANDLES_MAX] = {open("/", O_PATH | O_CLOEXEC),
					   open("/", O_PATH | O_CLOEXEC)};

	*ret_handle = handles[0];
	err = program_answer_take(&answer, bytes, nr, handles);
	for (i = 0; i < WORKER_HANDLES_MAX; i++)
		if (handles[i] >= 0)
			(void)close(handles[i]);
	return err;
}

static void check_refused(const struct file_message *message, size_t nr)
{
	struct program program = {0};
	int handle;

	CHECK_EQ(take(&program, message, nr, &handle), -EPROTO);
	CHECK_EQ(program.nr, 0);
	CHECK_EQ(fcntl(handle, F_GETFD), -1);
	CHECK_EQ(fcntl(handle + 1, F_GETFD), -1);
}

TEST(program_answer_of_a_file)
{
	const struct file_message message = valid_file();
	struct program program = {0};
	int first, again;

	CHECK_EQ(take(&program, &message, file_bytes, &first), 0);
	CHECK_EQ(program.nr, 1);
	CHECK_EQ(program.files[0].handle, first);
	CHECK_STR(program.files[0].path, "/bin/true");
	CHECK_EQ(take(&program, &message, file_bytes, &again), 0);
	CHECK_EQ(program.nr, 1);
	CHECK_EQ(fcntl(again, F_GETFD), -1); /* the file was there */
	program_clear(&program);
	CHECK_EQ(fcntl(first, F_GETFD), -1);
}

TEST(program_answer_that_is_not_sound)
{
	struct file_message message = valid_file();
	size_t nr;

	for (nr = 0; nr < sizeof(message); nr++)
		if (nr != file_bytes)
			check_refused(&message, nr);
	message.part.kind = 3;
	check_refused(&message, file_bytes);
	message = valid_file();
	message.part.has_root = 0; /* but there is a handle */
	check_refused(&message, file_bytes);
	message.part.has_root = 2;
	check_refused(&message, file_bytes);
	message = valid_file();
	message.part.bytes = UINT64_MAX;
	check_refused(&message, file_bytes);
	message = valid_file();
	message.part.is_of_root = 2;
	check_refused(&message, file_bytes);
	message = valid_file();
	message.part.is_second = 2;
	check_refused(&message, file_bytes);
}

static int take_failure(const struct program_failure *failure, size_t nr, struct error *ret)
{
	int none[WORKER_HANDLES_MAX] = {-1, -1};
	struct program_answer answer = {.program = NULL};
	int err = program_answer_take(&answer, failure, nr, none);

	*ret = answer.error;
	return err;
}

TEST(program_answer_with_an_error)
{
	struct program_failure failure = {.kind = PROGRAM_FAILURE,
					  .error = {-ENOENT, "no such program", "a hint"}};
	struct error error;

	CHECK_EQ(take_failure(&failure, sizeof(failure), &error), 0);
	CHECK_EQ(error.code, -ENOENT);
	CHECK_STR(error.text, "no such program");
	CHECK_STR(error.hint, "a hint");
	CHECK_EQ(take_failure(&failure, sizeof(failure) - 1, &error), -EPROTO);
	failure.error.code = 0;
	CHECK_EQ(take_failure(&failure, sizeof(failure), &error), -EPROTO);
	failure.error.code = INT32_MIN;
	CHECK_EQ(take_failure(&failure, sizeof(failure), &error), -EPROTO);
	failure.error.code = -ENOENT;
	memset(failure.error.hint, 'x', sizeof(failure.error.hint));
	CHECK_EQ(take_failure(&failure, sizeof(failure), &error), -EPROTO);
	failure.error.hint[0] = '\0';
	failure.error.text[0] = '\0';
	CHECK_EQ(take_failure(&failure, sizeof(failure), &error), -EPROTO);
	memset(failure.error.text, 'x', sizeof(failure.error.text));
	CHECK_EQ(take_failure(&failure, sizeof(failure), &error), -EPROTO);
	CHECK_EQ(error.code, 0);
}
