/* Tries events by opening them: lists of what a kernel or a CPU has are longer than what it then accepts. */
#include "kernel/perf_open.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "event/event.h"

int perf_try(const char *name)
{
	cleanup_fd int fd = -1;
	struct event event;
	int err = event_parse(name, &event, NULL);

	if (err)
		return err;
	event.attr.disabled = event.attr.exclude_kernel = event.attr.exclude_hv = 1;
	fd = perf_open_own(&event.attr);
	return fd < 0 ? -errno : 0;
}

bool perf_is_missing(int err)
{
	return err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV || err == -EINVAL;
}

void perf_list_hardware(char *text, size_t bytes)
{
	static const char *const names[] = {"cycles",		"ref-cycles",	"instructions",
					    "cache-references", "cache-misses", "branches",
					    "branch-misses",	"bus-cycles"};
	size_t i, used;

	*text = '\0';
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		used = strlen(text);
		if (perf_try(names[i]) == 0)
			(void)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "",
				       names[i]);
	}
}
