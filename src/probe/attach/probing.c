/*
 * Attaching under a budget.
 *
 * It is not known beforehand which functions are hot, and a function that is called ten million
 * times a second stalls its program from the first hit. So a small group is attached
 * (probe_groups.h), its counters are watched for a few milliseconds (budget.h), and probes that
 * cost too much are detached immediately, in the background, while the next group is tried. The
 * other members of a detached group are attached again.
 *
 * Costs are summed from the beginning of a window. As soon as they reach the limit of the whole
 * window, it is judged, so the hotter a function is, the sooner it is caught: after 5 ms of a whole
 * CPU, under a budget of 5 %. During the search windows are short. Afterwards they are long, since
 * a cut is permanent and a burst is not.
 */
#include "probe/attach/probing.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd_io.h"
#include "probe/attach/budget.h"
#include "probe/attach/probe_groups.h"

#define SEARCH_WINDOW_NS (100 * NS_PER_MS)
#define STEADY_WINDOW_NS NS_PER_SEC

/* How long a group is watched before the next is attached, and the interval of checks later. */
#define SEARCH_LOOK_NS (8 * NS_PER_MS)
#define STEADY_LOOK_NS (100 * NS_PER_MS)

/* A check takes at most 1/LOOK_PARTS of our time: there may be many CPUs and probes. */
#define LOOK_PARTS 50

#define PROBING_NICE (-20)

#define READY_WITHIN_NS (2 * NS_PER_SEC)

struct probing {
	struct probing_options options;
	struct probe_links *links;
	struct probe_groups groups;
	struct probe_status *statuses;
	size_t nr_in[NR_PROBE_STATES];
	struct attach_schedule schedule;
	uint32_t *next_group; /* space for one group */
	struct budget budget;
	struct hit_cost cost;
	struct hit_watch watch;
	uint64_t tried_ns; /* when the last new probes were attached */
	uint64_t started_ns, settled_ns;
	bool is_searching, is_started, is_hurried;
	int nice; /* before probing_start() */
};

static bool has_budget(const struct probing *probing)
{
	return probing->options.budget_share > 0;
}

static void set_state(struct probing *probing, uint32_t number, enum probe_state state)
{
	struct probe_status *status = &probing->statuses[number];

	probing->nr_in[status->state]--;
	probing->nr_in[state]++;
	status->state = state;
}

static void refuse(void *context, uint32_t number, const char *why)
{
	struct probing *probing = context;

	if (probing->statuses[number].state == PROBE_REFUSED)
		return;
	set_state(probing, number, PROBE_REFUSED);
	probing->statuses[number].why = why;
}

/* --- new and free --------------------------------------------------------------------------- */

static struct probe_links_options links_options(struct probing *probing)
{
	return (struct probe_links_options){.list = probing->options.list,
					    .features = probing->options.features,
					    .programs = probing->options.programs,
					    .pid = probing->options.pid,
					    .refuse = refuse,
					    .context = probing};
}

struct probing *probing_new(const struct probing_options *options, struct error *error)
{
	struct probing *probing = calloc(1, sizeof(*probing));
	size_t nr = options->list->nr_probes, room;
	struct probe_links_options links;

	if (!probing)
		goto no_memory;
	probing->options = *options;
	probing->budget.share = options->budget_share;
	(void)fd_raise_limit();

	probing->statuses = calloc(nr ? nr : 1, sizeof(*probing->statuses));
	probing->nr_in[PROBE_WAITING] = nr;
	if (!probing->statuses || attach_schedule_init(&probing->schedule, (uint32_t)nr) < 0 ||
	    (has_budget(probing) &&
	     hit_watch_init(&probing->watch, options->hits, options->work_ns) < 0))
		goto no_memory;
	room = has_budget(probing) ? probing->schedule.group_max : nr;
	probing->next_group = calloc(room ? room : 1, sizeof(*probing->next_group));
	if (!probing->next_group)
		goto no_memory;

	links = links_options(probing);
	probing->links = probe_links_new(&links, error);
	if (!probing->links) {
		probing_free(probing);
		return NULL;
	}
	if (probe_groups_init(&probing->groups, probing->links, nr) == 0)
		return probing;
no_memory:
	(void)error_no_memory(error, "");
	probing_free(probing);
	return NULL;
}

void probing_free(struct probing *probing)
{
	if (!probing)
		return;
	probing_stop(probing);
	probe_groups_clear(&probing->groups);
	probe_links_free(probing->links);
	free(probing->statuses);
	free(probing->next_group);
	attach_schedule_clear(&probing->schedule);
	hit_watch_clear(&probing->watch);
	free(probing);
}

/* --- attaching ------------------------------------------------------------------------------ */

