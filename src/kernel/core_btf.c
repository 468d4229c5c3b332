/*
 * Extracts types from BTF.
 *
 * BTF is a header, a section of types, and a section of strings. Types do not store their ids: a
 * type's id is its position in the section, from 1. Each type is 12 bytes and a tail whose length
 * depends on the kind. One pass records the offset of each type and the ids of the named structs;
 * these structs are then written anew with libbpf's BTF writer. Only the kind of a field's type
 * matters, so a pointer becomes a pointer to void, and a named struct that was not asked for
 * becomes an empty struct.
 *
 * The bytes come from the running kernel, but a bug here must not do more than fail the start:
 * every offset is checked.
 */
#include "kernel/core_btf.h"

#include <errno.h>
#include <bpf/btf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"

#define MAX_TYPEDEFS 32 /* typedefs and qualifiers in a chain */
#define MAX_DEPTH    8	/* of nested unnamed structs and arrays */

struct source {
	char *bytes;
	size_t nr_bytes;
	const char *types;
	size_t types_bytes;
	const char *strings;
	size_t strings_bytes;
	uint32_t *offsets; /* in types, by type id - 1 */
	size_t nr_types, cap_types;
};

struct target {
	struct btf *btf;
	const char *const *structs;
	size_t nr_structs;
	uint32_t *found; /* by struct: type id in the source; 0: not found */
	int *written;	 /* by struct: type id in the target */
	int pointer, array_index;
};

/* --- reading -----------------------------------------------------------------------------------
 */

static int read_file(struct source *source, const char *path)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	source->nr_bytes = (size_t)st.st_size;
	source->bytes = malloc(source->nr_bytes);
	return source->bytes ? fd_read_at(fd, 0, source->bytes, source->nr_bytes) : -ENOMEM;
}

/* Locates a section from its header fields; false if it is misaligned or exceeds the file. */
static bool find_section(const struct source *source, uint32_t offset, uint32_t bytes,
			 const char **ret, size_t *ret_bytes)
{
	const struct btf_header *header = (const struct btf_header *)source->bytes;
	uint64_t at = (uint64_t)header->hdr_len + offset;

	if (at % 4 || at + bytes > source->nr_bytes)
		return false;
	*ret = source->bytes + at;
	*ret_bytes = bytes;
	return true;
}

static int find_sections(struct source *source)
{
	const struct btf_header *header = (const struct btf_header *)source->bytes;

	if (source->nr_bytes < sizeof(*header) || header->magic != BTF_MAGIC ||
	    !find_section(source, header->type_off, header->type_len, &source->types,
			  &source->types_bytes) ||
	    !find_section(source, header->str_off & ~3U, header->str_len + (header->str_off & 3),
			  &source->strings, &source->strings_bytes))
		return -EINVAL;
	source->strings += header->str_off & 3;
	source->strings_bytes -= header->str_off & 3;
	if (!source->strings_bytes || source->strings[source->strings_bytes - 1])
		return -EINVAL; /* each string ends within the section */
	return 0;
}

/* Returns the length of the tail that follows the 12 common bytes; -1 for an unknown kind. */
static int64_t tail_bytes(const struct btf_type *type)
{
	uint32_t nr = btf_vlen(type);

	switch (btf_kind(type)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return (int64_t)nr * (int64_t)sizeof(struct btf_member);
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return (int64_t)nr * 8;
	case BTF_KIND_ENUM64:
	case BTF_KIND_DATASEC:
		return (int64_t)nr * 12;
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	default:
		return -1;
	}
}

static const struct btf_type *type_of(const struct source *source, uint32_t number)
{
	if (!number || number > source->nr_types)
		return NULL;
	return (const struct btf_type *)(source->types + source->offsets[number - 1]);
}

static const char *name_at(const struct source *source, uint32_t offset)
{
	return offset < source->strings_bytes ? source->strings + offset : "";
}

static void note_if_wanted(const struct source *source, const struct btf_type *type,
			   struct target *target)
{
	const char *name;
	size_t i;

	if (btf_kind(type) != BTF_KIND_STRUCT || !btf_vlen(type))
		return;
	name = name_at(source, type->name_off);
	for (i = 0; i < target->nr_structs; i++)
		if (!target->found[i] && !strcmp(name, target->structs[i]))
			target->found[i] = (uint32_t)source->nr_types;
}

static int index_types(struct source *source, struct target *target)
{
	size_t at = 0;

	while (at + sizeof(struct btf_type) <= source->types_bytes) {
		const struct btf_type *type = (const struct btf_type *)(source->types + at);
		int64_t tail = tail_bytes(type);

		if (tail < 0 || at + sizeof(*type) + (size_t)tail > source->types_bytes)
			return -EINVAL;
		if (ARRAY_ADD(source->offsets, source->nr_types, source->cap_types, (uint32_t)at) <
		    0)
			return -ENOMEM;
		note_if_wanted(source, type, target);
		at += sizeof(*type) + (size_t)tail;
	}
	return 0;
}

