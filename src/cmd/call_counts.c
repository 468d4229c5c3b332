/* See call_counts.h. */
#include "cmd/call_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmd/probe_label.h"

static const char *const kind_names[] = {
	[PROBE_USER] = "function",
	[PROBE_USDT] = "usdt",
	[PROBE_KERNEL] = "kernel",
	[PROBE_TRACEPOINT] = "tracepoint",
};

static const enum call_state states[] = {
	[PROBE_WAITING] = CALL_WAITING,
	[PROBE_ATTACHED] = CALL_COUNTED,
	[PROBE_REFUSED] = CALL_REFUSED,
	[PROBE_CUT] = CALL_CUT,
};

/* --- rows ------------------------------------------------------------------------------------ */

static bool is_one_usdt(const struct probe *a, const struct probe *b)
{
	return a->kind == PROBE_USDT && b->kind == PROBE_USDT && a->file == b->file &&
	       !strcmp(a->name, b->name);
}

/* The row of an earlier probe that this one belongs to. Programs have few static probes. */
static uint32_t find_row(const struct call_counts *counts, size_t number)
{
	const struct probe *probe = &counts->list->probes[number];
	size_t i;

	for (i = 0; probe->kind == PROBE_USDT && i < number; i++)
		if (is_one_usdt(probe, &counts->list->probes[i]))
			return counts->row_of[i];
	return (uint32_t)counts->nr_rows;
}

static int add_row(struct call_counts *counts, const struct probe *probe)
{

	counts->rows[counts->nr_rows] = (struct call_row){
		.label = probe_label(probe),
		.name = probe->name,
		.detail = probe->detail,
		.kind = kind_names[probe->kind],
		.file = probe_is_user(probe) ? counts->list->files[probe->file].path : NULL,
		.is_return = probe->is_return,
	};
	return counts->rows[counts->nr_rows++].label ? 0 : -ENOMEM;
}

int call_counts_init(struct call_counts *counts, const struct probe_list *list, uint64_t now_ns,
		     struct error *error)
{
	size_t i;
	int err = 0;

	*counts = (struct call_counts){.list = list, .read_ns = now_ns};
	counts->rows = calloc(list->nr_probes + 1, sizeof(*counts->rows));
	counts->shown = calloc(list->nr_probes + 1, sizeof(*counts->shown));
	counts->row_of = calloc(list->nr_probes + 1, sizeof(*counts->row_of));
	counts->totals = calloc(list->nr_probes + 1, sizeof(*counts->totals));
	if (!counts->rows || !counts->shown || !counts->row_of || !counts->totals)
		err = -ENOMEM;
	for (i = 0; i < list->nr_probes && !err; i++) {
		counts->row_of[i] = find_row(counts, i);
		if (counts->row_of[i] == counts->nr_rows)
			err = add_row(counts, &list->probes[i]);
	}
	return err ? error_set(error, err, "out of memory") : 0;
}

void call_counts_clear(struct call_counts *counts)
{
	size_t i;

	for (i = 0; i < counts->nr_rows; i++)
		free((char *)counts->rows[i].label);
	free(counts->rows);
	free(counts->shown);
	free(counts->row_of);
	free(counts->totals);
	*counts = (struct call_counts){0};
}

/* --- reading --------------------------------------------------------------------------------- */

/* How long the probe was attached between the last reading and now. */
static double seconds_attached(const struct call_counts *counts, const struct probe_status *status,
			       uint64_t now_ns)
{
	uint64_t from_ns = counts->read_ns, to_ns = now_ns;

	if (status && status->attached_ns > from_ns)
		from_ns = status->attached_ns;
	if (status && status->state == PROBE_CUT && status->cut_ns < to_ns)
		to_ns = status->cut_ns;
	return to_ns > from_ns ? (double)(to_ns - from_ns) / (double)NS_PER_SEC : 0;
}

/* Of several probes in one row, one that is not counted any more is what is to be known. */
static void add_state(struct call_row *row, const struct probe_status *status)
{
	enum call_state state = states[status->state];

	if (state == CALL_CUT)
		row->cut_per_second += status->cut_rate;
	if (state == CALL_REFUSED)
		row->why = status->why;
	if (state > row->state)
		row->state = state;
}

static void add_probe(struct call_counts *counts, uint32_t number, uint64_t total,
		      const struct probe_status *status, uint64_t now_ns)
{
	struct call_row *row = &counts->rows[counts->row_of[number]];
	uint64_t count = total - counts->totals[number];
	double seconds = seconds_attached(counts, status, now_ns);

	counts->totals[number] = total;
	row->count += count;
	if (seconds > row->seconds)
		row->seconds = seconds;
	if (seconds > 0)
		row->per_second += (double)count / seconds;
	if (status)
		add_state(row, status);
}

struct call_interval call_counts_read(struct call_counts *counts, const struct hits *hits,
				      const struct probing *probing, uint64_t now_ns)
{
	struct call_interval interval = {
		.rows = counts->shown,
		.nr = counts->nr_rows,
		.time = (double)clock_read_ns(CLOCK_REALTIME) / (double)NS_PER_SEC,
		.seconds = (double)(now_ns - counts->read_ns) / (double)NS_PER_SEC,
		.missed = UINT64_MAX,
	};
	size_t i;

	for (i = 0; i < counts->nr_rows; i++) {
		struct call_row *row = &counts->rows[i];

		row->count = 0;
		row->seconds = row->per_second = row->cut_per_second = 0;
		row->state = CALL_COUNTED;
		row->why = NULL;
	}
	for (i = 0; i < counts->list->nr_probes; i++)
		add_probe(counts, (uint32_t)i, hits_of_probe(hits, (uint32_t)i).counted,
			  probing ? probing_status(probing, (uint32_t)i) : NULL, now_ns);
	counts->read_ns = now_ns;
	memcpy(counts->shown, counts->rows, counts->nr_rows * sizeof(*counts->rows));
	return interval;
}
