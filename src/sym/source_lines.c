/*
 * The child writes messages (sym/line_messages) and ends; what it found until it is killed counts.
 *
 * Who the child is: the owner of the file, without any capabilities. He could have run a debugger
 * over the file himself, so a file that takes the child over gains nothing but a look at our memory
 * (base/isolated). Where root owns the file:
 *
 *  - in our own root only root can have put it there, and may have meant its .dwo files for himself
 *    alone: the child stays root, without capabilities;
 *  - in another root it may be the root of a container, whom our own root must not be lent to: user
 *    id 0 may write /proc/sys even without capabilities. The child is nobody there; .dwo files that
 *    nobody may read are not found.
 */
#include "sym/source_lines.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/isolated.h"
#include "base/read_budget.h"
#include "proc/process_info.h"
#include "sym/line_messages.h"

#define MOST_NS	     (30 * NS_PER_SEC)
#define MEMORY_BYTES (8ULL << 30) /* of address space: mapped files count too */
#define MEMORY_SHARE 2		  /* less than that, if it is 1/n of what the host has to spare */
#define NOBODY	     65534

/* The shadow that AddressSanitizer keeps of the address space counts as memory. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_SHADOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SHADOW 1
#endif
#endif
#ifndef HAS_SHADOW
#define HAS_SHADOW 0
#endif

struct work {
	const struct source_lines_place *place;
	struct debug_info_request request;
	struct line_writer *writer; /* in the child */
	struct line_reader *reader; /* in the parent */
	int taken;		    /* in the parent: 0, or what ended the reading of answers */
	char folder[PATH_MAX];
};

/* --- in the child -------------------------------------------------------------------------- */

static int write_found(void *context, size_t i, const struct debug_line *lines, size_t nr_lines)
{
	struct work *work = context;

	return line_writer_add(work->writer, i, lines, nr_lines);
}

static int work_in_child(void *context, int fd)
{
	struct work *work = context;
	struct debug_info_request request = work->request;
	struct debug_info_work done = {0};
	struct error error = {0};
	int err, written;

	work->writer = calloc(1, sizeof(*work->writer));
	if (!work->writer)
		return -ENOMEM;
	work->writer->fd = fd;
	request.found = write_found;
	request.context = work;
	err = debug_info_find(work->place->fd, &request, &done, &error);
	written = err < 0 ? line_writer_error(work->writer, &error)
			  : line_writer_end(work->writer, &done);
	free(work->writer);
	return err < 0 ? err : written;
}

/* --- in the parent ------------------------------------------------------------------------- */

static int take_in_parent(void *context, const void *bytes, size_t nr)
{
	struct work *work = context;

	work->taken = line_reader_take(work->reader, bytes, nr);
	return work->taken;
}

/* The path of what fd is, or false. */
static bool path_of(int fd, char path[PATH_MAX])
{
	char link[40];
	ssize_t nr;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	nr = readlink(link, path, PATH_MAX - 1);
	if (nr <= 0 || path[0] != '/')
		return false;
	path[nr] = '\0';
	return true;
}

/* The folder of the file as it is called within its root; an empty text where that is not known. */
static void find_folder(const struct source_lines_place *place, char folder[PATH_MAX])
{
	char root[PATH_MAX] = "";
	char *last;
	size_t nr;

	if (!path_of(place->fd, folder) || (place->root_fd >= 0 && !path_of(place->root_fd, root)))
		folder[0] = '\0';
	nr = strlen(root);
	/* A root in another mount namespace is called "/" or so, and paths are within it already. */
	if (nr > 1 && !strncmp(folder, root, nr) && folder[nr] == '/')
		memmove(folder, folder + nr, strlen(folder + nr) + 1);
	last = strrchr(folder, '/');
	if (last)
		*last = '\0';
}

/* A part of what the host can spare comes on top of what the child has from us at its begin. */
static uint64_t choose_memory(void)
{
	uint64_t spare = read_budget_spare_memory() / MEMORY_SHARE;
	uint64_t most = MEMORY_BYTES;

	if (HAS_SHADOW)
		return 0;
	if (spare < most)
		most = process_own_address_space() + spare;
	return most < MEMORY_BYTES ? most : MEMORY_BYTES;
}

static int choose_isolation(struct isolation *ret, const struct source_lines_place *place,
			    struct error *error)
{
	struct stat file;

	if (fstat(place->fd, &file) < 0)
		return error_set_errno(error, "cannot tell whose file it is");
	*ret = (struct isolation){
		.timeout_ns = place->most_ns && place->most_ns < MOST_NS ? place->most_ns : MOST_NS,
		.memory_bytes = choose_memory(),
		.root_fd = place->root_fd,
		.uid = file.st_uid,
		.gid = file.st_gid,
		.fds = &place->fd,
		.nr_fds = 1,
	};
	if (file.st_uid == 0 && place->root_fd >= 0)
		ret->uid = ret->gid = NOBODY;
	return 0;
}

int source_lines_find(const struct source_lines_place *place,
		      const struct debug_info_request *request, struct debug_info_work *ret,
		      struct error *error)
{
	struct work work = {.place = place, .request = *request};
	struct error own = {0};
	struct isolation limits;
	int err;

	err = choose_isolation(&limits, place, error);
	if (err < 0)
		return err;
	if (!work.request.folder) {
		find_folder(place, work.folder);
		work.request.folder = work.folder[0] ? work.folder : NULL;
	}
	work.reader = line_reader_new(request, error);
	if (!work.reader)
		return -ENOMEM;
	err = isolated_run(work_in_child, take_in_parent, &work, &limits, &own);
	/* A file that the child's memory is not enough for is no reason for us to give up. */
	if (err == -ENOMEM && work.taken == 0)
		err = -E2BIG;
	err = line_reader_end(work.reader, err, ret, &own);
	line_reader_free(work.reader);
	if (err < 0 && error && own.text[0])
		*error = own;
	return err;
}
