/*
 * Stook, which knows the file's path and root, says where to look; whoever parses the file, which may be a parser
 * without rights, checks the candidates. Each is opened below a root, as a regular file and without following links
 * out of the root; then its identity is checked. A debug file's own .gnu_debuglink is not followed, so there are no
 * cycles.
 *
 * A stripped file chooses the name of its debug file, and is in a folder of its owner, in a root
 * that any user may have made: it must not be able to choose files of other users. So a candidate
 * must be owned by the root user of the root that it is in, or by the file's owner; a candidate
 * beside the file must be owned by the file's owner. The root user of a user namespace owns files
 * under its uid outside. It chooses the mounts in its root, so files of the host's root user are
 * not trusted there. Folders that the user named are trusted.
 */
#include "sym/debug_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
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

/* Limit of places that are tried for one file. */
#define PLACES_MAX 100

_Static_assert(WORKER_ID_BYTES == BUILD_ID_MAX_BYTES, "worker_want has whole build ids");

/* --- places to look in ------------------------------------------------------------------------ */

/* Adds the paths by build id, below a folder. */
static void add_by_build_id(struct worker_place *place, const char *folder,
			    const struct worker_want *want)
{
	char id[DEBUG_FILE_ID_BYTES], whole[DEBUG_FILE_ID_BYTES], path[PATH_BYTES];
	size_t i;

	debug_file_id(want->build_id, want->build_id_bytes, id);
	if (!*id)
		return;
	(void)snprintf(whole, sizeof(whole), "%.2s%s", id, id + 3);
	for (i = 0; i < ARRAY_SIZE(by_build_id); i++)
		if (snprintf(path, sizeof(path), "%s/%s%s%s", folder, by_build_id[i].before,
			     by_build_id[i].whole ? whole : id, by_build_id[i].behind) < PATH_BYTES)
			worker_place_add(place, path);
}

/* Adds the path of the linked file: `before`, the folder of the file itself, `behind`, its name. */
static void add_by_link(struct worker_place *place, const char *before,
			const struct code_file *file, const char *behind,
			const struct worker_want *want)
{
	char path[PATH_BYTES];
	const char *slash = strrchr(file->path, '/');
	int folder_bytes = slash ? (int)(slash + 1 - file->path) : 0;

	/* The name comes from a parser, which may have been compromised. */
	if (file->path[0] != '/' || !want->name[0] || strchr(want->name, '/'))
		return;
	if (snprintf(path, sizeof(path), "%s%.*s%s%s", before, folder_bytes, file->path, behind,
		     want->name) < PATH_BYTES)
		worker_place_add(place, path);
}

/*
 * A file of the host is shared by containers. Any user can make a user namespace, whose root she is, with mounts that
 * have other files of hers beside the host's, so there the file must be hers, too. Its owner in our root is not known
 * then: the path says nothing there.
 */
void debug_files_choose_root(struct code_file *file)
{
	const bool is_of_others =
		file->root_fd >= 0 && file->root_uid != 0 && file->uid != file->root_uid;

	if (!file->is_of_root && !is_of_others)
		return;
	file->root_fd = -1;
	file->root_uid = 0;
	if (!file->is_of_root)
		file->uid = (uid_t)-1;
}

/*
 * Returns the uid in the searched root that is trusted as the file's owner; -1 if there is none:
 * for a file from another root, our root may have given that uid to another user.
 */
static uid_t owner_in(const struct code_file *file, int root_fd, uid_t root_uid)
{
	if ((root_fd < 0 && file->root_fd >= 0) || file->fd < 0)
		return (uid_t)-1;
	return file->uid == 0 ? root_uid : file->uid;
}

/*
 * Fills in a place in a root, whose root user is `uid` (-1: not known): first the usual folder, then
 * the folder of the file itself.
 */
static void fill_place(struct worker_place *ret, const struct code_file *file, int root_fd,
		       uid_t uid, bool beside, const struct worker_want *want)
{
	ret->root_fd = root_fd;
	ret->is_owned = true;
	file_owners_add(&ret->owners, owner_in(file, root_fd, uid));
	if (root_fd < 0 && geteuid() != 0)
		file_owners_add(&ret->owners, geteuid());
	if (beside) {
		add_by_link(ret, "", file, "", want);
		add_by_link(ret, "", file, ".debug/", want);
		return;
	}
	file_owners_add(&ret->owners, uid);
	add_by_build_id(ret, DEBUG_FILE_FOLDER, want);
	add_by_link(ret, DEBUG_FILE_FOLDER, file, "", want);
}

