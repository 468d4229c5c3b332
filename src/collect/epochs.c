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

#include "base/array.h"
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

/*
 * Enters the maps of all slots. Where the kernel takes them at once (Linux 5.19), it waits for one grace period instead
 * of three, some 10 ms each. 0 or a negative errno.
 */
static int enter_maps(const struct epochs *epochs)
{
	const int maps_fd = epochs->options.maps_fd;
	uint32_t slots[WIRE_EPOCH_SLOTS], slot, nr = WIRE_EPOCH_SLOTS;

	for (slot = 0; slot < WIRE_EPOCH_SLOTS; slot++)
		slots[slot] = slot;
	if (bpf_map_update_batch(maps_fd, slots, epochs->fds, &nr, NULL) == 0)
		return 0;
	for (slot = 0; slot < WIRE_EPOCH_SLOTS; slot++)
		if (bpf_map_update_elem(maps_fd, &slot, &epochs->fds[slot], BPF_ANY) < 0)
			return -errno;
	return 0;
}

int epochs_open(struct epochs *epochs, const struct epochs_options *options, struct error *error)
{
	uint32_t slot;
	int err;

	*epochs = (struct epochs){.options = *options, .fresh_fd = -1};
	for (slot = 0; slot < WIRE_EPOCH_SLOTS; slot++)
		epochs->fds[slot] = -1;
	epochs->per_cpu = calloc(options->nr_cpus, options->counters_bytes);
	epochs->now = calloc(1, options->counters_bytes);
	epochs->before = calloc(WIRE_EPOCH_SLOTS, options->counters_bytes);
	if (!epochs->per_cpu || !epochs->now || !epochs->before)
		return error_no_memory(error, "");
	for (slot = 0; slot < WIRE_EPOCH_SLOTS; slot++) {
		epochs->fds[slot] = create_map(epochs);
		if (epochs->fds[slot] < 0)
			return load_explain(-errno, error);
	}
	err = enter_maps(epochs);
	return err < 0 ? load_explain(err, error) : 0;
}

