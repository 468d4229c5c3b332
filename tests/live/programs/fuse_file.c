/*
 * fuse_file BACKING FOLDER FIRST LAST: mounts a file system on FOLDER that has one file, "file".
 *
 * The file has the bytes of BACKING, but each read changes some of them, except from offset FIRST
 * to LAST, where the executed code is. Reads are not cached (direct_io), so two reads give
 * different contents. Implements the FUSE protocol itself, so that nothing needs to be installed.
 * Prints "ready". Mounts for all users, the worst case: without allow_other even root has no
 * access. Runs until it is unmounted.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "burn.h"

#define FILE_NODE   2
#define ROOM	    (1u << 20)
#define READ_MAX    (128u << 10)
#define BYTES_A_LIE 512 /* one byte in 512 is changed */

static int device, backing;
static uint64_t first, last; /* not changed by reads */
static uint64_t state = 88172645463325252ull;

static void reply(uint64_t unique, int err, const void *body, size_t nr)
{
	struct fuse_out_header header = {.unique = unique, .error = -err};
	struct iovec parts[] = {{&header, sizeof(header)}, {(void *)(uintptr_t)body, nr}};

	if (err)
		nr = parts[1].iov_len = 0;
	header.len = (uint32_t)(sizeof(header) + nr);
	(void)!writev(device, parts, 2);
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr attr = {.ino = node, .nlink = 1, .uid = 65534, .gid = 65534};
	struct stat st = {0};

	fstat(backing, &st);
	attr.mode = node == FILE_NODE ? S_IFREG | 0555 : S_IFDIR | 0755;
	attr.size = node == FILE_NODE ? (uint64_t)st.st_size : 0;
	attr.blocks = (attr.size + 511) / 512;
	attr.blksize = 4096;
	return attr;
}

static void answer_init(const struct fuse_in_header *in, const struct fuse_init_in *init)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = init->max_readahead,
		.max_write = READ_MAX,
		.max_background = 16,
	};

	reply(in->unique, 0, &out, sizeof(out));
}

static void answer_lookup(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out out = {.nodeid = FILE_NODE, .attr = attributes(FILE_NODE)};

	reply(in->unique, strcmp(name, "file") ? ENOENT : 0, &out, sizeof(out));
}

static void answer_read(const struct fuse_in_header *in, const struct fuse_read_in *read)
{
	static unsigned char bytes[READ_MAX];
	size_t wanted = read->size < READ_MAX ? read->size : READ_MAX;
	ssize_t nr = pread(backing, bytes, wanted, (off_t)read->offset), i;

	for (i = 0; i < nr; i++) {
		uint64_t at = read->offset + (uint64_t)i;

		if ((at < first || at >= last) && random_next(&state) % BYTES_A_LIE == 0)
			bytes[i] = (unsigned char)(random_next(&state) >> 32);
	}
	reply(in->unique, nr < 0 ? EIO : 0, bytes, nr < 0 ? 0 : (size_t)nr);
}

static void answer(const struct fuse_in_header *in)
{
	const void *body = in + 1;
	struct fuse_attr_out attr = {.attr = attributes(in->nodeid)};
	struct fuse_open_out open = {.open_flags = FOPEN_DIRECT_IO};
	struct fuse_statfs_out statfs = {.st = {.bsize = 4096, .namelen = 255, .frsize = 4096}};
	bool writes;

	switch (in->opcode) {
	case FUSE_INIT:
		answer_init(in, body);
		break;
	case FUSE_LOOKUP:
		answer_lookup(in, body);
		break;
	case FUSE_GETATTR:
		reply(in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_STATFS: /* without it, the files are not accepted as those of a disk */
		reply(in->unique, 0, &statfs, sizeof(statfs));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		writes = (((const struct fuse_open_in *)body)->flags & O_ACCMODE) != O_RDONLY;
		reply(in->unique, writes ? EACCES : 0, &open, sizeof(open));
		break;
	case FUSE_READ:
		answer_read(in, body);
		break;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_READDIR:
	case FUSE_FLUSH:
		reply(in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* no reply expected */
	default:
		reply(in->unique, ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	_Alignas(struct fuse_in_header) static char request[ROOM];
	char options[128];

	if (argc != 5)
		return 2;
	first = strtoull(argv[3], NULL, 0);
	last = strtoull(argv[4], NULL, 0);
	backing = open(argv[1], O_RDONLY | O_CLOEXEC);
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=65534,group_id=65534,allow_other", device);
	if (backing < 0 || device < 0 ||
	    mount("fuse_file", argv[2], "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
		perror("fuse_file");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		ssize_t nr = read(device, request, sizeof(request));

		if (nr < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
			continue;
		if (nr < (ssize_t)sizeof(struct fuse_in_header))
			return 0; /* unmounted */
		answer((const struct fuse_in_header *)request);
	}
}