int debug_files_place(const struct debug_places *places, const struct code_file *file,
		      const struct worker_want *want, struct worker_place *ret)
{
	size_t number = want->place;
	bool own_root;

	*ret = (struct worker_place){.root_fd = -1};
	if (number >= PLACES_MAX)
		return -ENODATA;
	if (number < places->nr_folders) {
		add_by_build_id(ret, places->folders[number], want);
		add_by_link(ret, places->folders[number], file, "", want);
		return 0;
	}
	number -= places->nr_folders;
	own_root = file->root_fd < 0 || number >= 2;
	if (file->root_fd >= 0 && own_root)
		number -= 2;
	if (number >= 2)
		return -ENODATA;
	fill_place(ret, file, own_root ? -1 : file->root_fd, own_root ? 0 : file->root_uid,
		   number == 1, want);
	return 0;
}

/*
 * Removes `.` and `..` from an absolute path, as text. Symbolic links are not considered: the opener
 * resolves the path anew, inside the root.
 */
static void normalize(const char *path, char to[PATH_BYTES])
{
	size_t nr = 0;

	while (*path) {
		size_t part = strcspn(path, "/");
		bool is_dot = part == 1 && path[0] == '.';
		bool is_up = part == 2 && path[0] == '.' && path[1] == '.';

		if (is_up)
			while (nr && to[--nr] != '/')
				;
		if (part && !is_dot && !is_up) {
			to[nr++] = '/';
			memcpy(to + nr, path, part);
			nr += part;
		}
		path += part + (path[part] == '/');
	}
	to[nr] = '\0';
}

static bool is_below(const char *path, const char *folder)
{
	size_t nr = strlen(folder);

	return !strncmp(path, folder, nr) && path[nr] == '/';
}

/*
 * True if only the host's root can write the file, which has a parser that no other user's file has compromised: it may
 * refer to any file.
 */
static bool is_trusted(const struct code_file *file)
{
	return file->root_fd < 0 && file->fd >= 0 && file->is_of_root;
}

/* True for a path in the folder of the file, or below; false if that folder is the root. */
static bool is_beside(const char *path, const struct code_file *file)
{
	const char *slash = strrchr(file->path, '/');
	const size_t nr = slash ? (size_t)(slash - file->path) : 0;

	return nr && !strncmp(path, file->path, nr) && path[nr] == '/';
}

/*
 * The path was chosen by whoever made the file, or has compromised its parser, so it must not lead to files of others:
 * the file must belong to the same owner, or be below a folder for debug files. Root's files are not all for everybody to
 * read, so a file of root must also be beside the one that refers to it.
 */
int debug_files_path_place(const struct debug_places *places, const struct code_file *file,
			   const struct worker_want *want, struct worker_place *ret)
{
	const bool own_root = file->root_fd < 0 || want->place > 0;
	const uid_t root_uid = own_root ? 0 : file->root_uid;
	const uid_t owner = owner_in(file, own_root ? -1 : file->root_fd, root_uid);
	char path[PATH_BYTES];
	size_t i;

	_Static_assert(WORKER_NAME_BYTES < PATH_BYTES, "a path in a request can be copied");
	*ret = (struct worker_place){.root_fd = own_root ? -1 : file->root_fd, .is_owned = true};
	if (want->name[0] != '/' || want->place > (file->root_fd >= 0))
		return -ENODATA;
	normalize(want->name, path);
	worker_place_add(ret, path);
	for (i = 0; own_root && i < places->nr_folders; i++)
		if (is_below(path, places->folders[i]))
			ret->is_owned = false;
	if (is_trusted(file))
		ret->is_owned = false;
	if (owner != root_uid || is_beside(path, file))
		file_owners_add(&ret->owners, owner);
	if (own_root && geteuid() != 0)
		file_owners_add(&ret->owners, geteuid());
	if (is_below(path, DEBUG_FILE_FOLDER))
		file_owners_add(&ret->owners, root_uid);
	return 0;
}

