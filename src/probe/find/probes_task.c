#include "probe/find/probes_task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "probe/find/pattern.h"
#include "probe/find/user_file.h"

#define ERRNO_MAX 4095

/* The parts of an answer follow each other without gaps. */
_Static_assert(sizeof(struct probes_head) % 8 == 0 && sizeof(struct probes_place) % 8 == 0 &&
		       sizeof(struct probes_refusal) % 8 == 0,
	       "each part of an answer is aligned");

void probes_answer_clear(struct probes_answer *answer)
{
	if (answer->bytes) {
		free(answer->bytes);
	} else {
		free(answer->places);
		free(answer->refusals);
		free(answer->text);
	}
	*answer = (struct probes_answer){0};
}

/* --- in stook --------------------------------------------------------------------------------- */

static bool is_head_valid(const struct probes_head *head)
{
	size_t i;

	if (head->err > 0 || head->err < -ERRNO_MAX || head->failure >= NR_PROBES_FAILURES ||
	    head->nr_places > PROBES_PLACES_MAX || head->nr_places > head->nr_matches ||
	    head->nr_closest > CLOSEST_NAMES || head->is_go > 1 || head->unwinds > 1 ||
	    head->has_all_names > 1 || head->has_texts > 1 || head->why >= head->text_bytes ||
	    head->example >= head->text_bytes)
		return false;
	for (i = 0; i < head->nr_closest; i++)
		if (head->closest[i] >= head->text_bytes)
			return false;
	return true;
}

static bool is_place_valid(const struct probes_place *place, const struct probes_head *head,
			   uint64_t file_bytes)
{
	const uint64_t most = head->text_bytes;

	return place->offset < file_bytes && place->semaphore < file_bytes && place->name < most &&
	       place->source < most && place->implementation < most &&
	       place->why_no_return < most && place->arguments < most && place->is_entry <= 1 &&
	       place->is_ifunc <= 1 && place->is_stepped <= 1 && place->is_doubtful <= 1;
}

static bool is_refusal_valid(const struct probes_refusal *refusal, uint64_t text_bytes)
{
	const uint64_t nr_wanted = refusal->nr < REFUSALS_NAMED ? refusal->nr : REFUSALS_NAMED;
	size_t i;

	if (!refusal->nr || refusal->nr_names != nr_wanted || refusal->why >= text_bytes)
		return false;
	for (i = 0; i < refusal->nr_names; i++)
		if (refusal->names[i] >= text_bytes)
			return false;
	return true;
}

/* True if every number in the answer is within its limit. */
static bool is_valid(const struct probes_answer *answer, uint64_t file_bytes)
{
	const struct probes_head *head = &answer->head;
	size_t i;

	/* The first text is empty, and the last one ends. */
	if (!head->text_bytes || answer->text[0] || answer->text[head->text_bytes - 1])
		return false;
	if (!is_head_valid(head))
		return false;
	for (i = 0; i < head->nr_places; i++)
		if (!is_place_valid(&answer->places[i], head, file_bytes))
			return false;
	for (i = 0; i < head->nr_refusals; i++)
		if (!is_refusal_valid(&answer->refusals[i], head->text_bytes))
			return false;
	return true;
}

/* Cuts off *bytes an array of *nr elements. NULL if they do not fit. */
static const void *cut_array(struct bytes *bytes, uint64_t nr, size_t element_bytes)
{
	if (nr > bytes->nr / element_bytes)
		return NULL;
	return bytes_skip(bytes, nr * element_bytes);
}

int probes_answer_parse(void *bytes, size_t nr, uint64_t file_bytes, struct probes_answer *ret)
{
	struct bytes rest = bytes_of(bytes, nr);
	const void *head = bytes_skip(&rest, sizeof(ret->head));

	*ret = (struct probes_answer){.bytes = bytes};
	if (head) {
		memcpy(&ret->head, head, sizeof(ret->head));
		ret->places = (struct probes_place *)cut_array(&rest, ret->head.nr_places,
							       sizeof(*ret->places));
		ret->refusals = (struct probes_refusal *)cut_array(&rest, ret->head.nr_refusals,
								   sizeof(*ret->refusals));
		ret->text = (char *)rest.at;
		if (ret->places && ret->refusals && rest.nr == ret->head.text_bytes &&
		    is_valid(ret, file_bytes))
			return 0;
	}
	probes_answer_clear(ret);
	return -EPROTO;
}

