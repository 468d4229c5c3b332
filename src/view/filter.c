/*
 * Patterns are matched once per text: the results are a few bits per string and module. A frame's
 * bits are combined from those, and a sample's from its frames.
 *
 * Bit 2 * subject + sense is set if that criterion matches.
 */
#include "view/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "view/named_stacks.h"

#define BIT(subject, sense)   ((bits_t)(1U << (2 * (subject) + (sense))))
#define SUBJECT_BITS(subject) (BIT(subject, FILTER_WANTED) | BIT(subject, FILTER_UNWANTED))
#define SYMBOL_BITS	      (SUBJECT_BITS(FILTER_SYMBOL) | SUBJECT_BITS(FILTER_STACK))
#define KNOWN		      ((bits_t)(1U << 15)) /* the string's bits are computed */

_Static_assert(2 * NR_FILTER_SUBJECTS <= 15, "a bit for each criterion, and one more");

typedef uint16_t bits_t;

struct filtering {
	struct filter *filter;
	struct profile *profile;
	bits_t *of_string; /* by string, as a function's name */
	bits_t *of_comm;   /* by string, as a thread's name */
	bits_t *of_probe;  /* by string, as a probe's name */
	bits_t *of_module; /* by module, and for its functions without a name */
	bits_t *of_frame;  /* by frame; SYMBOL and MODULE bits apply if it is the leaf */
};

/* --- making a filter ------------------------------------------------------------------------- */

int filter_add_pattern(struct filter *filter, enum filter_subject subject, enum filter_sense sense,
		       const char *pattern, struct error *error)
{
	struct filter_criterion *criterion = &filter->criteria[subject][sense];
	struct matcher_error fault;
	struct matcher *matcher = matcher_new(pattern, strlen(pattern), MATCHER_SEARCH, &fault);

	if (!matcher && fault.what)
		return error_set(error, -EINVAL, "%s (column %zu)", fault.what, fault.at + 1);
	if (matcher && ARRAY_ADD(criterion->patterns, criterion->nr_patterns,
				 criterion->cap_patterns, matcher) == 0)
		return 0;
	matcher_free(matcher);
	return error_no_memory(error, "");
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return (one > other) - (one < other);
}

int filter_add_numbers(struct filter *filter, enum filter_subject subject, enum filter_sense sense,
		       const uint32_t *numbers, size_t nr)
{
	struct filter_criterion *criterion = &filter->criteria[subject][sense];

	if (!nr)
		return 0;
	if (array_reserve(&criterion->numbers, &criterion->cap_numbers, criterion->nr_numbers + nr,
			  sizeof(*criterion->numbers)) < 0)
		return -ENOMEM;
	memcpy(criterion->numbers + criterion->nr_numbers, numbers, nr * sizeof(*numbers));
	criterion->nr_numbers += nr;
	qsort(criterion->numbers, criterion->nr_numbers, sizeof(*numbers), compare_numbers);
	return 0;
}

void filter_clear(struct filter *filter)
{
	size_t subject, sense, i;

	for (subject = 0; subject < NR_FILTER_SUBJECTS; subject++)
		for (sense = 0; sense < NR_FILTER_SENSES; sense++) {
			struct filter_criterion *criterion = &filter->criteria[subject][sense];

			for (i = 0; i < criterion->nr_patterns; i++)
				matcher_free(criterion->patterns[i]);
			free(criterion->patterns);
			free(criterion->numbers);
			*criterion = (struct filter_criterion){0};
		}
}

bool filter_criterion_is_used(const struct filter_criterion *criterion)
{
	return criterion->nr_patterns || criterion->nr_numbers;
}

/* --- matching -------------------------------------------------------------------------------- */

static bits_t text_bits(const struct filter *filter, enum filter_subject subject, const char *text)
{
	bits_t bits = 0;
	size_t sense, i;

	for (sense = 0; sense < NR_FILTER_SENSES; sense++) {
		const struct filter_criterion *criterion = &filter->criteria[subject][sense];
		bool fits = false;

		for (i = 0; i < criterion->nr_patterns && !fits; i++)
			fits = matcher_matches(criterion->patterns[i], text);
		if (fits)
			bits |= BIT(subject, sense);
	}
	return bits;
}

static bits_t number_bits(const struct filter *filter, enum filter_subject subject, int32_t number)
{
	uint32_t key = (uint32_t)number;
	bits_t bits = 0;
	size_t sense;

	for (sense = 0; sense < NR_FILTER_SENSES; sense++) {
		const struct filter_criterion *criterion = &filter->criteria[subject][sense];

		if (criterion->nr_numbers &&
		    bsearch(&key, criterion->numbers, criterion->nr_numbers, sizeof(key),
			    compare_numbers))
			bits |= BIT(subject, sense);
	}
	return bits;
}

static bits_t name_bits(const struct filter *filter, const char *name)
{
	return text_bits(filter, FILTER_SYMBOL, name) | text_bits(filter, FILTER_STACK, name);
}

static bits_t function_bits(struct filtering *filtering, uint32_t string, uint32_t module)
{
	bits_t *known = &filtering->of_string[string];

	if (!string)
		return filtering->of_module[module] & SYMBOL_BITS;
	if (!(*known & KNOWN))
		*known |= KNOWN |
			  name_bits(filtering->filter, profile_string(filtering->profile, string));
	return *known & SYMBOL_BITS;
}

