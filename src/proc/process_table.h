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
 * mostly does not matter: events from before it are skipped. If a fork or exec is older than its end, it may be of
 * another program than the replay is at, and is not used.
 *
 * Mappings belong to one program, as records identify it: they are not used for records of another one. So an exec that
 * was not reported is noticed, and followed by a snapshot.
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
#include "proc/process_names.h"

enum process_event_kind {
	PROCESS_FORK, /* of a new process, not of a thread */
	PROCESS_EXEC,
	PROCESS_RENAME, /* by itself; it is still the same program */
	PROCESS_MAP,	/* executable memory */
	PROCESS_EXIT,	/* of the leading thread */
};

struct process_event {
	enum process_event_kind kind;
	uint64_t time_ns;
	int32_t pid;
	int32_t parent;		       /* PROCESS_FORK */
	struct mapping mapping;	       /* PROCESS_MAP; kind and file are set on arrival */
	struct file_id file_id;	       /* PROCESS_MAP */
	char name[PROCESS_NAME_BYTES]; /* PROCESS_EXEC, PROCESS_RENAME */
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

/*
 * Called when a record of pid, or a fork by it, arrives: wants a snapshot if it is unknown, or events of it may have
 * been lost. program: the record's; NULL: not known. 1 if a snapshot is wanted, 0 or -ENOMEM.
 */
int process_table_ensure(struct process_table *table, int32_t pid, const struct program_id *program,
			 uint64_t time_ns);

/* Takes the next process of which a snapshot is wanted; false: there is none. */
bool process_table_next_look(struct process_table *table, int32_t *ret_pid);

/* Adds an executable mapping to the snapshot of pid. 0 or -ENOMEM. */
int process_table_add_mapping(struct process_table *table, int32_t pid,
			      const struct maps_entry *entry, bool is_memory);

struct maps_looked;

/* Called after the last of its mappings: the snapshot is complete, or failed. 0 or -ENOMEM. */
int process_table_looked(struct process_table *table, int32_t pid,
			 const struct maps_looked *looked);

/*
 * Called when a file of pid turned out to be arranged by another user than its mappings say: it has gone to another user
 * namespace. It is snapshotted at once, since it may not run again for long, or when it is next seen if there were too
 * many snapshots.
 */
void process_table_rearranged(struct process_table *table, int32_t pid);

/*
 * True if a record at the replay's position must wait for a snapshot, which is wanted if the record's program is
 * another one than events have reported.
 */
bool process_table_awaits(struct process_table *table, int32_t pid,
			  const struct program_id *program, uint64_t time_ns);

/* True if an event must wait for a snapshot, or to learn what a memfd is. */
bool process_table_awaits_for(const struct process_table *table, const struct process_event *event);

/* Replays an event. 0 or -ENOMEM. */
int process_table_replay(struct process_table *table, const struct process_event *event);

/*
 * The mappings of a program at time_ns, which must be the replay's position; NULL if they are unknown, or another
 * program's. program NULL: whichever pid runs.
 */
const struct mappings *process_table_mappings(struct process_table *table, int32_t pid,
					      const struct program_id *program, uint64_t time_ns);

/* Returns the mappings of pid if a record has tied them to the program, else NULL: they may be the next program's. */
const struct mappings *process_table_tied_mappings(const struct process_table *table, int32_t pid,
						   const struct program_id *program);

/*
 * Finds a process' name at the replay's position, as far as it is known. Returns the path of its program, valid until
 * the next change; or NULL.
 */
const char *process_table_name(const struct process_table *table, int32_t pid,
			       struct process_name *ret);

/*
 * Called when the kernel lost events, the last of them before until_ns: what is known may be wrong, so each process is
 * snapshotted again when it is next seen, within a budget. Until then its old mappings are used.
 */
void process_table_distrust(struct process_table *table, uint64_t until_ns);

/* Returns how many looks brought mappings so far. They may be those of a program whose exec has not arrived yet. */
uint64_t process_table_nr_looked(const struct process_table *table);

/*
 * Forgets processes that exited well before now_ns, up to which events were replayed, also some of those whose exit was
 * lost; calls gone, if it is not NULL, for each. After many, gives free memory back to the kernel.
 */
typedef void process_gone_fn(void *context, int32_t pid);
void process_table_purge(struct process_table *table, uint64_t now_ns, process_gone_fn *gone,
			 void *context);

/* Marks the files that a process has mapped, see file_table_sweep(). */
void process_table_mark_files(const struct process_table *table);

size_t process_table_nr(const struct process_table *table);

/* Number of times that the mappings of a process were forgotten, or read in part only, because of a limit. */
uint64_t process_table_nr_forgotten(const struct process_table *table);

/* Number of processes whose mappings we may not read; only mappings from events are known. */
size_t process_table_nr_refused(const struct process_table *table);

/* Number of mappings beyond MAPPINGS_MAX of a process, which are not known. */
uint64_t process_table_nr_left_out(const struct process_table *table);

/* Number of times that doubtful mappings were used because maps may not be read that often. */
uint64_t process_table_nr_postponed(const struct process_table *table);

/* Number of processes whose mappings could not be read in time. */
size_t process_table_nr_silent(const struct process_table *table);

#endif
