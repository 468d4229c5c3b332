/*
 * Debug files from debuginfod servers, by the client library of elfutils, which parses answers from the network. It
 * runs in a process of its own, which Stook executes anew and waits for.
 *
 * That process has an ordinary user's own id, and the library's usual cache. If the user is root, it has a user id and
 * a cache of its own, and few rights besides: it can write to its cache, read what all users can read, and use the
 * network. A file from the cache is opened only if it belongs to that user, and parsed like any other user's.
 */
#ifndef STOOK_SYM_DEBUGINFOD_H
#define STOOK_SYM_DEBUGINFOD_H

#include "base/clock.h"
#include "base/file/read_budget.h"
#include "worker/worker.h"

struct debuginfod;

/* Limit on the total time that a run waits for servers; after that none is asked. */
#define DEBUGINFOD_MAX_NS (30 * NS_PER_SEC)

/* Limit on the size of a debug file from a server. */
#define DEBUGINFOD_MAX_BYTES (4ULL << 30)

/*
 * User and group of root's client. Fixed, because the next run uses the cache again. Neither systemd (65520 to 65533)
 * nor Debian (65000 to 65533) gives such ids to anybody, and user namespaces of 65,536 ids have them. Not one of
 * 61184 to 65519: parsers, and systemd's services with DynamicUser=, have those. Not 65534, nobody: files of unknown
 * users are his. Not 65532 and 65533, by which containers often run.
 */
#define DEBUGINFOD_USER 65523

/* Where root's client keeps files, unless DEBUGINFOD_CACHE_PATH is another folder of that user. */
#define DEBUGINFOD_FOLDER "/var/cache/stook/debuginfod"

/* Returns NULL if DEBUGINFOD_URLS is not set, or when out of memory. */
struct debuginfod *debuginfod_new(void);
void debuginfod_free(struct debuginfod *client);

/*
 * Stook's side of a parser's request: downloads the debug file, waiting no longer than the budget (NULL: none)
 * allows. Returns 0, or -ENODATA. The place has a descriptor of the client, which stays its own.
 */
int debuginfod_place(struct debuginfod *client, const struct worker_want *want,
		     const struct read_budget *budget, struct worker_place *ret);

/* Lets a server be asked again that failed ten minutes ago. client: may be NULL. */
void debuginfod_forgive(struct debuginfod *client);

/*
 * Returns why servers were not asked for some files, to report at the end of the run; NULL: no
 * trouble.
 */
const char *debuginfod_trouble(const struct debuginfod *client);

/* Returns why the client cannot run; NULL: it can. No server is asked. */
const char *debuginfod_check(void);

/* Runs the client until its end, if argv[0] is its name, and does not return; else returns -1. */
int debuginfod_main(int argc, char **argv);

#endif
