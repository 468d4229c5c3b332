/* Files that appear whole; see out_file.h. */
#include "base/out_file.h"

#include <errno.h>
#include <fcntl.h>
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

static int open_fd(struct out_file *file)
{
	struct stat st;
	int fd;

	if (stat(file->path, &st) == 0 && !S_ISREG(st.st_mode))
		return open(file->path, O_WRONLY | O_CLOEXEC);
	if (asprintf(&file->temporary, "%s.XXXXXX", file->path) < 0) {
		file->temporary = NULL;
		errno = ENOMEM;
		return -1;
	}
	fd = open_nameless(file->path);
	file->nameless = fd >= 0;
	return fd >= 0 ? fd : open_named(file);
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
	if (!err && file->temporary && rename(file->temporary, file->path) < 0)
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
	if (file->temporary && !file->nameless)
		(void)unlink(file->temporary);
	free(file->temporary);
	free(file->path);
	*file = (struct out_file){0};
}
