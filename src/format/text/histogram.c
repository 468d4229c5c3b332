/* See histogram.h. */
#include "format/text/histogram.h"

#include <inttypes.h>
#include <string.h>

#include "format/text/columns.h"

#define BAR_COLUMNS   40
#define TITLE_COLUMNS 19

/* At least one star for what is there at all. */
static size_t stars(uint64_t count, uint64_t most)
{
	size_t nr = (size_t)((double)count / (double)most * BAR_COLUMNS);

	return count && !nr ? 1 : nr;
}

static void end_of(char *text, size_t bytes, int64_t end, const char *beyond)
{
	if (beyond)
		(void)snprintf(text, bytes, "%s", beyond);
	else
		(void)snprintf(text, bytes, "%" PRId64, end);
}

static void write_row(const struct histogram_range *range, uint64_t count, uint64_t most, FILE *out)
{
	static const char bar[] = "****************************************";
	char from[24], to[24];

	end_of(from, sizeof(from), range->from,
	       range->is_open && range->from == INT64_MIN ? "less" : NULL);
	end_of(to, sizeof(to), range->to, range->is_open && range->to == INT64_MAX ? "more" : NULL);
	(void)fprintf(out, "%10s -> %-10s : %-8" PRIu64 " |%-*.*s|\n", from, to, count, BAR_COLUMNS,
		      (int)stars(count, most), bar);
}

void histogram_write(const char *title, const struct histogram_range *ranges,
		     const uint64_t *counts, size_t nr, FILE *out)
{
	size_t first = 0, last = 0, columns, i;
	uint64_t most = 0;

	for (i = 0; i < nr; i++) {
		if (!counts[i])
			continue;
		first = most ? first : i;
		last = i;
		most = counts[i] > most ? counts[i] : most;
	}
	(void)fputs("     ", out);
	columns = columns_write(out, title, TITLE_COLUMNS, "~");
	columns_pad(out, TITLE_COLUMNS - columns);
	(void)fputs(" : count     distribution\n", out);
	for (i = first; i <= last && most; i++)
		write_row(&ranges[i], counts[i], most, out);
}
