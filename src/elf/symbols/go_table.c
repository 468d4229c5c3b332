/* Parses what go_table.h describes: pure functions over bytes, each of which is a claim. */
#include "elf/symbols/go_table.h"

#include <errno.h>
#include <stddef.h>

#include "base/array.h"

#define FUNCTIONS_MAX (8u << 20) /* the largest programs have a fifteenth of it */

#define MAGIC_1_2  0xfffffffb
#define MAGIC_1_16 0xfffffffa
#define MAGIC_1_18 0xfffffff0
#define MAGIC_1_20 0xfffffff1

static uint64_t read_pointer(struct bytes *bytes, unsigned nr)
{
	return nr == 8 ? bytes_u64(bytes) : bytes_u32(bytes);
}

/* Bytes from one function's pair to the next one's. */
static uint64_t pair_bytes(const struct go_header *header)
{
	return header->has_offsets ? 8 : 2 * header->pointer_bytes;
}

/* What stands between magic and functions since Go 1.16. */
static void parse_parts(struct go_header *header, struct bytes *bytes)
{
	unsigned nr = header->pointer_bytes;

	(void)read_pointer(bytes, nr); /* number of files */
	if (header->has_offsets)
		header->text = read_pointer(bytes, nr);
	header->names = read_pointer(bytes, nr);
	header->names_end = read_pointer(bytes, nr); /* where the next part begins */
	(void)read_pointer(bytes, nr);		     /* names of files */
	(void)read_pointer(bytes, nr);		     /* values by address */
	header->parts = header->functions = read_pointer(bytes, nr);
}

/* The eight bytes that all versions begin with; the magic, or 0. */
static uint32_t parse_beginning(struct go_header *header, struct bytes *bytes)
{
	uint32_t magic = bytes_u32(bytes);
	uint16_t zeros = bytes_u16(bytes);
	uint8_t instruction_bytes = bytes_u8(bytes);

	header->pointer_bytes = bytes_u8(bytes);
	if (zeros || (instruction_bytes != 1 && instruction_bytes != 2 && instruction_bytes != 4) ||
	    (header->pointer_bytes != 4 && header->pointer_bytes != 8))
		return 0;
	return magic;
}

int go_header_parse(struct go_header *ret, struct bytes bytes, uint64_t nr_table)
{
	struct go_header header = {.names_end = nr_table};
	uint32_t magic = parse_beginning(&header, &bytes);
	uint64_t nr_pairs;

	header.has_offsets = magic == MAGIC_1_18 || magic == MAGIC_1_20;
	if (magic != MAGIC_1_2 && magic != MAGIC_1_16 && !header.has_offsets)
		return -ENOEXEC;
	header.nr_functions = read_pointer(&bytes, header.pointer_bytes);
	if (magic == MAGIC_1_2)
		header.functions = 8 + header.pointer_bytes;
	else
		parse_parts(&header, &bytes);
	if (bytes.failed || !header.nr_functions || header.nr_functions > FUNCTIONS_MAX ||
	    header.names >= header.names_end || header.names_end > nr_table ||
	    header.functions >= nr_table)
		return -ENOEXEC;
	nr_pairs = (nr_table - header.functions) / pair_bytes(&header);
	if (header.nr_functions >= nr_pairs) /* half a pair follows the last */
		return -ENOEXEC;
	*ret = header;
	return 0;
}

bool go_function_parse(struct go_function *ret, const struct go_header *header, struct bytes parts,
		       uint64_t i)
{
	unsigned nr = header->has_offsets ? 4 : header->pointer_bytes;
	uint64_t base = header->has_offsets ? header->text : 0, more;
	struct bytes pair = parts;

	(void)bytes_skip(&pair, header->functions - header->parts + i * pair_bytes(header));
	ret->start = base + read_pointer(&pair, nr);
	more = read_pointer(&pair, nr);
	ret->end = base + read_pointer(&pair, nr);
	(void)bytes_skip(&parts, more);
	(void)read_pointer(&parts, nr); /* the address again */
	ret->name = bytes_u32(&parts);
	return !pair.failed && !parts.failed && base <= ret->start && ret->start < ret->end;
}
