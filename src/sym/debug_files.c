/*
 * Every candidate is opened below a root, as a regular file and past no link that leads out, and
 * then asked who it is. A debug file's own links are not followed, so none leads in a circle.
 */
#include "sym/debug_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/image/debug_link.h"
#include "proc/file_open.h"

#define PATH_BYTES 4096

/* How a folder may have files by build id: as distributions, as debuginfod's client, as perf. */
static const struct {
	const char *before, *behind;
	bool whole; /* the id is one word, not cut behind its first byte */
} by_build_id[] = {
	{".build-id/", ".debug", false}, {".build-id/", "", false}, {".build-id/", "/debug", false},
	{".build-id/", "/elf", false},	 {"", "/debuginfo", true},  {"", "/executable", true},
};

struct search {
	const struct code_file *file;
	char id[DEBUG_FILE_ID_BYTES]; /* "" if it has none */
	bool has_link;
	struct debug_link link;
	dev_t device; /* of the file itself: it is not its own debug file */
	ino_t inode;
};

/* --- who is it? ------------------------------------------------------------------------------ */

static bool is_the_file_itself(const struct search *search, int fd)
{
	struct stat st;

	return search->file->fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == search->device &&
	       st.st_ino == search->inode;
}

/* By build id if both have one, else by checksum. */
static bool belongs(const struct search *search, int fd, bool by_link)
{
	struct elf_image image;
	uint32_t crc;
	bool same;

	if (is_the_file_itself(search, fd) || elf_image_open(&image, fd, NULL) < 0)
		return false;
	if (image.build_id_bytes && search->file->build_id_bytes)
		same = elf_image_has_build_id(&image, search->file->build_id,
					      search->file->build_id_bytes);
	else
		same = by_link && debug_link_crc(fd, NULL, NULL, &crc) == 0 &&
		       crc == search->link.crc;
	elf_image_close(&image);
	return same;
}

static int try_path(const struct search *search, int root_fd, const char *path, bool by_link)
{
	cleanup_fd int fd = file_open_below(root_fd, path);

	return fd >= 0 && belongs(search, fd, by_link) ? take_fd(&fd) : -ENOENT;
}

/* --- where is it? ---------------------------------------------------------------------------- */

static int try_build_id(const struct search *search, int root_fd, const char *folder)
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
		fd = try_path(search, root_fd, path, false);
	}
	return fd;
}

/* The folder of the stripped file, with the slash. */
static int folder_bytes(const struct code_file *file)
{
	const char *slash = strrchr(file->path, '/');

	return slash ? (int)(slash + 1 - file->path) : 0;
}

static int try_link(const struct search *search, int root_fd, const char *before,
		    const char *behind)
{
	char path[PATH_BYTES];

	if (snprintf(path, sizeof(path), "%s%.*s%s%s", before, folder_bytes(search->file),
		     search->file->path, behind, search->link.name) >= PATH_BYTES)
		return -ENOENT;
	return try_path(search, root_fd, path, true);
}

static int try_folder(const struct search *search, int root_fd, const char *folder)
{
	int fd = try_build_id(search, root_fd, folder);

	if (fd < 0 && search->has_link)
		fd = try_link(search, root_fd, folder, "");
	return fd;
}

static int try_root(const struct search *search, int root_fd)
{
	int fd = try_folder(search, root_fd, DEBUG_FILE_FOLDER);

	if (fd < 0 && search->has_link)
		fd = try_link(search, root_fd, "", "");
	if (fd < 0 && search->has_link)
		fd = try_link(search, root_fd, "", ".debug/");
	return fd;
}

int debug_files_open(const struct debug_places *places, const struct code_file *file,
		     const struct elf_image *image)
{
	struct search search = {.file = file};
	struct stat st;
	size_t i;
	int fd = -ENOENT;

	debug_file_id(file->build_id, file->build_id_bytes, search.id);
	search.has_link =
		image && file->path[0] == '/' && debug_link_read(image, &search.link) == 0;
	if (file->fd >= 0 && fstat(file->fd, &st) == 0) {
		search.device = st.st_dev;
		search.inode = st.st_ino;
	}
	for (i = 0; i < places->nr_folders && fd < 0; i++)
		fd = try_folder(&search, -1, places->folders[i]);
	if (fd < 0 && file->root_fd >= 0)
		fd = try_root(&search, file->root_fd);
	return fd < 0 ? try_root(&search, -1) : fd;
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
