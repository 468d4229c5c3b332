/*
 * A process is known by its pid, and by the program that records of its samples name; what another program had is
 * forgotten. The answer has the time at which the process started, so that the context of one that got the pid since is
 * not taken for it.
 *
 * A process that does not answer costs an opener, which is replaced, and ends the look; the others are asked in the next
 * one. At the third time it is not asked again. Each look begins elsewhere, so that others are asked even if many
 * processes do not answer.
 */
#include "run/process_labels.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd_io.h"
#include "base/hash.h"
#include "proc/process_context.h"
#include "proc/process_info.h"
#include "proc/process_words.h"

#define FIRST_WAIT_NS (5 * NS_PER_SEC) /* until a process without a context is asked again … */
#define WAIT_FACTOR   4		       /* … each wait is so much longer … */
#define MOST_WAIT_NS  (3600 * NS_PER_SEC)
#define AGAIN_NS      (300 * NS_PER_SEC) /* until one with a context is: it may have changed */
#define LOOK_NS	      (10 * NS_PER_SEC) /* for all processes of a look; for parsing, as much again … */
#define PARSE_NS      (10 * NS_PER_SEC) /* … and for the last of them: on a CPU that others keep busy */
#define SILENT_MAX    3			/* times that a process may not answer */

struct entry {
	int32_t pid;
	unsigned nr_silent;
	struct program_id program;
	uint64_t next_ns, wait_ns; /* when it is asked next, and how long after that */
	uint64_t look;		   /* the last one with samples of the process */
	uint64_t answer_hash;	   /* of what the texts are from; 0: nothing */
	char *texts;		   /* NULL: none */
	size_t nr;
};

struct process_labels {
	struct entry *items;
	size_t nr, capacity;
	struct u64_map by_pid; /* → index */
	size_t bytes;	       /* of all texts */
	uint64_t nr_looks;
	atomic_uint_fast64_t nr_left_out;
	struct process_label_wants *wants;		/* NULL: nothing */
	struct process_label_wants *_Atomic next_wants; /* NULL: the same */
};

/* --- processes -------------------------------------------------------------------------------- */

struct process_labels *process_labels_new(void)
{
	return calloc(1, sizeof(struct process_labels));
}

static void clear_texts(struct process_labels *labels, struct entry *entry)
{
	labels->bytes -= entry->nr;
	free(entry->texts);
	entry->texts = NULL;
	entry->nr = 0;
	entry->answer_hash = 0;
}

void process_label_wants_free(struct process_label_wants *wants)
{
	if (wants)
		name_filter_clear(&wants->secrets);
	free(wants);
}

void process_labels_want(struct process_labels *labels, struct process_label_wants *wants)
{
	process_label_wants_free(atomic_exchange(&labels->next_wants, wants));
}

/* All processes are asked again, as if they never were, unless they do not answer. */
static void take_wants(struct process_labels *labels)
{
	struct process_label_wants *next = atomic_exchange(&labels->next_wants, NULL);
	size_t i;

	if (!next)
		return;
	process_label_wants_free(labels->wants);
	labels->wants = next;
	for (i = 0; i < labels->nr; i++) {
		struct entry *entry = &labels->items[i];

		entry->next_ns = entry->answer_hash = 0;
		if (entry->nr_silent < SILENT_MAX)
			entry->wait_ns = 0;
	}
}

void process_labels_free(struct process_labels *labels)
{
	size_t i;

	if (!labels)
		return;
	for (i = 0; i < labels->nr; i++)
		free(labels->items[i].texts);
	free(labels->items);
	u64_map_clear(&labels->by_pid);
	process_labels_want(labels, NULL);
	process_label_wants_free(labels->wants);
	free(labels);
}

static struct entry *find(const struct process_labels *labels, int32_t pid)
{
	const uint64_t *found = u64_map_find(&labels->by_pid, (uint32_t)pid);

	return found ? &labels->items[*found] : NULL;
}

static bool is_other_program(const struct entry *entry, const struct program_id *program)
{
	return program->start_time_ns && (program->start_time_ns != entry->program.start_time_ns ||
					  program->exec_id != entry->program.exec_id);
}

