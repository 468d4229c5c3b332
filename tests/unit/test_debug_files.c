/* sym/debug_files: stripped files with their debug files, and files that do not match. */
#include "sym/debug_files.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "unit/made_code.h"
#include "unit/test.h"

/* The path of the files in their process' root; the host has no such folder. */
#define PLACE "/stook-test/bin/"

/* --- lookup ---------------------------------------------------------------------------------- */

/* Searches only the folder "named", which is on the host's root. */
static int search(const struct made_code *code)
{
	const char *named = in_folder("named");
	const struct debug_places places = {&named, 1};

	return debug_files_open(&places, &code->file, &code->image);
}

static void check_finds(const struct made_code *code, const char *name)
{
	cleanup_fd int fd = search(code);
	struct stat found, expected;

	CHECK(fd >= 0);
	CHECK_EQ(fstat(fd, &found), 0);
	CHECK_EQ(stat(in_folder(name), &expected), 0);
	CHECK_EQ(found.st_ino, expected.st_ino);
}

static void check_finds_nothing(const struct made_code *code)
{
	(void)alarm(20); /* opening a fifo would block */
	CHECK_EQ(search(code), -ENOENT);
	(void)alarm(0);
}

/* Copies a file of the folder to a path in it, creating parent folders. */
static void put(const char *name, const char *path)
{
	char command[1024];

	(void)snprintf(command, sizeof(command), "mkdir -p $(dirname %s) && cp %s %s", path, name,
		       path);
	CHECK(run_in_folder(command));
}

static void take_away(const char *path)
{
	CHECK_EQ(unlink(in_folder(path)), 0);
}

/* --- roots ------------------------------------------------------------------------------------ */

TEST(debug_files_of_the_host_in_a_users_root)
{
	static const struct {
		uid_t uid, root_uid;
		bool is_of_root, keeps;
	} rows[] = {
		{0, 0, false, true},	   /* of a container's image */
		{0, 0, true, false},	   /* of the host, in a container */
		{1000, 1000, false, true}, /* of the user who is root there */
		{0, 1000, false, false},   /* of the host, in a namespace of that user */
		{2000, 1000, false, false}, {0, (uid_t)-1, false, false},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct code_file file = {.fd = 0,
					 .path = "/etc/program",
					 .root_fd = 1,
					 .root_uid = rows[i].root_uid,
					 .uid = rows[i].uid,
					 .is_of_root = rows[i].is_of_root};
		const struct debug_places places = {.nr_folders = 0};
		struct worker_want want = {.place = 1, .name = "shadow"};
		struct worker_place place;

		debug_files_choose_root(&file);
		CHECK_EQ(file.root_fd, rows[i].keeps ? 1 : -1);
		CHECK_EQ(debug_files_place(&places, &file, &want, &place), 0);
		if (!rows[i].keeps && !rows[i].is_of_root)
			CHECK(!file_owners_include(&place.owners, 0));
	}
}

/* --- files that are referred to --------------------------------------------------------------- */

/* True if a file of this owner would be opened at the path. */
static bool may_refer(const struct code_file *file, uint32_t number, const char *path, uid_t owner)
{
	const struct debug_places places = {.nr_folders = 0};
	struct worker_want want = {.kind = WANT_PATH, .place = number};
	struct worker_place place;

	(void)snprintf(want.name, sizeof(want.name), "%s", path);
	if (debug_files_path_place(&places, file, &want, &place) < 0)
		return false;
	return !place.is_owned || file_owners_include(&place.owners, owner);
}

