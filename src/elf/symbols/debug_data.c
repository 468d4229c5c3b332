/*
 * Decompresses MiniDebugInfo into memory, reads its symbols, and frees the memory.
 *
 * The bytes are untrusted. A small xz stream can expand to a lot, and its header determines the
 * memory of the decoder: each of these has a limit. Real ones expand to four to ten times their
 * size.
 */
#include "elf/symbols/debug_data.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/image/elf_image.h"

#define PACKED_MAX_BYTES   (64u << 20)
#define UNPACKED_MAX_BYTES (256u << 20)
#define UNPACKED_MAX_RATIO 64
#define DECODER_MAX_BYTES  (80u << 20) /* `xz -9`, the largest preset, needs 65 MiB */

#define FIRST_BYTES (256u << 10) /* initial output buffer; it doubles */

struct unpacked {
	uint8_t *bytes;
	size_t nr, capacity;
};

static int refuse(struct error *error, const char *why)
{
	return error_set(error, -ENOEXEC, "invalid .gnu_debugdata: %s", why);
}

/*
 * Decompresses all of the stream's input; the output is limited to max_bytes and charged to the
 * budget.
 */
static int unpack(lzma_stream *stream, struct unpacked *to, size_t max_bytes,
		  struct read_budget *budget, struct error *error)
{
	lzma_ret status = LZMA_OK;

	while (status == LZMA_OK) {
		size_t wanted = to->nr < FIRST_BYTES ? FIRST_BYTES : to->nr + 1;

		if (to->nr == max_bytes)
			return refuse(error, "decompressed size too large");
		if (ARRAY_RESERVE(to->bytes, to->capacity, wanted) < 0)
			return error_no_memory(error, "for .gnu_debugdata");
		if (read_budget_take(budget, to->capacity - to->nr) < 0)
			return refuse(error, "out of time or memory budget");
		stream->next_out = to->bytes + to->nr;
		stream->avail_out = (to->capacity < max_bytes ? to->capacity : max_bytes) - to->nr;
		status = lzma_code(stream, LZMA_FINISH);
		to->nr = (size_t)(stream->next_out - to->bytes);
	}
	if (status == LZMA_STREAM_END)
		return 0;
	if (status == LZMA_MEM_ERROR)
		return error_no_memory(error, "for .gnu_debugdata");
	if (status == LZMA_MEMLIMIT_ERROR)
		return refuse(error, "decompression needs too much memory");
	return refuse(error, "decompression failed");
}

static int unpack_section(const struct elf_image *image, const GElf_Shdr *header,
			  struct unpacked *to, struct error *error)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	cleanup_free uint8_t *packed = NULL;
	size_t max_bytes = UNPACKED_MAX_BYTES;
	int err = elf_section_read(image, header, PACKED_MAX_BYTES, &packed);

	if (err == -ENOMEM)
		return error_no_memory(error, "for .gnu_debugdata");
	if (err < 0)
		return refuse(error, "unreadable, or too large");
	if (header->sh_size < max_bytes / UNPACKED_MAX_RATIO)
		max_bytes = header->sh_size * UNPACKED_MAX_RATIO;
	if (lzma_stream_decoder(&stream, DECODER_MAX_BYTES, 0) != LZMA_OK)
		return error_no_memory(error, "for .gnu_debugdata");
	stream.next_in = packed;
	stream.avail_in = header->sh_size;
	err = unpack(&stream, to, max_bytes, image->budget, error);
	lzma_end(&stream);
	return err;
}

static int read_symbols(struct symbol_table **ret, const struct elf_image *image,
			const struct unpacked *unpacked, struct error *error)
{
	struct elf_image packed;
	const struct symbol_part parts[] = {{&packed, SYMBOLS_STATIC}, {image, SYMBOLS_DYNAMIC}};
	struct symbol_table *table;
	struct error why = {0};

	if (elf_image_open_memory(&packed, unpacked->bytes, unpacked->nr, &why) == 0) {
		table = symbol_table_read(parts, ARRAY_SIZE(parts), &why);
		elf_image_close(&packed);
		if (table) {
			*ret = table;
			return 0;
		}
	}
	return why.code == -ENOMEM ? error_no_memory(error, "for .gnu_debugdata")
				   : refuse(error, why.text);
}

int debug_data_read(struct symbol_table **ret, const struct elf_image *image, struct error *error)
{
	struct unpacked unpacked = {0};
	GElf_Shdr header;
	int err;

	*ret = NULL;
	if (elf_section_find(image, ".gnu_debugdata", &header) < 0)
		return 0;
	err = unpack_section(image, &header, &unpacked, error);
	if (err == 0)
		err = read_symbols(ret, image, &unpacked, error);
	free(unpacked.bytes);
	return err;
}
