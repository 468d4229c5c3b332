/*
 * Ending and reading epochs. A map serves one epoch and is then replaced by a new one: emptying it
 * entry by entry would take several times longer, and its CPU takes no samples meanwhile. Counters
 * are never cleared: an epoch's counters are the difference to its slot's last reading.
 */
#include "collect/epochs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/load.h"
#include "proc/process_info.h"

#define READ_BATCH 256

static int create_map(const struct epochs *epochs)
{
	const struct epochs_options *options = &epochs->options;

	return bpf_map_create(BPF_MAP_TYPE_HASH, options->map_name, options->key_bytes,
			      options->value_bytes, options->max_entries, NULL);
}

int epochs_open(struct epochs *epochs, const struct epochs_options *options, struct error *error)
{
	uint32_t slot;

	*epochs = (struct epochs){.options = *options};
	for (slot = 0; slot < WIRE_EPOCH_SLOTS; slot++)
		epochs->fds[slot] = -1;
	epochs->per_cpu = calloc((size_t)options->nr_cpus, options->counters_bytes);
	epochs->now = calloc(1, options->counters_bytes);
	epochs->before = calloc(WIRE_EPOCH_SLOTS, options->counters_bytes);
	if (!epochs->per_cpu || !epochs->now || !epochs->before)
		return error_no_memory(error, "");
	for (slot = 0; slot < WIRE_EPOCH_SLOTS; slot++) {
		int *fd = &epochs->fds[slot];

		*fd = create_map(epochs);
		if (*fd < 0 || bpf_map_update_elem(options->maps_fd, &slot, fd, BPF_ANY) < 0)
			return load_explain(-errno, error);
	}
	return 0;
}

void epochs_close(struct epochs *epochs)
{
	uint32_t slot;

	if (!epochs->options.epoch)
		return;
	for (slot = 0; slot < WIRE_EPOCH_SLOTS; slot++)
		if (epochs->fds[slot] >= 0)
			(void)close(epochs->fds[slot]);
	free(epochs->per_cpu);
	free(epochs->now);
	free(epochs->before);
	*epochs = (struct epochs){0};
}

uint32_t epochs_number(const struct epochs *epochs)
{
	return *epochs->options.epoch;
}

int epochs_turn(struct epochs *epochs, uint64_t *ret_ended_ns, struct error *error)
{
	const struct epochs_options *options = &epochs->options;
	uint32_t ended = epochs_number(epochs);
	uint32_t unused = (ended + 2) % WIRE_EPOCH_SLOTS;
	cleanup_fd int fresh_fd = create_map(epochs);

	if (fresh_fd < 0)
		return error_set_errno(error, "cannot create a %s", options->what);
	__atomic_store_n(options->epoch, ended + 1, __ATOMIC_SEQ_CST);
	*ret_ended_ns = clock_now_ns();
	/* Returns after a grace period. Replaces the map of the epoch before the last. */
	if (bpf_map_update_elem(options->maps_fd, &unused, &fresh_fd, BPF_ANY) < 0)
		return error_set_errno(error, "cannot replace a %s", options->what);
	(void)close(epochs->fds[unused]);
	epochs->fds[unused] = take_fd(&fresh_fd);
	return 0;
}

static uint32_t ended_slot(const struct epochs *epochs)
{
	return (epochs_number(epochs) - 1) % WIRE_EPOCH_SLOTS;
}

/* Sums a slot into epochs->now; ret gets the difference to the slot's last reading. */
static int read_slot(const struct epochs *epochs, uint32_t slot, uint64_t *ret)
{
	size_t nr = epochs->options.counters_bytes / sizeof(*ret), i;
	const uint64_t *before = epochs->before + slot * nr;
	int cpu;

	if (bpf_map_lookup_elem(epochs->options.counters_fd, &slot, epochs->per_cpu) < 0)
		return -errno;
	memset(epochs->now, 0, nr * sizeof(*ret));
	for (cpu = 0; cpu < epochs->options.nr_cpus; cpu++)
		for (i = 0; i < nr; i++)
			epochs->now[i] += epochs->per_cpu[(size_t)cpu * nr + i];
	for (i = 0; i < nr; i++)
		ret[i] = epochs->now[i] - before[i];
	return 0;
}

