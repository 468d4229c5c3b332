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
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd_io.h"
#include "base/hash.h"
#include "proc/process_context.h"
#include "proc/process_info.h"

#define FIRST_WAIT_NS (5 * NS_PER_SEC) /* until a process without a context is asked again … */
#define WAIT_FACTOR   4		       /* … each wait is so much longer … */
#define MOST_WAIT_NS  (3600 * NS_PER_SEC)
#define AGAIN_NS      (300 * NS_PER_SEC) /* until one with a context is: it may have changed */
#define LOOK_NS	      (10 * NS_PER_SEC)	 /* for all processes of a look */
#define PARSE_NS      (10 * NS_PER_SEC)	 /* on a CPU that others keep busy */
#define SILENT_MAX    3			 /* times that a process may not answer */

struct entry {
	int32_t pid;
	unsigned nr_silent;
	struct program_id program;
	uint64_t next_ns, wait_ns; /* when it is asked next, and how long after that */
	uint64_t look;		   /* the last one with samples of the process */
	uint64_t message_hash;	   /* of the context that the texts are from; 0: none */
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
	entry->message_hash = 0;
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
	free(labels);
}

static struct entry *find(const struct process_labels *labels, int32_t pid)
{
	const uint64_t *found = u64_map_find(&labels->by_pid, (uint32_t)pid);

	return found ? &labels->items[*found] : NULL;
}

struct bytes process_labels_find(const struct process_labels *labels, int32_t pid)
{
	const struct entry *entry = find(labels, pid);

	return entry ? bytes_of(entry->texts, entry->nr) : (struct bytes){0};
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
	const struct program_id *program = &name->program;

	if (!program->start_time_ns || (program->start_time_ns == entry->program.start_time_ns &&
					program->exec_id == entry->program.exec_id))
		return;
	if (entry->program.start_time_ns) {
		clear_texts(labels, entry);
		*entry = (struct entry){.pid = entry->pid, .look = entry->look};
	}
	entry->program = *program;
}

/* --- asking ----------------------------------------------------------------------------------- */

/* The part of an answer about a process; the message follows. */
struct context_head {
	int32_t pid, err;
	uint64_t start_boot_ns;
};

struct context_answer {
	struct context_head head;
	uint8_t *message;
	size_t nr;
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
		free((*look)->answers[i].message);
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
	if (answer.head.pid != look->pids[look->nr_answers] || answer.nr > PROCESS_CONTEXT_BYTES)
		return -EPROTO;
	answer.message = malloc(answer.nr + 1);
	if (!answer.message)
		return -ENOMEM;
	memcpy(answer.message, (const char *)bytes + sizeof(answer.head), answer.nr);
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
		.bytes = answer->message,
		.nr = answer->nr,
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

static int set_texts(struct process_labels *labels, struct entry *entry,
		     const struct process_attributes *attributes)
{
	size_t nr = 0, i;
	char *at;

	labels->nr_left_out += attributes->nr_left_out;
	for (i = 0; i < PROCESS_NR_ATTRIBUTES; i++)
		if (*attributes->texts[i])
			nr += strlen(process_attribute_names[i]) + strlen(attributes->texts[i]) + 2;
	if (!nr)
		return 0;
	if (nr > PROCESS_LABELS_MAX_BYTES - labels->bytes) {
		labels->nr_left_out++;
		return 0;
	}
	at = entry->texts = malloc(nr);
	if (!at)
		return -ENOMEM;
	entry->nr = nr;
	labels->bytes += nr;
	for (i = 0; i < PROCESS_NR_ATTRIBUTES; i++)
		if (*attributes->texts[i]) {
			at = stpcpy(at, process_attribute_names[i]) + 1;
			at = stpcpy(at, attributes->texts[i]) + 1;
		}
	return 0;
}

/* If a context cannot be read now, the texts of the one before stay. */
static int take_answer(struct process_labels *labels, struct worker *worker,
		       const struct look *look, size_t number)
{
	const struct context_answer *answer = &look->answers[number];
	struct entry *entry = &labels->items[look->entries[number]];
	const uint64_t hash = hash_key(answer->message, answer->nr) | 1;
	struct process_attributes attributes;
	int err = answer->head.err;

	if (err == -ESRCH ||
	    !process_start_can_be(entry->program.start_time_ns, answer->head.start_boot_ns))
		return 0;
	if (err == 0 || err == -EAGAIN)
		entry->next_ns = look->now_ns + (err ? FIRST_WAIT_NS : AGAIN_NS);
	if (err == -EAGAIN || (err == 0 && hash == entry->message_hash))
		return 0;
	if (err == -E2BIG)
		labels->nr_left_out++;
	if (err == 0)
		err = ask_parser(worker, answer, &attributes);
	if (err == -ENOMEM)
		return err;
	if (answer->head.err == 0 && err < 0 && err != -EBADMSG)
		return 0; /* the parser failed */
	clear_texts(labels, entry);
	if (err < 0)
		return 0;
	entry->message_hash = hash;
	return set_texts(labels, entry, &attributes);
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

int process_labels_look(struct process_labels *labels, struct worker *worker,
			const struct profile *profile, const struct process_names *names,
			uint64_t now_ns)
{
	cleanup(free_look) struct look *look = calloc(1, sizeof(*look));
	struct opener_question question = {
		.task = TASK_CONTEXTS,
		.most_ns = LOOK_NS,
		.take = take_context,
		.context = look,
	};
	char doing[WORKER_DOING_BYTES];
	size_t i;
	int err;

	if (!look)
		return -ENOMEM;
	labels->nr_looks++;
	look->now_ns = now_ns;
	err = list_due(labels, profile, names, look);
	if (err == 0 && look->nr) {
		question.bytes = look->pids;
		question.nr = look->nr * sizeof(*look->pids);
		err = worker_call_opener(worker, &question, doing);
		schedule(labels, look, err);
		err = err == -ENOMEM ? err : 0;
	}
	for (i = 0; i < look->nr_answers && !err; i++)
		err = take_answer(labels, worker, look, i);
	forget_exited(labels);
	return err;
}

/* --- in the opener ---------------------------------------------------------------------------- */

static int send_context(struct worker_job *job, int32_t pid)
{
	static const int none[WORKER_HANDLES_MAX] = {-1, -1};
	uint8_t part[sizeof(struct context_head) + PROCESS_CONTEXT_BYTES];
	struct context_head head = {.pid = pid};
	struct process_context context;

	worker_begins(job, "process %d", pid);
	head.err = process_start_read(pid, &head.start_boot_ns);
	if (head.err == 0)
		head.err = process_context_read(pid, &context);
	if (head.err < 0)
		context.nr = 0;
	memcpy(part, &head, sizeof(head));
	memcpy(part + sizeof(head), context.message, context.nr);
	return worker_send_part(job, part, sizeof(head) + context.nr, none);
}

int contexts_task(struct worker_job *job, void **state)
{
	struct bytes rest = job->question;
	int err = 0;

	(void)state;
	while (rest.nr && err == 0) {
		const int32_t pid = (int32_t)bytes_u32(&rest);

		err = rest.failed ? -EINVAL : send_context(job, pid);
	}
	return err;
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