TEST(debug_files_of_root_refer_to_few_files)
{
	struct code_file file = {.fd = 0, .path = "/srv/bin/program", .root_fd = -1};

	CHECK(!may_refer(&file, 0, "/etc/shadow", 0));
	CHECK(!may_refer(&file, 0, "/srv/bin/../../etc/shadow", 0));
	CHECK(!may_refer(&file, 0, "/srv/binary", 0));
	CHECK(may_refer(&file, 0, "/srv/bin/program.dwp", 0));
	CHECK(may_refer(&file, 0, DEBUG_FILE_FOLDER "/.dwz/program", 0));
	file.path = "/program";
	CHECK(!may_refer(&file, 0, "/etc/shadow", 0));
	file.is_of_root = true; /* only root can write it */
	CHECK(may_refer(&file, 0, "/build/program.dwo", 0));
	file = (struct code_file){.fd = 0, .path = "/home/program", .root_fd = -1, .uid = 1234};
	CHECK(may_refer(&file, 0, "/build/program.dwo", 1234));
	CHECK(!may_refer(&file, 0, "/etc/shadow", 0));
	/* In a container. */
	file = (struct code_file){.fd = 0, .path = "/bin/program", .root_fd = 1, .uid = 0};
	CHECK(!may_refer(&file, 0, "/etc/shadow", 0));
	CHECK(may_refer(&file, 0, "/bin/program.dwp", 0));
	CHECK(!may_refer(&file, 1, "/bin/program.dwp", 0));
}

/* --- by build id ----------------------------------------------------------------------------- */

