/* sym/source_lines: lines of this test program, intact and damaged. */
#include "unit/test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "sym/source_lines.h"

#define BROKEN_ROUNDS 60

static volatile int sink;

static inline __attribute__((always_inline)) void inlined_leaf(void)
{
	sink = 1;
	__asm__ volatile(".globl lines_here\nlines_here: nop");
}

static inline __attribute__((always_inline)) void inlined_middle(void)
{
	inlined_leaf(); /* MIDDLE */
}

static __attribute__((noinline, noclone, used)) void real_function(void)
{
	inlined_middle(); /* REAL */
}

extern const char lines_here[];

struct answer {
	char functions[200];
	unsigned lines[4];
	size_t nr_lines, nr;
	int result;
	bool is_damaged; /* any path is accepted */
};

static int take_answer(void *context, size_t i, const struct debug_line *lines, size_t nr_lines)
{
	struct answer *answer = context;
	size_t k;

	answer->nr++;
	answer->nr_lines = nr_lines;
	for (k = 0; k < nr_lines && k < ARRAY_SIZE(answer->lines); k++) {
		(void)strncat(answer->functions, lines[k].function ? lines[k].function : "-", 50);
		(void)strncat(answer->functions, " ", 2);
		answer->lines[k] = lines[k].line;
		if (lines[k].file && !answer->is_damaged)
			CHECK(strstr(lines[k].file, "test_source_lines.c"));
	}
	return answer->result;
}

/* Returns the link-time address; the program is loaded at a different one. */
static uint64_t address_here(void)
{
	return (uint64_t)(lines_here - _r_debug.r_map->l_addr);
}

static int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	if (!debug_info_exists(fd))
		SKIP("needs debug information in the tests");
	return fd;
}

static int ask(int fd, struct answer *answer, bool inlined, bool lines, struct debug_info_work *ret,
	       struct error *error)
{
	const struct code_file file = {.fd = fd, .path = "/proc/self/exe", .root_fd = -1};
	const struct source_lines_place place = {.file = &file, .stop_fd = -1};
	const uint64_t asked[] = {address_here()};
	const struct debug_info_request request = {
		.addresses = asked,
		.nr = 1,
		.inlined = inlined,
		.lines = lines,
		.found = take_answer,
		.context = answer,
	};

	struct worker *worker = worker_new(error);
	int err = worker ? source_lines_find(worker, &place, &request, ret, error) : -ENOMEM;

	worker_free(worker);
	return err;
}

/* Returns the number of the line in this file with such a comment. */
static unsigned line_of(const char *comment)
{
	cleanup_file FILE *file = fopen(__FILE__, "re");
	unsigned number = 0;
	char line[200];

	while (file && fgets(line, sizeof(line), file)) {
		number++;
		if (strstr(line, comment) && !strstr(line, "line_of"))
			return number;
	}
	SKIP("needs its source");
}

TEST(source_lines_of_ourselves)
{
	cleanup_fd int fd = open_self();
	struct debug_info_work work = {0};
	struct answer answer = {0};

	CHECK_EQ(ask(fd, &answer, true, true, &work, NULL), 0);
	CHECK_STR(answer.functions, "inlined_leaf inlined_middle real_function ");
	CHECK_EQ(answer.lines[1], line_of("MIDDLE"));
	CHECK_EQ(answer.lines[2], line_of("REAL"));
	CHECK_EQ(work.nr_units_read, 1);
	CHECK(work.nr_units >= 1);
	CHECK_EQ(work.nr_split_lost, 0);
}

TEST(source_lines_only_what_is_asked_for)
{
	cleanup_fd int fd = open_self();
	struct answer functions = {0}, outermost = {0}, least = {0};
	struct debug_info_work work;

	CHECK_EQ(ask(fd, &functions, true, false, &work, NULL), 0);
	CHECK_STR(functions.functions, "inlined_leaf inlined_middle real_function ");
	CHECK_EQ(functions.lines[0] + functions.lines[1] + functions.lines[2], 0);
	CHECK_EQ(ask(fd, &outermost, false, true, &work, NULL), 0);
	CHECK_STR(outermost.functions, "real_function ");
	CHECK_EQ(outermost.lines[0], line_of("REAL"));
	CHECK_EQ(ask(fd, &least, false, false, &work, NULL), 0);
	CHECK_STR(least.functions, "real_function ");
	CHECK_EQ(least.lines[0], 0);
}

