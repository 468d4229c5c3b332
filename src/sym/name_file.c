/*
 * Names code in files, and JIT-compiled code. A parser without rights is asked for the names, and for a file's
 * build id and segments, which are stored in the profile (names_task.h). The vdso is a file in memory, and is
 * parsed here. Then, on request, inlined calls and source lines.
 *
 * The vdso is read from our own process: the kernel maps the same one into every process of our
 * word size. Frames in the other vdso (32-bit processes on a 64-bit kernel) may get wrong names.
 *
 * Lines: all addresses of a module are passed to source_lines at once. The outermost function keeps
 * its name from the symbol table; without one it gets DWARF's. The run waits for this, and samples
 * may be lost meanwhile, so there is a time limit per file (source_lines) and one for all files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "elf/image/elf_image.h"
#include "proc/file_open.h"
#include "profile/simple_name.h"
#include "sym/naming.h"
#include "sym/source_lines.h"

/* --- where parsers may look ------------------------------------------------------------------- */

/* A question to a parser, about a file or about the code of a process. */
struct asking {
	const struct naming *naming;
	struct code_file *file;
	const struct names_question *question; /* the offsets follow it */
	const struct pending_frame *frames;    /* of each offset */
	bool is_for_lines;		       /* only then are files served that others refer to */
	bool is_read; /* the last answer is about a file that could be read */
	bool is_later; /* there was no answer to a question, or not all of it, but may be another time */
	/* For JIT-compiled code: */
	const struct perf_map_file *perf_map; /* NULL: none */
	int jitdump;			      /* -1: none */
};

static int perf_map_place(const struct perf_map_file *map, struct worker_place *ret)
{
	*ret = (struct worker_place){
		.root_fd = map->root_fd,
		.is_written = true,
		.owners = map->owners,
		.written_since_ns = map->written_since_ns,
	};
	worker_place_add(ret, map->path);
	return 0;
}

static int find_place(void *context, const struct worker_want *want, struct worker_place *ret)
{
	const struct asking *asking = context;
	const struct symbolizer_options *options = &asking->naming->symbolizer->options;

	if (want->kind == WANT_DEBUG_FILE)
		return debug_files_place(&options->places, asking->file, want, ret);
	if (want->kind == WANT_PATH && asking->is_for_lines)
		return debug_files_path_place(&options->places, asking->file, want, ret);
	if (want->kind == WANT_FROM_SERVER)
		return debuginfod_place(options->places.server, want, options->budget, ret);
	if (want->kind == WANT_PERF_MAP && !want->place && asking->perf_map)
		return perf_map_place(asking->perf_map, ret);
	if (want->kind != WANT_JITDUMP || want->place || asking->jitdump < 0)
		return -ENODATA;
	*ret = (struct worker_place){.root_fd = asking->jitdump, .is_handle = true};
	return 0;
}

/* --- inlined calls and source lines ----------------------------------------------------------- */

/* Time limit for the lines of all files of a run; past it further files get none. */
#define ALL_LINES_NS (60 * NS_PER_SEC)

struct place {
	uint64_t vaddr;
	uint32_t frame;
};

struct lines {
	const struct naming *naming;
	const struct place *places; /* of the request's addresses */
};

static int64_t add_path(const struct naming *naming, const char *path)
{
	return path && *path ? profile_add_string(naming->profile, path) : 0;
}

/*
 * Functions local to a file may have no mangled name in DWARF, only `sum<int>`, which the demangler
 * does not simplify. Mangled names have no `<`.
 */
static int64_t add_line_name(const struct naming *naming, const char *name)
{
	char simple[NAME_MAX_BYTES + 1];
	size_t nr = strnlen(name, NAME_MAX_BYTES);

	if (naming->symbolizer->options.demangle.mode != DEMANGLE_SIMPLE ||
	    !memchr(name, '<', nr)) {
		cleanup_free char *shown =
			demangle_function(name, &naming->symbolizer->options.demangle);

		return shown ? profile_add_string(naming->profile, shown) : -ENOMEM;
	}
	memcpy(simple, name, nr);
	simple[nr] = '\0';
	simple_name_dwarf(simple);
	return profile_add_string(naming->profile, simple);
}

