/*
 * Files are told apart by kind, name, build id and whether they are gone. File 0 stands for what is
 * in no mapping, or in one that says nothing of itself.
 */
#include "format/pprof/pprof_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "format/pprof/pprof_fields.h"

/* --- files ------------------------------------------------------------------------------------ */

static int hex_digit(uint8_t byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f')
		return (byte | 0x20) - 'a' + 10;
	return -1;
}

/* One that is not hexadecimal, or too long, is none. */
static void read_build_id(struct bytes text, struct module_code *code)
{
	size_t i;

	if (text.nr % 2 || text.nr / 2 > PROFILE_BUILD_ID_BYTES)
		return;
	for (i = 0; i < text.nr; i += 2) {
		int high = hex_digit(text.at[i]), low = hex_digit(text.at[i + 1]);

		if (high < 0 || low < 0) {
			memset(code->build_id, 0, sizeof(code->build_id));
			return;
		}
		code->build_id[i / 2] = (uint8_t)(high << 4 | low);
	}
	code->build_id_bytes = (uint8_t)(text.nr / 2);
}

static bool is_code_of_file(enum module_kind kind)
{
	return kind == MODULE_FILE || kind == MODULE_VDSO;
}

/* So many first bytes of a string of the profile, as another one; or -ENOMEM. */
static int64_t add_start(struct pprof_files *files, const char *text, size_t nr)
{
	cleanup_free char *start = strndup(text, nr);

	return start ? profile_add_string(files->profile, start) : -ENOMEM;
}

/* The file that a mapping is of, without its segments. 0 or -ENOMEM. */
static int describe(struct pprof_files *files, const struct pprof_file_mapping *mapping,
		    struct pprof_file *ret)
{
	struct pprof_file file = {0};
	int64_t name = pprof_strings_get(files->strings, mapping->filename);
	const char *filename;
	size_t nr;

	if (name < 0)
		return -ENOMEM;
	filename = profile_string(files->profile, (uint32_t)name);
	file.module.kind = pprof_kind_of(filename);
	if (file.module.kind == MODULE_UNKNOWN || is_code_of_file(file.module.kind))
		read_build_id(files->tables->strings[mapping->build_id], &file.code);
	if (file.module.kind == MODULE_UNKNOWN && file.code.build_id_bytes)
		file.module.kind = MODULE_FILE;
	nr = pprof_path_length(filename);
	file.code.is_gone = is_code_of_file(file.module.kind) && filename[nr];
	if (file.code.is_gone)
		name = add_start(files, filename, nr);
	if (name < 0)
		return -ENOMEM;
	file.module.name = (uint32_t)name;
	*ret = file;
	return 0;
}

static bool same_file(const struct pprof_file *a, const struct pprof_file *b)
{
	return a->module.kind == b->module.kind && a->module.name == b->module.name &&
	       a->code.is_gone == b->code.is_gone &&
	       a->code.build_id_bytes == b->code.build_id_bytes &&
	       !memcmp(a->code.build_id, b->code.build_id, sizeof(a->code.build_id));
}

/* The number of the file, known or new; or -ENOMEM. */
static int64_t intern_file(struct pprof_files *files, const struct pprof_file *file)
{
	uint64_t hash = hash_add(hash_key(file->code.build_id, sizeof(file->code.build_id)),
				 (uint64_t)file->module.kind << 32 | file->module.name);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&files->index, hash, &probe, &number))
		if (same_file(&files->files[number], file))
			return number;
	if (array_reserve(&files->files, &files->cap, files->nr + 1, sizeof(*file)) < 0 ||
	    number_index_reserve(&files->index) < 0)
		return -ENOMEM;
	number_index_add(&files->index, hash, (uint32_t)files->nr);
	files->files[files->nr] = *file;
	return (int64_t)files->nr++;
}

static bool is_whole(const struct pprof_file_mapping *mapping)
{
	return !mapping->start && !mapping->offset && mapping->limit == PPROF_WHOLE_LIMIT;
}

