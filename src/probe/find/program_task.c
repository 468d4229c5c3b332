/*
 * Paths and mappings come from other processes, perhaps in containers: they are only hints, and are
 * opened by proc/file_open. A library's short name means libNAME.so with any version suffix, the
 * highest version first; files that are no libraries for this machine (a linker script, a 32-bit
 * library) are skipped. Only the first bytes of a file are looked at, in their fixed places; parsers read the rest.
 *
 * Library folders are read from ld.so.conf, not from ldconfig's cache, which has a different format
 * in each C library and the same information. The file may be a container's: files that it names
 * are opened only below the container's root, and the amount read is limited.
 */
#include "probe/find/program_task.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/matcher.h"
#include "base/text.h"
#include "elf/image/elf_image.h"
#include "proc/file_open.h"
#include "proc/mappings.h"
#include "proc/process_info.h"
#include "proc/root_table.h"

/* --- code that can be probed here ------------------------------------------------------------- */

#if defined(__aarch64__)
#define HOST_MACHINE EM_AARCH64
#else
#define HOST_MACHINE EM_X86_64
#endif

/* Sets the error for a file that begins with "#!". */
static int refuse_script(struct error *error, const char *path, const char *head)
{
	const char *at = head + 2 + strspn(head + 2, " \t");
	int nr = (int)strcspn(at, " \t\r\n");

	(void)error_set(error, -ENOEXEC, "'%s' is a script, which has no functions to probe", path);
	if (nr)
		error_hint(error, "its interpreter is '%.*s'", nr, at);
	return -ENOEXEC;
}

/*
 * Checks that a file has code that can be probed here, by its header. Returns 0; or -ENOEXEC or another negative errno,
 * with the reason in *error. Even closing the file may block.
 */
static int check_code(int handle, const char *path, struct error *error)
{
	cleanup_fd int fd = file_open_handle(handle);
	struct error why = {0};
	char head[128] = "";
	uint16_t machine;
	bool is_64;
	int err;

	if (fd < 0)
		return error_set(error, fd, "cannot open '%s': %s", path, strerror(-fd));
	err = elf_header_check(fd, &is_64, &machine, &why);
	if (err < 0) {
		(void)!pread(fd, head, sizeof(head) - 1, 0);
		if (text_starts_with(head, "#!"))
			return refuse_script(error, path, head);
		return error_set(error, err, "cannot probe '%s': %s", path, why.text);
	}
	if (!is_64)
		return error_set(error, -ENOEXEC, "cannot probe '%s': 32-bit code is not supported",
				 path);
	if (machine != HOST_MACHINE)
		return error_set(error, -ENOEXEC,
				 "cannot probe '%s': built for another architecture", path);
	return 0;
}

/* --- names of libraries: pure ----------------------------------------------------------------- */

#define DELETED " (deleted)"

/* A library's short name: `c` for "c", "libc" and "libc.so". */
struct short_name {
	const char *text;
	size_t nr;
};

static struct short_name short_name_of(const char *name)
{
	size_t nr = strlen(name);

	if (!text_starts_with(name, "lib") || nr == strlen("lib"))
		return (struct short_name){name, nr};
	if (text_ends_with(name, nr, ".so") && nr > strlen("lib.so"))
		nr -= strlen(".so");
	return (struct short_name){name + strlen("lib"), nr - strlen("lib")};
}

static bool is_library_of(const char *file, struct short_name name, const char *behind)
{
	return text_starts_with(file, "lib") && !strncmp(file + 3, name.text, name.nr) &&
	       text_starts_with(file + 3 + name.nr, behind);
}

/* musl's C library and its dynamic linker are one file. */
static bool is_musl_of(const char *file, struct short_name name)
{
	return name.nr == 1 && name.text[0] == 'c' &&
	       (text_starts_with(file, "ld-musl-") || text_starts_with(file, "libc.musl-"));
}

enum library_fit library_fit_of(const char *path, const char *name)
{
	const char *file = text_file_name(path);
	struct short_name library = short_name_of(name);
	size_t nr = strlen(file);

