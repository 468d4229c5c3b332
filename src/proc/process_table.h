/*
 * The mappings of each process over time: from the kernel's sideband events, in the order of their
 * times, and from /proc/PID/maps for processes that existed before us.
 *
 * Every event is handled twice. It *arrives* soon after it happened, in no strict order: files are
 * opened while their process still exists. It is *replayed* later, in the order of time,
 * interleaved with the records of samples: a process' mappings are the result of the events
 * replayed so far.
 *
 * A process without a fork or exec event is *snapshotted*: its maps are read when the first event
 * or record that refers to it arrives. A snapshot is newer than the events being replayed, which
 * mostly does not matter. Only if there is an exec in between, the snapshot shows another program
 * and is not used for samples before that exec.
 *
 * Reading maps may block, so the table itself does not do it (proc/look.h): a snapshot is wanted, and arrives later.
 * Until then the replay must not pass an event or record that needs it (process_table_awaits()).
 */
#ifndef STOOK_PROC_PROCESS_TABLE_H
#define STOOK_PROC_PROCESS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/file_table.h"
#include "proc/mappings.h"

enum process_event_kind {
	PROCESS_FORK, /* of a new process, not of a thread */
	PROCESS_EXEC,
	PROCESS_MAP,  /* executable memory */
	PROCESS_EXIT, /* of the leading thread */
};

struct process_event {
	enum process_event_kind kind;
	uint64_t time_ns;
	int32_t pid;
	int32_t parent;		/* PROCESS_FORK */
	struct mapping mapping; /* PROCESS_MAP; kind and file are set on arrival */
	struct file_id file_id; /* PROCESS_MAP */
};

/* Limit of processes. Beyond it the table is emptied and starts again with snapshots. */
#define PROCESS_TABLE_MAX 262144

/*
 * Limit of mappings of all processes together, 32 bytes each. Stale mappings are kept, since
 * munmap() is not reported, and a child that adds one to the mappings it inherited needs a copy of
 * all. Beyond the limit, processes with more than PROCESS_TABLE_LARGE mappings are forgotten, and
 * snapshotted when they are next seen; if that is not enough, the table is emptied.
 */
#define PROCESS_TABLE_MAX_MAPPINGS (4u << 20)
#define PROCESS_TABLE_LARGE	   4096

struct process_table;

/* Returns NULL when out of memory. The file table must outlive this table. */
struct process_table *process_table_new(struct file_table *files);
void process_table_free(struct process_table *table);

/* Handles the arrival of an event; path is PROCESS_MAP's. 0 or -ENOMEM. */
int process_table_arrive(struct process_table *table, struct process_event *event,
			 const char *path);

/* Called when a sample of pid arrives: wants a snapshot if it is unknown. 0 or -ENOMEM. */
int process_table_ensure(struct process_table *table, int32_t pid);

/* Takes the next process of which a snapshot is wanted; false: there is none. */
bool process_table_next_look(struct process_table *table, int32_t *ret_pid);

/* Adds an executable mapping to the snapshot of pid. 0 or -ENOMEM. */
int process_table_add_mapping(struct process_table *table, int32_t pid,
			      const struct maps_entry *entry, bool is_memory);

struct maps_looked;

/* Called after the last of its mappings: the snapshot is complete, or failed. 0 or -ENOMEM. */
int process_table_looked(struct process_table *table, int32_t pid,
			 const struct maps_looked *looked);

/* True if records of pid must wait for its snapshot. */
bool process_table_awaits(const struct process_table *table, int32_t pid);

/* True if an event must wait for a snapshot, or to learn what a memfd is. */
bool process_table_awaits_for(const struct process_table *table, const struct process_event *event);

/* Replays an event. 0 or -ENOMEM. */
int process_table_replay(struct process_table *table, const struct process_event *event);

/* The mappings of pid at time_ns, which must be the replay's position; NULL if unknown. */
const struct mappings *process_table_mappings(struct process_table *table, int32_t pid,
					      uint64_t time_ns);

/*
 * Called when the kernel lost events: what is known may be wrong, so every process is snapshotted
 * again when it is next seen.
 */
void process_table_distrust(struct process_table *table);

/* Forgets processes that exited well before now_ns. */
void process_table_purge(struct process_table *table, uint64_t now_ns);

size_t process_table_nr(const struct process_table *table);

/* Number of processes forgotten because of a limit. */
uint64_t process_table_nr_forgotten(const struct process_table *table);

/* Number of processes whose mappings we may not read; only mappings from events are known. */
size_t process_table_nr_refused(const struct process_table *table);

/* Number of processes whose mappings could not be read in time. */
size_t process_table_nr_silent(const struct process_table *table);

#endif
