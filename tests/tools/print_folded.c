/*
 * Reads a profile of any format and writes it as folded stacks, or in another format:
 *
 *	print_folded [-f FORMAT] [-i FORMAT] [-l LABEL,…] [-a] [-s] FILE
 *
 * -f sets the output format, -i the input format instead of detecting it, -l the labels in front:
 * comm (the default), pid, tid, cpu; labels that the file lacks are left out. -a marks the kinds of
 * frames, -s prints the time for reading and the contents found on stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/format.h"

static void die(const char *what)
{
	(void)fprintf(stderr, "print_folded: %s\n", what);
	exit(1);
}

static unsigned labels_of(char *list)
{
	static const struct {
		const char *name;
		unsigned label;
	} names[] = {
		{"comm", LABEL_COMM}, {"pid", LABEL_PID}, {"tid", LABEL_TID}, {"cpu", LABEL_CPU}};
	unsigned labels = 0;
	char *name;
	size_t i;

	while ((name = strsep(&list, ",")))
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (!strcmp(name, names[i].name))
				labels |= names[i].label;
	return labels;
}

static double seconds_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	const struct format *to = format_by_name("folded"), *from = NULL;
	struct format_options options = {.labels = LABEL_COMM};
	struct profile *profile = profile_new();
	struct format_notes notes = {0};
	struct error error = {0};
	bool wants_figures = false;
	double start = seconds_now();
	FILE *in;
	int option;

	while ((option = getopt(argc, argv, "f:i:l:as")) != -1) {
		if (option == 'f')
			to = format_by_name(optarg);
		else if (option == 'i')
			from = format_by_name(optarg);
		else if (option == 'l')
			options.labels = labels_of(optarg);
		else if (option == 'a')
			options.annotate = true;
		else if (option == 's')
			wants_figures = true;
		else
			die("see the top of its source");
	}
	in = optind < argc ? fopen(argv[optind], "r") : stdin;
	if (!in || !profile || !to)
		die("no such file, or no such format");
	profile_set_max_frames(profile, PROFILE_MAX_FILE_FRAMES);
	if (format_read(in, "-", &(struct format_read_options){.format = from}, profile, &notes,
			&error) < 0)
		die(error.text);
	if (wants_figures)
		(void)fprintf(
			stderr,
			"%s: %.3f s, %zu MB, %zu samples, %zu frames, total %llu, %llu bad lines "
			"(first %llu)\n",
			from ? from->name : "input", seconds_now() - start,
			profile_bytes(profile) >> 20, profile_nr_samples(profile),
			profile_nr_frames(profile), (unsigned long long)profile_total(profile),
			(unsigned long long)notes.bad_lines,
			(unsigned long long)notes.first_bad_line);
	options.labels &= notes.labels;
	if (to->write(profile, &options, stdout) < 0)
		die("cannot write");
	profile_free(profile);
	(void)fclose(in);
	return 0;
}
