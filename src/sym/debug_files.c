/*
 * Every candidate is opened below a root, as a regular file and without following links out of the
 * root; then its identity is checked. A debug file's own .gnu_debuglink is not followed, so there
 * are no cycles.
 *
 * A stripped file chooses the name of its debug file, and is in a folder of its owner, in a root
 * that any user may have made: it must not be able to choose files of other users. So a candidate
 * must be owned by the root user of the root that it is in, or by the file's owner; a candidate
 * beside the file must be owned by the file's owner. The root user of a user namespace owns files
 * under its uid outside. It chooses the mounts in its root, so files of the host's root user are
 * not trusted there. Folders that the user named are trusted.
 *
 * debuginfod's client library is loaded by name, as elfutils does it: a profiler need not depend on
 * an HTTP library. It runs in a child process, which is killed at the time limit, and returns the
 * path of the file in its cache. A static binary can't load libraries and does without debuginfod.
 */
#include "sym/debug_files.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/isolated.h"
#include "elf/image/debug_link.h"
#include "elf/image/elf_image.h"
#include "proc/file_open.h"

#define PATH_BYTES 4096

/* Folder layouts by build id: distributions, debuginfod's client cache, perf's cache. */
static const struct {
	const char *before, *behind;
	bool whole; /* the id is one name, not split after its first byte */
} by_build_id[] = {
	{".build-id/", ".debug", false}, {".build-id/", "", false}, {".build-id/", "/debug", false},
	{".build-id/", "/elf", false},	 {"", "/debuginfo", true},  {"", "/executable", true},
};

struct search {
	const struct debug_places *places;
	const struct code_file *file;
	char id[DEBUG_FILE_ID_BYTES]; /* "" if it has none */
	bool has_link;
	struct debug_link link;
	dev_t device; /* of the file itself: it is not its own debug file */
	ino_t inode;
	uid_t owner; /* of the file; -1: not known, it can't be opened */
};

/* A place to look in. */
struct root {
	int fd;				  /* -1: our own root */
	const struct file_owners *owners; /* trusted owners of candidates; NULL: any */
};

/* --- checking candidates ---------------------------------------------------------------------- */

static bool is_the_file_itself(const struct search *search, int fd)
{
	struct stat st;

	return search->file->fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == search->device &&
	       st.st_ino == search->inode;
}

/* A file without symbols and debug information is not worth the cost of its checksum. */
static bool has_names(const struct elf_image *image)
{
	GElf_Shdr header;

	return elf_image_has_section(image, SHT_SYMTAB) ||
	       elf_section_find(image, ".debug_info", &header) == 0 ||
	       elf_section_find(image, ".zdebug_info", &header) == 0;
}

static bool has_checksum(const struct search *search, int fd)
{
	uint32_t crc;

	return debug_link_crc(fd, search->places->crcs, search->places->budget, &crc) == 0 &&
	       crc == search->link.crc;
}

/* True if build ids match, if both files have one; else if the checksum matches. */
static bool belongs(const struct search *search, int fd, bool by_link)
{
	struct elf_image image;
	bool same;

	if (is_the_file_itself(search, fd) || elf_image_open(&image, fd, NULL) < 0)
		return false;
	if (image.build_id_bytes && search->file->build_id_bytes)
		same = elf_image_has_build_id(&image, search->file->build_id,
					      search->file->build_id_bytes);
	else
		same = by_link && has_names(&image) && has_checksum(search, fd);
	elf_image_close(&image);
	return same;
}

static int try_path(const struct search *search, struct root root, const char *path, bool by_link)
{
	cleanup_fd int fd = root.owners ? file_open_owned(root.fd, path, root.owners)
					: file_open_below(root.fd, path);

	return fd >= 0 && belongs(search, fd, by_link) ? take_fd(&fd) : -ENOENT;
}

/* --- places to look in ------------------------------------------------------------------------ */

