/* See quiet_option.h. */
#include "cmd/options/quiet_option.h"

#include "base/array.h"

static const struct option_row rows[] = {
	{'q', "quiet", NULL, NULL, "nothing but results and errors"}, /* the bool itself */
};

struct option_group quiet_option_group(bool *is_quiet)
{
	return (struct option_group){rows, ARRAY_SIZE(rows), is_quiet};
}
