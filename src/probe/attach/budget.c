/*
 * Verdicts are pure functions of rates. Windows only read counters in mapped memory: a check of
 * 10,000 probes on two CPUs takes some 30 us.
 *
 * The cost of a hit, up to the point where the program has applied the filter, is measured for user
 * code: the programs are attached to two functions of our own, which are called some hundred times.
 * One begins with an instruction that the kernel emulates, the other with one that it has to
 * single-step: 0.7 against 9 to 14 us in a virtual machine where the trap of the step leads to the
 * hypervisor. The functions are in a memfd, since other processes might execute the code of any
 * other file, and would be slowed down too. The loop runs with warm caches, so the figures are
 * rather low. Costs of kernel functions and tracepoints, a tenth of the cheaper one, are constants.
 */
#include "probe/attach/budget.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "probe/expression/probe_list.h"

/* --- verdicts --------------------------------------------------------------------------------- */

static double cost_on(const struct budget_rate *rate, uint32_t cpu)
{
	return (double)rate->by_cpu[cpu] * rate->hit_ns;
}

/* Order: cut probes last; then by cost; then by number, so that the order is deterministic. */
static int compare_rates(const void *left, const void *right, void *context)
{
	const struct budget_rate *a = left, *b = right;
	const uint32_t *cpu = context;
	double cost_a = cost_on(a, *cpu), cost_b = cost_on(b, *cpu);

	return COMPARE(a->is_cut, b->is_cut)
		       ?: COMPARE(cost_b, cost_a) ?: COMPARE(a->number, b->number);
}

size_t budget_judge(double most_ns, struct budget_rate *rates, size_t nr, uint32_t nr_cpus)
{
	size_t nr_cut = 0, i;
	uint32_t cpu;

	for (i = 0; i < nr; i++)
		rates[i].is_cut = false;
	/* A cut lowers the cost on all other CPUs too, so one pass is enough. */
	for (cpu = 0; cpu < nr_cpus; cpu++) {
		double paid_ns = 0;

		for (i = 0; i < nr; i++)
			if (!rates[i].is_cut)
				paid_ns += cost_on(&rates[i], cpu);
		if (paid_ns <= most_ns)
			continue;
		qsort_r(rates, nr, sizeof(*rates), compare_rates, &cpu);
		for (i = 0; i < nr && !rates[i].is_cut && paid_ns > most_ns; i++) {
			paid_ns -= cost_on(&rates[i], cpu);
			rates[i].is_cut = true;
			nr_cut++;
		}
	}
	return nr_cut;
}

static double work_on(const struct budget_rate *rate, uint32_t cpu, double work_ns)
{
	const uint64_t *by_cpu = rate->wanted_by_cpu ? rate->wanted_by_cpu : rate->by_cpu;

	return (double)by_cpu[cpu] * work_ns / (double)(1U << rate->bits);
}

/*
 * Limits the work of each probe to a half, then a quarter, … of the costliest one's, until all
 * fits.
 */
static void thin_on(uint32_t cpu, double most_ns, double work_ns, struct budget_rate *rates,
		    size_t nr)
{
	double most_work_ns = 0, paid_ns;
	unsigned step;
	size_t i;

	for (step = 0; step <= 2 * BUDGET_MOST_BITS; step++) {
		for (paid_ns = 0, i = 0; i < nr; i++) {
			struct budget_rate *rate = &rates[i];

			if (rate->is_cut)
				continue;
			while (step && rate->bits < BUDGET_MOST_BITS &&
			       work_on(rate, cpu, work_ns) > most_work_ns)
				rate->bits++;
			if (!step && work_on(rate, cpu, work_ns) > most_work_ns)
				most_work_ns = work_on(rate, cpu, work_ns);
			paid_ns += cost_on(rate, cpu) + work_on(rate, cpu, work_ns);
		}
		if (paid_ns <= most_ns)
			return;
		most_work_ns /= 2;
	}
}

void budget_thin(double most_ns, double work_ns, struct budget_rate *rates, size_t nr,
		 uint32_t nr_cpus)
{
	uint32_t cpu;
	size_t i;

	for (i = 0; i < nr; i++)
		rates[i].bits = 0;
	for (cpu = 0; work_ns > 0 && cpu < nr_cpus; cpu++)
		thin_on(cpu, most_ns, work_ns, rates, nr);
}

