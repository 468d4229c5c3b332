/*
 * Guessing which place has failed a link; see hard_places.h.
 *
 * One place that can't be probed fails all of its link, and the kernel does not say which. Finding
 * three of 10,000 by halving took 30 links and 2.6 s, for each costs grace periods. The guess need
 * not be right: the kernel is asked in each case, about a handful instead of all.
 */
#include "probe/attach/hard_places.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

/* What uprobes don't take on x86: prefixes lock, cs, ss, ds and es; AVX; what only the kernel does. */
#if defined(__x86_64__)
static bool is_hard_byte(uint8_t byte)
{
	static const uint8_t hard[] = {0xf0, 0x2e, 0x36, 0x3e, 0x26, 0x62, 0xc4, 0xc5,
				       0xf1, 0xf4, 0xfa, 0xfb, 0xcc, 0xce, 0xcf};

	return memchr(hard, byte, ARRAY_SIZE(hard));
}
#else
/* The first byte of an arm64 instruction does not tell what kind it is of: no guess. */
static bool is_hard_byte(uint8_t byte)
{
	(void)byte;
	return false;
}
#endif

static bool is_hard(const struct probe_list *list, uint32_t number)
{
	const struct probe *probe = &list->probes[number];
	uint8_t byte;

	return pread(list->files[probe->file].fd, &byte, 1, (off_t)probe->offset) == 1 &&
	       is_hard_byte(byte);
}

size_t hard_places_first(const struct probe_list *list, const uint32_t *numbers, size_t nr,
			 uint32_t *ret_sorted)
{
	size_t nr_hard = 0, nr_easy = 0, i;

	for (i = 0; i < nr; i++) {
		if (is_hard(list, numbers[i]))
			ret_sorted[nr_hard++] = numbers[i];
		else
			ret_sorted[nr - ++nr_easy] = numbers[i];
	}
	/* The others were put in from the end. */
	for (i = 0; i < nr_easy / 2; i++) {
		uint32_t *a = &ret_sorted[nr_hard + i], *b = &ret_sorted[nr - 1 - i], number = *a;

		*a = *b;
		*b = number;
	}
	return nr_hard;
}
