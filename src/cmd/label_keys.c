/* See label_keys.h. */
#include "cmd/label_keys.h"

#include "base/array.h"
#include "cmd/option_table.h"

int label_keys_take(const char *value, unsigned *ret, struct error *error)
{
	/* in the order of enum label */
	static const char *const names[] = {"pid", "tid", "comm", "cpu", "cgroup"};

	return option_take_set("--by", value, names, ARRAY_SIZE(names), ret, error);
}
