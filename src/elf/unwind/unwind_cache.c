/*
 * The directory of unwind tables. A file's name is the build id in hexadecimal; a file being
 * written is called new-RANDOM until it is renamed. Files with other names are ignored.
 *
 * We run as root, and tables determine which memory of other processes is read. So the path to the
 * directory is resolved step by step, each component opened relative to its parent and checked by
 * its descriptor; after that nothing is done by path. Symlinks are not followed, because they would
 * need the same checks, and the user can specify the real path instead.
 *
 * A load sets the file's modification time (not the access time, which mounts may disable), and the
 * oldest files are removed first. There are no locks: two processes that store the same table write
 * the same bytes. Space is freed after a table has got its name, so the last process to store sees
 * all tables and leaves no more than the limit; two processes that do this at the same time may
 * remove one too many.
 *
 * The checksum is base/hash's, not zlib's CRC-32: it has 64 bits, processes eight bytes per step,
 * and each step is a bijection, so damage within one aligned word is always detected. It detects
 * accidental damage, not manipulation: against that the directory is writable only by us, and
 * tables are checked after loading (unwind_table_check()) as if there were no checksum.
 *
 * The sizes in a header must add up to the size of the file before anything is allocated for them.
 * Files are not synced: a file that is incomplete after a crash of the host is detected by the
 * checksum.
 */
#include "elf/unwind/unwind_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "base/file/own_folder.h"
#include "base/hash.h"

/* --- a table as a file ----------------------------------------------------------------------- */

enum { PART_PAGES, PART_PAGE_WORDS, PART_WORDS, PART_WIDE, NR_PARTS };

/* The table's arrays in the order of the file. */
static void parts_of(const struct unwind_table *table, struct iovec parts[NR_PARTS])
{
	parts[PART_PAGES] = (struct iovec){table->pages, table->nr_pages * sizeof(*table->pages)};
	parts[PART_PAGE_WORDS] =
		(struct iovec){table->page_words, table->nr_pages * sizeof(*table->page_words)};
	parts[PART_WORDS] = (struct iovec){table->words, table->nr_words * sizeof(*table->words)};
	parts[PART_WIDE] = (struct iovec){table->wide, table->nr_wide * sizeof(*table->wide)};
}

uint64_t unwind_file_checksum(const struct unwind_file_header *header,
			      const struct unwind_table *table)
{
	struct unwind_file_header hashed = *header;
	struct iovec parts[NR_PARTS];
	uint64_t hash;
	size_t i;

	hashed.checksum = 0;
	hash = hash_stable_bytes(&hashed, sizeof(hashed));
	parts_of(table, parts);
	for (i = 0; i < NR_PARTS; i++)
		if (parts[i].iov_len)
			hash = hash_stable_add(
				hash, hash_stable_bytes(parts[i].iov_base, parts[i].iov_len));
	return hash;
}

uint64_t unwind_file_bytes(const struct unwind_table *table)
{
	return sizeof(struct unwind_file_header) + unwind_table_bytes(table);
}

int unwind_file_write(int fd, const uint8_t *build_id, size_t build_id_bytes,
		      const struct unwind_table *table)
{
	struct unwind_file_header header = {
		.magic = UNWIND_FILE_MAGIC,
		.version = UNWIND_FORMAT_VERSION,
		.machine = table->machine,
		.build_id_bytes = (uint16_t)build_id_bytes,
		.start = table->start,
		.nr_rows = table->nr_rows,
		.nr_rows_dropped = table->nr_rows_dropped,
		.nr_pages = table->nr_pages,
		.nr_words = (uint32_t)table->nr_words,
		.nr_wide = (uint32_t)table->nr_wide,
	};
	uint64_t offset = sizeof(header);
	struct iovec parts[NR_PARTS];
	size_t i;
	int err;

	if (build_id_bytes > sizeof(header.build_id))
		return -EINVAL;
	memcpy(header.build_id, build_id, build_id_bytes);
	header.checksum = unwind_file_checksum(&header, table);
	err = fd_write_at(fd, 0, &header, sizeof(header));
	parts_of(table, parts);
	for (i = 0; i < NR_PARTS && !err; i++) {
		err = fd_write_at(fd, offset, parts[i].iov_base, parts[i].iov_len);
		offset += parts[i].iov_len;
	}
	return err;
}

/* Allocates at least one element, so that NULL always means out of memory. */
static void *new_array(size_t nr, size_t item_bytes)
{
	return malloc((nr ? nr : 1) * item_bytes);
}

static int copy_arrays(const uint8_t *bytes, struct unwind_table *table)
{
	struct iovec parts[NR_PARTS];
	size_t i;

	table->pages = new_array(table->nr_pages, sizeof(*table->pages));
	table->page_words = new_array(table->nr_pages, sizeof(*table->page_words));
	table->words = new_array(table->nr_words, sizeof(*table->words));
	table->wide = new_array(table->nr_wide, sizeof(*table->wide));
	if (!table->pages || !table->page_words || !table->words || !table->wide)
		return -ENOMEM;
	parts_of(table, parts);
	for (i = 0; i < NR_PARTS; i++) {
		memcpy(parts[i].iov_base, bytes, parts[i].iov_len);
		bytes += parts[i].iov_len;
	}
	return 0;
}

