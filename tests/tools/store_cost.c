/*
 * Fills a store with days of epochs and measures appending, size and queries:
 *
 *	store_cost [-d DAYS] [-e EPOCH_SECONDS] [-n SAMPLES] [-c CHURN] [-g NAME:DAY:PERCENT] [-u EPOCHS] STORE PROFILE
 *	store_cost -k EPOCHS [-b BEGIN] [-e EPOCH_SECONDS] STORE PROFILE
 *
 * The stacks and their weights are those of PROFILE, in any format. Each epoch has SAMPLES (380: 10 s at 19 Hz on two
 * CPUs) drawn from them at random. In each hour, CHURN percent (5) of the stacks are replaced by ones of a new
 * version of the program: with another function at the leaf.
 *
 * With -g, the number of samples depends on the hour and the day of the week, by command, and from DAY on the function
 * NAME takes PERCENT more time. With -u, each epoch is first stored without names, the functions at the leaf at random
 * addresses, and so many are named and stored together. With -k, each epoch is PROFILE as it is, with all labels, and nothing is measured: for
 * tests. The first epoch begins at BEGIN, in seconds since 1970.
 *
 *	epochs  seconds  ms/epoch  bytes/day       file
 *	query   week  day  hour  where …  (ms, with the number of stacks)
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "format/format.h"
#include "store/store.h"
#include "store/where.h"

#define NS_PER_SECOND 1000000000ULL
#define BEGIN	      (1700000000ULL / 3600 * 3600)

struct load {
	const struct profile *from;
	uint64_t *sums; /* of the weights up to each sample */
	unsigned *versions;
	uint64_t random;
	uint64_t begin_ns;
	/* -g */
	char grows[256]; /* name; empty: none */
	unsigned day, percent;
	/* -u */
	unsigned together; /* 0: none is stored without names */
	bool is_named;
	uint64_t unnamed_ns, slowest_ns; /* CPU time of storing them */
};

static void die(const char *what)
{
	(void)fprintf(stderr, "store_cost: %s\n", what);
	exit(1);
}

static uint64_t draw(struct load *load)
{
	load->random ^= load->random << 13;
	load->random ^= load->random >> 7;
	load->random ^= load->random << 17;
	return load->random;
}