static int try_build_id(const struct search *search, struct root root, const char *folder)
{
	char whole[DEBUG_FILE_ID_BYTES], path[PATH_BYTES];
	size_t i;
	int fd = -ENOENT;

	if (!*search->id)
		return fd;
	(void)snprintf(whole, sizeof(whole), "%.2s%s", search->id, search->id + 3);
	for (i = 0; i < ARRAY_SIZE(by_build_id) && fd < 0; i++) {
		if (snprintf(path, sizeof(path), "%s/%s%s%s", folder, by_build_id[i].before,
			     by_build_id[i].whole ? whole : search->id,
			     by_build_id[i].behind) >= PATH_BYTES)
			return -ENOENT;
		fd = try_path(search, root, path, false);
	}
	return fd;
}

/* Returns the length of the stripped file's folder, slash included. */
static int folder_bytes(const struct code_file *file)
{
	const char *slash = strrchr(file->path, '/');

	return slash ? (int)(slash + 1 - file->path) : 0;
}

static int try_link(const struct search *search, struct root root, const char *before,
		    const char *behind)
{
	char path[PATH_BYTES];

	if (snprintf(path, sizeof(path), "%s%.*s%s%s", before, folder_bytes(search->file),
		     search->file->path, behind, search->link.name) >= PATH_BYTES)
		return -ENOENT;
	return try_path(search, root, path, true);
}

static int try_folder(const struct search *search, struct root root, const char *folder)
{
	int fd = try_build_id(search, root, folder);

	if (fd < 0 && search->has_link)
		fd = try_link(search, root, folder, "");
	return fd;
}

/*
 * Returns the uid in the searched root that is trusted as the file's owner; -1 if there is none:
 * for a file from another root, our root may have given that uid to another user.
 */
static uid_t owner_in(const struct search *search, int root_fd, uid_t root_uid)
{
	if (root_fd < 0 && search->file->root_fd >= 0)
		return (uid_t)-1;
	return search->owner == 0 ? root_uid : search->owner;
}

/* Looks in a root. uid: its root user; -1: not known. */
static int try_root(const struct search *search, int root_fd, uid_t uid)
{
	struct file_owners owner = {0}, owners;
	struct root beside = {root_fd, &owner}, below = {root_fd, &owners};
	int fd;

	file_owners_add(&owner, owner_in(search, root_fd, uid));
	if (root_fd < 0 && geteuid() != 0)
		file_owners_add(&owner, geteuid());
	owners = owner;
	file_owners_add(&owners, uid);
	fd = try_folder(search, below, DEBUG_FILE_FOLDER);
	if (fd < 0 && search->has_link)
		fd = try_link(search, beside, "", "");
	if (fd < 0 && search->has_link)
		fd = try_link(search, beside, "", ".debug/");
	return fd;
}

int debug_files_open(const struct debug_places *places, const struct code_file *file,
		     const struct elf_image *image)
{
	struct search search = {.places = places, .file = file, .owner = (uid_t)-1};
	struct stat st;
	size_t i;
	int fd = -ENOENT;

	debug_file_id(file->build_id, file->build_id_bytes, search.id);
	search.has_link =
		image && file->path[0] == '/' && debug_link_read(image, &search.link) == 0;
	if (file->fd >= 0 && fstat(file->fd, &st) == 0) {
		search.device = st.st_dev;
		search.inode = st.st_ino;
		search.owner = st.st_uid;
	}
	for (i = 0; i < places->nr_folders && fd < 0; i++)
		fd = try_folder(&search, (struct root){-1, NULL}, places->folders[i]);
	if (fd < 0 && file->root_fd >= 0)
		fd = try_root(&search, file->root_fd, file->root_uid);
	return fd < 0 ? try_root(&search, -1, 0) : fd;
}

int debug_files_find(const struct debug_places *places, struct code_file *file,
		     const struct elf_image *image)
{
	if (!file->debug_is_known)
		file->debug_fd = debug_files_open(places, file, image);
	file->debug_is_known = true;
	return file->debug_fd < 0 ? -ENOENT : file->debug_fd;
}

