/*
 * A file that is searched for functions: its functions' names, from the file itself and its
 * companions (debug file, MiniDebugInfo, Go's own table); the files of one search, each opened and
 * read once; and the choice among a file's functions and static probes.
 */
#ifndef STOOK_PROBE_FIND_USER_FILE_H
#define STOOK_PROBE_FIND_USER_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/matcher.h"
#include "elf/image/elf_image.h"
#include "elf/symbols/function_list.h"
#include "probe/expression/probe_list.h"
#include "probe/find/pattern.h"
#include "probe/find/probe_names.h"
#include "probe/find/program.h"
#include "sym/debug_files.h"

#define USER_NO_FUNCTION UINT32_MAX

/* A chosen function, or an instruction in one. */
struct user_choice {
	uint64_t vaddr;
	uint64_t offset;   /* from the function's start; 0: the function itself */
	uint32_t function; /* index of the function that gives the name; or USER_NO_FUNCTION */
	bool is_return;
};

struct user_file {
	struct program_file from; /* owned */
	dev_t device;
	ino_t inode;
	struct elf_image image;
	bool is_go;
	bool is_read;	    /* the members below are filled */
	bool unwinds;	    /* exceptions may propagate through its functions */
	bool has_all_names; /* false: only names of exported functions */
	struct function_list functions;
	struct symbol_table *starts; /* starts of nameless functions, read on first use; or NULL */
	bool has_starts;
	uint32_t *readable; /* by function: offset in texts, or READABLE_… */
	char *texts;
	size_t nr_text_bytes, cap_text_bytes;
	struct user_choice *choices;
	size_t nr_choices, cap_choices;
	struct exclusions exclusions;
};

/* Reads the functions, once. Returns 0 or a negative errno. */
int user_file_read(struct user_file *file, const struct debug_places *places, struct error *error);

/* Converts an address to a file offset. Returns 0, or -ENOENT: no code at this address. */
int user_file_offset(const struct user_file *file, uint64_t vaddr, uint64_t *ret_offset);

/* Returns why a function at this address cannot be probed; NULL if it can. */
const char *user_file_why_not(const struct user_file *file, uint64_t vaddr);

/* Like user_file_why_not(), for an instruction that is not a function's first. */
const char *user_file_why_not_inside(const struct user_file *file, uint64_t vaddr);

/*
 * Adds the file to the list, which gets its own descriptor. Returns the file's number there, or
 * -errno.
 */
int64_t user_file_list(const struct user_file *file, struct probe_list *list);

/* True if a function's name matches: as in the file, demangled, or demangled without parameters. */
bool user_file_matches(struct user_file *file, uint32_t function, const struct matcher *matcher);

/* Returns the name to show. Valid until the next call of this function or of user_file_matches(). */
const char *user_file_shown(struct user_file *file, uint32_t function);

/*
 * Returns the shown name without parameters; only for functions whose shown name differs from the
 * name in the file.
 */
const char *user_file_simple(struct user_file *file, uint32_t function);

/* Returns the name as in the file. Valid until the file is closed. */
static inline const char *user_file_name(const struct user_file *file, uint32_t function)
{
	return function_list_text(&file->functions, file->functions.functions[function].name);
}

/*
 * Returns the index of the last function that starts at or below an address, the first of its
 * names; or -ENOENT.
 */
int64_t user_file_function_at(const struct user_file *file, uint64_t vaddr);

/*
 * Finds the start of the nameless function that contains an address. Returns 0, -ENOENT or -ENOMEM.
 */
int user_file_start_of(struct user_file *file, uint64_t vaddr, uint64_t *ret_start);

/* Returns why the return of a function with this name must not be probed; NULL: it can be. */
const char *no_return_why(const char *name);

/* Like no_return_why(), for all names in the file of the function at vaddr. */
const char *no_return_why_at(const struct user_file *file, uint64_t vaddr);

/* --- the files of one search ------------------------------------------------------------------ */

/* An exclusion for a file that may not be open (yet). */
struct left_out_file {
	dev_t device;
	ino_t inode;
	const struct pattern *pattern;
};

struct found_files {
	struct user_file **files;
	size_t nr, capacity;
	struct left_out_file *left_out;
	size_t nr_left_out, cap_left_out;
};

/*
 * Takes ownership of the file in *from, and opens it unless it is already open. Returns 0 or a
 * negative errno.
 */
int found_files_add(struct found_files *found, struct program_file *from, struct user_file **ret,
		    struct error *error);

/* Records an exclusion for a file (NULL: all files). It applies to files that are opened later. */
int found_files_leave_out(struct found_files *found, const struct program_file *file,
			  const struct pattern *pattern);

void found_files_clear(struct found_files *found);

/* --- choosing (in user_functions.c) ------------------------------------------------------------ */

/*
 * Chooses the functions that match a pattern of kind PATTERN_USER, in a file that was read. Adds to
 * the file's choices, or to the refusals. *ret_nr: number of matching names, refused or not.
 * Returns 0 or a negative errno.
 */
int user_functions_choose(struct user_file *file, const struct pattern *pattern, bool force_returns,
			  struct refusals *refusals, size_t *ret_nr, struct error *error);

/* Sorts the choices and drops excluded ones. Returns the number of places. */
size_t user_probes_settle(struct user_file *file);

/* Adds a probe for each place. Returns 0 or a negative errno. */
int user_probes_add(struct user_file *file, struct probe_list *list, struct error *error);

/*
 * Adds a probe for each place of the static probes (USDT) that match and are not excluded. A static
 * probe can have several places, which share one name, "provider:probe", and are distinguished by
 * detail. *ret_nr: number of matches. Returns 0 or a negative errno.
 */
int static_probes_add(struct user_file *file, const struct pattern *pattern,
		      struct probe_list *list, size_t *ret_nr, struct error *error);

#endif
