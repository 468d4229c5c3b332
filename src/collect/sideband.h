/*
 * Events that the kernel reports besides samples: forks, execs, exits, mappings and throttling, in
 * one ring buffer per CPU.
 */
#ifndef STOOK_COLLECT_SIDEBAND_H
#define STOOK_COLLECT_SIDEBAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/cpus.h"
#include "proc/process_table.h"

enum sideband_kind {
	SIDEBAND_PROCESS, /* .process, and .path for a mapping */
	SIDEBAND_LOST, /* .nr_lost events before .time_ns (0: not known) were dropped: ring full */
	SIDEBAND_THROTTLE,   /* the kernel throttled the sampling event .id at .time_ns */
	SIDEBAND_UNTHROTTLE, /* the kernel unthrottled that event at .time_ns */
	SIDEBAND_GONE_CODE,  /* the kernel has unloaded the code .gone, of the name .path */
	SIDEBAND_OTHER,
};

struct sideband_event {
	enum sideband_kind kind;
	struct process_event process;
	const char *path; /* points into the parsed bytes */
	struct {
		uint64_t start, end;
	} gone;
	uint64_t nr_lost;
	uint64_t time_ns, id;
};

/*
 * Parses one record of the ring, header included, `bytes` long. Returns false if the record is
 * malformed; ret is then meaningless.
 */
bool sideband_parse(const void *record, size_t bytes, struct sideband_event *ret);

struct sideband;

/*
 * Opens and starts the events on these CPUs. Rings are made smaller, down to a least size, to fit into max_bytes
 * (0: no limit). Returns NULL on failure.
 */
struct sideband *sideband_open(const struct cpus *online, size_t max_bytes, struct error *error);

/* Returns the size of the ring of a CPU, which is chosen for so many. */
size_t sideband_ring_bytes(size_t nr_cpus, size_t page_bytes, size_t max_bytes);
void sideband_close(struct sideband *sideband);

/*
 * Opens new events on a CPU that has come online, or may have been offline meanwhile. Returns 0 or a negative errno;
 * -ENODEV: it is offline.
 */
int sideband_watch(struct sideband *sideband, uint32_t cpu, struct error *error);

/* Number of CPUs that are or were watched. */
size_t sideband_nr(const struct sideband *sideband);

/*
 * Returns a descriptor that is readable when the i-th CPU has events, unless its alarm is paused.
 */
int sideband_alarm_fd(const struct sideband *sideband, size_t i);

/*
 * A wake-up costs CPU time in the task that caused the event. Pauses the alarms of the CPUs that
 * have unread events. Returns true if there are any; the caller then reads the rings at intervals.
 */
bool sideband_pause_alarms(struct sideband *sideband);

/*
 * Resumes all alarms, from the next event on. The caller must read the rings once more afterwards,
 * for earlier events.
 */
void sideband_resume_alarms(struct sideband *sideband);

/*
 * Returns the descriptor of a CPU's ring, to be set as output of that CPU's sampling event; -1:
 * none.
 */
int sideband_fd_of_cpu(const struct sideband *sideband, uint32_t cpu);

/*
 * Calls handle() for every unread event, CPU by CPU: in order of time only within a CPU. Stops
 * early and returns handle()'s result if that is negative.
 */
int sideband_read(struct sideband *sideband,
		  int (*handle)(void *context, struct sideband_event *event), void *context);

#endif