int epochs_read_counters(struct epochs *epochs, void *ret_counters)
{
	size_t bytes = epochs->options.counters_bytes;
	uint32_t slot = ended_slot(epochs);
	int err = read_slot(epochs, slot, ret_counters);

	if (!err)
		memcpy((char *)epochs->before + slot * bytes, epochs->now, bytes);
	return err;
}

int epochs_read_progress(const struct epochs *epochs, void *ret_counters)
{
	return read_slot(epochs, epochs_number(epochs) % WIRE_EPOCH_SLOTS, ret_counters);
}

int epochs_read_map(const struct epochs *epochs,
		    int (*add)(void *context, const void *key, const void *value), void *context)
{
	const struct epochs_options *options = &epochs->options;
	cleanup_free char *keys = calloc(READ_BATCH, options->key_bytes);
	cleanup_free char *values = calloc(READ_BATCH, options->value_bytes);
	uint32_t position = 0;
	bool first = true, more = true;

	if (!keys || !values)
		return -ENOMEM;
	while (more) {
		uint32_t nr = READ_BATCH, i;

		if (bpf_map_lookup_batch(epochs->fds[ended_slot(epochs)], first ? NULL : &position,
					 &position, keys, values, &nr, NULL) < 0) {
			if (errno != ENOENT)
				return -errno;
			more = false; /* end of the map; nr is still set */
		}
		first = false;
		for (i = 0; i < nr; i++) {
			int err = add(context, keys + (size_t)i * options->key_bytes,
				      values + (size_t)i * options->value_bytes);

			if (err < 0)
				return err;
		}
	}
	return 0;
}

uint64_t epochs_map_bytes(const struct epochs *epochs)
{
	return WIRE_EPOCH_SLOTS * process_own_fd_memory(epochs->fds[0]);
}

/* --- slices of time -------------------------------------------------------------------------- */

void slicing_start(struct slicing *slicing, uint64_t slice_ns, uint64_t now_ns, uint64_t day_ns)
{
	*slicing = (struct slicing){
		.slice_ns = slice_ns,
		.started_ns = now_ns,
		.day_ns = day_ns,
	};
}

static uint64_t cell_at(const struct slicing *slicing, uint64_t time_ns)
{
	return time_ns > slicing->started_ns ? (time_ns - slicing->started_ns) / slicing->slice_ns
					     : 0;
}

void slicing_begin_epoch(struct slicing *slicing, uint32_t epoch, uint64_t now_ns)
{
	if (slicing->slice_ns)
		slicing->cells[epoch % WIRE_EPOCH_SLOTS] = cell_at(slicing, now_ns);
}

uint64_t slicing_end_ns(const struct slicing *slicing, uint32_t epoch)
{
	uint64_t cell = slicing->cells[epoch % WIRE_EPOCH_SLOTS];

	return slicing->slice_ns ? slicing->started_ns + (cell + 1) * slicing->slice_ns
				 : UINT64_MAX;
}

uint64_t slicing_day_ns(const struct slicing *slicing, uint64_t time_ns)
{
	return slicing->day_ns + (time_ns - slicing->started_ns);
}

struct time_slice slicing_slice(const struct slicing *slicing, const struct wire_record *record)
{
	uint64_t cell = record->user_end == WALK_RAW
				? cell_at(slicing, record->time_ns)
				: slicing->cells[record->epoch % WIRE_EPOCH_SLOTS];
	uint64_t start_ns = slicing->day_ns + cell * slicing->slice_ns;

	return (struct time_slice){start_ns, start_ns + slicing->slice_ns};
}
