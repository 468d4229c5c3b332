/*
 * Files that are written completely or not at all.
 *
 * The path is resolved here, component by component, since the kernel reports neither the symlinks
 * on the way nor their owners. The result is a handle of the file's directory and a name in it.
 * Everything else uses these two, so nobody can exchange a directory in between.
 */
#include "base/file/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

#define MOST_LINKS	40 /* the kernel's limit */
#define TEMPORARY_TRIES 100

/* The state and result of resolving a path. */
struct place {
	int folder;
	struct stat folder_status, status;
	bool exists;	/* status is that of the existing file */
	bool is_magic;	/* a link below /proc that is not a path: only the kernel can follow it */
	bool is_folder; /* the path ends in a slash, in . or in .. */
	const char *name;
	char rest[PATH_MAX]; /* the path not yet resolved; name points into it at the end */
	unsigned nr_links;
};

/* --- resolving the path ---------------------------------------------------------------------- */

/* True if other users may add files to the directory, but not replace others' files. */
static bool is_shared(const struct stat *folder)
{
	return folder->st_mode & S_ISVTX && folder->st_mode & (S_IWGRP | S_IWOTH);
}

bool out_file_is_trusted(const struct stat *folder, const struct stat *status)
{
	return !is_shared(folder) || status->st_uid == geteuid() ||
	       status->st_uid == folder->st_uid;
}

static int refuse(const struct out_file *file, const struct stat *status, struct error *error)
{
	(void)error_set(
		error, -EACCES,
		"cannot write '%s': the existing %s belongs to user %u, in a directory that others "
		"may write to",
		file->path,
		S_ISLNK(status->st_mode)    ? "symlink"
		: S_ISFIFO(status->st_mode) ? "fifo"
					    : "file",
		status->st_uid);
	error_hint(error, "remove it, or choose a file in a directory of your own");
	return -EACCES;
}

static int fail(const struct out_file *file, int code, struct error *error)
{
	errno = -code;
	return error_set_errno(error, "cannot write '%s'", file->path);
}