static uint32_t draw_sample(struct load *load)
{
	size_t nr = profile_nr_samples(load->from), low = 0, high = nr - 1;
	uint64_t at = draw(load) % load->sums[nr - 1];

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (load->sums[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return (uint32_t)low;
}

/* How busy a command is: less at night and at weekends, each in its own way. From 0 to 99. */
static unsigned load_of(const struct load *load, uint32_t number, uint64_t start_ns)
{
	const uint64_t hours = start_ns / NS_PER_SECOND / 3600, days = hours / 24;
	unsigned kind = profile_sample(load->from, number)->labels.comm % 7;
	unsigned busy = hours % 24 >= 8 && hours % 24 < 20 ? 99 : 30 + 10 * (kind % 4);

	return days % 7 < 2 ? busy * (3 + kind % 3) / 6 : busy;
}

/* Draws a sample for this time, of the ones that are as frequent as the load then. */
static uint32_t draw_at(struct load *load, uint64_t start_ns)
{
	uint32_t number;

	do
		number = draw_sample(load);
	while (*load->grows && draw(load) % 100 >= load_of(load, number, start_ns));
	return number;
}

/* True if the sample is to be counted twice. */
static bool grows(struct load *load, uint32_t number, uint64_t start_ns)
{
	const struct sample *sample = profile_sample(load->from, number);
	const uint32_t leaf = profile_sample_frames(load->from, sample)[0];

	return *load->grows && sample->nr_frames &&
	       start_ns >= load->begin_ns + load->day * 86400 * NS_PER_SECOND &&
	       !strcmp(profile_string(load->from, profile_frame(load->from, leaf)->function),
		       load->grows) &&
	       draw(load) % 100 < load->percent;
}

static uint32_t copy_frame(struct load *load, uint32_t number, bool is_leaf, unsigned version,
			   struct profile *to)
{
	const struct profile *from = load->from;
	const struct frame *frame = profile_frame(from, number);
	struct module module = *profile_module(from, frame->module);
	char name[512];
	struct code_line line = {0};
	int64_t file = frame->module, copy;

	(void)snprintf(name, sizeof(name), version ? "%s.v%u" : "%s",
		       profile_string(from, frame->function), version);
	line.function = (uint32_t)profile_add_string(to, name);
	if (file > MODULE_NR_KERNEL) {
		module.name = (uint32_t)profile_add_string(to, profile_string(from, module.name));
		file = profile_add_module(to, &module);
	}
	copy = load->is_named
		       ? profile_add_named_frame(to, frame->kind, (uint32_t)file, &line, *name != 0)
		       : profile_add_frame(to, frame->kind, (uint32_t)file,
					   4096ULL * number + (is_leaf ? draw(load) % 4096 : 0));
	if (file < 0 || copy < 0)
		die("out of memory");
	return (uint32_t)copy;
}

static void copy_sample(struct load *load, uint32_t number, struct profile *to)
{
	const struct sample *sample = profile_sample(load->from, number);
	const uint32_t *frames = profile_sample_frames(load->from, sample);
	struct sample_labels labels = {.user_end = sample->labels.user_end};
	uint32_t *copies = calloc((size_t)sample->nr_frames + 1, sizeof(*copies));
	size_t i;

	if (!copies)
		die("out of memory");
	labels.comm =
		(uint32_t)profile_add_string(to, profile_string(load->from, sample->labels.comm));
	labels.pid = (int32_t)(1000 + number % 97);
	for (i = 0; i < sample->nr_frames; i++)
		copies[i] = copy_frame(load, frames[i], !i, i ? 0 : load->versions[number], to);
	if (profile_add_sample(to, &labels, copies, sample->nr_frames, sample->nr_kernel_frames,
			       1) < 0)
		die("out of memory");
	free(copies);
}

/* Appends epochs from first to last, with the samples of all of them. */
static void append(struct load *load, struct store *store, uint64_t first, uint64_t last,
		   uint64_t length_ns, unsigned nr)
{
	const uint64_t start_ns = load->begin_ns + first * length_ns;
	struct profile_origin origin = {.period = 52631579};
	struct store_epoch epoch = {start_ns, load->begin_ns + (last + 1) * length_ns,
				    origin.period, .measured_ns = (last + 1 - first) * length_ns};
	struct profile *profile = profile_new();
	struct error error;
	uint64_t ns;

	origin.event = (uint32_t)profile_add_string(profile, "cpu-clock");
	origin.unit = (uint32_t)profile_add_string(profile, "nanoseconds");
	profile_set_origin(profile, &origin);
	for (nr *= (unsigned)(last - first + 1); nr; nr--) {
		uint32_t number = draw_at(load, start_ns);

		copy_sample(load, number, profile);
		if (grows(load, number, start_ns))
			copy_sample(load, number, profile);
	}
	if (load->together) {
		epoch.first = first + 1;
		epoch.last = last + 1;
	}
	ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	if ((load->is_named ? store_append : store_append_unnamed)(store, &epoch, profile, &error) <
	    0)
		die(error.text);
	ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - ns;
	if (!load->is_named) {
		load->unnamed_ns += ns;
		load->slowest_ns = ns > load->slowest_ns ? ns : load->slowest_ns;
	}
	profile_free(profile);
}

static void fill(struct load *load, struct store *store, uint64_t nr_epochs, unsigned seconds,
		 unsigned nr, unsigned churn)
{
	const struct store_limits limits = {
		.epochs_ns = 86400 * NS_PER_SECOND,
		.minutes_ns = 7 * 86400 * NS_PER_SECOND,
	};
	uint64_t start_ns = clock_now_ns(), i, ns, slowest_ns = 0, expire_ns = 0;
	uint64_t slowest_slice_ns = 0, nr_slices = 0;
	int has_more;
	uint64_t per_hour = 3600 / seconds;
	uint32_t k;

	for (i = 0; i < nr_epochs; i++) {
		ns = clock_now_ns();
		load->is_named = !load->together;
		append(load, store, i, i, seconds * NS_PER_SECOND, nr);
		if (load->together && (i + 1) % load->together == 0) {
			load->is_named = true;
			append(load, store, i + 1 - load->together, i, seconds * NS_PER_SECOND, nr);
		}
		ns = clock_now_ns() - ns;
		slowest_ns = ns > slowest_ns ? ns : slowest_ns;
		if ((i + 1) % per_hour)
			continue;
		for (k = 0; k < profile_nr_samples(load->from); k++)
			load->versions[k] += draw(load) % 100 < churn;
		do {
			ns = clock_now_ns();
			has_more = store_expire(store, &limits,
						load->begin_ns + i * seconds * NS_PER_SECOND, NULL);
			if (has_more < 0)
				die("cannot remove old blocks");
			ns = clock_now_ns() - ns;
			expire_ns += ns;
			slowest_slice_ns = ns > slowest_slice_ns ? ns : slowest_slice_ns;
			nr_slices++;
		} while (has_more);
	}
	ns = clock_now_ns() - start_ns;
	printf("%llu epochs in %.1f s: %.2f ms each, at most %.1f; removing old ones %.2f s, "
	       "in %llu slices of at most %.1f ms; %.1f MB, %.2f MB a day\n",
	       (unsigned long long)nr_epochs, (double)ns / 1e9,
	       (double)ns / 1e6 / (double)nr_epochs, (double)slowest_ns / 1e6,
	       (double)expire_ns / 1e9, (unsigned long long)nr_slices,
	       (double)slowest_slice_ns / 1e6, (double)store_bytes(store) / 1e6,
	       (double)store_bytes(store) / 1e6 * 86400 / (double)(nr_epochs * seconds));
	if (load->together)
		printf("without names: %.3f ms of CPU time each, at most %.1f\n",
		       (double)load->unnamed_ns / 1e6 / (double)nr_epochs,
		       (double)load->slowest_ns / 1e6);
}

static void keep(const struct load *load, struct store *store, unsigned nr, unsigned seconds)
{
	const uint64_t length_ns = seconds * NS_PER_SECOND, period_ns = 10000000;
	struct error error;
	unsigned i;

	for (i = 0; i < nr; i++) {
		struct store_epoch epoch = {load->begin_ns + i * length_ns,
					    load->begin_ns + (i + 1) * length_ns, period_ns, i == 1,
					    .measured_ns = length_ns};

		if (store_append(store, &epoch, load->from, &error) < 0)
			die(error.text);
	}
}

static void ask(struct store *store, const char *name, uint64_t from_ns, uint64_t to_ns,
		const char *condition)
{
	static const char *const labels[] = {"comm"};
	struct store_where *where = condition ? store_where_parse(condition, NULL) : NULL;
	struct store_query query = {from_ns, to_ns, where, labels, 1, NULL, 0};
	struct store_answer answer;
	struct profile *profile;
	struct error error;
	uint64_t start_ns = clock_now_ns();

	if (store_query(store, &query, &profile, &answer, &error) < 0)
		die(error.text);
	printf("%-24s %7.1f ms, %zu stacks, %.0f s of CPU time\n", name,
	       (double)(clock_now_ns() - start_ns) / 1e6, profile_nr_samples(profile),
	       (double)profile_total(profile) / 1e9);
	profile_free(profile);
	store_where_free(where);
}

static struct profile *read_profile(const char *path)
{
	struct profile *profile = profile_new();
	struct format_notes notes = {0};
	struct error error = {0};
	cleanup(cleanup_close_file) FILE *in = fopen(path, "re");

	if (!profile || !in ||
	    format_read(in, path, &(struct format_read_options){0}, profile, &notes, &error) < 0)
		die(error.text);
	return profile;
}

int main(int argc, char **argv)
{
	unsigned days = 7, seconds = 10, nr = 380, churn = 5, nr_kept = 0;
	struct load load = {.random = 88172645463325252ULL, .begin_ns = BEGIN * NS_PER_SECOND};
	struct store *store = NULL;
	struct error error = {0};
	uint64_t sum = 0, nr_epochs, to;
	uint32_t i;
	int option;

	while ((option = getopt(argc, argv, "d:e:n:c:b:k:g:u:")) >= 0) {
		unsigned number = (unsigned)strtoul(optarg, NULL, 10);

		if (option == 'd')
			days = number;
		else if (option == 'e')
			seconds = number;
		else if (option == 'n')
			nr = number;
		else if (option == 'c')
			churn = number;
		else if (option == 'b')
			load.begin_ns = strtoull(optarg, NULL, 10) * NS_PER_SECOND;
		else if (option == 'k')
			nr_kept = number;
		else if (option == 'u')
			load.together = number;
		else if (option == 'g' && sscanf(optarg, "%255[^:]:%u:%u", load.grows, &load.day,
						 &load.percent) != 3)
			die("-g NAME:DAY:PERCENT");
	}
	if (argc - optind != 2 || !seconds)
		die("usage: store_cost [-d DAYS] [-e SECONDS] [-n SAMPLES] [-c PERCENT] [-k "
		    "EPOCHS] "
		    "[-b BEGIN] [-g NAME:DAY:PERCENT] [-u EPOCHS] STORE PROFILE");
	load.from = read_profile(argv[optind + 1]);
	load.sums = calloc(profile_nr_samples(load.from) + 1, sizeof(*load.sums));
	load.versions = calloc(profile_nr_samples(load.from) + 1, sizeof(*load.versions));
	for (i = 0; i < profile_nr_samples(load.from); i++)
		load.sums[i] = sum += profile_sample(load.from, i)->count;
	if (!sum || store_open_writer(argv[optind], &store, &error) < 0)
		die(sum ? error.text : "the profile is empty");
	if (nr_kept) {
		keep(&load, store, nr_kept, seconds);
		store_close(store);
		return 0;
	}
	nr_epochs = (uint64_t)days * 86400 / seconds;
	to = load.begin_ns + nr_epochs * seconds * NS_PER_SECOND;
	fill(&load, store, nr_epochs, seconds, nr, churn);
	ask(store, "everything", 0, to, NULL);
	ask(store, "everything, again", 0, to, NULL);
	ask(store, "everything of a command", 0, to, "comm~^[a-d]");
	ask(store, "the last day", to - 86400 * NS_PER_SECOND, to, NULL);
	ask(store, "the last hour", to - 3600 * NS_PER_SECOND, to, NULL);
	ask(store, "5 minutes", to - 7500 * NS_PER_SECOND, to - 7200 * NS_PER_SECOND, NULL);
	store_close(store);
	return 0;
}
