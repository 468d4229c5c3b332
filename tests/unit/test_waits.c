/*
 * Waits that cross the ends of epochs: each nanosecond is added once, in whatever order the reading
 * of the map and the ends arrive.
 */
#include "collect/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unit/test.h"

#define NR_IDS 64

/* The time that was added, by id. */
struct added {
	uint64_t waited_ns[NR_IDS], queued_ns[NR_IDS];
	uint64_t nr_waited[NR_IDS], nr_queued[NR_IDS];
	uint64_t waker;		 /* of the last one */
	uint64_t unknown_waker;	 /* its record has not arrived; 0: all have */
	bool is_unknown[NR_IDS]; /* its record has not arrived */
};

static int add(void *context, const struct wait_credit *wait, const struct wait_amount *more)
{
	struct added *added = context;
	const uint64_t id = wait->id;

	if (added->is_unknown[id] || (wait->waker && wait->waker == added->unknown_waker))
		return -EAGAIN;
	added->waker = wait->waker;
	added->waited_ns[id] += more->waited_ns;
	added->queued_ns[id] += more->queued_ns;
	added->nr_waited[id] += more->nr_waited;
	added->nr_queued[id] += more->nr_queued;
	return 0;
}

static void open_wait(struct waits *waits, uint64_t task, uint64_t since_ns, uint64_t woken_ns,
		      uint64_t id)
{
	const struct wire_waiting waiting = {.since_ns = since_ns, .woken_ns = woken_ns, .id = id};

	CHECK_EQ(waits_add_open(waits, task, &waiting), 0);
}

static void end_wait(struct waits *waits, uint64_t task, uint64_t since_ns, uint64_t id,
		     uint64_t waited_ns, uint64_t queued_ns, uint32_t epoch)
{
	const struct wire_wait end = {task, since_ns, id, 0, waited_ns, queued_ns, epoch, 0};

	CHECK_EQ(waits_add_end(waits, &end), 0);
}

TEST(waits_get_their_time_so_far_and_then_the_rest)
{
	struct waits waits = {0};
	struct added added = {0};

	open_wait(&waits, 1, 100, 0, 5);
	CHECK_EQ(waits_close_epoch(&waits, 0, 1000, false, add, &added), 0);
	CHECK_EQ(added.waited_ns[5], 900);
	open_wait(&waits, 1, 100, 1500, 5);
	CHECK_EQ(waits_close_epoch(&waits, 1, 2000, false, add, &added), 0);
	CHECK_EQ(added.waited_ns[5], 1400);
	CHECK_EQ(added.queued_ns[5], 500);
	CHECK_EQ(added.nr_waited[5], 1);
	CHECK_EQ(added.nr_queued[5], 1);
	CHECK_EQ(waits.open_ns, 1900);
	end_wait(&waits, 1, 100, 5, 1400, 700, 2);
	CHECK_EQ(waits_close_epoch(&waits, 2, 3000, true, add, &added), 0);
	CHECK_EQ(added.waited_ns[5], 1400);
	CHECK_EQ(added.queued_ns[5], 700);
	CHECK_EQ(added.nr_waited[5], 1);
	CHECK_EQ(added.nr_queued[5], 1);
	CHECK_EQ(waits.open_ns, 0);
	CHECK_EQ(waits.sent_ns, 2100);
	waits_clear(&waits);
}

TEST(waits_that_end_after_the_reading_are_not_added_twice)
{
	struct waits waits = {0};
	struct added added = {0};

	open_wait(&waits, 1, 100, 0, 5);
	end_wait(&waits, 1, 100, 5, 950, 0, 1); /* ended at 1050, in the next epoch */
	CHECK_EQ(waits_close_epoch(&waits, 0, 1000, false, add, &added), 0);
	CHECK_EQ(added.waited_ns[5], 950);
	CHECK_EQ(waits.open_ns, 0);
	/* The same thread waits again. */
	open_wait(&waits, 1, 1100, 0, 6);
	CHECK_EQ(waits_close_epoch(&waits, 1, 2000, true, add, &added), 0);
	CHECK_EQ(added.waited_ns[5], 950);
	CHECK_EQ(added.waited_ns[6], 900);
	CHECK_EQ(waits.open_ns, 900);
	waits_clear(&waits);
}

/* A wake-up that was not seen at the reading: too much was added as waited. */
TEST(waits_keep_the_total_when_a_wake_up_is_seen_late)
{
	struct waits waits = {0};
	struct added added = {0};

	open_wait(&waits, 1, 100, 0, 5);
	CHECK_EQ(waits_close_epoch(&waits, 0, 1000, false, add, &added), 0);
	end_wait(&waits, 1, 100, 5, 850, 250, 1);
	CHECK_EQ(waits_close_epoch(&waits, 1, 2000, false, add, &added), 0);
	CHECK_EQ(added.waited_ns[5], 900);
	CHECK_EQ(added.queued_ns[5], 200);
	waits_clear(&waits);
}

