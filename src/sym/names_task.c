#include "sym/names_task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"

/* Limit on the length of _start, the code at the entry point. */
#define START_BYTES 64

void names_answer_clear(struct names_answer *answer)
{
	if (answer->bytes) {
		free(answer->bytes);
	} else {
		free(answer->places);
		free(answer->text);
	}
	*answer = (struct names_answer){0};
}

/* --- in stook --------------------------------------------------------------------------------- */

/* Longer names are not valid: demangling ends at 16 KiB. */
#define ANSWER_NAME_MAX_BYTES (64u << 10)

/*
 * True if a name is one of the texts, and not the end of one: otherwise a compromised parser could make thousands of
 * long names out of one. The text ends with a NUL.
 */
static bool is_name(const struct names_answer *answer, size_t at)
{
	const char *text = answer->text;

	return at < answer->head.text_bytes && (!at || text[at - 1] == '\0') &&
	       strnlen(text + at, ANSWER_NAME_MAX_BYTES) < ANSWER_NAME_MAX_BYTES;
}

/* True if every number in the answer is within its limit. */
static bool is_valid(const struct names_answer *answer, size_t nr_asked)
{
	const struct names_head *head = &answer->head;
	size_t i;

	if (head->nr != nr_asked || head->code.build_id_bytes > PROFILE_BUILD_ID_BYTES ||
	    head->code.nr_segments > PROFILE_MAX_SEGMENTS || head->refused > 0)
		return false;
	if (head->text_bytes && answer->text[head->text_bytes - 1] != '\0')
		return false;
	for (i = 0; i < head->nr; i++)
		if (answer->places[i].is_found && !is_name(answer, answer->places[i].name))
			return false;
	return true;
}

int names_answer_parse(void *bytes, size_t nr, size_t nr_asked, struct names_answer *ret)
{
	struct names_head *head = &ret->head;
	size_t places_bytes;

	*ret = (struct names_answer){.bytes = bytes};
	if (nr >= sizeof(*head))
		memcpy(head, bytes, sizeof(*head));
	nr -= nr >= sizeof(*head) ? sizeof(*head) : nr;
	/* head->nr is compared first, so the product cannot overflow. */
	places_bytes = nr_asked * sizeof(*ret->places);
	if (head->nr == nr_asked && nr >= places_bytes && nr - places_bytes == head->text_bytes) {
		ret->places = (struct names_place *)((char *)bytes + sizeof(*head));
		ret->text = (char *)ret->places + places_bytes;
		if (is_valid(ret, nr_asked))
			return 0;
	}
	names_answer_clear(ret);
	return -EPROTO;
}

const char *names_answer_name(const struct names_answer *answer, size_t i)
{
	const struct names_place *place = &answer->places[i];

	return place->is_found ? answer->text + place->name : NULL;
}

/* --- one name --------------------------------------------------------------------------------- */

struct names_state {
	struct symbol_cache *symbols;
	struct debug_link_crcs crcs;
	struct run_time_maps *maps;
};

/* A question that is being answered. */
struct naming_work {
	const struct names_question *question;
	const struct elf_image *image;
	const struct file_symbols_input *input;
	struct file_symbols *symbols;
	struct names_answer *answer;
	const char *last; /* as in the file: the name that was added last */
	uint32_t last_name;
};

/*
 * True if the address is in _start, where every stack of a main thread ends. Stripped programs have
 * the function but no name for it. Its bounds are the function's at the entry point, if known.
 */
static bool is_start(const struct elf_image *image, uint64_t vaddr,
		     const struct file_function *function)
{
	if (!image || !image->entry)
		return false;
	if (function->name)
		return function->start == image->entry;
	return vaddr >= image->entry && vaddr - image->entry < START_BYTES;
}

/* True for the function that a signal handler returns to, in glibc and musl. */
static bool is_signal_return(const char *name)
{
	return !strcmp(name, "__restore_rt") || !strcmp(name, "__restore");
}

/*
 * Finds the name at vaddr; ret->name is NULL or empty if there is none. Special case: a signal
 * handler's return address is the first byte of the restorer, since the kernel set it and no call
 * did. The byte before it, which is looked up, is a nop outside of any function, placed there by
 * libc for this purpose. So the next byte is tried.
 */
