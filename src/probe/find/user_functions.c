/*
 * Chooses functions. Each pattern makes one pass over all names and records its choices. Then the
 * choices are sorted by place, so that names and patterns that refer to the same place become one
 * probe.
 *
 * A place inside a function must be the start of an instruction, which is checked by decoding the
 * function from its start.
 *
 * An exclusion removes the names that it matches: `malloc|__libc_malloc` without `__*` is `malloc`.
 * An exclusion without wildcards removes the function, whatever the name by which it was chosen.
 */
#include "probe/find/user_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "elf/image/elf_image.h"
#include "elf/image/instructions.h"
#include "elf/image/usdt_notes.h"
#include "elf/unwind/function_starts.h"

/* --- IFUNCs --------------------------------------------------------------------------------- */

/*
 * IFUNCs are functions with several implementations for different processors. Their symbol is that
 * of a resolver, which the dynamic linker calls once to find the implementation for this processor.
 *
 * Most processes use the same C library file as this process. Our dynamic linker has called its
 * resolvers, or does so when it looks up a name; the result depends only on the processor (and on
 * GLIBC_TUNABLES, which is not set for single processes in practice). Nothing of the file is
 * executed that is not already part of this process. A static build has no such library.
 */

#ifndef STOOK_STATIC

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <sys/stat.h>

struct loaded {
	dev_t device;
	ino_t inode;
	const char *path; /* NULL: not loaded */
	uint64_t bias;
};

/* In a parser, which cannot look at the file at a path. */
static int has_path(struct dl_phdr_info *info, size_t nr, void *context)
{
	struct loaded *loaded = context;

	(void)nr;
	loaded->bias = info->dlpi_addr;
	return !strcmp(info->dlpi_name, loaded->path);
}

static int is_wanted(struct dl_phdr_info *info, size_t nr, void *context)
{
	struct loaded *loaded = context;
	struct stat st;

	(void)nr;
	if (info->dlpi_name[0] != '/' || stat(info->dlpi_name, &st) < 0 ||
	    st.st_dev != loaded->device || st.st_ino != loaded->inode)
		return 0;
	loaded->path = info->dlpi_name;
	return 1;
}

const char *loaded_library_path(dev_t device, ino_t inode)
{
	struct loaded loaded = {.device = device, .inode = inode};

	(void)dl_iterate_phdr(is_wanted, &loaded);
	return loaded.path;
}

/*
 * Looks up a resolver's function by any of its names: names local to the library cannot be looked
 * up.
 */
static void *look_up(void *library, const struct user_file *file, uint32_t function)
{
	const struct listed_function *functions = file->functions.functions;
	uint64_t resolver = functions[function].vaddr;
	void *code = NULL;

	while (function && functions[function - 1].vaddr == resolver)
		function--;
	for (; !code && function < file->functions.nr && functions[function].vaddr == resolver;
	     function++)
		if (functions[function].is_ifunc)
			code = dlsym(library, user_file_name(file, function));
	return code;
}

/*
 * Finds the address, as linked, of the implementation that an IFUNC selects on this machine.
 * -ENOENT: the file is not loaded in this process; -ERANGE: the implementation is in another file
 * (gettimeofday: in the vDSO).
 */