	if (text_ends_with(file, nr, DELETED))
		nr -= strlen(DELETED);
	if (strlen(name) == nr && !strncmp(file, name, nr))
		return FIT_SAME;
	if (is_library_of(file, library, ".so") || is_musl_of(file, library))
		return FIT_LIBRARY;
	if (is_library_of(file, library, "-") && strstr(file, ".so"))
		return FIT_RELEASE;
	return NR_LIBRARY_FITS;
}

bool library_is_wanted(const char *file, const char *name)
{
	struct short_name library = short_name_of(name);
	size_t nr = strlen("lib") + library.nr + strlen(".so");

	if (strstr(name, ".so") && !strcmp(file, name))
		return true;
	return is_musl_of(file, library) ||
	       (is_library_of(file, library, ".so") && (!file[nr] || file[nr] == '.'));
}

/* --- the folders of libraries ----------------------------------------------------------------- */

#define FOLDERS_MAX    128
#define CONF_MAX_BYTES 65536 /* read of a file */
#define CONF_MAX_FILES 64
#define CONF_MAX_NAMES 64 /* of one include line */

#if defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "x86_64-linux-gnu"
#endif

static const char *const usual[] = {
	"/lib/" MULTIARCH, "/usr/lib/" MULTIARCH, "/lib64", "/usr/lib64", "/lib",
	"/usr/lib",	   "/usr/local/lib",
};

static int add_folder(struct library_folders *folders, const char *path)
{
	char *copy;
	size_t i;

	for (i = 0; i < folders->nr; i++)
		if (!strcmp(folders->paths[i], path))
			return 0;
	if (folders->nr == FOLDERS_MAX)
		return 0;
	copy = strdup(path);
	if (copy && ARRAY_ADD(folders->paths, folders->nr, folders->capacity, copy) == 0)
		return 0;
	free(copy);
	return -ENOMEM;
}

struct conf_reader {
	struct library_folders *folders;
	int root_fd;
	struct worker_job *job;
	size_t nr_files; /* files read so far */
};

static int read_conf(struct conf_reader *reader, const char *path);

static int compare_entries(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lists the entries of a folder that match a shell pattern, sorted as by glob(). */
static int list_folder(DIR *folder, const struct matcher *pattern, bool shows_hidden, char **names,
		       size_t *nr)
{
	struct dirent *entry;

	while (*nr < CONF_MAX_NAMES && (entry = readdir(folder))) {
		if ((entry->d_name[0] == '.' && !shows_hidden) ||
		    !matcher_matches(pattern, entry->d_name))
			continue;
		names[*nr] = strdup(entry->d_name);
		if (!names[*nr])
			return -ENOMEM;
		(*nr)++;
	}
	qsort(names, *nr, sizeof(*names), compare_entries);
	return 0;
}

/*
 * Reads the files of an include line: a shell pattern, relative to /etc unless absolute. A container may have written
 * it: fnmatch() can take exponential time for some patterns.
 */
static int read_included(struct conf_reader *reader, const char *pattern)
{
	char *names[CONF_MAX_NAMES], folder_path[PATH_MAX], path[2 * PATH_MAX];
	struct matcher_error fault;
	struct matcher *matcher;
	size_t nr = 0, i;
	char *slash;
	DIR *folder;
	int err;

	(void)snprintf(folder_path, sizeof(folder_path), "%s%s", pattern[0] == '/' ? "" : "/etc/",
		       pattern);
	slash = strrchr(folder_path, '/');
	*slash = '\0';
	worker_begins(reader->job, "the directory '%s'", folder_path);
	folder = file_open_directory_below(reader->root_fd, folder_path);
	if (!folder)
		return 0;
	matcher = matcher_new(slash + 1, strlen(slash + 1), MATCHER_PLAIN_GLOB, &fault);
	if (matcher)
		err = list_folder(folder, matcher, slash[1] == '.', names, &nr);
	else
		err = fault.what ? 0 : -ENOMEM;
	(void)closedir(folder);
	matcher_free(matcher);
	for (i = 0; i < nr; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder_path, names[i]);
		if (!err)
			err = read_conf(reader, path);
		free(names[i]);
	}
	return err;
}

