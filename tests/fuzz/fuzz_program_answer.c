/*
 * probe/find/program: parts of answers from the opener. Whatever they are, a file that is accepted has a handle, a
 * path, and, exactly if it says so, a root; an error that is accepted has texts that end.
 *
 *	make fuzz && build/fuzz/fuzz_program_answer -max_len=4096 CORPUS
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "probe/find/program.h"
#include "probe/find/program_task.h"

static void check(const struct program *program)
{
	size_t i;

	for (i = 0; i < program->nr; i++)
		if (program->files[i].handle < 0 || !program->files[i].path ||
		    program->files[i].bytes > INT64_MAX)
			abort();
}

/* The first byte has a bit for each handle, and the kind of the part. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	struct program program = {0};
	struct program_answer answer = {.program = &program};
	int handles[WORKER_HANDLES_MAX] = {-1, -1};
	uint32_t kind;
	char *copy;
	size_t i;

	if (!nr)
		return 0;
	kind = bytes[0] >> 2 & 3;
	copy = malloc(nr + sizeof(kind));
	if (!copy)
		abort();
	memcpy(copy, &kind, sizeof(kind));
	memcpy(copy + sizeof(kind), bytes + 1, nr - 1);
	for (i = 0; i < WORKER_HANDLES_MAX; i++)
		if (bytes[0] >> i & 1)
			handles[i] = open("/", O_PATH | O_CLOEXEC);
	if (program_answer_take(&answer, copy, nr - 1 + sizeof(kind), handles) == 0)
		check(&program);
	for (i = 0; i < WORKER_HANDLES_MAX; i++)
		if (handles[i] >= 0)
			(void)close(handles[i]);
	if (answer.error.code &&
	    (strnlen(answer.error.text, sizeof(answer.error.text)) == sizeof(answer.error.text) ||
	     strnlen(answer.error.hint, sizeof(answer.error.hint)) == sizeof(answer.error.hint)))
		abort();
	program_clear(&program);
	free(copy);
	return 0;
}
