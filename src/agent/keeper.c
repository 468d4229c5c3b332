/*
 * One lock is held for the whole of an epoch: SQLite has one writer anyway, and rules and settings are then those of
 * one moment. The threads that wait for it do not drain the rings.
 *
 * Whatever fails is tried again with the next epoch. Only damage changes something: a damaged store would never store
 * an epoch again.
 */
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
#define SLICE_NS  (10 * NS_PER_SEC) /* between two parts of one, without epochs */

#define NOTHING_KEPT UINT64_MAX /* for keeper.kept_from */

/* An agent that is started anew may find that its predecessor's last helper still has the lock. */
#define LOCK_TRIES  10
#define LOCK_NAP_NS (100 * NS_PER_MS)

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

/* --- the clock -------------------------------------------------------------------------------- */

/* Two clocks that differ by less go alike: one is slewed, or they were read at different moments. */
#define CLOCK_ERROR_NS (60 * NS_PER_SEC)

uint64_t keeper_clock_read(struct keeper_clock *clock, uint64_t wall_ns, uint64_t boot_ns)
{
	const uint64_t expected_ns = clock->now_ns + (boot_ns - clock->boot_ns);
	const uint64_t ahead_ns =
		wall_ns > expected_ns + CLOCK_ERROR_NS ? wall_ns - expected_ns : 0;

	if (ahead_ns && (ahead_ns > clock->ahead_ns + CLOCK_ERROR_NS ||
			 ahead_ns + CLOCK_ERROR_NS < clock->ahead_ns))
		clock->since_ns = boot_ns; /* it was set */
	clock->ahead_ns = ahead_ns;
	if (ahead_ns && boot_ns - clock->since_ns >= KEEPER_CLOCK_PATIENCE_NS)
		clock->ahead_ns = 0;
	clock->now_ns = clock->ahead_ns || wall_ns < expected_ns ? expected_ns : wall_ns;
	clock->boot_ns = boot_ns;
	return clock->ahead_ns ? expected_ns : wall_ns;
}

/*
 * Goes on from what was believed when the store was last looked through, since epochs may have been stored with a wrong
 * time meanwhile. If that is long ago, the host may have been off, or its clock may be wrong since it is on.
 */
static void start_clock(struct keeper *keeper)
{
	struct store_extent extent;
	struct error error;

	keeper->clock = (struct keeper_clock){.now_ns = clock_read_ns(CLOCK_REALTIME),
					      .boot_ns = clock_read_ns(CLOCK_BOOTTIME)};
	if (store_extent(keeper->store, &extent, &error) == 0 && extent.to_ns)
		keeper->clock.now_ns = extent.expired_ns ? extent.expired_ns : extent.to_ns;
}

/* --- the store -------------------------------------------------------------------------------- */

/*
 * Epochs of an agent that was killed before it had named them stay as they are. While this fails, as on a full disk,
 * nothing else is stored either.
 */
static int settle(struct keeper *keeper, struct error *error)
{
	uint64_t nr = 0;
	int err = keeper->is_settled ? 0 : store_settle(keeper->store, &nr, error);

	if (err)
		return err;
	keeper->is_settled = true;
	if (nr)
		complain("the agent before ended before it had named all code: %" PRIu64
			 " epochs are kept as they are",
			 nr);
	return 0;
}

static void limit_memory(struct keeper *keeper)
{
	const size_t bytes = keeper->max_memory_bytes;

	if (keeper->store && bytes)
		store_limit_memory(keeper->store, bytes);
}