/* --- making an answer ------------------------------------------------------------------------- */

int probes_answer_add_text(struct probes_answer *answer, const char *text, uint32_t *ret)
{
	int64_t at = 0;

	if (*text || !answer->head.text_bytes)
		at = array_add_text(&answer->text, &answer->text_capacity, &answer->head.text_bytes,
				    text);
	*ret = at < 0 ? 0 : (uint32_t)at;
	return at < 0 ? (int)at : 0;
}

/* Adds the names that are close to the wanted one. Functions match by their shown names, too. */
static int add_closest(struct probes_answer *answer, struct user_file *file,
		       const struct pattern *pattern, bool is_usdt)
{
	const char *names[CLOSEST_NAMES];
	struct closest closest;
	size_t nr, i;
	int err = 0;

	closest_init(&closest, pattern->name_text);
	if (is_usdt)
		static_probes_offer(file, &closest);
	else
		user_functions_offer(file, &closest);
	nr = closest_names(&closest, names);
	for (i = 0; i < nr && err == 0; i++)
		err = probes_answer_add_text(answer, names[i], &answer->head.closest[i]);
	answer->head.nr_closest = (uint32_t)i;
	closest_clear(&closest);
	return err;
}

static int add_refusals(struct probes_answer *answer, const struct refusals *refusals)
{
	size_t i, k;
	int err = 0;

	for (i = 0; i < refusals->nr && err == 0; i++) {
		const struct refused *reason = &refusals->reasons[i];
		struct probes_refusal refusal = {.nr = reason->nr};

		err = probes_answer_add_text(answer, reason->why, &refusal.why);
		for (k = 0; k < reason->nr && k < REFUSALS_NAMED && err == 0; k++)
			err = probes_answer_add_text(answer, reason->names[k], &refusal.names[k]);
		refusal.nr_names = (uint32_t)k;
		if (err == 0)
			err = ARRAY_ADD(answer->refusals, answer->head.nr_refusals,
					answer->refusals_capacity, refusal);
	}
	return err;
}

/* --- the files of a parser -------------------------------------------------------------------- */

/* Mappings of code; further places may be attached unchecked. */
#define CODE_MAPPINGS_MAX 4096

/* Functions in memory; beyond it, those of all files are dropped and read again when needed. */
#define STATE_MAX_BYTES (1ULL << 30)

struct code_mapping {
	void *memory;
	size_t bytes;
};

struct probes_state {
	struct user_file **files;
	size_t nr, capacity;
	uint64_t search;
	struct debug_link_crcs crcs;
	struct code_mapping *mappings;
	size_t nr_mappings, mappings_capacity;
};

struct probes_state *probes_state_new(void)
{
	return calloc(1, sizeof(struct probes_state));
}

static void drop_files(struct probes_state *state)
{
	while (state->nr)
		user_file_free(state->files[--state->nr]);
}

static void drop_mappings(struct probes_state *state)
{
	while (state->nr_mappings) {
		const struct code_mapping *mapping = &state->mappings[--state->nr_mappings];

		(void)munmap(mapping->memory, mapping->bytes);
	}
}

/*
 * Maps a file from the first place in an answer to the last one. Never executed or read, and the mapping need not be
 * executable: the kernel writes breakpoints to every mapping that may become executable. Best effort.
 */
static void map_code(struct probes_state *state, int fd, const struct probes_answer *answer)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t start = UINT64_MAX, end = 0;
	struct code_mapping mapping;
	size_t i;

	for (i = 0; i < answer->head.nr_places; i++) {
		const uint64_t offset = answer->places[i].offset;

		start = offset < start ? offset & ~(page - 1) : start;
		end = offset >= end ? offset + 1 : end;
	}
	if (!end || state->nr_mappings == CODE_MAPPINGS_MAX)
		return;
	mapping.bytes = end - start;
	mapping.memory = mmap(NULL, mapping.bytes, PROT_READ, MAP_PRIVATE, fd, (off_t)start);
	if (mapping.memory != MAP_FAILED &&
	    ARRAY_ADD(state->mappings, state->nr_mappings, state->mappings_capacity, mapping) < 0)
		(void)munmap(mapping.memory, mapping.bytes);
}

