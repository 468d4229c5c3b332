/*
 * Asks the opener for files (program_task.h), and checks its answers: a program's files are O_PATH handles here, which
 * cannot block. An opener that died is asked once more; one that hangs is not, since the next one would hang, too.
 */
#include "probe/find/program.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "probe/find/needed_task.h"
#include "probe/find/program_task.h"

/* Searches of very slow file systems: a second for each file and directory, and this for all. */
#define SEARCH_NS (20 * NS_PER_SEC)

#define ERRNO_MAX 4095

void program_file_clear(struct program_file *file)
{
	if (file->handle >= 0)
		(void)close(file->handle);
	if (file->root_fd >= 0)
		(void)close(file->root_fd);
	free(file->path);
	*file = (struct program_file){.handle = -1, .root_fd = -1};
}

void program_clear(struct program *program)
{
	size_t i;

	for (i = 0; i < program->nr; i++)
		program_file_clear(&program->files[i]);
	free(program->files);
	*program = (struct program){0};
}

/* --- answers ---------------------------------------------------------------------------------- */

static bool is_there(const struct program *program, const struct program_file *file)
{
	size_t i;

	for (i = 0; i < program->nr; i++)
		if (program->files[i].device == file->device &&
		    program->files[i].inode == file->inode)
			return true;
	return false;
}

/* Takes the file with its handles, also on failure. */
static int take_file(struct program *program, struct program_file *file)
{
	int err = 0;

	if (!is_there(program, file)) {
		err = file->path ? ARRAY_ADD(program->files, program->nr, program->capacity, *file)
				 : -ENOMEM;
		if (err == 0)
			return 0;
	}
	program_file_clear(file);
	return err;
}

static int take_part(struct program_answer *answer, struct bytes bytes,
		     int handles[WORKER_HANDLES_MAX])
{
	const void *head = bytes_skip(&bytes, sizeof(struct program_part));
	const char *path = bytes_string(&bytes);
	struct program_part part;
	struct program_file file;

	if (!head || !path || bytes.nr || strlen(path) >= 2 * PATH_MAX)
		return -EPROTO;
	memcpy(&part, head, sizeof(part));
	if (part.has_root > 1 || part.is_second > 1 || part.is_of_root > 1 ||
	    part.bytes > INT64_MAX || (!part.has_root && handles[1] >= 0))
		return -EPROTO;
	/* Without a descriptor to spare, none was received. */
	if (handles[0] < 0 || (part.has_root && handles[1] < 0))
		return -EMFILE;
	file = (struct program_file){
		.handle = take_fd(&handles[0]),
		.root_fd = take_fd(&handles[1]),
		.root_uid = part.root_uid,
		.device = part.device,
		.inode = part.inode,
		.bytes = part.bytes,
		.uid = part.uid,
		.is_of_root = part.is_of_root,
		.is_second = part.is_second,
		.path = strdup(path),
	};
	return take_file(answer->program, &file);
}

static int take_failure(struct program_answer *answer, struct bytes bytes)
{
	const void *at = bytes_skip(&bytes, sizeof(struct program_failure));
	struct program_failure failure;
	const struct error *error = &failure.error;

	if (!at || bytes.nr)
		return -EPROTO;
	memcpy(&failure, at, sizeof(failure));
	if (error->code >= 0 || error->code < -ERRNO_MAX || !error->text[0] ||
	    !memchr(error->text, '\0', sizeof(error->text)) ||
	    !memchr(error->hint, '\0', sizeof(error->hint)))
		return -EPROTO;
	answer->error = *error;
	return 0;
}

int program_answer_take(void *context, const void *bytes, size_t nr,
			int handles[WORKER_HANDLES_MAX])
{
	struct program_answer *answer = context;
	uint32_t kind = 0;

	if (nr >= sizeof(kind))
		memcpy(&kind, bytes, sizeof(kind));
	if (kind == PROGRAM_FILE)
		return take_part(answer, bytes_of(bytes, nr), handles);
	return kind == PROGRAM_FAILURE ? take_failure(answer, bytes_of(bytes, nr)) : -EPROTO;
}

/* --- questions -------------------------------------------------------------------------------- */

/* A question with its pids and texts. */
struct question {
	struct program_question head;
	uint8_t *bytes;
	size_t nr, capacity;
};

static int add_bytes(struct question *question, const void *bytes, size_t nr)
{
	if (ARRAY_RESERVE(question->bytes, question->capacity, question->nr + nr) < 0)
		return -ENOMEM;
	memcpy(question->bytes + question->nr, bytes, nr);
	question->nr += nr;
	return 0;
}

static int add_text(struct question *question, const char *text)
{
	return add_bytes(question, text, strlen(text) + 1);
}

/* Begins a question, to which names are to be added. 0 or -ENOMEM; the caller frees the bytes. */
static int begin_question(struct question *question, enum program_search search,
			  const uint32_t *pids, size_t nr_pids)
{
	const struct program_question head = {.search = search, .nr_pids = (uint32_t)nr_pids};
	const char *path = getenv("PATH");

	*question = (struct question){0};
	if (add_bytes(question, &head, sizeof(head)) < 0 ||
	    (nr_pids && add_bytes(question, pids, nr_pids * sizeof(*pids)) < 0))
		return -ENOMEM;
	return add_text(question, path ? path : "");
}

