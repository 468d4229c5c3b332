/*
 * The client library is loaded by name, as elfutils does it: a profiler need not depend on an HTTP
 * library. It works in a child process, which is ended when the time is up, and tells the path of
 * what it has put into its cache. A static binary can't load libraries, and goes without.
 */
#include "sym/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/isolated.h"
#include "elf/image/elf_image.h"
#include "proc/file_open.h"

#define PATH_BYTES 4096

struct debuginfod {
	uint64_t waited_ns;
	const char *trouble;
};

struct question {
	const uint8_t *build_id;
	size_t build_id_bytes;
	char path[PATH_BYTES]; /* the answer */
	size_t path_bytes;
};

struct debuginfod *debuginfod_new(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && *urls ? calloc(1, sizeof(struct debuginfod)) : NULL;
}

void debuginfod_free(struct debuginfod *client)
{
	free(client);
}

#ifdef STOOK_STATIC
static int ask(void *context, int pipe_fd)
{
	return -ENOSYS;
}
#else
/* In the child: leaves the path on the pipe. What is held goes with the process. */
static int ask(void *context, int pipe_fd)
{
	const struct question *question = context;
	void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);
	void *(*begin)(void) = NULL;
	int (*find)(void *client, const unsigned char *build_id, int bytes, char **path) = NULL;
	char *path = NULL;
	void *client;
	int fd;

	if (!library)
		return -ENOSYS;
	*(void **)&begin = dlsym(library, "debuginfod_begin");
	*(void **)&find = dlsym(library, "debuginfod_find_debuginfo");
	client = begin && find ? begin() : NULL;
	if (!client)
		return -ENOSYS;
	fd = find(client, question->build_id, (int)question->build_id_bytes, &path);
	if (fd < 0 || !path)
		return fd < 0 ? fd : -ENOENT;
	return write(pipe_fd, path, strlen(path)) < 0 ? -errno : 0;
}
#endif

static int take_path(void *context, const void *bytes, size_t nr)
{
	struct question *question = context;

	if (nr >= sizeof(question->path) - question->path_bytes)
		return -ENAMETOOLONG;
	memcpy(question->path + question->path_bytes, bytes, nr);
	question->path_bytes += nr;
	return 0;
}

/* After a trouble nobody is asked any more. That no server has the file is none. */
static void note_trouble(struct debuginfod *client, int err)
{
	if (err == -ENOSYS)
		client->trouble = "its client library (libdebuginfod.so.1) can't be loaded";
	else if (err == -ETIME || client->waited_ns >= DEBUGINFOD_MAX_NS)
		client->trouble = "it took too long";
	else if (err < 0 && err != -ENOENT)
		client->trouble = strerrordesc_np(-err);
}

/* What lies in the cache is what a server called so: that it is the file is for us to see. */
static int open_answer(const struct question *question)
{
	cleanup_fd int fd = file_open_below(-1, question->path);

	if (fd < 0 || !elf_image_fd_has_build_id(fd, question->build_id, question->build_id_bytes))
		return -ENOENT;
	return take_fd(&fd);
}

int debuginfod_open(struct debuginfod *client, const uint8_t *build_id, size_t build_id_bytes)
{
	struct question question = {.build_id = build_id, .build_id_bytes = build_id_bytes};
	struct isolation limits = {
		.timeout_ns = DEBUGINFOD_MAX_NS - client->waited_ns,
		.root_fd = -1,
		.uid = (uid_t)-1,
		.is_trusted = true,
	};
	uint64_t began_ns = clock_now_ns();
	int err;

	if (client->trouble || !build_id_bytes)
		return -ENOENT;
	err = isolated_run(ask, take_path, &question, &limits, NULL);
	client->waited_ns += clock_now_ns() - began_ns;
	note_trouble(client, err);
	if (err < 0 || !question.path_bytes)
		return -ENOENT;
	question.path[question.path_bytes] = '\0';
	return open_answer(&question);
}

const char *debuginfod_trouble(const struct debuginfod *client)
{
	return client ? client->trouble : NULL;
}
