/*
 * counter FILE EVENTS COMMAND ARGUMENT…: counts events on all CPUs while a command runs
 *
 * Plain counting perf events, to compare samples with. Writes a line to the file for each event of the list: its count
 * and the nanoseconds of all CPUs in which it was to count, and had a counter. Exits with the command's status.
 *
 *   cycles 5123456789 5123460000 5123460000
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event/event.h"
#include "kernel/cpus.h"
#include "kernel/perf_open.h"

#define MAX_FDS 64

static int fds[MAX_FDS];
static size_t nr_fds;

static void open_event(const struct event *event, const struct cpus *online)
{
	struct perf_event_attr attr = event->attr;
	size_t i;

	attr.size = sizeof(attr);
	attr.disabled = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	for (i = 0; i < online->nr && nr_fds < MAX_FDS; i++) {
		fds[nr_fds] = perf_open(&attr, online->numbers[i]);
		if (fds[nr_fds++] < 0)
			err(125, "cannot count '%s'", event->name);
	}
}

static void switch_all(unsigned long request)
{
	size_t i;

	for (i = 0; i < nr_fds; i++)
		if (ioctl(fds[i], request, 0) < 0)
			err(125, "cannot start or stop counting");
}

static void print(FILE *out, const struct events *events, size_t nr_cpus)
{
	uint64_t values[3], sums[3];
	size_t i, k;

	for (i = 0; i < nr_fds; i++) {
		if (i % nr_cpus == 0)
			sums[0] = sums[1] = sums[2] = 0;
		if (read(fds[i], values, sizeof(values)) != sizeof(values))
			err(125, "cannot read a count");
		for (k = 0; k < 3; k++)
			sums[k] += values[k];
		if (i % nr_cpus == nr_cpus - 1)
			fprintf(out, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
				events->items[i / nr_cpus].name, sums[0], sums[1], sums[2]);
	}
}

static int run(char **command)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		execvp(command[0], command);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		err(125, "%s", command[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

int main(int argc, char **argv)
{
	const struct event_host_options options = {.tracefs_fd = -1};
	struct event_host *host = event_host_open(&options, NULL);
	struct events events = {0};
	struct cpus online = {0};
	struct error error = {0};
	int status;
	FILE *out;
	size_t i;

	if (argc < 4 || !host)
		return 125;
	if (events_parse(host, argv[2], &events, &error) < 0 ||
	    cpus_read(&online, "online", &error) < 0)
		errx(125, "%s", error.text);
	out = fopen(argv[1], "we");
	if (!out)
		err(125, "%s", argv[1]);
	for (i = 0; i < events.nr; i++)
		open_event(&events.items[i], &online);
	switch_all(PERF_EVENT_IOC_ENABLE);
	status = run(argv + 3);
	switch_all(PERF_EVENT_IOC_DISABLE);
	print(out, &events, online.nr);
	events_clear(&events);
	cpus_clear(&online);
	event_host_close(host);
	return fclose(out) == 0 ? status : 125;
}
