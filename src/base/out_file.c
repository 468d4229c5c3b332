/* Files that appear whole; see out_file.h. */
#include "base/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The folder that the file goes into, to be freed. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* A file without a name, of which nothing is left if we are killed; -1 where there is no such. */
static int open_nameless(const char *path)
{
	cleanup_free char *folder = folder_of(path);

	return folder ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
}

static int open_named(struct out_file *file)
{
	mode_t mask = umask(0);
	int fd;

	(void)umask(mask);
	fd = mkostemp(file->temporary, O_CLOEXEC);
	if (fd >= 0)
		(void)fchmod(fd, 0666 & ~mask); /* what open() would have given */
	return fd;
}

/* Beside the target. Takes it. */
static int open_temporary(struct out_file *file, char *target)
{
	int fd;

	file->target = target;
	if (!target || asprintf(&file->temporary, "%s.XXXXXX", target) < 0) {
		file->temporary = NULL;
		errno = ENOMEM;
		return -1;
	}
	fd = open_nameless(target);
	file->nameless = fd >= 0;
	return fd >= 0 ? fd : open_named(file);
}

/* The number in /dev/stdout, /dev/fd/7, /proc/self/fd/7; or -1. */
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

/* What the kernel opened, after all symlinks; NULL if it has no such path (any more). */
static char *path_of(int fd, const struct stat *status)
{
	char self[64], path[PATH_MAX];
	struct stat there;
	ssize_t nr;

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	nr = readlink(self, path, sizeof(path) - 1);
	if (nr <= 0)
		return NULL;
	path[nr] = '\0';
	if (lstat(path, &there) < 0 || there.st_dev != status->st_dev ||
	    there.st_ino != status->st_ino)
		return NULL;
	return strdup(path);
}

/* Written in place where its place is not known. */
static int replace_existing(struct out_file *file, int fd)
{
	struct stat status;
	char *target;
	int new_fd;

	if (fstat(fd, &status) < 0)
		return -1;
	target = path_of(fd, &status);
	if (!target)
		return ftruncate(fd, 0) < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	new_fd = open_temporary(file, target);
	if (new_fd < 0)
		return -1;
	/* The owner first: a change of it takes bits of the mode away. */
	(void)!fchown(new_fd, status.st_uid, status.st_gid);
	(void)fchmod(new_fd, status.st_mode & 0777);
	return new_fd;
}

static int open_fd(struct out_file *file)
{
	int own = own_descriptor(file->path);
	struct stat status, link;
	cleanup_fd int fd = -1;

	if (own >= 0)
		return fcntl(own, F_DUPFD_CLOEXEC, 0);
	if (stat(file->path, &status) == 0 && !S_ISREG(status.st_mode))
		return open(file->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (lstat(file->path, &link) < 0)
		return open_temporary(file, strdup(file->path));
	/* O_CREAT is what a shell would say, too: without it the kernel protects less. */
	fd = open(file->path, O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC, 0666);
	return fd < 0 ? -1 : replace_existing(file, fd);
}

/* Gives a nameless file its temporary name: linking can't replace a file, renaming can. */
static int give_name(struct out_file *file)
{
	char self[64];
	int fd;

	/* mkostemp() finds a free name; the file it makes must go again. */
	fd = mkostemp(file->temporary, O_CLOEXEC);
	if (fd < 0)
		return -1;
	(void)close(fd);
	(void)unlink(file->temporary);
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(file->stream));
	/* The second way needs no /proc, but CAP_DAC_READ_SEARCH. */
	if (linkat(AT_FDCWD, self, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) < 0 &&
	    linkat(fileno(file->stream), "", AT_FDCWD, file->temporary, AT_EMPTY_PATH) < 0)
		return -1;
	file->nameless = false;
	return 0;
}

int out_file_open(struct out_file *file, const char *path, struct error *error)
{
	cleanup_fd int fd = -1;
	int err;

	if (!*path)
		return error_set(error, -ENOENT, "cannot write a file without a name");
	*file = (struct out_file){.path = strdup(path)};
	if (!file->path)
		return error_set(error, -ENOMEM, "out of memory");
	fd = open_fd(file);
	if (fd < 0) {
		err = error_set_errno(error, "cannot write '%s'", path);
		file->nameless = true; /* there is nothing to remove */
		out_file_abort(file);
		return err;
	}
	file->stream = fdopen(fd, "w");
	if (!file->stream) {
		err = error_set_errno(error, "cannot write '%s'", path);
		out_file_abort(file);
		return err;
	}
	(void)take_fd(&fd);
	return 0;
}

int out_file_commit(struct out_file *file, struct error *error)
{
	int err = 0;

	if (fflush(file->stream) != 0 || ferror(file->stream) ||
	    (file->nameless && give_name(file) < 0))
		err = error_set_errno(error, "cannot write '%s'", file->path);
	if (fclose(file->stream) != 0 && !err)
		err = error_set_errno(error, "cannot write '%s'", file->path);
	file->stream = NULL;
	if (!err && file->temporary && rename(file->temporary, file->target) < 0)
		err = error_set_errno(error, "cannot rename '%s' to '%s'", file->temporary,
				      file->target);
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
	if (file->temporary && !file->nameless)
		(void)unlink(file->temporary);
	free(file->temporary);
	free(file->target);
	free(file->path);
	*file = (struct out_file){0};
}
