/* See label_keys.h. */
#include "cmd/options/label_keys.h"

#include <errno.h>
#include <stddef.h>

#include "base/array.h"
#include "cmd/options/option_table.h"

/* in the order of enum label */
static const char *const names[] = {"pid", "tid", "comm", "cpu", "cgroup"};

int label_keys_take(const char *value, unsigned *ret, struct error *error)
{
	return option_take_set("--by", value, names, ARRAY_SIZE(names), ret, error);
}

int label_keys_check(unsigned wanted, unsigned there, struct error *error)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!(wanted & ~there & 1U << i))
			continue;
		(void)error_set(error, -EINVAL, "the profile does not tell samples apart by %s",
				names[i]);
		error_hint(error, "take it with --by %s; perf's text with 'perf script -F +%s'",
			   names[i], names[i]);
		return -EINVAL;
	}
	return 0;
}
