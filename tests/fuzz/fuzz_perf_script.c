/*
 * format/perf/perf_script_read on arbitrary text. If it can be read, the profile must survive being
 * written and read again with the same totals.
 *
 *	make fuzz && tests/fuzz/seeds_text.sh perf CORPUS && build/fuzz/fuzz_perf_script CORPUS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/folded/folded.h"
#include "format/perf/perf_script.h"
#include "fuzz/fuzz.h"
#include "profile/profile.h"

static int read_text(const void *bytes, size_t nr, struct profile *profile)
{
	FILE *in = nr ? fmemopen((void *)bytes, nr, "r") : fopen("/dev/null", "r");
	struct format_notes notes;
	struct error error = {0};
	int result;

	if (!in)
		abort();
	result = perf_script_read(in, profile, &notes, &error);
	if (result < 0 && !*error.text)
		abort();
	(void)fclose(in);
	return result;
}

static uint64_t total(const struct profile *profile)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < profile_nr_values(profile); i++)
		sum += profile_value_total(profile, i);
	return sum;
}

/* Values whose names differ only in control characters are merged. */
static bool is_as_much(const struct profile *again, const struct profile *profile)
{
	return profile_nr_values(again) <= profile_nr_values(profile) &&
	       profile_is_sum(again) == profile_is_sum(profile) && total(again) == total(profile);
}

/* Names may change: a comm with a number in it, a file name with a parenthesis. */
static void check_written(const struct profile *profile)
{
	const struct format_options options = {.labels = LABEL_COMM | LABEL_PID | LABEL_TID |
							 LABEL_CPU};
	struct profile *again = profile_new();
	char *text;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	if (!out || perf_script_write(profile, &options, out) < 0 || fclose(out) != 0)
		abort();
	if (read_text(text, nr, again) < 0)
		abort();
	if (profile_nr_samples(profile) && !is_as_much(again, profile))
		abort();
	free(text);
	profile_free(again);
}

static void check_shown(const struct profile *profile)
{
	const struct format_options options = {
		.labels = LABEL_COMM, .annotate = true, .lines = true};
	char *text;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	if (!out || folded_write(profile, &options, out) < 0 || fclose(out) != 0)
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	struct profile *profile = profile_new();

	(void)perf_script_is_it((const char *)bytes, nr);
	if (read_text(bytes, nr, profile) == 0) {
		check_shown(profile);
		check_written(profile);
	}
	profile_free(profile);
	return 0;
}
