/* A label row is a row of numbers; the table of stacks interns rows of any kind. */
#include "format/pprof/pprof_row_labels.h"

enum number {
	COMM,
	CGROUP,
	PID,
	TID,
	CPU,
	SET,
	SLICE,
	USER_END, /* enum walk_end + 1; 0: not told */
	KERNEL_END,
	MISSED_USER,
	MISSED_KERNEL,
	NR_NUMBERS,
};

static const char *const end_names[] = {
#define X(id, name, words) name,
	WALK_ENDS(X)
#undef X
};

/* --- one sample ------------------------------------------------------------------------------- */

/* A sample's place, counted from the leaf. */
static uint32_t place_of(const struct pprof_label_rows *rows, const struct sample *sample, size_t i)
{
	return rows->code->place_of_frame[profile_sample_frames(rows->profile, sample)[i]];
}

/* Kernel frames are those that a reader will take for such. */
static size_t nr_kernel_frames(const struct pprof_label_rows *rows, const struct sample *sample)
{
	size_t nr = 0;

	while (nr < sample->nr_frames &&
	       pprof_code_is_kernel(rows->code, place_of(rows, sample, nr)))
		nr++;
	return nr;
}

/* What a reader takes an end for that is not told. */
static uint8_t expected_end(size_t nr_frames, bool missed, uint8_t complete)
{
	if (nr_frames)
		return complete;
	return missed ? WALK_MISSED : WALK_NONE;
}

/* A frame whose name says that a stack was missed, though it was not: there the end is told. */
static bool looks_missed(const struct pprof_label_rows *rows, const struct sample *sample,
			 size_t frame, uint32_t missed)
{
	return frame < sample->nr_frames && place_of(rows, sample, frame) == missed;
}

static uint32_t end_to_tell(uint8_t end, uint8_t expected)
{
	return end == expected || end >= NR_WALK_ENDS ? 0 : (uint32_t)end + 1;
}

static void find_ends(const struct pprof_label_rows *rows, const struct sample *sample,
		      uint32_t numbers[NR_NUMBERS])
{
	const struct sample_labels *labels = &sample->labels;
	const struct format_options *options = rows->options;
	size_t nr_kernel = nr_kernel_frames(rows, sample);
	size_t nr_user = sample->nr_frames - nr_kernel;
	bool missed_user = !nr_user && labels->user_end == WALK_MISSED && !options->no_user;
	bool missed_kernel = !nr_kernel && labels->kernel_end == WALK_MISSED && !options->no_kernel;
	uint8_t user = expected_end(nr_user, missed_user, WALK_COMPLETE);
	uint8_t kernel = expected_end(nr_kernel, missed_kernel, WALK_UNWOUND);

	if (nr_user == 1 && looks_missed(rows, sample, nr_kernel, rows->code->missed_user))
		user = NR_WALK_ENDS;
	if (!missed_kernel && looks_missed(rows, sample, 0, rows->code->missed_kernel))
		kernel = NR_WALK_ENDS;
	numbers[MISSED_USER] = missed_user;
	numbers[MISSED_KERNEL] = missed_kernel;
	if (nr_user || !options->no_user)
		numbers[USER_END] = end_to_tell(labels->user_end, user);
	if (nr_kernel || !options->no_kernel || kernel == NR_WALK_ENDS)
		numbers[KERNEL_END] = end_to_tell(labels->kernel_end, kernel);
}

int64_t pprof_label_rows_add(struct pprof_label_rows *rows, const struct sample *sample)
{
	const struct sample_labels *labels = &sample->labels;
	unsigned wanted = rows->options->labels;
	uint32_t numbers[NR_NUMBERS] = {
		[COMM] = wanted & LABEL_COMM ? labels->comm : 0,
		[CGROUP] = wanted & LABEL_CGROUP ? labels->cgroup : 0,
		[PID] = wanted & LABEL_PID ? (uint32_t)labels->pid : 0,
		[TID] = wanted & LABEL_TID ? (uint32_t)labels->tid : 0,
		[CPU] = wanted & LABEL_CPU ? (uint32_t)labels->cpu : 0,
		[SET] = wanted & LABEL_SET ? labels->set : 0,
		[SLICE] = wanted & LABEL_SLICE ? labels->slice : 0,
	};

	find_ends(rows, sample, numbers);
	return stack_table_add(&rows->table, numbers, NR_NUMBERS);
}

static const char *end_name(uint32_t end_plus_one)
{
	return end_plus_one ? end_names[end_plus_one - 1] : NULL;
}

struct pprof_row_labels pprof_label_rows_get(const struct pprof_label_rows *rows, uint32_t number)
{
	size_t nr;
	const uint32_t *numbers = stack_table_get(&rows->table, number, &nr);

	return (struct pprof_row_labels){
		.labels = {.comm = numbers[COMM],
			   .cgroup = numbers[CGROUP],
			   .pid = (int32_t)numbers[PID],
			   .tid = (int32_t)numbers[TID],
			   .cpu = (int32_t)numbers[CPU],
			   .set = numbers[SET],
			   .slice = numbers[SLICE]},
		.user_end = end_name(numbers[USER_END]),
		.kernel_end = end_name(numbers[KERNEL_END]),
		.missed_user = numbers[MISSED_USER],
		.missed_kernel = numbers[MISSED_KERNEL],
	};
}

uint32_t pprof_label_rows_ends(const struct pprof_label_rows *rows, uint32_t number)
{
	size_t nr;
	const uint32_t *numbers = stack_table_get(&rows->table, number, &nr);

	return numbers[USER_END] << 24 | numbers[KERNEL_END] << 16 | numbers[MISSED_USER] << 1 |
	       numbers[MISSED_KERNEL];
}

void pprof_label_rows_clear(struct pprof_label_rows *rows)
{
	stack_table_clear(&rows->table);
}
