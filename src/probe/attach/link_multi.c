/*
 * Links for many functions: uprobe_multi (Linux 6.6) and kprobe_multi (5.18). Each place has a
 * cookie, the probe's number.
 *
 * Uses the bare system call, because libbpf 1.1 does not know uprobe_multi. One place that cannot
 * be probed fails the whole link: it is found by a guess or by bisection, and the rest is attached.
 * The file is named through our own descriptor, so it is the right one even if its path has
 * changed.
 */
#include "probe/attach/link.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "proc/tracefs.h"

/* --- which kernel functions can be traced ----------------------------------------------------- */

/*
 * Functions that ftrace lists. The kernel takes some 30 ms to print the list, so it is read only
 * after a link was rejected.
 *
 * A function with several names is listed under one of them, so functions that are not found by
 * name are looked up by address, if the kernel lists addresses (Linux 6.5). Those are addresses of
 * the place that ftrace patches: some bytes into the function, after a landing pad.
 */
#define PATCHED_WITHIN 8 /* bytes: endbr64 on x86; bti and a mov on arm64 */

/* Lines are "name" or "name [module]". */
static void mark_listed(const char *listed, const struct symbol_index *index, bool *is_listed)
{
	const uint32_t *numbers;
	size_t nr, i;

	for (; *listed; listed += strcspn(listed, "\n"), listed += *listed == '\n') {
		numbers = symbol_index_find(index, listed, strcspn(listed, " \t\n"), &nr);
		for (i = 0; i < nr; i++)
			is_listed[numbers[i]] = true;
	}
}

static int by_address(const void *a, const void *b, void *context)
{
	const struct probe_list *list = context;
	uint64_t left = list->probes[*(const uint32_t *)a].address;
	uint64_t right = list->probes[*(const uint32_t *)b].address;

	return COMPARE(left, right);
}

/* Lines are "ffffffff81000010 name" or "ffffffff81000010 name [module]". */
static int mark_addresses(const char *listed, const struct probe_list *list,
			  const uint32_t *numbers, size_t nr, bool *is_listed)
{
	cleanup_free uint32_t *sorted = calloc(nr + 1, sizeof(*sorted));
	uint64_t place;
	size_t k;

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, numbers, nr * sizeof(*sorted));
	qsort_r(sorted, nr, sizeof(*sorted), by_address, (void *)list);
	for (; *listed; listed += strcspn(listed, "\n"), listed += *listed == '\n') {
		place = strtoull(listed, NULL, 16);
		k = array_first(nr, i, list->probes[sorted[i]].address > place);
		for (; k > 0; k--) {
			if (list->probes[sorted[k - 1]].address + PATCHED_WITHIN < place)
				break;
			is_listed[sorted[k - 1]] = true;
		}
	}
	return 0;
}

/*
 * Copies the numbers of listed functions to ret_numbers, in order, or all numbers if the list
 * cannot be read. Returns how many, or -ENOMEM.
 */
static int64_t traceable_choose(const struct probe_list *list, const uint32_t *numbers, size_t nr,
				uint32_t *ret_numbers)
{
	cleanup_free bool *is_listed = calloc(list->nr_probes + 1, sizeof(*is_listed));
	cleanup_free char *names = NULL, *addresses = NULL;
	cleanup(symbol_index_clear) struct symbol_index index = {0};
	cleanup_fd int tracefs_fd = tracefs_open(NULL);
	int64_t nr_chosen = 0;
	size_t i;

	if (tracefs_fd >= 0) {
		names = tracefs_read(tracefs_fd, "available_filter_functions", NULL);
		addresses = tracefs_read(tracefs_fd, "available_filter_functions_addrs", NULL);
	}
	if (!is_listed || symbol_index_init(&index, list, numbers, nr) < 0)
		return -ENOMEM;
	if (names)
		mark_listed(names, &index, is_listed);
	if (names && addresses && mark_addresses(addresses, list, numbers, nr, is_listed) < 0)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		if (!names || is_listed[numbers[i]])
			ret_numbers[nr_chosen++] = numbers[i];
	return nr_chosen;
}