static int find_name(const struct naming_work *work, uint64_t vaddr, struct file_function *ret)
{
	struct file_function behind = {0};
	int err = file_symbols_find(work->symbols, work->input, vaddr, ret);
	bool has_name = err == 0 && ret->name && *ret->name;

	if (err < 0 || has_name)
		return err;
	if (is_start(work->image, vaddr, ret)) {
		ret->name = "_start";
		return 0;
	}
	err = file_symbols_find(work->symbols, work->input, vaddr + 1, &behind);
	if (behind.name && is_signal_return(behind.name))
		*ret = behind;
	return err;
}

/* Adds a text to the answer. 0 or a negative errno. */
static int add_text(struct names_answer *answer, const char *text, uint32_t *ret)
{
	int64_t at = array_add_text(&answer->text, &answer->text_capacity, &answer->head.text_bytes,
				    text);

	*ret = at < 0 ? 0 : (uint32_t)at;
	return at < 0 ? (int)at : 0;
}

/* Returns a name from a file or a runtime's map as it is shown, to be freed; NULL when out of memory. */
static char *shown_name(const struct names_question *question, const char *name)
{
	char readable[NAME_MAX_BYTES + 1];

	if (question->is_run_time) {
		runtime_name(name, question->is_java, &question->run_time, readable,
			     sizeof(readable));
		name = readable;
	}
	return demangle_function(name, &question->demangle);
}

/* Adds a function's name as it is shown. Many addresses in a row are in one function. */
static int add_name(struct naming_work *work, const struct file_function *function,
		    struct names_place *ret)
{
	cleanup_free char *shown = NULL;
	int err;

	ret->start = function->start;
	ret->is_found = true;
	if (function->name == work->last) {
		ret->name = work->last_name;
		return 0;
	}
	shown = shown_name(work->question, function->name);
	err = shown ? add_text(work->answer, shown, &ret->name) : -ENOMEM;
	if (err == 0) {
		work->last = function->name;
		work->last_name = ret->name;
	}
	return err;
}

/* Converts a file offset to a link-time address. 0; -ENOENT if no segment contains it. */
static int find_vaddr(const struct naming_work *work, uint64_t offset, uint64_t *ret)
{
	const struct module_code *code = &work->question->known;

	return work->image ? elf_image_offset_to_vaddr(work->image, offset, ret)
			   : module_code_vaddr(code, offset, ret);
}

static int find_names(struct naming_work *work, const uint64_t *offsets)
{
	size_t i;

	for (i = 0; i < work->question->nr; i++) {
		struct file_function function = {0};
		uint64_t vaddr;
		int err;

		if (read_budget_take(work->input->budget, 0) < 0)
			break;
		if (find_vaddr(work, offsets[i], &vaddr) < 0)
			continue;
		err = find_name(work, vaddr, &function);
		if (err == 0 && function.name)
			err = add_name(work, &function, &work->answer->places[i]);
		if (err < 0)
			return err;
	}
	return 0;
}

/* --- one file --------------------------------------------------------------------------------- */

struct names_state *names_state_new(size_t max_bytes)
{
	struct names_state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->symbols = symbol_cache_new(max_bytes);
	state->maps = run_time_maps_new(max_bytes);
	if (state->symbols && state->maps)
		return state;
	names_state_free(state);
	return NULL;
}

void names_state_free(struct names_state *state)
{
	if (!state)
		return;
	symbol_cache_free(state->symbols);
	run_time_maps_free(state->maps);
	free(state);
}

static void describe(const struct elf_image *image, struct module_code *ret)
{
	size_t i;

	*ret = (struct module_code){.build_id_bytes = (uint8_t)image->build_id_bytes};
	memcpy(ret->build_id, image->build_id, image->build_id_bytes);
	for (i = 0; i < image->nr_segments && i < PROFILE_MAX_SEGMENTS; i++)
		ret->segments[i] =
			(struct module_segment){image->segments[i].offset, image->segments[i].vaddr,
						image->segments[i].bytes};
	ret->nr_segments = (uint8_t)i;
}

/* Makes an empty answer. 0 or -ENOMEM. */
static int begin_answer(const struct names_question *question, struct names_answer *ret,
			struct read_budget *budget)
{
	*ret = (struct names_answer){.head = {.nr = question->nr, .code = question->known}};
	ret->places = calloc(question->nr + 1, sizeof(*ret->places));
	/* The budget gives a part of the work, which this is, a half of what is left. */
	read_budget_init(budget, 2 * question->most_ns, 2 * question->most_bytes, -1);
	read_budget_begin(budget);
	return ret->places ? 0 : -ENOMEM;
}

