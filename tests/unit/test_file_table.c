/*
 * proc/file_table and proc/file_open: real mappings of this process, and traps that a process could
 * set for a profiler which opens its mapped files.
 */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/file_open.h"
#include "proc/file_table.h"
#include "proc/mappings.h"
#include "unit/folder.h"
#include "unit/look_here.h"

#define NO_PID 2000000000

static struct file_id id_of(const char *path)
{
	struct stat st;

	CHECK_EQ(lstat(path, &st), 0);
	return (struct file_id){major(st.st_dev), minor(st.st_dev), st.st_ino, 0};
}

static void check_file(int handle, const char *expected)
{
	cleanup_fd int fd = file_open_handle(handle);
	char got[64] = "";

	CHECK(fd >= 0);
	CHECK_EQ(pread(fd, got, sizeof(got) - 1, 0), strlen(expected));
	CHECK_STR(got, expected);
}

static void check_content(int fd, const char *expected)
{
	char got[64] = "";

	CHECK(fd >= 0);
	CHECK_EQ(pread(fd, got, sizeof(got) - 1, 0), strlen(expected));
	CHECK_STR(got, expected);
}

static int nr_open_fds(void)
{
	int nr = 0, fd;

	for (fd = 0; fd < 1024; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

static int open_mapped(const struct file_id *id, const char *path, int32_t pid)
{
	cleanup_fd int root = file_open_root(pid);
	struct found_file found;
	int err = file_find_mapped(id, path, pid, root, 0x1000, 0x2000, &found), fd;

	if (err < 0)
		return err;
	fd = file_open_handle(found.handle);
	(void)close(found.handle);
	return fd;
}

/* Opens the file by its path only: no process has it mapped. */
static int open_by_path(const struct file_id *id, const char *path)
{
	return open_mapped(id, path, getpid());
}

/* --- opening --------------------------------------------------------------------------------- */

TEST(file_open_by_path)
{
	struct file_id id, other;
	const char *path;
	int fd;

	need_openat2();
	enter_folder();
	path = in_folder("file");
	make_file(path, "content");
	id = id_of(path);
	fd = open_by_path(&id, path);
	check_content(fd, "content");
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	(void)close(fd);
	other = id;
	other.inode++;
	CHECK_EQ(open_by_path(&other, path), -ENOENT);
	other = id;
	other.minor++;
	CHECK_EQ(open_by_path(&other, path), -ENOENT);
	CHECK_EQ(open_by_path(&id, in_folder("nothing")), -ENOENT);
	CHECK_EQ(open_by_path(&id, ""), -ENOENT);
	fd = open_mapped(&id, in_folder("file"), NO_PID); /* gone, but the path is valid */
	check_content(fd, "content");
	(void)close(fd);
	CHECK_EQ(unlink(in_folder("file")), 0);
	leave_folder();
}

/* Opening a fifo would block; opening a device may have side effects: neither is opened. */
TEST(file_open_refuses_what_is_no_regular_file)
{
	static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/tty", "/", "/proc"};
	struct file_id id;
	size_t i;

	enter_folder();
	CHECK_EQ(mkfifo(in_folder("fifo"), 0600), 0);
	id = id_of(in_folder("fifo"));
	(void)alarm(10);
	CHECK(open_by_path(&id, in_folder("fifo")) < 0);
	for (i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		if (access(devices[i], F_OK) < 0)
			continue;
		id = id_of(devices[i]);
		CHECK(open_by_path(&id, devices[i]) < 0);
	}
	(void)alarm(0);
	CHECK_EQ(unlink(in_folder("fifo")), 0);
	leave_folder();
}

/* A symlink replaced the file: the link's target must not be read in its place. */
TEST(file_open_is_not_led_astray_by_a_symlink)
{
	struct file_id id, link_id, secret;
	int fd;

	need_openat2();
	enter_folder();
	make_file(in_folder("library"), "library");
	make_file(in_folder("secret"), "secret");
	id = id_of(in_folder("library"));
	CHECK_EQ(unlink(in_folder("library")), 0);
	CHECK_EQ(symlink("secret", in_folder("library")), 0);
	link_id = id_of(in_folder("library"));
	secret = id_of(in_folder("secret"));
	/* The link may have got the file's old inode number. */
	if (link_id.inode != id.inode)
		CHECK_EQ(open_by_path(&id, in_folder("library")), -ENOENT);
	CHECK_EQ(open_by_path(&link_id, in_folder("library")), -ENOENT);
	fd = open_by_path(&secret, in_folder("library")); /* this is the mapped file */
	check_content(fd, "secret");
	(void)close(fd);
	CHECK_EQ(unlink(in_folder("library")), 0);
	CHECK_EQ(unlink(in_folder("secret")), 0);
	leave_folder();
}

/* Path, device and inode match, but the file was created after the mapped one. */
TEST(file_open_sees_a_reused_inode)
{
	struct file_id id;
	long generation = 0;
	int fd, kept;

	need_openat2();
	enter_folder();
	make_file(in_folder("file"), "content");
	id = id_of(in_folder("file"));
	fd = open_by_path(&id, in_folder("file"));
	kept = ioctl(fd, FS_IOC_GETVERSION, &generation);
	(void)close(fd);
	id.generation = (uint32_t)generation;
	fd = open_by_path(&id, in_folder("file"));
	check_content(fd, "content");
	(void)close(fd);
	id.generation++;
	fd = open_by_path(&id, in_folder("file"));
	CHECK_EQ(unlink(in_folder("file")), 0);
	leave_folder();
	if (kept < 0 || !(uint32_t)generation)
		SKIP("the filesystem of /tmp keeps no generations");
	CHECK_EQ(fd, -ENOENT);
}

/* --- real mappings --------------------------------------------------------------------------- */

/* Finds the line of this process' maps that contains the address. */
static bool find_line(const void *address, struct maps_entry *entry, char *path, size_t path_bytes)
{
	uint64_t wanted = (uint64_t)(uintptr_t)address;
	struct maps maps;
	bool found = false;

	CHECK_EQ(maps_open(&maps, getpid()), 0);
	while (!found && maps_next(&maps, entry))
		found = wanted >= entry->start && wanted < entry->end;
	(void)snprintf(path, path_bytes, "%s", found ? entry->path : "");
	maps_close(&maps);
	return found;
}

/* Status of the link's target: some tools that run the tests do not give us the file itself. */
static void stat_ourselves(struct stat *st)
{
	char path[4096] = "";

	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	CHECK_EQ(stat(path, st), 0);
}

TEST(file_table_opens_our_own_program)
{
	struct file_table *table = file_table_new(10);
	struct maps_entry entry;
	const struct file *file;
	struct stat ours, its;
	char path[4096];
	int64_t number;

	CHECK(find_line((const void *)&file_table_new, &entry, path, sizeof(path)));
	number = add_file_here(table, &entry.id, path, getpid(), entry.start, entry.end);
	CHECK_EQ(number, 0);
	file = file_table_get(table, 0);
	CHECK_EQ(file->state, FILE_OPEN);
	CHECK_STR(file->path, path);
	stat_ourselves(&ours);
	CHECK_EQ(fstat(file->handle, &its), 0);
	CHECK_EQ(ours.st_ino, its.st_ino);
	CHECK_EQ(ours.st_dev, its.st_dev);
	CHECK_EQ(add_file_here(table, &entry.id, path, getpid(), entry.start, entry.end), 0);
	CHECK_EQ(file_table_nr(table), 1);
	file_table_free(table);
}

/* A deleted or replaced file can still be opened through its mapping. */
TEST(file_table_opens_a_deleted_file)
{
	struct file_table *table = file_table_new(10);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct maps_entry entry;
	char path[4096];
	void *memory;
	int fd;

	if (geteuid() != 0)
		SKIP("needs the right to follow /proc/PID/map_files");
	enter_folder();
	make_file(in_folder("library"), "mapped");
	fd = open(in_folder("library"), O_RDONLY | O_CLOEXEC);
	memory = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(memory != MAP_FAILED);
	(void)close(fd);
	CHECK_EQ(unlink(in_folder("library")), 0);
	make_file(in_folder("library"), "another");
	CHECK(find_line(memory, &entry, path, sizeof(path)));
	CHECK_EQ(add_file_here(table, &entry.id, in_folder("library"), getpid(), entry.start,
			       entry.end),
		 0);
	CHECK_EQ(unlink(in_folder("library")), 0);
	leave_folder();
	if (file_table_get(table, 0)->state == FILE_REFUSED && geteuid() != 0)
		SKIP("map_files is not for this user");
	check_file(file_table_get(table, 0)->handle, "mapped");
	CHECK_EQ(munmap(memory, page), 0);
	file_table_free(table);
}

/* --- the table ------------------------------------------------------------------------------- */

static int64_t add(struct file_table *table, uint64_t inode, uint64_t generation, const char *path)
{
	struct file_id id = {250, 7, inode, generation};

	return add_file_here(table, &id, path, NO_PID, 0, 0);
}

TEST(file_table_tells_files_apart)
{
	struct file_table *table = file_table_new(10);
	struct file_id id = {250, 8, 1, 0};

	CHECK_EQ(add(table, 1, 0, "/gone/a"), 0);
	CHECK_EQ(add(table, 2, 0, "/gone/a"), 1); /* paths do not identify files */
	CHECK_EQ(add_file_here(table, &id, "/gone/a", NO_PID, 0, 0), 2);
	id.major++;
	CHECK_EQ(add_file_here(table, &id, "/gone/a", NO_PID, 0, 0), 3);
	CHECK_EQ(add(table, 1, 0, "/other/name"), 0);
	CHECK_STR(file_table_get(table, 0)->path, "/gone/a"); /* the first path is kept */
	CHECK_EQ(file_table_get(table, 0)->state, FILE_GONE);
	CHECK_EQ(file_table_get(table, 0)->handle, -1);
	CHECK_EQ(file_table_nr(table), 4);
	file_table_free(table);
	file_table_free(NULL);
}

/* The first processes that mapped the file are gone: live ones are tried, a few times. */
TEST(file_table_opens_what_was_gone)
{
	struct file_table *table;
	struct file_id id;
	const char *path;
	unsigned i;

	need_openat2();
	table = file_table_new(10);
	enter_folder();
	path = in_folder("late");
	make_file(path, "content");
	id = id_of(path);
	CHECK_EQ(rename(path, in_folder("away")), 0);
	CHECK_EQ(add_file_here(table, &id, path, NO_PID, 0, 0), 0);
	CHECK_EQ(file_table_get(table, 0)->state, FILE_GONE);
	file_table_mark_sampled(table, 0);
	CHECK_EQ(rename(in_folder("away"), path), 0);
	CHECK_EQ(add_file_here(table, &id, path, getpid(), 0, 0), 0);
	CHECK_EQ(file_table_get(table, 0)->state, FILE_OPEN);
	check_file(file_table_get(table, 0)->handle, "content");
	CHECK_EQ(file_table_nr(table), 1);
	file_table_free(table);

	table = file_table_new(10);
	CHECK_EQ(rename(path, in_folder("away")), 0);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(add_file_here(table, &id, path, NO_PID, 0, 0), 0);
	CHECK_EQ(rename(in_folder("away"), path), 0);
	CHECK_EQ(add_file_here(table, &id, path, getpid(), 0, 0), 0);
	CHECK_EQ(file_table_get(table, 0)->state, FILE_GONE);
	file_table_free(table);
	CHECK_EQ(unlink(path), 0);
	leave_folder();
}

TEST(file_table_tells_generations_apart)
{
	struct file_table *table = file_table_new(10);

	CHECK_EQ(add(table, 1, 100, "/gone/first"), 0);
	CHECK_EQ(add(table, 1, 200, "/gone/second"), 1);
	CHECK_EQ(add(table, 1, 300, "/gone/third"), 2);
	CHECK_EQ(add(table, 1, 100, "/gone/first"), 0);
	CHECK_EQ(add(table, 1, 200, "/gone/second"), 1);
	CHECK_EQ(add(table, 1, 0, "/gone/third"), 2); /* unknown generation: the newest */
	CHECK_EQ(file_table_nr(table), 3);
	file_table_free(table);
}

TEST(file_table_of_many)
{
	struct file_table *table = file_table_new(10);
	uint64_t inode;

	for (inode = 0; inode < 3000; inode++)
		CHECK_EQ(add(table, inode * 4096, 0, ""), inode);
	for (inode = 0; inode < 3000; inode++)
		CHECK_EQ(add(table, inode * 4096, 1, ""), inode);
	file_table_free(table);
}

static void check_states(const struct file_table *table, const char *expected)
{
	char got[64] = "";
	uint32_t i;

	for (i = 0; i < file_table_nr(table); i++) {
		const struct file *file = file_table_get(table, i);

		got[i] = "oa-gr"[file->state];
		CHECK_EQ(file->handle >= 0, file->state == FILE_OPEN);
	}
	CHECK_STR(got, expected);
}

static void add_real(struct file_table *table, char letter)
{
	char name[] = {letter, '\0'};
	struct file_id id;

	make_file(in_folder(name), name);
	id = id_of(in_folder(name));
	CHECK(add_file_here(table, &id, in_folder(name), NO_PID, 0, 0) >= 0);
}

static void reopen_here(struct file_table *table, uint32_t number)
{
	file_table_reopen(table, number);
	(void)look_here(table, NULL);
}

/* o: open, -: closed again. */
TEST(file_table_keeps_its_limit)
{
	struct file_table *table = file_table_new(3);
	int before, i;
	char letter;

	need_openat2();
	enter_folder();
	before = nr_open_fds();
	add_real(table, 'a');
	add_real(table, 'b');
	add_real(table, 'c');
	check_states(table, "ooo");
	file_table_mark_sampled(table, 0);
	file_table_mark_sampled(table, 2);
	add_real(table, 'd');
	check_states(table, "o-oo"); /* the one without samples was closed */
	file_table_mark_sampled(table, 3);
	add_real(table, 'e');
	file_table_mark_sampled(table, 4);
	add_real(table, 'f');
	CHECK_EQ(nr_open_fds(), before + 3);
	check_file(file_table_get(table, 5)->handle, "f"); /* the newest is always opened */
	for (i = 0; i < 100; i++)
		CHECK(add(table, 1000 + i, 0, "/gone") >= 0); /* an unopenable file closes one */
	CHECK(nr_open_fds() >= before + 2);
	file_table_free(table);
	CHECK_EQ(nr_open_fds(), before);
	for (letter = 'a'; letter <= 'f'; letter++) {
		char name[] = {letter, '\0'};

		CHECK_EQ(unlink(in_folder(name)), 0);
	}
	leave_folder();
}

TEST(file_table_takes_descriptors)
{
	struct file_table *table = file_table_new(1);
	int before = nr_open_fds();
	int fd;

	CHECK_EQ(add_fd_here(table, "/bad", -1), -EBADF);
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK_EQ(add_fd_here(table, "/one", fd), 0);
	CHECK_EQ(file_table_get(table, 0)->handle, fd);
	CHECK_EQ(add_fd_here(table, "/two", open("/bin/sh", O_RDONLY | O_CLOEXEC)), 1);
	CHECK_EQ(file_table_get(table, 0)->state, FILE_CLOSED);
	CHECK_EQ(nr_open_fds(), before + 1);
	file_table_free(table);
	CHECK_EQ(nr_open_fds(), before);
}

TEST(file_table_knows_elf_files)
{
	struct file_table *table = file_table_new(10);

	enter_folder();
	make_file(in_folder("text"), "\177EL");
	CHECK_EQ(add_fd_here(table, "/text", open(in_folder("text"), O_RDONLY | O_CLOEXEC)), 0);
	CHECK_EQ(add_fd_here(table, "/exe", open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), 1);
	CHECK_EQ(add(table, 1, 0, "/gone"), 2);
	CHECK(!file_table_get(table, 0)->is_elf);
	CHECK(file_table_get(table, 1)->is_elf);
	CHECK(!file_table_get(table, 2)->is_elf);
	CHECK_EQ(file_table_get(table, 1)->root_fd, -1);
	CHECK_EQ(unlink(in_folder("text")), 0);
	leave_folder();
	file_table_free(table);
}

TEST(file_table_opens_again)
{
	struct file_table *table;
	int before;

	need_openat2();
	enter_folder();
	before = nr_open_fds();
	table = file_table_new(2);
	add_real(table, 'a');
	add_real(table, 'b');
	reopen_here(table, 0); /* still open */
	add_real(table, 'c');
	check_states(table, "-oo");
	reopen_here(table, 0); /* closes another one */
	check_file(file_table_get(table, 0)->handle, "a");
	CHECK_EQ(nr_open_fds(), before + 2);
	reopen_here(table, 1);
	check_file(file_table_get(table, 1)->handle, "b");
	CHECK_EQ(nr_open_fds(), before + 2);
	CHECK_EQ(unlink(in_folder("a")), 0);
	CHECK_EQ(unlink(in_folder("b")), 0);
	CHECK_EQ(unlink(in_folder("c")), 0);
	leave_folder();
	CHECK_EQ(add(table, 1, 0, "/gone"), 3);
	reopen_here(table, 3); /* was never opened */
	file_table_free(table);
	CHECK_EQ(nr_open_fds(), before);
}

/* Somebody waits for it, and nobody for the others. */
TEST(file_table_opens_again_before_others)
{
	struct file_table *table;
	struct file_look look;
	uint32_t i;

	need_openat2();
	enter_folder();
	table = file_table_new(2);
	add_real(table, 'a');
	add_real(table, 'b');
	add_real(table, 'c');
	check_states(table, "-oo");
	for (i = 3; i < 6; i++) {
		const struct file_id id = {250, 7, 1000 + i, 0};

		CHECK_EQ(file_table_add(table, &id, "/other", NO_PID, 0, 0), i);
	}
	CHECK(file_table_next_look(table, &look));
	CHECK_EQ(look.file, 3);
	CHECK(file_table_reopen(table, 0));
	CHECK(file_table_next_look(table, &look));
	CHECK_EQ(look.file, 0);
	for (i = 4; i < 6; i++) {
		CHECK(file_table_next_look(table, &look));
		CHECK_EQ(look.file, i);
	}
	CHECK(!file_table_next_look(table, &look));
	CHECK_EQ(unlink(in_folder("a")), 0);
	CHECK_EQ(unlink(in_folder("b")), 0);
	CHECK_EQ(unlink(in_folder("c")), 0);
	leave_folder();
	file_table_free(table);
}

/* A user who shows other files under the numbers of the host's does not use up the tries to find them. */
TEST(file_table_tries_again_after_files_of_another_user)
{
	struct file_table *table = file_table_new(4);
	struct file_looked others = {.err = -EXDEV, .root_err = -ENOENT, .root_fd = -1};
	const struct file_id id = {.major = 250, .inode = 7};
	struct file_look look;
	unsigned i;

	for (i = 0; i < 1000; i++) {
		CHECK_EQ(file_table_add(table, &id, "/bin/program", NO_PID, 0, 0), 0);
		CHECK(file_table_next_look(table, &look));
		file_table_looked(table, 0, &others);
		CHECK_EQ(file_table_get(table, 0)->state, FILE_GONE);
	}
	file_table_free(table);
}

/* Adds a file of another container, and looks at it. */
static uint32_t add_of_container(struct file_table *table, uint64_t container)
{
	struct file_looked looked = {.root = {1, container, container, 0}};
	struct file_look look;
	struct file_id id = {250, 7, container, 0};
	int64_t number = file_table_add(table, &id, "/bin/program", NO_PID, 0, 0);

	CHECK(number >= 0 && file_table_next_look(table, &look) && look.pid != 0);
	looked.root_fd = open("/", O_PATH | O_CLOEXEC);
	looked.found.handle = open("/", O_PATH | O_CLOEXEC);
	file_table_looked(table, (uint32_t)number, &looked);
	return (uint32_t)number;
}

/* Containers come and go: what they leave behind must not keep their mounts, nor use up the roots. */
TEST(file_table_closes_what_no_process_has_mapped)
{
	struct file_table *table = file_table_new(4);
	struct file_look look;
	uint32_t i, number;
	int nr_open;

	number = add_of_container(table, 1);
	nr_open = nr_open_fds();
	for (i = 2; i <= 1000; i++) {
		number = add_of_container(table, i);
		CHECK_EQ(file_table_get(table, number)->state, FILE_OPEN);
		CHECK(file_table_get(table, number)->root_fd >= 0);
		CHECK_EQ(nr_open_fds(), nr_open + 2);
		file_table_mark_used(table, 0);
		file_table_sweep(table);
		CHECK_EQ(file_table_get(table, number)->state, FILE_CLOSED);
		CHECK_EQ(nr_open_fds(), nr_open);
	}
	CHECK_EQ(file_table_get(table, 0)->state, FILE_OPEN);
	CHECK(fcntl(file_table_get(table, 0)->root_fd, F_GETFD) >= 0);
	/* Its root is not known any more, so it is looked at again only through a process. */
	CHECK_EQ(file_table_get(table, number)->root_fd, -1);
	CHECK(!file_table_reopen(table, number));
	CHECK(!file_table_next_look(table, &look));
	CHECK_EQ(add_of_container(table, 1000), number);
	CHECK_EQ(file_table_get(table, number)->state, FILE_OPEN);
	file_table_free(table);
}

/* The first container is gone before the file is found, through a second one: its root must not stay. */
TEST(file_table_closes_roots_of_earlier_looks)
{
	struct file_table *table = file_table_new(4);
	struct file_looked gone = {.err = -ENOENT, .root = {1, 1000, 1000, 0}};
	const struct file_id id = {250, 7, 1, 0};
	struct file_look look;
	int nr_open = nr_open_fds();
	uint32_t number;

	CHECK_EQ(file_table_add(table, &id, "/bin/program", NO_PID, 0, 0), 0);
	CHECK(file_table_next_look(table, &look));
	gone.root_fd = open("/", O_PATH | O_CLOEXEC);
	file_table_looked(table, 0, &gone);
	CHECK_EQ(file_table_get(table, 0)->state, FILE_GONE);
	number = add_of_container(table, 1);
	CHECK_EQ(number, 0);
	CHECK_EQ(nr_open_fds(), nr_open + 3);
	file_table_mark_used(table, number);
	file_table_sweep(table);
	CHECK_EQ(nr_open_fds(), nr_open + 2);
	CHECK(file_table_get(table, number)->root_fd >= 0);
	file_table_free(table);
}

/* The other table goes on while the copies are in use: its roots are released, and their numbers given to others. */
TEST(file_table_copies_have_roots_of_their_own)
{
	struct file_table *table, *part, *names;
	cleanup_fd int root = open("/", O_PATH | O_CLOEXEC);
	int nr_open = nr_open_fds();
	uint32_t number;

	table = file_table_new(4);
	part = file_table_new(4);
	names = file_table_new(4);
	number = add_of_container(table, 1);
	CHECK_EQ(file_table_copy(part, table, number), 0);
	file_table_free(table);
	CHECK(file_is_same(file_table_get(part, number)->root_fd, root));
	CHECK_EQ(file_table_move(names, part), 0);
	file_table_free(part);
	CHECK_EQ(file_table_get(names, number)->state, FILE_OPEN);
	CHECK(file_is_same(file_table_get(names, number)->root_fd, root));
	CHECK_EQ(nr_open_fds(), nr_open + 2);
	file_table_sweep(names);
	CHECK_EQ(file_table_get(names, number)->root_fd, -1);
	CHECK_EQ(nr_open_fds(), nr_open);
	file_table_free(names);
}

/* Without its root a copy must not be taken for a file below ours. */
TEST(file_table_copies_without_descriptors)
{
	struct file_table *table = file_table_new(4), *part = file_table_new(4);
	uint32_t number = add_of_container(table, 1), swept = add_of_container(table, 2);
	struct rlimit before, none;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 3;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	CHECK_EQ(file_table_copy(part, table, number), 0);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_EQ(file_table_get(part, number)->state, FILE_NOT_OPENED);
	CHECK_EQ(file_table_get(part, number)->root_fd, -1);
	CHECK_EQ(file_table_get(part, number)->handle, -1);
	file_table_mark_used(table, number);
	file_table_sweep(table);
	CHECK_EQ(file_table_copy(part, table, swept), 0);
	CHECK_EQ(file_table_get(part, swept)->state, FILE_CLOSED);
	CHECK(!file_table_reopen(part, swept));
	file_table_free(part);
	file_table_free(table);
}

/* Adds files of long paths, each with an inode of its own, and looks at none. Returns the last number. */
static uint32_t add_new_ones(struct file_table *table, struct file_id *id, size_t nr)
{
	char path[501];
	int64_t number = 0;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	for (; nr; nr--) {
		struct file_look look;

		id->inode++;
		number = file_table_add(table, id, path, NO_PID, 0, 0);
		CHECK(number >= 0 && file_table_next_look(table, &look));
	}
	return (uint32_t)number;
}

/* A host on which new programs run all the time: neither numbers, paths nor memory are used up. */
TEST(file_table_forgets_what_nobody_uses)
{
	struct file_table *table = file_table_new(4);
	struct file_id id = {250, 1, 1, 0};
	struct file_looked late = {.root_err = -ENOENT, .root_fd = -1};
	uint32_t first, last, nr_open;
	size_t i;

	first = add_new_ones(table, &id, 1);
	file_table_mark_sampled(table, first);
	CHECK(!file_table_is_crowded(table));
	for (i = 0; i < 40; i++) {
		last = add_new_ones(table, &id, FILE_UNUSED_SPARE);
		CHECK(file_table_is_crowded(table));
		CHECK(file_table_nr(table) <= 2 * FILE_UNUSED_SPARE + 1);
		file_table_mark_used(table, first);
		file_table_sweep(table);
		CHECK(!file_table_is_crowded(table));
		CHECK_EQ(file_table_nr(table), FILE_UNUSED_SPARE + 1);
		CHECK_EQ(last, (i + 1) * FILE_UNUSED_SPARE); /* no number is given out again */
		CHECK_EQ(file_table_get(table, last)->state, FILE_ASKED);
	}
	CHECK_EQ(file_table_nr_refused(table), 0);
	CHECK_EQ(file_table_nr_cut(table), 0);
	CHECK_EQ(file_table_get(table, first)->state, FILE_ASKED);
	CHECK_EQ(file_table_get(table, first + 1)->state, FILE_FORGOTTEN);
	CHECK_EQ(file_table_get(table, first + 1)->handle, -1);
	CHECK(!file_table_reopen(table, first + 1));
	CHECK_EQ(file_table_nr_seen(table), 40 * FILE_UNUSED_SPARE + 1);
	/* An answer that comes late is for nobody. */
	nr_open = (uint32_t)nr_open_fds();
	late.found.handle = open("/", O_PATH | O_CLOEXEC);
	file_table_looked(table, first + 1, &late);
	CHECK_EQ(nr_open_fds(), nr_open);
	/* Files with samples stay counted. */
	file_table_looked(
		table, first,
		&(struct file_looked){.err = -ENOENT, .root_err = -ENOENT, .root_fd = -1});
	CHECK_EQ(file_table_nr_sampled(table, FILE_GONE), 1);
	(void)add_new_ones(table, &id, FILE_UNUSED_SPARE);
	file_table_sweep(table);
	(void)add_new_ones(table, &id, FILE_UNUSED_SPARE);
	file_table_sweep(table);
	CHECK_EQ(file_table_get(table, first)->state, FILE_FORGOTTEN);
	CHECK_EQ(file_table_nr_sampled(table, FILE_GONE), 1);
	file_table_free(table);
}

/* On a large host more programs run in turns. */
TEST(file_table_keeps_as_many_unused_files_as_used_ones)
{
	struct file_table *table = file_table_new(4);
	struct file_id id = {250, 1, 1, 0};
	uint32_t nr_used = 3 * FILE_UNUSED_SPARE, i;

	(void)add_new_ones(table, &id, nr_used);
	for (i = 0; i < nr_used; i++)
		file_table_mark_used(table, i);
	file_table_sweep(table);
	for (i = 0; i < nr_used; i++)
		file_table_mark_used(table, i);
	(void)add_new_ones(table, &id, nr_used - 1);
	CHECK(!file_table_is_crowded(table));
	(void)add_new_ones(table, &id, 1 + FILE_UNUSED_SPARE);
	CHECK(file_table_is_crowded(table));
	file_table_sweep(table);
	CHECK_EQ(file_table_nr(table), 2 * nr_used);
	file_table_free(table);
}

/* The inode of a file was used by others before and after it. */
TEST(file_table_forgets_one_content_of_an_inode)
{
	struct file_table *table = file_table_new(4);
	struct file_id id = {250, 8, 1, 0};
	size_t i;

	for (i = 0; i < 3; i++)
		CHECK_EQ(add(table, 1, i + 1, "/gone"), i);
	for (i = 0; i < 2; i++) {
		file_table_mark_used(table, 0);
		file_table_mark_used(table, 2);
		file_table_sweep(table); /* the other one is the first without users */
		if (!i)
			(void)add_new_ones(table, &id, FILE_UNUSED_SPARE);
	}
	CHECK_EQ(file_table_get(table, 1)->state, FILE_FORGOTTEN);
	CHECK_EQ(add(table, 1, 1, "/gone"), 0);
	CHECK_EQ(add(table, 1, 3, "/gone"), 2);
	CHECK_EQ(add(table, 1, 2, "/gone"), FILE_UNUSED_SPARE + 3);
	CHECK_EQ(add(table, 1, 0, "/gone"), FILE_UNUSED_SPARE + 3); /* the newest */
	file_table_free(table);
}

TEST(file_table_opens_only_the_same_again)
{
	struct file_table *table;

	need_openat2();
	enter_folder();
	table = file_table_new(1);
	add_real(table, 'a');
	add_real(table, 'b');
	add_real(table, 'c');
	check_states(table, "--o");
	CHECK_EQ(rename(in_folder("a"), in_folder("kept")), 0);
	make_file(in_folder("a"), "another");
	CHECK_EQ(unlink(in_folder("b")), 0);
	reopen_here(table, 0);
	reopen_here(table, 1);
	CHECK_EQ(file_table_get(table, 0)->handle, -1);
	CHECK_EQ(file_table_get(table, 1)->handle, -1);
	CHECK_EQ(unlink(in_folder("kept")), 0);
	CHECK_EQ(unlink(in_folder("a")), 0);
	CHECK_EQ(unlink(in_folder("c")), 0);
	leave_folder();
	file_table_free(table);
}

TEST(file_table_has_a_limit)
{
	struct file_table *table = file_table_new(1);
	struct file_id id = {250, 1, 1, 0};
	struct file_look look;
	int64_t number = 0;
	size_t nr = 0;

	for (; number >= 0; id.inode++)
		number = file_table_add(table, &id, "", NO_PID, 0, 0);
	CHECK_EQ(number, -ENOSPC);
	CHECK_EQ(file_table_nr(table), FILE_TABLE_MAX);
	CHECK_EQ(file_table_add(table, &id, "", NO_PID, 0, 0), -ENOSPC);
	while (file_table_next_look(table, &look))
		nr++;
	CHECK_EQ(nr, FILE_LOOKS_MAX);
	CHECK_EQ(file_table_get(table, FILE_LOOKS_MAX)->state, FILE_GONE);
	id.inode = FILE_LOOKS_MAX + 1; /* is seen again: now there is room */
	CHECK_EQ(file_table_add(table, &id, "", NO_PID, 0, 0), FILE_LOOKS_MAX);
	CHECK(file_table_next_look(table, &look));
	CHECK_EQ(look.file, FILE_LOOKS_MAX);
	file_table_free(table);
}

/* What the opener says about files that nobody could look at. */
TEST(file_table_of_files_that_do_not_answer)
{
	static const struct {
		int err;
		enum file_state state;
	} rows[] = {{-ETIME, FILE_SILENT},
		    {-EOWNERDEAD, FILE_SILENT},
		    {-EHOSTDOWN, FILE_SILENT},
		    {-EACCES, FILE_REFUSED},
		    {-ENOENT, FILE_GONE}};
	struct file_table *table = file_table_new(1);
	struct file_id id = {250, 1, 1, 0};
	struct file_look look;
	uint32_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct file_looked looked = {
			.err = rows[i].err, .root_err = -ENOENT, .root_fd = -1};

		id.inode++;
		CHECK_EQ(file_table_add(table, &id, "", NO_PID, 0, 0), i);
		CHECK_EQ(file_table_get(table, i)->state, FILE_ASKED);
		CHECK(file_table_next_look(table, &look));
		file_table_looked(table, i, &looked);
		CHECK_EQ(file_table_get(table, i)->state, rows[i].state);
	}
	file_table_free(table);
}

/* A server that was restarted answers again; one that never does gets one look per sweep. */
TEST(file_table_tries_silent_files_again)
{
	struct file_table *table = file_table_new(1);
	const struct file_id id = {250, 1, 1, 0};
	struct file_looked silent = {.err = -ETIME, .root_err = -ENOENT, .root_fd = -1};
	struct file_look look;
	int i, k;

	for (i = 0; i < 3; i++) {
		for (k = 0; k < 3; k++) {
			CHECK_EQ(file_table_add(table, &id, "", NO_PID, 0, 0), 0);
			CHECK_EQ(file_table_next_look(table, &look), k == 0);
			if (k == 0)
				file_table_looked(table, 0, &silent);
			CHECK_EQ(file_table_get(table, 0)->state, FILE_SILENT);
		}
		file_table_mark_used(table, 0);
		file_table_sweep(table);
	}
	file_table_free(table);
}

/* Several processes have it mapped: the first that still lives answers. */
TEST(file_table_asks_several_processes_at_once)
{
	struct file_table *table = file_table_new(1);
	struct file_id id = {250, 1, 1, 0};
	struct file_looked gone = {.err = -ENOENT, .root_err = -ENOENT, .root_fd = -1};
	struct file_looked found = {.root_err = -ENOENT, .root_fd = -1};
	struct file_look look;
	int32_t pid;

	for (pid = 1; pid < 10; pid++)
		CHECK_EQ(file_table_add(table, &id, "", pid, 0, 0), 0);
	for (pid = 1; pid <= 4; pid++) {
		CHECK(file_table_next_look(table, &look));
		CHECK_EQ(look.pid, pid);
	}
	CHECK(!file_table_next_look(table, &look));
	file_table_looked(table, 0, &gone);
	CHECK_EQ(file_table_get(table, 0)->state, FILE_ASKED);
	found.found.handle = open("/bin/sh", O_PATH | O_CLOEXEC);
	file_table_looked(table, 0, &found);
	CHECK_EQ(file_table_get(table, 0)->state, FILE_OPEN);
	file_table_looked(table, 0, &gone);
	found.found.handle = open("/bin/sh", O_PATH | O_CLOEXEC);
	file_table_looked(table, 0, &found); /* is closed */
	CHECK_EQ(file_table_get(table, 0)->state, FILE_OPEN);
	CHECK_EQ(file_table_add(table, &id, "", 11, 0, 0), 0);
	CHECK(!file_table_next_look(table, &look));
	file_table_free(table);
}

/* A session after a pause: names are still kept by the numbers of the session before. */
TEST(file_table_goes_on_counting_after_another)
{
	struct file_table *before = file_table_new(1), *after = file_table_new(1);
	struct file_table *names = file_table_new(1);

	CHECK_EQ(file_table_next_number(before), 0);
	CHECK_EQ(add(before, 1, 0, "/before"), 0);
	CHECK_EQ(file_table_copy(names, before, 0), 0);
	file_table_begin_at(after, file_table_next_number(before));
	file_table_free(before);
	CHECK_EQ(add(after, 2, 0, "/after"), 1);
	CHECK_EQ(add(after, 1, 0, "/before"), 2);
	CHECK_EQ(file_table_copy(names, after, 1), 0);
	CHECK_STR(file_table_get(names, 0)->path, "/before");
	CHECK_STR(file_table_get(names, 1)->path, "/after");
	CHECK_EQ(file_table_get(after, 0)->state, FILE_FORGOTTEN);
	CHECK_EQ(file_table_next_number(after), 3);
	file_table_free(names);
	file_table_free(after);
}

TEST(file_table_without_memory)
{
	struct file_table *table;
	size_t nth = 0;
	int64_t number;

	(void)test_fail_allocation(1);
	CHECK(file_table_new(1) == NULL);
	(void)test_fail_allocation(0);
	table = file_table_new(1);
	do {
		(void)test_fail_allocation(++nth);
		number = add(table, 1, 0, "/gone");
		(void)test_fail_allocation(0);
		CHECK(number == 0 || number == -ENOMEM);
		CHECK(file_table_nr(table) <= 1);
	} while (number < 0);
	CHECK(nth > 2);
	file_table_free(table);
}

TEST(file_table_cuts_paths_past_their_limit)
{
	struct file_table *table = file_table_new(10);
	size_t bytes = 0, nr_long = FILE_PATHS_MAX_BYTES / 4000, i;
	struct file_id id = {250, 1, 1, 0};
	char path[4001];

	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	for (i = 0; i < 2 * nr_long; i++) {
		id.inode++;
		CHECK_EQ(add_file_here(table, &id, path, NO_PID, 0, 4096), i);
		bytes += strlen(file_table_get(table, (uint32_t)i)->path);
	}
	CHECK_STR(file_table_get(table, 0)->path, path);
	CHECK(bytes <= FILE_PATHS_MAX_BYTES + nr_long * (FILE_PATH_TAIL + strlen("…")));
	CHECK_EQ(file_table_nr_cut(table), nr_long);
	/* The file name is kept; short paths are kept whole. */
	strcpy(path + 4000 - strlen("/libc.so"), "/libc.so");
	id.inode++;
	i = (size_t)add_file_here(table, &id, path, NO_PID, 0, 4096);
	CHECK(!strncmp(file_table_get(table, (uint32_t)i)->path, "…x", strlen("…x")));
	CHECK_STR(strrchr(file_table_get(table, (uint32_t)i)->path, '/'), "/libc.so");
	id.inode++;
	i = (size_t)add_file_here(table, &id, "/usr/lib/libc.so", NO_PID, 0, 4096);
	CHECK_STR(file_table_get(table, (uint32_t)i)->path, "/usr/lib/libc.so");
	file_table_free(table);
}
