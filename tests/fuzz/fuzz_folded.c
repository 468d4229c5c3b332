/*
 * format/folded/folded_read on arbitrary files. If a file can be read, the profile must survive
 * being written and read again without loss, and the second output must equal the first.
 *
 *	make fuzz && tests/fuzz/seeds_text.sh folded CORPUS && build/fuzz/fuzz_folded CORPUS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/folded/folded.h"
#include "fuzz/fuzz.h"
#include "profile/profile.h"

struct text {
	char *bytes;
	size_t nr;
};

static int read_text(const void *bytes, size_t nr, const struct format_read_options *options,
		     struct profile *profile, struct format_notes *notes)
{
	FILE *in = nr ? fmemopen((void *)bytes, nr, "r") : fopen("/dev/null", "r");
	struct error error = {0};
	int result;

	if (!in)
		abort();
	result = folded_read(in, options, profile, notes, &error);
	if (result < 0 && !*error.text)
		abort();
	(void)fclose(in);
	return result;
}

static struct text write_text(const struct profile *profile, unsigned labels)
{
	const struct format_options options = {.labels = labels, .annotate = true};
	struct text text;
	FILE *out = open_memstream(&text.bytes, &text.nr);

	if (!out || folded_write(profile, &options, out) < 0 || fclose(out) != 0)
		abort();
	return text;
}

/* Skips output that is read as a difference because all of its lines end in two numbers. */
static void check_stable(const struct profile *profile, const struct format_read_options *options,
			 unsigned labels)
{
	struct profile *again = profile_new();
	struct text first = write_text(profile, labels), second;
	struct format_notes notes;
	int result = read_text(first.bytes, first.nr, options, again, &notes);

	if (profile_nr_values(again) < profile_nr_values(profile) && first.nr)
		abort();
	if (profile_nr_values(again) == profile_nr_values(profile)) {
		if (result < 0 || notes.bad_lines || notes.deep_lines)
			abort();
		second = write_text(again, labels);
		if (first.nr != second.nr || memcmp(first.bytes, second.bytes, first.nr) != 0)
			abort();
		free(second.bytes);
	}
	free(first.bytes);
	profile_free(again);
}

static void check_bytes(const uint8_t *bytes, size_t nr, const struct format_read_options *options)
{
	struct profile *profile = profile_new();
	struct format_notes notes;

	if (read_text(bytes, nr, options, profile, &notes) == 0)
		check_stable(profile, options, notes.labels);
	profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	(void)folded_is_it((const char *)bytes, nr);
	check_bytes(bytes, nr, &(struct format_read_options){.no_comm = false});
	check_bytes(bytes, nr, &(struct format_read_options){.no_comm = true});
	return 0;
}
