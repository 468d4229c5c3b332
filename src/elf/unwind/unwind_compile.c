/*
 * Compiles a file's unwind table in one call: reads the rows of the file and of its debug file, converts them to
 * file offsets, and packs them.
 */
#include "elf/unwind/unwind_compile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/image/debug_link.h"
#include "elf/image/elf_image.h"
#include "elf/unwind/unwind_rows.h"

/*
 * Appends a row unless its rule equals the last row's. A row with the same address as the last row
 * (one segment ends where the next begins) replaces it: packing allows one row per byte.
 */
static int append(struct unwind_rows *rows, uint64_t address, uint32_t rule)
{
	if (rows->nr_rows && rows->rows[rows->nr_rows - 1].address == address)
		rows->nr_rows--;
	if (rows->nr_rows && rows->rows[rows->nr_rows - 1].rule == rule)
		return 0;
	if (rows->nr_rows == UNWIND_ROWS_MAX)
		return -E2BIG; /* segments may overlap, and so their rows */
	return ARRAY_ADD(rows->rows, rows->nr_rows, rows->row_capacity,
			 (struct unwind_row){.address = address, .rule = rule});
}

/* Adds the rows of one segment by file offset; after it there is no rule. */
static int add_segment(struct unwind_rows *to, const struct unwind_rows *from,
		       const struct elf_segment *segment)
{
	size_t i = unwind_rows_above(from, segment->vaddr);
	int err = append(to, segment->offset, i ? from->rows[i - 1].rule : 0);

	for (; !err && i < from->nr_rows; i++) {
		uint64_t in_segment = from->rows[i].address - segment->vaddr;

		if (in_segment >= segment->bytes)
			break;
		err = append(to, segment->offset + in_segment, from->rows[i].rule);
	}
	return err ? err : append(to, segment->offset + segment->bytes, 0);
}

/* Converts addresses as linked to file offsets. Bytes in two segments count for the first. */
static int by_offset(struct unwind_rows *rows, const struct elf_image *image)
{
	struct unwind_rows result = {0};
	uint64_t end = 0;
	size_t i;
	int err = 0;

	for (i = 0; i < image->nr_segments && !err; i++) {
		struct elf_segment segment = image->segments[i];
		uint64_t overlap = segment.offset < end ? end - segment.offset : 0;

		if (overlap >= segment.bytes)
			continue;
		segment.offset += overlap;
		segment.vaddr += overlap;
		segment.bytes -= overlap;
		end = segment.offset + segment.bytes;
		err = add_segment(&result, rows, &segment);
	}
	free(rows->rows);
	rows->rows = result.rows;
	rows->nr_rows = result.nr_rows;
	rows->row_capacity = result.row_capacity;
	return err;
}

int unwind_compile(struct unwind_table *table, const struct elf_image *image,
		   const struct elf_image *debug, struct error *error)
{
	cleanup(unwind_rows_clear) struct unwind_rows rows = {0};
	int err = unwind_rows_read(&rows, image, debug, error);

	if (err < 0)
		return err;
	*table = (struct unwind_table){0};
	if (rows.nr_rows)
		err = by_offset(&rows, image);
	if (!err)
		err = unwind_table_pack(table, &rows, image->machine);
	if (err < 0) {
		unwind_table_clear(table);
		return error_set(error, err, "cannot make an unwind table: %s", strerror(-err));
	}
	return 0;
}

int unwind_compile_memory(struct unwind_table *table, const void *bytes, size_t nr,
			  struct error *error)
{
	struct elf_image image;
	int err = elf_image_open_memory(&image, bytes, nr, error);

	if (err < 0)
		return err;
	err = unwind_compile(table, &image, NULL, error);
	elf_image_close(&image);
	return err;
}