static int add_line(const struct naming *naming, const struct debug_line *line,
		    struct code_line *ret)
{
	int64_t function = 0;
	int64_t file = add_path(naming, line->file);

	if (line->function && *line->function)
		function = add_line_name(naming, line->function);
	if (function < 0 || file < 0)
		return -ENOMEM;
	*ret = (struct code_line){(uint32_t)function, (uint32_t)file, line->line};
	return 0;
}

static int set_lines(const struct naming *naming, uint32_t number, struct code_line *lines,
		     size_t nr)
{
	const struct frame *frame = profile_frame(naming->profile, number);
	struct code_line *outermost = &lines[nr - 1];

	if (profile_is_named(naming->profile, frame) || (frame->function && !outermost->function))
		outermost->function = frame->function;
	else
		profile_set_name(naming->profile, number, outermost->function);
	return profile_set_lines(naming->profile, number, lines, nr);
}

static int add_lines(void *context, size_t i, const struct debug_line *found, size_t nr)
{
	const struct lines *lines = context;
	const struct naming *naming = lines->naming;
	struct code_line built[DEBUG_LINES_MAX];
	size_t k;
	int err;

	if (!nr || nr > DEBUG_LINES_MAX)
		return 0;
	for (k = 0; k < nr; k++) {
		err = add_line(naming, &found[k], &built[k]);
		if (err < 0)
			return err;
	}
	return set_lines(naming, lines->places[i].frame, built, nr);
}

/* --- the addresses of a module --------------------------------------------------------------- */

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	return COMPARE(a->vaddr, b->vaddr);
}

/*
 * Lists the link-time addresses of the module's frames, sorted, without duplicates. Returns how
 * many.
 */
static size_t list_places(const struct naming *naming, struct place *places)
{
	const struct module_code *code = profile_code(naming->profile, naming->module);
	size_t i, nr = 0, nr_different = 0;

	for (i = 0; code && i < naming->nr; i++) {
		places[nr].frame = naming->frames[i].frame;
		if (module_code_vaddr(code, naming->frames[i].address, &places[nr].vaddr) == 0)
			nr++;
	}
	qsort(places, nr, sizeof(*places), compare_places);
	for (i = 0; i < nr; i++)
		if (!i || places[i].vaddr != places[i - 1].vaddr)
			places[nr_different++] = places[i];
	return nr_different;
}

/* True if the run has time left for another file; if not, sets result.lines_error. */
static bool has_time(struct symbolizer *symbolizer)
{
	if (symbolizer->lines_ns < ALL_LINES_NS)
		return true;
	(void)error_set(&symbolizer->result.lines_error, -ETIME,
			"not all inlined calls and source lines were looked up: time limit of "
			"%d seconds reached",
			(int)(ALL_LINES_NS / NS_PER_SEC));
	return false;
}

/* As source_lines_find(), limited by the time left for all files of the run. */
static int find_in_time(struct symbolizer *symbolizer, struct source_lines_place *place,
			const struct debug_info_request *request, struct debug_info_work *ret,
			struct error *error)
{
	uint64_t budget_ns = read_budget_left_ns(symbolizer->options.budget);
	uint64_t began_ns = clock_now_ns();
	int err;

	place->most_ns = ALL_LINES_NS - symbolizer->lines_ns;
	if (budget_ns < place->most_ns)
		place->most_ns = budget_ns;
	place->stop_fd = read_budget_stop_fd(symbolizer->options.budget);
	err = source_lines_find(symbolizer->worker, place, request, ret, error);
	symbolizer->lines_ns += clock_now_ns() - began_ns;
	return err;
}

/*
 * Adds inlined calls and lines to the frames, if `file` or its debug file has DWARF and the run has
 * time left.
 */
