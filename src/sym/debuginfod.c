/*
 * The process that asks servers, and the one that waits for it.
 *
 * The client library is loaded by name, as elfutils does it: a profiler need not depend on an HTTP library. A static
 * binary can't load libraries and does without debuginfod.
 *
 * Stook forks, executes itself, and kills the child at the time limit. Executed anew, the child has no copy of
 * Stook's memory that a compromised library could send away. It drops its rights before it loads the library. Of
 * root's environment it gets what the library and its libraries use: no HOME, and no secrets of others.
 *
 * Root's client is asked only for success: where its cache has the file is known, so it cannot choose a path. The
 * paths of an ordinary user's client are used, since it has all rights of that user anyway.
 */
#include "sym/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file/own_folder.h"
#include "base/isolated.h"
#include "elf/image/debug_link.h"
#include "proc/process_info.h"
#include "worker/confine.h"

#define CLIENT_NAME    "stook-fetcher"
#define CACHE_VARIABLE "DEBUGINFOD_CACHE_PATH"
#define PATH_BYTES     4096
#define ANSWER_FD      3 /* of the client */

/* Address space of root's client, which writes files piece by piece. */
#define CLIENT_MAX_BYTES (1ULL << 30)

/* After this time a server that failed is asked again, if the run goes on for so long. */
#define FORGIVEN_NS (600 * NS_PER_SEC)

struct debuginfod {
	uint64_t waited_ns;
	const char *trouble;
	uint64_t failed_ns; /* if the trouble is that of a server: when that was */
	bool is_forgiven;   /* servers are asked nevertheless */
	const char *cache;  /* of root's client; NULL: the library's usual one */
	int cache_fd;	    /* of that folder; -1: not opened */
	struct error error; /* why not */
};

struct question {
	char build_id[DEBUG_FILE_ID_BYTES]; /* in hexadecimal; empty: to load the library is all */
	const char *cache;		    /* see struct debuginfod */
	char *path;			    /* the answer, at most PATH_BYTES */
	size_t path_bytes;
};

/* --- the client ------------------------------------------------------------------------------- */

#ifdef STOOK_STATIC
static int ask(const char *build_id)
{
	return -ENOSYS;
}
#else
/* Writes the path of the file in the cache. Process exit frees everything. */
static int ask(const char *build_id)
{
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
	if (!*build_id)
		return 0;
	fd = find(client, (const unsigned char *)build_id, 0 /* it is a string */, &path);
	if (fd < 0 || !path)
		return fd < 0 ? fd : -ENOENT;
	return write(ANSWER_FD, path, strlen(path)) < 0 ? -errno : 0;
}
#endif

/* Libraries for the network start threads, so that the number of tasks has no limit. */
static int confine(void)
{
	static const int kept[] = {ANSWER_FD};
	const bool is_root = geteuid() == 0;
	const struct isolation limits = {
		.timeout_ns = DEBUGINFOD_MAX_NS,
		.memory_bytes = is_root && !ISOLATED_HAS_SHADOW ? CLIENT_MAX_BYTES : 0,
		.written_bytes = DEBUGINFOD_MAX_BYTES,
		.root_fd = -1,
		.uid = is_root ? DEBUGINFOD_USER : (uid_t)-1,
		.gid = DEBUGINFOD_USER,
		.fds = kept,
		.nr_fds = ARRAY_SIZE(kept),
		.may_fork = true,
	};
	int err = isolated_confine(&limits, NULL);

	if (err == 0 && is_root)
		err = confine_client(getenv(CACHE_VARIABLE), NULL);
	return err < 0 ? -EPERM : 0;
}

int debuginfod_main(int argc, char **argv)
{
	int err;

	if (argc != 2 || strcmp(argv[0], CLIENT_NAME) != 0)
		return -1;
	(void)prctl(PR_SET_NAME, CLIENT_NAME);
	err = confine();
	if (err == 0)
		err = ask(argv[1]);
	/* Without exit handlers: those of libraries would wait for their threads. */
	_exit(-err);
}

/* --- starting the client ---------------------------------------------------------------------- */

/* Variables of the client library, and of those for HTTP, TLS and names of hosts. */
static const char *const passed[] = {
	"DEBUGINFOD_",	"LD_LIBRARY_PATH=", "SSL_CERT_DIR=", "SSL_CERT_FILE=", "LOCALDOMAIN=",
	"RES_OPTIONS=", "http_proxy=",	    "https_proxy=",  "HTTPS_PROXY=",   "all_proxy=",
	"ALL_PROXY=",	"no_proxy=",	    "NO_PROXY=",
};

static bool is_passed(const char *variable)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(passed); i++)
		if (!strncmp(variable, passed[i], strlen(passed[i])))
			return true;
	return false;
}

/* Changes the environment of the child to that of root's client. */
static int clean_environment(const char *cache)
{
	char **from, **to = environ;

	for (from = environ; *from; from++)
		if (is_passed(*from))
			*to++ = *from;
	*to = NULL;
	return cache ? setenv(CACHE_VARIABLE, cache, 1) : unsetenv(CACHE_VARIABLE);
}

