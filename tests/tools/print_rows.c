/*
 * Prints the unwind rows of a file, for comparison with readelf, and their cost:
 *
 *	$ print_rows /bin/true
 *	0000000000002030 plt c-8 u
 *	0000000000002500 end
 *	0000000000002530 rsp+8 c-8 u
 *	0000000000002531 none
 *
 * The columns are address, CFA, return address and frame pointer, in the notation of `readelf
 * --debug-dump=frames-interp`: c is the CFA, u the unchanged register, (r+8) a value in memory.
 * With -q only the totals are printed.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "elf/image/elf_image.h"
#include "elf/unwind/unwind_rows.h"

static const char *const x86_names[UNWIND_NR_REGS] = {
	"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
	"r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip",
};

static const char *register_name(uint16_t machine, unsigned reg)
{
	static char name[8];

	if (machine == EM_X86_64 && reg < UNWIND_NR_REGS && x86_names[reg])
		return x86_names[reg];
	if (machine == EM_AARCH64 && reg == 31)
		return "sp";
	snprintf(name, sizeof(name), "%c%u", machine == EM_AARCH64 ? 'x' : 'r', reg);
	return name;
}

static void print_place(uint16_t machine, const struct unwind_place *place)
{
	const char *name = register_name(machine, place->reg);

	switch (place->where) {
	case UNWIND_SAME:
	case UNWIND_LOST: /* readelf prints the same for both */
		printf(" u");
		break;
	case UNWIND_AT_CFA:
		printf(" c%+d", place->offset);
		break;
	case UNWIND_AT_REGISTER:
		printf(" (%s%+d)", name, place->offset);
		break;
	default: /* by number, like readelf */
		printf(place->offset ? " r%u%+d" : " r%u", place->reg, place->offset);
	}
}

static void print_rule(uint16_t machine, const struct unwind_rule *rule)
{
	const char *name = register_name(machine, rule->reg);

	switch (rule->cfa) {
	case UNWIND_CFA_NONE:
		printf("none");
		return;
	case UNWIND_CFA_END:
		printf("end");
		return;
	case UNWIND_CFA_CHAIN:
		printf("chain");
		return;
	case UNWIND_CFA_SIGNAL:
		printf("signal");
		return;
	case UNWIND_CFA_GO_STACK:
		printf("goroutine");
		return;
	case UNWIND_CFA_REGISTER:
		printf("%s%+d", name, rule->offset);
		break;
	case UNWIND_CFA_MEMORY:
		printf("(%s%+d)%+d", name, rule->offset, rule->add);
		break;
	case UNWIND_CFA_PLT:
		printf("plt");
		break;
	}
	print_place(machine, &rule->ra);
	print_place(machine, &rule->fp);
}

static void print_rows(uint16_t machine, const struct unwind_rows *rows)
{
	size_t i;

	for (i = 0; i < rows->nr_rows; i++) {
		printf("%016" PRIx64 " ", rows->rows[i].address);
		print_rule(machine, &rows->rules[rows->rows[i].rule]);
		printf("\n");
	}
}

static double now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int read_file(const char *path, const char *debug_path, bool is_quiet)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	cleanup_fd int debug_fd = debug_path ? open(debug_path, O_RDONLY | O_CLOEXEC) : -1;
	struct elf_image image, debug = {0};
	struct unwind_rows rows;
	struct error error = {0};
	double begin = now_ms();
	int err = 0;

	if (elf_image_open(&image, fd, &error) < 0 ||
	    (debug_path && elf_image_open(&debug, debug_fd, &error) < 0)) {
		fprintf(stderr, "%s: %s\n", path, error.text);
		return 1;
	}
	err = unwind_rows_read(&rows, &image, debug_path ? &debug : NULL, &error);
	if (err < 0)
		fprintf(stderr, "%s: %s\n", path, error.text);
	fprintf(stderr,
		"%s: %.1f ms, %zu functions, %zu rows, %zu rules, %zu broken, %zu not packed\n",
		path, now_ms() - begin, rows.nr_functions, rows.nr_rows, rows.nr_rules,
		rows.nr_broken, rows.nr_not_packed);
	if (!is_quiet)
		print_rows(image.machine, &rows);
	unwind_rows_clear(&rows);
	if (debug_path)
		elf_image_close(&debug);
	elf_image_close(&image);
	return err < 0;
}

int main(int argc, char **argv)
{
	bool is_quiet = argc > 1 && !strcmp(argv[1], "-q");
	int first = is_quiet ? 2 : 1;

	if (argc <= first) {
		fprintf(stderr, "usage: print_rows [-q] FILE [DEBUG-FILE]\n");
		return 2;
	}
	return read_file(argv[first], argc > first + 1 ? argv[first + 1] : NULL, is_quiet);
}
