/*
 * Finds Go's table of functions, reads the necessary parts (names and functions: about half; for
 * unwinding also stack sizes), and makes symbols of them. Names are not copied: their part becomes
 * the symbol table's strings. Instances of generic functions are all called `main.Map[...]` there.
 *
 * In position-independent programs the table contains addresses that the dynamic linker relocates;
 * here they are relocated in the parts that are read. Since Go 1.26 there are none: the start of
 * the code must be looked up in the runtime's module description, else it is assumed to be the
 * start of .text (which is wrong if C code was linked before it).
 *
 * Without its section the table is searched for by its header, but only in files that have a Go
 * note, or no section headers at all: searching other files would be a waste.
 */
#include "elf/symbols/go_functions.h"

#include <errno.h>
#include <gelf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "elf/image/elf_image.h"
#include "elf/symbols/symbol_table_state.h"

/* --- the layout of the table ----------------------------------------------------------------- */

#define FUNCTIONS_MAX (8u << 20) /* the largest programs have a fifteenth of this */

#define MAGIC_1_2  0xfffffffb
#define MAGIC_1_16 0xfffffffa
#define MAGIC_1_18 0xfffffff0
#define MAGIC_1_20 0xfffffff1

static uint64_t read_pointer(struct bytes *bytes, unsigned nr)
{
	return nr == 8 ? bytes_u64(bytes) : bytes_u32(bytes);
}

/* Size of an entry in the array of functions. */
static uint64_t pair_bytes(const struct go_header *header)
{
	return header->has_offsets ? 8 : 2 * header->pointer_bytes;
}

int go_header_parse(struct go_header *ret, struct bytes bytes, uint64_t nr_table)
{
	struct go_header header = {.names_end = nr_table};
	uint32_t magic = bytes_u32(&bytes);
	uint16_t zeros = bytes_u16(&bytes);
	unsigned instruction_bytes = header.instruction_bytes = bytes_u8(&bytes);
	unsigned nr = header.pointer_bytes = bytes_u8(&bytes);

	header.has_offsets = magic == MAGIC_1_18 || magic == MAGIC_1_20;
	if (zeros || (instruction_bytes != 1 && instruction_bytes != 2 && instruction_bytes != 4) ||
	    (nr != 4 && nr != 8) ||
	    (magic != MAGIC_1_2 && magic != MAGIC_1_16 && !header.has_offsets))
		return -ENOEXEC;
	header.nr_functions = read_pointer(&bytes, nr);
	if (magic == MAGIC_1_2) {
		header.functions = 8 + nr;
	} else {
		(void)read_pointer(&bytes, nr); /* number of files */
		if (header.has_offsets)
			header.text = read_pointer(&bytes, nr);
		header.names = read_pointer(&bytes, nr);
		header.names_end = read_pointer(&bytes, nr); /* end of the names */
		(void)read_pointer(&bytes, nr);		     /* names of files */
		header.sizes = read_pointer(&bytes, nr);     /* values by address */
		header.parts = header.functions = read_pointer(&bytes, nr);
	}
	if (bytes.failed || !header.nr_functions || header.nr_functions > FUNCTIONS_MAX ||
	    header.names >= header.names_end || header.names_end > nr_table ||
	    header.functions >= nr_table)
		return -ENOEXEC;
	/* Half a pair follows the last one. */
	if (header.nr_functions >= (nr_table - header.functions) / pair_bytes(&header))
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
	bool is_sound;

	(void)bytes_skip(&pair, header->functions - header->parts + i * pair_bytes(header));
	ret->start = base + read_pointer(&pair, nr);
	more = read_pointer(&pair, nr);
	ret->end = base + read_pointer(&pair, nr);
	(void)bytes_skip(&parts, more);
	(void)read_pointer(&parts, nr); /* the address again */
	ret->name = bytes_u32(&parts);
	is_sound = !pair.failed && !parts.failed && base <= ret->start && ret->start < ret->end;
	(void)bytes_skip(&parts, 8); /* arguments, deferred calls */
	ret->sizes = bytes_u32(&parts);
	return is_sound;
}

