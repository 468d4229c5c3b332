/*
 * A VFS of SQLite, its layer of files, for readers.
 *
 * SQLite's own can read without rights to write too, but it opens files itself, and fails if the log of a store that
 * was closed in good order is missing: it would have to create it. Here a missing log is an empty one.
 *
 * A database in WAL mode has three files: the database; the log (-wal), to which transactions are appended until a
 * checkpoint copies them to the database; and the shared memory (-shm), an index of the log, with locks at fixed
 * offsets (https://sqlite.org/walformat.html). Only the writer keeps the index up to date. If nobody holds the lock by
 * which writers say that they have the index open, SQLite is told so (SQLITE_READONLY_CANTINIT) and reads the log
 * instead.
 *
 * The locks belong to open files, not to the process: those of the process would be released when any descriptor of
 * the same file is closed.
 */
#include "store/read_vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"

/* Bytes of the database file that are locked, and of the shared memory. */
#define LOCK_PENDING	   0x40000000
#define LOCK_SHARED	   (LOCK_PENDING + 2)
#define LOCK_SHARED_BYTES  510
#define LOCK_INDEX	   120 /* the first of SQLITE_SHM_NLOCK locks of the index */
#define LOCK_INDEX_IS_OPEN (LOCK_INDEX + SQLITE_SHM_NLOCK)
#define LOCK_OF_WRITERS	   0 /* of the index */

#define NAME_BYTES 32

struct read_vfs {
	sqlite3_vfs vfs; /* pAppData is this struct */
	char name[NAME_BYTES];
	store_open_fn *open;
	void *context;
	const char *path; /* the caller's */
	int fd;		  /* of the database, until SQLite opens it; then -1 */
};

/* A part of the shared memory. */
struct region {
	void *pages; /* mapped */
	size_t bytes;
	volatile uint8_t *start; /* in the pages */
};

struct read_file {
	sqlite3_file base;
	struct read_vfs *vfs;
	const char *path; /* SQLite's, valid while the file is open */
	int fd;		  /* -1: a log that does not exist */
	int index_fd;	  /* of the database's shared memory; -1: not opened, or there is none */
	bool has_index_lock;
	struct region *regions;
	size_t nr_regions, cap_regions;
};

static struct read_file *file_of(sqlite3_file *file)
{
	return (struct read_file *)file;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The log may be created at any time, by a writer that starts. */
static int open_again(struct read_file *file)
{
	if (file->fd < 0)
		file->fd = file->vfs->open(file->vfs->context, file->path);
	return file->fd;
}

static int read_bytes(sqlite3_file *base, void *to, int nr, sqlite3_int64 offset)
{
	struct read_file *file = file_of(base);
	size_t got = 0;
	ssize_t step = 1;

	while (open_again(file) >= 0 && step > 0 && got < (size_t)nr) {
		step = pread(file->fd, (char *)to + got, (size_t)nr - got, offset + (off_t)got);
		if (step < 0 && errno != EINTR)
			return SQLITE_IOERR_READ;
		got += step > 0 ? (size_t)step : 0;
		step = step < 0 ? 1 : step;
	}
	memset((char *)to + got, 0, (size_t)nr - got);
	return got == (size_t)nr ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int find_size(sqlite3_file *base, sqlite3_int64 *ret)
{
	struct read_file *file = file_of(base);
	struct stat status = {.st_size = 0};

	if (open_again(file) >= 0 && fstat(file->fd, &status) < 0)
		return SQLITE_IOERR_FSTAT;
	*ret = status.st_size;
	return SQLITE_OK;
}

static int refuse_write(sqlite3_file *base, const void *from, int nr, sqlite3_int64 offset)
{
	return SQLITE_READONLY;
}

static int refuse_truncate(sqlite3_file *base, sqlite3_int64 size)
{
	return SQLITE_READONLY;
}

static int ignore_sync(sqlite3_file *base, int flags)
{
	return SQLITE_OK;
}

static int refuse_control(sqlite3_file *base, int op, void *argument)
{
	return SQLITE_NOTFOUND;
}

static int sector_bytes(sqlite3_file *base)
{
	return 4096;
}

static int find_properties(sqlite3_file *base)
{
	return 0;
}

/* --- locks ------------------------------------------------------------------------------------ */

/* type: F_RDLCK or F_UNLCK */
static int set_lock(int fd, short type, off_t start, off_t nr)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = nr};

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return SQLITE_OK;
	return errno == EAGAIN || errno == EACCES ? SQLITE_BUSY : SQLITE_IOERR_LOCK;
}

static int lock_database(sqlite3_file *base, int level)
{
	struct read_file *file = file_of(base);
	int result;

	if (level != SQLITE_LOCK_SHARED)
		return level == SQLITE_LOCK_NONE ? SQLITE_OK : SQLITE_BUSY;
	/* A writer that waits for readers to end has this lock. */
	result = set_lock(file->fd, F_RDLCK, LOCK_PENDING, 1);
	if (result != SQLITE_OK)
		return result;
	result = set_lock(file->fd, F_RDLCK, LOCK_SHARED, LOCK_SHARED_BYTES);
	(void)set_lock(file->fd, F_UNLCK, LOCK_PENDING, 1);
	return result;
}

