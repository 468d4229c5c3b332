/*
 * probe/find/probes_task: answers from a compromised parser. Whatever it sends, an answer that is accepted has places
 * inside the file, texts inside its own text, and numbers within their limits.
 *
 *	make fuzz && build/fuzz/fuzz_probes_answer -max_len=4096 CORPUS
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "probe/find/probes_task.h"

#define FILE_BYTES 0x10000

/* Makes the numbers of the head agree with the length, which a fuzzer hardly ever guesses. */
static void fit(void *bytes, size_t nr, size_t nr_places, size_t nr_refusals)
{
	size_t parts = nr_places * sizeof(struct probes_place) +
		       nr_refusals * sizeof(struct probes_refusal);
	struct probes_head head;

	if (nr < sizeof(head) + parts)
		return;
	memcpy(&head, bytes, sizeof(head));
	head.nr_places = nr_places;
	head.nr_matches = nr_places;
	head.nr_refusals = nr_refusals;
	head.text_bytes = nr - sizeof(head) - parts;
	memcpy(bytes, &head, sizeof(head));
}

static void check_text(const struct probes_answer *answer, uint32_t text)
{
	if (text >= answer->head.text_bytes ||
	    strlen(probes_answer_text(answer, text)) >= answer->head.text_bytes - text)
		abort();
}

static void check(const struct probes_answer *answer)
{
	size_t i, k;

	check_text(answer, answer->head.why);
	check_text(answer, answer->head.example);
	for (i = 0; i < answer->head.nr_closest; i++)
		check_text(answer, answer->head.closest[i]);
	for (i = 0; i < answer->head.nr_places; i++) {
		const struct probes_place *place = &answer->places[i];

		if (place->offset >= FILE_BYTES || place->semaphore >= FILE_BYTES)
			abort();
		check_text(answer, place->name);
		check_text(answer, place->source);
		check_text(answer, place->implementation);
		check_text(answer, place->why_no_return);
		check_text(answer, place->arguments);
	}
	for (i = 0; i < answer->head.nr_refusals; i++) {
		check_text(answer, answer->refusals[i].why);
		for (k = 0; k < answer->refusals[i].nr_names; k++)
			check_text(answer, answer->refusals[i].names[k]);
	}
}

/* The first byte has two bits for places, two for refusals, and one that makes the head fit. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	struct probes_answer answer;
	void *copy;

	if (!nr)
		return 0;
	copy = malloc(nr);
	if (!copy)
		abort();
	memcpy(copy, bytes + 1, nr - 1);
	if (bytes[0] & 16)
		fit(copy, nr - 1, bytes[0] & 3, bytes[0] >> 2 & 3);
	if (probes_answer_parse(copy, nr - 1, FILE_BYTES, &answer) < 0)
		return 0;
	check(&answer);
	probes_answer_clear(&answer);
	return 0;
}