/* --- the table in a file --------------------------------------------------------------------- */

#define TABLE_MAX_BYTES (1u << 30) /* terraform's AWS plugin, of 700 MB, has 180 MB */

/* Limits of the search for a table without its section. */
#define SEARCH_MAX_BYTES  (1u << 30)
#define SEARCH_CHUNK	  (256u << 10) /* a multiple of GO_TABLE_ALIGN */
#define NOTES_MAX	  16
#define NOTES_BYTES	  1024
#define NOTE_TYPE_BUILDID 4 /* with owner "Go" */

/* In the runtime's moduledata, since Go 1.16: pointer, six slices, three addresses, text. */
#define MODULE_TEXT_WORD 22
#define MODULE_MAX_BYTES (64u << 10)

static int refuse(struct error *error, const char *why)
{
	return error_set(error, -ENOEXEC, "invalid .gopclntab: %s", why);
}

/* The location of the table. */
struct place {
	uint64_t offset, address, bytes; /* bytes 0: none */
};

/* A part of the table, or of another section, in memory. */
struct part {
	uint64_t address;
	uint8_t *bytes;
	size_t nr;
};

/* --- finding --------------------------------------------------------------------------------- */

static bool find_section(const struct elf_image *image, struct place *ret)
{
	GElf_Shdr header;

	if (elf_section_find(image, ".gopclntab", &header) < 0 &&
	    elf_section_find(image, ".data.rel.ro.gopclntab", &header) < 0)
		return false;
	/* In a debug file the section has no content. */
	if (header.sh_type != SHT_NOBITS && !(header.sh_flags & SHF_COMPRESSED))
		*ret = (struct place){header.sh_offset, header.sh_addr, header.sh_size};
	return true;
}

/* True if one of the segment's notes is Go's build id. */
static bool is_go_note(const struct elf_image *image, const GElf_Phdr *segment)
{
	uint64_t nr = segment->p_filesz < NOTES_BYTES ? segment->p_filesz : NOTES_BYTES;
	uint8_t notes[NOTES_BYTES];
	struct bytes bytes = bytes_of(notes, nr);

	if (elf_image_read(image, segment->p_offset, notes, nr) < 0)
		return false;
	while (bytes.nr) {
		uint32_t name_bytes = bytes_u32(&bytes), content_bytes = bytes_u32(&bytes);
		uint32_t type = bytes_u32(&bytes);
		const uint8_t *name = bytes_skip(&bytes, (name_bytes + 3ULL) / 4 * 4);

		if (name && name_bytes == sizeof("Go") + 1 && !memcmp(name, "Go", sizeof("Go")) &&
		    type == NOTE_TYPE_BUILDID)
			return true;
		(void)bytes_skip(&bytes, (content_bytes + 3ULL) / 4 * 4);
	}
	return false;
}

static bool may_be_go(const struct elf_image *image)
{
	size_t nr_sections = 0, nr_notes = 0, i = 0;
	GElf_Phdr segment;

	if (elf_getshdrnum(image->elf, &nr_sections) < 0 || !nr_sections)
		return true;
	while (nr_notes++ < NOTES_MAX && elf_segment_next(image, PT_NOTE, &i, &segment))
		if (is_go_note(image, &segment))
			return true;
	return false;
}

/*
 * True if there is a table's header at this position of a chunk; room is the rest of the segment.
 */
static bool is_header_at(struct bytes chunk, size_t at, uint64_t room)
{
	struct go_header header;

	(void)bytes_skip(&chunk, at);
	/* All magic numbers end like this; go_header_parse() checks the rest. */
	return chunk.nr > 4 && chunk.at[3] == 0xff && chunk.at[2] == 0xff && chunk.at[1] == 0xff &&
	       go_header_parse(&header, chunk, room) == 0;
}