void probes_state_free(struct probes_state *state)
{
	if (!state)
		return;
	drop_files(state);
	drop_mappings(state);
	free(state->mappings);
	free(state->files);
	free(state);
}

static uint64_t bytes_in_memory(const struct probes_state *state)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < state->nr; i++)
		bytes += user_file_bytes(state->files[i]);
	return bytes;
}

/* Returns the file behind fd, as it was kept or new, in *ret. 0 or a negative errno. */
static int get_file(struct probes_state *state, uint64_t search, int fd, struct user_file **ret)
{
	struct user_file *file;
	struct stat st;
	size_t i;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (state->search != search) {
		drop_files(state);
		drop_mappings(state);
	}
	state->search = search;
	for (i = 0; i < state->nr; i++)
		if (user_file_is(state->files[i], &st)) {
			*ret = state->files[i];
			return 0;
		}
	if (bytes_in_memory(state) > STATE_MAX_BYTES)
		drop_files(state);
	file = user_file_new(&st);
	if (!file || ARRAY_ADD(state->files, state->nr, state->capacity, file) < 0) {
		user_file_free(file);
		return -ENOMEM;
	}
	*ret = file;
	return 0;
}

/* --- the question ----------------------------------------------------------------------------- */

/* A question with its texts. */
struct asked {
	struct probes_question question;
	const char *path, *library;
	struct pattern *patterns; /* the first one chooses; the others are exclusions */
	size_t nr_patterns;
};

static void clear_asked(struct asked *asked)
{
	while (asked->nr_patterns)
		pattern_clear(&asked->patterns[--asked->nr_patterns]);
	free(asked->patterns);
}

static int read_pattern(struct asked *asked, const char *text)
{
	struct pattern *pattern = &asked->patterns[asked->nr_patterns];
	int err = text ? pattern_parse(text, asked->question.is_regex, pattern, NULL) : -EINVAL;

	if (err < 0)
		return err;
	asked->nr_patterns++;
	/* It is asked about a file, so it means one. */
	return pattern->may_be_file && !pattern->is_exclusion ? pattern_become_file(pattern) : 0;
}

static int read_question(struct bytes bytes, struct asked *ret)
{
	const void *head = bytes_skip(&bytes, sizeof(ret->question));
	size_t i;
	int err = 0;

	*ret = (struct asked){0};
	if (!head)
		return -EINVAL;
	memcpy(&ret->question, head, sizeof(ret->question));
	if (ret->question.nr_texts < 3 || ret->question.nr_texts > bytes.nr)
		return -EINVAL;
	ret->path = bytes_string(&bytes);
	ret->library = bytes_string(&bytes);
	ret->patterns = calloc(ret->question.nr_texts, sizeof(*ret->patterns));
	if (!ret->patterns)
		return -ENOMEM;
	for (i = 2; i < ret->question.nr_texts && err == 0; i++)
		err = read_pattern(ret, bytes_string(&bytes));
	return err < 0 || bytes.nr || bytes.failed ? err ?: -EINVAL : 0;
}

/* --- the answer ------------------------------------------------------------------------------- */

static int choose_functions(struct user_file *file, const struct asked *asked,
			    const struct debug_places *places, struct probes_answer *answer,
			    struct error *error)
{
	struct refusals refusals = {0};
	int err;

	answer->head.failure = PROBES_NO_FUNCTIONS;
	err = user_file_read(file, places, error);
	if (err == 0) {
		answer->head.failure = PROBES_TOO_MANY;
		err = user_functions_choose(file, &asked->patterns[0],
					    asked->question.force_returns, &refusals,
					    &answer->head.nr_matches, error);
	}
	if (err == 0)
		err = user_functions_describe(file, asked->question.max_places, answer);
	if (err == 0)
		err = add_refusals(answer, &refusals);
	answer->head.nr_known = file->functions.nr;
	refusals_clear(&refusals);
	return err;
}

