/*
 * Looks up addresses in one symbol source of a file, for comparison with other tools:
 *
 *	$ echo 2f030 | print_functions plt /bin/bash
 *	2f030 2f030 endgrent@plt
 *
 * Link-time addresses are read from stdin in hexadecimal. For each, one line is printed: the
 * address, the function's start and its name, or `-` twice. With a size after the address there are
 * three lines, for the first, the middle and the last byte. The cost of the lookups is printed on
 * stderr.
 *
 * `print_functions link FILE` prints the name and the CRC of .gnu_debuglink, `crc FILE` the CRC of
 * the file itself.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/image/debug_link.h"
#include "elf/symbols/debug_data.h"
#include "elf/symbols/go_functions.h"
#include "elf/symbols/plt_stubs.h"

static int read_tables(struct symbol_table **ret, const struct elf_image *image, unsigned tables,
		       struct error *error)
{
	const struct symbol_part part = {image, tables};

	*ret = symbol_table_read(&part, 1, error);
	return *ret ? 0 : error->code;
}

static int read_static(struct symbol_table **ret, const struct elf_image *image,
		       struct error *error)
{
	return read_tables(ret, image, SYMBOLS_STATIC, error);
}

static int read_dynamic(struct symbol_table **ret, const struct elf_image *image,
			struct error *error)
{
	return read_tables(ret, image, SYMBOLS_DYNAMIC, error);
}

static const struct source {
	const char *name;
	int (*read)(struct symbol_table **ret, const struct elf_image *image, struct error *error);
} sources[] = {
	{"symtab", read_static}, {"dynsym", read_dynamic},  {"debugdata", debug_data_read},
	{"plt", plt_stubs_read}, {"go", go_functions_read},
};

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void print_name(const struct symbol_table *table, uint64_t address)
{
	uint64_t start;
	const char *name = symbol_table_find(table, address, &start);

	if (name)
		printf("%" PRIx64 " %" PRIx64 " %s\n", address, start, name);
	else
		printf("%" PRIx64 " - -\n", address);
}

static void print_names(const struct symbol_table *table)
{
	uint64_t address, bytes;
	char line[256];

	while (fgets(line, sizeof(line), stdin)) {
		int nr = sscanf(line, "%" SCNx64 " %" SCNx64, &address, &bytes);

		if (nr < 1)
			continue;
		print_name(table, address);
		if (nr < 2)
			continue;
		print_name(table, address + bytes / 2);
		print_name(table, bytes ? address + bytes - 1 : address);
	}
}

static int print_source(const struct source *source, const struct elf_image *image)
{
	struct symbol_table *table = NULL;
	struct error error = {0};
	struct rusage before, after;
	double begin = seconds();

	getrusage(RUSAGE_SELF, &before);
	if (source->read(&table, image, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	getrusage(RUSAGE_SELF, &after);
	if (!table) {
		fprintf(stderr, "none\n");
		return 0;
	}
	fprintf(stderr, "%zu symbols, %.1f ms, %zu bytes, %ld KiB more at the peak\n",
		symbol_table_nr(table), (seconds() - begin) * 1e3, symbol_table_bytes(table),
		after.ru_maxrss - before.ru_maxrss);
	print_names(table);
	symbol_table_free(table);
	return 0;
}

static int print_link(const struct elf_image *image)
{
	struct debug_link link;
	int err = debug_link_read(image, &link);

	if (err < 0)
		fprintf(stderr, "%s\n", strerror(-err));
	else
		printf("%s %08x\n", link.name, link.crc);
	return err < 0;
}

static int print_crc(int fd)
{
	uint32_t crc;
	int err = debug_link_crc(fd, NULL, NULL, &crc);

	if (err < 0)
		fprintf(stderr, "%s\n", strerror(-err));
	else
		printf("%08x\n", crc);
	return err < 0;
}

int main(int argc, char **argv)
{
	cleanup_fd int fd = argc == 3 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
	struct elf_image image;
	struct error error;
	int status = 2;
	size_t i;

	if (fd < 0) {
		fprintf(stderr, "usage: print_functions SOURCE FILE\n");
		return 2;
	}
	if (!strcmp(argv[1], "crc"))
		return print_crc(fd);
	if (elf_image_open(&image, fd, &error) < 0) {
		fprintf(stderr, "%s: %s\n", argv[2], error.text);
		return 1;
	}
	if (!strcmp(argv[1], "link"))
		status = print_link(&image);
	for (i = 0; i < ARRAY_SIZE(sources); i++)
		if (!strcmp(argv[1], sources[i].name))
			status = print_source(&sources[i], &image);
	elf_image_close(&image);
	return status;
}