TEST(waits_wait_for_their_record)
{
	struct waits waits = {0};
	struct added added = {0};
	uint64_t id = 0;

	added.is_unknown[5] = true;
	open_wait(&waits, 1, 100, 0, 5);
	end_wait(&waits, 2, 100, 5, 300, 0, 1);
	CHECK_EQ(waits_close_epoch(&waits, 0, 1000, false, add, &added), 0);
	CHECK_EQ(waits.open_ns, 0);
	CHECK(waits_needed(&waits, 0, &id) && id == 5);
	CHECK(waits_needed(&waits, 2, &id) && id == 5);
	CHECK(!waits_needed(&waits, 4, &id));
	added.is_unknown[5] = false;
	open_wait(&waits, 1, 100, 0, 5);
	CHECK_EQ(waits_close_epoch(&waits, 1, 2000, false, add, &added), 0);
	CHECK_EQ(added.waited_ns[5], 1900 + 300);
	/* A record that never comes is a loss with a number. */
	added.is_unknown[7] = true;
	end_wait(&waits, 3, 2100, 7, 40, 2, 1);
	CHECK_EQ(waits_close_epoch(&waits, 2, 3000, false, add, &added), 0);
	CHECK_EQ(waits.unknown_ns, 42);
	waits_clear(&waits);
}

TEST(waits_know_what_was_shown_of_a_lost_end)
{
	struct waits waits = {0};
	struct added added = {0};

	open_wait(&waits, 1, 100, 0, 5);
	CHECK_EQ(waits_close_epoch(&waits, 0, 1000, false, add, &added), 0);
	CHECK_EQ(waits_close_epoch(&waits, 1, 2000, false, add, &added), 0);
	CHECK_EQ(waits.open_ns, 900); /* the end may still come */
	CHECK_EQ(waits_close_epoch(&waits, 2, 3000, false, add, &added), 0);
	CHECK_EQ(waits.open_ns, 0);
	CHECK_EQ(waits.cut_ns, 900);
	waits_clear(&waits);
}

TEST(waits_are_chosen_by_length)
{
	struct waits waits = {.min_ns = 500, .max_ns = 0};
	struct waits bounded = {.max_ns = 500};
	struct added added = {0};

	open_wait(&waits, 1, 600, 0, 5);
	CHECK_EQ(waits_close_epoch(&waits, 0, 1000, false, add, &added), 0);
	CHECK_EQ(added.waited_ns[5], 0); /* too short so far */
	open_wait(&waits, 1, 600, 0, 5);
	CHECK_EQ(waits_close_epoch(&waits, 1, 2000, false, add, &added), 0);
	CHECK_EQ(added.waited_ns[5], 1400);
	/* What is not shown at the end is known. */
	open_wait(&waits, 1, 600, 0, 5);
	open_wait(&waits, 2, 2700, 0, 8);
	open_wait(&waits, 3, 1000, 0, 0);
	open_wait(&waits, 4, 2800, 0, 0);
	open_wait(&waits, 5, 1500, 0, 9);
	added.is_unknown[9] = true;
	CHECK_EQ(waits_close_epoch(&waits, 2, 3000, true, add, &added), 0);
	CHECK_EQ(added.waited_ns[5], 2400);
	CHECK_EQ(added.waited_ns[8], 0);
	CHECK_EQ(waits.open_passed_ns, 300 + 200);
	CHECK_EQ(waits.open_lost_ns, 2000 + 1500);
	waits_clear(&waits);
	/* With an upper limit, only the end shows if a wait belongs. */
	open_wait(&bounded, 1, 900, 0, 6);
	CHECK_EQ(waits_close_epoch(&bounded, 0, 1000, false, add, &added), 0);
	CHECK_EQ(added.waited_ns[6], 0);
	open_wait(&bounded, 1, 900, 0, 6);
	open_wait(&bounded, 2, 1700, 0, 7);
	CHECK_EQ(waits_close_epoch(&bounded, 1, 2000, true, add, &added), 0);
	CHECK_EQ(added.waited_ns[6], 0);
	CHECK_EQ(added.waited_ns[7], 300);
	CHECK_EQ(bounded.open_passed_ns, 1100);
	waits_clear(&bounded);
}