static void note_attached(struct probing *probing, uint32_t number, uint64_t now_ns)
{
	const struct probing_options *options = &probing->options;
	struct probe_status *status = &probing->statuses[number];
	double hit_ns;

	if (status->state == PROBE_REFUSED)
		return;
	set_state(probing, number, PROBE_ATTACHED);
	if (!status->attached_ns)
		status->attached_ns = now_ns;
	else
		status->away_ns += now_ns - status->left_ns;
	if (!has_budget(probing))
		return;
	hit_ns = hit_cost_of(&probing->cost, options->list, number, options->features);
	hit_watch_add(&probing->watch, number, hit_ns, clock_now_ns());
}

/* Attaches the first nr of the next group, except refused probes. */
static int attach(struct probing *probing, size_t nr, struct error *error)
{
	uint64_t began_ns = clock_now_ns();
	size_t nr_left = 0, i;
	int64_t group;

	for (i = 0; i < nr; i++)
		if (probing->statuses[probing->next_group[i]].state != PROBE_REFUSED)
			probing->next_group[nr_left++] = probing->next_group[i];
	if (!nr_left)
		return 0;
	group = probe_groups_attach(&probing->groups, probing->next_group, nr_left, error);
	if (group < 0)
		return (int)group;
	/*
	 * Use the time of the beginning: a probe is hit as soon as it is inserted, while others
	 * still are being inserted.
	 */
	for (i = 0; i < nr_left; i++)
		note_attached(probing, probing->next_group[i], began_ns);
	return 0;
}

static void hurry_no_more(struct probing *probing)
{
	if (probing->is_hurried)
		(void)setpriority(PRIO_PROCESS, 0, probing->nice);
	probing->is_hurried = false;
}

int probing_start(struct probing *probing, struct error *error)
{
	struct probe_links_options links = links_options(probing);
	uint32_t nr = (uint32_t)probing->options.list->nr_probes, i;

	probing->is_started = true;
	probing->started_ns = clock_now_ns();
	if (!has_budget(probing)) {
		for (i = 0; i < nr; i++)
			probing->next_group[i] = i;
		return attach(probing, nr, error);
	}
	/* A hot function does harm until we run again, but only newly attached ones can be hot. */
	probing->is_hurried = true;
	probing->nice = getpriority(PRIO_PROCESS, 0);
	(void)setpriority(PRIO_PROCESS, 0, PROBING_NICE);
	hit_cost_measure(&probing->cost, &links);
	if (probing->cost.is_measured[false]) {
		probing->budget.hit_ns = probing->cost.user_ns[false][false];
		probing->budget.stepped_ns = probing->cost.user_ns[true][false];
	}
	if (probing->cost.is_measured[true])
		probing->budget.return_ns = probing->cost.user_ns[false][true];
	probing->is_searching = true;
	hit_watch_begin(&probing->watch, clock_now_ns());
	return 0;
}

void probing_stop(struct probing *probing)
{
	if (!probing->is_started)
		return;
	probing->is_started = false;
	probe_groups_detach_all(&probing->groups);
	hurry_no_more(probing);
}

/* --- watching ------------------------------------------------------------------------------- */

/* Stops watching the members of groups that are being detached. */
static void put_away(struct probing *probing, uint64_t now_ns)
{
	size_t i, j;

	for (i = 0; i < probing->groups.nr_groups; i++) {
		const struct probe_group *group = &probing->groups.groups[i];

		for (j = 0; group->state == GROUP_LEAVING && j < group->nr; j++) {
			uint32_t number = group->members[j];

			hit_watch_remove(&probing->watch, number);
			if (probing->statuses[number].state != PROBE_ATTACHED)
				continue;
			set_state(probing, number, PROBE_WAITING);
			probing->statuses[number].left_ns = now_ns;
		}
	}
}

static void thin(struct probing *probing, uint32_t number, unsigned bits, uint64_t now_ns)
{
	struct probe_status *status = &probing->statuses[number];

	probing->watch.bits[number] = (uint8_t)bits;
	if (!status->thinned_ns)
		status->thinned_ns = now_ns;
	if (bits > status->most_bits)
		status->most_bits = (uint8_t)bits;
	probing->options.thin(probing->options.context, number, bits);
}

/* Reduces the thinning of probes that fit into half the budget, one step per window. */
static void thin_less(struct probing *probing, double most_ns, uint64_t now_ns)
{
	const struct budget_rate *rates;
	size_t nr, nr_probes = probing->options.list->nr_probes, i;
	bool any = false;

	for (i = 0; i < nr_probes && !any; i++)
		any = probing->watch.bits[i];
	if (!any)
		return;
	(void)hit_watch_judge(&probing->watch, most_ns / 2, &rates, &nr);
	for (i = 0; i < nr; i++) {
		unsigned bits = probing->watch.bits[rates[i].number];

		if (!rates[i].is_cut && rates[i].bits < bits)
			thin(probing, rates[i].number, bits - 1, now_ns);
	}
}

