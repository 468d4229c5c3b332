/*
 * counted [-w] [-o FILE] N [WHAT…]: calls known functions known numbers of times, for tests that
 * count calls.
 *
 *	simple		recursion, static twins, aliases, IFUNC, tail calls, longjmp
 *	starts		functions whose first instruction is hard to step over
 *	library		calls through the linkage table, into a library and within it
 *	late		into a library that is loaded and reloaded at run time
 *	threads		in many threads at once, and in many short ones
 *	processes	across fork, exec and vfork
 *	signals		in handlers, some of which interrupt counted functions
 *	kernel		system calls that the C library makes only on request (not by default)
 *	static		static probes, if the program was built with sys/sdt.h (not by default)
 *
 * Prints `NAME COUNT`, or writes it to FILE: the calls in all its processes together. Names are
 * those of the symbol table, aliases joined: "hit_alias_a|hit_alias_b". hit_… are functions; sys_…
 * are system calls, probe_… static probes.
 *
 * With -w it prints "ready" on stdout and waits for a line on stdin before it begins, and again
 * before it ends; it prints the calls between the two.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counted.h"

#define TRUTHS_MAX 128

static struct {
	const char *name;
	long count;
} truths[TRUTHS_MAX];
static int nr_truths;

static long nr_images; /* program starts by exec */

static const struct {
	const char *name;
	void (*run)(long n);
	bool is_default;
} kinds[] = {
	{"simple", calls_simple, true},	  {"starts", calls_starts, true},
	{"library", calls_library, true}, {"late", calls_late_library, true},
	{"threads", tasks_threads, true}, {"processes", tasks_processes, true},
	{"signals", tasks_signals, true}, {"kernel", kernel_calls, false},
	{"static", static_probes, false},
};
#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* --- before and after main -------------------------------------------------------------------- */

HIT static void hit_before_main(void)
{
	BODY;
}

HIT static void hit_after_main(void)
{
	BODY;
}

HIT static void hit_after_exec(void)
{
	BODY;
}

__attribute__((constructor)) static void constructor(void)
{
	hit_before_main();
}

__attribute__((destructor)) static void destructor(void)
{
	hit_after_main();
}

void become_another(long n)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", n);
	execl("/proc/self/exe", "counted", "another", text, (char *)NULL);
	_exit(127);
}

/* --- true counts ------------------------------------------------------------------------------ */

void truth(const char *name, long count)
{
	must(nr_truths < TRUTHS_MAX, "too many names to count");
	truths[nr_truths].name = name;
	truths[nr_truths++].count = count;
}

void truth_of_images(long nr, long n)
{
	nr_images += nr;
	truth("hit_after_exec", nr * n);
}

void must(bool well, const char *what)
{
	if (well)
		return;
	fprintf(stderr, "counted: %s\n", what);
	_exit(1);
}

static void print_truths(const char *path)
{
	FILE *out = path ? fopen(path, "we") : stdout;

	must(out, "cannot open the output file");
	for (int i = 0; i < nr_truths; i++)
		fprintf(out, "%s %ld\n", truths[i].name, truths[i].count);
	must(!fflush(out), "cannot write the counts");
}

static void wait_for_a_line(void)
{
	char byte = 0;

	puts("ready");
	fflush(stdout);
	while (byte != '\n')
		must(read(STDIN_FILENO, &byte, 1) == 1, "stdin ended before a line");
}

static bool is_wanted(size_t kind, char **names)
{
	if (!*names)
		return kinds[kind].is_default;
	for (; *names; names++)
		if (!strcmp(*names, kinds[kind].name))
			return true;
	return false;
}

static void run(long n, bool waits, char **words)
{
	if (waits)
		wait_for_a_line();
	for (size_t i = 0; i < NR_KINDS; i++)
		if (is_wanted(i, words))
			kinds[i].run(n);
	truth("hit_before_main", nr_images + !waits);
	truth("hit_after_main", nr_images + !waits);
}

int main(int argc, char **argv)
{
	const char *path = NULL;
	bool waits = false;
	int option;

	if (argc == 3 && !strcmp(argv[1], "another")) {
		REPEAT(atol(argv[2]))
		hit_after_exec();
		return 0;
	}
	while ((option = getopt(argc, argv, "+wo:")) > 0) {
		must(option != '?', "usage: counted [-w] [-o FILE] N [WHAT…]");
		if (option == 'w')
			waits = true;
		else
			path = optarg;
	}
	must(optind < argc, "usage: counted [-w] [-o FILE] N [WHAT…]");
	run(atol(argv[optind]), waits, argv + optind + 1);
	print_truths(path);
	if (waits)
		wait_for_a_line();
	return 0;
}
