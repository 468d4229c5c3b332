/*
 * Which process had what mapped, when: from the kernel's sideband events, in the order of their
 * times, and from /proc/PID/maps for processes that were there before us.
 *
 * Every event passes twice. It *arrives* soon after it happened, in no strict order: files are
 * opened while their process still lives. It is *replayed* later, in the order of time, with the
 * records of samples between: a process' mappings are what the replayed events made of them.
 *
 * A process that no event has told of is *snapshotted*: its maps are read when the first sign of it
 * arrives. A snapshot is newer than what is being replayed, and mostly that does not matter; only
 * if an exec falls between is it the wrong program's, and is not used for what came before that
 * exec.
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
	struct mapping mapping; /* PROCESS_MAP; kind and file are filled on arrival */
	struct file_id file_id; /* PROCESS_MAP */
};

/* Past so many processes at once the table starts anew, with snapshots. */
#define PROCESS_TABLE_MAX 262144

/*
 * Mappings of all processes together, 32 bytes each. A process need not have them any more, since
 * nobody tells of munmap(), and a child that adds one to what it inherited needs a copy of all. Past
 * this the processes with more than PROCESS_TABLE_LARGE are forgotten and snapshotted when they are
 * next met; the table starts anew if that is not enough.
 */
#define PROCESS_TABLE_MAX_MAPPINGS (4u << 20)
#define PROCESS_TABLE_LARGE	   4096

struct process_table;

/* NULL when out of memory. The file table must outlive it. */
struct process_table *process_table_new(struct file_table *files);
void process_table_free(struct process_table *table);

/* An event has come; path is PROCESS_MAP's. 0 or -ENOMEM. */
int process_table_arrive(struct process_table *table, struct process_event *event,
			 const char *path);

/* A sample of pid has come: if nothing is known of it, read its maps now. 0 or -ENOMEM. */
int process_table_meet(struct process_table *table, int32_t pid);

/* The event's turn has come. 0 or -ENOMEM. */
int process_table_replay(struct process_table *table, const struct process_event *event);

/* What pid had mapped at time_ns, as far as the replay has come; NULL if that is not known. */
const struct mappings *process_table_mappings(struct process_table *table, int32_t pid,
					      uint64_t time_ns);

/* The kernel lost events: what is known may be wrong. Everything is snapshotted again when met. */
void process_table_distrust(struct process_table *table);

/* Forgets processes that exited well before now_ns. */
void process_table_purge(struct process_table *table, uint64_t now_ns);

size_t process_table_nr(const struct process_table *table);

/* How many processes were forgotten because there was too much to keep. */
uint64_t process_table_nr_forgotten(const struct process_table *table);

/* Processes so far whose mappings we were not permitted to read; only what events tell is known. */
size_t process_table_nr_refused(const struct process_table *table);

#endif
