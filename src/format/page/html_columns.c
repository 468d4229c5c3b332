/*
 * Columns are kept whole until all are known, since their list stands in front of them. On their
 * way out they pass gzip and base64, which makes four characters of three bytes; a browser has
 * both, so nothing of that has to be in the page.
 */
#include "format/page/html_columns.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/gzip.h"

#define NUMBER_MAX_BYTES 10

size_t html_columns_add(struct html_columns *columns, const char *name)
{
	struct html_column *column;

	if (columns->failed || array_reserve(&columns->columns, &columns->cap, columns->nr + 1,
					     sizeof(*columns->columns)) < 0) {
		columns->failed = true;
		return 0;
	}
	column = &columns->columns[columns->nr];
	*column = (struct html_column){0};
	(void)snprintf(column->name, sizeof(column->name), "%s", name);
	return columns->nr++;
}

size_t html_columns_add_of_tree(struct html_columns *columns, size_t tree, const char *name)
{
	char full[HTML_COLUMN_NAME_BYTES];

	(void)snprintf(full, sizeof(full), "tree%zu.%s", tree, name);
	return html_columns_add(columns, full);
}

static struct html_column *reserve(struct html_columns *columns, size_t number, size_t nr)
{
	struct html_column *column;

	if (columns->failed)
		return NULL;
	column = &columns->columns[number];
	if (array_reserve(&column->bytes, &column->cap_bytes, column->nr_bytes + nr, 1) == 0)
		return column;
	columns->failed = true;
	return NULL;
}

void html_columns_put(struct html_columns *columns, size_t number, uint64_t value)
{
	struct html_column *column = reserve(columns, number, NUMBER_MAX_BYTES);

	if (!column)
		return;
	for (; value > 0x7f; value >>= 7)
		column->bytes[column->nr_bytes++] = (uint8_t)(value | 0x80);
	column->bytes[column->nr_bytes++] = (uint8_t)value;
	column->nr++;
}

void html_columns_put_bytes(struct html_columns *columns, size_t number, const void *bytes,
			    size_t nr)
{
	struct html_column *column = reserve(columns, number, nr);

	if (!column || !nr)
		return;
	memcpy(column->bytes + column->nr_bytes, bytes, nr);
	column->nr_bytes += nr;
}

void html_columns_write_list(const struct html_columns *columns, FILE *out)
{
	size_t i;

	(void)putc('[', out);
	for (i = 0; i < columns->nr; i++) {
		const struct html_column *column = &columns->columns[i];

		(void)fprintf(out, "%s[\"%s\",%zu,%zu]", i ? "," : "", column->name, column->nr,
			      column->nr_bytes);
	}
	(void)putc(']', out);
}

/* --- base64 ---------------------------------------------------------------------------------- */

/* A stream in front of another one. */
struct base64 {
	FILE *out;
	uint8_t kept[3]; /* bytes that don't make three yet */
	size_t nr_kept;
};

static void write_group(struct base64 *base64)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *kept = base64->kept;
	uint32_t bits = (uint32_t)kept[0] << 16 | (uint32_t)kept[1] << 8 | kept[2];
	char text[4];
	size_t i;

	for (i = 0; i < 4; i++)
		text[i] = i <= base64->nr_kept ? digits[bits >> (18 - 6 * i) & 63] : '=';
	(void)fwrite(text, 1, 4, base64->out);
	memset(base64->kept, 0, sizeof(base64->kept));
	base64->nr_kept = 0;
}

static ssize_t base64_write(void *cookie, const char *bytes, size_t nr)
{
	struct base64 *base64 = cookie;
	size_t i;

	for (i = 0; i < nr; i++) {
		base64->kept[base64->nr_kept++] = (uint8_t)bytes[i];
		if (base64->nr_kept == sizeof(base64->kept))
			write_group(base64);
	}
	/* The stream in front is then at fault, too, with this one's errno. */
	return ferror(base64->out) ? 0 : (ssize_t)nr;
}

static int base64_close(void *cookie)
{
	struct base64 *base64 = cookie;

	if (base64->nr_kept)
		write_group(base64);
	return 0;
}

int html_columns_write(const struct html_columns *columns, FILE *out)
{
	struct base64 base64 = {.out = out};
	cleanup_file FILE *stream =
		fopencookie(&base64, "w",
			    (cookie_io_functions_t){.write = base64_write, .close = base64_close});
	struct gzip_writer *gzip;
	int result = 0;
	size_t i;

	if (columns->failed || !stream)
		return -ENOMEM;
	gzip = gzip_writer_new(stream);
	if (!gzip)
		return -ENOMEM;
	for (i = 0; i < columns->nr && !result; i++)
		result = gzip_write(gzip, columns->columns[i].bytes, columns->columns[i].nr_bytes);
	if (!result)
		result = gzip_finish(gzip);
	gzip_writer_free(gzip);
	return result;
}

void html_columns_clear(struct html_columns *columns)
{
	size_t i;

	for (i = 0; i < columns->nr; i++)
		free(columns->columns[i].bytes);
	free(columns->columns);
	*columns = (struct html_columns){0};
}