static void cut_hot(struct probing *probing, double most_ns, uint64_t now_ns)
{
	const struct budget_rate *rates;
	size_t nr, i;

	(void)hit_watch_judge(&probing->watch, most_ns, &rates, &nr);
	for (i = 0; i < nr; i++) {
		struct probe_status *status = &probing->statuses[rates[i].number];

		if (!rates[i].is_cut) {
			if (rates[i].bits > probing->watch.bits[rates[i].number])
				thin(probing, rates[i].number, rates[i].bits, now_ns);
			continue;
		}
		set_state(probing, rates[i].number, PROBE_CUT);
		status->cut_ns = now_ns;
		status->cut_rate = hit_watch_rate(&probing->watch, &rates[i], now_ns);
		probe_groups_leave(&probing->groups, rates[i].number);
	}
	put_away(probing, now_ns);
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Checks the cost of the window, and cuts if it is too high. Returns true in that case. A short
 * window is judged as if it were half a full one: within 10 ms each function that was called twice
 * looks hot, and if there is more to cut, the next check finds it.
 */
static bool look(struct probing *probing, uint64_t now_ns)
{
	double share = probing->budget.share;
	uint64_t window_ns = probing->is_searching ? SEARCH_WINDOW_NS : STEADY_WINDOW_NS;
	uint64_t elapsed_ns = now_ns - probing->watch.began_ns;
	bool is_hot =
		hit_watch_cost_ns(&probing->watch) > share * (double)max(elapsed_ns, window_ns);

	if (is_hot)
		cut_hot(probing, share * (double)max(elapsed_ns, window_ns / 2), now_ns);
	else if (elapsed_ns >= window_ns && !probing->is_searching)
		thin_less(probing, share * (double)elapsed_ns, now_ns);
	if (is_hot || elapsed_ns >= window_ns)
		hit_watch_begin(&probing->watch, now_ns);
	return is_hot;
}

/*
 * Handles groups that are completely detached: counts are final, and members that were not cut are
 * scheduled to be attached again.
 */
static void take_back(struct probing *probing, uint64_t now_ns)
{
	uint32_t *members;
	size_t nr, i;

	while ((members = probe_groups_reap(&probing->groups, &nr))) {
		for (i = 0; i < nr; i++) {
			struct probe_status *status = &probing->statuses[members[i]];

			if (status->state == PROBE_WAITING)
				attach_schedule_return(&probing->schedule, members[i]);
			else if (status->state == PROBE_CUT)
				status->cut_ns = now_ns;
		}
		free(members);
	}
}

static int attach_more(struct probing *probing, struct error *error)
{
	size_t nr = attach_schedule_take(&probing->schedule, probing->next_group);
	int err;

	if (!nr)
		return 0;
	err = attach(probing, nr, error);
	if (probing->is_searching)
		probing->tried_ns = clock_now_ns();
	return err;
}

/* Ends the search when all probes have been tried and the last ones were watched for a window. */
static void end_search(struct probing *probing, uint64_t now_ns)
{
	if (!probing->is_searching || probing->groups.nr_leaving ||
	    attach_schedule_has_more(&probing->schedule) ||
	    now_ns - probing->tried_ns < SEARCH_WINDOW_NS)
		return;
	probing->is_searching = false;
	probing->settled_ns = now_ns;
	hurry_no_more(probing);
	hit_watch_begin(&probing->watch, now_ns);
}

int probing_step(struct probing *probing, uint64_t *ret_next_ns, struct error *error)
{
	uint64_t began_ns = clock_now_ns(), took_ns;
	bool is_changing;
	int err;

	*ret_next_ns = UINT64_MAX;
	if (!has_budget(probing))
		return 0;
	take_back(probing, began_ns);
	if (look(probing, began_ns))
		attach_schedule_was_hot(&probing->schedule);
	else
		attach_schedule_was_calm(&probing->schedule);
	took_ns = clock_now_ns() - began_ns;
	err = attach_more(probing, error);
	if (err < 0)
		return err;
	end_search(probing, clock_now_ns());
	is_changing = probing->is_searching || probing->groups.nr_leaving ||
		      attach_schedule_has_more(&probing->schedule);
	*ret_next_ns = clock_now_ns() +
		       max(is_changing ? SEARCH_LOOK_NS : STEADY_LOOK_NS, took_ns * LOOK_PARTS);
	return 0;
}

/* --- reports -------------------------------------------------------------------------------- */

const struct probe_status *probing_status(const struct probing *probing, uint32_t number)
{
	return &probing->statuses[number];
}

size_t probing_nr(const struct probing *probing, enum probe_state state)
{
	return probing->nr_in[state];
}

const struct budget *probing_budget(const struct probing *probing)
{
	return &probing->budget;
}

bool probing_is_ready(const struct probing *probing)
{
	return !probing->nr_in[PROBE_WAITING] || probing->settled_ns ||
	       clock_now_ns() - probing->started_ns > READY_WITHIN_NS;
}

uint64_t probing_own_hits(const struct probing *probing)
{
	return *probing->options.hits->nr_own;
}

uint64_t probing_missed(const struct probing *probing)
{
	return probe_links_missed(probing->links);
}