/* A waker's stack is needed from the wake-up until the thread has run and its end has arrived. */
TEST(waits_have_a_waker)
{
	const struct wire_waiting asleep = {
		.since_ns = 100, .id = 5, .waker = 8 /* of an older wait */};
	const struct wire_waiting woken = {.since_ns = 100, .woken_ns = 1500, .id = 5, .waker = 9};
	const struct wire_wait end = {.task = 1,
				      .since_ns = 100,
				      .id = 5,
				      .waker = 9,
				      .waited_ns = 1400,
				      .queued_ns = 1000,
				      .epoch = 2};
	unsigned is_whole;

	for (is_whole = 0; is_whole < 2; is_whole++) {
		struct waits waits = {.is_whole = is_whole};
		struct added added = {0};
		uint64_t id = 0;

		CHECK_EQ(waits_add_open(&waits, 1, &asleep), 0);
		CHECK_EQ(waits_close_epoch(&waits, 0, 1000, false, add, &added), 0);
		CHECK_EQ(added.waited_ns[5], is_whole ? 0 : 900);
		CHECK_EQ(added.waker, is_whole ? 0 : WAITS_NOT_WOKEN);
		CHECK_EQ(waits_add_open(&waits, 1, &woken), 0);
		CHECK_EQ(waits_close_epoch(&waits, 1, 2000, false, add, &added), 0);
		CHECK_EQ(added.waited_ns[5], is_whole ? 0 : 1400);
		CHECK_EQ(added.waker, is_whole ? 0 : 9);
		CHECK(waits_needed(&waits, 1, &id) && id == 9);
		CHECK_EQ(waits_add_end(&waits, &end), 0);
		CHECK_EQ(waits_close_epoch(&waits, 2, 3000, false, add, &added), 0);
		CHECK_EQ(added.waited_ns[5], 1400);
		CHECK_EQ(added.queued_ns[5], 1000);
		CHECK_EQ(added.waker, 9);
		/* A thread that waits at the end of the run gets its time, too. */
		CHECK_EQ(waits_add_open(&waits, 2,
					&(struct wire_waiting){.since_ns = 3000, .id = 6}),
			 0);
		CHECK_EQ(waits_close_epoch(&waits, 3, 4000, true, add, &added), 0);
		CHECK_EQ(added.waited_ns[6], 1000);
		CHECK_EQ(added.waker, WAITS_NOT_WOKEN);
		waits_clear(&waits);
	}
}

/*
 * The map and the ring are read after the end of the epoch, long after it on a busy machine: then they have wake-ups of
 * the next epoch, whose records are replayed with that one.
 */
TEST(waits_wait_for_the_record_of_their_waker)
{
	const struct wire_waiting woken = {.since_ns = 100, .woken_ns = 1500, .id = 5, .waker = 9};
	const struct wire_wait end = {
		.task = 2, .since_ns = 100, .id = 6, .waker = 9, .waited_ns = 1400, .epoch = 1};
	const struct wire_wait other = {
		.task = 3, .since_ns = 100, .id = 7, .waker = 8, .waited_ns = 2400, .epoch = 2};
	struct waits waits = {0};
	struct added added = {.unknown_waker = 9};

	CHECK_EQ(waits_add_open(&waits, 1, &woken), 0);
	CHECK_EQ(waits_add_end(&waits, &end), 0);
	CHECK_EQ(waits_close_epoch(&waits, 0, 1000, false, add, &added), 0);
	CHECK_EQ(added.waited_ns[5], 900); /* nobody had woken it by then */
	CHECK_EQ(added.waker, WAITS_NOT_WOKEN);
	CHECK_EQ(added.waited_ns[6], 0);
	added.unknown_waker = 0;
	CHECK_EQ(waits_close_epoch(&waits, 1, 2000, false, add, &added), 0);
	CHECK_EQ(added.waited_ns[6], 1400);
	CHECK_EQ(added.waker, 9);
	/* A record that never comes leaves no time out. */
	added.unknown_waker = 8;
	CHECK_EQ(waits_add_end(&waits, &other), 0);
	CHECK_EQ(waits_close_epoch(&waits, 2, 3000, false, add, &added), 0);
	CHECK_EQ(added.waited_ns[7], 0);
	CHECK_EQ(waits_close_epoch(&waits, 3, 4000, false, add, &added), 0);
	CHECK_EQ(added.waited_ns[7], 2400);
	CHECK_EQ(added.waker, 0);
	CHECK_EQ(waits_add_open(&waits, 4,
				&(struct wire_waiting){
					.since_ns = 4000, .woken_ns = 4500, .id = 10, .waker = 8}),
		 0);
	CHECK_EQ(waits_close_epoch(&waits, 4, 5000, true, add, &added), 0);
	CHECK_EQ(added.waited_ns[10], 500);
	CHECK_EQ(added.queued_ns[10], 500);
	CHECK_EQ(added.waker, 0);
	CHECK_EQ(waits.unknown_ns, 0);
	waits_clear(&waits);
}

