/*
 * Reads a profile, whatever format it is in. A file is looked at once: what gzip has compressed is
 * inflated, and then the first bytes decide, or the end of the name where they say nothing. Some files are
 * known not to be profiles: the error says what such a file is, and which program turns it into one.
 * Other compressed files are not inflated here, since pipes do that.
 */
#include "format/format.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd_io.h"
#include "base/gzip.h"
#include "base/read_budget.h"

#define HEAD_BYTES 4096 /* that content is told by */

/* Larger files that have to be in memory are refused; inflated. */
#define FORMAT_MAX_BYTES    (2ULL << 30)
#define FORMAT_MEMORY_SHARE 2 /* less, if it is 1/n of what the host can spare */

/* --- files that are no profiles -------------------------------------------------------------- */

struct foreign {
	const char *why;     /* it can't be read */
	const char *command; /* what to pipe: its text before the file's name; NULL: nothing */
	const char *more;    /* behind that, or alone */
	const char *magic;   /* a text that files have at this place; or … */
	size_t magic_at;
	bool (*is_line)(const char *line, size_t nr); /* … a line that they have */
};

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

static const struct foreign foreigns[] = {
	{"only perf itself can", "perf script -i", "", .magic = "PERFILE2"},
	{"xz has compressed it", "xz -dc", "", .magic = "\xfd\x37zXZ"},
	{"zstd has compressed it", "zstd -dc", "", .magic = "\x28\xb5\x2f\xfd"},
	{"bzip2 has compressed it", "bzip2 -dc", "", .magic = "1AY&SY", .magic_at = 4},
	{"lz4 has compressed it", "lz4 -dc", "", .magic = "\x04\x22\x4d\x18"},
	{"it is a map as bpftrace prints it", "stackcollapse-bpftrace.pl",
	 ", with --no-comm unless 'comm' stands behind the stack in its keys",
	 .is_line = is_map_entry},
	{"it is what bcc's tools print for people", NULL,
	 "take folded stacks: bcc's tools have -f for them, as 'profile -f'",
	 .is_line = is_bcc_text},
};

static bool has_line(const char *head, size_t nr, bool (*is_line)(const char *line, size_t nr))
{
	const char *at = head, *end = head + nr;

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));

		if (!line_end)
			line_end = end;
		if (is_line(at, (size_t)(line_end - at)))
			return true;
		at = line_end + 1;
	}
	return false;
}

static bool is_foreign(const struct foreign *foreign, const char *head, size_t nr)
{
	size_t nr_magic;

	if (foreign->is_line)
		return has_line(head, nr, foreign->is_line);
	nr_magic = strlen(foreign->magic);
	return nr >= foreign->magic_at + nr_magic &&
	       !memcmp(head + foreign->magic_at, foreign->magic, nr_magic);
}

static int refuse_foreign(const char *head, size_t nr, const char *path, struct error *error)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(foreigns) && !is_foreign(&foreigns[i], head, nr))
		i++;
	if (i == ARRAY_SIZE(foreigns))
		return 0;
	(void)error_set(error, -EINVAL, "%s", foreigns[i].why);
	if (foreigns[i].command)
		error_hint(error, "pipe what '%s %s' prints%s", foreigns[i].command, path,
			   foreigns[i].more);
	else
		error_hint(error, "%s", foreigns[i].more);
	return -EINVAL;
}

/* --- files in memory -------------------------------------------------------------------------- */

/* What is made of it takes as much again. */
static uint64_t choose_max_bytes(void)
{
	uint64_t spare = read_budget_spare_memory() / FORMAT_MEMORY_SHARE;

	return spare < FORMAT_MAX_BYTES ? spare : FORMAT_MAX_BYTES;
}

/* All of a file, inflated if it is compressed. */
static int read_whole(FILE *in, uint8_t **ret, size_t *ret_nr, struct error *error)
{
	uint64_t max_bytes = choose_max_bytes();
	int result = gzip_read(in, max_bytes, ret, ret_nr);

	if (result == -EFBIG) {
		(void)error_set(error, result, "the profile is larger than %" PRIu64 " MiB",
				max_bytes >> 20);
		if (max_bytes < FORMAT_MAX_BYTES)
			error_hint(error, "that is half of the memory that this host can spare");
		return result;
	}
	if (result == -E2BIG) {
		(void)error_set(error, result,
				"the compressed profile inflates to more than %d times its size",
				GZIP_MAX_RATIO);
		error_hint(error, "no profile compresses so well; if it is one, gunzip it first");
		return result;
	}
	if (result == -EBADMSG)
		return error_set(error, result, "the compressed profile is damaged or cut off");
	if (result < 0)
		return error_set(error, result, "cannot read the profile: %s", strerror(-result));
	return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The format of what is not compressed, or was inflated. 0 or -EINVAL. */
static int detect(const char *head, size_t nr, bool was_inflated, const char *path,
		  const struct format **ret, struct error *error)
{
	const struct format *format, *by_path = format_by_path(path);
	char names[FORMAT_NAMES_BYTES];
	int err = was_inflated ? 0 : refuse_foreign(head, nr, path, error);

	if (err)
		return err;
	format = format_by_head(head, nr);
	if (!format && was_inflated)
		format = format_by_name("pprof");
	if (!format && by_path && by_path->is_it)
		format = by_path;
	*ret = format;
	if (format)
		return 0;
	if (!nr)
		return error_set(error, -EINVAL, "it is empty");
	(void)error_set(error, -EINVAL, "it is none of %s", format_read_names(names));
	error_hint(error, "--input-format says which, if it is one");
	return -EINVAL;
}

int format_read(FILE *in, const char *path, const struct format_read_options *options,
		struct profile *profile, struct format_notes *notes, struct error *error)
{
	const struct format *format = options->format;
	cleanup_free uint8_t *bytes = NULL;
	cleanup_file FILE *text = NULL;
	char start[HEAD_BYTES];
	size_t nr_head = stream_peek(in, start, sizeof(start)), nr_bytes = 0;
	bool is_packed = gzip_is_it(start, nr_head);
	const char *head = start;
	int err = 0;

	if (is_packed) {
		err = read_whole(in, &bytes, &nr_bytes, error);
		head = (const char *)bytes;
		nr_head = nr_bytes < HEAD_BYTES ? nr_bytes : HEAD_BYTES;
	}
	if (!err && !format)
		err = detect(head, nr_head, is_packed, path, &format, error);
	if (!err && format->parse && !bytes)
		err = read_whole(in, &bytes, &nr_bytes, error);
	if (err)
		return err;
	if (format->parse)
		return format->parse(bytes, nr_bytes, profile, notes, error);
	if (bytes) {
		text = fmemopen(bytes, nr_bytes, "r");
		if (!text)
			return error_set(error, -ENOMEM, "out of memory");
	}
	return format->read(text ? text : in, options, profile, notes, error);
}