/* Reads a segment in chunks that overlap by a header. Holes are skipped. */
static int search_segment(const struct elf_image *image, const GElf_Phdr *segment, uint64_t nr,
			  uint8_t *chunk, struct place *ret)
{
	uint64_t at;
	size_t in_chunk;

	for (at = 0; at < nr; at += SEARCH_CHUNK) {
		uint64_t bytes = nr - at;

		int err;

		if (bytes > SEARCH_CHUNK + GO_HEADER_MAX_BYTES)
			bytes = SEARCH_CHUNK + GO_HEADER_MAX_BYTES;
		err = elf_image_read(image, segment->p_offset + at, chunk, bytes);
		if (err == -ENXIO)
			continue;
		if (err < 0)
			return -ENOEXEC;
		for (in_chunk = 0; in_chunk < SEARCH_CHUNK && in_chunk < bytes;
		     in_chunk += GO_TABLE_ALIGN) {
			uint64_t start = at + in_chunk;

			if (!is_header_at(bytes_of(chunk, bytes), in_chunk, nr - start))
				continue;
			*ret = (struct place){segment->p_offset + start, segment->p_vaddr + start,
					      nr - start};
			return 0;
		}
	}
	return 0;
}

static int search(const struct elf_image *image, struct place *ret)
{
	cleanup_free uint8_t *chunk = malloc(SEARCH_CHUNK + GO_HEADER_MAX_BYTES);
	uint64_t left = SEARCH_MAX_BYTES;
	GElf_Phdr segment;
	size_t i = 0;

	if (!chunk)
		return -ENOMEM;
	while (left && !ret->bytes && elf_segment_next(image, PT_LOAD, &i, &segment)) {
		if (segment.p_flags & PF_X || segment.p_offset > image->bytes ||
		    segment.p_filesz > image->bytes - segment.p_offset)
			continue;
		if (segment.p_filesz > left)
			segment.p_filesz = left;
		left -= segment.p_filesz;
		(void)search_segment(image, &segment, segment.p_filesz, chunk, ret);
	}
	return 0;
}

/* --- reading --------------------------------------------------------------------------------- */

/* Relocates the addresses in a part, as the dynamic linker would. */
static void relocate(const struct elf_image *image, struct part *part)
{
	uint32_t type = image->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
	struct relocations relocations;
	GElf_Rela relocation;

	relocations_init(&relocations, image);
	while (relocations_next(&relocations, &relocation)) {
		uint64_t at = relocation.r_offset - part->address;

		if (GELF_R_TYPE(relocation.r_info) == type &&
		    relocation.r_offset >= part->address && part->nr >= sizeof(uint64_t) &&
		    at <= part->nr - sizeof(uint64_t))
			memcpy(part->bytes + at, &relocation.r_addend, sizeof(uint64_t));
	}
}

/* Reads a part and appends a NUL. */
static int read_part(const struct elf_image *image, const struct place *place, uint64_t start,
		     uint64_t end, struct part *ret)
{
	int err;

	ret->address = place->address + start;
	ret->nr = end - start;
	ret->bytes = malloc(ret->nr + 1);
	if (!ret->bytes)
		return -ENOMEM;
	ret->bytes[ret->nr] = '\0';
	err = elf_image_read(image, place->offset + start, ret->bytes, ret->nr);
	return err < 0 ? -ENOEXEC : 0;
}

/* Reads the start of the code from moduledata; 0 if there is none. */
static int read_module_text(const struct elf_image *image, uint64_t *ret)
{
	struct part part = {0};
	struct bytes bytes;
	GElf_Shdr header;
	int err;

	*ret = 0;
	if (!image->is_64 || elf_section_find(image, ".go.module", &header) < 0)
		return 0;
	err = elf_section_read(image, &header, MODULE_MAX_BYTES, &part.bytes);
	if (err < 0)
		return err == -ENOMEM ? err : 0;
	part.address = header.sh_addr;
	part.nr = header.sh_size;
	relocate(image, &part);
	bytes = bytes_of(part.bytes, part.nr);
	(void)bytes_skip(&bytes, MODULE_TEXT_WORD * sizeof(uint64_t));
	*ret = bytes_u64(&bytes);
	free(part.bytes);
	return 0;
}