void epochs_close(struct epochs *epochs)
{
	uint32_t slot;

	if (!epochs->options.epoch)
		return;
	(void)aside_finish(&epochs->ending);
	if (epochs->fresh_fd >= 0)
		(void)close(epochs->fresh_fd);
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

/* Removes all entries of a map that no program writes to. */
static int empty_map(const struct epochs *epochs, int fd)
{
	cleanup_free char *keys = calloc(READ_BATCH, epochs->options.key_bytes);
	cleanup_free char *values = calloc(READ_BATCH, epochs->options.value_bytes);
	uint32_t position;
	int err = keys && values ? 0 : -ENOMEM;

	while (!err) { /* each batch from the start, where no entries are left */
		uint32_t nr = READ_BATCH;

		err = bpf_map_lookup_and_delete_batch(fd, NULL, &position, keys, values, &nr, NULL);
	}
	return err == -ENOENT ? 0 : err;
}

static uint32_t unused_slot(const struct epochs *epochs)
{
	return (epochs_number(epochs) + 1) % WIRE_EPOCH_SLOTS;
}

uint64_t epochs_begin_next(struct epochs *epochs)
{
	const struct epochs_options *options = &epochs->options;
	uint32_t next = epochs_number(epochs) + 1;

	if (options->began_ns) /* first, so that whoever sees the number sees the time */
		__atomic_store_n(&options->began_ns[next % WIRE_EPOCH_SLOTS], clock_now_ns(),
				 __ATOMIC_SEQ_CST);
	__atomic_store_n(options->epoch, next, __ATOMIC_SEQ_CST);
	return clock_now_ns();
}

/*
 * Replaces the map of the epoch before the last. Returns after a grace period; a host that is short of memory makes
 * creating the map slow, too. Without memory or a descriptor for a new map, the old one serves again, though samples
 * are missed while it is emptied.
 */
static int replace_map(void *context)
{
	struct epochs *epochs = context;
	const uint32_t slot = unused_slot(epochs);
	const int *fd = &epochs->fresh_fd;

	epochs->fresh_fd = create_map(epochs);
	if (epochs->fresh_fd < 0) {
		int err = empty_map(epochs, epochs->fds[slot]);

		if (err < 0)
			return err;
		fd = &epochs->fds[slot];
	}
	return bpf_map_update_elem(epochs->options.maps_fd, &slot, fd, BPF_ANY) < 0 ? -errno : 0;
}

void epochs_begin_ending(struct epochs *epochs)
{
	aside_begin(&epochs->ending, replace_map, epochs);
}

bool epochs_has_ended(struct epochs *epochs)
{
	return aside_is_done(&epochs->ending);
}

int epochs_end_last(struct epochs *epochs, struct error *error)
{
	int *fd = &epochs->fds[unused_slot(epochs)];
	int err = aside_finish(&epochs->ending);

	if (epochs->fresh_fd >= 0) {
		(void)close(err < 0 ? epochs->fresh_fd : *fd);
		if (err == 0)
			*fd = epochs->fresh_fd;
	}
	epochs->fresh_fd = -1;
	return err < 0 ? error_set(error, err, "cannot replace a %s: %s", epochs->options.what,
				   strerror(-err))
		       : 0;
}

int epochs_turn(struct epochs *epochs, uint64_t *ret_ended_ns, struct error *error)
{
	*ret_ended_ns = epochs_begin_next(epochs);
	epochs_begin_ending(epochs);
	return epochs_end_last(epochs, error);
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
	size_t cpu;

	if (bpf_map_lookup_elem(epochs->options.counters_fd, &slot, epochs->per_cpu) < 0)
		return -errno;
	memset(epochs->now, 0, nr * sizeof(*ret));
	for (cpu = 0; cpu < epochs->options.nr_cpus; cpu++)
		add_words(epochs->now, epochs->per_cpu + cpu * nr, nr * sizeof(*ret));
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
	return epochs_read_hash(epochs->fds[ended_slot(epochs)], epochs->options.key_bytes,
				epochs->options.value_bytes, add, context);
}

int epochs_read_hash(int fd, size_t key_bytes, size_t value_bytes,
		     int (*add)(void *context, const void *key, const void *value), void *context)
{
	cleanup_free char *keys = calloc(READ_BATCH, key_bytes);
	cleanup_free char *values = calloc(READ_BATCH, value_bytes);
	uint32_t position = 0;
	bool first = true, more = true;

	if (!keys || !values)
		return -ENOMEM;
	while (more) {
		uint32_t nr = READ_BATCH, i;

		if (bpf_map_lookup_batch(fd, first ? NULL : &position, &position, keys, values, &nr,
					 NULL) < 0) {
			if (errno != ENOENT)
				return -errno;
			more = false; /* end of the map; nr is still set */
		}
		first = false;
		for (i = 0; i < nr; i++) {
			int err = add(context, keys + i * key_bytes, values + i * value_bytes);

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

void slicing_start(struct slicing *slicing, uint64_t slice_ns, uint64_t now_ns, uint64_t day_ns,
		   uint64_t asleep_ns)
{
	*slicing = (struct slicing){
		.slice_ns = slice_ns,
		.started_ns = now_ns,
		.day_ns = day_ns,
		.slept_ns = asleep_ns,
	};
}

static uint64_t cell_at(const struct slicing *slicing, uint64_t time_ns)
{
	return time_ns > slicing->started_ns ? (time_ns - slicing->started_ns) / slicing->slice_ns
					     : 0;
}

/* Differences below the clocks' error are none: slices of one cell must be equal. */
bool slicing_has_slept(const struct slicing *slicing, uint64_t asleep_ns)
{
	return slicing->slice_ns &&
	       asleep_ns > slicing->slept_ns + slicing->asleep_ns + CLOCK_ASLEEP_ERROR_NS;
}

void slicing_begin_epoch(struct slicing *slicing, uint32_t epoch, uint64_t now_ns,
			 uint64_t asleep_ns)
{
	if (!slicing->slice_ns)
		return;
	if (slicing_has_slept(slicing, asleep_ns))
		slicing->asleep_ns = asleep_ns - slicing->slept_ns;
	slicing->epochs[epoch % WIRE_EPOCH_SLOTS] =
		(struct slicing_epoch){cell_at(slicing, now_ns), slicing->asleep_ns};
}

uint64_t slicing_end_ns(const struct slicing *slicing, uint32_t epoch)
{
	uint64_t cell = slicing->epochs[epoch % WIRE_EPOCH_SLOTS].cell;

	return slicing->slice_ns ? slicing->started_ns + (cell + 1) * slicing->slice_ns
				 : UINT64_MAX;
}

uint64_t slicing_day_ns(const struct slicing *slicing, uint64_t time_ns)
{
	return slicing->day_ns + slicing->asleep_ns + (time_ns - slicing->started_ns);
}

struct time_slice slicing_slice(const struct slicing *slicing, const struct wire_record *record)
{
	const struct slicing_epoch *epoch = &slicing->epochs[record->epoch % WIRE_EPOCH_SLOTS];
	uint64_t cell =
		record->user_end == WALK_RAW ? cell_at(slicing, record->time_ns) : epoch->cell;
	uint64_t start_ns = slicing->day_ns + epoch->asleep_ns + cell * slicing->slice_ns;

	return (struct time_slice){start_ns, start_ns + slicing->slice_ns};
}
