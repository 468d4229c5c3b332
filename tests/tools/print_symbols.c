/*
 * Symbolizes addresses in a file: print_symbols [-i] [-l] [-m] [-s] [-d DEBUG-DIR] FILE
 *
 * Link-time addresses are read from stdin in hexadecimal, one per line. For each, one line is
 * printed, separated by tabs: the address, then the mangled functions there, the innermost inlined
 * one first; `??` if there is no name, or with -s the function's start if it is known. With -l each
 * function has `@file:line`.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "elf/image/elf_image.h"
#include "proc/file_table.h"
#include "profile/profile.h"
#include "run/run.h"
#include "sym/symbolizer.h"
#include "tests/unit/look_here.h"

struct question {
	uint64_t vaddr;
	int64_t frame; /* -1: not in code */
};

static struct question *questions;
static size_t nr_questions, cap_questions;

static void fail(const char *what)
{
	fprintf(stderr, "print_symbols: %s\n", what);
	exit(1);
}

/* Converts a link-time address to an offset in the file. */
static bool vaddr_to_offset(const struct elf_image *image, uint64_t vaddr, uint64_t *ret)
{
	size_t i;

	for (i = 0; i < image->nr_segments; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (vaddr < segment->vaddr || vaddr - segment->vaddr >= segment->bytes)
			continue;
		*ret = segment->offset + (vaddr - segment->vaddr);
		return true;
	}
	return false;
}

static void read_questions(struct profile *profile, uint32_t module, const struct elf_image *image)
{
	struct question question;
	uint64_t offset;

	while (scanf("%" SCNx64, &question.vaddr) == 1) {
		question.frame = -1;
		if (vaddr_to_offset(image, question.vaddr, &offset))
			question.frame = profile_add_frame(profile, FRAME_USER, module, offset);
		if (array_reserve(&questions, &cap_questions, nr_questions + 1,
				  sizeof(*questions)) < 0)
			fail("out of memory");
		questions[nr_questions++] = question;
	}
}

static void print_name(const struct profile *profile, uint32_t function,
		       const struct code_line *line, bool with_line)
{
	printf("\t%s", function ? profile_string(profile, function) : "??");
	if (with_line)
		printf("@%s:%" PRIu32,
		       line && line->file ? profile_string(profile, line->file) : "??",
		       line ? line->line : 0);
}

static void print_answer(const struct profile *profile, const struct question *question,
			 bool with_lines)
{
	const struct frame *frame;
	const struct code_line *lines;
	size_t i;

	printf("%016" PRIx64, question->vaddr);
	if (question->frame < 0) {
		puts("\t??");
		return;
	}
	frame = profile_frame(profile, (uint32_t)question->frame);
	lines = profile_lines(profile, frame);
	if (!frame->nr_lines)
		print_name(profile, frame->function, NULL, with_lines);
	for (i = 0; i < frame->nr_lines; i++)
		print_name(profile, lines[i].function, &lines[i], with_lines);
	putchar('\n');
}

static uint32_t add_module(struct profile *profile, struct file_table *files, const char *path,
			   int fd)
{
	int64_t file = add_fd_here(files, path, fd);
	struct module module = {.kind = MODULE_FILE, .file = (uint32_t)file};
	int64_t name = profile_add_string(profile, path), number;

	module.name = (uint32_t)name;
	number = file < 0 || name < 0 ? -1 : profile_add_module(profile, &module);
	if (number < 0)
		fail("out of memory");
	return (uint32_t)number;
}

/* Prints the time taken and the peak memory on stderr. */
static void print_cost(uint64_t began_ns)
{
	struct rusage own, children;

	(void)getrusage(RUSAGE_SELF, &own);
	(void)getrusage(RUSAGE_CHILDREN, &children);
	fprintf(stderr, "named %zu addresses in %.3f s, %ld kB, children %ld kB\n", nr_questions,
		(double)(clock_now_ns() - began_ns) / 1e9, own.ru_maxrss, children.ru_maxrss);
}

int main(int argc, char **argv)
{
	struct symbolizer_options options = {
		.demangle.mode = DEMANGLE_NO, .no_starts = true, .max_bytes = 1UL << 30};
	struct profile *profile = profile_new();
	struct file_table *files = file_table_new(16);
	struct symbolizer *symbolizer;
	static const char *folders[1];
	struct elf_image image;
	uint64_t began_ns;
	uint32_t module;
	size_t i;
	int fd, option = worker_main(argc, argv, run_tasks, NR_TASKS);

	if (option >= 0)
		return option;
	while ((option = getopt(argc, argv, "ilmsd:")) != -1) {
		options.inlined |= option == 'i';
		options.lines |= option == 'l';
		if (option == 'm')
			options.demangle.mode = DEMANGLE_FULL;
		options.no_starts &= option != 's';
		if (option == 'd') {
			folders[0] = optarg;
			options.places = (struct debug_places){folders, 1};
		}
		if (option == '?')
			fail("usage: print_symbols [-i] [-l] [-m] [-s] [-d DEBUG-DIR] FILE");
	}
	fd = optind < argc ? open(argv[optind], O_RDONLY | O_CLOEXEC) : -1;
	if (!profile || !files || fd < 0 || elf_image_open(&image, fd, NULL) < 0)
		fail("cannot read the file");
	module = add_module(profile, files, argv[optind], fd);
	options.files = files;
	symbolizer = symbolizer_new(&options);
	if (symbolizer) /* stook does this while it detaches from the kernel */
		symbolizer_begin_reading(symbolizer);
	read_questions(profile, module, &image);
	began_ns = clock_now_ns();
	if (!symbolizer || symbolizer_name(symbolizer, profile) < 0)
		fail("out of memory");
	print_cost(began_ns);
	for (i = 0; i < nr_questions; i++)
		print_answer(profile, &questions[i], options.lines);
	return 0;
}
