/*
 * Translates event names to numbers. One table for plain names; names of cache events are composed.
 */
#include "event/event.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

struct named {
	const char *name;
	uint32_t type;
	uint64_t config;
};

#define HARDWARE(name, id)                                   \
	{                                                    \
		name, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##id \
	}
#define SOFTWARE(name, id)                                   \
	{                                                    \
		name, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##id \
	}

static const struct named plain_events[] = {
	HARDWARE("cycles", CPU_CYCLES),
	HARDWARE("cpu-cycles", CPU_CYCLES),
	HARDWARE("instructions", INSTRUCTIONS),
	HARDWARE("cache-references", CACHE_REFERENCES),
	HARDWARE("cache-misses", CACHE_MISSES),
	HARDWARE("branches", BRANCH_INSTRUCTIONS),
	HARDWARE("branch-instructions", BRANCH_INSTRUCTIONS),
	HARDWARE("branch-misses", BRANCH_MISSES),
	HARDWARE("bus-cycles", BUS_CYCLES),
	HARDWARE("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND),
	HARDWARE("idle-cycles-frontend", STALLED_CYCLES_FRONTEND),
	HARDWARE("stalled-cycles-backend", STALLED_CYCLES_BACKEND),
	HARDWARE("idle-cycles-backend", STALLED_CYCLES_BACKEND),
	HARDWARE("ref-cycles", REF_CPU_CYCLES),
	SOFTWARE("cpu-clock", CPU_CLOCK),
	SOFTWARE("task-clock", TASK_CLOCK),
	SOFTWARE("page-faults", PAGE_FAULTS),
	SOFTWARE("faults", PAGE_FAULTS),
	SOFTWARE("minor-faults", PAGE_FAULTS_MIN),
	SOFTWARE("major-faults", PAGE_FAULTS_MAJ),
	SOFTWARE("context-switches", CONTEXT_SWITCHES),
	SOFTWARE("cs", CONTEXT_SWITCHES),
	SOFTWARE("cpu-migrations", CPU_MIGRATIONS),
	SOFTWARE("migrations", CPU_MIGRATIONS),
	SOFTWARE("alignment-faults", ALIGNMENT_FAULTS),
	SOFTWARE("emulation-faults", EMULATION_FAULTS),
};

/* A cache event is CACHE-OPS[-misses], where OPS alone counts accesses. */
static const struct named caches[] = {
	{"L1-dcache", 0, PERF_COUNT_HW_CACHE_L1D}, {"L1-icache", 0, PERF_COUNT_HW_CACHE_L1I},
	{"LLC", 0, PERF_COUNT_HW_CACHE_LL},	   {"dTLB", 0, PERF_COUNT_HW_CACHE_DTLB},
	{"iTLB", 0, PERF_COUNT_HW_CACHE_ITLB},	   {"branch", 0, PERF_COUNT_HW_CACHE_BPU},
	{"node", 0, PERF_COUNT_HW_CACHE_NODE},
};

#define CACHE_OP(op, result) \
	((PERF_COUNT_HW_CACHE_OP_##op << 8) | (PERF_COUNT_HW_CACHE_RESULT_##result << 16))

static const struct named cache_operations[] = {
	{"-loads", 0, CACHE_OP(READ, ACCESS)},
	{"-load-misses", 0, CACHE_OP(READ, MISS)},
	{"-stores", 0, CACHE_OP(WRITE, ACCESS)},
	{"-store-misses", 0, CACHE_OP(WRITE, MISS)},
	{"-prefetches", 0, CACHE_OP(PREFETCH, ACCESS)},
	{"-prefetch-misses", 0, CACHE_OP(PREFETCH, MISS)},
};

static bool find_plain(const char *name, struct event *event)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(plain_events); i++) {
		if (strcmp(name, plain_events[i].name) != 0)
			continue;
		event->type = plain_events[i].type;
		event->config = plain_events[i].config;
		return true;
	}
	return false;
}

static bool find_cache(const char *name, struct event *event)
{
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(caches); i++) {
		size_t length = strlen(caches[i].name);

		if (strncmp(name, caches[i].name, length) != 0)
			continue;
		for (k = 0; k < ARRAY_SIZE(cache_operations); k++) {
			if (strcmp(name + length, cache_operations[k].name) != 0)
				continue;
			event->type = PERF_TYPE_HW_CACHE;
			event->config = caches[i].config | cache_operations[k].config;
			return true;
		}
	}
	return false;
}

/* r and up to 16 hexadecimal digits: the PMU's raw event number. */
static bool find_raw(const char *name, struct event *event)
{
	char hex[20] = "0x";

	if (name[0] != 'r' || strlen(name) > 17)
		return false;
	(void)strcat(hex, name + 1);
	event->type = PERF_TYPE_RAW;
	return number_parse(hex, UINT64_MAX, &event->config) == 0;
}

/* --- breakpoints: mem:ADDR[/BYTES][:ACCESS] ---------------------------------------------------- */

#define BREAKPOINT "mem:"

/* Parses letters r, w and x to HW_BREAKPOINT_… bits; 0 if there are others. */
static uint32_t parse_access(const char *text, size_t nr)
{
	static const struct {
		char letter;
		uint32_t bit;
	} letters[] = {{'r', HW_BREAKPOINT_R}, {'w', HW_BREAKPOINT_W}, {'x', HW_BREAKPOINT_X}};
	uint32_t access = 0;
	size_t i, k;

	for (i = 0; i < nr; i++) {
		for (k = 0; k < ARRAY_SIZE(letters) && letters[k].letter != text[i]; k++)
			;
		if (k == ARRAY_SIZE(letters) || access & letters[k].bit)
			return 0;
		access |= letters[k].bit;
	}
	return access;
}