bool process_labels_find(const struct process_labels *labels, int32_t pid,
			 const struct process_name *known, struct bytes *ret)
{
	const struct entry *entry = find(labels, pid);

	*ret = (struct bytes){0};
	if (!entry || (known && is_other_program(entry, &known->program)))
		return false;
	*ret = bytes_of(entry->texts, entry->nr);
	return entry->wait_ns != 0;
}

uint64_t process_labels_nr_left_out(const struct process_labels *labels)
{
	return labels->nr_left_out;
}

/* *ret is NULL if there are too many. */
static int ensure(struct process_labels *labels, int32_t pid, struct entry **ret)
{
	const struct entry item = {.pid = pid};

	*ret = find(labels, pid);
	if (*ret)
		return 0;
	if (labels->nr == PROCESS_LABELS_MAX) {
		labels->nr_left_out++;
		return 0;
	}
	if (ARRAY_RESERVE(labels->items, labels->capacity, labels->nr + 1) < 0 ||
	    u64_map_set(&labels->by_pid, (uint32_t)pid, labels->nr) < 0)
		return -ENOMEM;
	*ret = &labels->items[labels->nr++];
	**ret = item;
	return 0;
}

static void remove_entry(struct process_labels *labels, size_t number)
{
	const struct entry last = labels->items[labels->nr - 1];

	clear_texts(labels, &labels->items[number]);
	(void)u64_map_remove(&labels->by_pid, (uint32_t)labels->items[number].pid);
	labels->nr--;
	if (number == labels->nr)
		return;
	labels->items[number] = last;
	*u64_map_find(&labels->by_pid, (uint32_t)last.pid) = number;
}

static void forget_exited(struct process_labels *labels)
{
	size_t i;

	for (i = labels->nr; i-- > 0;)
		if (labels->items[i].look != labels->nr_looks &&
		    !process_exists(labels->items[i].pid))
			remove_entry(labels, i);
}

/* Another program has nothing of the one before. */
static void note_program(struct process_labels *labels, struct entry *entry,
			 const struct process_name *name)
{
	if (!is_other_program(entry, &name->program))
		return;
	if (entry->program.start_time_ns) {
		clear_texts(labels, entry);
		*entry = (struct entry){.pid = entry->pid, .look = entry->look};
	}
	entry->program = name->program;
}

/* --- asking ----------------------------------------------------------------------------------- */

/* A question: what is wanted besides contexts; the names of variables and the pids follow. */
struct contexts_wanted {
	uint32_t command_line, nr_variables;
};

/* The part of an answer about a process; its command line, variables and message follow. */
struct context_head {
	int32_t pid, err; /* of the context */
	uint64_t start_boot_ns;
	uint32_t nr_command, nr_variables; /* bytes */
};

struct context_answer {
	struct context_head head;
	char *bytes;
	size_t nr;
	struct bytes command, variables, message; /* in bytes */
};

struct look {
	int32_t pids[PROCESS_LABELS_LOOKS_MAX];
	size_t entries[PROCESS_LABELS_LOOKS_MAX]; /* their indexes */
	size_t nr;
	struct context_answer answers[PROCESS_LABELS_LOOKS_MAX]; /* of the first processes */
	size_t nr_answers;
	uint64_t now_ns;
};

static void free_look(struct look **look)
{
	size_t i;

	for (i = 0; *look && i < (*look)->nr_answers; i++)
		free((*look)->answers[i].bytes);
	free(*look);
}

/* Answers come in the order of the pids. */
static int take_context(void *context, const void *bytes, size_t nr,
			int handles[WORKER_HANDLES_MAX])
{
	struct look *look = context;
	struct context_answer answer = {0};

	(void)handles;
	if (nr < sizeof(answer.head) || look->nr_answers == look->nr)
		return -EPROTO;
	memcpy(&answer.head, bytes, sizeof(answer.head));
	answer.nr = nr - sizeof(answer.head);
	if (answer.head.pid != look->pids[look->nr_answers])
		return -EPROTO;
	answer.bytes = malloc(answer.nr + 1);
	if (!answer.bytes)
		return -ENOMEM;
	memcpy(answer.bytes, (const char *)bytes + sizeof(answer.head), answer.nr);
	answer.message = bytes_of(answer.bytes, answer.nr);
	answer.command = bytes_cut(&answer.message, answer.head.nr_command);
	answer.variables = bytes_cut(&answer.message, answer.head.nr_variables);
	if (answer.message.failed || answer.command.nr > PROCESS_WORDS_BYTES ||
	    answer.variables.nr > PROCESS_WORDS_BYTES ||
	    answer.message.nr > PROCESS_CONTEXT_BYTES) {
		free(answer.bytes);
		return -EPROTO;
	}
	look->answers[look->nr_answers++] = answer;
	return 0;
}

