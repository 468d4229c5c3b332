/* See time_slices.h. Interned as everything else of a profile is. */
#include "profile/time_slices.h"

#include <errno.h>

#include "base/array.h"
#include "base/hash.h"
#include "profile/profile_state.h"

static uint64_t hash_slice(const struct time_slice *slice)
{
	return hash_add(hash_u64(slice->start_ns), slice->end_ns);
}

int64_t profile_add_slice(struct profile *profile, const struct time_slice *slice)
{
	uint64_t hash = hash_slice(slice);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&profile->slice_index, hash, &probe, &number))
		if (profile->slices[number].start_ns == slice->start_ns &&
		    profile->slices[number].end_ns == slice->end_ns)
			return (int64_t)number + 1;
	if (profile->nr_slices == PROFILE_MAX_SLICES)
		return -E2BIG;
	if (array_reserve(&profile->slices, &profile->cap_slices, profile->nr_slices + 1,
			  sizeof(*slice)) < 0 ||
	    number_index_reserve(&profile->slice_index) < 0)
		return -ENOMEM;
	number_index_add(&profile->slice_index, hash, (uint32_t)profile->nr_slices);
	profile->slices[profile->nr_slices++] = *slice;
	return (int64_t)profile->nr_slices;
}

/* All keep their numbers, and are found by what they are now. */
void profile_end_slices(struct profile *profile, uint64_t end_ns)
{
	size_t i;

	number_index_reset(&profile->slice_index);
	for (i = 0; i < profile->nr_slices; i++) {
		struct time_slice *slice = &profile->slices[i];

		if (slice->start_ns < end_ns && slice->end_ns > end_ns)
			slice->end_ns = end_ns;
		number_index_add(&profile->slice_index, hash_slice(slice), (uint32_t)i);
	}
}

size_t profile_nr_slices(const struct profile *profile)
{
	return profile->nr_slices;
}

struct time_slice profile_slice(const struct profile *profile, uint32_t number)
{
	return profile->slices[number - 1];
}
