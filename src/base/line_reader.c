/*
 * The buffer holds whole lines and the beginning of one, which is moved to its front when more is
 * read. Only a line that does not fit makes it grow. memchr() finds line ends at the memory's speed.
 */
#include "base/line_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* What the processor's second cache holds, so that lines are still in it when they are looked at. */
#define FIRST_BYTES (256U << 10)

/* Reads more behind what is left. 0 or a negative errno. */
static int fill(struct line_reader *reader)
{
	size_t nr_left = reader->end - reader->start;

	if (nr_left == reader->cap &&
	    array_reserve(&reader->bytes, &reader->cap, nr_left ? 2 * nr_left : FIRST_BYTES, 1) < 0)
		return -ENOMEM;
	if (!reader->bytes) /* it is there by now, which tools that only read the code do not see */
		return -ENOMEM;
	if (nr_left)
		memmove(reader->bytes, reader->bytes + reader->start, nr_left);
	reader->start = 0;
	reader->end = nr_left;
	errno = 0;
	reader->end +=
		fread_unlocked(reader->bytes + nr_left, 1, reader->cap - nr_left, reader->in);
	if (reader->end == reader->cap)
		return 0;
	reader->at_end = true;
	if (ferror_unlocked(reader->in))
		return errno ? -errno : -EIO;
	return 0;
}

/*
 * Reads on until a line end is in the buffer, or as much as a line may have, or the stream's end.
 * 1 and where that is; 0 if nothing is left; or a negative errno.
 */
static int find_end(struct line_reader *reader, const char **ret_end)
{
	size_t nr_seen = 0;
	int result = reader->bytes ? 0 : fill(reader);

	while (!result) {
		const char *start = reader->bytes + reader->start;
		size_t nr = reader->end - reader->start;

		*ret_end = nr > nr_seen ? memchr(start + nr_seen, '\n', nr - nr_seen) : NULL;
		if (*ret_end)
			return 1;
		if (reader->at_end || nr > LINE_READER_MAX_BYTES) {
			*ret_end = start + nr;
			return nr > 0;
		}
		nr_seen = nr;
		result = fill(reader);
	}
	return result < 0 ? result : 0;
}

/* A line end is passed over with the line. */
static void pass(struct line_reader *reader, const char *end)
{
	reader->start = (size_t)(end - reader->bytes);
	if (reader->start < reader->end && *end == '\n')
		reader->start++;
}

static int skip_rest(struct line_reader *reader)
{
	const char *end;
	int result;

	while (reader->in_cut) {
		result = find_end(reader, &end);
		if (result <= 0)
			return result;
		reader->in_cut = end == reader->bytes + reader->end;
		pass(reader, end);
	}
	return 0;
}

int line_reader_next(struct line_reader *reader, struct line *ret)
{
	const char *start, *end;
	int result = skip_rest(reader);

	if (result < 0)
		return result;
	result = find_end(reader, &end);
	if (result <= 0)
		return result;
	start = reader->bytes + reader->start;
	ret->is_cut = end - start > LINE_READER_MAX_BYTES;
	if (ret->is_cut)
		end = start + LINE_READER_MAX_BYTES;
	reader->in_cut = ret->is_cut;
	reader->number++;
	pass(reader, end);
	if (end > start && end[-1] == '\r')
		end--;
	*ret = (struct line){start, (size_t)(end - start), ret->is_cut};
	return 1;
}

int line_reader_peek(struct line_reader *reader, struct line *ret)
{
	const char *end, *last;
	int result = skip_rest(reader);

	if (result >= 0)
		result = find_end(reader, &end);
	if (result <= 0) {
		*ret = (struct line){.text = ""};
		return result;
	}
	last = memrchr(end, '\n', (size_t)(reader->bytes + reader->end - end));
	if (last && !reader->at_end)
		end = last + 1;
	else
		end = reader->bytes + reader->end;
	ret->text = reader->bytes + reader->start;
	ret->nr = (size_t)(end - ret->text);
	ret->is_cut = false;
	return 0;
}

int line_reader_explain(int result, struct error *error)
{
	if (result == -ENOMEM)
		return error_set(error, result, "out of memory");
	return error_set(error, result, "cannot read it: %s", strerror(-result));
}

void line_reader_clear(struct line_reader *reader)
{
	free(reader->bytes);
	*reader = (struct line_reader){.in = NULL};
}