/* --- checking candidates ---------------------------------------------------------------------- */

struct search {
	const struct debug_places *places;
	const struct code_file *file;
	struct debug_link link; /* the name is empty if it has none */
};

static bool is_the_file_itself(const struct search *search, int fd)
{
	struct stat own, found;

	return search->file->fd >= 0 && fstat(search->file->fd, &own) == 0 &&
	       fstat(fd, &found) == 0 && found.st_dev == own.st_dev && found.st_ino == own.st_ino;
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

	return search->link.name[0] &&
	       debug_link_crc(fd, search->places->crcs, search->places->budget, &crc) == 0 &&
	       crc == search->link.crc;
}

/* True if build ids match, if both files have one; else if the checksum matches. */
static bool belongs(const struct search *search, int fd)
{
	struct elf_image image;
	bool same;

	if (is_the_file_itself(search, fd) || elf_image_open(&image, fd, NULL) < 0)
		return false;
	if (image.build_id_bytes && search->file->build_id_bytes)
		same = elf_image_has_build_id(&image, search->file->build_id,
					      search->file->build_id_bytes);
	else
		same = has_names(&image) && has_checksum(search, fd);
	elf_image_close(&image);
	return same;
}

/* Does what stook and its opener do for worker_want(). */
static int open_here(const struct search *search, struct worker_want *want)
{
	struct worker_place place;
	int err = debug_files_place(search->places, search->file, want, &place), fd = -ENOENT;
	struct bytes paths = bytes_of(place.paths, place.nr);
	const char *path;
	uint32_t i;

	if (err < 0)
		return err;
	for (i = 0; fd < 0 && (path = bytes_string(&paths)); i++)
		if (i >= want->first)
			fd = place.is_owned ? file_open_owned(place.root_fd, path, &place.owners)
					    : file_open_below(place.root_fd, path);
	want->first = i;
	return fd;
}

int debug_files_open(const struct debug_places *places, const struct code_file *file,
		     const struct elf_image *image)
{
	struct search search = {.places = places, .file = file};
	struct worker_want want = {.kind = WANT_DEBUG_FILE,
				   .build_id_bytes = (uint32_t)file->build_id_bytes};
	int fd, passing = 0;

	memcpy(want.build_id, file->build_id, file->build_id_bytes);
	if (image && debug_link_read(image, &search.link) == 0)
		(void)snprintf(want.name, sizeof(want.name), "%s", search.link.name);
	else
		search.link.name[0] = '\0';
	for (;;) {
		fd = places->job ? worker_want(places->job, &want) : open_here(&search, &want);
		if (fd >= 0 && belongs(&search, fd))
			return fd;
		if (fd >= 0) {
			(void)close(fd);
			continue;
		}
		if (fd == -ENODATA)
			return passing ? passing : -ENOENT;
		if (worker_is_passing(fd))
			passing = fd;
		want.place++;
		want.first = 0;
	}
}

int debug_files_find(const struct debug_places *places, struct code_file *file,
		     const struct elf_image *image)
{
	if (!file->debug_is_known)
		file->debug_fd = debug_files_open(places, file, image);
	file->debug_is_known = true;
	return file->debug_fd;
}

void debug_files_forget(struct code_file *file)
{
	if (file->debug_is_known && file->debug_fd >= 0)
		(void)close(file->debug_fd);
	file->debug_is_known = false;
}

/* --- from a server ---------------------------------------------------------------------------- */

int debug_files_from_server(const struct debug_places *places, const struct code_file *file)
{
	struct worker_want want = {.kind = WANT_FROM_SERVER,
				   .build_id_bytes = (uint32_t)file->build_id_bytes};
	cleanup_fd int fd = -1;

	if (!places->job)
		return -ENOENT; /* the vdso */
	memcpy(want.build_id, file->build_id, file->build_id_bytes);
	fd = worker_want(places->job, &want);
	if (worker_is_passing(fd))
		return fd;
	/* Servers are not trusted. */
	if (fd < 0 || !elf_image_fd_has_build_id(fd, file->build_id, file->build_id_bytes))
		return -ENOENT;
	return take_fd(&fd);
}
