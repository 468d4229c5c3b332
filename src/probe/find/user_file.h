/*
 * A file that is searched for functions, where it is parsed: its functions' names, from the file itself and its
 * companions (debug file, MiniDebugInfo, Go's own table); and the choice among its functions and static probes.
 *
 * The functions stay in memory from one question about the file to the next (probes_task.h).
 */
#ifndef STOOK_PROBE_FIND_USER_FILE_H
#define STOOK_PROBE_FIND_USER_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "base/closest.h"
#include "base/error.h"
#include "base/matcher.h"
#include "elf/image/elf_image.h"
#include "elf/symbols/function_list.h"
#include "probe/find/pattern.h"
#include "probe/find/probe_names.h"
#include "probe/find/probes_task.h"
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
	/* Identify the file. */
	dev_t device;
	ino_t inode;
	off_t bytes;
	struct timespec changed;
	/* These belong to one question, until user_file_close(). */
	struct elf_image image;
	const char *path;    /* in its process' root; not owned */
	const char *library; /* see loaded_library_path(); NULL: none; not owned */
	struct exclusions exclusions;
	struct user_choice *choices;
	size_t nr_choices, cap_choices;
	/* Kept. */
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
};

/* A file without functions so far. Returns NULL when out of memory. */
struct user_file *user_file_new(const struct stat *st);
void user_file_free(struct user_file *file);

/* True if it is this file, unchanged. */
bool user_file_is(const struct user_file *file, const struct stat *st);

/* Returns the memory that it uses, roughly. */
uint64_t user_file_bytes(const struct user_file *file);

/* Opens the file for one question; fd remains the caller's. 0 or a negative errno. */
int user_file_open(struct user_file *file, int fd, struct error *error);
void user_file_close(struct user_file *file);

/* Reads the functions, once. Returns 0 or a negative errno. */
int user_file_read(struct user_file *file, const struct debug_places *places, struct error *error);

/* Converts an address to a file offset. Returns 0, or -ENOENT: no code at this address. */
int user_file_offset(const struct user_file *file, uint64_t vaddr, uint64_t *ret_offset);

/* Returns why a function at this address cannot be probed; NULL if it can. */
const char *user_file_why_not(const struct user_file *file, uint64_t vaddr);

/* Like user_file_why_not(), for an instruction that is not a function's first. */
const char *user_file_why_not_inside(const struct user_file *file, uint64_t vaddr);

/* Sets is_stepped and is_doubtful by the code at the place's offset. */
void user_file_judge_code(const struct user_file *file, struct probes_place *place);

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

/* --- choosing (in user_functions.c) ------------------------------------------------------------ */

/*
 * Chooses the functions that match a pattern of kind PATTERN_USER, in a file that was read. Adds to
 * the file's choices, or to the refusals. *ret_nr: number of matching names, refused or not.
 * Returns 0 or a negative errno.
 */
int user_functions_choose(struct user_file *file, const struct pattern *pattern, bool force_returns,
			  struct refusals *refusals, uint64_t *ret_nr, struct error *error);

/*
 * Adds the choices that are not excluded to the answer; without texts if they have more than max_places places
 * (0: no limit). Returns 0 or a negative errno.
 */
int user_functions_describe(struct user_file *file, uint64_t max_places,
			    struct probes_answer *answer);

/* Offers all names of functions, as in the file and as shown. */
void user_functions_offer(struct user_file *file, struct closest *closest);

/*
 * Adds the static probes (USDT) that match to the answer, unless they are excluded. Returns 0 or a negative errno.
 */
int static_probes_choose(struct user_file *file, const struct pattern *pattern,
			 struct probes_answer *answer, struct error *error);

void static_probes_offer(const struct user_file *file, struct closest *closest);

/*
 * The path by which the file is loaded as a library into this process, to find the functions that its IFUNCs select
 * on this machine; NULL if it is not. A parser is executed from the same program, and has loaded the same libraries.
 */
const char *loaded_library_path(dev_t device, ino_t inode);

#endif
