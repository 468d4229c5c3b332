/*
 * A wait is identified by its thread and its beginning. `credits` has what was added of each that
 * was open at the end of the last epoch, sorted by thread, so that the next reading and the ends
 * find it.
 *
 * An end is in the ring before the thread's entry in the map is cleared. So the end of a wait that a
 * reading no longer has was in the ring at the time of the reading, and the ring is read after the
 * map. A reserved record of another CPU may still be in front of it: a credit waits for its end for
 * one more epoch before the end is taken for lost.
 */
#include "collect/waits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void waits_clear(struct waits *waits)
{
	free(waits->credits);
	free(waits->found);
	free(waits->ends);
	*waits = (struct waits){0};
}

int waits_add_end(struct waits *waits, const struct wire_wait *end)
{
	int err = ARRAY_ADD(waits->ends, waits->nr_ends, waits->cap_ends, *end);

	if (err)
		return err;
	waits->nr_sent++;
	waits->sent_ns += end->waited_ns + end->queued_ns;
	return 0;
}

int waits_add_open(struct waits *waits, uint64_t task, const struct wire_waiting *waiting)
{
	const struct wait_credit credit = {
		.task = task,
		.since_ns = waiting->since_ns,
		.id = waiting->id,
		.waker = waiting->woken_ns ? waiting->waker : WAITS_NOT_WOKEN,
		.woken_ns = waiting->woken_ns,
		.one_of = waiting->one_of,
	};

	return ARRAY_ADD(waits->found, waits->nr_found, waits->cap_found, credit);
}

static int compare_credits(const void *a, const void *b)
{
	const struct wait_credit *x = a, *y = b;

	return COMPARE(x->task, y->task) ?: COMPARE(x->since_ns, y->since_ns);
}

static struct wait_credit *find(struct wait_credit *credits, size_t nr, uint64_t task,
				uint64_t since_ns)
{
	const struct wait_credit wanted = {.task = task, .since_ns = since_ns};
	size_t i = array_first(nr, k, compare_credits(&credits[k], &wanted) >= 0);

	return i < nr && !compare_credits(&credits[i], &wanted) ? &credits[i] : NULL;
}

/*
 * Adds what is missing for the wait to have these times. A thread may have been woken just before a
 * reading that did not see it yet: then too much was added as waited, and less is added as queued. is_due: no time is
 * left out for a waker whose record has not arrived.
 */
static int add_up_to(struct wait_credit *credit, uint64_t waited_ns, uint64_t queued_ns,
		     bool is_due, waits_add_fn *add, void *context)
{
	const uint64_t had_ns = credit->waited_ns + credit->queued_ns;
	const uint64_t total_ns = waited_ns + queued_ns;
	struct wait_amount more = {0};
	int err;

	if (total_ns <= had_ns)
		return 0;
	more.waited_ns = waited_ns > credit->waited_ns ? waited_ns - credit->waited_ns : 0;
	if (more.waited_ns > total_ns - had_ns)
		more.waited_ns = total_ns - had_ns;
	more.queued_ns = total_ns - had_ns - more.waited_ns;
	more.nr_waited = !credit->waited_ns && more.waited_ns;
	more.nr_queued = !credit->queued_ns && more.queued_ns;
	err = add(context, credit, &more);
	if (err == -EAGAIN && is_due && credit->waker) {
		credit->waker = 0;
		err = add(context, credit, &more);
	}
	if (err)
		return err;
	credit->waited_ns += more.waited_ns;
	credit->queued_ns += more.queued_ns;
	return 0;
}

/* The time until until_ns of a wait that is still open. -EAGAIN is no failure: it is added later. */
static int add_so_far(struct waits *waits, struct wait_credit *credit, uint64_t until_ns,
		      bool is_last, waits_add_fn *add, void *context)
{
	uint64_t total_ns = until_ns > credit->since_ns ? until_ns - credit->since_ns : 0;
	uint64_t waited_ns = total_ns;
	const uint64_t had_ns = credit->waited_ns + credit->queued_ns, waker = credit->waker;
	const bool is_chosen =
		total_ns >= waits->min_ns && (!waits->max_ns || total_ns <= waits->max_ns);
	int err;

	if (is_last && !is_chosen)
		waits->open_passed_ns += total_ns;
	else if (is_last && !credit->id)
		waits->open_lost_ns += total_ns;
	if (!credit->id || !is_chosen || (!is_last && (waits->is_whole || waits->max_ns)))
		return 0;
	/* The reading comes after until_ns, and so may the wake-up that it has seen. */
	if (credit->woken_ns && credit->woken_ns < until_ns)
		waited_ns = credit->woken_ns > credit->since_ns
				    ? credit->woken_ns - credit->since_ns
				    : 0;
	else
		credit->waker = WAITS_NOT_WOKEN;
	err = add_up_to(credit, waited_ns, total_ns - waited_ns, is_last, add, context);
	credit->waker = waker;
	waits->open_ns += credit->waited_ns + credit->queued_ns - had_ns;
	if (is_last && err == -EAGAIN)
		waits->open_lost_ns += total_ns - had_ns;
	return err == -EAGAIN ? 0 : err;
}

