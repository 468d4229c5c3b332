/* A handful of files, known by device and inode: names and paths of one file can differ. */
#include "probe/find/found_files.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/array.h"

#define FILES_MAX 1024 /* of all programs in all containers that were asked for */

static int out_of_memory(struct error *error)
{
	return error_set(error, -ENOMEM, "out of memory for files");
}

static struct user_file *find_file(const struct found_files *found, const struct stat *st)
{
	size_t i;

	for (i = 0; i < found->nr; i++)
		if (found->files[i]->device == st->st_dev && found->files[i]->inode == st->st_ino)
			return found->files[i];
	return NULL;
}

static int take_exclusions(const struct found_files *found, struct user_file *file)
{
	size_t i;

	for (i = 0; i < found->nr_left_out; i++) {
		const struct left_out_file *left_out = &found->left_out[i];

		if (!left_out->pattern->is_any_kind &&
		    (left_out->device != file->device || left_out->inode != file->inode))
			continue;
		if (exclusions_add(&file->exclusions, left_out->pattern) < 0)
			return -ENOMEM;
	}
	return 0;
}

int found_files_add(struct found_files *found, struct program_file *from, struct user_file **ret,
		    struct error *error)
{
	struct user_file *file;
	struct stat st;
	int err;

	if (fstat(from->fd, &st) < 0)
		return error_set_errno(error, "cannot read '%s'", from->path);
	*ret = find_file(found, &st);
	if (*ret)
		return 0;
	if (found->nr == FILES_MAX)
		return error_set(error, -E2BIG, "the patterns are about more than %u files",
				 FILES_MAX);
	file = calloc(1, sizeof(*file));
	if (!file || array_reserve(&found->files, &found->capacity, found->nr + 1,
				   sizeof(struct user_file *)) < 0) {
		free(file);
		return out_of_memory(error);
	}
	err = user_file_open(file, from, error);
	if (err < 0) {
		free(file);
		return err;
	}
	found->files[found->nr++] = file;
	*ret = file;
	return take_exclusions(found, file) < 0 ? out_of_memory(error) : 0;
}

int found_files_leave_out(struct found_files *found, const struct program_file *file,
			  const struct pattern *pattern)
{
	struct stat st = {0};

	if (file && fstat(file->fd, &st) < 0)
		return -errno;
	if (array_reserve(&found->left_out, &found->cap_left_out, found->nr_left_out + 1,
			  sizeof(*found->left_out)) < 0)
		return -ENOMEM;
	found->left_out[found->nr_left_out++] =
		(struct left_out_file){st.st_dev, st.st_ino, pattern};
	return 0;
}

void found_files_clear(struct found_files *found)
{
	size_t i;

	for (i = 0; i < found->nr; i++) {
		user_file_close(found->files[i]);
		free(found->files[i]);
	}
	free(found->files);
	free(found->left_out);
	*found = (struct found_files){0};
}