/* --- writing -----------------------------------------------------------------------------------
 */

/* Strips typedefs and qualifiers (const, volatile, …), which do not matter to a relocation. */
static uint32_t resolve(const struct source *source, uint32_t number)
{
	const struct btf_type *type = type_of(source, number);
	int depth;

	for (depth = 0; type && depth < MAX_TYPEDEFS && (btf_is_mod(type) || btf_is_typedef(type));
	     depth++) {
		number = type->type;
		type = type_of(source, number);
	}
	return number;
}

/* Returns the target's id of a struct that was written already; 0: none. */
static int written_struct(const struct target *target, uint32_t number)
{
	size_t i;

	for (i = 0; i < target->nr_structs; i++)
		if (target->found[i] == number)
			return target->written[i];
	return 0;
}

static int write_composite(const struct source *source, struct target *target, uint32_t number,
			   int depth);

/* Writes a member's type to the target. Returns its id there, or a negative errno. */
static int write_type(const struct source *source, struct target *target, uint32_t number,
		      int depth)
{
	uint32_t plain = resolve(source, number);
	const struct btf_type *type = type_of(source, plain);
	int known;

	switch (type ? btf_kind(type) : BTF_KIND_UNKN) {
	case BTF_KIND_INT:
		return btf__add_int(target->btf, "int", type->size, btf_int_encoding(type));
	case BTF_KIND_ENUM:
		return btf__add_enum(target->btf, NULL, type->size);
	case BTF_KIND_ARRAY:
		known = depth ? write_type(source, target, btf_array(type)->type, depth - 1) : 0;
		return known < 0 ? known
				 : btf__add_array(target->btf, target->array_index, known,
						  btf_array(type)->nelems);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		known = written_struct(target, plain);
		if (known)
			return known;
		if (!type->name_off && depth)
			return write_composite(source, target, plain, depth - 1);
		return btf__add_struct(target->btf, NULL, type->size);
	default:
		return target->pointer;
	}
}

/* Writes a struct or union. Member types come first: fields are always added to the last struct. */
static int write_composite(const struct source *source, struct target *target, uint32_t number,
			   int depth)
{
	const struct btf_type *type = type_of(source, number);
	uint32_t nr = type ? btf_vlen(type) : 0, i;
	cleanup_free int *types = calloc(nr + 1, sizeof(*types));
	const struct btf_member *members;
	const char *name;
	int written, err;

	if (!type || !types)
		return type ? -ENOMEM : -EINVAL;
	members = btf_members(type);
	name = name_at(source, type->name_off);
	for (i = 0; i < nr; i++) {
		types[i] = write_type(source, target, members[i].type, depth);
		if (types[i] < 0)
			return types[i];
	}
	written = btf_is_union(type) ? btf__add_union(target->btf, name, type->size)
				     : btf__add_struct(target->btf, name, type->size);
	for (i = 0; i < nr && written > 0; i++) {
		err = btf__add_field(target->btf, name_at(source, members[i].name_off), types[i],
				     btf_member_bit_offset(type, i),
				     btf_member_bitfield_size(type, i));
		if (err < 0)
			return err;
	}
	return written;
}

static int write_all(const struct source *source, struct target *target)
{
	size_t i;

	target->btf = btf__new_empty();
	if (!target->btf)
		return -ENOMEM;
	target->pointer = btf__add_ptr(target->btf, 0);
	target->array_index = btf__add_int(target->btf, "unsigned int", 4, 0);
	for (i = 0; i < target->nr_structs; i++) {
		if (!target->found[i])
			continue;
		target->written[i] = write_composite(source, target, target->found[i], MAX_DEPTH);
		if (target->written[i] < 0)
			return target->written[i];
	}
	return 0;
}

static int store(const struct target *target)
{
	cleanup_fd int fd = memfd_create("stook-btf", MFD_CLOEXEC);
	uint32_t nr_bytes;
	const void *bytes = btf__raw_data(target->btf, &nr_bytes);

	if (fd < 0 || !bytes || write(fd, bytes, nr_bytes) != (ssize_t)nr_bytes)
		return -1;
	return take_fd(&fd);
}

int core_btf_extract(const char *path, const char *const *structs, size_t nr_structs,
		     struct error *error)
{
	struct source source = {0};
	struct target target = {.structs = structs, .nr_structs = nr_structs};
	int fd = -1, err;

	target.found = calloc(nr_structs, sizeof(*target.found));
	target.written = calloc(nr_structs, sizeof(*target.written));
	err = target.found && target.written ? read_file(&source, path) : -ENOMEM;
	if (!err)
		err = find_sections(&source);
	if (!err)
		err = index_types(&source, &target);
	if (!err)
		err = write_all(&source, &target);
	if (!err)
		fd = store(&target);
	if (fd < 0)
		(void)error_set(error, err ? err : -errno, "cannot extract types from '%s': %s",
				path, strerror(err ? -err : errno));
	btf__free(target.btf);
	free(target.found);
	free(target.written);
	free(source.bytes);
	free(source.offsets);
	return fd;
}
