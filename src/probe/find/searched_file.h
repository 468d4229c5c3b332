/*
 * The files of one search, each once, and what was chosen in them. A parser without rights reads a file and chooses
 * by one pattern (probes_task.h); here the answers are checked, and the choices of all patterns become probes: the
 * names of one place are joined.
 */
#ifndef STOOK_PROBE_FIND_SEARCHED_FILE_H
#define STOOK_PROBE_FIND_SEARCHED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "probe/expression/probe_list.h"
#include "probe/find/find.h"
#include "probe/find/pattern.h"
#include "probe/find/probe_names.h"
#include "probe/find/probes_task.h"
#include "probe/find/program.h"

/* A chosen name of a place. */
struct searched_place {
	const struct probes_place *place; /* in the answer */
	uint32_t answer;
	bool is_return;
};

struct searched_file {
	struct program_file from; /* owned */
	struct exclusions exclusions;
	struct probes_answer *answers; /* the ones with places to probe */
	size_t nr_answers, cap_answers;
	struct searched_place *places;
	size_t nr_places, cap_places;
};

/* An exclusion for a file that may not be searched (yet). */
struct left_out_file {
	dev_t device;
	ino_t inode;
	const struct pattern *pattern;
};

struct searched_files {
	const struct target_options *options;
	uint64_t search; /* a number of its own */
	struct searched_file **files;
	size_t nr, capacity;
	struct left_out_file *left_out;
	size_t nr_left_out, cap_left_out;
};

/* Takes ownership of the file in *from unless it was added before. Returns 0 or a negative errno. */
int searched_files_add(struct searched_files *files, struct program_file *from,
		       struct searched_file **ret, struct error *error);

/* Records an exclusion for a file (NULL: all files). It applies to files that are added later. */
int searched_files_leave_out(struct searched_files *files, const struct program_file *file,
			     const struct pattern *pattern);

void searched_files_clear(struct searched_files *files);

/*
 * Asks a parser about a pattern in a file, for explanations: at most one name of a function is needed. *ret is to be
 * cleared. 0 or a negative errno.
 */
int searched_file_explain(const struct searched_files *files, struct searched_file *file,
			  const struct pattern *pattern, bool is_usdt, struct probes_answer *ret);

/*
 * Chooses by a pattern: functions are kept, static probes added to the list. Adds to the refusals. *ret_nr: number of
 * matching names, refused or not. 0 or a negative errno.
 */
int searched_file_choose(const struct searched_files *files, struct searched_file *file,
			 const struct pattern *pattern, struct refusals *refusals,
			 struct probe_list *list, size_t *ret_nr, struct error *error);

/* Sorts the chosen functions. Returns the number of places. */
size_t searched_file_settle(struct searched_file *file);

/* Adds a probe for each place of a function. Returns 0 or a negative errno. */
int searched_file_add_probes(const struct searched_file *file, struct probe_list *list,
			     struct error *error);

#endif
