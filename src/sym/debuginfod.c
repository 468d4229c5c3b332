/*
 * debuginfod's client library is loaded by name, as elfutils does it: a profiler need not depend on
 * an HTTP library. It runs in a child process, which is killed at the time limit, and returns the
 * path of the file in its cache. A static binary can't load libraries and does without debuginfod.
 */
#include "sym/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/isolated.h"

#define PATH_BYTES 4096

struct debuginfod {
	uint64_t waited_ns;
	const char *trouble;
};

struct question {
	const uint8_t *build_id;
	size_t build_id_bytes;
	char *path; /* the answer, at most PATH_BYTES */
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
/*
 * Runs in the child: writes the path to the pipe. Without a question, the library is all. Process exit frees
 * everything.
 */
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
	if (!question)
		return 0;
	fd = find(client, question->build_id, (int)question->build_id_bytes, &path);
	if (fd < 0 || !path)
		return fd < 0 ? fd : -ENOENT;
	return write(pipe_fd, path, strlen(path)) < 0 ? -errno : 0;
}
#endif

/*
 * The child that asks. It keeps its user, to whom the library's cache belongs, and has no capabilities: for root,
 * other users' files, BPF and other processes are out of reach. Libraries for the network start threads.
 */
static struct isolation fetcher(uint64_t timeout_ns)
{
	return (struct isolation){
		.timeout_ns = timeout_ns,
		.root_fd = -1,
		.uid = (uid_t)-1,
		.written_bytes = DEBUGINFOD_MAX_BYTES,
		.may_fork = true,
	};
}

bool debuginfod_is_there(void)
{
	const struct isolation limits = fetcher(NS_PER_SEC);

	return isolated_run(ask, NULL, NULL, &limits, NULL) == 0;
}

static int take_path(void *context, const void *bytes, size_t nr)
{
	struct question *question = context;

	if (nr >= PATH_BYTES - question->path_bytes)
		return -ENAMETOOLONG;
	memcpy(question->path + question->path_bytes, bytes, nr);
	question->path_bytes += nr;
	return 0;
}

/* After a failure no server is asked again. A file that no server has is not a failure. */
static void note_trouble(struct debuginfod *client, int err)
{
	if (err == -ENOSYS)
		client->trouble = "cannot load its client library (libdebuginfod.so.1)";
	else if (err == -ETIME || client->waited_ns >= DEBUGINFOD_MAX_NS)
		client->trouble = "timed out";
	else if (err < 0 && err != -ENOENT && err != -ECANCELED)
		client->trouble = strerrordesc_np(-err);
}

/* Returns 0 and the path of the file in the client's cache, or -ENOENT. */
static int find_on_servers(struct debuginfod *client, const uint8_t *build_id,
			   size_t build_id_bytes, const struct read_budget *budget,
			   char path[PATH_BYTES])
{
	struct question question = {
		.build_id = build_id, .build_id_bytes = build_id_bytes, .path = path};
	struct isolation limits = fetcher(DEBUGINFOD_MAX_NS - client->waited_ns);
	uint64_t began_ns = clock_now_ns(), left_ns = read_budget_left_ns(budget);
	int err;

	limits.stop_fd = read_budget_stop_fd(budget);
	if (left_ns < limits.timeout_ns)
		limits.timeout_ns = left_ns;
	if (client->trouble || !build_id_bytes || !limits.timeout_ns)
		return -ENOENT;
	err = isolated_run(ask, take_path, &question, &limits, NULL);
	client->waited_ns += clock_now_ns() - began_ns;
	note_trouble(client, err);
	if (err < 0 || !question.path_bytes)
		return -ENOENT;
	path[question.path_bytes] = '\0';
	return 0;
}

int debuginfod_place(struct debuginfod *client, const struct worker_want *want,
		     const struct read_budget *budget, struct worker_place *ret)
{
	char path[PATH_BYTES];

	if (!client || want->place ||
	    find_on_servers(client, want->build_id, want->build_id_bytes, budget, path) < 0)
		return -ENODATA;
	*ret = (struct worker_place){.root_fd = -1};
	worker_place_add(ret, path);
	return 0;
}

const char *debuginfod_trouble(const struct debuginfod *client)
{
	return client ? client->trouble : NULL;
}
