/*
 * dpkg keeps a text file per package that lists its files: 10 MB on a small server, searched in 10
 * ms; one pass looks for all files. Most are found in the few lists that have a similar name, which
 * are read first. Only rpm can read rpm's database: its users get the command
 * that queries it. Nothing is executed, and the network is not used.
 *
 * Debian names packages of debug symbols after the package with the code, NAME-dbgsym, except
 * libc's (libc6-dbg), which is older than this convention.
 */
#include "sym/debug_packages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "base/text.h"

#define LIST_MAX_BYTES (4U << 20) /* per package: larger ones list documentation and headers */

#define LIST_END ".list"

#define STEM_MIN 3 /* shorter parts of names are in too many others */

static const char *const rpm_folders[] = {"/var/lib/rpm", "/usr/lib/sysimage/rpm"};

struct search {
	const char *const *paths;
	size_t nr;
	char **found;
	char *list; /* the current list, with a newline before and after it */
	size_t cap_list;
	size_t nr_left; /* bytes of lists that may still be read */
};

/* --- dpkg ------------------------------------------------------------------------------------ */

/* Lists may have /lib/… for a file mapped as /usr/lib/…: /lib is a link to /usr/lib. */
static const char *without_usr(const char *path)
{
	return text_starts_with(path, "/usr/") ? path + strlen("/usr") : path;
}

static bool has_line(const char *list, const char *path)
{
	const char *tail = without_usr(path), *at = list;
	size_t nr = strlen(tail);

	for (; (at = strstr(at, tail)); at++) {
		if (at[nr] != '\n')
			continue;
		if (at[-1] == '\n' || (at - list >= 5 && !memcmp(at - 5, "\n/usr", 5)))
			return true;
	}
	return false;
}

/* Reads a list into search->list. False on failure, or if it is too large. */
static bool read_list(struct search *search, int folder, const char *name)
{
	cleanup_fd int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	size_t nr;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > LIST_MAX_BYTES ||
	    (size_t)st.st_size > search->nr_left)
		return false;
	nr = (size_t)st.st_size;
	search->nr_left -= nr;
	if (ARRAY_RESERVE(search->list, search->cap_list, nr + 3) < 0 ||
	    fd_read_at(fd, 0, search->list + 1, nr) < 0)
		return false;
	search->list[0] = search->list[nr + 1] = '\n';
	search->list[nr + 2] = '\0';
	return true;
}

/* Returns the hint for the package of a list named `zlib1g:amd64.list`. NULL when out of memory. */
static char *install_words(const char *name)
{
	int nr = (int)strcspn(name, ":");
	bool is_libc;

	if (!name[nr])
		nr = (int)(strlen(name) - strlen(LIST_END));
	is_libc = nr == 5 && !strncmp(name, "libc6", 5);
	return text_printf("install %.*s-%s", nr, name, is_libc ? "dbg" : "dbgsym");
}

/* True if the name of a list has that of a file in it: libelf1.list for /usr/lib/libelf.so.1. */
static bool is_likely(const struct search *search, const char *list)
{
	size_t i;

	for (i = 0; i < search->nr; i++) {
		const char *file = text_file_name(search->paths[i]);
		const size_t nr = strcspn(file, ".-");

		if (nr >= STEM_MIN && memmem(list, strlen(list), file, nr))
			return true;
	}
	return false;
}

static bool is_done(const struct search *search)
{
	size_t i;

	for (i = 0; i < search->nr; i++)
		if (!search->found[i])
			return false;
	return true;
}

static int search_list(struct search *search, int folder, const char *name)
{
	bool is_read = false;
	size_t i;

	for (i = 0; i < search->nr; i++) {
		if (search->found[i])
			continue;
		if (!is_read && !read_list(search, folder, name))
			return 0;
		is_read = true;
		if (!has_line(search->list, search->paths[i]))
			continue;
		search->found[i] = install_words(name);
		if (!search->found[i])
			return -ENOMEM;
	}
	return 0;
}

/* Searches the lists that are likely, or the others. 0 or -ENOMEM. */
static int search_lists(struct search *search, DIR *folder, bool likely)
{
	struct dirent *entry;
	size_t nr_lists = 0;
	int err = 0;

	rewinddir(folder);
	while (!err && nr_lists < DPKG_LISTS_MAX && (entry = readdir(folder))) {
		if (!text_ends_with(entry->d_name, strlen(entry->d_name), LIST_END) ||
		    is_likely(search, entry->d_name) != likely)
			continue;
		nr_lists++;
		err = search_list(search, dirfd(folder), entry->d_name);
	}
	return err;
}

/* 0, -ENOENT if the distribution has no dpkg, or -ENOMEM. */
static int search_dpkg(struct search *search, const char *root)
{
	cleanup_free char *path = text_printf("%s/var/lib/dpkg/info", root);
	DIR *folder;
	int err;

	if (!path)
		return -ENOMEM;
	folder = opendir(path);
	if (!folder)
		return -ENOENT;
	err = search_lists(search, folder, true);
	if (!err && !is_done(search))
		err = search_lists(search, folder, false);
	(void)closedir(folder);
	return err;
}

/* --- rpm ------------------------------------------------------------------------------------- */

/* True if the path needs no quotes in a shell. */
static bool is_plain(const char *path)
{
	return path[0] == '/' && !path[strspn(path, "/abcdefghijklmnopqrstuvwxyz"
						    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")];
}

static int name_rpm_commands(struct search *search, const char *root)
{
	bool has_rpm = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rpm_folders); i++) {
		cleanup_free char *path = text_printf("%s%s", root, rpm_folders[i]);

		if (!path)
			return -ENOMEM;
		has_rpm |= access(path, F_OK) == 0;
	}
	for (i = 0; has_rpm && i < search->nr; i++) {
		if (!is_plain(search->paths[i]))
			continue;
		search->found[i] =
			text_printf("dnf debuginfo-install $(rpm -qf %s)", search->paths[i]);
		if (!search->found[i])
			return -ENOMEM;
	}
	return 0;
}

int debug_packages_find(const char *root, const char *const *paths, size_t nr,
			char *ret[DEBUG_PACKAGES_MAX_PATHS])
{
	struct search search = {
		.paths = paths, .nr = nr, .found = ret, .nr_left = DPKG_LISTS_MAX_BYTES};
	size_t i;
	int err;

	for (i = 0; i < nr; i++)
		ret[i] = NULL;
	err = search_dpkg(&search, root);
	if (err == -ENOENT)
		err = name_rpm_commands(&search, root);
	free(search.list);
	for (i = 0; i < nr && err; i++) {
		free(ret[i]);
		ret[i] = NULL;
	}
	return err;
}