static int read_header(const struct elf_image *image, const struct place *place,
		       struct go_header *ret, struct error *error)
{
	uint64_t nr = place->bytes < GO_HEADER_MAX_BYTES ? place->bytes : GO_HEADER_MAX_BYTES;
	struct part part = {0};
	GElf_Shdr text;
	int err = read_part(image, place, 0, nr, &part);

	if (err == 0) {
		relocate(image, &part);
		err = go_header_parse(ret, bytes_of(part.bytes, nr), place->bytes);
	}
	free(part.bytes);
	/* Offsets are relative to the start of the code. It stays 0 if unknown. */
	if (err == 0 && ret->has_offsets && !ret->text) {
		err = read_module_text(image, &ret->text);
		if (err == 0 && !ret->text && elf_section_find(image, ".text", &text) == 0)
			ret->text = text.sh_addr;
	}
	if (err == -ENOMEM)
		return error_no_memory(error, "for Go's functions");
	if (err < 0)
		return refuse(error, "invalid header");
	if (ret->has_offsets && !ret->text)
		return refuse(error, "unknown start of the code");
	return 0;
}

/* --- functions ------------------------------------------------------------------------------- */

/* Finds the table and reads its header. 0 with ret_place->bytes 0 if the file is not Go's. */
static int find_table(const struct elf_image *image, struct place *ret_place, struct go_header *ret,
		      struct error *error)
{
	*ret_place = (struct place){0};
	if (!find_section(image, ret_place) && may_be_go(image) && search(image, ret_place) < 0)
		return error_no_memory(error, "for Go's functions");
	if (!ret_place->bytes)
		return 0;
	if (ret_place->offset > image->bytes || ret_place->bytes > image->bytes - ret_place->offset)
		return refuse(error, "not in the file");
	if (ret_place->bytes > TABLE_MAX_BYTES)
		ret_place->bytes = TABLE_MAX_BYTES;
	return read_header(image, ret_place, ret, error);
}

/* Reads the names, with a NUL appended, and the functions. */
static int read_functions(const struct elf_image *image, const struct place *place,
			  const struct go_header *header, struct part *ret_names,
			  struct part *ret_parts)
{
	int err;

	if (header->names_end - header->names >= SYMBOL_STRINGS_MAX_BYTES)
		return -ENOEXEC;
	err = read_part(image, place, header->names, header->names_end, ret_names);
	if (err == 0)
		err = read_part(image, place, header->parts, place->bytes, ret_parts);
	if (err == 0 && !header->has_offsets)
		relocate(image, ret_parts);
	return err;
}

static int tell(int err, struct error *error)
{
	if (err == -ENOMEM)
		return error_no_memory(error, "for Go's functions");
	return err < 0 ? refuse(error, "unreadable, or too large") : 0;
}

static int add_functions(struct symbol_table *table, const struct go_header *header,
			 struct bytes parts)
{
	uint64_t i;
	int err = 0;

	for (i = 0; i < header->nr_functions && !err; i++) {
		struct go_function function;
		struct symbol symbol = {.rank = SYMBOL_SIZED | SYMBOL_TYPED | SYMBOL_NOT_WEAK};
		uint64_t bytes;

		if (!go_function_parse(&function, header, parts, i) ||
		    function.name >= table->nr_string_bytes || !table->strings[function.name])
			continue;
		bytes = function.end - function.start;
		symbol.start = function.start;
		symbol.bytes = bytes < SYMBOL_MAX_BYTES ? (uint32_t)bytes : SYMBOL_MAX_BYTES;
		symbol.name = function.name;
		err = symbol_table_append(table, &symbol);
	}
	return err;
}

