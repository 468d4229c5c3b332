/* See quiet_option.h. */
#include "cmd/quiet_option.h"

#include "base/array.h"

static int take_quiet(void *context, const char *value, struct error *error)
{
	bool *is_quiet = context;

	*is_quiet = true;
	return 0;
}

static const struct option_row rows[] = {
	{'q', "quiet", NULL, take_quiet, "nothing but results and errors"},
};

struct option_group quiet_option_group(bool *is_quiet)
{
	return (struct option_group){rows, ARRAY_SIZE(rows), is_quiet};
}