static int name_lines(const struct asking *asking)
{
	const struct naming *naming = asking->naming;
	struct symbolizer *symbolizer = naming->symbolizer;
	cleanup_free struct place *places = calloc(naming->nr, sizeof(*places));
	cleanup_free uint64_t *addresses = calloc(naming->nr, sizeof(*addresses));
	struct source_lines_place place = {
		.file = asking->file, .find_place = find_place, .context = (void *)asking};
	struct lines lines = {.naming = naming, .places = places};
	struct debug_info_request request = {
		.addresses = addresses,
		.inlined = symbolizer->options.inlined,
		.lines = symbolizer->options.lines,
		.found = add_lines,
		.context = &lines,
	};
	struct debug_info_work work = {0};
	struct error error = {0};
	size_t i;
	int err;

	if (!places || !addresses)
		return -ENOMEM;
	if (read_budget_take(symbolizer->options.budget, 0) < 0 || !has_time(symbolizer))
		return 0;
	request.nr = list_places(naming, places);
	for (i = 0; i < request.nr; i++)
		addresses[i] = places[i].vaddr;
	err = find_in_time(symbolizer, &place, &request, &work, &error);
	symbolizer->result.nr_split_lost += work.nr_split_lost;
	/*
	 * Not if the run's time or budget is used up: then that is the cause, which is reported
	 * elsewhere.
	 */
	if (err < 0 && err != -ENOMEM && !read_budget_take(symbolizer->options.budget, 0) &&
	    has_time(symbolizer))
		symbolizer->result.lines_error = error;
	return err == -ENOMEM ? err : 0;
}

/* --- the file -------------------------------------------------------------------------------- */

/* The longest wait for a file that was closed because too many were open, and how often it is looked at. */
#define REOPEN_NS      (2 * NS_PER_SEC)
#define REOPEN_LOOK_NS (10 * NS_PER_MS)

/* Returns a file of this run, with its handle if it can be had. */
static const struct file *reopened(const struct symbolizer *symbolizer, uint32_t number)
{
	struct file_table *files = symbolizer->options.files;
	const int stop_fd = read_budget_stop_fd(symbolizer->options.budget);
	const uint64_t until_ns = clock_now_ns() + REOPEN_NS;

	if (!symbolizer->worker || !file_table_reopen(files, number))
		return file_table_get(files, number);
	/* Thousands of others may be wanted, which nobody waits for. */
	while (worker_wait_for_looks(symbolizer->worker, clock_now_ns() + REOPEN_LOOK_NS,
				     stop_fd) == 0 &&
	       file_table_get(files, number)->state == FILE_ASKED &&
	       worker_is_looking(symbolizer->worker) && clock_now_ns() < until_ns)
		;
	return file_table_get(files, number);
}

/* Fills *ret for a file of this run; the file table owns its handle. */
static void known_file(const struct naming *naming, const struct module *module,
		       struct code_file *ret)
{
	const struct file *file = reopened(naming->symbolizer, module->file);

	*ret = (struct code_file){
		.fd = file->handle,
		.is_unread = file->handle < 0 && file->state != FILE_GONE,
		.uid = file->uid,
		.is_of_root = file->is_of_root,
		.path = file->path,
		.root_fd = file->root_fd,
		.root_uid = file->root_uid,
		.id = worker_file_of(&file->id),
	};
	debug_files_choose_root(ret);
	/* Debug files are searched there: a failure counts against who arranged that root, not for all users of the device. */
	if (ret->root_fd >= 0)
		ret->id.arranger = ret->root_uid;
}

/*
 * Fills *ret for a profile from another machine: the file at the same path here, which is used if its build id
 * matches. The table owns its handle.
 */
static void file_from_elsewhere(const struct naming *naming, const char *path,
				struct code_file *ret)
{
	const struct symbolizer *symbolizer = naming->symbolizer;
	const struct module_code *code = profile_code(naming->profile, naming->module);
	const struct file *file;
	int64_t number;

	*ret = (struct code_file){.fd = -1, .path = path, .root_fd = -1};
	if (!code || !code->build_id_bytes)
		return;
	memcpy(ret->build_id, code->build_id, code->build_id_bytes);
	ret->build_id_bytes = code->build_id_bytes;
	ret->uid = (uid_t)-1;
	number = file_table_add_path(symbolizer->elsewhere, path);
	if (number < 0)
		return;
	(void)worker_wait_for_looks(symbolizer->worker, clock_now_ns() + REOPEN_NS,
				    read_budget_stop_fd(symbolizer->options.budget));
	file = file_table_get(symbolizer->elsewhere, (uint32_t)number);
	ret->fd = file->handle;
	ret->uid = file->uid;
	ret->is_of_root = file->is_of_root;
}

/* --- asking a parser for names ---------------------------------------------------------------- */

/* Without a limit of the run, one file has this much time. */
#define FILE_NS (60 * NS_PER_SEC)