int unwind_file_parse(const void *bytes, size_t nr, const uint8_t *build_id, size_t build_id_bytes,
		      struct unwind_table *ret)
{
	struct unwind_file_header header;
	struct unwind_table table;
	int err;

	if (nr < sizeof(header))
		return -EBADMSG;
	memcpy(&header, bytes, sizeof(header));
	/* Checks the header; the data is checked later. */
	if (header.magic != UNWIND_FILE_MAGIC || header.version != UNWIND_FORMAT_VERSION ||
	    header.build_id_bytes != build_id_bytes || build_id_bytes > sizeof(header.build_id) ||
	    memcmp(header.build_id, build_id, build_id_bytes) != 0 ||
	    header.nr_pages > UNWIND_TABLE_MAX_PAGES || header.nr_words > UNWIND_TABLE_MAX_WORDS ||
	    header.nr_wide > UNWIND_MAX_WIDE)
		return -EBADMSG;
	table = (struct unwind_table){
		.machine = header.machine,
		.start = header.start,
		.nr_pages = header.nr_pages,
		.nr_words = header.nr_words,
		.nr_wide = header.nr_wide,
		.nr_rows = header.nr_rows,
		.nr_rows_dropped = header.nr_rows_dropped,
	};
	if (nr != unwind_file_bytes(&table))
		return -EBADMSG;
	err = copy_arrays((const uint8_t *)bytes + sizeof(header), &table);
	if (!err && (header.checksum != unwind_file_checksum(&header, &table) ||
		     unwind_table_check(&table) < 0))
		err = -EBADMSG;
	if (err < 0)
		unwind_table_clear(&table);
	else
		*ret = table;
	return err;
}

/* Like unwind_file_parse(), of an open file. */
static int read_table(int fd, const uint8_t *build_id, size_t build_id_bytes,
		      struct unwind_table *ret)
{
	cleanup_free uint8_t *bytes = NULL;
	struct stat status;
	int err;

	if (fstat(fd, &status) < 0)
		return -errno;
	if ((uint64_t)status.st_size > UNWIND_FILE_MAX_BYTES ||
	    fd_is_hollow(fd, 0, (uint64_t)status.st_size))
		return -EBADMSG;
	bytes = malloc((size_t)status.st_size + 1);
	if (!bytes)
		return -ENOMEM;
	err = fd_read_at(fd, 0, bytes, (size_t)status.st_size);
	if (err == -ENODATA)
		return -EBADMSG; /* a truncated file is corrupt */
	return err < 0 ? err
		       : unwind_file_parse(bytes, (size_t)status.st_size, build_id, build_id_bytes,
					   ret);
}

/* --- a directory of such files --------------------------------------------------------------- */

#define NAME_BYTES	   (2 * BUILD_ID_MAX_BYTES + 1)
#define NEW_PREFIX	   "new-"
#define NEW_SECONDS	   3600 /* files older than this were abandoned */
#define PARTS_THAT_WE_MAKE 2	/* last components of the path that may be created */
#define WRITABLE_BY_OTHERS (S_IWGRP | S_IWOTH)

struct unwind_cache {
	int folder;
	uint64_t max_bytes;
	bool is_listed;
	uint64_t bytes; /* of all tables when they were last listed, and of those stored since */
};

/* --- the directory --------------------------------------------------------------------------- */

struct unwind_cache *unwind_cache_open(const char *folder, uint64_t max_bytes, struct error *error)
{
	const struct own_folder own = {.path = folder,
				       .what_for = "keep unwind tables",
				       .owner = geteuid(),
				       .nr_made = PARTS_THAT_WE_MAKE};
	struct unwind_cache *cache = malloc(sizeof(*cache));

	if (!cache) {
		(void)error_no_memory(error, "");
		return NULL;
	}
	*cache = (struct unwind_cache){own_folder_open(&own, error), max_bytes};
	if (cache->folder < 0) {
		unwind_cache_close(cache);
		return NULL;
	}
	return cache;
}

void unwind_cache_close(struct unwind_cache *cache)
{
	if (!cache)
		return;
	if (cache->folder >= 0)
		(void)close(cache->folder);
	free(cache);
}

/* --- loading --------------------------------------------------------------------------------- */

static int name_of(const uint8_t *build_id, size_t build_id_bytes, char name[NAME_BYTES])
{
	size_t i;

	if (build_id_bytes == 0 || build_id_bytes > BUILD_ID_MAX_BYTES)
		return -EINVAL;
	for (i = 0; i < build_id_bytes; i++)
		(void)snprintf(name + 2 * i, 3, "%02x", build_id[i]);
	return 0;
}

static bool is_name_of_table(const char *name)
{
	size_t nr = strlen(name);

	return nr > 0 && nr < NAME_BYTES && nr % 2 == 0 && strspn(name, "0123456789abcdef") == nr;
}

