/*
 * See foreign_input.h. What is compressed is not inflated here: pipes do that, and only gzip is part of
 * a format that is read, pprof's.
 */
#include "cmd/foreign_input.h"

#include <ctype.h>
#include <string.h>

#include "base/array.h"

static bool has_magic(const struct foreign_input *foreign, const char *head, size_t nr)
{
	size_t nr_magic = strlen(foreign->magic);

	return nr >= foreign->magic_at + nr_magic &&
	       !memcmp(head + foreign->magic_at, foreign->magic, nr_magic);
}

static bool has_line(const char *head, size_t nr, bool (*is_it)(const char *line, size_t nr))
{
	const char *at = head, *end = head + nr;

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));

		if (!line_end)
			line_end = end;
		if (is_it(at, (size_t)(line_end - at)))
			return true;
		at = line_end + 1;
	}
	return false;
}

/* `@[` or `@name[comm, `: a key that is a stack goes on in lines of its own. */
static bool is_map_entry(const char *line, size_t nr)
{
	size_t at = 1;

	if (!nr || line[0] != '@')
		return false;
	while (at < nr && (isalnum((unsigned char)line[at]) || line[at] == '_'))
		at++;
	if (at == nr || line[at] != '[')
		return false;
	while (isspace((unsigned char)line[nr - 1]))
		nr--;
	return nr == at + 1 || line[nr - 1] == ',';
}

static bool is_bpftrace_map(const struct foreign_input *foreign, const char *head, size_t nr)
{
	return has_line(head, nr, is_map_entry);
}

/* The first line of bcc's tools, or the thread below the frames of a stack. */
static bool is_bcc_text(const char *line, size_t nr)
{
	static const char *const starts[] = {
		"Sampling at ",
		"Tracing off-CPU time (",
		"    -                ",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(starts); i++)
		if (nr > strlen(starts[i]) && !memcmp(line, starts[i], strlen(starts[i])))
			return true;
	return false;
}

static bool is_bcc_report(const struct foreign_input *foreign, const char *head, size_t nr)
{
	return has_line(head, nr, is_bcc_text);
}

static const struct foreign_input inputs[] = {
	{"only perf itself can", "perf script -i", "", has_magic, "PERFILE2", 0},
	{"xz has compressed it", "xz -dc", "", has_magic, "\xfd\x37zXZ", 0},
	{"zstd has compressed it", "zstd -dc", "", has_magic, "\x28\xb5\x2f\xfd", 0},
	{"bzip2 has compressed it", "bzip2 -dc", "", has_magic, "1AY&SY", 4},
	{"lz4 has compressed it", "lz4 -dc", "", has_magic, "\x04\x22\x4d\x18", 0},
	{"it is a map as bpftrace prints it", "stackcollapse-bpftrace.pl",
	 ", with --no-comm unless 'comm' stands behind the stack in its keys", is_bpftrace_map,
	 NULL, 0},
	{"it is what bcc's tools print for people", NULL,
	 "take folded stacks: bcc's tools have -f for them, as 'profile -f'", is_bcc_report, NULL,
	 0},
};

const struct foreign_input *foreign_input_by_head(const char *head, size_t nr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(inputs); i++)
		if (inputs[i].is_it(&inputs[i], head, nr))
			return &inputs[i];
	return NULL;
}

void foreign_input_hint(const struct foreign_input *foreign, const char *path, struct error *error)
{
	if (foreign->command)
		error_hint(error, "pipe what '%s %s' prints%s", foreign->command, path,
			   foreign->more);
	else
		error_hint(error, "%s", foreign->more);
}