static int enter_named(struct place *place, const char *name)
{
	int from = place->folder >= 0 ? place->folder : AT_FDCWD;
	int fd = openat(from, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (place->folder >= 0)
		(void)close(place->folder);
	place->folder = fd;
	return fstat(fd, &place->folder_status) < 0 ? -errno : 0;
}

static bool is_proc(const struct place *place)
{
	struct statfs status;

	return fstatfs(place->folder, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

/* Replaces a symlink in the path by its target, followed by the rest of the path, `behind`. */
static int follow_link(struct place *place, const char *name, const char *behind)
{
	char text[PATH_MAX];
	ssize_t nr = readlinkat(place->folder, name, text, sizeof(text));
	size_t nr_behind = strlen(behind);

	if (nr < 0)
		return -errno;
	if (place->nr_links++ == MOST_LINKS)
		return -ELOOP;
	if ((size_t)nr + nr_behind + 1 > sizeof(place->rest))
		return -ENAMETOOLONG;
	memmove(place->rest + nr, behind, nr_behind + 1);
	memcpy(place->rest, text, (size_t)nr);
	return nr && text[0] == '/' ? enter_named(place, "/") : 0;
}

/*
 * Resolves the path, up to its end or to an untrusted symlink, whose status is then in
 * place->status. 0, -EACCES with *ret_refused for such a link, or another negative errno.
 */
static int walk(struct place *place, const char *path, bool *ret_refused)
{
	int err = enter_named(place, *path == '/' ? "/" : ".");

	if (strlen(path) >= sizeof(place->rest))
		return -ENAMETOOLONG;
	memcpy(place->rest, path, strlen(path) + 1);
	while (!err) {
		char *name = place->rest + strspn(place->rest, "/");
		char part[NAME_MAX + 1];
		size_t nr = strcspn(name, "/");
		bool is_last = !name[nr], is_link;

		if (nr > NAME_MAX)
			return -ENAMETOOLONG;
		(void)snprintf(part, sizeof(part), "%.*s", (int)nr, name);
		place->name = name;
		place->is_folder = !nr || !strcmp(part, ".") || !strcmp(part, "..");
		if (is_last && place->is_folder)
			return 0;
		place->exists =
			fstatat(place->folder, part, &place->status, AT_SYMLINK_NOFOLLOW) == 0;
		if (!place->exists)
			return is_last && errno == ENOENT ? 0 : -errno;
		is_link = S_ISLNK(place->status.st_mode);
		if (is_link && !out_file_is_trusted(&place->folder_status, &place->status)) {
			*ret_refused = true;
			return -EACCES;
		}
		place->is_magic = is_link && is_proc(place);
		if (is_last && (!is_link || place->is_magic))
			return 0;
		if (is_link && !place->is_magic) {
			err = follow_link(place, part, name + nr);
		} else {
			err = enter_named(place, part);
			memmove(place->rest, name + nr, strlen(name + nr) + 1);
		}
	}
	return err;
}

/* --- the file -------------------------------------------------------------------------------- */

/* Makes a file with a new random name beside the target, in up to TEMPORARY_TRIES attempts. */
static int choose_temporary(struct out_file *file, int (*make)(const struct out_file *file))
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
	uint8_t random[8];
	char word[sizeof(random) + 1] = "";
	int fd = -1, i;
	size_t k;

	for (i = 0; i < TEMPORARY_TRIES; i++) {
		if (getrandom(random, sizeof(random), 0) != sizeof(random))
			return -1;
		for (k = 0; k < sizeof(random); k++)
			word[k] = letters[random[k] % 32];
		file->temporary =
			text_printf("%.*s.%s", NAME_MAX - (int)sizeof(word), file->name, word);
		if (!file->temporary)
			return -1; /* errno is ENOMEM */
		fd = make(file);
		if (fd >= 0)
			return fd;
		free(file->temporary);
		file->temporary = NULL;
		if (errno != EEXIST)
			return -1;
	}
	return -1;
}

static int make_named(const struct out_file *file)
{
	return openat(file->folder, file->temporary,
		      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

/*
 * Opens a file without a name, so that nothing is left if we are killed; with a temporary name if
 * the file system doesn't support that.
 */
static int open_temporary(struct out_file *file)
{
	int fd = openat(file->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);

	return fd >= 0 ? fd : choose_temporary(file, make_named);
}

/* The descriptor that /dev/stdout, /dev/fd/7 or /proc/self/fd/7 refers to; or -1. */
static int own_descriptor(const char *path)
{
	int number, nr = 0;

	if (!strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	if ((sscanf(path, "/dev/fd/%d%n", &number, &nr) == 1 ||
	     sscanf(path, "/proc/self/fd/%d%n", &number, &nr) == 1) &&
	    !path[nr] && number >= 0)
		return number;
	return -1;
}

static int open_magic(const struct place *place)
{
	struct stat status;
	cleanup_fd int fd = openat(place->folder, place->name, O_WRONLY | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &status) < 0 || (S_ISREG(status.st_mode) && ftruncate(fd, 0) < 0))
		return -1;
	return take_fd(&fd);
}

/*
 * An existing file is opened for writing even if it will be replaced: a user who may not write it
 * may not replace it. O_CREAT, as in a shell, makes the kernel apply its own rules
 * (fs.protected_*), too.
 */
static int open_existing(struct out_file *file, const struct place *place)
{
	struct stat status;
	int new_fd;
	cleanup_fd int fd = openat(place->folder, place->name,
				   O_WRONLY | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0666);

	if (fd < 0 || fstat(fd, &status) < 0)
		return -1;
	if (status.st_dev != place->status.st_dev || status.st_ino != place->status.st_ino) {
		errno = ESTALE; /* replaced since it was looked at */
		return -1;
	}
	if (!S_ISREG(status.st_mode))
		return take_fd(&fd);
	new_fd = open_temporary(file);
	if (new_fd < 0)
		return -1;
	/* The mode first: later the file may be somebody else's. */
	(void)fchmod(new_fd, status.st_mode & 0777);
	(void)!fchown(new_fd, status.st_uid, status.st_gid);
	return new_fd;
}

static int open_place(struct out_file *file, struct place *place, struct error *error)
{
	int fd;

	if (place->is_folder)
		return fail(file, -EISDIR, error);
	if (place->exists && !out_file_is_trusted(&place->folder_status, &place->status))
		return refuse(file, &place->status, error);
	if (place->is_magic) {
		fd = open_magic(place);
		return fd < 0 ? fail(file, -errno, error) : fd;
	}
	if (!place->exists || S_ISREG(place->status.st_mode)) {
		file->name = strdup(place->name);
		if (!file->name)
			return fail(file, -ENOMEM, error);
		file->folder = place->folder; /* now closed by out_file_abort() */
	}
	fd = place->exists ? open_existing(file, place) : open_temporary(file);
	return fd < 0 ? fail(file, -errno, error) : fd;
}

static int open_fd(struct out_file *file, struct error *error)
{
	int own = own_descriptor(file->path);
	struct place place = {.folder = -1, .name = ""};
	bool is_refused = false;
	int result;

	if (own >= 0) {
		result = fcntl(own, F_DUPFD_CLOEXEC, 0);
		return result < 0 ? fail(file, -errno, error) : result;
	}
	result = walk(&place, file->path, &is_refused);
	if (is_refused)
		result = refuse(file, &place.status, error);
	else if (result < 0)
		result = fail(file, result, error);
	else
		result = open_place(file, &place, error);
	if (place.folder >= 0 && !file->name)
		(void)close(place.folder);
	return result;
}

/*
 * Gives a nameless file its temporary name: linkat() can't replace an existing file, renameat()
 * can.
 */
static int link_nameless(const struct out_file *file)
{
	char self[64];

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(file->stream));
	if (linkat(AT_FDCWD, self, file->folder, file->temporary, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	/* The second way works without /proc, but needs CAP_DAC_READ_SEARCH. */
	return errno == EEXIST ? -1
			       : linkat(fileno(file->stream), "", file->folder, file->temporary,
					AT_EMPTY_PATH);
}

int out_file_open(struct out_file *file, const char *path, struct error *error)
{
	int fd;

	if (!*path)
		return error_set(error, -ENOENT, "cannot write a file: its name is empty");
	*file = (struct out_file){.path = strdup(path)};
	if (!file->path)
		return error_no_memory(error, "");
	fd = open_fd(file, error);
	if (fd < 0) {
		out_file_abort(file);
		return fd;
	}
	file->stream = fdopen(fd, "w");
	if (!file->stream) {
		int err = fail(file, -errno, error);

		(void)close(fd);
		out_file_abort(file);
		return err;
	}
	return 0;
}

void out_file_leave_name(struct out_file *file)
{
	free(file->temporary);
	free(file->name);
	file->temporary = file->name = NULL;
}

int out_file_commit(struct out_file *file, struct error *error)
{
	bool is_nameless = file->name && !file->temporary;
	int err = 0;

	if (fflush(file->stream) != 0 || ferror(file->stream) ||
	    (is_nameless && choose_temporary(file, link_nameless) < 0))
		err = error_set_errno(error, "cannot write '%s'", file->path);
	if (fclose(file->stream) != 0 && !err)
		err = error_set_errno(error, "cannot write '%s'", file->path);
	file->stream = NULL;
	if (!err && file->temporary &&
	    renameat(file->folder, file->temporary, file->folder, file->name) < 0)
		err = error_set_errno(error, "cannot rename '%s' to '%s'", file->temporary,
				      file->path);
	if (!err) {
		free(file->temporary);
		file->temporary = NULL;
	}
	out_file_abort(file);
	return err;
}

void out_file_abort(struct out_file *file)
{
	if (file->stream)
		(void)fclose(file->stream);
	if (file->temporary)
		(void)unlinkat(file->folder, file->temporary, 0);
	if (file->name)
		(void)close(file->folder);
	free(file->temporary);
	free(file->name);
	free(file->path);
	*file = (struct out_file){0};
}