static int read_line(struct conf_reader *reader, char *line)
{
	size_t nr;

	line += strspn(line, " \t");
	line[strcspn(line, "#\r")] = '\0';
	for (nr = strlen(line); nr && isspace((unsigned char)line[nr - 1]);)
		line[--nr] = '\0';
	if (text_starts_with(line, "include") && isspace((unsigned char)line[7])) {
		line += 7;
		return read_included(reader, line + strspn(line, " \t"));
	}
	return line[0] == '/' ? add_folder(reader->folders, line) : 0;
}

/*
 * Reads a configuration file. Files may include each other and themselves; the limit on files ends
 * that.
 */
static int read_conf(struct conf_reader *reader, const char *path)
{
	cleanup_fd int fd = -1;
	cleanup_free char *text = NULL;
	char *line, *rest;
	ssize_t nr;
	int err = 0;

	if (reader->nr_files == CONF_MAX_FILES)
		return 0;
	worker_begins(reader->job, "the file '%s'", path);
	fd = file_open_below(reader->root_fd, path);
	if (fd < 0)
		return 0; /* a missing or unreadable file names no folders */
	reader->nr_files++;
	text = malloc(CONF_MAX_BYTES + 1);
	if (!text)
		return -ENOMEM;
	nr = TEMP_FAILURE_RETRY(read(fd, text, CONF_MAX_BYTES));
	text[nr < 0 ? 0 : nr] = '\0';
	rest = text;
	while (!err && (line = strsep(&rest, "\n")))
		err = read_line(reader, line);
	return err;
}

int library_folders_read(struct library_folders *folders, int root_fd, struct worker_job *job)
{
	struct conf_reader reader = {folders, root_fd, job, 0};
	int err = read_conf(&reader, "/etc/ld.so.conf");
	size_t i;

	for (i = 0; !err && i < ARRAY_SIZE(usual); i++)
		err = add_folder(folders, usual[i]);
	if (err < 0)
		library_folders_clear(folders);
	return err;
}

void library_folders_clear(struct library_folders *folders)
{
	size_t i;

	for (i = 0; i < folders->nr; i++)
		free(folders->paths[i]);
	free(folders->paths);
	*folders = (struct library_folders){0};
}

/* --- what was found -------------------------------------------------------------------------- */

#define VERSIONS_MAX 64 /* of one library in one folder */
#define USUAL_PATH   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct found {
	int handle; /* O_PATH, owned */
	int root_fd;
	struct program_part part;
	bool is_overlaid; /* it is in an overlayfs */
	struct timespec changed;
	char *path;
};

struct search {
	struct worker_job *job;
	const char *path; /* the PATH; "": none */
	const char *name;
	const uint32_t *pids;
	size_t nr_pids;
	struct found found[PROGRAM_FILES_MAX]; /* no duplicates; second ones last */
	size_t nr_found;
	struct error error;
	bool is_second;	    /* mark found files as second */
	uid_t root_uid;	    /* uid of root in the last opened root */
	struct error unfit; /* why a program on PATH cannot be probed; code 0: not set */
};

/*
 * The same file of an image has another device in each container's overlayfs. A probe in one of them is one in all, since
 * the kernel sets it in the file below: a second one would count each hit twice.
 */
static bool is_same(const struct found *found, const struct stat *st, bool overlaid)
{
	if (found->part.inode != st->st_ino)
		return false;
	return found->part.device == st->st_dev ||
	       (overlaid && found->is_overlaid && found->part.bytes == (uint64_t)st->st_size &&
		found->changed.tv_sec == st->st_ctim.tv_sec &&
		found->changed.tv_nsec == st->st_ctim.tv_nsec);
}

static bool is_there(const struct search *search, const struct stat *st, bool overlaid)
{
	size_t i;

	for (i = 0; i < search->nr_found; i++)
		if (is_same(&search->found[i], st, overlaid))
			return true;
	return false;
}

/*
 * Adds a file unless it is already there. Takes ownership of the handle in any case; root_fd remains the
 * caller's.
 */
