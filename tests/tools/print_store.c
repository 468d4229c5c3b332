/*
 * Prints what a store has, for tests: print_store PATH KEY [VALUE]
 *
 *	epochs 12 minutes 1 hours 0 lost 0 measured_ns 120000000000
 *	range 1700000000000000000 1700000010000000000
 *	8421052480 spin
 *
 * The first two lines are of the whole store, and of its range. Then the sums of a value ("cpu") by a label.
 */
#include <inttypes.h>
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

int main(int argc, char **argv)
{
	struct store_query query = {.to_ns = INT64_MAX, .nr_labels = 1};
	const char *labels[1];
	struct store_answer answer;
	struct store_extent extent;
	struct profile *profile;
	struct error error = {0};
	struct store *store;

	if (argc < 3) {
		fprintf(stderr, "usage: print_store PATH KEY [VALUE]\n");
		return 2;
	}
	labels[0] = argv[2];
	query.labels = labels;
	query.value = argc > 3 ? argv[3] : NULL;
	if (store_open_reader(argv[1], NULL, NULL, &store, &error) < 0 ||
	    store_extent(store, &extent, &error) < 0 ||
	    store_query(store, &query, &profile, &answer, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	printf("epochs %" PRIu64 " minutes %" PRIu64 " hours %" PRIu64 " lost %" PRIu64
	       " measured_ns %" PRIu64 "\n",
	       extent.nr_epochs, extent.nr_minutes, extent.nr_hours, answer.lost,
	       answer.measured_ns);
	printf("range %" PRIu64 " %" PRIu64 "\n", extent.from_ns, extent.to_ns);
	print_sums(profile, argv[2]);
	profile_free(profile);
	store_close(store);
	return 0;
}
