/*
 * Prints the attributes of events, for tests that compare them with perf's:
 *
 *	print_events [-r DEVICES] [-t TRACEFS] [-m MODEL] <EVENTS
 *	print_events -l [-r DEVICES] [-t TRACEFS] [-m MODEL]
 *
 * Each line of the input is an event. For each event that it names, a line: the text, a tab, and fields that are not
 * 0, as `perf stat -vv` calls them. -l lists all names instead.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "event/event.h"

static void print_event(const char *text, const struct event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	const struct {
		const char *name;
		uint64_t value;
	} fields[] = {
		{"type", attr->type},
		{"config", attr->config},
		{"config1", attr->config1},
		{"config2", attr->config2},
		{"bp_type", attr->bp_type},
		{"sample_period", attr->sample_period},
		{"freq", attr->freq},
		{"exclude_user", attr->exclude_user},
		{"exclude_kernel", attr->exclude_kernel},
		{"exclude_hv", attr->exclude_hv},
		{"exclude_idle", attr->exclude_idle},
		{"exclude_host", attr->exclude_host},
		{"exclude_guest", attr->exclude_guest},
		{"precise_ip", attr->precise_ip},
		{"pinned", attr->pinned},
		{"exclusive", attr->exclusive},
	};
	size_t i;

	printf("%s\t", text);
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].value)
			printf(" %s=0x%" PRIx64, fields[i].name, fields[i].value);
	if (*event->cpus)
		printf(" cpus=%s", event->cpus);
	if (*event->unit || event->scale < 1 || event->scale > 1)
		printf(" unit=%s*%g", event->unit, event->scale);
	putchar('\n');
}

static void print_name(void *context, const struct event_name *name)
{
	printf("%s\t%s\t%s\n", name->name, name->pmu, name->description);
}

int main(int argc, char **argv)
{
	struct event_host_options options = {.tracefs_fd = -1};
	struct event_host *host;
	struct error error = {0};
	bool lists = false;
	char line[8192];
	int letter;

	while ((letter = getopt(argc, argv, "lr:t:m:")) != -1) {
		if (letter == 'l')
			lists = true;
		else if (letter == 'r')
			options.devices = optarg;
		else if (letter == 't')
			options.tracefs_fd = open(optarg, O_PATH | O_DIRECTORY | O_CLOEXEC);
		else if (letter == 'm')
			options.model = optarg;
		else
			return 2;
	}
	host = event_host_open(&options, &error);
	if (!host)
		return 1;
	if (lists)
		(void)event_names(host, print_name, NULL);
	while (!lists && fgets(line, sizeof(line), stdin)) {
		struct events events = {0};
		size_t i;

		line[strcspn(line, "\n")] = '\0';
		error = (struct error){0};
		if (events_parse(host, line, &events, &error) < 0)
			printf("%s\terror: %s; %s\n", line, error.text, error.hint);
		for (i = 0; i < events.nr; i++)
			print_event(line, &events.items[i]);
		events_clear(&events);
	}
	event_host_close(host);
	return 0;
}