/* Lists the processes that are due. */
static int list_due(struct process_labels *labels, const struct profile *profile,
		    const struct process_names *names, struct look *look)
{
	const size_t nr = profile_nr_samples(profile);
	const size_t first = nr ? hash_u64(labels->nr_looks) % nr : 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		const uint32_t sample = (uint32_t)((first + i) % nr);
		const int32_t pid = profile_sample(profile, sample)->labels.pid;
		const struct process_name *name = process_names_find(names, pid);
		struct entry *entry = NULL;

		if (pid > 0 && ensure(labels, pid, &entry) < 0)
			return -ENOMEM;
		if (!entry || entry->look == labels->nr_looks)
			continue;
		entry->look = labels->nr_looks;
		if (name)
			note_program(labels, entry, name);
		if (look->nr < PROCESS_LABELS_LOOKS_MAX && look->now_ns >= entry->next_ns &&
		    entry->nr_silent < SILENT_MAX && process_exists(pid)) {
			look->entries[look->nr] = (size_t)(entry - labels->items);
			look->pids[look->nr++] = pid;
		}
	}
	return 0;
}

/* Asks a parser for the attributes in a message. 0, -ENOMEM, or another negative errno: it is malformed. */
static int ask_parser(struct worker *worker, const struct context_answer *answer,
		      struct process_attributes *ret)
{
	const struct worker_question question = {
		.task = TASK_ATTRIBUTES,
		.bytes = answer->message.at,
		.nr = answer->message.nr,
		.handle = -1,
		/* On no device: if parsers fail on its contexts, this process is given up. */
		.file = {.inode = (uint32_t)answer->head.pid},
		.most_ns = PARSE_NS,
		.most_bytes = sizeof(*ret),
	};
	cleanup_free void *bytes = NULL;
	size_t nr = 0, i;
	int err = worker_call_twice(worker, PARSER_OTHER_FILES, &question, -1, &bytes, &nr);

	if (err < 0)
		return err;
	if (nr != sizeof(*ret))
		return -EPROTO;
	memcpy(ret, bytes, nr);
	for (i = 0; i < PROCESS_NR_ATTRIBUTES; i++)
		if (!memchr(ret->texts[i], '\0', sizeof(ret->texts[i])))
			return -EPROTO;
	return 0;
}

/* Texts of an entry that are being made. */
struct texts {
	char *bytes;
	size_t nr, capacity;
};

static int add_text(struct texts *texts, const char *key, const char *text)
{
	if (array_add_text(&texts->bytes, &texts->capacity, &texts->nr, key) < 0 ||
	    array_add_text(&texts->bytes, &texts->capacity, &texts->nr, text) < 0)
		return -ENOMEM;
	return 0;
}

/* A variable is a word of the form NAME=VALUE, and its value may be a secret. */
static int add_variable(struct texts *texts, const struct name_filter *secrets, const char *word,
			size_t nr)
{
	char key[4 + PROCESS_LABELS_NAMES_BYTES], text[PROCESS_WORDS_TEXT_BYTES];
	const char *equals = memchr(word, '=', nr), *shown;

	if (!equals || (size_t)(equals - word) >= PROCESS_LABELS_NAMES_BYTES)
		return 0;
	(void)snprintf(key, sizeof(key), "env.%.*s", (int)(equals - word), word);
	process_words_join(bytes_of(word, nr), secrets, text);
	shown = strchr(text, '=');
	return add_text(texts, key, shown ? shown + 1 : text);
}