/*
 * Defaults are perf's: four bytes, read or written. A code breakpoint has the length the kernel
 * requires.
 */
static int finish_breakpoint(struct event *event, const char *text, struct error *error)
{
	bool is_code = event->access == HW_BREAKPOINT_X;

	if (!event->access)
		event->access = HW_BREAKPOINT_RW;
	if (!event->bytes)
		event->bytes = is_code ? sizeof(long) : HW_BREAKPOINT_LEN_4;
	if (event->access & HW_BREAKPOINT_X && !is_code)
		return error_set(error, -EINVAL,
				 "'%s' watches data and code: use rw or x, not both", text);
	if (!is_code && (event->bytes > 8 || event->bytes & (event->bytes - 1)))
		return error_set(error, -EINVAL, "'%s': a breakpoint can watch 1, 2, 4 or 8 bytes",
				 text);
	if (!is_code && event->address % event->bytes)
		return error_set(error, -EINVAL,
				 "'%s': the address is not aligned to the %u watched bytes", text,
				 (unsigned)event->bytes);
	event->type = PERF_TYPE_BREAKPOINT;
	return 0;
}

/* Parses a number up to `:`, `/` or the end, and moves *at past it. */
static bool take_number(const char **at, uint64_t *ret)
{
	size_t nr = strcspn(*at, ":/");
	char number[32] = "";

	if (nr >= sizeof(number))
		return false;
	memcpy(number, *at, nr);
	*at += nr;
	return number_parse(number, UINT64_MAX, ret) == 0;
}

/* *ret_modifiers is the text after the last `:`, or NULL. */
static int parse_breakpoint(const char *text, struct event *event, const char **ret_modifiers,
			    struct error *error)
{
	const char *at = text + strlen(BREAKPOINT);
	bool is_good = take_number(&at, &event->address);
	size_t nr;

	if (is_good && *at == '/') {
		at++;
		is_good = take_number(&at, &event->bytes) && event->bytes;
	}
	if (is_good && *at == ':') {
		nr = strcspn(at + 1, ":");
		event->access = parse_access(at + 1, nr);
		if (event->access)
			at += nr + 1;
	}
	*ret_modifiers = *at == ':' ? at + 1 : NULL;
	if (is_good && (!*at || *ret_modifiers))
		return finish_breakpoint(event, text, error);
	(void)error_set(error, -EINVAL, "bad breakpoint '%s'", text);
	error_hint(error, "use mem:ADDRESS[/BYTES][:rwx], for example mem:0x4040a0/8:w");
	return -EINVAL;
}

/* --- names ------------------------------------------------------------------------------------- */

bool event_is_tracepoint(const char *text)
{
	const char *colon = strchr(text, ':');
	char category[sizeof(((struct event *)NULL)->name)];
	struct event event;

	if (!colon || colon == text || !colon[1] || text_starts_with(text, BREAKPOINT) ||
	    (size_t)(colon - text) >= sizeof(category))
		return false;
	memcpy(category, text, (size_t)(colon - text));
	category[colon - text] = '\0';
	return !find_plain(category, &event) && !find_cache(category, &event) &&
	       !find_raw(category, &event);
}

static int parse_modifiers(const char *text, const char *modifiers, struct event *event,
			   struct error *error)
{
	bool user = strchr(modifiers, 'u'), kernel = strchr(modifiers, 'k');

	if (!*modifiers || modifiers[strspn(modifiers, "uk")])
		return error_set(error, -EINVAL, "unknown event modifier '%s' in '%s'", modifiers,
				 text);
	event->exclude_user = !user;
	event->exclude_kernel = !kernel;
	return 0;
}

int event_parse(const char *text, struct event *ret, struct error *error)
{
	struct event event = {0};
	char name[sizeof(event.name)];
	const char *modifiers = NULL;
	char *colon;
	int err;

	if (strlen(text) >= sizeof(name))
		return error_set(error, -EINVAL, "event name '%.40s…' is too long", text);
	(void)strcpy(event.name, text);
	(void)strcpy(name, text);
	if (text_starts_with(text, BREAKPOINT)) {
		err = parse_breakpoint(text, &event, &modifiers, error);
		if (!err && modifiers)
			err = parse_modifiers(text, modifiers, &event, error);
		if (!err)
			*ret = event;
		return err;
	}
	colon = strchr(name, ':');
	if (colon)
		*colon = '\0';
	if (!find_plain(name, &event) && !find_cache(name, &event) && !find_raw(name, &event)) {
		(void)error_set(error, -EINVAL, "unknown event '%s'", text);
		error_hint(error, "use perf's event names: cpu-clock, cycles, page-faults, "
				  "L1-dcache-load-misses, r1c2, sched:sched_switch, …");
		return -EINVAL;
	}
	if (colon && parse_modifiers(text, colon + 1, &event, error) < 0)
		return -EINVAL;
	*ret = event;
	return 0;
}

bool event_is_clock(const struct event *event)
{
	return event->type == PERF_TYPE_SOFTWARE && (event->config == PERF_COUNT_SW_CPU_CLOCK ||
						     event->config == PERF_COUNT_SW_TASK_CLOCK);
}