/* --- windows ---------------------------------------------------------------------------------- */

int hit_watch_init(struct hit_watch *watch, const struct hits *hits, double work_ns)
{
	size_t nr = hits->nr_probes ? hits->nr_probes : 1;

	*watch = (struct hit_watch){.hits = hits, .work_ns = work_ns};
	watch->bits = calloc(nr, sizeof(*watch->bits));
	watch->hit_ns = calloc(nr, sizeof(*watch->hit_ns));
	watch->before = calloc(nr * hits->nr_cpus, sizeof(*watch->before));
	watch->wanted_before = calloc(nr * hits->nr_cpus, sizeof(*watch->wanted_before));
	watch->since_ns = calloc(nr, sizeof(*watch->since_ns));
	watch->rates = calloc(nr, sizeof(*watch->rates));
	return watch->bits && watch->hit_ns && watch->before && watch->wanted_before &&
			       watch->since_ns && watch->rates
		       ? 0
		       : -ENOMEM;
}

void hit_watch_clear(struct hit_watch *watch)
{
	free(watch->bits);
	free(watch->hit_ns);
	free(watch->before);
	free(watch->wanted_before);
	free(watch->since_ns);
	free(watch->rates);
	*watch = (struct hit_watch){0};
}

static uint64_t *before_of(const struct hit_watch *watch, uint32_t number)
{
	return watch->before + (size_t)number * watch->hits->nr_cpus;
}

static uint64_t *wanted_before_of(const struct hit_watch *watch, uint32_t number)
{
	return watch->wanted_before + (size_t)number * watch->hits->nr_cpus;
}

static void remember(struct hit_watch *watch, uint32_t number)
{
	uint64_t *before = before_of(watch, number), *wanted = wanted_before_of(watch, number);
	uint32_t cpu;

	for (cpu = 0; cpu < watch->hits->nr_cpus; cpu++) {
		before[cpu] = hits_on_cpu(watch->hits, number, cpu);
		wanted[cpu] = hits_wanted_on_cpu(watch->hits, number, cpu);
	}
}

void hit_watch_add(struct hit_watch *watch, uint32_t number, double hit_ns, uint64_t now_ns)
{
	watch->hit_ns[number] = hit_ns;
	watch->since_ns[number] = now_ns;
	remember(watch, number);
}

void hit_watch_remove(struct hit_watch *watch, uint32_t number)
{
	watch->hit_ns[number] = 0;
}

void hit_watch_begin(struct hit_watch *watch, uint64_t now_ns)
{
	uint32_t number;

	for (number = 0; number < watch->hits->nr_probes; number++)
		if (watch->hit_ns[number] > 0)
			remember(watch, number);
	watch->began_ns = now_ns;
}

/* Returns what a probe's hits have cost on a CPU since the window's beginning. */
static double probe_cost_ns(const struct hit_watch *watch, uint32_t number, uint32_t cpu)
{
	uint64_t nr = hits_on_cpu(watch->hits, number, cpu) - before_of(watch, number)[cpu];
	uint64_t nr_wanted =
		hits_wanted_on_cpu(watch->hits, number, cpu) - wanted_before_of(watch, number)[cpu];

	return (double)nr * watch->hit_ns[number] +
	       (double)nr_wanted * watch->work_ns / (double)(1U << watch->bits[number]);
}

double hit_watch_cost_ns(const struct hit_watch *watch)
{
	double most = 0;
	uint32_t number, cpu;

	for (cpu = 0; cpu < watch->hits->nr_cpus; cpu++) {
		double cost = 0;

		for (number = 0; number < watch->hits->nr_probes; number++)
			if (watch->hit_ns[number] > 0)
				cost += probe_cost_ns(watch, number, cpu);
		if (cost > most)
			most = cost;
	}
	return most;
}

/* Replaces the counts of the window's beginning by the difference since; false if it is 0. */
static bool take_difference(struct hit_watch *watch, uint32_t number)
{
	uint64_t *before = before_of(watch, number), *wanted = wanted_before_of(watch, number);
	uint64_t any = 0;
	uint32_t cpu;

	for (cpu = 0; cpu < watch->hits->nr_cpus; cpu++) {
		before[cpu] = hits_on_cpu(watch->hits, number, cpu) - before[cpu];
		wanted[cpu] = hits_wanted_on_cpu(watch->hits, number, cpu) - wanted[cpu];
		any |= before[cpu];
	}
	return any;
}