/* A parser checks its limit of time itself. It is killed if it is this much late. */
#define LATE_NS NS_PER_SEC

/*
 * Frames in a question about a file. An answer has about a hundred bytes for each. With answers of megabytes, the
 * parser, the buffer and stook would all fill memory that was not used before, which costs more than asking again.
 */
#define QUESTION_FRAMES 8192

/* The largest answer: names of a large program's functions, for many addresses. */
#define ANSWER_MAX_BYTES (256ULL << 20)

/* Asks a parser, and charges the budget. 0 or a negative errno: there is no answer. */
static int ask(const struct asking *asking, struct names_answer *ret)
{
	struct symbolizer *symbolizer = asking->naming->symbolizer;
	struct read_budget *budget = symbolizer->options.budget;
	const struct names_question *names = asking->question;
	enum parser parser = names->is_of_root ? PARSER_ROOT_FILES : PARSER_OTHER_FILES;
	const struct worker_question question = {
		.task = TASK_NAMES,
		.bytes = names,
		.nr = sizeof(*names) + names->nr * sizeof(uint64_t),
		.handle = asking->file->fd,
		.file = asking->file->id,
		.most_ns = (names->is_limited ? names->most_ns : FILE_NS) + LATE_NS,
		.most_bytes = ANSWER_MAX_BYTES,
		.place = find_place,
		.context = (void *)asking,
	};
	const int stop_fd = read_budget_stop_fd(budget);
	void *bytes = NULL;
	size_t nr = 0;
	int err = worker_call_twice(symbolizer->worker, parser, &question, stop_fd, &bytes, &nr);

	if (err == 0)
		err = names_answer_parse(bytes, nr, names->nr, ret);
	if (err == 0) {
		read_budget_charge(budget, ret->head.bytes_read, ret->head.refused);
		symbolizer->result.nr_files_failed += ret->head.nr_failed;
		symbolizer->result.nr_tables_failed += ret->head.nr_failed;
	} else {
		read_budget_charge(budget, 0, err == -ECANCELED ? err : 0);
		symbolizer->nr_over_memory += err == -ENOBUFS;
	}
	return err;
}

/* --- the answer ------------------------------------------------------------------------------- */

/*
 * Stores the file's build id and segments in the profile, so that the file can be found on other
 * machines, and its lines looked up. If the file was deleted during the run, the ones stored before
 * stay. answer: NULL if there is none.
 */
static int note_code(const struct asking *asking, const struct names_answer *answer)
{
	const struct naming *naming = asking->naming;
	struct code_file *file = asking->file;
	bool is_read = answer && answer->head.is_read;
	struct module_code code = is_read ? answer->head.code : asking->question->known;

	if (!naming->symbolizer->options.files)
		return 0; /* stored by the machine that recorded the profile */
	code.is_gone = file->fd < 0 && !is_read && !file->is_unread && !code.build_id_bytes &&
		       !code.nr_segments;
	/* Without an answer, the file may be fine. */
	code.is_unread = (file->fd < 0 ? !is_read && file->is_unread : !answer) ||
			 (answer && answer->head.is_later);
	file->build_id_bytes = code.build_id_bytes;
	memcpy(file->build_id, code.build_id, code.build_id_bytes);
	return profile_set_code(naming->profile, naming->module, &code);
}

static int set_name(const struct naming *naming, uint32_t frame, const struct names_answer *answer,
		    size_t i)
{
	const char *name = names_answer_name(answer, i);
	int64_t string;

	if (!name)
		return 0;
	if (!*name)
		return profile_set_start(naming->profile, frame, answer->places[i].start);
	string = profile_add_string(naming->profile, name);
	if (string < 0)
		return (int)string;
	profile_set_name(naming->profile, frame, (uint32_t)string);
	return 0;
}

static int set_names(const struct asking *asking, const struct names_answer *answer)
{
	size_t i;
	int err = 0;

	for (i = 0; i < answer->head.nr && err == 0; i++)
		err = set_name(asking->naming, asking->frames[i].frame, answer, i);
	return err;
}

/* --- the question ----------------------------------------------------------------------------- */

