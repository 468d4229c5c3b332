/*
 * Messages of hostile processes, parsed as they are. Attributes that are found are of the message, and within their
 * limit.
 *
 *	make fuzz && tests/fuzz/seeds_context.sh FOLDER && build/fuzz/fuzz_process_context FOLDER
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "fuzz/fuzz.h"
#include "proc/process_context.h"

/* True if the text is in the message, in which zeros are `?`. */
static bool is_in(const uint8_t *bytes, size_t nr, const char *text)
{
	size_t nr_text = strlen(text), i, k;

	for (i = 0; i + nr_text <= nr; i++) {
		for (k = 0; k < nr_text && (bytes[i + k] ? bytes[i + k] : '?') == (uint8_t)text[k];)
			k++;
		if (k == nr_text)
			return true;
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	struct process_attributes attributes, untouched;
	cleanup_free uint8_t *exact = malloc(nr + !nr);
	size_t i;
	int err;

	expect(exact);
	if (nr)
		memcpy(exact, bytes, nr);
	memset(&attributes, 0x5a, sizeof(attributes));
	untouched = attributes;
	err = process_context_parse(bytes_of(exact, nr), &attributes);
	if (err < 0) {
		expect(err == -EBADMSG);
		expect(!memcmp(&attributes, &untouched, sizeof(attributes)));
		return 0;
	}
	expect(attributes.nr_left_out <= nr);
	for (i = 0; i < PROCESS_NR_ATTRIBUTES; i++) {
		expect(memchr(attributes.texts[i], '\0', PROCESS_ATTRIBUTE_BYTES));
		expect(!*attributes.texts[i] || is_in(bytes, nr, process_attribute_names[i]));
		expect(is_in(bytes, nr, attributes.texts[i]));
	}
	return 0;
}
