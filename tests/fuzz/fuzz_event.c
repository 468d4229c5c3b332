/*
 * Arbitrary descriptions of events, over a tree of PMUs of which one is arbitrary, too. The first line is the
 * description; the next ones are files of the PMU `fuzz`, PATH and text: `format/x config:0-7`.
 *
 *	make fuzz && tests/fuzz/seeds_events.sh FOLDER && build/fuzz/fuzz_event FOLDER
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "event/event.h"
#include "event/pmu.h"
#include "fuzz/fuzz.h"
#include "unit/event_fixture.h"

#define MAX_BYTES 4096
#define LINES_MAX 16

static char root[] = "/dev/shm/stook-fuzz-XXXXXX";

static void remove_root(void)
{
	tree_remove(root);
}

static bool is_of_pmu(const char *path)
{
	static const char *const folders[] = {"format/", "events/"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(folders); i++)
		if (!strncmp(path, folders[i], strlen(folders[i]))) {
			path += strlen(folders[i]);
			return *path && *path != '.' && !strchr(path, '/');
		}
	return !strcmp(path, "type") || !strcmp(path, "cpus") || !strcmp(path, "cpumask");
}

/* The files of the fuzzed PMU, instead of the last input's. Most inputs differ in their first line only. */
static void write_pmu(char *lines)
{
	static char last[MAX_BYTES + 1];
	char path[512], *line, *text;
	size_t nr = 0;

	if (!strcmp(lines, last))
		return;
	(void)strcpy(last, lines);

	(void)snprintf(path, sizeof(path), "%s/fuzz", root);
	tree_remove(path);
	tree_write(root, "fuzz/type", "77");
	while (nr++ < LINES_MAX && (line = strsep(&lines, "\n"))) {
		text = strchr(line, ' ');
		if (!text)
			continue;
		*text++ = '\0';
		if (strlen(line) > 128 || !is_of_pmu(line))
			continue;
		(void)snprintf(path, sizeof(path), "fuzz/%s", line);
		tree_write(root, path, text);
	}
}

static void check_format(const char *text)
{
	struct pmu_format format = {0};
	uint64_t field = 0;

	if (pmu_format_parse(text, &format) < 0)
		return;
	expect(format.field < PMU_FIELDS && format.bits);
	expect(pmu_format_set(&format, pmu_format_max(&format), &field) == 0);
	expect(field == format.bits);
	expect(pmu_format_set(&format, 0, &field) == 0 && !field);
}

static void check_events(const struct events *events)
{
	size_t i;

	expect(events->nr > 0);
	for (i = 0; i < events->nr; i++) {
		const struct event *event = &events->items[i];

		expect(memchr(event->name, '\0', sizeof(event->name)));
		expect(event->leader <= i && events->items[event->leader].leader == event->leader);
		expect(event->attr.size == sizeof(event->attr) && event->attr.precise_ip <= 3);
		expect(event->attr.type == PERF_TYPE_BREAKPOINT || !event->attr.bp_type);
		expect(!event->attr.disabled && !event->attr.sample_type &&
		       !event->attr.read_format);
	}
}

static void check_split(const char *text)
{
	char *copy = strdup(text), *rest = copy, *item;
	size_t nr = 0;

	expect(copy);
	while ((item = event_split(&rest)))
		nr += strlen(item) + 1;
	expect(nr == strlen(text) + 1);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	struct event_host_options options = {.devices = root, .tracefs_fd = -1, .model = ""};
	char text[MAX_BYTES + 1], *lines = text, *description;
	struct event_host *host;
	struct events events = {0};
	struct error error = {0};

	if (nr > MAX_BYTES)
		return 0;
	if (strstr(root, "XXXXXX")) {
		tree_make("skylake", root);
		(void)atexit(remove_root);
	}
	memcpy(text, bytes, nr);
	text[nr] = '\0';
	description = strsep(&lines, "\n");
	if (lines && *lines)
		write_pmu(lines);
	check_format(description);
	check_split(description);
	(void)event_is_tracepoint(description);
	host = event_host_open(&options, &error);
	expect(host);
	if (events_parse(host, description, &events, &error) < 0)
		expect(error.code < 0 && *error.text && !events.nr);
	else
		check_events(&events);
	events_clear(&events);
	event_host_close(host);
	return 0;
}