static int take_file(struct search *search, int handle, int root_fd, const char *path)
{
	cleanup_fd int own = handle, root = -1;
	struct stat st;
	bool overlaid;
	char *copy;

	if (fstat(handle, &st) < 0)
		return error_set_errno(&search->error, "cannot open '%s'", path);
	overlaid = file_is_overlaid(handle);
	if (is_there(search, &st, overlaid))
		return 0;
	if (search->nr_found == PROGRAM_FILES_MAX)
		return error_set(&search->error, -E2BIG,
				 "'%s' is more than %d different files in these processes",
				 search->name, PROGRAM_FILES_MAX);
	if (root_fd >= 0) {
		root = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
		if (root < 0)
			return error_set_errno(&search->error, "cannot open '%s'", path);
	}
	copy = strdup(path);
	if (!copy)
		return error_no_memory(&search->error, "");
	search->found[search->nr_found++] = (struct found){
		.handle = take_fd(&own),
		.root_fd = take_fd(&root),
		.part = {.kind = PROGRAM_FILE,
			 .uid = st.st_uid,
			 .root_uid = root_fd >= 0 ? search->root_uid : 0,
			 .has_root = root_fd >= 0,
			 .is_second = search->is_second,
			 .is_of_root = file_is_of_root(handle, path),
			 .device = st.st_dev,
			 .inode = st.st_ino,
			 .bytes = (uint64_t)st.st_size},
		.is_overlaid = overlaid,
		.changed = st.st_ctim,
		.path = copy,
	};
	return 0;
}

static int open_root(struct search *search, int32_t pid)
{
	worker_begins(search->job, "the root directory of process %d", pid);
	search->root_uid = root_uid_of(pid);
	return file_open_root(pid);
}

/* Returns a handle of the regular file at a path below a root (-1: ours), or a negative errno. */
static int find_below_root(struct search *search, int root_fd, const char *path)
{
	worker_begins(search->job, "the file '%s'", path);
	return file_find_below(root_fd, path);
}

/* --- a path, a process ----------------------------------------------------------------------- */

/* Adds a file, or fails if it cannot be probed. */
static int take_only(struct search *search, int handle, int root_fd, const char *path)
{
	int err = check_code(handle, path, &search->error);

	if (err < 0) {
		(void)close(handle);
		return err;
	}
	return take_file(search, handle, root_fd, path);
}

static int find_own_path(struct search *search)
{
	cleanup_free char *path = NULL;
	int handle;

	worker_begins(search->job, "the file '%s'", search->name);
	path = realpath(search->name, NULL);
	if (!path)
		return error_set_errno(&search->error, "cannot open '%s'", search->name);
	handle = file_find_below(-1, path);
	if (handle == -EINVAL)
		return error_set(&search->error, handle, "'%s' is not a regular file",
				 search->name);
	if (handle < 0)
		return error_set(&search->error, handle, "cannot open '%s': %s", search->name,
				 strerror(-handle));
	return take_only(search, handle, -1, path);
}

/* Finds a path below the processes' roots; if it does not exist there, below our own root. */
static int find_path(struct search *search)
{
	size_t i;
	int err = 0;

	for (i = 0; i < search->nr_pids && search->name[0] == '/' && !err; i++) {
		cleanup_fd int root = open_root(search, (int32_t)search->pids[i]);
		int handle = root < 0 ? root : find_below_root(search, root, search->name);

		if (handle >= 0)
			err = take_only(search, handle, root, search->name);
	}
	return err < 0 || search->nr_found ? err : find_own_path(search);
}

static int find_executable(struct search *search, int32_t pid)
{
	cleanup_fd int root = open_root(search, pid);
	cleanup_free char *path = NULL;
	int handle;

	worker_begins(search->job, "the executable of process %d", pid);
	handle = process_program_find(pid, &path);
	if (handle == -ESRCH)
		return error_set(&search->error, handle, "no such process: %d", pid);
	if (handle == -ENOENT)
		return error_set(
			&search->error, handle,
			"process %d has no executable: it is a kernel thread, or has exited", pid);
	if (handle < 0)
		return error_set(&search->error, handle,
				 "cannot open the executable of process %d: %s", pid,
				 strerror(-handle));
	return take_only(search, handle, root, path);
}