void debug_files_forget(struct code_file *file)
{
	if (file->debug_is_known && file->debug_fd >= 0)
		(void)close(file->debug_fd);
	file->debug_is_known = false;
}

/* --- debuginfod ------------------------------------------------------------------------------- */

struct debuginfod {
	uint64_t waited_ns;
	const char *trouble;
};

struct question {
	const uint8_t *build_id;
	size_t build_id_bytes;
	char path[PATH_BYTES]; /* the answer */
	size_t path_bytes;
};

struct debuginfod *debuginfod_new(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && *urls ? calloc(1, sizeof(struct debuginfod)) : NULL;
}

void debuginfod_free(struct debuginfod *client)
{
	free(client);
}

#ifdef STOOK_STATIC
static int ask(void *context, int pipe_fd)
{
	return -ENOSYS;
}
#else
/* Runs in the child: writes the path to the pipe. Process exit frees everything. */
static int ask(void *context, int pipe_fd)
{
	const struct question *question = context;
	void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);
	void *(*begin)(void) = NULL;
	int (*find)(void *client, const unsigned char *build_id, int bytes, char **path) = NULL;
	char *path = NULL;
	void *client;
	int fd;

	if (!library)
		return -ENOSYS;
	*(void **)&begin = dlsym(library, "debuginfod_begin");
	*(void **)&find = dlsym(library, "debuginfod_find_debuginfo");
	client = begin && find ? begin() : NULL;
	if (!client)
		return -ENOSYS;
	fd = find(client, question->build_id, (int)question->build_id_bytes, &path);
	if (fd < 0 || !path)
		return fd < 0 ? fd : -ENOENT;
	return write(pipe_fd, path, strlen(path)) < 0 ? -errno : 0;
}
#endif

static int take_path(void *context, const void *bytes, size_t nr)
{
	struct question *question = context;

	if (nr >= sizeof(question->path) - question->path_bytes)
		return -ENAMETOOLONG;
	memcpy(question->path + question->path_bytes, bytes, nr);
	question->path_bytes += nr;
	return 0;
}

/* After a failure no server is asked again. A file that no server has is not a failure. */
static void note_trouble(struct debuginfod *client, int err)
{
	if (err == -ENOSYS)
		client->trouble = "cannot load its client library (libdebuginfod.so.1)";
	else if (err == -ETIME || client->waited_ns >= DEBUGINFOD_MAX_NS)
		client->trouble = "timed out";
	else if (err < 0 && err != -ENOENT && err != -ECANCELED)
		client->trouble = strerrordesc_np(-err);
}

int debuginfod_open(struct debuginfod *client, const uint8_t *build_id, size_t build_id_bytes,
		    const struct read_budget *budget)
{
	struct question question = {.build_id = build_id, .build_id_bytes = build_id_bytes};
	struct isolation limits = {
		.timeout_ns = DEBUGINFOD_MAX_NS - client->waited_ns,
		.stop_fd = read_budget_stop_fd(budget),
		.root_fd = -1,
		.uid = (uid_t)-1,
		.is_trusted = true,
	};
	uint64_t began_ns = clock_now_ns(), left_ns = read_budget_left_ns(budget);
	cleanup_fd int fd = -1;
	int err;

	if (left_ns < limits.timeout_ns)
		limits.timeout_ns = left_ns;
	if (client->trouble || !build_id_bytes || !limits.timeout_ns)
		return -ENOENT;
	err = isolated_run(ask, take_path, &question, &limits, NULL);
	client->waited_ns += clock_now_ns() - began_ns;
	note_trouble(client, err);
	if (err < 0 || !question.path_bytes)
		return -ENOENT;
	question.path[question.path_bytes] = '\0';
	/* Servers are not trusted: check that the file in the cache has the build id. */
	fd = file_open_below(-1, question.path);
	if (fd < 0 || !elf_image_fd_has_build_id(fd, build_id, build_id_bytes))
		return -ENOENT;
	return take_fd(&fd);
}

const char *debuginfod_trouble(const struct debuginfod *client)
{
	return client ? client->trouble : NULL;
}
