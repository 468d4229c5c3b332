/*
 * Prints the functions and lines at addresses of a file's code, as `addr2line -f -i -a` does:
 *
 *	$ echo 0x1139 | print_lines program
 *	0x0000000000001139
 *	inner
 *	/tmp/program.c:3
 *	main
 *	/tmp/program.c:8
 *
 * Link-time addresses are read from stdin in hexadecimal; the results are sorted and without
 * duplicates. -n omits the lines, -s prints only the outermost function, -q only the totals, -r
 * FOLDER is the root of the file's paths, -o works without a helper process.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "run/run.h"
#include "sym/source_lines.h"

struct printer {
	uint64_t *addresses;
	size_t nr, capacity;
	char **answers; /* per address; NULL: none */
	size_t nr_found;
	bool is_quiet;
};

static int compare_addresses(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static int read_addresses(struct printer *printer)
{
	uint64_t address;
	size_t i, nr = 0;

	while (scanf("%" SCNx64, &address) == 1) {
		if (array_reserve(&printer->addresses, &printer->capacity, printer->nr + 1,
				  sizeof(address)) < 0)
			return -ENOMEM;
		printer->addresses[printer->nr++] = address;
	}
	if (printer->nr)
		qsort(printer->addresses, printer->nr, sizeof(address), compare_addresses);
	for (i = 0; i < printer->nr; i++)
		if (!nr || printer->addresses[nr - 1] != printer->addresses[i])
			printer->addresses[nr++] = printer->addresses[i];
	printer->nr = nr;
	printer->answers = calloc(nr + 1, sizeof(*printer->answers));
	return printer->answers ? 0 : -ENOMEM;
}

static int found(void *context, size_t i, const struct debug_line *lines, size_t nr_lines)
{
	struct printer *printer = context;
	FILE *stream;
	size_t nr, k;

	printer->nr_found++;
	if (printer->is_quiet)
		return 0;
	stream = open_memstream(&printer->answers[i], &nr);
	if (!stream)
		return -ENOMEM;
	for (k = 0; k < nr_lines; k++)
		fprintf(stream, "%s\n%s:%" PRIu32 "\n",
			lines[k].function ? lines[k].function : "??",
			lines[k].file ? lines[k].file : "??", lines[k].line);
	return fclose(stream) == 0 ? 0 : -errno;
}

static void print_answers(const struct printer *printer)
{
	size_t i;

	for (i = 0; i < printer->nr; i++)
		printf("0x%016" PRIx64 "\n%s", printer->addresses[i],
		       printer->answers[i] ? printer->answers[i] : "??\n??:0\n");
}

static void print_sums(const struct printer *printer, const struct debug_info_work *work,
		       uint64_t begin_ns)
{
	struct rusage own, child;

	(void)getrusage(RUSAGE_SELF, &own);
	(void)getrusage(RUSAGE_CHILDREN, &child);
	fprintf(stderr,
		"%zu addresses, %zu found, %zu units, %zu read, %zu split ones lost, %.1f ms, "
		"%ld KiB, child %ld KiB\n",
		printer->nr, printer->nr_found, work->nr_units, work->nr_units_read,
		work->nr_split_lost, (double)(clock_now_ns() - begin_ns) / 1e6, own.ru_maxrss,
		child.ru_maxrss);
}

/* With -r, the root is that of a container. */
static int find_place(void *context, const struct worker_want *want, struct worker_place *ret)
{
	const struct debug_places places = {0};

	return want->kind == WANT_PATH ? debug_files_path_place(&places, context, want, ret)
				       : -ENODATA;
}

static int find_lines(const struct code_file *file, const struct debug_info_request *request,
		      struct debug_info_work *ret, struct error *error)
{
	struct worker *worker = worker_new(error);
	const struct source_lines_place place = {
		.file = file, .find_place = find_place, .context = (void *)file, .stop_fd = -1};
	int err = worker ? source_lines_find(worker, &place, request, ret, error) : error->code;

	worker_free(worker);
	return err;
}

static int print_lines(struct printer *printer, const struct code_file *file,
		       struct debug_info_request *request, bool is_isolated)
{
	struct debug_info_work work = {0};
	struct error error = {0};
	uint64_t begin_ns = clock_now_ns();
	int err;

	request->addresses = printer->addresses;
	request->nr = printer->nr;
	request->found = found;
	request->context = printer;
	err = is_isolated ? find_lines(file, request, &work, &error)
			  : debug_info_find(file->fd, request, &work, &error);
	if (err < 0)
		fprintf(stderr, "print_lines: %s (%s)\n", error.text, strerror(-err));
	if (!printer->is_quiet)
		print_answers(printer);
	print_sums(printer, &work, begin_ns);
	return err < 0;
}

static void clear(struct printer *printer)
{
	size_t i;

	for (i = 0; i < printer->nr; i++)
		free(printer->answers[i]);
	free(printer->answers);
	free(printer->addresses);
}

int main(int argc, char **argv)
{
	struct debug_info_request request = {.inlined = true, .lines = true};
	struct code_file file = {.root_fd = -1};
	char path[PATH_MAX], root[PATH_MAX] = "";
	struct printer printer = {0};
	bool is_isolated = true;
	int option = worker_main(argc, argv, run_tasks, NR_TASKS), err;

	if (option >= 0)
		return option;
	while ((option = getopt(argc, argv, "nsqor:")) != -1) {
		request.lines &= option != 'n';
		request.inlined &= option != 's';
		printer.is_quiet |= option == 'q';
		is_isolated &= option != 'o';
		if (option == 'r' && realpath(optarg, root))
			file.root_fd = open(optarg, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (option == '?')
			return 2;
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "usage: print_lines [-nsqo] [-r FOLDER] FILE <ADDRESSES\n");
		return 2;
	}
	file.fd = open(argv[optind], O_RDONLY | O_CLOEXEC);
	file.path = realpath(argv[optind], path) ? path + strlen(root) : argv[optind];
	if (file.fd < 0 || read_addresses(&printer) < 0) {
		perror(argv[optind]);
		return 1;
	}
	err = print_lines(&printer, &file, &request, is_isolated);
	clear(&printer);
	return err;
}
