#include "agent/keeper.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/labels.h"
#include "base/clock.h"
#include "base/text.h"
#include "run/complain.h"

/*
 * Epochs are for what happened just now; after a day, their minutes say as much. (The store sums them up at once, so
 * that nothing is to be done when they go.)
 */
#define EPOCHS_NS (24 * 3600 * NS_PER_SEC)

#define EXPIRE_NS (60 * NS_PER_SEC) /* between two removals of what is too old */

/* An agent that is started anew may find that its predecessor's last helper still has the lock. */
#define LOCK_TRIES  10
#define LOCK_NAP_NS (100 * NS_PER_MS)

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static int open_store(struct keeper *keeper, struct error *error)
{
	const struct timespec nap = {.tv_nsec = LOCK_NAP_NS};
	int err, i;

	for (i = 0; i < LOCK_TRIES; i++) {
		err = store_open_writer(keeper->path, &keeper->store, error);
		if (!err && keeper->settings->max_memory_bytes)
			store_limit_memory(keeper->store, keeper->settings->max_memory_bytes);
		if (err != -EBUSY)
			return err;
		(void)nanosleep(&nap, NULL);
	}
	return err;
}

/* Moves a damaged store aside, and opens a new one. Any other file stays. */
static int begin_anew(struct keeper *keeper, struct error *error)
{
	char aside[4096];
	int err;

	store_close(keeper->store);
	keeper->store = NULL;
	err = store_put_aside(keeper->path, aside, sizeof(aside));
	if (err == -EINVAL)
		return error->code;
	if (err)
		return error_set(error, err, "cannot move the damaged store '%s' aside: %s",
				 keeper->path, strerror(-err));
	complain("store '%s' is damaged: moved to '%s', and a new one begun", keeper->path, aside);
	return open_store(keeper, error);
}

static void free_settings(struct keeper_settings *settings)
{
	if (settings)
		relabel_rules_clear(&settings->rules);
	free(settings);
}

int keeper_open(struct keeper *keeper, const char *path, struct keeper_settings *settings,
		struct error *error)
{
	int err;

	*keeper = (struct keeper){.path = strdup(path), .settings = settings};
	if (!keeper->path || !settings)
		return error_no_memory(error, "");
	err = open_store(keeper, error);
	return err == -EBADMSG ? begin_anew(keeper, error) : err;
}

void keeper_close(struct keeper *keeper)
{
	store_close(keeper->store);
	keeper->store = NULL;
	free_settings(keeper->settings);
	free_settings(atomic_exchange(&keeper->next_settings, NULL));
	keeper->settings = NULL;
	free(keeper->path);
	keeper->path = NULL;
}

void keeper_set(struct keeper *keeper, struct keeper_settings *settings)
{
	free_settings(atomic_exchange(&keeper->next_settings, settings));
}

static void take_settings(struct keeper *keeper)
{
	struct keeper_settings *next = atomic_exchange(&keeper->next_settings, NULL);

	if (!next)
		return;
	free_settings(keeper->settings);
	keeper->settings = next;
	keeper->expire_ns = 0;
	if (keeper->store && next->max_memory_bytes)
		store_limit_memory(keeper->store, next->max_memory_bytes);
}

/* --- epochs ----------------------------------------------------------------------------------- */

static int append(struct keeper *keeper, const struct profile *profile,
		  const struct session_part *part, struct error *error)
{
	const struct store_epoch epoch = {
		.start_ns = part->began_ns,
		.end_ns = part->ended_ns,
		.period_ns = part->period_ns,
		.lost = part->lost,
	};
	int err;

	if (keeper->store && !store_is_there(keeper->store)) {
		complain("store '%s' was removed: a new one is begun", keeper->path);
		store_close(keeper->store);
		keeper->store = NULL;
	}
	err = keeper->store ? 0 : open_store(keeper, error);
	if (!err)
		err = store_append(keeper->store, &epoch, profile, error);
	if (err != -EBADMSG)
		return err;
	err = begin_anew(keeper, error);
	return err ? err : store_append(keeper->store, &epoch, profile, error);
}

static void drop(struct keeper *keeper, const struct error *why)
{
	if (!keeper->nr_dropped_now++)
		complain("epochs are dropped: %s", why->text);
	keeper->nr_dropped++;
}

static void note_stored(struct keeper *keeper)
{
	if (keeper->nr_dropped_now)
		complain("epochs are stored again; %" PRIu64 " were dropped",
			 keeper->nr_dropped_now);
	keeper->nr_dropped_now = 0;
	keeper->nr_stored++;
	keeper->stored_ns = clock_now_ns();
	keeper->bytes = store_bytes(keeper->store);
}

static void count_walks(struct keeper *keeper, const struct profile *profile)
{
	const int cpu = profile_find_value(profile, PROFILE_CPU_TIME);
	uint32_t i;

	for (i = 0; i < profile_nr_samples(profile); i++) {
		const struct sample_labels *labels = &profile_sample(profile, i)->labels;
		const uint64_t ns = cpu < 0 ? 0 : profile_value(profile, i, (size_t)cpu);

		if (labels->user_end < NR_WALK_ENDS)
			keeper->user_walks_ns[labels->user_end] += ns;
		if (labels->kernel_end < NR_WALK_ENDS)
			keeper->kernel_walks_ns[labels->kernel_end] += ns;
	}
}

/*
 * Only this reads old blocks, so only this may find out that the store is damaged. Nothing would ever be removed from
 * it again. Any other failure is one of the next epoch, too. What cannot be done at once goes on after the next epoch.
 */
static void expire(struct keeper *keeper)
{
	const uint64_t began_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	const struct keeper_settings *settings = keeper->settings;
	const uint64_t retain_ns = settings->retain_ns;
	const struct store_limits limits = {
		.epochs_ns = retain_ns ? earlier(retain_ns, EPOCHS_NS) : EPOCHS_NS,
		.minutes_ns = retain_ns,
		.hours_ns = retain_ns,
		.bytes = settings->max_bytes,
	};
	const uint64_t now_ns = clock_now_ns();
	struct error error = {0};
	int err;

	if (now_ns < keeper->expire_ns)
		return;
	err = store_expire(keeper->store, &limits, clock_read_ns(CLOCK_REALTIME), &error);
	if (!err)
		keeper->expire_ns = now_ns + EXPIRE_NS;
	if (err == -EBADMSG && begin_anew(keeper, &error) < 0)
		complain_error(&error);
	keeper->upkeep_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
}

int keeper_add(struct keeper *keeper, struct profile *profile, const struct session_part *part)
{
	struct label_sources sources = {.names = &part->names, .own = keeper->own_labels};
	struct error error = {0};
	uint64_t left_out_ns = 0;
	int err;

	take_settings(keeper);
	sources.rules = &keeper->settings->rules;
	err = keeper->settings->is_off_cpu ? labels_split_states(profile) : 0;
	if (!err)
		err = labels_add(profile, &sources, &left_out_ns);
	keeper->left_out_ns += left_out_ns;
	err = err ? error_no_memory(&error, "for an epoch") : append(keeper, profile, part, &error);
	if (err) {
		drop(keeper, &error);
		return 0;
	}
	note_stored(keeper);
	count_walks(keeper, profile);
	expire(keeper);
	return 0;
}