/* SYMBOL matches the frame's innermost function, STACK any of its functions. */
static bits_t frame_bits(struct filtering *filtering, const struct frame *frame)
{
	const struct code_line *lines =
		frame->nr_lines ? profile_lines(filtering->profile, frame) : NULL;
	bits_t bits = filtering->of_module[frame->module] & SUBJECT_BITS(FILTER_MODULE);
	size_t i;

	if (!lines)
		return bits | function_bits(filtering, frame->function, frame->module);
	bits |= function_bits(filtering, lines[0].function, frame->module);
	for (i = 1; i < frame->nr_lines; i++)
		bits |= function_bits(filtering, lines[i].function, frame->module) &
			SUBJECT_BITS(FILTER_STACK);
	return bits;
}

static int filtering_init(struct filtering *filtering, struct filter *filter,
			  struct profile *profile)
{
	size_t nr_frames = profile_nr_frames(profile);
	uint32_t i;

	*filtering = (struct filtering){.filter = filter, .profile = profile};
	filtering->of_string = calloc(profile_nr_strings(profile) + 1, sizeof(bits_t));
	filtering->of_comm = calloc(profile_nr_strings(profile) + 1, sizeof(bits_t));
	filtering->of_probe = calloc(profile_nr_strings(profile) + 1, sizeof(bits_t));
	filtering->of_module = calloc(profile_nr_modules(profile) + 1, sizeof(bits_t));
	filtering->of_frame = calloc(nr_frames + 1, sizeof(bits_t));
	if (!filtering->of_string || !filtering->of_comm || !filtering->of_probe ||
	    !filtering->of_module || !filtering->of_frame)
		return -ENOMEM;
	for (i = 0; i < profile_nr_modules(profile); i++)
		filtering->of_module[i] =
			text_bits(filter, FILTER_MODULE, profile_module_name(profile, i)) |
			name_bits(filter, named_stacks_no_name(profile, i));
	for (i = 0; i < nr_frames; i++)
		filtering->of_frame[i] = frame_bits(filtering, profile_frame(profile, i));
	return 0;
}

static void filtering_clear(struct filtering *filtering)
{
	free(filtering->of_string);
	free(filtering->of_comm);
	free(filtering->of_probe);
	free(filtering->of_module);
	free(filtering->of_frame);
}

/* --- samples --------------------------------------------------------------------------------- */

static bits_t stack_bits(const struct filtering *filtering, const struct sample *sample)
{
	const uint32_t *frames = profile_sample_frames(filtering->profile, sample);
	bits_t bits = 0;
	size_t i;

	if (!sample->nr_frames)
		return 0;
	for (i = 0; i < sample->nr_frames; i++)
		bits |= filtering->of_frame[frames[i]];
	return (bits & SUBJECT_BITS(FILTER_STACK)) |
	       (filtering->of_frame[frames[0]] & (bits_t)~SUBJECT_BITS(FILTER_STACK));
}

/* Returns the bits of a label whose value is a string; of_texts caches the bits of each string. */
static bits_t label_bits(const struct filtering *filtering, enum filter_subject subject,
			 bits_t *of_texts, uint32_t string)
{
	bits_t *known = &of_texts[string];

	if (!(*known & KNOWN))
		*known = KNOWN | text_bits(filtering->filter, subject,
					   profile_string(filtering->profile, string));
	return *known & SUBJECT_BITS(subject);
}

static bits_t sample_bits(struct filtering *filtering, const struct sample *sample)
{
	const struct sample_labels *labels = &sample->labels;

	return label_bits(filtering, FILTER_COMM, filtering->of_comm, labels->comm) |
	       label_bits(filtering, FILTER_PROBE, filtering->of_probe, labels->probe) |
	       stack_bits(filtering, sample) |
	       number_bits(filtering->filter, FILTER_PID, labels->pid) |
	       number_bits(filtering->filter, FILTER_TID, labels->tid);
}

/*
 * True if a sample with these bits passes all criteria. Adds count to each criterion that it
 * passes.
 */
static bool passes(struct filter *filter, bits_t bits, uint64_t count)
{
	bool all = true;
	size_t subject, sense;

	for (subject = 0; subject < NR_FILTER_SUBJECTS; subject++)
		for (sense = 0; sense < NR_FILTER_SENSES; sense++) {
			struct filter_criterion *criterion = &filter->criteria[subject][sense];
			bool fits = bits & BIT(subject, sense);

			if (!filter_criterion_is_used(criterion))
				continue;
			if (fits == (sense == FILTER_WANTED))
				criterion->passed += count;
			else
				all = false;
		}
	return all;
}

static bool is_used(const struct filter *filter)
{
	size_t subject, sense;

	for (subject = 0; subject < NR_FILTER_SUBJECTS; subject++)
		for (sense = 0; sense < NR_FILTER_SENSES; sense++)
			if (filter_criterion_is_used(&filter->criteria[subject][sense]))
				return true;
	return false;
}

int filter_apply(struct filter *filter, struct profile *profile, uint64_t *ret_dropped)
{
	cleanup(filtering_clear) struct filtering filtering = {0};
	uint64_t before = profile_total(profile);
	size_t nr = profile_nr_samples(profile);
	uint32_t i;

	if (is_used(filter)) {
		if (filtering_init(&filtering, filter, profile) < 0)
			return -ENOMEM;
		for (i = 0; i < nr; i++) {
			const struct sample *sample = profile_sample(profile, i);

			if (!passes(filter, sample_bits(&filtering, sample), sample->count))
				profile_drop_sample(profile, i);
		}
	}
	*ret_dropped = before - profile_total(profile);
	return 0;
}
