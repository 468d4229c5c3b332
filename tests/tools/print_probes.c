/*
 * Prints the probes that target_find() finds for patterns, one per line:
 *
 *	$ print_probes c:mallo*
 *	call /lib/x86_64-linux-gnu/libc.so.6+0x96f50 malloc
 *	$ print_probes -r -p 1234 'redis:^(read|write).*'
 *
 * -r: regular expressions; -g: return probes in Go programs; -n MAX: at most MAX probes; -p PID: in
 * this process, may be repeated; -d FOLDER: with debug files, may be repeated; -q: only the number.
 * Refusals follow as `refused NAME: WHY`. The cost is printed on stderr.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/find/find.h"
#include "run/run.h"
#include "worker/worker.h"

#define REPEATED_MAX 16

static const char *file_of(const struct probe_list *list, const struct probe *probe)
{
	return probe->kind == PROBE_USER || probe->kind == PROBE_USDT
		       ? list->files[probe->file].path
		       : "kernel";
}

static void print_probe(const struct probe_list *list, const struct probe *probe)
{
	static const char *const kinds[] = {"call", "usdt", "kernel", "tracepoint"};

	printf("%s ", probe->is_return ? "return" : kinds[probe->kind]);
	if (probe->kind == PROBE_TRACEPOINT)
		printf("%" PRIu32, probe->tracepoint);
	else if (probe->kind == PROBE_KERNEL)
		printf("%s+0x%" PRIx64 "@%" PRIx64, probe->symbol, probe->offset, probe->address);
	else
		printf("%s+0x%" PRIx64, file_of(list, probe), probe->offset);
	printf(" %s", probe->name);
	if (probe->detail)
		printf(" [%s]", probe->detail);
	if (probe->is_go)
		printf(" go");
	if (probe->semaphore)
		printf(" semaphore 0x%" PRIx64, probe->semaphore);
	if (probe->arguments)
		printf(" (%s)", probe->arguments);
	printf("\n");
}

static void print_list(const struct probe_list *list)
{
	size_t i;

	for (i = 0; i < list->nr_probes; i++)
		print_probe(list, &list->probes[i]);
	for (i = 0; i < list->nr_refusals; i++)
		printf("refused %s: %s\n", list->refusals[i].name, list->refusals[i].why);
}

static bool parse(int argc, char **argv, struct target_options *options, bool *ret_quiet)
{
	static uint32_t pids[REPEATED_MAX];
	static const char *folders[REPEATED_MAX];
	int option;

	options->pids = pids;
	options->debug_folders = folders;
	while ((option = getopt(argc, argv, "rgqn:p:d:")) != -1) {
		if (option == 'r')
			options->is_regex = true;
		else if (option == 'g')
			options->force_returns = true;
		else if (option == 'q')
			*ret_quiet = true;
		else if (option == 'n')
			options->max_probes = strtoul(optarg, NULL, 10);
		else if (option == 'p' && options->nr_pids < REPEATED_MAX)
			pids[options->nr_pids++] = (uint32_t)strtoul(optarg, NULL, 10);
		else if (option == 'd' && options->nr_debug_folders < REPEATED_MAX)
			folders[options->nr_debug_folders++] = optarg;
		else
			return false;
	}
	options->patterns = (const char *const *)(argv + optind);
	options->nr_patterns = (size_t)(argc - optind);
	return argc > optind;
}

int main(int argc, char **argv)
{
	int option = worker_main(argc, argv, run_tasks, NR_TASKS);
	struct target_options options = {0};
	struct probe_list list;
	struct error error = {0};
	bool quiet = false;
	uint64_t start;
	int err;

	if (option >= 0)
		return option;
	if (!parse(argc, argv, &options, &quiet)) {
		fprintf(stderr,
			"usage: print_probes [-rgq] [-n MAX] [-p PID] [-d FOLDER] PATTERN…\n");
		return 2;
	}
	options.worker = worker_new(&error);
	if (!options.worker) {
		fprintf(stderr, "print_probes: %s\n", error.text);
		return 1;
	}
	probe_list_init(&list);
	start = clock_now_ns();
	err = target_find(&options, &list, &error);
	fprintf(stderr, "%zu probes, %zu refusals, %.3f s\n", list.nr_probes, list.nr_refusals,
		(double)(clock_now_ns() - start) / NS_PER_SEC);
	if (!quiet)
		print_list(&list);
	if (err < 0)
		fprintf(stderr, "print_probes: %s\n%s%s%s", error.text,
			error.hint[0] ? "  hint: " : "", error.hint, error.hint[0] ? "\n" : "");
	probe_list_clear(&list);
	worker_free(options.worker);
	return err < 0;
}
