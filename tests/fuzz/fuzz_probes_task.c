/*
 * probe/find/probes_task: what a parser does with a foreign file, by a pattern of each kind. The answer must be one
 * that stook accepts.
 *
 *	make fuzz && build/fuzz/fuzz_probes_task -max_len=65536 CORPUS
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "fuzz/fuzz.h"
#include "probe/find/probes_task.h"

/* Each is a question's texts: the path, no library of ours, the pattern, exclusions. */
#define TEXTS(patterns) "/usr/bin/prog\0\0" patterns

static const struct {
	const char *texts;
	size_t nr_bytes;
	uint64_t nr_texts;
	bool is_usdt, is_regex, force_returns, wants_closest;
	uint64_t max_places;
} questions[] = {
#define QUESTION(patterns, nr) \
	.texts = TEXTS(patterns), .nr_bytes = sizeof(TEXTS(patterns)), .nr_texts = 2 + (nr)
	{QUESTION("prog:*", 1)},
	{QUESTION("prog:*\0!prog:main", 2), .max_places = 2},
	{QUESTION("r:prog:*", 1), .force_returns = true},
	{QUESTION("r:prog:*a*", 1), .wants_closest = true},
	{QUESTION("prog:main+0x4", 1)},
	{QUESTION("prog:0x401004", 1)},
	{QUESTION("prog:.*", 1), .is_regex = true},
	{QUESTION("u:prog:*\0!u:prog:x", 2), .is_usdt = true, .wants_closest = true},
};

static int open_file(const uint8_t *bytes, size_t nr)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, nr) != (ssize_t)nr)
		abort();
	return fd;
}

/* Asks twice, since the functions are kept for the second time. */
static void ask(struct probes_state *state, int fd, size_t file_bytes, size_t i)
{
	struct probes_question head = {
		.is_usdt = questions[i].is_usdt,
		.is_regex = questions[i].is_regex,
		.force_returns = questions[i].force_returns,
		.wants_closest = questions[i].wants_closest,
		.max_places = questions[i].max_places,
		.nr_texts = questions[i].nr_texts,
	};
	uint8_t question[sizeof(head) + 128];
	struct worker_job job = {.fd = fd};
	struct probes_answer answer;
	size_t parts_bytes;
	uint8_t *copy;

	memcpy(question, &head, sizeof(head));
	memcpy(question + sizeof(head), questions[i].texts, questions[i].nr_bytes);
	job.question = bytes_of(question, sizeof(head) + questions[i].nr_bytes);
	if (probes_find(state, &job, &answer) < 0)
		return;
	parts_bytes = answer.head.nr_places * sizeof(*answer.places);
	copy = malloc(sizeof(answer.head) + parts_bytes +
		      answer.head.nr_refusals * sizeof(*answer.refusals) + answer.head.text_bytes);
	if (!copy)
		abort();
	memcpy(copy, &answer.head, sizeof(answer.head));
	if (parts_bytes)
		memcpy(copy + sizeof(answer.head), answer.places, parts_bytes);
	parts_bytes += sizeof(answer.head);
	if (answer.head.nr_refusals)
		memcpy(copy + parts_bytes, answer.refusals,
		       answer.head.nr_refusals * sizeof(*answer.refusals));
	parts_bytes += answer.head.nr_refusals * sizeof(*answer.refusals);
	memcpy(copy + parts_bytes, answer.text, answer.head.text_bytes);
	parts_bytes += answer.head.text_bytes;
	probes_answer_clear(&answer);
	if (probes_answer_parse(copy, parts_bytes, file_bytes, &answer) < 0)
		abort();
	probes_answer_clear(&answer);
}

/* The first byte chooses the question. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	struct probes_state *state = probes_state_new();
	int fd;

	if (!state)
		abort();
	if (nr) {
		fd = open_file(bytes + 1, nr - 1);
		ask(state, fd, nr - 1, bytes[0] % ARRAY_SIZE(questions));
		ask(state, fd, nr - 1, bytes[0] % ARRAY_SIZE(questions));
		(void)close(fd);
	}
	probes_state_free(state);
	return 0;
}
