/*
 * Measures the cost of symbol tables: symbol_cost [-n RUNS] [-l LOOKUPS] FILE…
 *
 *	symbols  table bytes   held bytes  held/table  peak/table    first     load  lookups/s  file
 *	 400004     28801234     26401128        0.92        1.14   101.22   101.21   12345678  big
 *
 * Table bytes: size of the file's symbol and string tables (.symtab and .dynsym). Held: memory that
 * stays allocated. Peak: maximum growth of the process during the first read. Times are
 * milliseconds, the median of RUNS (5): first is from opening the file to the first name, load is
 * the part for reading the tables. LOOKUPS (1,000,000) are random addresses in the file's code,
 * chosen beforehand.
 *
 * The page cache is not changed: for cold figures, drop it and use -n 1.
 */
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "elf/image/elf_image.h"
#include "elf/symbols/symbol_table.h"

#define MAX_RUNS    1001
#define MAX_LOOKUPS 100000000

enum { STEP_FIRST, STEP_LOAD, NR_STEPS };

struct cost {
	uint64_t ns[NR_STEPS][MAX_RUNS];
	uint64_t table_bytes, peak_bytes, lookups_ns;
	size_t nr_symbols, held_bytes, nr_named;
};

/*
 * Returns the peak memory since the last reset. (getrusage() would include the peak of the parent
 * before exec.)
 */
static uint64_t peak_bytes(void)
{
	cleanup_file FILE *file = fopen("/proc/self/status", "re");
	unsigned long kb = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmHWM: %lu kB", &kb) == 1)
			break;
	return (uint64_t)kb * 1024;
}

/* Resets the peak, without memory that earlier files left in the heap. */
static void reset_peak(void)
{
	cleanup_file FILE *file = fopen("/proc/self/clear_refs", "we");

	malloc_trim(0);
	if (file)
		fputs("5", file);
}

/* Returns the size of the symbol tables and their strings. */
static uint64_t table_bytes(const struct elf_image *image)
{
	GElf_Shdr table, strings;
	Elf_Scn *section = NULL;
	uint64_t sum = 0;

	while ((section = elf_nextscn(image->elf, section))) {
		if (!gelf_getshdr(section, &table) ||
		    (table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM))
			continue;
		sum += table.sh_size;
		if (gelf_getshdr(elf_getscn(image->elf, table.sh_link), &strings))
			sum += strings.sh_size;
	}
	return sum;
}

/* --- lookups ------------------------------------------------------------------------------- */

/* Marsaglia's xorshift: fast and reproducible. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t random_address(const struct elf_image *image, uint64_t *state)
{
	uint64_t bytes = 0, place;
	size_t i;

	for (i = 0; i < image->nr_segments; i++)
		bytes += image->segments[i].bytes;
	place = bytes ? next_random(state) % bytes : 0;
	for (i = 0; i < image->nr_segments && place >= image->segments[i].bytes; i++)
		place -= image->segments[i].bytes;
	return i < image->nr_segments ? image->segments[i].vaddr + place : 0;
}

static int look_up(struct cost *cost, const struct elf_image *image,
		   const struct symbol_table *table, size_t nr)
{
	cleanup_free uint64_t *addresses = calloc(nr, sizeof(*addresses));
	uint64_t state = 88172645463325252, start;
	size_t i;

	if (!addresses)
		return -1;
	for (i = 0; i < nr; i++)
		addresses[i] = random_address(image, &state);
	start = clock_now_ns();
	for (i = 0; i < nr; i++)
		cost->nr_named += symbol_table_find(table, addresses[i], NULL) != NULL;
	cost->lookups_ns = clock_now_ns() - start;
	return 0;
}

/* --- loading ------------------------------------------------------------------------------- */

