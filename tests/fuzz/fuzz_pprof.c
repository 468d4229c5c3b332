/*
 * format/pprof/pprof on arbitrary files. If a file can be read, the profile must survive being
 * written and read again with the same folded lines and totals, and the second output must equal
 * the first.
 *
 *	make fuzz && build/fuzz/fuzz_pprof -max_len=4096 CORPUS
 *
 * Inputs are uncompressed. A seed: `build/tests/tools/make_pprof <STACKS | gunzip >CORPUS/seed`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/folded/folded.h"
#include "format/gzip.h"
#include "format/pprof/pprof.h"
#include "fuzz/fuzz.h"

#define MAX_BYTES (64U << 20)

static const unsigned labels =
	LABEL_COMM | LABEL_PID | LABEL_TID | LABEL_CPU | LABEL_CGROUP | LABEL_SET | LABEL_SLICE;

struct text {
	char *bytes;
	size_t nr;
};

static struct text write_pprof(const struct profile *profile)
{
	const struct format_options options = {.labels = labels};
	struct text packed, file;
	FILE *out = open_memstream(&packed.bytes, &packed.nr);
	FILE *in;

	if (!out || pprof_write(profile, &options, out) < 0 || fclose(out) != 0)
		abort();
	in = fmemopen(packed.bytes, packed.nr, "r");
	if (!in || gzip_read(in, MAX_BYTES, (uint8_t **)&file.bytes, &file.nr) < 0)
		abort();
	(void)fclose(in);
	free(packed.bytes);
	return file;
}

static struct text write_folded(const struct profile *profile)
{
	const struct format_options options = {
		.labels = labels, .delimited = true, .annotate = true, .lines = true};
	struct text text;
	FILE *out = open_memstream(&text.bytes, &text.nr);

	if (!out || folded_write(profile, &options, out) < 0 || fclose(out) != 0)
		abort();
	return text;
}

/* Aborts if the texts differ; frees both. */
static void check_same(struct text a, struct text b)
{
	if (a.nr != b.nr || memcmp(a.bytes, b.bytes, a.nr) != 0)
		abort();
	free(a.bytes);
	free(b.bytes);
}

static void check_same_totals(const struct profile *a, const struct profile *b)
{
	if (profile_total(a) != profile_total(b) || profile_is_sum(a) != profile_is_sum(b) ||
	    profile_nr_comments(a) != profile_nr_comments(b))
		abort();
}

static void check_stable(const struct profile *profile)
{
	struct profile *again = profile_new();
	struct format_notes notes;
	struct error error = {0};
	struct text file = write_pprof(profile);

	if (pprof_parse(file.bytes, file.nr, again, &notes, &error) < 0)
		abort();
	check_same(file, write_pprof(again));
	check_same(write_folded(profile), write_folded(again));
	check_same_totals(profile, again);
	profile_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	struct profile *profile = profile_new();
	struct format_notes notes;
	struct error error = {0};

	if (pprof_parse(bytes, nr, profile, &notes, &error) == 0)
		check_stable(profile);
	profile_free(profile);
	return 0;
}
