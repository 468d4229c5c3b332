/*
 * Reads a profile in any format. If a file is compressed by gzip, it is inflated. Then the first
 * bytes decide the format, or the extension of its name if they do not. For some known files that
 * are not profiles, the error says what the file is and which program converts it. Other
 * compression formats are not inflated here, since a pipe can do that.
 */
#include "format/format.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "base/file/read_budget.h"
#include "format/gzip.h"

#define HEAD_BYTES 4096 /* the content examined to detect the format */

/* Limit for files that must be in memory, when inflated. */
#define FORMAT_MAX_BYTES    (2ULL << 30)
#define FORMAT_MEMORY_SHARE 2 /* the limit is lower if only 1/n of the spare memory is less */

/* --- known files that are not profiles ------------------------------------------------------- */

struct foreign {
	const char *why;     /* why it cannot be read */
	const char *command; /* the command to pipe from, without the file's name; NULL: none */
	const char *more;    /* text after the command, or without it the whole hint */
	const char *magic;   /* the bytes at magic_at; or NULL … */
	size_t magic_at;
	bool (*is_line)(const char *line, size_t nr); /* … and recognizes a line of such a file */
};

/* `@[` or `@name[comm, `: a key that is a stack continues on the following lines. */
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

/* The first line printed by bcc's tools, or the thread's line below a stack. */
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
	{"it is a perf.data file", "perf script -i", "", .magic = "PERFILE2"},
	{"it is compressed by xz", "xz -dc", "", .magic = "\xfd\x37zXZ"},
	{"it is compressed by zstd", "zstd -dc", "", .magic = "\x28\xb5\x2f\xfd"},
	{"it is compressed by bzip2", "bzip2 -dc", "", .magic = "1AY&SY", .magic_at = 4},
	{"it is compressed by lz4", "lz4 -dc", "", .magic = "\x04\x22\x4d\x18"},
	{"it is a map printed by bpftrace", "stackcollapse-bpftrace.pl",
	 ", with --no-comm unless 'comm' follows the stack in its keys", .is_line = is_map_entry},
	{"it is the report of a bcc tool", NULL,
	 "use folded stacks: bcc's tools print them with -f, such as 'profile -f'",
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
		error_hint(error, "pipe the output of '%s %s'%s", foreigns[i].command, path,
			   foreigns[i].more);
	else
		error_hint(error, "%s", foreigns[i].more);
	return -EINVAL;
}

/* --- files in memory -------------------------------------------------------------------------- */

/* Half of the spare memory: the profile made from the file needs as much again. */
static uint64_t choose_max_bytes(uint64_t spare)
{
	spare = (spare ? spare : read_budget_spare_memory()) / FORMAT_MEMORY_SHARE;

	return spare < FORMAT_MAX_BYTES ? spare : FORMAT_MAX_BYTES;
}

/* Reads the whole file, inflated if it is compressed. */
static int read_whole(FILE *in, uint64_t spare, uint8_t **ret, size_t *ret_nr, struct error *error)
{
	uint64_t max_bytes = choose_max_bytes(spare);
	int result = gzip_read(in, max_bytes, ret, ret_nr);

	if (result == -EFBIG) {
		(void)error_set(error, result, "the profile is larger than %" PRIu64 " MiB",
				max_bytes >> 20);
		if (max_bytes < FORMAT_MAX_BYTES)
			error_hint(error, "the limit is half of this host's available memory");
		return result;
	}
	if (result == -E2BIG) {
		(void)error_set(error, result,
				"the compressed profile inflates to more than %d times its size",
				GZIP_MAX_RATIO);
		error_hint(error,
			   "profiles do not compress that well; if it is one, gunzip it first");
		return result;
	}
	if (result == -EBADMSG)
		return error_set(error, result, "the compressed profile is damaged or truncated");
	if (result < 0)
		return error_set(error, result, "cannot read the profile: %s", strerror(-result));
	return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Detects the format of uncompressed or inflated content. Returns 0 or -EINVAL. */
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
	(void)error_set(error, -EINVAL, "unknown format, none of %s", format_read_names(names));
	error_hint(error, "choose the format by --input-format");
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
	bool is_packed = gzip_is_compressed(start, nr_head);
	const char *head = start;
	int err = 0;

	if (is_packed) {
		err = read_whole(in, options->spare_bytes, &bytes, &nr_bytes, error);
		head = (const char *)bytes;
		nr_head = nr_bytes < HEAD_BYTES ? nr_bytes : HEAD_BYTES;
	}
	if (!err && !format)
		err = detect(head, nr_head, is_packed, path, &format, error);
	if (!err && format->parse && !bytes)
		err = read_whole(in, options->spare_bytes, &bytes, &nr_bytes, error);
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
