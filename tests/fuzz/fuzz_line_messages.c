/*
 * sym/source_lines: messages from a compromised parser. Whatever it sends, the reader must stay within its bounds
 * and report each address at most once, with NUL-terminated strings.
 *
 *	make fuzz && build/fuzz/fuzz_line_messages -max_len=4096 CORPUS
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "fuzz/fuzz.h"
#include "sym/source_lines.h"

static const uint64_t addresses[] = {1, 2, 3, 4, 5, 6, 7, 8};

static int look_at(void *context, size_t i, const struct debug_line *lines, size_t nr_lines)
{
	unsigned *told = context;
	size_t k;

	if (i >= ARRAY_SIZE(addresses) || *told & 1u << i || !nr_lines ||
	    nr_lines > DEBUG_LINES_MAX)
		abort();
	*told |= 1u << i;
	for (k = 0; k < nr_lines; k++)
		if ((lines[k].function && strlen(lines[k].function) >= LINE_TEXT_MAX_BYTES) ||
		    (lines[k].file && strlen(lines[k].file) >= LINE_TEXT_MAX_BYTES))
			abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	struct debug_info_work work;
	struct error error = {0};
	unsigned told = 0;
	const struct debug_info_request request = {
		.addresses = addresses,
		.nr = ARRAY_SIZE(addresses),
		.found = look_at,
		.context = &told,
	};
	int err = lines_answer_read(bytes, nr, &request, &work, &error);

	if (err < 0 && !error.text[0])
		abort();
	return 0;
}