/* Takes over what was added before to the waits that are still open. */
static void join(struct waits *waits)
{
	size_t i;

	if (waits->nr_found)
		qsort(waits->found, waits->nr_found, sizeof(*waits->found), compare_credits);
	for (i = 0; i < waits->nr_found; i++) {
		struct wait_credit *now = &waits->found[i];
		struct wait_credit *before =
			find(waits->credits, waits->nr_credits, now->task, now->since_ns);

		if (!before)
			continue;
		now->waited_ns = before->waited_ns;
		now->queued_ns = before->queued_ns;
		before->id = 0; /* taken over */
	}
}

/* Keeps the credits of waits that have ended until their end arrives. */
static int keep_ended(struct waits *waits)
{
	size_t i;

	for (i = 0; i < waits->nr_credits; i++) {
		struct wait_credit credit = waits->credits[i];

		credit.age++;
		if (credit.id && credit.waited_ns + credit.queued_ns &&
		    ARRAY_ADD(waits->found, waits->nr_found, waits->cap_found, credit) < 0)
			return -ENOMEM;
	}
	if (waits->nr_found)
		qsort(waits->found, waits->nr_found, sizeof(*waits->found), compare_credits);
	return 0;
}

/* Gives up ends that did not arrive in the epoch after the one in which they were due. */
static void drop_lost(struct waits *waits)
{
	size_t i;

	for (i = 0; i < waits->nr_credits; i++) {
		struct wait_credit *credit = &waits->credits[i];

		if (credit->age < 2 || !credit->id)
			continue;
		waits->open_ns -= credit->waited_ns + credit->queued_ns;
		waits->cut_ns += credit->waited_ns + credit->queued_ns;
		credit->id = 0;
	}
}

static void swap_credits(struct waits *waits)
{
	struct wait_credit *items = waits->credits;
	size_t cap = waits->cap_credits;

	waits->credits = waits->found;
	waits->nr_credits = waits->nr_found;
	waits->cap_credits = waits->cap_found;
	waits->found = items;
	waits->nr_found = 0;
	waits->cap_found = cap;
}

/* Adds the rest of a wait that has ended. */
static int add_end(struct waits *waits, const struct wire_wait *end, bool is_due, waits_add_fn *add,
		   void *context)
{
	struct wait_credit *known =
		find(waits->credits, waits->nr_credits, end->task, end->since_ns);
	struct wait_credit all = {.id = end->id, .one_of = end->one_of};
	struct wait_credit *credit = known ? known : &all;
	const uint64_t had_ns = credit->waited_ns + credit->queued_ns;
	int err;

	credit->id = end->id;
	credit->waker = end->waker;
	err = add_up_to(credit, end->waited_ns, end->queued_ns, is_due, add, context);
	if (err || !known)
		return err;
	waits->open_ns -= had_ns;
	*known = (struct wait_credit){.task = known->task, .since_ns = known->since_ns};
	return 0;
}

int waits_close_epoch(struct waits *waits, uint32_t epoch, uint64_t until_ns, bool is_last,
		      waits_add_fn *add, void *context)
{
	size_t kept = 0, i;
	int err = 0;

	join(waits);
	err = keep_ended(waits);
	if (err)
		return err;
	swap_credits(waits);
	waits->nr_open = 0;
	for (i = 0; i < waits->nr_credits && !err; i++) {
		if (waits->credits[i].age)
			continue;
		waits->nr_open++;
		err = add_so_far(waits, &waits->credits[i], until_ns, is_last, add, context);
	}
	for (i = 0; i < waits->nr_ends && !err; i++) {
		const struct wire_wait end = waits->ends[i];
		/* The records of the epoch in which it ended are all there by the next time. */
		const bool is_due = is_last || (int32_t)(end.epoch - epoch) < 0;

		err = add_end(waits, &end, is_due, add, context);
		if (err != -EAGAIN)
			continue;
		err = 0;
		if (!is_due)
			waits->ends[kept++] = end;
		else
			waits->unknown_ns += end.waited_ns + end.queued_ns;
	}
	if (err)
		return err;
	waits->nr_ends = kept;
	drop_lost(waits);
	return 0;
}

bool waits_needed(const struct waits *waits, size_t i, uint64_t *ret_id)
{
	const size_t k = i / 2;
	const bool is_waker = i % 2;

	if (k >= waits->nr_credits + waits->nr_ends)
		return false;
	if (k < waits->nr_credits)
		*ret_id = is_waker ? waits->credits[k].waker : waits->credits[k].id;
	else
		*ret_id = is_waker ? waits->ends[k - waits->nr_credits].waker
				   : waits->ends[k - waits->nr_credits].id;
	return true;
}
