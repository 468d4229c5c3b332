/*
 * Finds homes. One pass over samples and frames collects the modules, the sides of the difference
 * that have them, and the function names in them. Modules are then grouped by name and by build,
 * and the functions in modules of one side only are matched by name.
 */
#include "view/homes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "view/diff/difference.h"

#define LIBRARY ".so"

/* The sides on which something has samples; always AFTER in a profile that is not a difference. */
enum side {
	SIDE_AFTER = 1,
	SIDE_BEFORE = 2,
	SIDE_BOTH = SIDE_AFTER | SIDE_BEFORE,
};

/* A function's name in a module. */
struct entry {
	uint32_t function; /* the profile's string */
	uint32_t module;   /* by name, see of_module */
	uint8_t sides;
};

struct finder {
	struct homes *homes;
	const struct profile *profile;
	size_t before;		  /* number of the value "before"; 0: no difference */
	uint8_t *sides_of_frame;  /* enum side bits */
	uint8_t *sides_of_module; /* likewise by module; see find_modules() */
	struct entry *entries;
	size_t nr, cap;
};

/* --- modules ---------------------------------------------------------------------------------- */

struct named_module {
	const char *name; /* without folders */
	size_t nr_name;	  /* length without the text after ".so" */
	const struct module_code *code;
	uint32_t number;
	enum module_kind kind;
	bool is_after;
};

/* Returns the length of libfoo.so.1.2.3 without the version. Other names (foo.sock) have none. */
static size_t library_length(const char *name)
{
	size_t nr_suffix = strlen(LIBRARY);
	const char *at;

	for (at = name; (at = strstr(at, LIBRARY)); at += nr_suffix)
		if (at > name && (!at[nr_suffix] || at[nr_suffix] == '.'))
			return (size_t)(at - name) + nr_suffix;
	return strlen(name);
}

static struct named_module named_module(const struct finder *finder, uint32_t number)
{
	struct named_module module = {
		.name = profile_module_name(finder->profile, number),
		.code = profile_code(finder->profile, number),
		.number = number,
		.kind = profile_module(finder->profile, number)->kind,
		.is_after = finder->sides_of_module[number] & SIDE_AFTER,
	};

	module.nr_name =
		module.kind == MODULE_FILE ? library_length(module.name) : strlen(module.name);
	return module;
}

static int compare_bytes(const void *a, size_t nr_a, const void *b, size_t nr_b)
{
	size_t nr = nr_a < nr_b ? nr_a : nr_b;
	int order = nr ? memcmp(a, b, nr) : 0;

	return order ? order : (nr_a > nr_b) - (nr_a < nr_b);
}

