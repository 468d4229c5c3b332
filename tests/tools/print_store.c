/*
 * Prints what a store has, for tests: print_store [-e] PATH KEY [VALUE]
 *
 *	epochs 12 minutes 1 hours 0 lost 0 measured_ns 120000000000
 *	range 1700000000000000000 1700000010000000000
 *	8421052480 spin
 *
 * The first two lines are of the whole store (epochs: also those that are in longer blocks, or were named together), and
 * of its range. Then the sums of a value ("cpu") by a label. With -e,
 * the sums of each epoch, after a line with its range, its sampling period (0: there were several), and its losses:
 *
 *	epoch 1700000000000000000 1700000010000000000 52631578 0
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "profile/profile.h"
#include "store/store.h"

static const char *label_of(const struct profile *profile, const struct sample *sample,
			    const char *key)
{
	static char number[16];
	struct set_label labels[LABEL_SET_MAX];
	size_t nr, i;

	if (!strcmp(key, "comm"))
		return profile_string(profile, sample->labels.comm);
	if (!strcmp(key, "cgroup"))
		return profile_string(profile, sample->labels.cgroup);
	if (!strcmp(key, "pid")) {
		(void)snprintf(number, sizeof(number), "%d", sample->labels.pid);
		return number;
	}
	nr = profile_label_set(profile, sample->labels.set, labels);
	for (i = 0; i < nr; i++)
		if (!strcmp(profile_string(profile, labels[i].key), key))
			return profile_string(profile, labels[i].text);
	return "";
}

/* A line for each sample: whoever reads them sums them up. */
static void print_sums(const struct profile *profile, const char *key)
{
	uint32_t i;

	for (i = 0; i < profile_nr_samples(profile); i++)
		printf("%" PRIu64 " %s\n", profile_sample(profile, i)->count,
		       label_of(profile, profile_sample(profile, i), key));
}

static int print_all(struct store *store, struct store_query *query,
		     const struct store_extent *extent, struct error *error)
{
	struct store_answer answer;
	struct profile *profile;
	int err = store_query(store, query, &profile, &answer, error);

	if (err)
		return err;
	printf("epochs %" PRIu64 " minutes %" PRIu64 " hours %" PRIu64 " lost %" PRIu64
	       " measured_ns %" PRIu64 "\n",
	       answer.nr_epochs, extent->nr_minutes, extent->nr_hours, answer.lost,
	       answer.measured_ns);
	printf("range %" PRIu64 " %" PRIu64 "\n", extent->from_ns, extent->to_ns);
	print_sums(profile, query->labels[0]);
	profile_free(profile);
	return 0;
}

/*
 * Asks for a nanosecond each time: a block is never cut. Where there is none, the rest has the next one. If the clock was
 * set back, two are printed as one.
 */
static int print_epochs(struct store *store, struct store_query *query,
			const struct store_extent *extent, struct error *error)
{
	query->most_ns = 1;
	query->no_stacks = true;
	query->from_ns = extent->from_ns;
	query->to_ns = extent->from_ns + 1;
	while (query->from_ns < extent->to_ns) {
		const bool is_search = query->to_ns == extent->to_ns;
		struct store_answer answer;
		struct profile *profile;
		int err = store_query(store, query, &profile, &answer, error);

		if (err)
			return err;
		if (answer.nr_epochs && !is_search) {
			printf("epoch %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			       answer.from_ns, answer.to_ns,
			       answer.has_mixed_periods ? 0 : answer.most_period_ns, answer.lost);
			print_sums(profile, query->labels[0]);
		}
		profile_free(profile);
		if (!answer.nr_epochs && is_search)
			break;
		if (answer.nr_epochs)
			query->from_ns = is_search ? answer.from_ns : answer.to_ns;
		query->to_ns = answer.nr_epochs ? query->from_ns + 1 : extent->to_ns;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const bool by_epoch = argc > 1 && !strcmp(argv[1], "-e");
	struct store_query query = {.to_ns = INT64_MAX, .nr_labels = 1};
	const char *labels[1];
	struct store_extent extent;
	struct error error = {0};
	struct store *store = NULL;
	int err;

	argv += by_epoch;
	argc -= by_epoch;
	if (argc < 3) {
		fprintf(stderr, "usage: print_store [-e] PATH KEY [VALUE]\n");
		return 2;
	}
	labels[0] = argv[2];
	query.labels = labels;
	query.value = argc > 3 ? argv[3] : NULL;
	err = store_open_reader(argv[1], NULL, NULL, &store, &error);
	if (!err)
		err = store_extent(store, &extent, &error);
	if (!err)
		err = (by_epoch ? print_epochs : print_all)(store, &query, &extent, &error);
	store_close(store);
	if (err)
		fprintf(stderr, "%s\n", error.text);
	return err != 0;
}