/*
 * Threads that wait and run at random. The reading of an epoch is taken a little after its end, and
 * the ring is read after the reading; some ends come one epoch late.
 */
TEST(waits_of_many_threads_are_exact)
{
	enum { NR_TASKS = 40, NR_EPOCHS = 200, EPOCH_NS = 1000, READ_NS = 30 };
	struct {
		uint64_t since_ns, woken_ns, back_ns, id; /* since_ns 0: it runs until back_ns */
	} tasks[NR_TASKS] = {{0}};
	struct wire_wait late[NR_TASKS * 4];
	struct waits waits = {0};
	struct added added = {0};
	uint64_t ended_ns = 0, now_ns = 1, open_ns = 0, shown_ns = 0;
	size_t nr_late = 0, i;
	uint32_t epoch;

	srand(7);
	for (epoch = 0; epoch < NR_EPOCHS; epoch++) {
		const uint64_t end_ns = (uint64_t)(epoch + 1) * EPOCH_NS;

		for (i = 0; i < nr_late; i++)
			CHECK_EQ(waits_add_end(&waits, &late[i]), 0);
		nr_late = 0;
		for (; now_ns < end_ns + READ_NS; now_ns++) {
			for (i = 0; i < NR_TASKS; i++) {
				if (now_ns < tasks[i].back_ns)
					continue;
				if (tasks[i].since_ns) {
					const uint64_t woken_ns = tasks[i].woken_ns;
					const struct wire_wait end = {i + 1,
								      tasks[i].since_ns,
								      tasks[i].id,
								      0,
								      woken_ns - tasks[i].since_ns,
								      now_ns - woken_ns,
								      (uint32_t)(now_ns / EPOCH_NS),
								      0};
					const bool crosses =
						tasks[i].since_ns / EPOCH_NS != now_ns / EPOCH_NS;

					ended_ns += now_ns - tasks[i].since_ns;
					if (!crosses) { /* in the count map */
						(void)add(&added,
							  &(struct wait_credit){.id = end.id},
							  &(struct wait_amount){end.waited_ns,
										end.queued_ns,
										end.waited_ns > 0,
										end.queued_ns > 0});
					} else if (rand() % 4 || nr_late == ARRAY_SIZE(late)) {
						CHECK_EQ(waits_add_end(&waits, &end), 0);
					} else {
						late[nr_late++] = end;
					}
					tasks[i].since_ns = 0;
					tasks[i].back_ns = now_ns + 1 + (uint64_t)rand() % 300;
				} else {
					tasks[i].since_ns = now_ns;
					tasks[i].woken_ns = now_ns + (uint64_t)rand() % 2500;
					tasks[i].back_ns =
						tasks[i].woken_ns + (uint64_t)rand() % 200;
					tasks[i].id = (uint64_t)rand() % NR_IDS;
				}
			}
		}
		for (i = 0; i < NR_TASKS; i++)
			if (tasks[i].since_ns && tasks[i].since_ns < end_ns)
				open_wait(&waits, i + 1, tasks[i].since_ns,
					  tasks[i].woken_ns < now_ns ? tasks[i].woken_ns : 0,
					  tasks[i].id);
		CHECK_EQ(waits_close_epoch(&waits, epoch, end_ns, false, add, &added), 0);
	}
	for (i = 0; i < nr_late; i++)
		CHECK_EQ(waits_add_end(&waits, &late[i]), 0);
	CHECK_EQ(waits_close_epoch(&waits, epoch, now_ns, false, add, &added), 0);
	/* Nothing was read as open this time; what is open keeps what it has. */
	for (i = 0; i < NR_TASKS; i++)
		if (tasks[i].since_ns && tasks[i].since_ns < (uint64_t)NR_EPOCHS * EPOCH_NS)
			open_ns += (uint64_t)NR_EPOCHS * EPOCH_NS - tasks[i].since_ns;
	for (i = 0; i < NR_IDS; i++)
		shown_ns += added.waited_ns[i] + added.queued_ns[i];
	CHECK_EQ(waits.open_ns, open_ns);
	CHECK_EQ(waits.cut_ns, 0);
	CHECK_EQ(waits.unknown_ns, 0);
	CHECK_EQ(shown_ns, ended_ns + open_ns);
	waits_clear(&waits);
}
