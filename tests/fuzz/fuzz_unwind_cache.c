/*
 * elf/unwind/unwind_cache: arbitrary cache files. A file must either be refused, or lookups in its
 * table must stay inside it and return valid rules.
 *
 * A fuzzer cannot guess the checksum, so the checksum, the table's identity and its length are
 * corrected first; files of a real cache are good seeds. If the header's last field is not zero,
 * the bytes are used unchanged.
 *
 *	make fuzz && build/fuzz/fuzz_unwind_cache -max_len=8192 CORPUS /var/cache/stook
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "elf/unwind/unwind_cache.h"
#include "elf/unwind/unwind_table.h"
#include "fuzz/fuzz.h"
#include "unit/unwind_reading.h"

#define MAX_LOOKUPS 8192

static const uint8_t id[] = {0x42};
#define ID_NAME "42"

static char path[] = "/tmp/stook-fuzz-XXXXXX";
static struct unwind_cache *cache;
static int folder = -1;

int LLVMFuzzerInitialize(int *argc, char ***argv);
static void remove_folder(void)
{
	(void)unlinkat(folder, ID_NAME, 0);
	(void)rmdir(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (!mkdtemp(path))
		abort();
	cache = unwind_cache_open(path, UINT64_MAX, NULL);
	folder = open(path, O_RDONLY | O_DIRECTORY);
	if (!cache || folder < 0 || atexit(remove_folder) != 0)
		abort();
	return 0;
}

/* Finds the arrays of a file in memory. Fails unless their lengths match the header. */
static bool find_arrays(const struct unwind_file_header *header, uint8_t *bytes, size_t nr,
			struct unwind_table *ret)
{
	struct unwind_table table = {
		.nr_pages = header->nr_pages,
		.nr_words = header->nr_words,
		.nr_wide = header->nr_wide,
	};

	if (unwind_file_bytes(&table) != nr)
		return false;
	table.pages = (void *)(bytes + sizeof(*header));
	table.page_words = table.pages + table.nr_pages;
	table.words = table.page_words + table.nr_pages;
	table.wide = (void *)(table.words + table.nr_words);
	*ret = table;
	return true;
}

static void repair(uint8_t *bytes, size_t nr)
{
	struct unwind_file_header header;
	struct unwind_table table = {0};
	size_t others;

	memcpy(&header, bytes, sizeof(header));
	if (header.zero)
		return;
	header.magic = UNWIND_FILE_MAGIC;
	header.version = UNWIND_FORMAT_VERSION;
	header.build_id_bytes = sizeof(id);
	header.build_id[0] = id[0];
	table.nr_pages = header.nr_pages;
	table.nr_wide = header.nr_wide;
	others = unwind_file_bytes(&table);
	if (others <= nr)
		header.nr_words = (uint32_t)((nr - others) / sizeof(*table.words));
	if (find_arrays(&header, bytes, nr, &table))
		header.checksum = unwind_file_checksum(&header, &table);
	memcpy(bytes, &header, sizeof(header));
}

static void look_up(const struct unwind_table *table, uint64_t address)
{
	uint32_t packed = unwind_table_find(table, address);
	struct unwind_rule rule = unwind_table_unpack(table, packed);

	if (!unwind_pack_is_sound(packed, table->machine, table->nr_wide) ||
	    !unwind_pack_wide_is_sound(&rule))
		abort();
}

static void use(const struct unwind_table *table)
{
	uint64_t bytes = (uint64_t)table->nr_pages << UNWIND_PAGE_SHIFT;
	uint64_t i, step = bytes / MAX_LOOKUPS | 1;

	for (i = 0; i < bytes; i += step)
		look_up(table, table->start + i);
	look_up(table, table->start - 1);
	look_up(table, table->start + bytes - 1);
	look_up(table, table->start + bytes);
	look_up(table, 0);
	look_up(table, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	cleanup_free uint8_t *copy = malloc(nr + 1);
	cleanup_fd int fd = openat(folder, ID_NAME, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct unwind_table table;

	if (!copy || fd < 0)
		abort();
	memcpy(copy, bytes, nr);
	if (nr >= sizeof(struct unwind_file_header))
		repair(copy, nr);
	if (fd_write_at(fd, 0, copy, nr) < 0)
		abort();
	if (unwind_cache_load(cache, id, sizeof(id), &table) == 0) {
		use(&table);
		unwind_table_clear(&table);
	}
	return 0;
}