/* --- links ------------------------------------------------------------------------------------ */

#define LINK_RETURNS 1u		/* BPF_F_UPROBE_MULTI_RETURN, BPF_F_KPROBE_MULTI_RETURN */
#define MAX_IN_LINK  (1u << 20) /* the kernel's limit */

/* The arrays of a link, with one entry per place. */
struct places {
	uint64_t *cookies;
	uint64_t *at;	      /* file offsets or kernel addresses */
	uint64_t *semaphores; /* NULL: no place has one */
	const char **symbols; /* used if addresses are hidden */
};

static void places_clear(struct places *places)
{
	free(places->cookies);
	free(places->at);
	free(places->semaphores);
	free(places->symbols);
}

int link_multi_create(const struct link_multi_request *request)
{
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, request, sizeof(*request));

	return fd < 0 ? -errno : (int)fd;
}

static uint64_t pointer(const void *array)
{
	return (uint64_t)(uintptr_t)array;
}

static int describe_user(const struct link_state *state, const uint32_t *numbers, size_t nr,
			 struct places *places)
{
	const struct probe *probe;
	size_t i;

	for (i = 0; i < nr; i++) {
		probe = link_probe(state, numbers[i]);
		places->cookies[i] = numbers[i];
		places->at[i] = probe->offset;
		if (!probe->semaphore)
			continue;
		if (!places->semaphores)
			places->semaphores = calloc(nr, sizeof(*places->semaphores));
		if (!places->semaphores)
			return -ENOMEM;
		places->semaphores[i] = probe->semaphore;
	}
	return 0;
}

static int create_user(const struct link_state *state, const uint32_t *numbers, size_t nr,
		       struct places *places)
{
	const struct probe *first = link_probe(state, numbers[0]);
	char path[40];
	int err = describe_user(state, numbers, nr, places);

	if (err < 0)
		return err;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d",
		       state->options.list->files[first->file].handle);
	return link_multi_create(&(struct link_multi_request){
		.program_fd = (uint32_t)bpf_program__fd(
			state->options.programs->by_hook[HOOK_UPROBE_MULTI]),
		.attach_type = LINK_UPROBE_MULTI,
		.uprobe = {
			.path = pointer(path),
			.offsets = pointer(places->at),
			.semaphores = pointer(places->semaphores),
			.cookies = pointer(places->cookies),
			.nr = (uint32_t)nr,
			.flags = first->is_return ? LINK_RETURNS : 0,
			.pid = state->options.features->has[PROBE_FEATURE_UPROBE_PID]
				       ? (uint32_t)state->options.pid
				       : 0,
		}});
}

static int create_kernel(const struct link_state *state, const uint32_t *numbers, size_t nr,
			 struct places *places)
{
	const struct probe *first = link_probe(state, numbers[0]);
	size_t i;

	if (!first->address) {
		places->symbols = calloc(nr, sizeof(*places->symbols));
		if (!places->symbols)
			return -ENOMEM;
	}
	for (i = 0; i < nr; i++) {
		places->cookies[i] = numbers[i];
		places->at[i] = link_probe(state, numbers[i])->address;
		if (places->symbols)
			places->symbols[i] = link_probe(state, numbers[i])->symbol;
	}
	return link_multi_create(&(struct link_multi_request){
		.program_fd = (uint32_t)bpf_program__fd(
			state->options.programs->by_hook[HOOK_KPROBE_MULTI]),
		.attach_type = LINK_KPROBE_MULTI,
		.kprobe = {
			.flags = first->is_return ? LINK_RETURNS : 0,
			.nr = (uint32_t)nr,
			.symbols = pointer(places->symbols),
			.addresses = places->symbols ? 0 : pointer(places->at),
			.cookies = pointer(places->cookies),
		}});
}