static int unlock_database(sqlite3_file *base, int level)
{
	if (level == SQLITE_LOCK_NONE)
		(void)set_lock(file_of(base)->fd, F_UNLCK, LOCK_PENDING, 2 + LOCK_SHARED_BYTES);
	return SQLITE_OK;
}

static int find_reserved(sqlite3_file *base, int *ret)
{
	*ret = 0;
	return SQLITE_OK;
}

/* --- shared memory ---------------------------------------------------------------------------- */

/* Opens the index if it is there, and takes the lock by which others see that it is in use. */
static int open_index(struct read_file *file)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_INDEX_IS_OPEN, .l_len = 1};
	cleanup_free char *path = NULL;

	if (file->has_index_lock)
		return SQLITE_OK;
	if (file->index_fd < 0) {
		path = text_printf("%s-shm", file->vfs->path);
		if (!path)
			return SQLITE_NOMEM;
		file->index_fd = file->vfs->open(file->vfs->context, path);
	}
	if (file->index_fd < 0)
		return SQLITE_READONLY_CANTINIT;
	if (fcntl(file->index_fd, F_OFD_GETLK, &lock) < 0)
		return SQLITE_IOERR_SHMLOCK;
	if (lock.l_type == F_UNLCK)
		return SQLITE_READONLY_CANTINIT;
	if (lock.l_type == F_WRLCK || set_lock(file->index_fd, F_RDLCK, LOCK_INDEX_IS_OPEN, 1))
		return SQLITE_BUSY; /* somebody is about to create the index */
	file->has_index_lock = true;
	return SQLITE_OK;
}

static int map_region(struct read_file *file, size_t number, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), start = number * bytes;
	struct region region = {.bytes = start % page + bytes};

	region.pages = mmap(NULL, region.bytes, PROT_READ, MAP_SHARED, file->index_fd,
			    (off_t)(start - start % page));
	if (region.pages == MAP_FAILED)
		return SQLITE_IOERR_SHMMAP;
	region.start = (volatile uint8_t *)region.pages + start % page;
	if (ARRAY_ADD(file->regions, file->nr_regions, file->cap_regions, region) == 0)
		return SQLITE_OK;
	(void)munmap(region.pages, region.bytes);
	return SQLITE_NOMEM;
}

/* *ret is NULL if the index is not that long. */
static int map_index(sqlite3_file *base, int number, int bytes, int extends, void volatile **ret)
{
	struct read_file *file = file_of(base);
	int result = open_index(file);
	struct stat status;

	*ret = NULL;
	if (result != SQLITE_OK)
		return result;
	if (fstat(file->index_fd, &status) < 0)
		return SQLITE_IOERR_SHMSIZE;
	while (result == SQLITE_OK && file->nr_regions <= (size_t)number &&
	       (off_t)(file->nr_regions + 1) * bytes <= status.st_size)
		result = map_region(file, file->nr_regions, (size_t)bytes);
	if (result != SQLITE_OK)
		return result;
	if ((size_t)number < file->nr_regions)
		*ret = file->regions[number].start;
	return SQLITE_READONLY;
}

static int lock_index(sqlite3_file *base, int first, int nr, int flags)
{
	struct read_file *file = file_of(base);

	if (flags & SQLITE_SHM_LOCK && flags & SQLITE_SHM_EXCLUSIVE)
		return SQLITE_BUSY;
	/*
	 * A reader asks for the writers' lock only if the index is not valid. It would give up if it got the lock: it cannot
	 * write the index. But the writer that has it open is about to, so SQLite shall try again.
	 */
	if (flags & SQLITE_SHM_LOCK && first == LOCK_OF_WRITERS)
		return SQLITE_BUSY;
	if (file->index_fd < 0)
		return SQLITE_OK; /* there is nobody to lock out */
	return set_lock(file->index_fd, flags & SQLITE_SHM_LOCK ? F_RDLCK : F_UNLCK,
			LOCK_INDEX + first, nr);
}

static void order_memory(sqlite3_file *base)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static int unmap_index(sqlite3_file *base, int removes)
{
	struct read_file *file = file_of(base);
	size_t i;

	for (i = 0; i < file->nr_regions; i++)
		(void)munmap(file->regions[i].pages, file->regions[i].bytes);
	free(file->regions);
	file->regions = NULL;
	file->nr_regions = file->cap_regions = 0;
	cleanup_close_fd(&file->index_fd);
	file->index_fd = -1;
	file->has_index_lock = false;
	return SQLITE_OK;
}

/* --- files ------------------------------------------------------------------------------------ */

