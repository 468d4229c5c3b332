/*
 * Whatever a parser answers, a probe is in the file that it was asked about, at an offset that the file has, and is a
 * return probe only if the pattern asks for one.
 *
 * Files that only root can write have a parser of their own. Debug files are looked for where they are for names
 * (sym/debug_files).
 */
#include "probe/find/searched_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "probe/find/user_file.h"
#include "proc/file_open.h"
#include "sym/debug_files.h"

/* --- the files, identified by device and inode ------------------------------------------------ */

#define FILES_MAX 1024 /* of all programs in all selected containers */

static struct searched_file *find_file(const struct searched_files *files,
				       const struct program_file *from)
{
	size_t i;

	for (i = 0; i < files->nr; i++)
		if (files->files[i]->from.device == from->device &&
		    files->files[i]->from.inode == from->inode)
			return files->files[i];
	return NULL;
}

static int take_exclusions(const struct searched_files *files, struct searched_file *file)
{
	size_t i;

	for (i = 0; i < files->nr_left_out; i++) {
		const struct left_out_file *left_out = &files->left_out[i];

		if (!left_out->pattern->is_any_kind &&
		    (left_out->device != file->from.device || left_out->inode != file->from.inode))
			continue;
		if (exclusions_add(&file->exclusions, left_out->pattern) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void free_file(struct searched_file *file)
{
	while (file->nr_answers)
		probes_answer_clear(&file->answers[--file->nr_answers]);
	free(file->answers);
	free(file->places);
	exclusions_clear(&file->exclusions);
	program_file_clear(&file->from);
	free(file);
}

int searched_files_add(struct searched_files *files, struct program_file *from,
		       struct searched_file **ret, struct error *error)
{
	struct searched_file *file;

	*ret = find_file(files, from);
	if (*ret)
		return 0;
	if (files->nr == FILES_MAX)
		return error_set(error, -E2BIG, "the patterns refer to more than %u files",
				 FILES_MAX);
	file = calloc(1, sizeof(*file));
	if (!file || ARRAY_ADD(files->files, files->nr, files->capacity, file) < 0) {
		free(file);
		return error_no_memory(error, "for files");
	}
	*file = (struct searched_file){.from = *from};
	*from = (struct program_file){.handle = -1, .root_fd = -1};
	*ret = file;
	return take_exclusions(files, file) < 0 ? error_no_memory(error, "for files") : 0;
}

int searched_files_leave_out(struct searched_files *files, const struct program_file *file,
			     const struct pattern *pattern)
{
	const struct left_out_file left_out = {
		.device = file ? file->device : 0,
		.inode = file ? file->inode : 0,
		.pattern = pattern,
	};

	return ARRAY_ADD(files->left_out, files->nr_left_out, files->cap_left_out, left_out);
}

void searched_files_clear(struct searched_files *files)
{
	while (files->nr)
		free_file(files->files[--files->nr]);
	free(files->files);
	free(files->left_out);
	*files = (struct searched_files){0};
}

/* --- asking ----------------------------------------------------------------------------------- */

/* The largest programs take seconds. */
#define FILE_NS		 (60 * NS_PER_SEC)
#define ANSWER_MAX_BYTES (256ULL << 20)

struct asking {
	const struct target_options *options;
	const struct searched_file *file;
};

static int find_place(void *context, const struct worker_want *want, struct worker_place *ret)
{
	const struct asking *asking = context;
	const struct program_file *from = &asking->file->from;
	const struct debug_places places = {
		.folders = asking->options->debug_folders,
		.nr_folders = asking->options->nr_debug_folders,
	};
	const struct code_file file = {
		.fd = from->handle,
		.path = from->path,
		.root_fd = from->root_fd,
		.root_uid = from->root_uid,
		.uid = from->uid,
	};

	if (want->kind != WANT_DEBUG_FILE)
		return -ENODATA;
	return debug_files_place(&places, &file, want, ret);
}

/* A question with its texts. */
struct question {
	struct probes_question *head;
	size_t nr, capacity;
};

static int add_text(struct question *question, const char *text)
{
	size_t nr = strlen(text) + 1;
	uint8_t *bytes = (uint8_t *)question->head;

	if (ARRAY_RESERVE(bytes, question->capacity, question->nr + nr) < 0)
		return -ENOMEM;
	memcpy(bytes + question->nr, text, nr);
	question->head = (struct probes_question *)bytes;
	question->head->nr_texts++;
	question->nr += nr;
	return 0;
}

/* Fills *ret, which the caller frees. 0 or -ENOMEM. */
static int make_question(const struct searched_file *file, const struct pattern *pattern,
			 const struct probes_question *head, struct question *ret)
{
	const char *library = loaded_library_path(file->from.device, file->from.inode);
	size_t i;
	int err;

	*ret = (struct question){malloc(sizeof(*head)), sizeof(*head), sizeof(*head)};
	if (!ret->head)
		return -ENOMEM;
	memcpy(ret->head, head, sizeof(*head));
	err = add_text(ret, file->from.path);
	if (err == 0)
		err = add_text(ret, library ? library : "");
	if (err == 0)
		err = add_text(ret, pattern->text);
	for (i = 0; i < file->exclusions.nr && err == 0; i++)
		err = add_text(ret, file->exclusions.patterns[i]->text);
	return err;
}

static int no_answer(const struct asking *asking, int err, struct error *error)
{
	struct worker_troubles troubles = {0};

	if (err == -ENOMEM)
		return error_no_memory(error, "for probes");
	worker_troubles_add(asking->options->worker, &troubles);
	if (troubles.cannot_start[0])
		return error_set(error, err, "cannot probe '%s': %s", asking->file->from.path,
				 troubles.cannot_start);
	return error_set(error, err, "cannot probe '%s': the helper process that reads it %s",
			 asking->file->from.path, worker_why_none(err));
}

/* Reports the fault that the parser found in the file. */
static int explain_failure(const struct asking *asking, const struct probes_answer *answer,
			   struct error *error)
{
	const char *path = asking->file->from.path, *text;
	const int err = answer->head.err;
	char why[sizeof(error->text)];

	text = probes_answer_text(answer, answer->head.why);
	(void)snprintf(why, sizeof(why), "%s", text);
	text_make_safe(why, why, strlen(why));
	switch ((enum probes_failure)answer->head.failure) {
	case PROBES_NO_FUNCTIONS:
		return error_set(error, err, "cannot read the functions of '%s': %s", path, why);
	case PROBES_NO_NOTES:
		return error_set(error, err, "cannot read the static probes of '%s': %s", path,
				 why);
	case PROBES_TOO_MANY:
		return error_set(error, err, "the patterns match more than %u functions of '%s'",
				 PROBES_PLACES_MAX, path);
	case PROBES_NO_ELF_FILE:
	case NR_PROBES_FAILURES:
		break;
	}
	return error_set(error, err, "cannot probe '%s': %s", path, why);
}

/* Asks about a pattern. 0, and the caller clears *ret; or a negative errno. */
static int ask(const struct asking *asking, const struct pattern *pattern,
	       const struct probes_question *head, struct probes_answer *ret, struct error *error)
{
	const struct searched_file *file = asking->file;
	const enum parser parser = file->from.is_of_root ? PARSER_ROOT_FILES : PARSER_OTHER_FILES;
	struct worker_question question = {
		.task = TASK_PROBES,
		.handle = file->from.handle,
		.file = program_worker_file(&file->from),
		.most_ns = FILE_NS,
		.most_bytes = ANSWER_MAX_BYTES,
		.place = find_place,
		.context = (void *)asking,
	};
	struct question text;
	void *bytes = NULL;
	size_t nr = 0;
	int err = make_question(file, pattern, head, &text);

	question.bytes = text.head;
	question.nr = text.nr;
	if (err == 0)
		err = worker_call_twice(asking->options->worker, parser, &question, -1, &bytes,
					&nr);
	free(text.head);
	if (err == 0)
		err = probes_answer_parse(bytes, nr, file->from.bytes, ret);
	if (err < 0)
		return no_answer(asking, err, error);
	if (ret->head.err == 0)
		return 0;
	err = explain_failure(asking, ret, error);
	probes_answer_clear(ret);
	return err;
}

int searched_file_explain(const struct searched_files *files, struct searched_file *file,
			  const struct pattern *pattern, bool is_usdt, struct probes_answer *ret)
{
	const struct asking asking = {files->options, file};
	const struct probes_question question = {
		.is_usdt = is_usdt,
		.is_regex = files->options->is_regex,
		.search = files->search,
		.wants_closest = true,
		.max_places = 1,
	};

	return ask(&asking, pattern, &question, ret, NULL);
}

/* --- choosing --------------------------------------------------------------------------------- */

static int add_refusals(const struct probes_answer *answer, struct refusals *refusals)
{
	const char *names[REFUSALS_NAMED];
	size_t i, k;
	int err = 0;

	for (i = 0; i < answer->head.nr_refusals && err == 0; i++) {
		const struct probes_refusal *refusal = &answer->refusals[i];

		for (k = 0; k < refusal->nr_names; k++)
			names[k] = probes_answer_text(answer, refusal->names[k]);
		err = refusals_add_many(refusals, names, refusal->nr_names, refusal->nr,
					probes_answer_text(answer, refusal->why));
	}
	return err;
}

/* Keeps the places until probes are made of them. Takes ownership of the answer, also on failure. */
static int keep_places(struct searched_file *file, const struct pattern *pattern,
		       struct probes_answer *answer, struct error *error)
{
	const uint64_t nr = answer->head.nr_places;
	size_t i;
	int err = 0;

	if (nr > PROBES_PLACES_MAX - file->nr_places)
		err = error_set(error, -E2BIG, "the patterns match more than %u functions of '%s'",
				PROBES_PLACES_MAX, file->from.path);
	else if (nr && (ARRAY_RESERVE(file->places, file->cap_places, file->nr_places + nr) < 0 ||
			ARRAY_ADD(file->answers, file->nr_answers, file->cap_answers, *answer) < 0))
		err = error_no_memory(error, "for functions");
	if (err < 0 || !nr) {
		probes_answer_clear(answer);
		return err;
	}
	for (i = 0; i < nr; i++)
		file->places[file->nr_places++] = (struct searched_place){
			.place = &answer->places[i],
			.answer = (uint32_t)(file->nr_answers - 1),
			.is_return = pattern->is_return,
		};
	return 0;
}

/*
 * Adds the file to the list, which gets its own handle. Returns the file's number there, or
 * -errno.
 */
static int64_t list_file(const struct searched_file *file, struct probe_list *list)
{
	const struct probe_file listed = {
		.handle = fcntl(file->from.handle, F_DUPFD_CLOEXEC, 0),
		.path = file->from.path,
		.device = file->from.device,
		.inode = file->from.inode,
	};

	return listed.handle < 0 ? -errno : probe_list_add_file(list, &listed);
}

static int add_static_probe(const struct probes_answer *answer, const struct probes_place *place,
			    uint32_t file_number, struct probe_list *list, struct twins *twins)
{
	const struct probe probe = {
		.kind = PROBE_USDT,
		.is_go = answer->head.is_go,
		.file = file_number,
		.offset = place->offset,
		.semaphore = place->semaphore,
		.is_stepped = place->is_stepped,
		.is_doubtful = place->is_doubtful,
		.name = probes_answer_text(answer, place->name),
		.arguments = probes_answer_text(answer, place->arguments),
	};
	int64_t number = probe_list_add(list, &probe);

	return number < 0 ? (int)number : twins_add(twins, (uint32_t)number, place->vaddr, NULL);
}

/*
 * Adds a probe for each place. A static probe can have several places, which share one name, "provider:probe", and are
 * distinguished by detail.
 */
static int add_static_probes(const struct searched_file *file, const struct probes_answer *answer,
			     struct probe_list *list)
{
	int64_t number = answer->head.nr_matches ? list_file(file, list) : 0;
	struct twins twins = {0};
	int err = number < 0 ? (int)number : 0;
	size_t i;

	for (i = 0; i < answer->head.nr_refusals && err == 0; i++) {
		const struct probes_refusal *refusal = &answer->refusals[i];

		err = probe_list_refuse(list, probes_answer_text(answer, refusal->names[0]),
					probes_answer_text(answer, refusal->why));
	}
	for (i = 0; i < answer->head.nr_places && err == 0; i++)
		err = add_static_probe(answer, &answer->places[i], (uint32_t)number, list, &twins);
	if (err == 0)
		err = twins_distinguish(&twins, list, "+");
	twins_clear(&twins);
	return err;
}

int searched_file_choose(const struct searched_files *files, struct searched_file *file,
			 const struct pattern *pattern, struct refusals *refusals,
			 struct probe_list *list, size_t *ret_nr, struct error *error)
{
	const struct target_options *options = files->options;
	const struct asking asking = {options, file};
	const struct probes_question question = {
		.is_usdt = pattern->kind == PATTERN_USDT,
		.is_regex = options->is_regex,
		.search = files->search,
		.force_returns = options->force_returns,
		.max_places = options->max_probes,
	};
	struct probes_answer answer;
	int err = ask(&asking, pattern, &question, &answer, error);

	if (err < 0)
		return err;
	*ret_nr = answer.head.nr_matches;
	if (!question.is_usdt) {
		if (add_refusals(&answer, refusals) == 0)
			return keep_places(file, pattern, &answer, error);
		err = error_no_memory(error, "for functions");
	} else {
		err = add_static_probes(file, &answer, list);
		if (err < 0)
			(void)error_set(error, err, "cannot list the static probes of '%s': %s",
					file->from.path, strerror(-err));
	}
	probes_answer_clear(&answer);
	return err;
}

/* --- making probes ---------------------------------------------------------------------------- */

/* Equal places become one probe. */
static int compare_places(const struct searched_place *a, const struct searched_place *b)
{
	return COMPARE(a->place->vaddr, b->place->vaddr) ?: COMPARE(a->is_return, b->is_return);
}

static int compare_names(const void *left, const void *right)
{
	const struct searched_place *a = left, *b = right;

	return compare_places(a, b) ?: COMPARE(a->place->function, b->place->function);
}

size_t searched_file_settle(struct searched_file *file)
{
	size_t i, nr_different = 0;

	if (file->nr_places)
		qsort(file->places, file->nr_places, sizeof(*file->places), compare_names);
	for (i = 0; i < file->nr_places; i++)
		nr_different += !i || compare_places(&file->places[i], &file->places[i - 1]);
	return nr_different;
}

struct maker {
	const struct searched_file *file;
	struct probe_list *list;
	uint32_t file_number;
	struct joined_names joined;
	struct twins twins;
};

static const struct probes_answer *answer_of(const struct maker *maker,
					     const struct searched_place *place)
{
	return &maker->file->answers[place->answer];
}

/* Returns the name of the function that IFUNCs resolve to, if it was not chosen itself; or NULL. */
static const char *implementation_of(const struct maker *maker, const struct searched_place *places,
				     size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!places[i].place->is_ifunc)
			return NULL;
	return probes_answer_text_or_null(answer_of(maker, &places[0]),
					  places[0].place->implementation);
}

/* Adds a probe for names that are all of one place. */
static int add_probe(struct maker *maker, const struct searched_place *places, size_t nr)
{
	const struct probes_answer *answer = answer_of(maker, &places[0]);
	const struct probes_place *first = places[0].place;
	struct probe probe = {
		.kind = PROBE_USER,
		.is_return = places[0].is_return,
		.is_entry = first->is_entry,
		.is_stepped = first->is_stepped,
		.is_doubtful = first->is_doubtful,
		.is_go = answer->head.is_go,
		.unwinds = answer->head.unwinds,
		.why_no_return = probes_answer_text_or_null(answer, first->why_no_return),
		.file = maker->file_number,
		.offset = first->offset,
		.detail = implementation_of(maker, places, nr),
	};
	int64_t number;
	size_t i;

	for (i = 0; i < nr; i++) {
		const struct probes_answer *own = answer_of(maker, &places[i]);
		const char *name = probes_answer_text(own, places[i].place->name);

		if (joined_names_add(&maker->joined, name, 0) < 0)
			return -ENOMEM;
	}
	probe.name = joined_names_take(&maker->joined);
	number = probe_list_add(maker->list, &probe);
	if (number < 0)
		return (int)number;
	return twins_add(&maker->twins, (uint32_t)number, first->vaddr,
			 probes_answer_text_or_null(answer, first->source));
}

static int add_probes(struct maker *maker)
{
	const struct searched_file *file = maker->file;
	size_t i, end;
	int err = 0;

	for (i = 0; i < file->nr_places && !err; i = end) {
		for (end = i + 1; end < file->nr_places &&
				  !compare_places(&file->places[i], &file->places[end]);)
			end++;
		err = add_probe(maker, &file->places[i], end - i);
	}
	return err;
}

int searched_file_add_probes(const struct searched_file *file, struct probe_list *list,
			     struct error *error)
{
	struct maker maker = {.file = file, .list = list};
	int64_t number = list_file(file, list);
	int err = number < 0 ? (int)number : 0;

	maker.file_number = (uint32_t)number;
	if (!err)
		err = add_probes(&maker);
	if (!err)
		err = twins_distinguish(&maker.twins, list, "+");
	joined_names_clear(&maker.joined);
	twins_clear(&maker.twins);
	if (err < 0)
		return error_set(error, err, "cannot list the functions of '%s': %s",
				 file->from.path, strerror(-err));
	return 0;
}