size_t hit_watch_judge(struct hit_watch *watch, double most_ns,
		       const struct budget_rate **ret_rates, size_t *ret_nr)
{
	size_t nr = 0, nr_cut;
	uint32_t number;

	for (number = 0; number < watch->hits->nr_probes; number++) {
		if (!(watch->hit_ns[number] > 0) || !take_difference(watch, number))
			continue;
		watch->rates[nr++] =
			(struct budget_rate){.number = number,
					     .hit_ns = watch->hit_ns[number],
					     .by_cpu = before_of(watch, number),
					     .wanted_by_cpu = wanted_before_of(watch, number)};
	}
	*ret_rates = watch->rates;
	*ret_nr = nr;
	nr_cut = budget_judge(most_ns, watch->rates, nr, watch->hits->nr_cpus);
	budget_thin(most_ns, watch->work_ns, watch->rates, nr, watch->hits->nr_cpus);
	return nr_cut;
}

double hit_watch_rate(const struct hit_watch *watch, const struct budget_rate *rate,
		      uint64_t now_ns)
{
	uint64_t since_ns = watch->since_ns[rate->number], nr = 0;
	uint64_t from_ns = since_ns > watch->began_ns ? since_ns : watch->began_ns;
	uint64_t elapsed_ns = now_ns > from_ns ? now_ns - from_ns : 1;
	uint32_t cpu;

	for (cpu = 0; cpu < watch->hits->nr_cpus; cpu++)
		nr += rate->by_cpu[cpu];
	return (double)nr * (double)NS_PER_SEC / (double)elapsed_ns;
}

/* --- the cost of a hit ------------------------------------------------------------------------ */

#define ROUNDS 5
#define CALLS  100

/*
 * Lower bound of a hit's cost. If the run without the probe was disturbed, the measured difference
 * can be 0, and a probe with cost 0 would not be watched.
 */
#define LEAST_NS 100

/* The two trial functions; the one that is not single-stepped comes first. */
#define FUNCTION_BYTES 64
#define CODE_BYTES     4096

#if defined(__x86_64__)
#define FUNCTIONS                                                          \
	{                                                                  \
		{0x55, 0x5d, 0xc3},	    /* push %rbp; pop %rbp; ret */ \
			{0x31, 0xc0, 0xc3}, /* xor %eax,%eax; ret */       \
	}
#elif defined(__aarch64__)
#define FUNCTIONS                                                                               \
	{                                                                                       \
		{0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6},	  /* nop; ret */        \
			{0x00, 0x00, 0x80, 0xd2, 0xc0, 0x03, 0x5f, 0xd6}, /* mov x0, #0; ret */ \
	}
#endif

static const uint8_t trial_functions[2][FUNCTION_BYTES] = FUNCTIONS;

/* In nanoseconds, on recent machines. user_ns is used if the measurement fails. */
static const struct hit_cost known_cost = {
	.user_ns = {{1000, 2000}, {2000, 3000}},
	.kernel_ns = {[HOOK_KPROBE_MULTI] = {150, 300},
		      [HOOK_KPROBE_EVENT] = {400, 800},
		      [HOOK_TRACEPOINT] = {150, 150},
		      [HOOK_FENTRY] = {60, 60},
		      [HOOK_FEXIT] = {100, 100}},
};

/*
 * The trial functions, and a list with their calls and returns, numbered after the user's probes.
 */
struct trial {
	struct probe_list list;
	struct probe_file file;
	uint32_t numbers[2][2]; /* [is single-stepped][is return] */
	void *memory;
	bool is_refused;
};

static bool make_functions(struct trial *trial)
{
	int fd = memfd_create("stook-trial", MFD_CLOEXEC);

	trial->file.handle = fd;
	if (fd < 0 || ftruncate(fd, CODE_BYTES) < 0 ||
	    pwrite(fd, trial_functions, sizeof(trial_functions), 0) !=
		    (ssize_t)sizeof(trial_functions))
		return false;
	trial->memory = mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	return trial->memory != MAP_FAILED;
}