TEST(debug_files_by_build_id)
{
	static const char *const layouts[] = {
		"named/.build-id/%.2s/%s.debug", "named/.build-id/%.2s/%s",
		"named/.build-id/%.2s/%s/debug", "named/.build-id/%.2s/%s/elf",
		"named/%.2s%s/debuginfo",	 "named/%.2s%s/executable",
	};
	struct made_code code;
	size_t i;

	make_code("sha1");
	open_code(&code, "stripped", PLACE "stripped");
	check_finds_nothing(&code);
	for (i = 0; i < ARRAY_SIZE(layouts); i++) {
		char path[256];

		/* The format strings are literals of this file. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		(void)snprintf(path, sizeof(path), layouts[i], build_id_of(&code),
			       build_id_of(&code) + 2);
#pragma GCC diagnostic pop
		put("code.debug", path);
		check_finds(&code, path);
		CHECK(run_in_folder("rm -r named"));
	}
	check_finds_nothing(&code);
	close_code(&code);
	leave_folder();
}

static void put_by_build_id(const struct made_code *code, const char *name, const char *before)
{
	const char *id = build_id_of(code);
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", before, id, id + 2);
	put(name, path);
}

/* The file itself is gone or on another machine. */
TEST(debug_files_of_a_file_that_is_gone)
{
	struct made_code code;
	const char *named = NULL;
	const struct debug_places places = {&named, 1};
	int fd;

	make_code("sha1");
	named = in_folder("named");
	open_code(&code, "linked", PLACE "linked");
	put_by_build_id(&code, "code.debug", "named");
	close_code(&code);
	code.file.fd = -1;
	fd = debug_files_open(&places, &code.file, NULL);
	CHECK(fd >= 0);
	(void)close(fd);
	code.file.build_id[19]++;
	CHECK_EQ(debug_files_open(&places, &code.file, NULL), -ENOENT);
	code.file.build_id_bytes = 1;
	CHECK_EQ(debug_files_open(&places, &code.file, NULL), -ENOENT);
	code.file.build_id_bytes = 0;
	CHECK_EQ(debug_files_open(&places, &code.file, NULL), -ENOENT);
	leave_folder();
}

/* A search that fails for want of descriptors, or of time, does not show that there is no debug file. */
TEST(debug_files_that_cannot_be_looked_for_now)
{
	struct rlimit before, few;
	struct made_code code;
	int found;

	make_code("sha1");
	open_code(&code, "stripped", PLACE "stripped");
	put_by_build_id(&code, "code.debug", "named");
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 0;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	found = search(&code);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_EQ(found, -EMFILE);
	CHECK(worker_is_passing(found));
	CHECK(!worker_is_passing(-ENOENT) && !worker_is_passing(-EACCES));
	close_code(&code);
	leave_folder();
}

/* A file below a build id's path may still be the wrong one. */
TEST(debug_files_check_the_build_id)
{
	struct made_code code;

	make_code("0x0123456789abcdef");
	open_code(&code, "stripped", PLACE "stripped");
	CHECK(run_in_folder("cc -g -shared -fPIC -Wl,--build-id=0x0123456789abcdee -o code.debug "
			    "code.c"));
	put_by_build_id(&code, "code.debug", "named");
	check_finds_nothing(&code);
	CHECK(run_in_folder("cc -g -shared -fPIC -Wl,--build-id=none -o code.debug code.c"));
	put_by_build_id(&code, "code.debug", "named");
	check_finds_nothing(&code);
	put_by_build_id(&code, "code.c", "named");
	check_finds_nothing(&code);
	close_code(&code);
	leave_folder();
}

/* --- by .gnu_debuglink ----------------------------------------------------------------------- */

static void open_in_root(struct made_code *code, const char *name, const char *path)
{
	open_code(code, name, path);
	code->file.root_fd = open(in_folder("root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(code->file.root_fd >= 0);
}

static void close_in_root(struct made_code *code)
{
	(void)close(code->file.root_fd);
	close_code(code);
}

/* In search order: each file is found after the files before it are removed. */
TEST(debug_files_by_link)
{
	static const char *const places[] = {
		"named" PLACE "code.debug",
		"root/usr/lib/debug" PLACE "code.debug",
		"root" PLACE "code.debug",
		"root" PLACE ".debug/code.debug",
	};
	struct made_code code;
	size_t i;

	make_code("sha1");
	make_folder("root");
	open_in_root(&code, "linked", PLACE "linked");
	for (i = 0; i < ARRAY_SIZE(places); i++)
		put("code.debug", places[i]);
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		check_finds(&code, places[i]);
		take_away(places[i]);
	}
	check_finds_nothing(&code);
	close_in_root(&code);
	leave_folder();
}

TEST(debug_files_beside_a_file_of_our_own_root)
{
	struct made_code code;

	make_code("sha1");
	open_code(&code, "linked", in_folder("linked"));
	check_finds(&code, "code.debug");
	CHECK(run_in_folder("mkdir .debug && mv code.debug .debug"));
	check_finds(&code, ".debug/code.debug");
	close_code(&code);
	leave_folder();
}

/*
 * Files found by build id have precedence over files found by name, and the user's folders over all
 * others.
 */
TEST(debug_files_in_order)
{
	struct made_code code;
	char by_id[256];

	make_code("sha1");
	make_folder("root");
	open_in_root(&code, "linked", PLACE "linked");
	put("code.debug", "root" PLACE "code.debug");
	put_by_build_id(&code, "code.debug", "root/usr/lib/debug");
	(void)snprintf(by_id, sizeof(by_id), "root/usr/lib/debug/.build-id/%.2s/%s.debug",
		       build_id_of(&code), build_id_of(&code) + 2);
	check_finds(&code, by_id);
	put("code.debug", "named" PLACE "code.debug");
	check_finds(&code, "named" PLACE "code.debug");
	close_in_root(&code);
	leave_folder();
}

/* Without build ids the checksum of the whole debug file decides. */
TEST(debug_files_check_the_checksum)
{
	struct made_code code;

	make_code("none");
	open_code(&code, "linked", in_folder("linked"));
	CHECK_EQ(code.file.build_id_bytes, 0);
	check_finds(&code, "code.debug");
	CHECK(run_in_folder("printf x >> code.debug"));
	check_finds_nothing(&code);
	CHECK(run_in_folder("cp code code.debug")); /* an unstripped copy is a different file too */
	check_finds_nothing(&code);
	close_code(&code);
	leave_folder();
}

TEST(debug_files_refuse_another_build_id)
{
	struct made_code code;

	make_code("0x0123456789abcdef");
	CHECK(run_in_folder("cc -g -shared -fPIC -Wl,--build-id=0x0123456789abcdee -o code.debug "
			    "code.c && objcopy --add-gnu-debuglink=code.debug stripped linked"));
	open_code(&code, "linked", in_folder("linked")); /* with the correct checksum */
	check_finds_nothing(&code);
	close_code(&code);
	leave_folder();
}

/* --- hostile files --------------------------------------------------------------------------- */

/*
 * A file whose debug link names the file itself: the build id matches, but it is not a debug file.
 */
TEST(debug_files_of_a_link_to_itself)
{
	struct made_code code;

	make_code("sha1");
	CHECK(run_in_folder("mv linked code.debug && mkdir .debug && ln code.debug .debug"));
	open_code(&code, "code.debug", in_folder("code.debug"));
	check_finds_nothing(&code);
	close_code(&code);
	leave_folder();
}

TEST(debug_files_that_are_no_regular_files)
{
	struct made_code code;

	make_code("sha1");
	open_code(&code, "linked", in_folder("linked"));
	take_away("code.debug");
	CHECK_EQ(mkfifo(in_folder("code.debug"), 0600), 0);
	check_finds_nothing(&code);
	take_away("code.debug");
	make_folder("code.debug");
	check_finds_nothing(&code);
	CHECK_EQ(rmdir(in_folder("code.debug")), 0);
	CHECK_EQ(symlink("/dev/zero", in_folder("code.debug")), 0);
	check_finds_nothing(&code);
	take_away("code.debug");
	CHECK_EQ(symlink("code.debug", in_folder("code.debug")), 0);
	check_finds_nothing(&code);
	close_code(&code);
	leave_folder();
}

/* The right file, but outside the process' chroot. */
TEST(debug_files_stay_in_the_root)
{
	struct made_code code;
	char up[512] = "";
	int i;

	make_code("sha1");
	make_folder("root");
	open_in_root(&code, "linked", PLACE "linked");
	CHECK(run_in_folder("mkdir -p root" PLACE "folder"));
	CHECK_EQ(symlink(in_folder("code.debug"), in_folder("root" PLACE "code.debug")), 0);
	check_finds_nothing(&code);
	take_away("root" PLACE "code.debug");
	for (i = 0; i < 12; i++)
		(void)strcat(up, "../");
	(void)strcat(up, in_folder("code.debug") + 1);
	CHECK_EQ(symlink(up, in_folder("root" PLACE "code.debug")), 0);
	check_finds_nothing(&code);
	take_away("root" PLACE "code.debug");
	CHECK_EQ(symlink(PLACE "folder/real", in_folder("root" PLACE "code.debug")), 0);
	put("code.debug", "root" PLACE "folder/real");
	check_finds(&code, "root" PLACE "folder/real");
	close_in_root(&code);
	leave_folder();
}

/* Names that are too long are ignored. */
TEST(debug_files_of_a_very_long_path)
{
	static char path[5000];
	struct made_code code;
	int fd;

	make_code("sha1");
	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	path[4900] = '/';
	open_code(&code, "linked", path);
	check_finds_nothing(&code);
	put_by_build_id(&code, "code.debug", "named");
	fd = search(&code);
	CHECK(fd >= 0);
	(void)close(fd);
	close_code(&code);
	leave_folder();
}

TEST(debug_files_without_memory)
{
	struct made_code code;
	size_t nth, nr;
	int fd = -1;

	make_code("sha1");
	open_code(&code, "linked", in_folder("linked"));
	CHECK(run_in_folder("cp code code.debug"));
	(void)test_fail_allocation(0);
	fd = search(&code);
	nr = test_fail_allocation(0);
	CHECK(fd >= 0 && nr > 0);
	for (nth = 1; nth <= nr; nth++) {
		(void)close(fd);
		(void)test_fail_allocation(nth);
		fd = search(&code);
		(void)test_fail_allocation(0);
		CHECK(fd >= 0 || fd == -ENOENT || fd == -ENOMEM);
	}
	if (fd >= 0)
		(void)close(fd);
	close_code(&code);
	leave_folder();
}