static int choose(struct user_file *file, const struct asked *asked,
		  const struct debug_places *places, struct probes_answer *answer,
		  struct error *error)
{
	const bool is_usdt = asked->question.is_usdt;
	int err;

	if (is_usdt) {
		answer->head.failure = PROBES_NO_NOTES;
		err = static_probes_choose(file, &asked->patterns[0], answer, error);
	} else {
		err = choose_functions(file, asked, places, answer, error);
	}
	if (err == 0 && asked->question.wants_closest && asked->patterns[0].name_text)
		err = add_closest(answer, file, &asked->patterns[0], is_usdt);
	answer->head.is_go = file->is_go;
	answer->head.unwinds = file->unwinds;
	answer->head.has_all_names = file->has_all_names;
	return err;
}

/* Turns an error about the file into an answer. */
static int answer_failure(struct probes_answer *answer, const struct error *error)
{
	enum probes_failure failure = answer->head.failure;
	int err;

	probes_answer_clear(answer);
	answer->head.err = error->code;
	answer->head.failure = failure;
	err = probes_answer_add_text(answer, "", &answer->head.why);
	return err < 0 ? err : probes_answer_add_text(answer, error->text, &answer->head.why);
}

static int find_in(struct user_file *file, const struct asked *asked,
		   const struct debug_places *places, struct probes_answer *answer)
{
	struct error error = {0};
	uint32_t none;
	size_t i;
	int err = probes_answer_add_text(answer, "", &none);

	for (i = 1; i < asked->nr_patterns && err == 0; i++)
		err = exclusions_add(&file->exclusions, &asked->patterns[i]);
	if (err < 0)
		return err;
	file->path = asked->path;
	file->library = asked->library[0] ? asked->library : NULL;
	answer->head.failure = PROBES_NO_ELF_FILE;
	err = choose(file, asked, places, answer, &error);
	return err < 0 && err != -ENOMEM && error.code ? answer_failure(answer, &error) : err;
}

int probes_find(struct probes_state *state, struct worker_job *job, struct probes_answer *ret)
{
	const struct debug_places places = {.crcs = &state->crcs, .job = job->parser ? job : NULL};
	struct error error = {0};
	struct user_file *file = NULL;
	struct asked asked;
	int err = read_question(job->question, &asked);

	*ret = (struct probes_answer){0};
	if (err == 0)
		err = job->fd < 0 ? job->fd
				  : get_file(state, asked.question.search, job->fd, &file);
	if (err == 0) {
		err = user_file_open(file, job->fd, &error);
		if (err == 0)
			err = find_in(file, &asked, &places, ret);
		else if (err != -ENOMEM)
			err = answer_failure(ret, &error);
		if (err == 0 && ret->head.has_texts && !asked.question.wants_closest)
			map_code(state, job->fd, ret);
		user_file_close(file);
	}
	clear_asked(&asked);
	if (err < 0)
		probes_answer_clear(ret);
	return err;
}

/* --- the task --------------------------------------------------------------------------------- */

static int write_answer(struct worker_job *job, const struct probes_answer *answer)
{
	const struct probes_head *head = &answer->head;
	const struct {
		const void *bytes;
		size_t nr;
	} parts[] = {
		{head, sizeof(*head)},
		{answer->places, head->nr_places * sizeof(*answer->places)},
		{answer->refusals, head->nr_refusals * sizeof(*answer->refusals)},
		{answer->text, head->text_bytes},
	};
	uint64_t at = 0;
	size_t i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(parts) && err == 0; i++) {
		err = fd_write_at(job->answer_fd, at, parts[i].bytes, parts[i].nr);
		at += parts[i].nr;
	}
	job->answer_bytes = at;
	return err;
}

int probes_task(struct worker_job *job, void **state)
{
	struct probes_answer answer;
	int err;

	if (!*state)
		*state = probes_state_new();
	if (!*state)
		return -E2BIG;
	err = probes_find(*state, job, &answer);
	if (err == 0) {
		err = write_answer(job, &answer);
		probes_answer_clear(&answer);
	}
	/* -ENOMEM would mean that stook's memory is used up. */
	return err == -ENOMEM ? -E2BIG : err;
}