/* --- mapped files ---------------------------------------------------------------------------- */

/* Adds a mapped file. Skips files that cannot be opened or probed. */
static int take_mapped(struct search *search, int32_t pid, const struct maps_entry *entry)
{
	cleanup_fd int root = open_root(search, pid);
	struct found_file found;

	worker_begins(search->job, "the file '%s' of process %d", entry->path, pid);
	if (file_find_mapped(&entry->id, entry->path, pid, root, entry->start, entry->end, &found) <
	    0)
		return 0;
	if (check_code(found.handle, entry->path, NULL) < 0) {
		(void)close(found.handle);
		return 0;
	}
	return take_file(search, found.handle, root, entry->path);
}

/* Adds the mapped files of one process whose names fit the searched one as in `wanted`. */
static int find_mapped_of(struct search *search, int32_t pid, enum library_fit wanted)
{
	struct maps_entry entry;
	struct maps maps;
	int err;

	worker_begins(search->job, "process %d", pid);
	err = maps_open(&maps, pid);
	if (err < 0)
		return err == -ENOENT
			       ? error_set(&search->error, -ESRCH, "no such process: %d", pid)
			       : 0;
	while (!err && maps_next(&maps, &entry))
		if (entry.executable && entry.id.inode &&
		    library_fit_of(entry.path, search->name) == wanted)
			err = take_mapped(search, pid, &entry);
	maps_close(&maps);
	return err;
}

static int find_mapped(struct search *search)
{
	size_t i, nr_before;
	enum library_fit fit;
	int err = 0;

	for (i = 0; i < search->nr_pids && !err; i++) {
		nr_before = search->nr_found;
		for (fit = 0; fit < NR_LIBRARY_FITS && !err && search->nr_found == nr_before; fit++)
			err = find_mapped_of(search, (int32_t)search->pids[i], fit);
	}
	return err;
}

/* --- libraries ------------------------------------------------------------------------------- */

static int compare_versions(const void *a, const void *b)
{
	return strverscmp(*(char *const *)b, *(char *const *)a);
}

static size_t list_versions(const struct search *search, DIR *folder, char **names)
{
	struct dirent *entry;
	size_t nr = 0;

	while (nr < VERSIONS_MAX && (entry = readdir(folder)))
		if (library_is_wanted(entry->d_name, search->name) &&
		    (names[nr] = strdup(entry->d_name)))
			nr++;
	qsort(names, nr, sizeof(*names), compare_versions);
	return nr;
}

/* Adds a file if it can be probed. Returns 1 if added, 0 if skipped, or a negative errno. */
static int try_file(struct search *search, int root_fd, const char *path, mode_t needed)
{
	int handle = find_below_root(search, root_fd, path), err;
	struct stat st;

	if (handle < 0)
		return 0;
	if (fstat(handle, &st) < 0 || (st.st_mode & needed) != needed ||
	    check_code(handle, path, needed ? &search->unfit : NULL) < 0) {
		(void)close(handle);
		return 0;
	}
	err = take_file(search, handle, root_fd, path);
	return err < 0 ? err : 1;
}

static int find_library_in(struct search *search, int root_fd, const char *folder_path)
{
	char *names[VERSIONS_MAX], path[2 * PATH_MAX];
	size_t nr, i;
	int found = 0;
	DIR *folder;

	worker_begins(search->job, "the directory '%s'", folder_path);
	folder = file_open_directory_below(root_fd, folder_path);
	if (!folder)
		return 0;
	nr = list_versions(search, folder, names);
	(void)closedir(folder);
	for (i = 0; i < nr; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder_path, names[i]);
		if (!found)
			found = try_file(search, root_fd, path, 0);
		free(names[i]);
	}
	return found;
}

static int find_library(struct search *search, int root_fd)
{
	struct library_folders folders = {0};
	int found = library_folders_read(&folders, root_fd, search->job);
	size_t i;

	for (i = 0; i < folders.nr && !found; i++)
		found = find_library_in(search, root_fd, folders.paths[i]);
	library_folders_clear(&folders);
	return found == -ENOMEM ? error_no_memory(&search->error, "") : found;
}