/* Lists the module's frames without a name; a named one lacks only its lines. Returns how many. */
static size_t list_unnamed(const struct naming *naming, struct pending_frame *ret)
{
	size_t i, nr = 0;

	for (i = 0; i < naming->nr; i++)
		if (!profile_is_named(naming->profile,
				      profile_frame(naming->profile, naming->frames[i].frame)))
			ret[nr++] = naming->frames[i];
	return nr;
}

/* Writes the question about nr frames. Returns NULL when out of memory. */
static struct names_question *make_question(const struct asking *asking, size_t nr)
{
	const struct naming *naming = asking->naming;
	const struct symbolizer_options *options = &naming->symbolizer->options;
	const struct read_budget *budget = options->budget;
	const struct module *module = profile_module(naming->profile, naming->module);
	const struct module_code *known = profile_code(naming->profile, naming->module);
	struct names_question *question = calloc(1, sizeof(*question) + nr * sizeof(uint64_t));
	uint64_t *offsets = (uint64_t *)(question + 1);
	size_t i;

	if (!question)
		return NULL;
	*question = (struct names_question){
		.demangle = options->demangle,
		/*
		 * In the vdso, show __vdso_clock_gettime, as perf does, not its alias
		 * clock_gettime.
		 */
		.raw_aliases = options->raw_aliases || module->kind == MODULE_VDSO,
		.no_starts = options->no_starts,
		.only_code = options->leave_files,
		.is_of_root = asking->file->is_of_root,
		.run_time = options->run_time,
		.is_same_build = !options->files,
		.is_limited = budget != NULL,
		/* A number in another machine's table says nothing here. */
		.file = options->files ? module->file : naming->module,
		.max_bytes = options->max_bytes,
		.most_ns = budget ? read_budget_left_ns(budget) : 0,
		.most_bytes = budget ? budget->part_bytes : 0,
		.known = known ? *known : (struct module_code){.build_id_bytes = 0},
		.nr = nr,
	};
	for (i = 0; i < nr; i++)
		offsets[i] = asking->frames[i].address;
	return question;
}

/* Asks a question, unless `image` is there to be asked here. *ret is to be cleared if 0 is returned. */
static int find_answer(const struct asking *asking, struct elf_image *image,
		       struct names_answer *ret)
{
	const uint64_t *offsets = (const uint64_t *)(asking->question + 1);

	return image ? names_find(asking->naming->symbolizer->vdso, asking->question, offsets,
				  asking->file, image, NULL, ret)
		     : ask(asking, ret);
}

/* True if a process may answer another time: also when none could be started, or none may be asked for some minutes. */
static bool may_answer_later(int err)
{
	return worker_is_passing(err) || err == -EOWNERDEAD;
}

/* Names nr frames. 0; 1: there is no answer, and none for other frames of the module; or -ENOMEM. */
static int name_some(struct asking *asking, size_t nr, struct elf_image *image)
{
	cleanup_free struct names_question *question = make_question(asking, nr);
	struct names_answer answer;
	bool has_answer;
	int err;

	if (!question)
		return -ENOMEM;
	asking->question = question;
	err = find_answer(asking, image, &answer);
	if (err == -ENOMEM)
		return err;
	has_answer = err == 0;
	asking->is_later |= may_answer_later(err) || (has_answer && answer.head.is_later);
	asking->is_read = has_answer && answer.head.is_read;
	err = note_code(asking, has_answer ? &answer : NULL);
	if (err == 0 && has_answer)
		err = set_names(asking, &answer);
	if (question->is_same_build && !asking->is_read)
		asking->file->fd = -1; /* another file is there */
	if (has_answer)
		names_answer_clear(&answer);
	return err < 0 ? err : !has_answer;
}

/* Names the module's frames. 0; 1: ask again another time; or -ENOMEM. image: of a file that is parsed here. */
static int name_in(const struct naming *naming, struct code_file *file, struct elf_image *image)
{
	struct symbolizer *symbolizer = naming->symbolizer;
	const struct symbolizer_options *options = &symbolizer->options;
	cleanup_free struct pending_frame *frames = calloc(naming->nr + 1, sizeof(*frames));
	struct asking asking = {.naming = naming, .file = file, .frames = frames, .jitdump = -1};
	size_t nr, part;
	int err;

	if (!frames)
		return -ENOMEM;
	nr = options->leave_files ? 0 : list_unnamed(naming, frames);
	do { /* at least once: for the build id */
		part = nr < QUESTION_FRAMES ? nr : QUESTION_FRAMES;
		err = name_some(&asking, part, image);
		asking.frames += part;
		nr -= part;
	} while (err == 0 && nr && read_budget_take(options->budget, 0) == 0);
	symbolizer->result.nr_files_failed += !asking.is_read;
	asking.is_for_lines = true;
	if (err >= 0 && !options->leave_files && (options->inlined || options->lines))
		err = name_lines(&asking);
	return err < 0 ? err : asking.is_later;
}

