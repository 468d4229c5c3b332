/*
 * The cost of a hit; see hit_cost.h.
 *
 * The functions to measure lie in a file in memory, made for this alone: code of any other file
 * might be run by others, who would be slowed down with us. The loop runs with warm caches, so the
 * figures are rather low on that side.
 */
#include "probe/attach/hit_cost.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/attach/probe_code.h"

#define ROUNDS 5
#define CALLS  100

/*
 * No trap is cheaper. Calls that were disturbed before and not with the probe may seem to be, and a
 * hit that costs nothing would not be watched.
 */
#define LEAST_NS 100

/* The two functions, the one that is not stepped first. */
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

static const uint8_t functions[2][FUNCTION_BYTES] = FUNCTIONS;

/*
 * In nanoseconds, on machines of these years. What is listed for user code is for those where it
 * can't be measured.
 */
static const struct hit_cost known = {
	.user_ns = {{1000, 2000}, {2000, 3000}},
	.kernel_ns = {[HOOK_KPROBE_MULTI] = {150, 300},
		      [HOOK_KPROBE_EVENT] = {400, 800},
		      [HOOK_TRACEPOINT] = {150, 150},
		      [HOOK_FENTRY] = {60, 60},
		      [HOOK_FEXIT] = {100, 100}},
};

/* The functions, and a list in which their calls and returns have the numbers behind all others. */
struct trial {
	struct probe_list list;
	struct probe_file file;
	uint32_t numbers[2][2]; /* [is it stepped][is it a return] */
	void *memory;
	bool is_refused;
};

static void clear_trial(struct trial *trial)
{
	free(trial->list.probes);
	if (trial->memory != MAP_FAILED)
		(void)munmap(trial->memory, CODE_BYTES);
	if (trial->file.fd >= 0)
		(void)close(trial->file.fd);
}

static bool make_functions(struct trial *trial)
{
	int fd = memfd_create("stook-trial", MFD_CLOEXEC);

	trial->file.fd = fd;
	if (fd < 0 || ftruncate(fd, CODE_BYTES) < 0 ||
	    pwrite(fd, functions, sizeof(functions), 0) != (ssize_t)sizeof(functions))
		return false;
	trial->memory = mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	return trial->memory != MAP_FAILED;
}

static bool make_trial(struct trial *trial, const struct probe_list *list)
{
	size_t i;

	*trial = (struct trial){.file = {.fd = -1, .path = "trial"}, .memory = MAP_FAILED};
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

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

/* Of a call, in nanoseconds: the median, since others may run between. */
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
	qsort(rounds, ROUNDS, sizeof(*rounds), compare);
	return rounds[ROUNDS / 2];
}

/* Both functions, with probes on their calls or returns, as far as they can be attached. */
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

	*ret = known;
	own.list = &trial.list;
	own.pid = getpid();
	own.refuse = note_refusal;
	own.context = &trial;
	if (make_trial(&trial, options->list))
		for (i = 0; i < 2; i++)
			if (has_probes(options->list, i))
				time_hits(ret, &trial, i, &own);
	clear_trial(&trial);
}

double hit_cost_of(const struct hit_cost *cost, const struct probe_list *list, uint32_t number,
		   const struct probe_features *features)
{
	const struct probe *probe = &list->probes[number];
	const char *why;
	int hook;

	if (probe_is_user(probe))
		return cost->user_ns[probe_code_is_stepped(list, number)][probe->is_return];
	hook = probe_hook_choose(probe, features, &why);
	return hook < 0 ? 0 : cost->kernel_ns[hook][probe->is_return];
}
