/*
 * sym/names_task: answers from a compromised parser. Whatever it sends, an answer that is accepted has a name inside
 * its text for each place, and numbers within their limits.
 *
 *	make fuzz && build/fuzz/fuzz_names_answer -max_len=4096 CORPUS
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "sym/names_task.h"

/* Makes the numbers of the head agree with the length, which a fuzzer hardly ever guesses. */
static void fit(void *bytes, size_t nr, size_t nr_asked)
{
	size_t places_bytes = nr_asked * sizeof(struct names_place);
	struct names_head head;

	if (nr < sizeof(head) + places_bytes)
		return;
	memcpy(&head, bytes, sizeof(head));
	head.nr = nr_asked;
	head.text_bytes = nr - sizeof(head) - places_bytes;
	memcpy(bytes, &head, sizeof(head));
}

/* The first byte is twice the number of offsets that were asked for; odd: the head is made to fit. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	size_t nr_asked = nr ? bytes[0] / 2 : 0, i;
	struct names_answer answer;
	void *copy;

	if (!nr)
		return 0;
	copy = malloc(nr);
	if (!copy)
		abort();
	memcpy(copy, bytes + 1, nr - 1);
	if (bytes[0] & 1)
		fit(copy, nr - 1, nr_asked);
	if (names_answer_parse(copy, nr - 1, nr_asked, &answer) < 0)
		return 0;
	if (answer.head.nr != nr_asked || answer.head.code.nr_segments > PROFILE_MAX_SEGMENTS ||
	    answer.head.code.build_id_bytes > PROFILE_BUILD_ID_BYTES)
		abort();
	for (i = 0; i < nr_asked; i++) {
		const char *name = names_answer_name(&answer, i);

		if (name && strlen(name) >= nr)
			abort();
	}
	names_answer_clear(&answer);
	return 0;
}
