/* See slicing.h. Arithmetic alone: the session tells what time it is. */
#include "collect/epochs.h"

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