static int create(const struct link_state *state, enum probe_hook hook, const uint32_t *numbers,
		  size_t nr)
{
	cleanup(places_clear) struct places places = {
		.cookies = calloc(nr, sizeof(*places.cookies)),
		.at = calloc(nr, sizeof(*places.at)),
	};

	if (!places.cookies || !places.at)
		return -ENOMEM;
	return hook == HOOK_UPROBE_MULTI ? create_user(state, numbers, nr, &places)
					 : create_kernel(state, numbers, nr, &places);
}

/* Attaches with one link; if the kernel rejects it, bisects down to the places that it rejects. */
static int attach_some(struct link_state *state, enum probe_hook hook, const uint32_t *numbers,
		       size_t nr, struct link_group *group)
{
	int fd = nr <= MAX_IN_LINK ? create(state, hook, numbers, nr) : -E2BIG, err;
	const char *why;

	if (fd >= 0)
		return link_group_add_fd(group, hook, fd);
	why = link_refusal(hook, fd);
	if (!why)
		return fd;
	if (nr == 1) {
		link_refuse(state, numbers[0], why);
		return 0;
	}
	err = attach_some(state, hook, numbers, nr / 2, group);
	return err ? err : attach_some(state, hook, numbers + nr / 2, nr - nr / 2, group);
}

/*
 * Attaches with one link; if the kernel rejects it, with one link for the places that are likely to
 * be rejected and one for the others.
 */
static int attach_user(struct link_state *state, enum probe_hook hook, const uint32_t *numbers,
		       size_t nr, struct link_group *group)
{
	cleanup_free uint32_t *sorted = calloc(nr, sizeof(*sorted));
	int fd = create(state, hook, numbers, nr), err = 0;
	size_t nr_doubtful;

	if (fd >= 0)
		return link_group_add_fd(group, hook, fd);
	if (!link_refusal(hook, fd))
		return fd;
	if (!sorted)
		return -ENOMEM;
	nr_doubtful = doubtful_places_first(state->options.list, numbers, nr, sorted);
	if (nr_doubtful)
		err = attach_some(state, hook, sorted, nr_doubtful, group);
	if (!err && nr > nr_doubtful)
		err = attach_some(state, hook, sorted + nr_doubtful, nr - nr_doubtful, group);
	return err;
}

/*
 * Attaches with one link; if the kernel rejects it, leaves out functions that cannot be traced
 * (there are many). As a rule no bisection is needed then; each link costs the kernel a grace
 * period or two.
 */
static int attach_traceable(struct link_state *state, enum probe_hook hook, const uint32_t *numbers,
			    size_t nr, struct link_group *group)
{
	cleanup_free uint32_t *chosen = calloc(nr, sizeof(*chosen));
	int fd = create(state, hook, numbers, nr);
	int64_t nr_chosen, next = 0;
	size_t i;

	if (fd >= 0)
		return link_group_add_fd(group, hook, fd);
	if (!link_refusal(hook, fd))
		return fd;
	nr_chosen = chosen ? traceable_choose(state->options.list, numbers, nr, chosen) : -ENOMEM;
	if (nr_chosen < 0)
		return (int)nr_chosen;
	for (i = 0; i < nr; i++) {
		if (next < nr_chosen && chosen[next] == numbers[i])
			next++;
		else
			link_refuse(state, numbers[i], "the kernel forbids tracing it (notrace)");
	}
	return nr_chosen ? attach_some(state, hook, chosen, (size_t)nr_chosen, group) : 0;
}

int link_multi_attach(struct link_state *state, enum probe_hook hook, const uint32_t *numbers,
		      size_t nr, struct link_group *group, struct error *error)
{
	int err = hook == HOOK_KPROBE_MULTI ? attach_traceable(state, hook, numbers, nr, group)
					    : attach_user(state, hook, numbers, nr, group);

	return err < 0 ? link_failure(hook, err, nr, error) : 0;
}
