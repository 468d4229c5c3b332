/*
 * A file in which functions are looked for: what it calls them, as far as that can be known from
 * it and from what belongs to it (its debug file, MiniDebugInfo, Go's own table).
 */
#ifndef STOOK_PROBE_FIND_USER_FILE_H
#define STOOK_PROBE_FIND_USER_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "elf/image/elf_image.h"
#include "elf/symbols/function_list.h"
#include "probe/expression/probe_list.h"
#include "probe/find/exclusions.h"
#include "probe/find/matcher.h"
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
	uint32_t *readable; /* by function: where in the texts; READABLE_… */
	char *texts;
	size_t nr_text_bytes, cap_text_bytes;
	struct user_choice *choices;
	size_t nr_choices, cap_choices;
	struct exclusions exclusions;
};

/* Takes over what is in *from, also when it fails. 0 or a negative errno. */
int user_file_open(struct user_file *file, struct program_file *from, struct error *error);
void user_file_close(struct user_file *file);

/* Reads the functions, once. 0 or a negative errno. */
int user_file_read(struct user_file *file, const struct debug_places *places, struct error *error);

/* A descriptor of its debug file; or -ENOENT. */
int user_file_open_debug(const struct user_file *file, const struct debug_places *places);

/* 0 or -ENOENT: no code of the program is there. */
int user_file_offset(const struct user_file *file, uint64_t vaddr, uint64_t *ret_offset);

/* Why no probe can be put there, in words; NULL if one can. */
const char *user_file_why_not(const struct user_file *file, uint64_t vaddr);

/* The same of a place that is not a function's beginning. */
const char *user_file_why_not_inside(const struct user_file *file, uint64_t vaddr);

/* The number that the file has in the list, which gets a descriptor of its own; or -errno. */
int64_t user_file_list(const struct user_file *file, struct probe_list *list);

/* Whether a function's name fits: as it is in the file, demangled, or that without parameters. */
bool user_file_fits(struct user_file *file, uint32_t function, const struct matcher *matcher);

/* The name to show, good until the next call of this or of the above. */
const char *user_file_shown(struct user_file *file, uint32_t function);

/* Without parameters; for names whose shown one is not the one in the file. */
const char *user_file_simple(struct user_file *file, uint32_t function);

/* As in the file, good until the close. */
static inline const char *user_file_name(const struct user_file *file, uint32_t function)
{
	return function_list_text(&file->functions, file->functions.functions[function].name);
}

/* The last function that starts at or below an address, with its first name; -ENOENT. */
int64_t user_file_function_at(const struct user_file *file, uint64_t vaddr);

#endif
