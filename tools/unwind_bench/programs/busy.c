/* Mostly what a libc does: copying, searching, sorting, formatting, allocating. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NR_LINES = 2000, LINE_BYTES = 64 };

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t one_round(unsigned int seed)
{
	char **lines = calloc(NR_LINES, sizeof(*lines));
	char *text = malloc(NR_LINES * LINE_BYTES + 1);
	size_t used = 0, found = 0;

	for (int i = 0; i < NR_LINES; i++) {
		lines[i] = malloc(LINE_BYTES);
		snprintf(lines[i], LINE_BYTES, "item %05u of %d", (seed + i) * 7919u % 20000, i);
	}
	qsort(lines, NR_LINES, sizeof(*lines), by_text);
	for (int i = 0; i < NR_LINES; i++) {
		size_t bytes = strlen(lines[i]);

		memcpy(text + used, lines[i], bytes);
		used += bytes;
		free(lines[i]);
	}
	text[used] = '\0';
	for (const char *at = text; (at = strstr(at, "item 00")); at++)
		found++;
	for (int i = 0; i < 200; i++)
		memmove(text, text + 1, used - i - 1);
	memset(text, 0, used);
	free(text);
	free(lines);
	return found;
}

int main(void)
{
	for (unsigned int seed = 1;; seed += one_round(seed) & 1)
		;
}