/* Completes the answer; err: the error that it ends with. Returns err. */
static int end_answer(const struct names_question *question, struct names_answer *answer,
		      struct read_budget *budget, int err)
{
	if (question->is_limited) {
		answer->head.refused = read_budget_end(budget);
		answer->head.bytes_read = 2 * question->most_bytes - budget->left_bytes;
	}
	if (err < 0)
		names_answer_clear(answer);
	return err;
}

int names_find(struct names_state *state, const struct names_question *question,
	       const uint64_t *offsets, struct code_file *file, struct elf_image *image,
	       struct worker_job *job, struct names_answer *ret)
{
	struct read_budget budget, *limit = question->is_limited ? &budget : NULL;
	const struct debug_places places = {.crcs = &state->crcs, .budget = limit, .job = job};
	const struct file_symbols_input input = {
		.file = file,
		.image = image,
		.places = &places,
		.budget = limit,
		.raw_aliases = question->raw_aliases,
		.no_starts = question->no_starts,
	};
	struct symbol_cache_key key = {
		.file_bytes = image ? image->bytes : 0,
		.number = question->file,
		.changed_ns = image ? image->changed_ns : 0,
	};
	struct naming_work work = {
		.question = question, .image = image, .input = &input, .answer = ret};
	int err = begin_answer(question, ret, &budget);

	if (err < 0)
		return err;
	ret->head.is_read = image != NULL;
	if (image) {
		describe(image, &ret->head.code);
		image->budget = limit;
	}
	file->build_id_bytes = ret->head.code.build_id_bytes;
	memcpy(file->build_id, ret->head.code.build_id, file->build_id_bytes);
	if (question->is_of_root) {
		memcpy(key.build_id, file->build_id, file->build_id_bytes);
		key.build_id_bytes = file->build_id_bytes;
	}
	if (!question->only_code) {
		work.symbols = symbol_cache_get(state->symbols, &key);
		if (work.symbols) {
			ret->head.nr_failed = file_symbols_nr_failed(work.symbols);
			err = find_names(&work, offsets);
			ret->head.nr_failed =
				file_symbols_nr_failed(work.symbols) - ret->head.nr_failed;
			ret->head.is_later = file_symbols_are_provisional(work.symbols);
			if (ret->head.is_later)
				symbol_cache_drop_last(state->symbols);
		} else {
			err = -ENOMEM;
		}
	}
	debug_files_forget(file);
	if (image)
		image->budget = NULL; /* it ends with this function */
	return end_answer(question, ret, &budget, err);
}

/* --- JIT-compiled code ------------------------------------------------------------------------ */

static int find_in_map(struct naming_work *work, const struct code_map *map,
		       const uint64_t *addresses, struct read_budget *budget)
{
	size_t i;
	int err = 0;

	for (i = 0; i < work->question->nr && err == 0; i++) {
		struct file_function function = {0};

		if (read_budget_take(budget, 0) < 0)
			break;
		function.name = code_map_find(map, addresses[i], &function.start);
		if (function.name)
			err = add_name(work, &function, &work->answer->places[i]);
	}
	return err;
}

/* Answers a question about the code of a process. A map that could be read in part only is used. */
static int find_in_process(struct worker_job *job, struct names_state *state,
			   const struct names_question *question, const uint64_t *addresses,
			   struct names_answer *ret)
{
	struct worker_want wanted_map = {.kind = WANT_PERF_MAP},
			   wanted_dump = {.kind = WANT_JITDUMP};
	const bool is_there = !question->is_superseded;
	cleanup_fd int perf_map = is_there ? worker_want(job, &wanted_map) : -1;
	cleanup_fd int jitdump = is_there ? worker_want(job, &wanted_dump) : -1;
	const struct run_time_files files = {.perf_map = perf_map,
					     .jitdump = jitdump,
					     .is_java = question->is_java,
					     .is_superseded = question->is_superseded};
	struct naming_work work = {.question = question, .answer = ret};
	const struct code_map *map = NULL;
	struct read_budget budget, *limit = question->is_limited ? &budget : NULL;
	int err = begin_answer(question, ret, &budget), map_err;

