/*
 * Measures the cost of unwind tables: table_cost [-n RUNS] FILE…
 *
 *	    rows   pages      bytes  bytes/row   wide     read     pack    store     load  file
 *	   28274      22     144844       5.12      7     2.54     0.24     0.25     0.19  libc.so.6
 *
 * Times are milliseconds, the median of RUNS (11). Each run opens the ELF file again and starts
 * with an empty table cache. The CPU caches and the page cache are warm from the run before, so the
 * figures include neither the disk nor the first read of a file.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "elf/image/elf_image.h"
#include "elf/unwind/unwind_cache.h"
#include "elf/unwind/unwind_rows.h"
#include "elf/unwind/unwind_table.h"

#define MAX_RUNS 1001

enum { STEP_READ, STEP_PACK, STEP_STORE, STEP_LOAD, NR_STEPS };

static const uint8_t cache_id[] = {0x42};
#define CACHE_NAME "42"

struct cost {
	uint64_t ns[NR_STEPS][MAX_RUNS];
	size_t nr_rows, nr_pages, nr_wide, bytes;
};

/* Returns the nanoseconds since *start and sets *start to now. */
static uint64_t lap(uint64_t *start)
{
	uint64_t now = clock_now_ns(), ns = now - *start;

	*start = now;
	return ns;
}

static int run_on_cache(struct cost *cost, size_t run, struct unwind_cache *cache,
			const struct unwind_table *table)
{
	struct unwind_table loaded;
	uint64_t start = clock_now_ns();
	int err = unwind_cache_store(cache, cache_id, sizeof(cache_id), table);

	cost->ns[STEP_STORE][run] = lap(&start);
	if (!err)
		err = unwind_cache_load(cache, cache_id, sizeof(cache_id), &loaded);
	cost->ns[STEP_LOAD][run] = lap(&start);
	if (!err)
		unwind_table_clear(&loaded);
	return err;
}

static int run_on_image(struct cost *cost, size_t run, struct unwind_cache *cache,
			const struct elf_image *image, struct error *error)
{
	cleanup(unwind_rows_clear) struct unwind_rows rows = {0};
	cleanup(unwind_table_clear) struct unwind_table table = {0};
	uint64_t start = clock_now_ns();
	int err = unwind_rows_read(&rows, image, NULL, error);

	cost->ns[STEP_READ][run] = lap(&start);
	if (err < 0)
		return err;
	err = unwind_table_pack(&table, &rows, image->machine);
	cost->ns[STEP_PACK][run] = lap(&start);
	if (err < 0)
		return error_set(error, err, "cannot pack: %s", strerror(-err));
	err = run_on_cache(cost, run, cache, &table);
	if (err < 0)
		return error_set(error, err, "cannot use the cache: %s", strerror(-err));
	cost->nr_rows = table.nr_rows;
	cost->nr_pages = table.nr_pages;
	cost->nr_wide = table.nr_wide;
	cost->bytes = unwind_table_bytes(&table);
	return 0;
}

static int run_once(struct cost *cost, size_t run, int folder, struct unwind_cache *cache,
		    const char *path, struct error *error)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_image image;
	int err;

	if (fd < 0)
		return error_set_errno(error, "cannot open it");
	err = elf_image_open(&image, fd, error);
	if (err < 0)
		return err;
	err = run_on_image(cost, run, cache, &image, error);
	elf_image_close(&image);
	(void)unlinkat(folder, CACHE_NAME, 0);
	return err;
}

static int compare_ns(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void print_cost(struct cost *cost, size_t nr_runs, const char *path)
{
	double nr_rows = cost->nr_rows ? (double)cost->nr_rows : 1;
	size_t step;

	printf("%8zu  %6zu  %9zu  %9.2f  %5zu", cost->nr_rows, cost->nr_pages, cost->bytes,
	       (double)cost->bytes / nr_rows, cost->nr_wide);
	for (step = 0; step < NR_STEPS; step++) {
		qsort(cost->ns[step], nr_runs, sizeof(cost->ns[step][0]), compare_ns);
		printf("  %7.2f", (double)cost->ns[step][nr_runs / 2] / 1e6);
	}
	printf("  %s\n", path);
}

/* Measures all files in turn; returns false if one of them failed. */
static bool run_files(char **paths, size_t nr_runs, int folder, struct unwind_cache *cache)
{
	static struct cost cost;
	bool all_well = true;

	printf("    rows   pages      bytes  bytes/row   wide     read     pack    store     load  "
	       "file\n");
	for (; *paths; paths++) {
		struct error error = {0};
		size_t run = 0;

		while (run < nr_runs && run_once(&cost, run, folder, cache, *paths, &error) == 0)
			run++;
		if (run == nr_runs)
			print_cost(&cost, nr_runs, *paths);
		else
			fprintf(stderr, "table_cost: '%s': %s\n", *paths, error.text);
		all_well &= run == nr_runs;
	}
	return all_well;
}

/* Measures with a temporary cache, which is removed afterwards. */
static int measure(char **paths, size_t nr_runs)
{
	char path[] = "/tmp/stook-table-cost-XXXXXX";
	cleanup_fd int folder = -1;
	struct unwind_cache *cache;
	struct error error = {0};
	bool all_well;

	if (!mkdtemp(path)) {
		perror("table_cost: /tmp");
		return 1;
	}
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cache = unwind_cache_open(path, UINT64_MAX, &error);
	if (!cache)
		fprintf(stderr, "table_cost: %s\n", error.text);
	all_well = cache && run_files(paths, nr_runs, folder, cache);
	unwind_cache_close(cache);
	(void)rmdir(path);
	return all_well ? 0 : 1;
}

int main(int argc, char **argv)
{
	uint64_t nr_runs = 11;
	bool understood = true;
	int option;

	while ((option = getopt(argc, argv, "n:")) != -1)
		understood &= option == 'n' && number_parse(optarg, MAX_RUNS, &nr_runs) == 0 &&
			      nr_runs > 0;
	if (!understood || optind == argc) {
		fprintf(stderr, "usage: table_cost [-n RUNS] FILE...\n");
		return 2;
	}
	return measure(argv + optind, nr_runs);
}