/* Sorts the representative first: the lowest number, in a difference from the side "after". */
static int compare_numbers(const struct named_module *a, const struct named_module *b)
{
	if (a->is_after != b->is_after)
		return a->is_after ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static int compare_names(const struct named_module *a, const struct named_module *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return compare_bytes(a->name, a->nr_name, b->name, b->nr_name);
}

/* Modules without a build id are equal if their whole names are. */
static int compare_builds(const struct named_module *a, const struct named_module *b)
{
	size_t nr_a = a->code ? a->code->build_id_bytes : 0;
	size_t nr_b = b->code ? b->code->build_id_bytes : 0;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (!nr_a && !nr_b)
		return strcmp(a->name, b->name);
	return compare_bytes(nr_a ? a->code->build_id : NULL, nr_a, nr_b ? b->code->build_id : NULL,
			     nr_b);
}

static int compare_by_name(const void *a, const void *b)
{
	int order = compare_names(a, b);

	return order ? order : compare_numbers(a, b);
}

static int compare_by_build(const void *a, const void *b)
{
	int order = compare_builds(a, b);

	return order ? order : compare_numbers(a, b);
}

/* Returns the representative of each module, to be freed by the caller. NULL when out of memory. */
static uint32_t *group_modules(const struct finder *finder, int (*sort)(const void *, const void *),
			       int (*compare)(const struct named_module *,
					      const struct named_module *))
{
	size_t nr = profile_nr_modules(finder->profile), first = 0, i;
	cleanup_free struct named_module *modules = calloc(nr + 1, sizeof(*modules));
	uint32_t *groups = calloc(nr + 1, sizeof(*groups));

	if (!modules || !groups) {
		free(groups);
		return NULL;
	}
	for (i = 0; i < nr; i++)
		modules[i] = named_module(finder, (uint32_t)i);
	qsort(modules, nr, sizeof(*modules), sort);
	for (i = 0; i < nr; i++) {
		if (compare(&modules[first], &modules[i]) != 0)
			first = i;
		groups[modules[i].number] = modules[first].number;
	}
	return groups;
}

/* --- modules and functions of the profile ----------------------------------------------------- */

/* Kernel frames in no module belong to the kernel. */
static uint32_t module_of(const struct finder *finder, const struct frame *frame)
{
	if (frame->kind == FRAME_KERNEL &&
	    profile_module(finder->profile, frame->module)->kind == MODULE_UNKNOWN)
		return MODULE_NR_KERNEL;
	return frame->module;
}

/* Finds the sides on which each frame and each module has samples. */
static int find_sides(struct finder *finder)
{
	const struct profile *profile = finder->profile;
	uint32_t i;
	size_t k;

	finder->sides_of_frame = calloc(profile_nr_frames(profile) + 1, 1);
	finder->sides_of_module = calloc(profile_nr_modules(profile) + 1, 1);
	if (!finder->sides_of_frame || !finder->sides_of_module)
		return -ENOMEM;
	for (i = 0; i < profile_nr_samples(profile); i++) {
		const struct sample *sample = profile_sample(profile, i);
		const uint32_t *frames = profile_sample_frames(profile, sample);
		uint8_t sides = 0;

		if (!finder->before ? profile_has_value(profile, i) : sample->count > 0)
			sides |= SIDE_AFTER;
		if (finder->before && profile_value(profile, i, finder->before))
			sides |= SIDE_BEFORE;
		for (k = 0; sides && k < sample->nr_frames; k++)
			finder->sides_of_frame[frames[k]] |= sides;
	}
	for (i = 0; i < profile_nr_frames(profile); i++)
		finder->sides_of_module[module_of(finder, profile_frame(profile, i))] |=
			finder->sides_of_frame[i];
	return 0;
}

/*
 * Groups the modules. Afterwards sides_of_module is valid only for the representative of each name,
 * and has the sides of all modules with that name.
 */
static int find_modules(struct finder *finder)
{
	struct homes *homes = finder->homes;
	size_t nr = profile_nr_modules(finder->profile), i;

	homes->of_module = group_modules(finder, compare_by_name, compare_names);
	homes->of_build = group_modules(finder, compare_by_build, compare_builds);
	if (!homes->of_module || !homes->of_build)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		finder->sides_of_module[homes->of_module[i]] |= finder->sides_of_module[i];
	return 0;
}

static int add_entry(struct finder *finder, uint32_t function, uint32_t module, uint8_t sides)
{
	const struct entry entry = {
		.function = function,
		.module = finder->homes->of_module[module],
		.sides = sides,
	};

	if (!function)
		return 0;
	if (array_reserve(&finder->entries, &finder->cap, finder->nr + 1, sizeof(entry)) < 0)
		return -ENOMEM;
	finder->entries[finder->nr++] = entry;
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *one = a, *other = b;

	if (one->function != other->function)
		return one->function < other->function ? -1 : 1;
	return (one->module > other->module) - (one->module < other->module);
}

/* Collects all entries, sorted and without duplicates. */
static int find_entries(struct finder *finder)
{
	size_t nr = 0, i, k;

	for (i = 0; i < profile_nr_frames(finder->profile); i++) {
		const struct frame *frame = profile_frame(finder->profile, (uint32_t)i);
		const struct code_line *lines =
			frame->nr_lines ? profile_lines(finder->profile, frame) : NULL;
		uint32_t module = module_of(finder, frame);
		uint8_t sides = finder->sides_of_frame[i];

		if (!sides)
			continue;
		if (!lines && add_entry(finder, frame->function, module, sides) < 0)
			return -ENOMEM;
		for (k = 0; k < frame->nr_lines; k++)
			if (add_entry(finder, lines[k].function, module, sides) < 0)
				return -ENOMEM;
	}
	if (finder->nr)
		qsort(finder->entries, finder->nr, sizeof(*finder->entries), compare_entries);
	for (i = 0; i < finder->nr; i++) {
		if (nr && !compare_entries(&finder->entries[nr - 1], &finder->entries[i]))
			finder->entries[nr - 1].sides |= finder->entries[i].sides;
		else
			finder->entries[nr++] = finder->entries[i];
	}
	finder->nr = nr;
	return 0;
}

/* --- functions -------------------------------------------------------------------------------- */

static uint64_t key_of(uint32_t function, uint32_t module)
{
	return (uint64_t)function << 32 | module;
}

static bool is_of_kernel(const struct finder *finder, const struct entry *entry)
{
	return profile_module(finder->profile, entry->module)->kind == MODULE_KERNEL;
}

static int move(struct finder *finder, const struct entry *entry, uint32_t home)
{
	return u64_map_set(&finder->homes->of_function, key_of(entry->function, entry->module),
			   home);
}

/* If the entries are a function in no module and one in a module, makes that module its home. */
static int match_unknown(struct finder *finder, const struct entry *entries, size_t nr)
{
	return nr == 2 && entries[0].module == MODULE_NR_UNKNOWN
		       ? move(finder, &entries[0], entries[1].module)
		       : 0;
}

/* Returns the only entry in a module that just this side has; NULL if there is none, or several. */
static const struct entry *only_one(const struct finder *finder, const struct entry *entries,
				    size_t nr, enum side side)
{
	const struct entry *found = NULL;
	size_t i;

	for (i = 0; i < nr; i++) {
		uint8_t sides = entries[i].module == MODULE_NR_UNKNOWN
					? entries[i].sides
					: finder->sides_of_module[entries[i].module];

		if (sides != side)
			continue;
		if (found)
			return NULL;
		found = &entries[i];
	}
	return found;
}

static int match_sides(struct finder *finder, const struct entry *entries, size_t nr)
{
	const struct entry *before = only_one(finder, entries, nr, SIDE_BEFORE);
	const struct entry *after = only_one(finder, entries, nr, SIDE_AFTER);

	if (!before || !after)
		return match_unknown(finder, entries, nr);
	return after->module == MODULE_NR_UNKNOWN ? move(finder, after, before->module)
						  : move(finder, before, after->module);
}

/*
 * Returns the sides without any modules of user code, if the other side has some. *ret_with_kernel:
 * these sides have no kernel module, either.
 */
static uint8_t sides_without_modules(const struct finder *finder, bool *ret_with_kernel)
{
	uint8_t all = finder->sides_of_module[MODULE_NR_UNKNOWN], known = 0, kernel = 0;
	size_t i;

	for (i = 1; i < profile_nr_modules(finder->profile); i++) {
		if (profile_module(finder->profile, (uint32_t)i)->kind == MODULE_KERNEL)
			kernel |= finder->sides_of_module[i];
		else
			known |= finder->sides_of_module[i];
	}
	*ret_with_kernel = !(all & ~known & kernel);
	return known ? all & ~known : 0;
}

/* Makes all entries of a name one function, in a known module if possible. */
static int match_by_name(struct finder *finder, const struct entry *entries, size_t nr,
			 bool with_kernel)
{
	uint32_t home = MODULE_NR_UNKNOWN;
	size_t i;
	int err = 0;

	for (i = 0; i < nr; i++)
		if (with_kernel || !is_of_kernel(finder, &entries[i]))
			home = entries[i].module;
	for (i = 0; i < nr && !err; i++)
		if (entries[i].module != home &&
		    (with_kernel || !is_of_kernel(finder, &entries[i])))
			err = move(finder, &entries[i], home);
	return err;
}

static int find_functions(struct finder *finder)
{
	bool with_kernel = false;
	bool by_name = finder->before && sides_without_modules(finder, &with_kernel);
	const struct entry *entries = finder->entries;
	size_t first, end;
	int err = 0;

	for (first = 0; first < finder->nr && !err; first = end) {
		for (end = first + 1; end < finder->nr; end++)
			if (entries[end].function != entries[first].function)
				break;
		if (end == first + 1)
			continue;
		if (by_name)
			err = match_by_name(finder, &entries[first], end - first, with_kernel);
		else if (finder->before)
			err = match_sides(finder, &entries[first], end - first);
		else
			err = match_unknown(finder, &entries[first], end - first);
	}
	finder->homes->by_name = by_name;
	return err;
}

/* --- all of it -------------------------------------------------------------------------------- */

int homes_init(struct homes *homes, const struct profile *profile)
{
	int before = profile_find_value(profile, DIFFERENCE_BEFORE);
	struct finder finder = {
		.homes = homes, .profile = profile, .before = before > 0 ? (size_t)before : 0};
	int err;

	*homes = (struct homes){.profile = profile, .is_difference = finder.before > 0};
	err = find_sides(&finder);
	if (!err)
		err = find_modules(&finder);
	if (!err)
		err = find_entries(&finder);
	if (!err)
		err = find_functions(&finder);
	free(finder.sides_of_frame);
	free(finder.sides_of_module);
	free(finder.entries);
	return err;
}

void homes_clear(struct homes *homes)
{
	free(homes->of_module);
	free(homes->of_build);
	u64_map_clear(&homes->of_function);
	*homes = (struct homes){0};
}

/* True for `libz.so.1+0x4a20` in libz.so.1. */
static bool is_place(const struct profile *profile, uint32_t module, uint32_t function)
{
	const char *text = profile_string(profile, function);
	const char *name = profile_module_name(profile, module);

	return text_starts_with(text, name) && text_starts_with(text + strlen(name), "+0x");
}

uint32_t homes_find(const struct homes *homes, uint32_t module, uint32_t function)
{
	uint32_t home = homes->of_module[module];
	const uint64_t *other;

	if (!function)
		return homes->by_name ? MODULE_NR_UNKNOWN : home;
	if (is_place(homes->profile, module, function))
		return homes->of_build[module];
	other = u64_map_find(&homes->of_function, key_of(function, home));
	return other ? (uint32_t)*other : home;
}

uint32_t homes_of_module(const struct homes *homes, uint32_t module)
{
	return homes->of_module[module];
}
