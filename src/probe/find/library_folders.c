/*
 * ld.so.conf is read, and not the cache that ldconfig makes of it: that has a format of its own for
 * each C library, and the folders say the same. The files may be a container's: what they name is
 * only ever opened below its root, and how much is read has limits.
 */
#include "probe/find/library_folders.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "proc/file_open.h"

#define FOLDERS_MAX    128
#define CONF_MAX_BYTES 65536 /* of a file */
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

static int add(struct library_folders *folders, const char *path)
{
	char *copy;
	size_t i;

	for (i = 0; i < folders->nr; i++)
		if (!strcmp(folders->paths[i], path))
			return 0;
	if (folders->nr == FOLDERS_MAX)
		return 0;
	copy = strdup(path);
	if (!copy || array_reserve(&folders->paths, &folders->capacity, folders->nr + 1,
				   sizeof(*folders->paths)) < 0) {
		free(copy);
		return -ENOMEM;
	}
	folders->paths[folders->nr++] = copy;
	return 0;
}

struct conf_reader {
	struct library_folders *folders;
	int root_fd;
	size_t nr_files; /* that were read */
};

static int read_conf(struct conf_reader *reader, const char *path);

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The entries of a folder that fit a shell pattern, sorted, as glob() has them. */
static int list_folder(DIR *folder, const char *pattern, char **names, size_t *nr)
{
	struct dirent *entry;

	while (*nr < CONF_MAX_NAMES && (entry = readdir(folder))) {
		if (fnmatch(pattern, entry->d_name, FNM_PERIOD))
			continue;
		names[*nr] = strdup(entry->d_name);
		if (!names[*nr])
			return -ENOMEM;
		(*nr)++;
	}
	qsort(names, *nr, sizeof(*names), compare_names);
	return 0;
}

/* What an include line names: a shell pattern, below /etc if it is no whole path. */
static int read_included(struct conf_reader *reader, const char *pattern)
{
	char *names[CONF_MAX_NAMES], folder_path[PATH_MAX], path[2 * PATH_MAX];
	size_t nr = 0, i;
	char *slash;
	DIR *folder;
	int err;

	(void)snprintf(folder_path, sizeof(folder_path), "%s%s", pattern[0] == '/' ? "" : "/etc/",
		       pattern);
	slash = strrchr(folder_path, '/');
	*slash = '\0';
	folder = program_folder_open(reader->root_fd, folder_path);
	if (!folder)
		return 0;
	err = list_folder(folder, slash + 1, names, &nr);
	(void)closedir(folder);
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
	return line[0] == '/' ? add(reader->folders, line) : 0;
}

/* Files may include each other, and themselves, until enough are read. */
static int read_conf(struct conf_reader *reader, const char *path)
{
	cleanup_fd int fd =
		reader->nr_files < CONF_MAX_FILES ? file_open_below(reader->root_fd, path) : -ELOOP;
	cleanup_free char *text = NULL;
	char *line, *rest;
	ssize_t nr;
	int err = 0;

	if (fd < 0)
		return 0; /* what is not there, or not to be read, names none */
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

int library_folders_read(struct library_folders *folders, int root_fd)
{
	struct conf_reader reader = {folders, root_fd, 0};
	int err = read_conf(&reader, "/etc/ld.so.conf");
	size_t i;

	for (i = 0; !err && i < ARRAY_SIZE(usual); i++)
		err = add(folders, usual[i]);
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