static int add_process_words(struct texts *texts, const struct process_label_wants *wants,
			     const struct context_answer *answer)
{
	const struct name_filter *secrets = wants ? &wants->secrets : NULL;
	struct bytes rest = answer->variables;
	char text[PROCESS_WORDS_TEXT_BYTES];
	const char *word;
	size_t nr;
	int err;

	process_words_join(answer->command, secrets, text);
	err = *text ? add_text(texts, "cmdline", text) : 0;
	while (!err && process_words_next(&rest, &word, &nr))
		err = add_variable(texts, secrets, word, nr);
	return err;
}

static int make_texts(const struct process_labels *labels, const struct context_answer *answer,
		      const struct process_attributes *attributes, struct texts *texts)
{
	int err = add_process_words(texts, labels->wants, answer);
	size_t i;

	for (i = 0; i < PROCESS_NR_ATTRIBUTES && !err; i++)
		if (*attributes->texts[i])
			err = add_text(texts, process_attribute_names[i], attributes->texts[i]);
	return err;
}

static int set_texts(struct process_labels *labels, struct entry *entry,
		     const struct context_answer *answer,
		     const struct process_attributes *attributes)
{
	struct texts texts = {0};
	const int err = make_texts(labels, answer, attributes, &texts);

	labels->nr_left_out += attributes->nr_left_out;
	if (err || texts.nr > PROCESS_LABELS_MAX_BYTES - labels->bytes) {
		labels->nr_left_out += !err;
		free(texts.bytes);
		return err;
	}
	array_shrink(&texts.bytes, &texts.capacity, texts.nr, 1);
	entry->texts = texts.bytes;
	entry->nr = texts.nr;
	labels->bytes += texts.nr;
	return 0;
}

/* If a context cannot be read now, the texts of the one before stay. */
static int take_answer(struct process_labels *labels, struct worker *worker,
		       const struct look *look, size_t number)
{
	const struct context_answer *answer = &look->answers[number];
	struct entry *entry = &labels->items[look->entries[number]];
	const uint64_t hash = hash_key(answer->bytes, answer->nr) | 1;
	struct process_attributes attributes = {0};
	int err = answer->head.err;

	if (err == -ESRCH ||
	    !process_start_can_be(entry->program.start_time_ns, answer->head.start_boot_ns))
		return 0;
	if (err == 0 || err == -EAGAIN)
		entry->next_ns = look->now_ns + (err ? FIRST_WAIT_NS : AGAIN_NS);
	if (err == -EAGAIN || hash == entry->answer_hash)
		return 0;
	labels->nr_left_out += err == -E2BIG;
	if (err == 0)
		err = ask_parser(worker, answer, &attributes);
	if (err == -ENOMEM || (answer->head.err == 0 && err < 0 && err != -EBADMSG))
		return err == -ENOMEM ? err : 0; /* the parser failed */
	clear_texts(labels, entry);
	entry->answer_hash = hash;
	return set_texts(labels, entry, answer, &attributes);
}

/* The next times of processes that were asked, or would have been. */
static void schedule(struct process_labels *labels, const struct look *look, int err)
{
	const size_t nr_asked = look->nr_answers + (err == -ETIME && look->nr_answers < look->nr);
	size_t i;

	for (i = 0; i < nr_asked; i++) {
		struct entry *entry = &labels->items[look->entries[i]];

		if (!entry->wait_ns)
			entry->wait_ns = FIRST_WAIT_NS;
		entry->next_ns = look->now_ns + entry->wait_ns;
		entry->wait_ns *= WAIT_FACTOR;
		if (entry->wait_ns > MOST_WAIT_NS)
			entry->wait_ns = MOST_WAIT_NS;
		entry->nr_silent = i < look->nr_answers ? 0 : entry->nr_silent + 1;
		labels->nr_left_out += entry->nr_silent == SILENT_MAX;
	}
}

/* The question about the processes in a look; NULL when out of memory. */
static char *write_question(const struct process_label_wants *wants, const struct look *look,
			    size_t *ret_nr)
{
	const struct contexts_wanted wanted = {
		.command_line = wants && wants->command_line,
		.nr_variables = wants ? (uint32_t)wants->nr_variables : 0,
	};
	const size_t nr_pids = look->nr * sizeof(*look->pids);
	char *question = malloc(sizeof(wanted) + wanted.nr_variables + nr_pids);
	char *at = question;

	if (!question)
		return NULL;
	at = mempcpy(at, &wanted, sizeof(wanted));
	if (wants)
		at = mempcpy(at, wants->variables, wants->nr_variables);
	at = mempcpy(at, look->pids, nr_pids);
	*ret_nr = (size_t)(at - question);
	return question;
}

