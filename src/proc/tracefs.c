/*
 * A tracefs mounted at one of its usual places is used as it is. Otherwise it is mounted with the
 * system calls that need no mount point (Linux 5.2). There is only one tracefs, and mounting it
 * again would reset the owner and mode that an administrator gave it to the defaults.
 */
#include "proc/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"

/* All functions of a kernel with many modules take some 5 MB. */
#define FILE_MAX_BYTES (64u << 20)
#define READ_BYTES     (64u << 10)

static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

static int open_mounted(const char *path)
{
	cleanup_fd int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) < 0 || fs.f_type != TRACEFS_MAGIC)
		return -ENOENT;
	return take_fd(&fd);
}

/* Creates a detached mount, which exists as long as its descriptor is open. */
static int open_detached(void)
{
	cleanup_fd int context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	int fd;

	if (context < 0 || syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC,
			  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return fd < 0 ? -errno : fd;
}

static int no_tracefs(int err, struct error *error)
{
	(void)error_set(error, err, "cannot open or mount tracefs: %s", strerror(-err));
	if (err == -EPERM || err == -EACCES)
		error_hint(error, "run as root (mounting it needs CAP_SYS_ADMIN)");
	else if (err == -ENODEV)
		error_hint(error, "this kernel was built without tracing");
	else
		error_hint(error, "mount it: mount -t tracefs tracefs %s", places[0]);
	return err;
}

int tracefs_open(struct error *error)
{
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		fd = open_mounted(places[i]);
		if (fd >= 0)
			return fd;
	}
	fd = open_detached();
	return fd < 0 ? no_tracefs(fd, error) : fd;
}

char *tracefs_read(int tracefs_fd, const char *path, size_t *ret_bytes)
{
	cleanup_fd int fd = openat(tracefs_fd, path, O_RDONLY | O_CLOEXEC);
	cleanup_free char *bytes = NULL;
	size_t nr = 0, capacity = 0;
	ssize_t got;

	if (fd < 0)
		return NULL;
	do { /* these files report no size: read until the end */
		if (nr > FILE_MAX_BYTES) {
			errno = EFBIG;
			return NULL;
		}
		if (ARRAY_RESERVE(bytes, capacity, nr + READ_BYTES + 1) < 0) {
			errno = ENOMEM;
			return NULL;
		}
		got = TEMP_FAILURE_RETRY(read(fd, bytes + nr, READ_BYTES));
		if (got < 0)
			return NULL;
		nr += (size_t)got;
	} while (got);
	bytes[nr] = '\0';
	if (ret_bytes)
		*ret_bytes = nr;
	return take_pointer(&bytes);
}

int tracefs_append(int tracefs_fd, const char *path, const char *text)
{
	cleanup_fd int fd = openat(tracefs_fd, path, O_WRONLY | O_APPEND | O_CLOEXEC);
	size_t nr = strlen(text);
	ssize_t written;

	if (fd < 0)
		return -errno;
	written = TEMP_FAILURE_RETRY(write(fd, text, nr));
	if (written < 0)
		return -errno;
	return (size_t)written == nr ? 0 : -EIO;
}

int64_t tracefs_event_id(int tracefs_fd, const char *event)
{
	cleanup_free char *text = NULL;
	char path[PATH_MAX];
	uint64_t id;
	int err;

	if ((size_t)snprintf(path, sizeof(path), "events/%s/id", event) >= sizeof(path))
		return -ENAMETOOLONG;
	text = tracefs_read(tracefs_fd, path, NULL);
	if (!text)
		return -errno;
	text[strcspn(text, "\n")] = '\0';
	err = number_parse(text, UINT32_MAX, &id);
	return err < 0 ? err : (int64_t)id;
}
