/*
 * profile/named_code: frames to name, from a compromised process. What is accepted can be written, read again and
 * copied.
 *
 *	make fuzz && build/fuzz/fuzz_named_code -max_len=4096 CORPUS
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "profile/named_code.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	void *copy = malloc(nr + 1), *written;
	struct profile *profile, *again;

	if (!copy)
		abort();
	memcpy(copy, bytes, nr);
	if (named_code_read(copy, nr, &profile) == 0) {
		if (named_code_write(profile, &written, &nr) < 0 ||
		    named_code_read(written, nr, &again) < 0 || named_code_take(profile, again) < 0)
			abort();
		free(written);
		profile_free(again);
		profile_free(profile);
	}
	free(copy);
	return 0;
}