static int ifunc_resolve(const struct user_file *file, uint32_t function, uint64_t *ret_vaddr)
{
	struct loaded loaded = {.path = file->library};
	uint64_t offset, vaddr;
	void *library = NULL, *code;

	if (loaded.path && dl_iterate_phdr(has_path, &loaded))
		library = dlopen(loaded.path, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return -ENOENT;
	code = look_up(library, file, function);
	(void)dlclose(library);
	if (!code)
		return -ENOENT;
	vaddr = (uint64_t)(uintptr_t)code - loaded.bias;
	if (user_file_offset(file, vaddr, &offset) < 0)
		return -ERANGE;
	*ret_vaddr = vaddr;
	return 0;
}

#else

const char *loaded_library_path(dev_t device, ino_t inode)
{
	(void)device;
	(void)inode;
	return NULL;
}

static int ifunc_resolve(const struct user_file *file, uint32_t function, uint64_t *ret_vaddr)
{
	(void)file;
	(void)function;
	(void)ret_vaddr;
	return -ENOENT;
}

#endif

/* --- excluding -------------------------------------------------------------------------------- */

static bool has_alias_that_fits(struct user_file *file, uint32_t function,
				const struct matcher *matcher)
{
	const struct listed_function *functions = file->functions.functions;
	uint64_t vaddr = functions[function].vaddr;

	while (function && functions[function - 1].vaddr == vaddr)
		function--;
	for (; function < file->functions.nr && functions[function].vaddr == vaddr; function++)
		if (user_file_matches(file, function, matcher))
			return true;
	return false;
}

static bool leaves_out(struct user_file *file, const struct pattern *pattern,
		       const struct user_choice *choice)
{
	if (!exclusion_is_about(pattern, PATTERN_USER, choice->is_return))
		return false;
	if (!pattern->name)
		return pattern->address == choice->vaddr;
	if (choice->function == USER_NO_FUNCTION)
		return false;
	return user_file_matches(file, choice->function, pattern->name) ||
	       (matcher_only_name(pattern->name) &&
		has_alias_that_fits(file, choice->function, pattern->name));
}

/* True if the file's exclusions apply to a choice. */
static bool user_probes_leave_out(struct user_file *file, const struct user_choice *choice)
{
	size_t i;

	for (i = 0; i < file->exclusions.nr; i++)
		if (leaves_out(file, file->exclusions.patterns[i], choice))
			return true;
	return false;
}

/* --- choosing: places ----------------------------------------------------------------------- */

/* Limit on decoding into a function; chromium's longest functions have some 100 KB. */
#define CODE_MAX_BYTES (4u << 20)

/* State of choosing functions by one pattern. */
struct chooser {
	struct user_file *file;
	const struct pattern *pattern;
	bool force_returns;
	struct refusals *refusals;
	struct error *error;
};

/* Records a match that cannot be probed, unless it is excluded anyway. */
static int refuse(struct chooser *chooser, uint32_t function, const char *why)
{
	const struct user_choice choice = {
		.vaddr = chooser->file->functions.functions[function].vaddr,
		.function = function,
		.is_return = chooser->pattern->is_return,
	};

	if (user_probes_leave_out(chooser->file, &choice))
		return 0;
	return refusals_add(chooser->refusals, user_file_shown(chooser->file, function), why) < 0
		       ? error_no_memory(chooser->error, "for functions")
		       : 0;
}

static int choose(struct chooser *chooser, uint32_t function, uint64_t vaddr, uint64_t offset)
{
	struct user_file *file = chooser->file;

	if (file->nr_choices == PROBES_PLACES_MAX)
		return error_set(chooser->error, -E2BIG, "too many functions");
	if (ARRAY_ADD(file->choices, file->nr_choices, file->cap_choices,
		      (struct user_choice){vaddr, offset, function, chooser->pattern->is_return}) <
	    0)
		return error_no_memory(chooser->error, "for functions");
	return 0;
}

/* Returns the end of a function: by its size, else the start of the next function. */
static uint64_t end_of(const struct user_file *file, uint32_t function)
{
	const struct listed_function *functions = file->functions.functions;
	uint64_t start = functions[function].vaddr;
	size_t next = function;

	if (functions[function].bytes)
		return start + functions[function].bytes;
	while (next < file->functions.nr && functions[next].vaddr == start)
		next++;
	return next < file->functions.nr ? functions[next].vaddr : UINT64_MAX;
}

/*
 * Decodes a function's instructions up to an offset. Returns NULL if an instruction starts there,
 * else the reason why not.
 */
static const char *check_boundary(const struct user_file *file, uint64_t start, uint64_t offset,
				  char *why, size_t nr_why)
{
	const size_t nr = offset + 16; /* room for the longest instruction */
	cleanup_free uint8_t *code = NULL;
	uint64_t at_file, at = 0;
	size_t step;

	if (offset > CODE_MAX_BYTES)
		return "too far into the function to check instruction boundaries";
	code = calloc(1, nr);
	if (!code || user_file_offset(file, start, &at_file) < 0 ||
	    elf_image_read(&file->image, at_file, code, offset) < 0)
		return "its code could not be read";
	(void)elf_image_read(&file->image, at_file + offset, code + offset, nr - offset);
	while (at < offset) {
		step = instruction_length(file->image.machine, code + at, nr - at);
		if (!step)
			return "an instruction before it is unknown, so instruction boundaries "
			       "cannot be checked";
		at += step;
	}
	if (at == offset)
		return NULL;
	(void)snprintf(why, nr_why,
		       "in the middle of an instruction; the next one begins at +0x%" PRIx64, at);
	return why;
}

static int choose_inside(struct chooser *chooser, uint32_t function, uint64_t offset)
{
	struct user_file *file = chooser->file;
	uint64_t start = file->functions.functions[function].vaddr;
	char name[512], why[128];
	const char *reason;

	if (chooser->pattern->is_return)
		reason = "a return probe needs a function, not an offset in one";
	else if (offset >= end_of(file, function) - start)
		reason = "beyond the end of the function";
	else
		reason = check_boundary(file, start, offset, why, sizeof(why));
	if (!reason)
		reason = user_file_why_not_inside(file, start + offset);
	if (!reason)
		return choose(chooser, function, start + offset, offset);
	(void)snprintf(name, sizeof(name), "%s+0x%" PRIx64, user_file_shown(file, function),
		       offset);
	return refusals_add(chooser->refusals, name, reason) < 0
		       ? error_no_memory(chooser->error, "for functions")
		       : 0;
}

/* --- choosing: by name ---------------------------------------------------------------------- */

static const char *why_no_return(const struct chooser *chooser, uint64_t vaddr)
{
	if (!chooser->pattern->is_return)
		return NULL;
	if (chooser->file->is_go && !chooser->force_returns)
		return "a return probe would crash a Go program, which moves its stacks (see "
		       "--force)";
	if (chooser->file->unwinds && !chooser->force_returns)
		return "an exception or panic that passes through it would end the program "
		       "(use --force if there are none)";
	return no_return_why_at(chooser->file, vaddr);
}

/* Returns why a matching function cannot be probed; NULL if it can. */
static const char *why_not(const struct chooser *chooser, uint32_t function)
{
	const struct user_file *file = chooser->file;
	const char *name = user_file_name(file, function);
	uint64_t offset;

	if (user_file_offset(file, file->functions.functions[function].vaddr, &offset) < 0)
		return "no code at this address";
	if (is_cold_part(name) && chooser->pattern->name &&
	    !matcher_only_name(chooser->pattern->name))
		return "part of a function that is jumped to, not called";
	return why_no_return(chooser, file->functions.functions[function].vaddr);
}

static int choose_start(struct chooser *chooser, uint32_t function, uint64_t vaddr)
{
	const char *why = user_file_why_not(chooser->file, vaddr);

	return why ? refuse(chooser, function, why) : choose(chooser, function, vaddr, 0);
}

/* Chooses the selected implementation, since the resolver runs only once per process. */
static int choose_ifunc(struct chooser *chooser, uint32_t function)
{
	uint64_t vaddr;
	int err = ifunc_resolve(chooser->file, function, &vaddr);

	if (err == -ERANGE)
		return refuse(
			chooser, function,
			"an IFUNC resolver, which runs once per process; the function that it "
			"selects is in another file (perhaps the vDSO)");
	if (err < 0)
		return refuse(
			chooser, function,
			"an IFUNC resolver, which runs once per process; the function that it "
			"selects cannot be determined here");
	return choose_start(chooser, function, vaddr);
}

static int choose_function(struct chooser *chooser, uint32_t function)
{
	const struct listed_function *listed = &chooser->file->functions.functions[function];
	const char *why = why_not(chooser, function);

	if (why)
		return refuse(chooser, function, why);
	if (chooser->pattern->has_offset && chooser->pattern->offset)
		return choose_inside(chooser, function, chooser->pattern->offset);
	if (listed->is_ifunc)
		return choose_ifunc(chooser, function);
	return choose_start(chooser, function, listed->vaddr);
}

/* --- choosing: by address ------------------------------------------------------------------- */

/* Returns why an address in the nameless function at `start` cannot be probed; NULL if it can. */
static const char *why_not_nameless(const struct chooser *chooser, uint64_t start, uint64_t address,
				    char *why, size_t nr_why)
{
	const struct user_file *file = chooser->file;
	const char *reason;

	if (chooser->pattern->is_return && address != start)
		return "a return probe needs a function, not an offset in one";
	/* The kernel would take the word on top of the stack for the return address. */
	if (chooser->pattern->is_return && !function_start_is_called(&file->image, start))
		return "part of a function that is jumped to, not called";
	reason = check_boundary(file, start, address - start, why, nr_why);
	if (!reason)
		reason = address == start ? user_file_why_not(file, address)
					  : user_file_why_not_inside(file, address);
	return reason ? reason : why_no_return(chooser, address);
}

/* Chooses an address outside all named functions. */
static int choose_nameless(struct chooser *chooser, uint64_t address)
{
	struct user_file *file = chooser->file;
	const char *reason;
	uint64_t start = 0, offset;
	char name[32], why[128];
	int err = user_file_start_of(file, address, &start);

	if (err == -ENOMEM)
		return error_no_memory(chooser->error, "for functions");
	if (user_file_offset(file, address, &offset) < 0)
		reason = "no code at this address";
	else if (err < 0)
		reason = "not in a known function, so instruction boundaries cannot be checked";
	else
		reason = why_not_nameless(chooser, start, address, why, sizeof(why));
	if (!reason)
		return choose(chooser, USER_NO_FUNCTION, address, address - start);
	(void)snprintf(name, sizeof(name), "0x%" PRIx64, address);
	return refusals_add(chooser->refusals, name, reason) < 0
		       ? error_no_memory(chooser->error, "for functions")
		       : 0;
}

/* Chooses an address, as linked. */
static int choose_address(struct chooser *chooser, uint64_t *ret_nr)
{
	uint64_t address = chooser->pattern->address, start;
	int64_t function = user_file_function_at(chooser->file, address);

	*ret_nr = 1;
	if (function < 0 || address >= end_of(chooser->file, (uint32_t)function))
		return choose_nameless(chooser, address);
	start = chooser->file->functions.functions[function].vaddr;
	if (address > start)
		return choose_inside(chooser, (uint32_t)function, address - start);
	return choose_function(chooser, (uint32_t)function);
}

int user_functions_choose(struct user_file *file, const struct pattern *pattern, bool force_returns,
			  struct refusals *refusals, uint64_t *ret_nr, struct error *error)
{
	struct chooser chooser = {file, pattern, force_returns, refusals, error};
	size_t i, nr = 0;
	bool any;
	int err = 0;

	if (!pattern->name)
		return choose_address(&chooser, ret_nr);
	any = matcher_is_any(pattern->name);
	for (i = 0; i < file->functions.nr && !err; i++) {
		if (!any && !user_file_matches(file, (uint32_t)i, pattern->name))
			continue;
		err = choose_function(&chooser, (uint32_t)i);
		nr++;
	}
	*ret_nr = nr;
	return err;
}

void user_functions_offer(struct user_file *file, struct closest *closest)
{
	const char *name, *shown;
	size_t i;

	for (i = 0; i < file->functions.nr; i++) {
		name = user_file_name(file, (uint32_t)i);
		shown = user_file_shown(file, (uint32_t)i);
		closest_offer(closest, shown);
		if (shown != name)
			closest_offer(closest, user_file_simple(file, (uint32_t)i));
	}
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Equal places become one probe. */
static int compare_places(const struct user_choice *a, const struct user_choice *b)
{
	return COMPARE(a->vaddr, b->vaddr) ?: COMPARE(a->is_return, b->is_return);
}

static int compare_choices(const void *left, const void *right)
{
	const struct user_choice *a = left, *b = right;

	return compare_places(a, b) ?: COMPARE(a->function, b->function);
}

/* Sorts the choices and drops excluded ones. Returns the number of places. */
static size_t settle(struct user_file *file)
{
	size_t i, nr = 0, nr_places = 0;

	if (file->nr_choices)
		qsort(file->choices, file->nr_choices, sizeof(*file->choices), compare_choices);
	for (i = 0; i < file->nr_choices; i++) {
		const struct user_choice *choice = &file->choices[i];

		if ((nr && !compare_choices(choice, &file->choices[nr - 1])) ||
		    user_probes_leave_out(file, choice))
			continue;
		nr_places += !nr || compare_places(choice, &file->choices[nr - 1]);
		file->choices[nr++] = *choice;
	}
	file->nr_choices = nr;
	return nr_places;
}

static const char *source_of(const struct user_file *file, const struct listed_function *listed)
{
	return listed && listed->source ? function_list_text(&file->functions, listed->source) : "";
}

/* Returns the name of the function that an IFUNC resolves to, if it has one. */
static const char *implementation_of(const struct user_file *file, uint64_t vaddr)
{
	int64_t at = user_file_function_at(file, vaddr);

	if (at < 0 || file->functions.functions[at].vaddr != vaddr)
		return "";
	return user_file_name(file, (uint32_t)at);
}

/*
 * Returns a choice's name, to be freed. A nameless function gets the same name as in profiles
 * (profile_set_start()).
 */
static char *name_of(struct user_file *file, const struct user_choice *choice)
{
	const char *shown;

	if (choice->function == USER_NO_FUNCTION && choice->offset)
		return text_printf("0x%" PRIx64, choice->vaddr);
	if (choice->function == USER_NO_FUNCTION)
		return text_printf("%s+0x%" PRIx64, text_file_name(file->path), choice->vaddr);
	shown = user_file_shown(file, choice->function);
	return choice->offset ? text_printf("%s+0x%" PRIx64, shown, choice->offset) : strdup(shown);
}

/* True if the place is the entry of a called function. */
static bool is_entry(const struct user_file *file, const struct user_choice *choice)
{
	return !choice->is_return && !choice->offset &&
	       (choice->function != USER_NO_FUNCTION ||
		function_start_is_called(&file->image, choice->vaddr));
}

static int add_texts(struct user_file *file, const struct user_choice *choice,
		     const struct listed_function *listed, struct probes_place *place,
		     struct probes_answer *answer)
{
	const char *why = no_return_why_at(file, choice->vaddr);
	cleanup_free char *name = name_of(file, choice);
	int err = name ? probes_answer_add_text(answer, name, &place->name) : -ENOMEM;

	if (err == 0)
		err = probes_answer_add_text(answer, source_of(file, listed), &place->source);
	if (err == 0 && place->is_ifunc)
		err = probes_answer_add_text(answer, implementation_of(file, choice->vaddr),
					     &place->implementation);
	if (err == 0 && why)
		err = probes_answer_add_text(answer, why, &place->why_no_return);
	return err;
}

static int add_place(struct user_file *file, const struct user_choice *choice,
		     struct probes_answer *answer)
{
	const struct listed_function *listed =
		choice->function == USER_NO_FUNCTION ? NULL
						     : &file->functions.functions[choice->function];
	struct probes_place place = {
		.vaddr = choice->vaddr,
		.function = choice->function,
		.is_ifunc = listed && listed->is_ifunc,
	};
	int err = user_file_offset(file, choice->vaddr, &place.offset);

	if (err == 0 && answer->head.has_texts) {
		place.is_entry = is_entry(file, choice);
		user_file_judge_code(file, &place);
		err = add_texts(file, choice, listed, &place, answer);
	}
	if (err < 0)
		return err;
	return ARRAY_ADD(answer->places, answer->head.nr_places, answer->places_capacity, place);
}

int user_functions_describe(struct user_file *file, uint64_t max_places,
			    struct probes_answer *answer)
{
	size_t nr_places = settle(file), i;
	int err = 0;

	answer->head.has_texts = !max_places || nr_places <= max_places;
	for (i = 0; i < file->nr_choices && err == 0; i++)
		err = add_place(file, &file->choices[i], answer);
	return err;
}

/* --- static probes -------------------------------------------------------------------------- */

static bool fits(const struct pattern *pattern, const struct usdt_note *note)
{
	return (!pattern->provider || matcher_matches(pattern->provider, note->provider)) &&
	       (!pattern->name || matcher_matches(pattern->name, note->name));
}

static bool is_left_out(const struct user_file *file, const struct usdt_note *note)
{
	size_t i;

	for (i = 0; i < file->exclusions.nr; i++)
		if (exclusion_is_about(file->exclusions.patterns[i], PATTERN_USDT, false) &&
		    fits(file->exclusions.patterns[i], note))
			return true;
	return false;
}

static char *name_of_note(const struct usdt_note *note)
{
	return text_printf("%s:%s", note->provider, note->name);
}

/* Each refused static probe is listed by itself. */
static int refuse_note(struct probes_answer *answer, const char *name, const char *why)
{
	struct probes_refusal refusal = {.nr = 1, .nr_names = 1};
	int err = probes_answer_add_text(answer, name, &refusal.names[0]);

	if (err == 0)
		err = probes_answer_add_text(answer, why, &refusal.why);
	return err
		       ?: ARRAY_ADD(answer->refusals, answer->head.nr_refusals,
				    answer->refusals_capacity, refusal);
}

static int add_note(const struct user_file *file, const struct usdt_note *note,
		    struct probes_answer *answer)
{
	struct probes_place place = {.vaddr = note->vaddr, .semaphore = note->semaphore};
	cleanup_free char *name = name_of_note(note);
	const char *why;
	int err;

	if (!name)
		return -ENOMEM;
	why = note->is_astray ? "its semaphore is not in the file"
			      : user_file_why_not_inside(file, note->vaddr);
	if (why)
		return refuse_note(answer, name, why);
	err = user_file_offset(file, note->vaddr, &place.offset);
	if (err == 0) {
		user_file_judge_code(file, &place);
		err = probes_answer_add_text(answer, name, &place.name);
	}
	if (err == 0)
		err = probes_answer_add_text(answer, note->arguments, &place.arguments);
	return err
		       ?: ARRAY_ADD(answer->places, answer->head.nr_places, answer->places_capacity,
				    place);
}

static int choose_notes(const struct user_file *file, const struct usdt_notes *notes,
			const struct pattern *pattern, struct probes_answer *answer)
{
	cleanup_free char *example = notes->nr ? name_of_note(&notes->notes[0]) : NULL;
	size_t i;
	int err = 0;

	if (notes->nr)
		err = example ? probes_answer_add_text(answer, example, &answer->head.example)
			      : -ENOMEM;
	for (i = 0; i < notes->nr && err == 0; i++) {
		if (!fits(pattern, &notes->notes[i]))
			continue;
		answer->head.nr_matches++;
		if (!is_left_out(file, &notes->notes[i]))
			err = add_note(file, &notes->notes[i], answer);
	}
	answer->head.nr_known = notes->nr;
	answer->head.has_texts = 1;
	return err;
}

int static_probes_choose(struct user_file *file, const struct pattern *pattern,
			 struct probes_answer *answer, struct error *error)
{
	struct usdt_notes notes = {0};
	int err = usdt_notes_read(&notes, &file->image, error);

	if (err < 0)
		return err;
	err = choose_notes(file, &notes, pattern, answer);
	usdt_notes_clear(&notes);
	return err;
}

void static_probes_offer(const struct user_file *file, struct closest *closest)
{
	struct usdt_notes notes = {0};
	size_t i;

	if (usdt_notes_read(&notes, &file->image, NULL) < 0)
		return;
	for (i = 0; i < notes.nr; i++)
		closest_offer(closest, notes.notes[i].name);
	usdt_notes_clear(&notes);
}
