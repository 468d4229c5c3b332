/*
 * Chooses the functions or static probes of one file that a pattern matches, in a parser without rights
 * (worker/worker.h): the question, the task, and the answer. Reading an ELF file, its symbol tables, its debug file,
 * notes and instructions, demangling, and matching names are done there; the answer has only what matches.
 *
 * A parser keeps the functions of files, within a limit, for the next pattern of a search. As long as it lives, it has
 * the code mapped in which the places are. The kernel checks an instruction when it first writes a breakpoint to it: if
 * no process had the file mapped, an invalid place would be attached without an error and silently count nothing.
 */
#ifndef STOOK_PROBE_FIND_PROBES_TASK_H
#define STOOK_PROBE_FIND_PROBES_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/closest.h"
#include "probe/find/probe_names.h"
#include "worker/worker.h"

struct probes_question {
	bool is_usdt;	    /* static probes; else functions */
	bool is_regex;	    /* the patterns are */
	bool force_returns; /* allow return probes that may kill programs */
	bool wants_closest; /* names close to the pattern's */
	/* Identifies the search: functions are kept for its next question only, as debug files may come. */
	uint64_t search;
	/* If there are more places, they have no texts: they are only counted. 0: no limit. */
	uint64_t max_places;
	/*
	 * Each with its NUL: the file's path, for names; its path as a library of our own process, or "", see
	 * loaded_library_path(); the pattern; the exclusions.
	 */
	uint64_t nr_texts;
};

/* Why there are no places. */
enum probes_failure {
	PROBES_NO_ELF_FILE,
	PROBES_NO_FUNCTIONS, /* they cannot be read */
	PROBES_NO_NOTES,     /* likewise */
	PROBES_TOO_MANY,
	NR_PROBES_FAILURES,
};

#define PROBES_PLACES_MAX (4u << 20) /* enough for all functions of the largest programs */

/* A chosen name of a function or an instruction in one, or a static probe. Names are texts; 0: none. */
struct probes_place {
	uint64_t vaddr;	    /* as linked */
	uint64_t offset;    /* in the file */
	uint64_t semaphore; /* in the file, of a static probe; 0: none */
	uint32_t function;  /* order of the names of one place; equal numbers are the same name */
	uint32_t name;
	uint32_t source;	 /* file of the source */
	uint32_t implementation; /* of an IFUNC */
	uint32_t why_no_return;
	uint32_t arguments; /* of a static probe */
	uint32_t is_entry;
	uint32_t is_ifunc;
	uint32_t is_stepped;  /* see struct probe (probe/expression/probe_list.h) */
	uint32_t is_doubtful; /* likewise */
};

/* Matches that cannot be probed for one reason. */
struct probes_refusal {
	uint64_t nr;
	uint32_t why;
	uint32_t nr_names;
	uint32_t names[REFUSALS_NAMED];
};

struct probes_head {
	int32_t err;	  /* negative: there is only a failure, and why */
	uint32_t failure; /* enum probes_failure */
	uint32_t why;
	uint32_t nr_closest;
	uint32_t closest[CLOSEST_NAMES];
	uint32_t example; /* a static probe that the file has */
	uint32_t is_go;
	uint32_t unwinds;	/* exceptions may propagate through its functions */
	uint32_t has_all_names; /* 0: only names of exported functions */
	uint32_t has_texts;	/* 0: of places there are only vaddr and offset */
	uint64_t nr_known;	/* functions or static probes that the file has */
	uint64_t nr_matches;	/* names, also refused and excluded ones */
	/* These follow in this order. */
	uint64_t nr_places;
	uint64_t nr_refusals;
	uint64_t text_bytes; /* the first is "", for 0 */
};

/* The parts of an answer. */
struct probes_answer {
	struct probes_head head;
	struct probes_place *places;
	struct probes_refusal *refusals;
	char *text;
	size_t places_capacity, refusals_capacity, text_capacity;
	void *bytes; /* if not NULL, the parts point into this */
};

void probes_answer_clear(struct probes_answer *answer);

/* --- in stook --------------------------------------------------------------------------------- */

/*
 * Takes the bytes from worker_fetch(), and checks them: they come from a parser that may have been compromised.
 * file_bytes: size of the file, in which all places are. 0 or -EPROTO.
 */
int probes_answer_parse(void *bytes, size_t nr, uint64_t file_bytes, struct probes_answer *ret);

static inline const char *probes_answer_text(const struct probes_answer *answer, uint32_t text)
{
	return answer->text + text;
}

/* The same, with NULL for none. */
static inline const char *probes_answer_text_or_null(const struct probes_answer *answer,
						     uint32_t text)
{
	return text ? answer->text + text : NULL;
}

/* --- where files are parsed ------------------------------------------------------------------- */

/* Adds a copy of a text, and returns its number in *ret; 0 for an empty one. 0 or a negative errno. */
int probes_answer_add_text(struct probes_answer *answer, const char *text, uint32_t *ret);

struct probes_state;

struct probes_state *probes_state_new(void); /* NULL when out of memory */
void probes_state_free(struct probes_state *state);

/*
 * Answers a question about the file behind job->fd. The debug file is requested only if job->parser is set: it is not
 * outside of a parser. 0, and the caller clears *ret; or a negative errno.
 */
int probes_find(struct probes_state *state, struct worker_job *job, struct probes_answer *ret);

/* The task that runs in parsers. */
int probes_task(struct worker_job *job, void **state);

#endif
