/*
 * Finds the names of functions in one file, or of the JIT-compiled code of one process, in a parser without rights
 * (worker/worker.h): the question, the task, and the answer. Reading an ELF file and its symbols, checking its debug
 * file, reading perf maps and jitdumps, and demangling are done there.
 *
 * A parser keeps the symbols of files and the maps of processes, within limits, for the next question.
 */
#ifndef STOOK_SYM_NAMES_TASK_H
#define STOOK_SYM_NAMES_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image/elf_image.h"
#include "profile/profile.h"
#include "sym/demangle.h"
#include "sym/file_symbols.h"
#include "sym/run_time_maps.h"
#include "worker/worker.h"

struct names_question {
	struct demangle_style demangle;
	bool raw_aliases; /* of a function's aliases, use the one that perf shows */
	bool no_starts;	  /* don't look up starts of functions without a name */
	bool only_code;	  /* no names, only build id and segments */
	/* The build id is reliable: symbols found for another file that has it may be used. */
	bool is_of_root;
	bool is_limited; /* by most_ns and most_bytes */
	/* There is no file; the offsets are addresses in a process, and `file` is its number. */
	bool is_run_time;
	bool is_java, is_superseded; /* see struct run_time_files */
	struct runtime_names_style run_time;
	uint64_t file;	    /* a number for files whose build id is not reliable */
	uint64_t max_bytes; /* limit on symbols kept in memory */
	uint64_t most_ns, most_bytes;
	/* The known identity of the file: enough to find names in its debug file if it cannot be read. */
	struct module_code known;
	bool is_same_build; /* use the file only if it has that build id */
	uint64_t nr;	    /* of offsets in the file, of type uint64_t, which follow */
};

/* The largest number of offsets in a question. */
#define NAMES_QUESTION_MAX (4U << 20)

/* The result for one offset. */
struct names_place {
	uint64_t start; /* of the function, as linked */
	uint32_t name;	/* offset in the text; an empty text: only the start is known */
	uint32_t is_found;
};

struct names_head {
	struct module_code code; /* of the file, or as it was known */
	uint32_t is_read;	 /* the file could be read, and is an ELF file */
	int32_t refused;	 /* error of the limit that was exceeded, or 0 */
	uint64_t bytes_read;
	int32_t perf_map;  /* of a process: 0: read; or why it was not, see file_open_written() */
	uint32_t is_later; /* not 0: a debug file could not be looked for; ask again another time */
	uint64_t nr_failed;  /* malformed or too large tables of symbols, or maps */
	uint64_t nr;	     /* of places, in the order of the offsets, which follow */
	uint64_t text_bytes; /* of names, each with its NUL, which follow */
};

/* The parts of an answer. */
struct names_answer {
	struct names_head head;
	struct names_place *places;
	char *text;
	size_t places_capacity, text_capacity;
	void *bytes; /* if not NULL, places and text point into this */
};

void names_answer_clear(struct names_answer *answer);

/* --- in stook --------------------------------------------------------------------------------- */

/*
 * Takes the bytes from worker_fetch(), and checks them: they come from a parser that may have been compromised.
 * nr_asked: the number of offsets in the question. 0 or -EPROTO.
 */
int names_answer_parse(void *bytes, size_t nr, size_t nr_asked, struct names_answer *ret);

/* The name at a place. NULL: not found; "": only the start is known. */
const char *names_answer_name(const struct names_answer *answer, size_t i);

/* --- where files are parsed ------------------------------------------------------------------- */

struct names_state;

struct names_state *names_state_new(size_t max_bytes); /* NULL when out of memory */
void names_state_free(struct names_state *state);

/*
 * Answers a question about an image; NULL: the file cannot be read. file: its descriptor and owner, if they are
 * known. job: NULL outside of a parser. 0, and the caller clears *ret; or -ENOMEM.
 */
int names_find(struct names_state *state, const struct names_question *question,
	       const uint64_t *offsets, struct code_file *file, struct elf_image *image,
	       struct worker_job *job, struct names_answer *ret);

/* The task that runs in parsers. */
int names_task(struct worker_job *job, void **state);

#endif