/* --- programs on PATH ------------------------------------------------------------------------ */

static int find_in_folders(struct search *search, int root_fd, const char *list)
{
	char path[2 * PATH_MAX];
	int found = 0, nr;

	for (; *list && !found; list += (size_t)nr + (list[nr] == ':')) {
		nr = (int)strcspn(list, ":");
		if (list[0] != '/' || nr >= PATH_MAX)
			continue;
		(void)snprintf(path, sizeof(path), "%.*s/%s", nr, list, search->name);
		found = try_file(search, root_fd, path, S_IXUSR);
	}
	return found;
}

static int find_below(struct search *search, int root_fd)
{
	int found = find_in_folders(search, root_fd, search->path);

	/* The PATH of users often lacks the folders of servers. */
	if (!found)
		found = find_in_folders(search, root_fd, USUAL_PATH);
	if (found < 0)
		return found;
	search->is_second = found > 0;
	found = find_library(search, root_fd);
	search->is_second = false;
	return found;
}

/* --- all of it ------------------------------------------------------------------------------- */

static int nothing_found(struct search *search)
{
	struct short_name library = short_name_of(search->name);

	if (search->unfit.code) {
		search->error = search->unfit;
		return search->unfit.code;
	}
	(void)error_set(&search->error, -ENOENT, "no such program or library: '%s'", search->name);
	error_hint(
		&search->error,
		"searched %s%s for '%s', and the directories of /etc/ld.so.conf and /usr/lib for "
		"lib%.*s.so; a path or a pid works as well",
		search->nr_pids ? "the files that the processes have mapped and " : "",
		search->path[0] ? search->path : USUAL_PATH, search->name, (int)library.nr,
		library.text);
	return -ENOENT;
}

/*
 * Finds the executables of processes with this name: the file may have another name, if started
 * through a symbolic link, or be deleted.
 */
static int find_running(struct search *search)
{
	struct process_status status;
	size_t i;
	int err = 0;

	for (i = 0; i < search->nr_pids && !err; i++)
		if (process_status_read((int32_t)search->pids[i], &status) == 0 &&
		    !strncmp(status.comm, search->name, sizeof(status.comm) - 1))
			err = find_executable(search, (int32_t)search->pids[i]);
	return err;
}

static int find_name(struct search *search)
{
	int err = find_mapped(search);
	size_t i;

	if (err >= 0 && !search->nr_found)
		err = find_running(search);
	for (i = 0; i < search->nr_pids && err >= 0 && !search->nr_found; i++) {
		cleanup_fd int root = open_root(search, (int32_t)search->pids[i]);

		if (root >= 0)
			err = find_below(search, root);
	}
	if (err >= 0 && !search->nr_found)
		err = find_below(search, -1);
	if (err < 0)
		return err;
	return search->nr_found ? 0 : nothing_found(search);
}

static int find_named(struct search *search)
{
	const char *name = search->name;
	uint64_t pid;

	if (strchr(name, '/'))
		return find_path(search);
	if (name[0] == '\0' || name[strspn(name, "0123456789")])
		return find_name(search);
	return number_parse(name, INT32_MAX, &pid) < 0
		       ? error_set(&search->error, -ESRCH, "no such process: %s", name)
		       : find_executable(search, (int32_t)pid);
}

/* --- what a program maps at its start --------------------------------------------------------- */

/* Adds the program at path, or the interpreter if it is a script. Returns 1 if added. */
static int take_started(struct search *search, const char *path)
{
	int found = try_file(search, -1, path, S_IXUSR);
	cleanup_fd int fd = found ? -1 : file_open_below(-1, path);
	char head[256] = "", *at;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !(st.st_mode & S_IXUSR) ||
	    pread(fd, head, sizeof(head) - 1, 0) < 2 || !text_starts_with(head, "#!"))
		return found;
	at = head + 2 + strspn(head + 2, " \t");
	at[strcspn(at, " \t\r\n")] = '\0';
	return try_file(search, -1, at, S_IXUSR);
}