static int run_on_image(struct cost *cost, size_t run, const struct elf_image *image,
			size_t nr_lookups, uint64_t start, struct error *error)
{
	const struct symbol_part part = {image, SYMBOLS_STATIC | SYMBOLS_DYNAMIC};
	struct symbol_table *table;
	uint64_t load_start, peak, now;
	int err = 0;

	reset_peak();
	peak = peak_bytes();
	load_start = clock_now_ns();
	table = symbol_table_read(&part, 1, error);
	if (!table)
		return -1;
	now = clock_now_ns();
	(void)symbol_table_find(table, image->entry, NULL);
	cost->ns[STEP_LOAD][run] = now - load_start;
	cost->ns[STEP_FIRST][run] = clock_now_ns() - start;
	if (run == 0) {
		cost->peak_bytes = peak_bytes() - peak;
		cost->table_bytes = table_bytes(image);
		cost->nr_symbols = symbol_table_nr(table);
		cost->held_bytes = symbol_table_bytes(table);
		err = look_up(cost, image, table, nr_lookups);
	}
	symbol_table_free(table);
	return err < 0 ? error_set(error, err, "out of memory") : 0;
}

static int run_once(struct cost *cost, size_t run, const char *path, size_t nr_lookups,
		    struct error *error)
{
	uint64_t start = clock_now_ns();
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_image image;
	int err;

	if (fd < 0)
		return error_set_errno(error, "cannot open it");
	err = elf_image_open(&image, fd, error);
	if (err < 0)
		return err;
	err = run_on_image(cost, run, &image, nr_lookups, start, error);
	elf_image_close(&image);
	return err;
}

/* --- output -------------------------------------------------------------------------------- */

static int compare_ns(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static double ratio(uint64_t of, uint64_t to)
{
	return to ? (double)of / (double)to : 0;
}

static void print_cost(struct cost *cost, size_t nr_runs, size_t nr_lookups, const char *path)
{
	size_t step;

	printf("%8zu  %11" PRIu64 "  %11zu  %10.2f  %10.2f", cost->nr_symbols, cost->table_bytes,
	       cost->held_bytes, ratio(cost->held_bytes, cost->table_bytes),
	       ratio(cost->peak_bytes, cost->table_bytes));
	for (step = 0; step < NR_STEPS; step++) {
		qsort(cost->ns[step], nr_runs, sizeof(cost->ns[step][0]), compare_ns);
		printf("  %7.2f", (double)cost->ns[step][nr_runs / 2] / 1e6);
	}
	printf("  %9.0f  %s\n", ratio(nr_lookups * NS_PER_SEC, cost->lookups_ns), path);
}

/* Measures all files in turn; returns false if one of them failed. */
static bool run_files(char **paths, size_t nr_runs, size_t nr_lookups)
{
	static struct cost cost;
	bool all_well = true;

	printf(" symbols  table bytes   held bytes  held/table  peak/table    first     load  "
	       "lookups/s  file\n");
	for (; *paths; paths++) {
		struct error error = {0};
		size_t run = 0;

		while (run < nr_runs && run_once(&cost, run, *paths, nr_lookups, &error) == 0)
			run++;
		if (run == nr_runs)
			print_cost(&cost, nr_runs, nr_lookups, *paths);
		else
			fprintf(stderr, "symbol_cost: '%s': %s\n", *paths, error.text);
		all_well &= run == nr_runs;
	}
	return all_well;
}

int main(int argc, char **argv)
{
	uint64_t nr_runs = 5, nr_lookups = 1000000;
	bool understood = true;
	int option;

	while ((option = getopt(argc, argv, "n:l:")) != -1)
		understood &=
			(option == 'n' && number_parse(optarg, MAX_RUNS, &nr_runs) == 0 &&
			 nr_runs > 0) ||
			(option == 'l' && number_parse(optarg, MAX_LOOKUPS, &nr_lookups) == 0 &&
			 nr_lookups > 0);
	if (!understood || optind == argc) {
		fprintf(stderr, "usage: symbol_cost [-n RUNS] [-l LOOKUPS] FILE...\n");
		return 2;
	}
	return run_files(argv + optind, nr_runs, nr_lookups) ? 0 : 1;
}