/* The names become the table's strings; the functions are freed after reading. */
static int fill(struct symbol_table *table, const struct elf_image *image,
		const struct place *place, const struct go_header *header)
{
	struct part names = {0}, parts = {0};
	int err = read_functions(image, place, header, &names, &parts);

	table->strings = (char *)names.bytes;
	if (err == 0) {
		table->nr_string_bytes = table->string_capacity = names.nr + 1;
		err = add_functions(table, header, bytes_of(parts.bytes, parts.nr));
	}
	free(parts.bytes);
	return err < 0 ? err : symbol_table_settle(table);
}

int go_functions_read(struct symbol_table **ret, const struct elf_image *image, struct error *error)
{
	struct symbol_table *table;
	struct place place;
	struct go_header header;
	int err;

	*ret = NULL;
	err = find_table(image, &place, &header, error);
	if (err < 0 || !place.bytes)
		return err;
	table = symbol_table_new();
	err = table ? fill(table, image, &place, &header) : -ENOMEM;
	if (err < 0) {
		symbol_table_free(table);
		return tell(err, error);
	}
	*ret = table;
	return 0;
}

/* --- stack sizes ----------------------------------------------------------------------------- */

int go_table_read(struct go_table *table, const struct elf_image *image, struct error *error)
{
	struct part names = {0}, parts = {0}, sizes = {0};
	struct place place;
	struct go_header *header = &table->header;
	int err;

	*table = (struct go_table){0};
	err = find_table(image, &place, header, error);
	if (err < 0 || !place.bytes)
		return err;
	err = read_functions(image, &place, header, &names, &parts);
	if (err == 0 && header->sizes != header->parts)
		err = header->sizes < header->parts
			      ? read_part(image, &place, header->sizes, header->parts, &sizes)
			      : -ENOEXEC;
	table->memory[0] = names.bytes;
	table->memory[1] = parts.bytes;
	table->memory[2] = sizes.bytes;
	if (err < 0) {
		header->nr_functions = 0;
		return tell(err, error);
	}
	table->names = bytes_of(names.bytes, names.nr + 1);
	table->parts = bytes_of(parts.bytes, parts.nr);
	table->sizes = sizes.bytes ? bytes_of(sizes.bytes, sizes.nr) : table->parts;
	return 0;
}

void go_table_clear(struct go_table *table)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table->memory); i++)
		free(table->memory[i]);
	*table = (struct go_table){0};
}

bool go_table_function(const struct go_table *table, uint64_t i, struct go_function *ret,
		       const char **ret_name)
{
	struct bytes names = table->names;

	if (!go_function_parse(ret, &table->header, table->parts, i))
		return false;
	(void)bytes_skip(&names, ret->name);
	*ret_name = bytes_string(&names);
	return *ret_name != NULL;
}

void go_sizes_init(struct go_sizes *sizes, const struct go_table *table,
		   const struct go_function *function)
{
	*sizes = (struct go_sizes){.left = table->sizes,
				   .at = function->start,
				   .end = function->end,
				   .bytes = -1,
				   .instruction_bytes = table->header.instruction_bytes,
				   .is_first = true};
	if (!function->sizes)
		sizes->left = bytes_of(NULL, 0);
	(void)bytes_skip(&sizes->left, function->sizes);
}

bool go_sizes_next(struct go_sizes *sizes, uint64_t *ret_start, uint64_t *ret_end,
		   int64_t *ret_bytes)
{
	uint64_t change = bytes_uleb(&sizes->left), more = bytes_uleb(&sizes->left);

	if (sizes->left.failed || (!change && !sizes->is_first) || sizes->at >= sizes->end)
		return false;
	sizes->is_first = false;
	sizes->bytes += (int64_t)(change >> 1) ^ -(int64_t)(change & 1);
	*ret_start = sizes->at;
	*ret_bytes = sizes->bytes;
	more = more < UINT32_MAX ? more * sizes->instruction_bytes : sizes->end - sizes->at;
	sizes->at += more < sizes->end - sizes->at ? more : sizes->end - sizes->at;
	*ret_end = sizes->at;
	return true;
}