TEST(source_lines_refused)
{
	cleanup_fd int fd = open_self();
	struct answer answer = {.result = -ECANCELED};
	struct debug_info_work work = {.nr_units = 7};

	CHECK_EQ(ask(fd, &answer, true, true, &work, NULL), -ECANCELED);
	CHECK_EQ(answer.nr, 1);
	CHECK_EQ(work.nr_units, 7);
}

TEST(source_lines_of_what_has_none)
{
	cleanup_fd int text = open(__FILE__, O_RDONLY | O_CLOEXEC);
	cleanup_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct debug_info_work work;
	struct answer answer = {0};
	struct error error = {0};

	CHECK(!debug_info_exists(null) && !debug_info_exists(text));
	CHECK_EQ(ask(null, &answer, true, true, &work, &error), 0);
	CHECK_EQ(ask(text, &answer, true, true, &work, &error), 0);
	CHECK_STR(error.text, "");
	CHECK_EQ(answer.nr, 0);
}

TEST(source_lines_out_of_memory)
{
	cleanup_fd int fd = open_self();
	struct debug_info_work work;
	int err = -ENOMEM;
	size_t nth;

	for (nth = 1; err < 0; nth++) {
		struct answer answer = {0};
		struct error error = {0};

		(void)test_fail_allocation(nth);
		err = ask(fd, &answer, true, true, &work, &error);
		(void)test_fail_allocation(0);
		CHECK(err == 0 || ((err == -ENOMEM || err == -E2BIG) && error.text[0]));
	}
	CHECK(nth > 5);
}

/* Maps a copy of this program, which can be changed. */
static int copy_self(const char **ret_bytes, size_t *ret_nr)
{
	cleanup_fd int fd = open_self();
	int copy = memfd_create("copy", MFD_CLOEXEC);
	struct stat file;
	char *bytes;

	CHECK(copy >= 0 && fstat(fd, &file) == 0 && ftruncate(copy, file.st_size) == 0);
	bytes = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(bytes != MAP_FAILED);
	CHECK_EQ(pwrite(copy, bytes, (size_t)file.st_size, 0), file.st_size);
	*ret_bytes = bytes;
	*ret_nr = (size_t)file.st_size;
	return copy;
}

/* Finds the range of the sections whose names begin with .debug. */
static void find_debug(const char *bytes, size_t nr, size_t *ret_from, size_t *ret_to)
{
	const ElfW(Ehdr) *head = (const void *)bytes;
	const ElfW(Shdr) *sections = (const void *)(bytes + head->e_shoff);
	const char *names = bytes + sections[head->e_shstrndx].sh_offset;
	size_t i;

	*ret_from = nr;
	*ret_to = 0;
	for (i = 0; i < head->e_shnum; i++) {
		if (strncmp(names + sections[i].sh_name, ".debug", 6) != 0)
			continue;
		if (sections[i].sh_offset < *ret_from)
			*ret_from = sections[i].sh_offset;
		if (sections[i].sh_offset + sections[i].sh_size > *ret_to)
			*ret_to = sections[i].sh_offset + sections[i].sh_size;
	}
}

/* libdw may fail in any way; our code must not crash. */
TEST(source_lines_of_broken_files)
{
	const char *bytes;
	size_t nr, from, to, i;
	cleanup_fd int fd = copy_self(&bytes, &nr);
	unsigned round;

	find_debug(bytes, nr, &from, &to);
	CHECK(from < to);
	srand(1);
	for (round = 0; round < BROKEN_ROUNDS; round++) {
		struct debug_info_work work;
		struct answer answer = {.is_damaged = true};
		struct error error = {0};
		int err;

		for (i = 0; i < 2000; i++) {
			char byte = (char)rand();

			CHECK_EQ(pwrite(fd, &byte, 1, (off_t)(from + (size_t)rand() % (to - from))),
				 1);
		}
		err = ask(fd, &answer, true, true, &work, &error);
		CHECK(err == 0 || error.text[0]);
		CHECK(answer.nr <= 1);
	}
	CHECK_EQ(ftruncate(fd, (off_t)(from + (to - from) / 2)), 0);
	CHECK(ask(fd, &(struct answer){.is_damaged = true}, true, true,
		  &(struct debug_info_work){0}, NULL) <= 0);
}