static int ask_opener(struct process_labels *labels, struct worker *worker, struct look *look)
{
	struct opener_question question = {
		.task = TASK_CONTEXTS,
		.most_ns = LOOK_NS,
		.take = take_context,
		.context = look,
	};
	cleanup_free char *bytes = write_question(labels->wants, look, &question.nr);
	char doing[WORKER_DOING_BYTES];
	int err;

	if (!bytes)
		return -ENOMEM;
	question.bytes = bytes;
	err = worker_call_opener(worker, &question, doing);
	schedule(labels, look, err);
	return err == -ENOMEM ? err : 0;
}

int process_labels_look(struct process_labels *labels, struct worker *worker,
			const struct profile *profile, const struct process_names *names,
			uint64_t now_ns)
{
	cleanup(free_look) struct look *look = calloc(1, sizeof(*look));
	uint64_t until_ns;
	size_t i;
	int err;

	if (!look)
		return -ENOMEM;
	take_wants(labels);
	labels->nr_looks++;
	look->now_ns = now_ns;
	err = list_due(labels, profile, names, look);
	if (err == 0 && look->nr)
		err = ask_opener(labels, worker, look);
	until_ns = clock_now_ns() + LOOK_NS;
	for (i = 0; i < look->nr_answers && !err; i++) {
		if (clock_now_ns() < until_ns)
			err = take_answer(labels, worker, look, i);
		else /* in the next look */
			labels->items[look->entries[i]].next_ns = now_ns;
	}
	forget_exited(labels);
	return err;
}

/* --- in the opener ---------------------------------------------------------------------------- */

/* wanted_names: of variables */
static int send_context(struct worker_job *job, int32_t pid, const struct contexts_wanted *wanted,
			struct bytes wanted_names)
{
	static const int none[WORKER_HANDLES_MAX] = {-1, -1};
	struct {
		struct context_head head;
		char rest[2 * PROCESS_WORDS_BYTES + PROCESS_CONTEXT_BYTES];
	} part;
	struct context_head *head = &part.head;
	struct process_context context = {0};
	size_t nr;

	worker_begins(job, "process %d", pid);
	*head = (struct context_head){.pid = pid};
	head->err = process_start_read(pid, &head->start_boot_ns);
	if (head->err == 0) {
		if (wanted->command_line)
			head->nr_command = (uint32_t)process_command_read(pid, part.rest);
		head->nr_variables = (uint32_t)process_variables_read(pid, wanted_names,
								      part.rest + head->nr_command);
		head->err = process_context_read(pid, &context);
	}
	if (head->err < 0)
		context.nr = 0;
	nr = head->nr_command + head->nr_variables;
	memcpy(part.rest + nr, context.message, context.nr);
	return worker_send_part(job, &part, sizeof(*head) + nr + context.nr, none);
}

int contexts_task(struct worker_job *job, void **state)
{
	struct bytes rest = job->question, names;
	struct contexts_wanted wanted;
	int err = 0;

	(void)state;
	wanted.command_line = bytes_u32(&rest);
	wanted.nr_variables = bytes_u32(&rest);
	names = bytes_cut(&rest, wanted.nr_variables);
	while (!rest.failed && rest.nr && err == 0) {
		const int32_t pid = (int32_t)bytes_u32(&rest);

		err = rest.failed ? -EINVAL : send_context(job, pid, &wanted, names);
	}
	return rest.failed ? -EINVAL : err;
}

/* --- in a parser ------------------------------------------------------------------------------ */

int attributes_task(struct worker_job *job, void **state)
{
	struct process_attributes attributes;
	int err = process_context_parse(job->question, &attributes);

	(void)state;
	if (err == 0)
		err = fd_write_at(job->answer_fd, 0, &attributes, sizeof(attributes));
	job->answer_bytes = sizeof(attributes);
	return err;
}
