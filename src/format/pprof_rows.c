/*
 * Every sample becomes a row; rows are sorted, by labels first and then by stacks from the root, so
 * that neighbours are alike, which gzip likes; equal ones are added up.
 */
#include "format/pprof_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const end_names[] = {
#define X(id, name, words) name,
	WALK_ENDS(X)
#undef X
};

/* --- one row -----------------------------------------------------------------------------------
 */

static const char *end_name(uint8_t end, uint8_t expected)
{
	return end == expected || end >= NR_WALK_ENDS ? NULL : end_names[end];
}

/* Kernel frames are those that a reader will take for such. */
static size_t nr_kernel_frames(const struct pprof_rows *rows, const struct pprof_row *row)
{
	size_t nr = 0;

	while (nr < row->sample->nr_frames &&
	       pprof_code_is_kernel(rows->code, rows->code->place_of_frame[row->frames[nr]]))
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
static bool looks_missed(const struct pprof_rows *rows, const struct pprof_row *row, size_t frame,
			 uint32_t missed)
{
	return frame < row->sample->nr_frames &&
	       rows->code->place_of_frame[row->frames[frame]] == missed;
}

static void find_ends(const struct pprof_rows *rows, struct pprof_row *row)
{
	const struct sample_labels *labels = &row->sample->labels;
	const struct pprof_options *options = rows->options;
	size_t nr_kernel = nr_kernel_frames(rows, row);
	size_t nr_user = row->sample->nr_frames - nr_kernel;
	uint8_t user, kernel;

	row->missed_user = !nr_user && labels->user_end == WALK_MISSED && !options->no_user;
	row->missed_kernel = !nr_kernel && labels->kernel_end == WALK_MISSED && !options->no_kernel;
	user = expected_end(nr_user, row->missed_user, WALK_COMPLETE);
	kernel = expected_end(nr_kernel, row->missed_kernel, WALK_UNWOUND);
	if (nr_user == 1 && looks_missed(rows, row, nr_kernel, rows->code->missed_user))
		user = NR_WALK_ENDS;
	if (!row->missed_kernel && looks_missed(rows, row, 0, rows->code->missed_kernel))
		kernel = NR_WALK_ENDS;
	if (nr_user || !options->no_user)
		row->user_end = end_name(labels->user_end, user);
	if (nr_kernel || !options->no_kernel || kernel == NR_WALK_ENDS)
		row->kernel_end = end_name(labels->kernel_end, kernel);
}

static struct pprof_row make_row(const struct pprof_rows *rows, const struct sample *sample)
{
	struct pprof_row row = {.sample = sample, .count = sample->count};

	row.frames = profile_sample_frames(rows->profile, sample);
	find_ends(rows, &row);
	return row;
}

size_t pprof_row_places(const struct pprof_row *row)
{
	return (size_t)row->sample->nr_frames + row->missed_user + row->missed_kernel;
}

/* The place so far from the leaf. */
uint32_t pprof_row_place(const struct pprof_code *code, const struct pprof_row *row, size_t i)
{
	if (row->missed_kernel && !i)
		return code->missed_kernel;
	i -= row->missed_kernel;
	return i < row->sample->nr_frames ? code->place_of_frame[row->frames[i]]
					  : code->missed_user;
}

/* --- their order -------------------------------------------------------------------------------
 */

static int compare_stacks(const struct pprof_code *code, const struct pprof_row *a,
			  const struct pprof_row *b)
{
	size_t nr_a = pprof_row_places(a), nr_b = pprof_row_places(b), i;

	for (i = 1; i <= nr_a && i <= nr_b; i++) {
		uint32_t place_a = pprof_row_place(code, a, nr_a - i);
		uint32_t place_b = pprof_row_place(code, b, nr_b - i);

		if (place_a != place_b)
			return place_a > place_b ? 1 : -1;
	}
	return (nr_a > nr_b) - (nr_a < nr_b);
}

static int compare_texts(const char *a, const char *b)
{
	if (a == b)
		return 0;
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_strings(const struct pprof_rows *rows, uint32_t a, uint32_t b)
{
	return a == b ? 0
		      : strcmp(profile_string(rows->profile, a), profile_string(rows->profile, b));
}

static int compare_numbers(int32_t a, int32_t b)
{
	return (a > b) - (a < b);
}

static int compare_labels(const struct pprof_rows *rows, const struct pprof_row *a,
			  const struct pprof_row *b)
{
	const struct sample_labels *one = &a->sample->labels, *other = &b->sample->labels;
	unsigned wanted = rows->options->labels;
	int order = 0;

	if (wanted & LABEL_COMM)
		order = compare_strings(rows, one->comm, other->comm);
	if (!order && wanted & LABEL_CGROUP)
		order = compare_strings(rows, one->cgroup, other->cgroup);
	if (!order && wanted & LABEL_PID)
		order = compare_numbers(one->pid, other->pid);
	if (!order && wanted & LABEL_TID)
		order = compare_numbers(one->tid, other->tid);
	if (!order && wanted & LABEL_CPU)
		order = compare_numbers(one->cpu, other->cpu);
	if (!order)
		order = compare_texts(a->user_end, b->user_end);
	return order ? order : compare_texts(a->kernel_end, b->kernel_end);
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct pprof_rows *rows = context;
	int order = compare_labels(rows, a, b);

	return order ? order : compare_stacks(rows->code, a, b);
}

/* --- the whole ---------------------------------------------------------------------------------
 */

static void add_up_equal(struct pprof_rows *rows)
{
	size_t nr = 0, i;

	for (i = 0; i < rows->nr; i++)
		if (nr && !compare_rows(&rows->rows[nr - 1], &rows->rows[i], rows))
			rows->rows[nr - 1].count += rows->rows[i].count;
		else
			rows->rows[nr++] = rows->rows[i];
	rows->nr = nr;
}

/* The places of missed stacks are there whether they are needed or not. */
static void number_locations(struct pprof_code *code, const struct pprof_rows *rows)
{
	uint32_t nr = 0;
	size_t i;

	for (i = 0; i < rows->nr; i++) {
		code->places[code->missed_user].is_used |= rows->rows[i].missed_user;
		code->places[code->missed_kernel].is_used |= rows->rows[i].missed_kernel;
	}
	for (i = 0; i < code->nr_places; i++)
		if (code->places[i].is_used)
			code->places[i].id = ++nr;
}

int pprof_rows_init(struct pprof_rows *rows, const struct profile *profile,
		    const struct pprof_options *options, struct pprof_code *code)
{
	size_t nr = profile_nr_samples(profile);
	uint32_t i;

	*rows = (struct pprof_rows){.profile = profile, .options = options, .code = code};
	rows->rows = calloc(nr + 1, sizeof(*rows->rows));
	if (!rows->rows)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		const struct sample *sample = profile_sample(profile, i);

		if (sample->count)
			rows->rows[rows->nr++] = make_row(rows, sample);
	}
	qsort_r(rows->rows, rows->nr, sizeof(*rows->rows), compare_rows, rows);
	add_up_equal(rows);
	number_locations(code, rows);
	return 0;
}

void pprof_rows_clear(struct pprof_rows *rows)
{
	free(rows->rows);
	*rows = (struct pprof_rows){0};
}
