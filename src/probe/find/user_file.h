/*
 * A file in which functions are looked for: what it calls them, as far as that can be known from
 * the file and from what belongs to it (its debug file, MiniDebugInfo, Go's own table); the files
 * of one search, each opened and read once; and choosing among a file's functions and static probes.
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

/* A function, or an instruction in one, that somebody asked for. */
struct user_choice {
	uint64_t vaddr;
	uint64_t offset;   /* behind the function's start, if that is not what was asked for */
	uint32_t function; /* in the list of functions: whose name it has; or USER_NO_FUNCTION */
	bool is_return;
};

struct user_file {
	struct program_file from; /* the file's own */
	dev_t device;
	ino_t inode;
	struct elf_image image;
	bool is_go;
	bool is_read;	    /* what is below */
	bool unwinds;	    /* exceptions may pass its functions */
	bool has_all_names; /* else only those of functions that other files may call */
	struct function_list functions;
	struct symbol_table *starts; /* of those without a name, once one was asked for; or NULL */
	bool has_starts;
	uint32_t *readable; /* by function: where in the texts; READABLE_… */
	char *texts;
	size_t nr_text_bytes, cap_text_bytes;
	struct user_choice *choices;
	size_t nr_choices, cap_choices;
	struct exclusions exclusions;
};

/* Reads the functions, once. 0 or a negative errno. */
int user_file_read(struct user_file *file, const struct debug_places *places, struct error *error);

/* 0 or -ENOENT: no code of the program is there. */
int user_file_offset(const struct user_file *file, uint64_t vaddr, uint64_t *ret_offset);

/* Why no probe can be put there, in words; NULL if one can. */
const char *user_file_why_not(const struct user_file *file, uint64_t vaddr);

/* The same of a place that is not a function's beginning. */
const char *user_file_why_not_inside(const struct user_file *file, uint64_t vaddr);

/* Adds the file to the list, which gets its own descriptor. Returns its number there, or -errno. */
int64_t user_file_list(const struct user_file *file, struct probe_list *list);

/*
 * True if a function's name fits: as it is in the file, demangled, or demangled without parameters.
 */
bool user_file_fits(struct user_file *file, uint32_t function, const struct matcher *matcher);

/* The name to show, good until the next call of this or of the above. */
const char *user_file_shown(struct user_file *file, uint32_t function);

/* The same without parameters; only for functions whose shown name is not the one in the file. */
const char *user_file_simple(struct user_file *file, uint32_t function);

/* The name as in the file, good until the close. */
static inline const char *user_file_name(const struct user_file *file, uint32_t function)
{
	return function_list_text(&file->functions, file->functions.functions[function].name);
}

/* The last function that starts at or below an address, with its first name; -ENOENT. */
int64_t user_file_function_at(const struct user_file *file, uint64_t vaddr);

/*
 * Where the function begins that covers an address and has no name: 0, -ENOENT or -ENOMEM.
 */
int user_file_start_of(struct user_file *file, uint64_t vaddr, uint64_t *ret_start);

/* Why the return of a function with this name must not be probed; NULL: it can be. */
const char *no_return_why(const char *name);

/* The same for the function that begins at vaddr, by all names that it has in the file. */
const char *no_return_why_at(const struct user_file *file, uint64_t vaddr);

/* --- the files of one search ------------------------------------------------------------------ */

/* A pattern that leaves out functions of a file, which may not have been opened (yet). */
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

/* Takes over the file in *from, and opens it unless it was opened before. 0 or a negative errno. */
int found_files_add(struct found_files *found, struct program_file *from, struct user_file **ret,
		    struct error *error);

/*
 * Notes the file that an exclusion is about; NULL: all files. Applies to files that are opened
 * later.
 */
int found_files_leave_out(struct found_files *found, const struct program_file *file,
			  const struct pattern *pattern);

void found_files_clear(struct found_files *found);

/* --- choosing (in user_functions.c) ------------------------------------------------------------ */

/*
 * Chooses the functions of a file, which was read, that fit a pattern of kind PATTERN_USER: adds to
 * the file's choices, or to the refusals. *ret_nr: how many names fit, refused or not. 0 or a
 * negative errno.
 */
int user_functions_choose(struct user_file *file, const struct pattern *pattern, bool force_returns,
			  struct refusals *refusals, size_t *ret_nr, struct error *error);

/*
 * Sorts the choices and drops those that the file's exclusions leave out. Returns the number of
 * places.
 */
size_t user_probes_settle(struct user_file *file);

/* Adds a probe for each place. 0 or a negative errno. */
int user_probes_add(struct user_file *file, struct probe_list *list, struct error *error);

/*
 * Adds a probe for each place of the static probes (USDT) that fit, unless the file's exclusions
 * leave it out. A static probe can be in several places, which have one name, "provider:probe", and
 * are distinguished by detail. *ret_nr: how many fit. 0 or a negative errno.
 */
int static_probes_add(struct user_file *file, const struct pattern *pattern,
		      struct probe_list *list, size_t *ret_nr, struct error *error);

#endif