int unwind_cache_load(struct unwind_cache *cache, const uint8_t *build_id, size_t build_id_bytes,
		      struct unwind_table *table)
{
	char name[NAME_BYTES];
	cleanup_fd int fd = -1;
	struct stat status;
	int err = name_of(build_id, build_id_bytes, name);

	if (err < 0)
		return err;
	/* O_NONBLOCK: opening a fifo must not block. */
	fd = openat(cache->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno != ELOOP)
		return -errno;
	if (fd >= 0 && fstat(fd, &status) < 0)
		return -errno;
	if (fd < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
	    status.st_mode & WRITABLE_BY_OTHERS)
		err = -EBADMSG;
	else
		err = read_table(fd, build_id, build_id_bytes, table);
	/* Marks the file as used. If that fails, it may only be removed earlier. */
	if (!err)
		(void)futimens(fd, NULL);
	if (err != -EBADMSG)
		return err;
	(void)unlinkat(cache->folder, name, 0);
	return -ENOENT;
}

/* --- making room ----------------------------------------------------------------------------- */

struct stored {
	char name[NAME_BYTES];
	uint64_t bytes;
	struct timespec used;
};

struct listing {
	struct stored *stored;
	size_t nr, capacity;
	uint64_t bytes;
};

static int compare_used(const void *left, const void *right)
{
	const struct timespec *a = &((const struct stored *)left)->used;
	const struct timespec *b = &((const struct stored *)right)->used;

	return COMPARE(a->tv_sec, b->tv_sec) ?: COMPARE(a->tv_nsec, b->tv_nsec);
}

/* Lists all tables but one; removes unfinished files left by killed processes. */
static int list_others(const struct unwind_cache *cache, const char *name, struct listing *listing)
{
	cleanup_fd int fd = openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	DIR *folder;
	int err = 0;

	folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder)
		return -errno;
	(void)take_fd(&fd);
	while (!err && (entry = readdir(folder))) {
		struct stored stored;
		struct stat status;

		if (!strcmp(entry->d_name, name) ||
		    fstatat(cache->folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(status.st_mode))
			continue;
		if (!strncmp(entry->d_name, NEW_PREFIX, strlen(NEW_PREFIX)) &&
		    time(NULL) - status.st_mtime > NEW_SECONDS)
			(void)unlinkat(cache->folder, entry->d_name, 0);
		if (!is_name_of_table(entry->d_name))
			continue;
		err = ARRAY_RESERVE(listing->stored, listing->capacity, listing->nr + 1);
		if (err < 0)
			break;
		(void)snprintf(stored.name, sizeof(stored.name), "%s", entry->d_name);
		stored.bytes = (uint64_t)status.st_size;
		stored.used = status.st_mtim;
		listing->stored[listing->nr++] = stored;
		listing->bytes += stored.bytes;
	}
	(void)closedir(folder);
	return err;
}

/*
 * Removes old tables until there is room for one of this size. The folder is listed only if it may be full, since it
 * can have thousands of tables, and a run can store hundreds.
 */
static int make_room(struct unwind_cache *cache, const char *name, uint64_t bytes)
{
	struct listing listing = {0};
	size_t i;
	int err;

	if (cache->is_listed && cache->bytes + bytes <= cache->max_bytes) {
		cache->bytes += bytes;
		return 0;
	}
	err = list_others(cache, name, &listing);
	if (!err && listing.nr)
		qsort(listing.stored, listing.nr, sizeof(*listing.stored), compare_used);
	for (i = 0; !err && i < listing.nr && listing.bytes > cache->max_bytes - bytes; i++) {
		(void)unlinkat(cache->folder, listing.stored[i].name, 0);
		listing.bytes -= listing.stored[i].bytes;
	}
	cache->is_listed = !err;
	cache->bytes = listing.bytes + bytes;
	free(listing.stored);
	return err;
}

/* --- storing --------------------------------------------------------------------------------- */

/* Creates a file with a temporary name. Returns the descriptor or a negative errno. */
static int open_new(const struct unwind_cache *cache, char name[NAME_BYTES])
{
	uint64_t random;
	int fd;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EAGAIN;
	(void)snprintf(name, NAME_BYTES, NEW_PREFIX "%016llx", (unsigned long long)random);
	fd = openat(cache->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	return fd < 0 ? -errno : fd;
}

int unwind_cache_store(struct unwind_cache *cache, const uint8_t *build_id, size_t build_id_bytes,
		       const struct unwind_table *table)
{
	uint64_t bytes = unwind_file_bytes(table);
	char name[NAME_BYTES], new_name[NAME_BYTES];
	cleanup_fd int fd = -1;
	int err = name_of(build_id, build_id_bytes, name);

	if (err < 0)
		return err;
	if (bytes > cache->max_bytes)
		return -EFBIG;
	fd = open_new(cache, new_name);
	if (fd < 0)
		return fd;
	err = unwind_file_write(fd, build_id, build_id_bytes, table);
	if (!err && renameat(cache->folder, new_name, cache->folder, name) < 0)
		err = -errno;
	if (err < 0) {
		(void)unlinkat(cache->folder, new_name, 0);
		return err;
	}
	return make_room(cache, name, bytes);
}
