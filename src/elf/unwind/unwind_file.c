/*
 * Reading and writing the file of an unwind table.
 *
 * The checksum is base/hash's, not zlib's CRC-32: it has 64 bits, takes eight bytes a step, and
 * each of its steps is a bijection, so that damage within one aligned word is always found. It
 * finds accidents, not forgers: against those the folder is ours alone, and what is read is
 * checked (unwind_table_check()) as if there were no checksum.
 *
 * A header's sizes are believed only if they add up to the size of the file, before anything is
 * allocated for them. Nothing is synced: what a crash of the host leaves half written is found by
 * the checksum.
 */
#include "elf/unwind/unwind_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/fd_io.h"
#include "base/hash.h"

enum { PART_PAGES, PART_PAGE_WORDS, PART_WORDS, PART_WIDE, NR_PARTS };

/* The table's arrays, in the order of the file. */
static void parts_of(const struct unwind_table *table, struct iovec parts[NR_PARTS])
{
	parts[PART_PAGES] = (struct iovec){table->pages, table->nr_pages * sizeof(*table->pages)};
	parts[PART_PAGE_WORDS] =
		(struct iovec){table->page_words, table->nr_pages * sizeof(*table->page_words)};
	parts[PART_WORDS] = (struct iovec){table->words, table->nr_words * sizeof(*table->words)};
	parts[PART_WIDE] = (struct iovec){table->wide, table->nr_wide * sizeof(*table->wide)};
}

uint64_t unwind_file_checksum(const struct unwind_file_header *header,
			      const struct unwind_table *table)
{
	struct unwind_file_header hashed = *header;
	struct iovec parts[NR_PARTS];
	uint64_t hash;
	size_t i;

	hashed.checksum = 0;
	hash = hash_stable_bytes(&hashed, sizeof(hashed));
	parts_of(table, parts);
	for (i = 0; i < NR_PARTS; i++)
		if (parts[i].iov_len)
			hash = hash_stable_add(
				hash, hash_stable_bytes(parts[i].iov_base, parts[i].iov_len));
	return hash;
}

uint64_t unwind_file_bytes(const struct unwind_table *table)
{
	return sizeof(struct unwind_file_header) + unwind_table_bytes(table);
}

int unwind_file_write(int fd, const uint8_t *build_id, size_t build_id_bytes,
		      const struct unwind_table *table)
{
	struct unwind_file_header header = {
		.magic = UNWIND_FILE_MAGIC,
		.version = UNWIND_FORMAT_VERSION,
		.machine = table->machine,
		.build_id_bytes = (uint16_t)build_id_bytes,
		.start = table->start,
		.nr_rows = table->nr_rows,
		.nr_rows_dropped = table->nr_rows_dropped,
		.nr_pages = table->nr_pages,
		.nr_words = (uint32_t)table->nr_words,
		.nr_wide = (uint32_t)table->nr_wide,
	};
	uint64_t offset = sizeof(header);
	struct iovec parts[NR_PARTS];
	size_t i;
	int err;

	if (build_id_bytes > sizeof(header.build_id))
		return -EINVAL;
	memcpy(header.build_id, build_id, build_id_bytes);
	header.checksum = unwind_file_checksum(&header, table);
	err = fd_write_at(fd, 0, &header, sizeof(header));
	parts_of(table, parts);
	for (i = 0; i < NR_PARTS && !err; i++) {
		err = fd_write_at(fd, offset, parts[i].iov_base, parts[i].iov_len);
		offset += parts[i].iov_len;
	}
	return err;
}

/* A file that ends early is no accident of ours. */
static int read_part(int fd, uint64_t offset, void *to, size_t nr)
{
	int err = fd_read_at(fd, offset, to, nr);

	return err == -ENODATA ? -EBADMSG : err;
}

/* The header's own claims; whether they are true shows later. */
static bool header_is_sound(const struct unwind_file_header *header, const uint8_t *build_id,
			    size_t build_id_bytes)
{
	return header->magic == UNWIND_FILE_MAGIC && header->version == UNWIND_FORMAT_VERSION &&
	       header->build_id_bytes == build_id_bytes &&
	       build_id_bytes <= sizeof(header->build_id) &&
	       !memcmp(header->build_id, build_id, build_id_bytes) &&
	       header->nr_pages <= UNWIND_TABLE_MAX_PAGES &&
	       header->nr_words <= UNWIND_TABLE_MAX_WORDS && header->nr_wide <= UNWIND_MAX_WIDE;
}

static struct unwind_table table_of(const struct unwind_file_header *header)
{
	return (struct unwind_table){
		.machine = header->machine,
		.start = header->start,
		.nr_pages = header->nr_pages,
		.nr_words = header->nr_words,
		.nr_wide = header->nr_wide,
		.nr_rows = header->nr_rows,
		.nr_rows_dropped = header->nr_rows_dropped,
	};
}

/* Of one element at least, so that NULL means that there is no memory. */
static void *new_array(size_t nr, size_t item_bytes)
{
	return malloc((nr ? nr : 1) * item_bytes);
}

static int read_arrays(int fd, struct unwind_table *table)
{
	uint64_t offset = sizeof(struct unwind_file_header);
	struct iovec parts[NR_PARTS];
	size_t i;
	int err = 0;

	table->pages = new_array(table->nr_pages, sizeof(*table->pages));
	table->page_words = new_array(table->nr_pages, sizeof(*table->page_words));
	table->words = new_array(table->nr_words, sizeof(*table->words));
	table->wide = new_array(table->nr_wide, sizeof(*table->wide));
	if (!table->pages || !table->page_words || !table->words || !table->wide)
		return -ENOMEM;
	parts_of(table, parts);
	for (i = 0; i < NR_PARTS && !err; i++) {
		err = read_part(fd, offset, parts[i].iov_base, parts[i].iov_len);
		offset += parts[i].iov_len;
	}
	return err;
}

int unwind_file_read(int fd, const uint8_t *build_id, size_t build_id_bytes,
		     struct unwind_table *ret)
{
	struct unwind_file_header header;
	struct unwind_table table;
	struct stat status;
	int err;

	if (fstat(fd, &status) < 0)
		return -errno;
	err = read_part(fd, 0, &header, sizeof(header));
	if (err < 0)
		return err;
	if (!header_is_sound(&header, build_id, build_id_bytes))
		return -EBADMSG;
	table = table_of(&header);
	if ((uint64_t)status.st_size != unwind_file_bytes(&table))
		return -EBADMSG;
	err = read_arrays(fd, &table);
	if (!err && (header.checksum != unwind_file_checksum(&header, &table) ||
		     unwind_table_check(&table) < 0))
		err = -EBADMSG;
	if (err < 0)
		unwind_table_clear(&table);
	else
		*ret = table;
	return err;
}