/* Finds a program as execvp() does. */
static int find_started(struct search *search)
{
	cleanup_free char *real = NULL;
	const char *list = search->path;
	char path[2 * PATH_MAX];
	int found = 0, nr;

	if (strchr(search->name, '/')) {
		worker_begins(search->job, "the file '%s'", search->name);
		real = realpath(search->name, NULL);
		return real ? take_started(search, real) : 0;
	}
	for (; *list && !found; list += (size_t)nr + (list[nr] == ':')) {
		nr = (int)strcspn(list, ":");
		if (list[0] != '/' || nr >= PATH_MAX)
			continue;
		(void)snprintf(path, sizeof(path), "%.*s/%s", nr, list, search->name);
		found = take_started(search, path);
	}
	return found;
}

/*
 * Adds the library with exactly this name, from the first folder that has it. Returns 1 if added.
 */
static int take_needed(struct search *search, const struct library_folders *folders,
		       const char *name)
{
	char path[2 * PATH_MAX];
	int found = 0;
	size_t i;

	if (strchr(name, '/'))
		return try_file(search, -1, name, 0);
	for (i = 0; i < folders->nr && !found && name[0]; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folders->paths[i], name);
		found = try_file(search, -1, path, 0);
	}
	return found;
}

/* names: the ones behind the search's first. */
static int find_needed(struct search *search, struct bytes names)
{
	struct library_folders folders = {0};
	int err = library_folders_read(&folders, -1, search->job);
	const char *name = search->name;

	for (; name && err >= 0; name = names.nr ? bytes_string(&names) : NULL)
		err = take_needed(search, &folders, name);
	library_folders_clear(&folders);
	return err;
}

/* --- the task --------------------------------------------------------------------------------- */

static int send_found(struct search *search, const struct found *found)
{
	const int handles[WORKER_HANDLES_MAX] = {found->handle, found->root_fd};
	char part[sizeof(found->part) + 2 * PATH_MAX];
	const size_t nr = strlen(found->path) + 1;

	if (nr > sizeof(part) - sizeof(found->part))
		return -ENAMETOOLONG;
	memcpy(part, &found->part, sizeof(found->part));
	memcpy(part + sizeof(found->part), found->path, nr);
	return worker_send_part(search->job, part, sizeof(found->part) + nr, handles);
}

static int send_failure(struct search *search)
{
	static const int none[WORKER_HANDLES_MAX] = {-1, -1};
	struct program_failure failure;

	memset(&failure, 0, sizeof(failure));
	failure.kind = PROGRAM_FAILURE;
	failure.error = search->error;
	return worker_send_part(search->job, &failure, sizeof(failure), none);
}

static int run_search(struct search *search, enum program_search what, struct bytes names)
{
	switch (what) {
	case SEARCH_NAMED:
		return find_named(search);
	case SEARCH_STARTED:
		return find_started(search);
	case SEARCH_NEEDED:
		return find_needed(search, names);
	}
	return -EINVAL;
}

int program_task(struct worker_job *job, void **state)
{
	struct bytes question = job->question;
	const void *head = bytes_skip(&question, sizeof(struct program_question));
	cleanup_free struct search *search = calloc(1, sizeof(*search));
	struct program_question asked;
	size_t i;
	int err;

	(void)state;
	if (!search)
		return -E2BIG;
	if (!head)
		return -EINVAL;
	memcpy(&asked, head, sizeof(asked));
	search->job = job;
	search->nr_pids = asked.nr_pids;
	search->pids = (const uint32_t *)bytes_skip(&question, sizeof(uint32_t) * search->nr_pids);
	search->path = bytes_string(&question);
	search->name = bytes_string(&question);
	if (question.failed)
		return -EINVAL;
	err = run_search(search, (enum program_search)asked.search, question);
	for (i = 0; i < search->nr_found; i++) {
		struct found *found = &search->found[i];

		if (err >= 0)
			err = send_found(search, found);
		(void)close(found->handle);
		if (found->root_fd >= 0)
			(void)close(found->root_fd);
		free(found->path);
	}
	return err < 0 && search->error.code ? send_failure(search) : err < 0 ? err : 0;
}