static int no_answer(const struct worker *worker, const char *name, const char *doing, int err,
		     struct error *error)
{
	struct worker_troubles troubles = {0};

	if (err == -ENOMEM)
		return error_no_memory(error, "");
	worker_troubles_add(worker, &troubles);
	if (troubles.cannot_start[0])
		return error_set(error, err, "cannot look for '%s': %s", name,
				 troubles.cannot_start);
	if (err != -ETIME)
		return error_set(error, err,
				 "cannot look for '%s': the helper process that opens files %s",
				 name, worker_why_none(err));
	(void)error_set(error, err, "cannot look for '%s': %s did not answer in time", name, doing);
	error_hint(error,
		   "the server of its file system, such as FUSE or NFS, may be gone or hang");
	return err;
}

/* Adds what the opener finds. name: for messages. 0, the error of the search, or why there is no answer. */
static int ask_opener(struct worker *worker, const struct question *question, const char *name,
		      struct program *ret, struct error *error)
{
	struct program_answer answer = {.program = ret};
	const struct opener_question asked = {
		.task = TASK_PROGRAM,
		.bytes = question->bytes,
		.nr = question->nr,
		.most_ns = SEARCH_NS,
		.take = program_answer_take,
		.context = &answer,
	};
	char doing[WORKER_DOING_BYTES];
	int err = worker_call_opener(worker, &asked, doing);

	if (err == -EIO)
		err = worker_call_opener(worker, &asked, doing);
	if (err < 0)
		return no_answer(worker, name, doing, err, error);
	if (answer.error.code && error)
		*error = answer.error;
	return answer.error.code;
}

int program_find(struct worker *worker, const char *name, const uint32_t *pids, size_t nr_pids,
		 struct program *ret, struct error *error)
{
	struct question question;
	int err = begin_question(&question, SEARCH_NAMED, pids, nr_pids);

	if (err == 0)
		err = add_text(&question, name);
	if (err < 0)
		(void)error_no_memory(error, "");
	else
		err = ask_opener(worker, &question, name, ret, error);
	free(question.bytes);
	if (err == 0 && (!ret->nr || ret->files[0].is_second))
		err = no_answer(worker, name, "", -EPROTO, error);
	if (err < 0)
		program_clear(ret);
	return err;
}

struct worker_file program_worker_file(const struct program_file *file)
{
	return (struct worker_file){major(file->device), minor(file->device), file->inode,
				    file->root_fd >= 0 ? file->root_uid : 0};
}

/* --- what a program maps at its start --------------------------------------------------------- */

/* Best effort: a file that gives no answer in this time needs nothing. */
#define NEEDED_NS (5 * NS_PER_SEC)

/* Asks a parser what a file needs. NULL: no answer; the caller frees it. */
static void *ask_needed(struct worker *worker, const struct program_file *file, size_t *ret_nr)
{
	const struct worker_question question = {
		.task = TASK_NEEDED,
		.bytes = "",
		.handle = file->handle,
		.file = program_worker_file(file),
		.most_ns = NEEDED_NS,
		.most_bytes = NEEDED_MAX_BYTES,
	};
	void *bytes = NULL;

	return worker_call(worker, file->is_of_root ? PARSER_ROOT_FILES : PARSER_OTHER_FILES,
			   &question, -1, &bytes, ret_nr) < 0
		       ? NULL
		       : bytes;
}

/* Adds the names of the loader and the libraries that a file needs to the question. */
static int add_needed(struct worker *worker, const struct program_file *file,
		      struct question *question)
{
	size_t nr = 0;
	cleanup_free void *bytes = ask_needed(worker, file, &nr);
	struct bytes answer = bytes_of(bytes, bytes ? nr : 0);
	const char *name;
	int err = 0;

	while (err == 0 && (name = needed_answer_next(&answer)))
		err = add_text(question, name);
	return err;
}

/* Adds the files that files[first … end-1] need. */
static int find_needed(struct worker *worker, const char *command, size_t first, size_t end,
		       struct program *ret)
{
	struct question question;
	int err = begin_question(&question, SEARCH_NEEDED, NULL, 0);
	const size_t nr_empty = question.nr;
	size_t i;

	for (i = first; i < end && err == 0; i++)
		err = add_needed(worker, &ret->files[i], &question);
	if (err == 0 && question.nr > nr_empty)
		err = ask_opener(worker, &question, command, ret, NULL);
	free(question.bytes);
	return err;
}

int program_find_started(struct worker *worker, const char *command, struct program *ret)
{
	struct question question;
	int err = begin_question(&question, SEARCH_STARTED, NULL, 0);
	size_t first = 0, end;

	if (err == 0)
		err = add_text(&question, command);
	if (err == 0)
		err = ask_opener(worker, &question, command, ret, NULL);
	free(question.bytes);
	for (; err == 0 && first < ret->nr; first = end) {
		end = ret->nr;
		err = find_needed(worker, command, first, end, ret);
	}
	if (err < 0)
		program_clear(ret);
	return err;
}