static int open_store(struct keeper *keeper, struct error *error)
{
	const struct timespec nap = {.tv_nsec = LOCK_NAP_NS};
	int err, i;

	for (i = 0; i < LOCK_TRIES; i++) {
		err = store_open_writer(keeper->path, &keeper->store, error);
		if (err != -EBUSY)
			break;
		(void)nanosleep(&nap, NULL);
	}
	if (err)
		return err;
	limit_memory(keeper);
	keeper->is_settled = false;
	keeper->kept_from = NOTHING_KEPT;
	return settle(keeper, error) == -EBADMSG ? -EBADMSG : 0;
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
		size_t max_memory_bytes, struct error *error)
{
	int err;

	*keeper = (struct keeper){
		.path = strdup(path),
		.settings = settings,
		.max_memory_bytes = max_memory_bytes,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	if (!keeper->path || !settings)
		return error_no_memory(error, "");
	err = open_store(keeper, error);
	if (err == -EBADMSG)
		err = begin_anew(keeper, error);
	if (!err)
		start_clock(keeper);
	return err;
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

void keeper_limit_memory(struct keeper *keeper, size_t bytes)
{
	keeper->max_memory_bytes = bytes;
}

static void take_settings(struct keeper *keeper)
{
	struct keeper_settings *next = atomic_exchange(&keeper->next_settings, NULL);

	if (next) {
		free_settings(keeper->settings);
		keeper->settings = next;
		keeper->expire_ns = 0;
	}
	limit_memory(keeper);
}

/* --- epochs ----------------------------------------------------------------------------------- */

typedef int append_fn(struct store *store, const struct store_epoch *epoch,
		      const struct profile *profile, struct error *error);

static int append(struct keeper *keeper, append_fn *append_to, const struct profile *profile,
		  const struct session_part *part, struct interval_span span, struct error *error)
{
	const struct store_epoch epoch = {
		.start_ns = part->began_ns,
		.end_ns = part->ended_ns,
		.measured_ns = part->measured_ns,
		.period_ns = part->period_ns,
		.lost = part->lost,
		.first = span.first,
		.last = span.last,
	};
	int err;

	if (keeper->store && !store_is_there(keeper->store)) {
		complain("store '%s' was removed: a new one is begun", keeper->path);
		store_close(keeper->store);
		keeper->store = NULL;
	}
	err = keeper->store ? 0 : open_store(keeper, error);
	if (!err)
		err = settle(keeper, error);
	if (!err)
		err = append_to(keeper->store, &epoch, profile, error);
	if (err != -EBADMSG)
		return err;
	err = begin_anew(keeper, error);
	return err ? err : append_to(keeper->store, &epoch, profile, error);
}

/* Adds the labels of an epoch. 0 or a negative errno. */
static int add_labels(struct keeper *keeper, struct profile *profile,
		      const struct session_part *part, const struct process_labels *own,
		      bool is_early, uint64_t *ret_left_out_ns)
{
	const struct label_sources sources = {
		.names = &part->names,
		.rules = &keeper->settings->rules,
		.own = own,
		.is_early = is_early,
	};
	int err = labels_split_states(profile);

	return err ? err : labels_add(profile, &sources, ret_left_out_ns);
}

void keeper_keep(struct keeper *keeper, struct profile *profile, const struct session_part *part,
		 struct interval_span span, bool is_naming)
{
	uint64_t left_out_ns;
	struct error error;
	int err;

	(void)pthread_mutex_lock(&keeper->lock);
	take_settings(keeper);
	err = profile ? add_labels(keeper, profile, part, is_naming ? NULL : keeper->own_labels,
				   true, &left_out_ns)
		      : -ENOMEM;
	if (!err)
		err = append(keeper, store_append_unnamed, profile, part, span, &error);
	if (err)
		keeper->kept_from = NOTHING_KEPT;
	else if (keeper->kept_from == NOTHING_KEPT)
		keeper->kept_from = span.first;
	(void)pthread_mutex_unlock(&keeper->lock);
}

static uint64_t nr_epochs_of(struct interval_span span)
{
	return span.last - span.first + 1;
}

/* An epoch that is stored without names stays so, if it was not replaced. */
static void drop(struct keeper *keeper, struct interval_span span, const struct error *why)
{
	if (keeper->kept_from <= span.first) {
		if (!keeper->has_reported_unnamed)
			complain("epochs stay without names: %s", why->text);
		keeper->has_reported_unnamed = true;
		return;
	}
	if (!keeper->nr_dropped_now)
		complain("epochs are dropped: %s", why->text);
	keeper->nr_dropped_now += nr_epochs_of(span);
	keeper->nr_dropped += nr_epochs_of(span);
}

static void note_stored(struct keeper *keeper, struct interval_span span)
{
	if (keeper->nr_dropped_now)
		complain("epochs are stored again; %" PRIu64 " were dropped",
			 keeper->nr_dropped_now);
	keeper->nr_dropped_now = 0;
	keeper->has_reported_unnamed = false;
	keeper->nr_stored += nr_epochs_of(span);
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
	err = store_expire(keeper->store, &limits,
			   keeper_clock_read(&keeper->clock, clock_read_ns(CLOCK_REALTIME),
					     clock_read_ns(CLOCK_BOOTTIME)),
			   &error);
	if (!err)
		keeper->expire_ns = now_ns + EXPIRE_NS;
	if (err == -EBADMSG && begin_anew(keeper, &error) < 0)
		complain_error(&error);
	keeper->upkeep_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
}

void keeper_expire(struct keeper *keeper)
{
	(void)pthread_mutex_lock(&keeper->lock);
	take_settings(keeper);
	if (keeper->store && keeper->is_settled)
		expire(keeper);
	if (keeper->expire_ns <= clock_now_ns()) /* there is more to do */
		keeper->expire_ns = clock_now_ns() + SLICE_NS;
	(void)pthread_mutex_unlock(&keeper->lock);
}

int keeper_add(struct keeper *keeper, struct profile *profile, const struct session_part *part,
	       struct interval_span span)
{
	struct error error = {0};
	uint64_t left_out_ns = 0;
	int err;

	(void)pthread_mutex_lock(&keeper->lock);
	take_settings(keeper);
	err = add_labels(keeper, profile, part, keeper->own_labels, false, &left_out_ns);
	keeper->left_out_ns += left_out_ns;
	err = err ? error_no_memory(&error, "for an epoch")
		  : append(keeper, store_append, profile, part, span, &error);
	if (err) {
		drop(keeper, span, &error);
	} else {
		note_stored(keeper, span);
		count_walks(keeper, profile);
		expire(keeper);
	}
	(void)pthread_mutex_unlock(&keeper->lock);
	return 0;
}