static int close_file(sqlite3_file *base)
{
	(void)unmap_index(base, 0);
	cleanup_close_fd(&file_of(base)->fd);
	return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = close_file,
	.xRead = read_bytes,
	.xWrite = refuse_write,
	.xTruncate = refuse_truncate,
	.xSync = ignore_sync,
	.xFileSize = find_size,
	.xLock = lock_database,
	.xUnlock = unlock_database,
	.xCheckReservedLock = find_reserved,
	.xFileControl = refuse_control,
	.xSectorSize = sector_bytes,
	.xDeviceCharacteristics = find_properties,
	.xShmMap = map_index,
	.xShmLock = lock_index,
	.xShmBarrier = order_memory,
	.xShmUnmap = unmap_index,
};

static struct read_vfs *vfs_of(sqlite3_vfs *vfs)
{
	return vfs->pAppData;
}

/* The database and its log; SQLite is told to keep temporary tables in memory. */
static int open_file(sqlite3_vfs *base, const char *path, sqlite3_file *ret, int flags,
		     int *ret_flags)
{
	struct read_vfs *vfs = vfs_of(base);
	struct read_file *file = file_of(ret);

	*file = (struct read_file){.vfs = vfs, .path = path, .fd = -1, .index_fd = -1};
	if (flags & SQLITE_OPEN_MAIN_DB)
		file->fd = take_fd(&vfs->fd);
	if (file->fd < 0 && !(flags & SQLITE_OPEN_WAL))
		return SQLITE_CANTOPEN;
	file->base.pMethods = &methods;
	if (ret_flags)
		*ret_flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) |
			     SQLITE_OPEN_READONLY;
	return SQLITE_OK;
}

static int ignore_delete(sqlite3_vfs *vfs, const char *path, int syncs)
{
	return SQLITE_OK;
}

/* Only asked for a log, which may be missing, and a journal, which a store does not have. */
static int find_access(sqlite3_vfs *vfs, const char *path, int flags, int *ret)
{
	*ret = text_ends_with(path, strlen(path), "-wal");
	return SQLITE_OK;
}

static int keep_path(sqlite3_vfs *vfs, const char *path, int nr, char *ret)
{
	if (strlen(path) >= (size_t)nr)
		return SQLITE_CANTOPEN;
	(void)strcpy(ret, path);
	return SQLITE_OK;
}

static int make_random(sqlite3_vfs *vfs, int nr, char *ret)
{
	return (int)getrandom(ret, (size_t)nr, 0);
}

static int wait_for(sqlite3_vfs *vfs, int us)
{
	const struct timespec time = {us / 1000000, us % 1000000 * 1000L};

	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	return us;
}

/* No statement of ours asks for the time. */
static int find_time(sqlite3_vfs *vfs, double *ret)
{
	*ret = 0;
	return SQLITE_OK;
}

static int last_error(sqlite3_vfs *vfs, int nr, char *ret)
{
	return 0;
}

struct read_vfs *read_vfs_new(const char *path, store_open_fn *open, void *context,
			      struct error *error)
{
	struct read_vfs *vfs = calloc(1, sizeof(*vfs));
	struct stat status;

	if (!vfs) {
		(void)error_no_memory(error, "for the store");
		return NULL;
	}
	*vfs = (struct read_vfs){
		.vfs = {.iVersion = 1,
			.szOsFile = sizeof(struct read_file),
			.mxPathname = PATH_MAX,
			.zName = vfs->name,
			.pAppData = vfs,
			.xOpen = open_file,
			.xDelete = ignore_delete,
			.xAccess = find_access,
			.xFullPathname = keep_path,
			.xRandomness = make_random,
			.xSleep = wait_for,
			.xCurrentTime = find_time,
			.xGetLastError = last_error},
		.open = open,
		.context = context,
		.path = path,
		.fd = open(context, path),
	};
	(void)snprintf(vfs->name, sizeof(vfs->name), "stook-%p", (void *)vfs);
	if (vfs->fd < 0)
		(void)error_set(error, vfs->fd, "cannot open store '%s': %s", path,
				strerror(-vfs->fd));
	else if (fstat(vfs->fd, &status) < 0 || !S_ISREG(status.st_mode))
		(void)error_set(error, -EBADMSG, "'%s' is not a store of stook", path);
	else if (sqlite3_vfs_register(&vfs->vfs, 0) != SQLITE_OK)
		(void)error_no_memory(error, "for the store");
	else
		return vfs;
	cleanup_close_fd(&vfs->fd);
	free(vfs);
	return NULL;
}

const char *read_vfs_name(const struct read_vfs *vfs)
{
	return vfs->name;
}

void read_vfs_free(struct read_vfs *vfs)
{
	if (!vfs)
		return;
	(void)sqlite3_vfs_unregister(&vfs->vfs);
	cleanup_close_fd(&vfs->fd);
	free(vfs);
}