static bool make_trial(struct trial *trial, const struct probe_list *list)
{
	size_t i;

	*trial = (struct trial){.file = {.handle = -1, .path = "trial"}, .memory = MAP_FAILED};
	trial->list.probes = calloc(list->nr_probes + 4, sizeof(*trial->list.probes));
	if (!trial->list.probes || !make_functions(trial))
		return false;
	trial->list.nr_probes = list->nr_probes + 4;
	trial->list.files = &trial->file;
	trial->list.nr_files = 1;
	for (i = 0; i < 4; i++) {
		uint32_t number = (uint32_t)(list->nr_probes + i);

		trial->numbers[i / 2][i % 2] = number;
		trial->list.probes[number] = (struct probe){.kind = PROBE_USER,
							    .is_return = i % 2,
							    .offset = i / 2 * FUNCTION_BYTES,
							    .name = "trial"};
	}
	return true;
}

static void note_refusal(void *context, uint32_t number, const char *why)
{
	struct trial *trial = context;

	(void)number;
	(void)why;
	trial->is_refused = true;
}

static int compare_times(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return COMPARE(left, right);
}

/* Returns nanoseconds per call, as the median, since other processes may run in between. */
static double time_calls(const struct trial *trial, bool is_stepped)
{
	const uint8_t *function = (const uint8_t *)trial->memory + is_stepped * FUNCTION_BYTES;
	void (*call)(void) = (void (*)(void))function;
	double rounds[ROUNDS];
	size_t i, j;

	for (i = 0; i < ROUNDS; i++) {
		uint64_t began_ns = clock_now_ns();

		for (j = 0; j < CALLS; j++)
			call();
		rounds[i] = (double)(clock_now_ns() - began_ns) / CALLS;
	}
	qsort(rounds, ROUNDS, sizeof(*rounds), compare_times);
	return rounds[ROUNDS / 2];
}

/*
 * Measures both functions with probes on their calls or on their returns, if these can be attached.
 */
static void time_hits(struct hit_cost *cost, struct trial *trial, bool is_return,
		      const struct probe_links_options *options)
{
	const uint32_t both[] = {trial->numbers[false][is_return], trial->numbers[true][is_return]};
	double before_ns = time_calls(trial, false);
	struct probe_links *links = probe_links_new(options, NULL);
	double hit_ns;
	size_t i;

	trial->is_refused = false;
	cost->is_measured[is_return] =
		links && probe_links_attach(links, both, 2, NULL) >= 0 && !trial->is_refused;
	for (i = 0; cost->is_measured[is_return] && i < 2; i++) {
		hit_ns = time_calls(trial, i) - before_ns;
		cost->user_ns[i][is_return] = hit_ns > LEAST_NS ? hit_ns : LEAST_NS;
	}
	probe_links_free(links);
}

static bool has_probes(const struct probe_list *list, bool is_return)
{
	size_t i;

	for (i = 0; i < list->nr_probes; i++)
		if (probe_is_user(&list->probes[i]) && list->probes[i].is_return == is_return)
			return true;
	return false;
}

void hit_cost_measure(struct hit_cost *ret, const struct probe_links_options *options)
{
	struct probe_links_options own = *options;
	struct trial trial;
	size_t i;

	*ret = known_cost;
	own.list = &trial.list;
	own.pid = getpid();
	own.refuse = note_refusal;
	own.context = &trial;
	if (make_trial(&trial, options->list))
		for (i = 0; i < 2; i++)
			if (has_probes(options->list, i))
				time_hits(ret, &trial, i, &own);
	free(trial.list.probes);
	if (trial.memory != MAP_FAILED)
		(void)munmap(trial.memory, CODE_BYTES);
	if (trial.file.handle >= 0)
		(void)close(trial.file.handle);
}

double hit_cost_of(const struct hit_cost *cost, const struct probe_list *list, uint32_t number,
		   const struct probe_features *features)
{
	const struct probe *probe = &list->probes[number];
	const char *why;
	int hook;

	if (probe_is_user(probe))
		return cost->user_ns[probe->is_stepped][probe->is_return];
	hook = probe_hook_choose(probe, features, &why);
	return hook < 0 ? 0 : cost->kernel_ns[hook][probe->is_return];
}