/* Runs in the child: becomes the client. */
static int execute(void *context, int pipe_fd)
{
	struct question *question = context;
	char name[] = CLIENT_NAME;
	char *const argv[] = {name, question->build_id, NULL};

	if (geteuid() == 0 && clean_environment(question->cache) < 0)
		return -ENOMEM;
	/* Otherwise the exec could give it the capabilities of the file. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -ECHILD;
	if (pipe_fd == ANSWER_FD ? fcntl(pipe_fd, F_SETFD, 0) < 0 : dup2(pipe_fd, ANSWER_FD) < 0)
		return -ECHILD;
	(void)execve(PROCESS_OWN_PROGRAM, argv, environ);
	return -ECHILD;
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

/* The client drops its rights itself; until its exec, the child is our own code. stop_fd: -1: none. */
static int run(struct question *question, uint64_t timeout_ns, int stop_fd)
{
	const struct isolation limits = {
		.timeout_ns = timeout_ns,
		.stop_fd = stop_fd,
		.root_fd = -1,
		.uid = (uid_t)-1,
		.is_trusted = true,
	};

	return isolated_run(execute, take_path, question, &limits, NULL);
}

static void note_failure(struct debuginfod *client, const char *trouble)
{
	client->trouble = trouble;
	client->failed_ns = clock_now_ns();
	client->is_forgiven = false;
}

void debuginfod_forgive(struct debuginfod *client)
{
	if (!client || !client->failed_ns || clock_now_ns() - client->failed_ns < FORGIVEN_NS)
		return;
	client->is_forgiven = true;
	client->failed_ns = client->waited_ns = 0;
}

/* After a failure no server is asked for a while. A file that no server has is not a failure. */
static void note_trouble(struct debuginfod *client, int err)
{
	if (err == -ENOSYS)
		client->trouble = "cannot load its client library (libdebuginfod.so.1)";
	else if (err == -ECHILD)
		client->trouble = "cannot start its client";
	else if (err == -EPERM)
		client->trouble = "its client cannot give up root's rights: that needs CAP_SETUID, "
				  "CAP_SETGID, and seccomp";
	else if (err == -ETIME || client->waited_ns >= DEBUGINFOD_MAX_NS)
		note_failure(client, "timed out");
	else if (err < 0 && err != -ENOENT && err != -ECANCELED)
		note_failure(client, strerrordesc_np(-err));
}

const char *debuginfod_check(void)
{
	struct debuginfod client = {.cache_fd = -1};
	char path[PATH_BYTES];
	struct question question = {.path = path};

	note_trouble(&client, run(&question, NS_PER_SEC, -1));
	return client.trouble;
}

/* --- files ------------------------------------------------------------------------------------ */

struct debuginfod *debuginfod_new(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct debuginfod *client = urls && *urls ? calloc(1, sizeof(*client)) : NULL;

	if (client)
		client->cache_fd = -1;
	return client;
}

void debuginfod_free(struct debuginfod *client)
{
	if (client && client->cache_fd >= 0)
		(void)close(client->cache_fd);
	free(client);
}

/* True if the opener may read what root's client has stored, which is another user's. */
static bool may_read_cache(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	return syscall(SYS_capget, &header, data) < 0 ||
	       data[0].effective & 1U << CAP_DAC_READ_SEARCH;
}

/* Makes or opens the folder of root's client; its trouble says why that failed. Ordinary users have none. */
static void open_cache(struct debuginfod *client)
{
	const char *chosen = getenv(CACHE_VARIABLE);
	struct own_folder folder = {.path = DEBUGINFOD_FOLDER,
				    .what_for = "keep debug files",
				    .owner = DEBUGINFOD_USER,
				    .nr_made = 2};

	if (geteuid() != 0 || client->cache_fd >= 0)
		return;
	if (chosen && *chosen) {
		folder.path = chosen;
		folder.nr_made = 1;
	}
	client->cache = folder.path;
	client->cache_fd = own_folder_open(&folder, &client->error);
	if (client->cache_fd < 0)
		client->trouble = client->error.text;
	else if (!may_read_cache())
		client->trouble = "its files cannot be read without CAP_DAC_READ_SEARCH";
}

/* Has the client ask for the file: 0, or -ENOENT. */
static int find_on_servers(struct debuginfod *client, struct question *question,
			   const struct read_budget *budget)
{
	const uint64_t began_ns = clock_now_ns(), budget_ns = read_budget_left_ns(budget);
	uint64_t left_ns = DEBUGINFOD_MAX_NS - client->waited_ns;
	int err;

	if (budget_ns < left_ns)
		left_ns = budget_ns;
	if (!client->trouble)
		open_cache(client);
	if ((client->trouble && !client->is_forgiven) || !*question->build_id || !left_ns)
		return -ENOENT;
	question->cache = client->cache;
	err = run(question, left_ns, read_budget_stop_fd(budget));
	client->waited_ns += clock_now_ns() - began_ns;
	note_trouble(client, err);
	return err < 0 || !question->path_bytes ? -ENOENT : 0;
}

int debuginfod_place(struct debuginfod *client, const struct worker_want *want,
		     const struct read_budget *budget, struct worker_place *ret)
{
	char id[DEBUG_FILE_ID_BYTES], path[PATH_BYTES];
	struct question question = {.path = path};

	if (!client || want->place)
		return -ENODATA;
	debug_file_id(want->build_id, want->build_id_bytes, id);
	if (*id)
		(void)snprintf(question.build_id, sizeof(question.build_id), "%.2s%s", id, id + 3);
	if (find_on_servers(client, &question, budget) < 0)
		return -ENODATA;
	path[question.path_bytes] = '\0';
	*ret = (struct worker_place){.root_fd = client->cache_fd};
	if (client->cache_fd >= 0) {
		(void)snprintf(path, sizeof(path), "%s/debuginfo", question.build_id);
		ret->is_owned = true;
		file_owners_add(&ret->owners, DEBUGINFOD_USER);
	}
	worker_place_add(ret, path);
	return 0;
}

const char *debuginfod_trouble(const struct debuginfod *client)
{
	return client ? client->trouble : NULL;
}