int name_in_file(const struct naming *naming)
{
	const struct symbolizer_options *options = &naming->symbolizer->options;
	const struct module *module = profile_module(naming->profile, naming->module);
	cleanup_free char *path = NULL;
	struct code_file file;

	if (options->files) {
		/* Of an earlier interval, if it was cut short. */
		if (file_table_get(options->files, module->file)->state == FILE_FORGOTTEN)
			return 0;
		known_file(naming, module, &file);
		return name_in(naming, &file, NULL);
	}
	/* A copy, since the profile's strings move when names are added. */
	path = strdup(profile_string(naming->profile, module->name));
	if (!path)
		return -ENOMEM;
	file_from_elsewhere(naming, path, &file);
	return name_in(naming, &file, NULL);
}

int name_in_vdso(const struct naming *naming)
{
	struct code_file file = {.fd = -1, .path = "[vdso]", .root_fd = -1};
	struct elf_image image;
	const void *vdso;
	size_t bytes;
	int err;

	if (!naming->symbolizer->options.files)
		return 0; /* a profile from another kernel */
	vdso = vdso_find(&bytes);
	if (!vdso)
		return 0;
	err = elf_image_open_memory(&image, vdso, bytes, NULL);
	if (err < 0)
		return err == -ENOMEM ? err : 0;
	err = name_in(naming, &file, &image);
	elf_image_close(&image);
	return err;
}

/* --- JIT-compiled code ------------------------------------------------------------------------ */

/* Identifies the files of a process, in case that parsers fail on them. */
static struct worker_file id_of_process(const struct runtime_process *process)
{
	return (struct worker_file){WORKER_NO_DEVICE, (uint32_t)process->pid,
				    process->start_time_ns ? process->start_time_ns : 1,
				    process->uid};
}

int name_in_run_time(const struct naming *naming)
{
	struct symbolizer *symbolizer = naming->symbolizer;
	const struct symbolizer_options *options = &symbolizer->options;
	const struct module *module = profile_module(naming->profile, naming->module);
	struct code_file file = {.fd = -1, .path = "", .root_fd = -1};
	struct asking asking = {.naming = naming, .file = &file, .frames = naming->frames};
	cleanup_free struct names_question *question = NULL;
	const struct runtime_process *process;
	struct perf_map_file perf_map;
	struct names_answer answer;
	int err;

	if (!options->runtimes || !module->file)
		return 0;
	process = runtime_table_get(options->runtimes, module->file - 1);
	if (!process)
		return 0; /* of an earlier interval */
	file.id = id_of_process(process);
	if (!process->is_superseded && runtime_process_map(process, &perf_map) == 0)
		asking.perf_map = &perf_map;
	if (process->jitdump >= 0)
		(void)reopened(symbolizer, (uint32_t)process->jitdump);
	asking.jitdump = runtime_process_jitdump(process, options->files);
	symbolizer->result.nr_files_failed += asking.jitdump == -EACCES;
	symbolizer->result.nr_tables_failed += asking.jitdump == -EACCES;
	question = make_question(&asking,
				 naming->nr < NAMES_QUESTION_MAX ? naming->nr : NAMES_QUESTION_MAX);
	if (!question)
		return -ENOMEM;
	question->is_run_time = true;
	question->is_java = process->runtime && process->runtime->is_java;
	question->is_superseded = process->is_superseded;
	question->file = module->file - 1;
	asking.question = question;
	err = ask(&asking, &answer);
	symbolizer->result.nr_files_failed += err < 0;
	if (err < 0)
		return err == -ENOMEM ? err : 0;
	runtime_table_set_perf_map(options->runtimes, module->file - 1, answer.head.perf_map);
	err = set_names(&asking, &answer);
	names_answer_clear(&answer);
	return err;
}
