/* See probe_label.h. */
#include "cmd/probe_label.h"

#include <stdio.h>

char *probe_label(const struct probe *probe)
{
	const char *kind = probe->is_return ? "r:" : "";
	char *label;
	int written;

	if (probe->detail)
		written = asprintf(&label, "%s%s (%s)", kind, probe->name, probe->detail);
	else
		written = asprintf(&label, "%s%s", kind, probe->name);
	return written < 0 ? NULL : label;
}