static void add_segment(struct pprof_file *file, const struct pprof_file_mapping *mapping)
{
	struct module_code *code = &file->code;
	struct module_segment segment = {.offset = mapping->offset, .vaddr = mapping->start};
	size_t i;

	if (!is_code_of_file(file->module.kind) || is_whole(mapping) ||
	    mapping->limit <= mapping->start)
		return;
	segment.bytes = mapping->limit - mapping->start;
	if (segment.bytes > UINT64_MAX - segment.offset)
		return;
	for (i = 0; i < code->nr_segments; i++)
		if (!memcmp(&code->segments[i], &segment, sizeof(segment)))
			return;
	if (code->nr_segments < PROFILE_MAX_SEGMENTS)
		code->segments[code->nr_segments++] = segment;
}

static int find_files(struct pprof_files *files)
{
	size_t i;

	for (i = 0; i < files->tables->nr_mappings; i++) {
		const struct pprof_file_mapping *mapping = &files->tables->mappings[i];
		struct pprof_file file;
		int64_t number;

		if (describe(files, mapping, &file) < 0)
			return -ENOMEM;
		number = intern_file(files, &file);
		if (number < 0)
			return -ENOMEM;
		add_segment(&files->files[number], mapping);
		files->of_mapping[i] = (uint32_t)number;
	}
	return 0;
}

/* --- modules ---------------------------------------------------------------------------------- */

/* The module that the profile has from the start for such code, or -ENOENT. */
static int64_t first_module(const struct pprof_files *files, const struct pprof_file *file)
{
	if (file->module.kind == MODULE_UNKNOWN)
		return MODULE_NR_UNKNOWN;
	if (file->module.kind == MODULE_KERNEL &&
	    pprof_is_kernel_itself(profile_string(files->profile, file->module.name)))
		return MODULE_NR_KERNEL;
	return -ENOENT;
}

static int64_t add_module(struct pprof_files *files, const struct pprof_file *file)
{
	struct module module = file->module;
	int64_t number = file->nr_modules ? -ENOENT : first_module(files, file);

	if (number >= 0)
		return number;
	if (first_module(files, file) >= 0)
		module = *profile_module(files->profile, (uint32_t)first_module(files, file));
	module.file = files->nr_numbers++;
	/* Those that are there from the start have number 0. */
	if (module.kind != MODULE_FILE)
		module.file++;
	number = profile_add_module(files->profile, &module);
	if (number >= 0 && profile_set_code(files->profile, (uint32_t)number, &file->code) < 0)
		return -ENOMEM;
	return number;
}

int64_t pprof_files_module(struct pprof_files *files, struct pprof_file *file, size_t nth)
{
	int64_t number;

	if (nth < file->nr_modules)
		return file->modules[nth];
	if (array_reserve(&file->modules, &file->cap_modules, nth + 1, sizeof(*file->modules)) < 0)
		return -ENOMEM;
	number = add_module(files, file);
	if (number >= 0)
		file->modules[file->nr_modules++] = (uint32_t)number;
	return number;
}

uint64_t pprof_file_offset(const struct pprof_file *file, const struct pprof_file_mapping *mapping,
			   uint64_t address)
{
	if (!address || !is_code_of_file(file->module.kind) || address < mapping->start ||
	    address >= mapping->limit)
		return address;
	return address - mapping->start + mapping->offset;
}

/* --- the whole -------------------------------------------------------------------------------- */

struct pprof_file *pprof_files_of_mapping(struct pprof_files *files, size_t mapping)
{
	return &files->files[files->of_mapping[mapping]];
}

struct pprof_file *pprof_files_unknown(struct pprof_files *files)
{
	return &files->files[0];
}

int pprof_files_init(struct pprof_files *files, const struct pprof_tables *tables,
		     struct pprof_strings *strings, struct profile *profile)
{
	const struct pprof_file unknown = {.module.kind = MODULE_UNKNOWN};

	*files = (struct pprof_files){.profile = profile, .tables = tables, .strings = strings};
	files->of_mapping = calloc(tables->nr_mappings + 1, sizeof(*files->of_mapping));
	if (!files->of_mapping || intern_file(files, &unknown) < 0 || find_files(files) < 0) {
		pprof_files_clear(files);
		return -ENOMEM;
	}
	return 0;
}

void pprof_files_clear(struct pprof_files *files)
{
	size_t i;

	for (i = 0; i < files->nr; i++)
		free(files->files[i].modules);
	free(files->files);
	number_index_clear(&files->index);
	free(files->of_mapping);
	*files = (struct pprof_files){0};
}
