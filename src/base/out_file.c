/* Files that appear whole; see out_file.h. */
#include "base/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* mkstemp() makes files that only their owner can read; give what open() would have given. */
static void apply_umask(int fd)
{
	mode_t mask = umask(0);

	(void)umask(mask);
	(void)fchmod(fd, 0666 & ~mask);
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
	fd = mkostemp(file->temporary, O_CLOEXEC);
	if (fd >= 0)
		apply_umask(fd);
	return fd;
}

int out_file_open(struct out_file *file, const char *path, struct error *error)
{
	cleanup_fd int fd = -1;
	int err;

	*file = (struct out_file){.path = strdup(path)};
	if (!file->path)
		return error_set(error, -ENOMEM, "out of memory");
	fd = open_fd(file);
	if (fd < 0) {
		err = error_set_errno(error, "cannot write '%s'", path);
		free(file->temporary);
		file->temporary = NULL;
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

	if (fflush(file->stream) != 0 || ferror(file->stream))
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
	if (file->temporary)
		(void)unlink(file->temporary);
	free(file->temporary);
	free(file->path);
	*file = (struct out_file){0};
}