	if (err < 0)
		return err;
	ret->head.is_read = 1;
	ret->head.perf_map = perf_map < 0 ? perf_map : 0;
	map_err = run_time_maps_get(state->maps, (uint32_t)question->file, &files, limit, &map);
	if (map_err == -ENOMEM)
		err = map_err;
	else if (map_err < 0 && read_budget_take(limit, 0) == 0)
		ret->head.nr_failed = 1;
	if (map)
		err = find_in_map(&work, map, addresses, limit);
	return end_answer(question, ret, &budget, err);
}

/* --- the task --------------------------------------------------------------------------------- */

static int write_answer(struct worker_job *job, const struct names_answer *answer)
{
	const size_t places_bytes = answer->head.nr * sizeof(*answer->places);
	uint64_t at = sizeof(answer->head);
	int err = fd_write_at(job->answer_fd, 0, &answer->head, sizeof(answer->head));

	if (err == 0)
		err = fd_write_at(job->answer_fd, at, answer->places, places_bytes);
	at += places_bytes;
	if (err == 0)
		err = fd_write_at(job->answer_fd, at, answer->text, answer->head.text_bytes);
	job->answer_bytes = at + answer->head.text_bytes;
	return err;
}

/* Answers a question from the file; if it is not usable, from its debug file. */
static int find_in_file(struct worker_job *job, struct names_state *state,
			const struct names_question *question, const uint64_t *offsets,
			struct names_answer *ret)
{
	const struct module_code *known = &question->known;
	struct code_file file = {.fd = job->fd, .path = "", .root_fd = -1, .debug_fd = -1};
	struct elf_image image;
	bool is_read = job->fd >= 0 && elf_image_open(&image, job->fd, NULL) == 0;
	int err;

	if (worker_is_passing(job->fd)) /* it may be readable the next time */
		return job->fd;
	if (is_read && question->is_same_build &&
	    !elf_image_has_build_id(&image, known->build_id, known->build_id_bytes)) {
		elf_image_close(&image);
		is_read = false;
	}
	if (!is_read)
		file.fd = -1;
	err = names_find(state, question, offsets, &file, is_read ? &image : NULL, job, ret);
	if (is_read)
		elf_image_close(&image);
	return err;
}

/* Of a parser's memory, for what it keeps. If the rest is not enough for the next file, all that is kept goes. */
#define KEPT_SHARE 0.75

/* Makes the state, or sets its limits to those of this question. 0 or -ENOMEM. */
static int settle_state(struct names_state **state, const struct worker_job *job,
			const struct names_question *question)
{
	const uint64_t most = job->data_bytes ? (uint64_t)(KEPT_SHARE * (double)job->data_bytes)
					      : question->max_bytes;
	const size_t bytes = question->max_bytes < most ? question->max_bytes : most;

	if (!*state)
		*state = names_state_new(bytes);
	if (!*state)
		return -ENOMEM;
	symbol_cache_limit((*state)->symbols, bytes);
	run_time_maps_limit((*state)->maps, bytes);
	return 0;
}

static int find(struct worker_job *job, struct names_state **state,
		const struct names_question *question, const uint64_t *offsets,
		struct names_answer *ret)
{
	int err = settle_state(state, job, question);

	if (err < 0)
		return err;
	return question->is_run_time ? find_in_process(job, *state, question, offsets, ret)
				     : find_in_file(job, *state, question, offsets, ret);
}

int names_task(struct worker_job *job, void **state)
{
	const uint8_t *head = bytes_skip(&job->question, sizeof(struct names_question));
	struct names_state *kept = *state;
	cleanup_free uint64_t *offsets = NULL;
	struct names_question question;
	struct names_answer answer;
	int err;

	if (!head)
		return -EINVAL;
	memcpy(&question, head, sizeof(question));
	if (question.nr > NAMES_QUESTION_MAX || job->question.nr != question.nr * sizeof(*offsets))
		return -EINVAL;
	offsets = malloc(job->question.nr + 1);
	if (!offsets)
		return -ENOBUFS;
	memcpy(offsets, job->question.at, job->question.nr);
	err = find(job, &kept, &question, offsets, &answer);
	if (err == -ENOMEM && *state) { /* without the symbols of other files */
		names_state_free(kept);
		kept = NULL;
		err = find(job, &kept, &question, offsets, &answer);
	}
	*state = kept;
	if (err == 0) {
		err = write_answer(job, &answer);
		names_answer_clear(&answer);
	}
	/* -ENOMEM would mean that stook's memory is used up. */
	return err == -ENOMEM ? -ENOBUFS : err;
}
