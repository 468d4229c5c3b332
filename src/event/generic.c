/*
 * Translates names to numbers. One table for plain names; names of cache events are composed as perf composes them.
 */
#include "event/generic.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

struct named {
	const char *name;
	uint32_t type;
	uint64_t config;
	const char *description;
};

#define HARDWARE(name, id, description)                                   \
	{                                                                 \
		name, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##id, description \
	}
#define SOFTWARE(name, id, description)                                   \
	{                                                                 \
		name, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##id, description \
	}

static const struct named plain_events[] = {
	HARDWARE("cycles", CPU_CYCLES, "CPU cycles"),
	HARDWARE("cpu-cycles", CPU_CYCLES, "CPU cycles"),
	HARDWARE("instructions", INSTRUCTIONS, "instructions retired"),
	HARDWARE("cache-references", CACHE_REFERENCES, "accesses to the last-level cache"),
	HARDWARE("cache-misses", CACHE_MISSES, "accesses that missed the last-level cache"),
	HARDWARE("branches", BRANCH_INSTRUCTIONS, "branch instructions"),
	HARDWARE("branch-instructions", BRANCH_INSTRUCTIONS, "branch instructions"),
	HARDWARE("branch-misses", BRANCH_MISSES, "mispredicted branches"),
	HARDWARE("bus-cycles", BUS_CYCLES, "bus cycles"),
	HARDWARE("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND,
		 "cycles in which no instruction was issued"),
	HARDWARE("idle-cycles-frontend", STALLED_CYCLES_FRONTEND,
		 "cycles in which no instruction was issued"),
	HARDWARE("stalled-cycles-backend", STALLED_CYCLES_BACKEND,
		 "cycles in which no instruction was retired"),
	HARDWARE("idle-cycles-backend", STALLED_CYCLES_BACKEND,
		 "cycles in which no instruction was retired"),
	HARDWARE("ref-cycles", REF_CPU_CYCLES, "CPU cycles at a constant rate"),
	SOFTWARE("cpu-clock", CPU_CLOCK, "time on each CPU, by a timer"),
	SOFTWARE("task-clock", TASK_CLOCK, "time of each thread, by a timer"),
	SOFTWARE("page-faults", PAGE_FAULTS, "page faults"),
	SOFTWARE("faults", PAGE_FAULTS, "page faults"),
	SOFTWARE("minor-faults", PAGE_FAULTS_MIN, "page faults without input or output"),
	SOFTWARE("major-faults", PAGE_FAULTS_MAJ, "page faults that read from a disk"),
	SOFTWARE("context-switches", CONTEXT_SWITCHES, "switches between threads"),
	SOFTWARE("cs", CONTEXT_SWITCHES, "switches between threads"),
	SOFTWARE("cpu-migrations", CPU_MIGRATIONS, "moves of threads to other CPUs"),
	SOFTWARE("migrations", CPU_MIGRATIONS, "moves of threads to other CPUs"),
	SOFTWARE("alignment-faults", ALIGNMENT_FAULTS,
		 "unaligned accesses that the kernel handled"),
	SOFTWARE("emulation-faults", EMULATION_FAULTS, "instructions that the kernel emulated"),
	SOFTWARE("dummy", DUMMY, "no event: a carrier of records"),
	SOFTWARE("bpf-output", BPF_OUTPUT, "records that BPF programs write"),
	SOFTWARE("cgroup-switches", CGROUP_SWITCHES,
		 "switches between threads of different cgroups"),
};

/*
 * A cache event is CACHE[-WORD[-WORD]]: one word is an operation, the other one a result, in any order. Without them,
 * it counts reads, and accesses. The first name of a cache, and of a word, is the one that is shown.
 */
#define OP(id)	  (1U << PERF_COUNT_HW_CACHE_OP_##id)
#define READ	  OP(READ)
#define ANY_OP	  (OP(READ) | OP(WRITE) | OP(PREFETCH))
#define NAMES_MAX 4
#define NO_NUMBER (-1)

static const struct cache {
	const char *description;
	const char *names[NAMES_MAX];
	unsigned operations; /* that perf accepts; kernels refuse more */
} caches[] = {
	[PERF_COUNT_HW_CACHE_L1D] = {"L1 data cache",
				     {"L1-dcache", "l1-d", "l1d", "L1-data"},
				     ANY_OP},
	[PERF_COUNT_HW_CACHE_L1I] = {"L1 instruction cache",
				     {"L1-icache", "l1-i", "l1i", "L1-instruction"},
				     OP(READ) | OP(PREFETCH)},
	[PERF_COUNT_HW_CACHE_LL] = {"last-level cache", {"LLC", "L2"}, ANY_OP},
	[PERF_COUNT_HW_CACHE_DTLB] = {"data TLB", {"dTLB", "d-tlb", "Data-TLB"}, ANY_OP},
	[PERF_COUNT_HW_CACHE_ITLB] = {"instruction TLB",
				      {"iTLB", "i-tlb", "Instruction-TLB"},
				      READ},
	[PERF_COUNT_HW_CACHE_BPU] = {"branch prediction", {"branch", "bpu", "btb", "bpc"}, READ},
	[PERF_COUNT_HW_CACHE_NODE] = {"memory of the NUMA node", {"node"}, ANY_OP},
};

static const struct word {
	const char *name;
	int operation, result; /* one of them is NO_NUMBER */
} words[] = {
	{"loads", PERF_COUNT_HW_CACHE_OP_READ, NO_NUMBER},
	{"load", PERF_COUNT_HW_CACHE_OP_READ, NO_NUMBER},
	{"read", PERF_COUNT_HW_CACHE_OP_READ, NO_NUMBER},
	{"stores", PERF_COUNT_HW_CACHE_OP_WRITE, NO_NUMBER},
	{"store", PERF_COUNT_HW_CACHE_OP_WRITE, NO_NUMBER},
	{"write", PERF_COUNT_HW_CACHE_OP_WRITE, NO_NUMBER},
	{"prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH, NO_NUMBER},
	{"prefetch", PERF_COUNT_HW_CACHE_OP_PREFETCH, NO_NUMBER},
	{"speculative-read", PERF_COUNT_HW_CACHE_OP_PREFETCH, NO_NUMBER},
	{"speculative-load", PERF_COUNT_HW_CACHE_OP_PREFETCH, NO_NUMBER},
	{"refs", NO_NUMBER, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
	{"Reference", NO_NUMBER, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
	{"ops", NO_NUMBER, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
	{"access", NO_NUMBER, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
	{"misses", NO_NUMBER, PERF_COUNT_HW_CACHE_RESULT_MISS},
	{"miss", NO_NUMBER, PERF_COUNT_HW_CACHE_RESULT_MISS},
};

static bool find_plain(const char *name, struct perf_event_attr *attr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(plain_events); i++) {
		if (strcmp(name, plain_events[i].name) != 0)
			continue;
		attr->type = plain_events[i].type;
		attr->config = plain_events[i].config;
		return true;
	}
	return false;
}

/* Moves *at past the name if it stands there as a whole word. */
static bool take_word(const char **at, const char *name)
{
	const char *end;

	if (!text_starts_with(*at, name))
		return false;
	end = *at + strlen(name);
	if (*end && *end != '-')
		return false;
	*at = end;
	return true;
}

static bool take_cache(const char **at, uint64_t *ret)
{
	size_t k;

	for (*ret = 0; *ret < ARRAY_SIZE(caches); ++*ret)
		for (k = 0; k < NAMES_MAX && caches[*ret].names[k]; k++)
			if (take_word(at, caches[*ret].names[k]))
				return true;
	return false;
}

static bool find_cache(const char *name, struct perf_event_attr *attr)
{
	int operation = NO_NUMBER, result = NO_NUMBER;
	uint64_t cache;
	size_t i;

	if (!take_cache(&name, &cache))
		return false;
	while (*name++ == '-') {
		for (i = 0; i < ARRAY_SIZE(words) && !take_word(&name, words[i].name); i++)
			;
		if (i == ARRAY_SIZE(words) ||
		    (words[i].operation == NO_NUMBER ? result : operation) != NO_NUMBER)
			return false;
		if (words[i].operation == NO_NUMBER)
			result = words[i].result;
		else
			operation = words[i].operation;
	}
	if (operation == NO_NUMBER)
		operation = PERF_COUNT_HW_CACHE_OP_READ;
	if (result == NO_NUMBER)
		result = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
	if (!(caches[cache].operations & 1U << operation))
		return false;
	attr->type = PERF_TYPE_HW_CACHE;
	attr->config = cache | (uint64_t)operation << 8 | (uint64_t)result << 16;
	return true;
}

/* r and up to 16 hexadecimal digits: the PMU's raw event number. */
static bool find_raw(const char *name, struct perf_event_attr *attr)
{
	char hex[20] = "0x";
	uint64_t config;

	if (name[0] != 'r' || strlen(name) > 17)
		return false;
	(void)strcat(hex, name + 1);
	if (number_parse(hex, UINT64_MAX, &config) < 0)
		return false;
	attr->type = PERF_TYPE_RAW;
	attr->config = config;
	return true;
}

bool generic_find(const char *name, struct perf_event_attr *attr)
{
	return find_plain(name, attr) || find_cache(name, attr) || find_raw(name, attr);
}

void generic_each(generic_visit_fn *visit, void *context)
{
	static const char *const operations[] = {"load", "store", "prefetch"};
	static const char *const plurals[] = {"loads", "stores", "prefetches"};
	struct perf_event_attr attr = {0};
	char name[64], description[64];
	size_t cache, i;

	for (i = 0; i < ARRAY_SIZE(plain_events); i++) {
		attr.type = plain_events[i].type;
		visit(context, plain_events[i].name, plain_events[i].description, attr.type);
	}
	for (cache = 0; cache < ARRAY_SIZE(caches); cache++)
		for (i = 0; i < 2 * ARRAY_SIZE(operations); i++) {
			(void)snprintf(name, sizeof(name), "%s-%s%s", caches[cache].names[0],
				       i % 2 ? operations[i / 2] : plurals[i / 2],
				       i % 2 ? "-misses" : "");
			(void)snprintf(description, sizeof(description), "%s: %s%s",
				       caches[cache].description, plurals[i / 2],
				       i % 2 ? " that missed" : "");
			if (find_cache(name, &attr))
				visit(context, name, description, attr.type);
		}
}

/* --- breakpoints: mem:ADDR[/BYTES][:ACCESS] ---------------------------------------------------- */

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
static int finish_breakpoint(struct perf_event_attr *attr, const char *text, struct error *error)
{
	bool is_code = attr->bp_type == HW_BREAKPOINT_X;

	if (!attr->bp_type)
		attr->bp_type = HW_BREAKPOINT_RW;
	if (!attr->bp_len)
		attr->bp_len = is_code ? sizeof(long) : HW_BREAKPOINT_LEN_4;
	if (attr->bp_type & HW_BREAKPOINT_X && !is_code)
		return error_set(error, -EINVAL,
				 "'%s' watches data and code: use rw or x, not both", text);
	if (!is_code && (attr->bp_len > 8 || attr->bp_len & (attr->bp_len - 1)))
		return error_set(error, -EINVAL, "'%s': a breakpoint can watch 1, 2, 4 or 8 bytes",
				 text);
	if (!is_code && attr->bp_addr % attr->bp_len)
		return error_set(error, -EINVAL,
				 "'%s': the address is not aligned to the %u watched bytes", text,
				 (unsigned)attr->bp_len);
	attr->type = PERF_TYPE_BREAKPOINT;
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

int breakpoint_parse(const char *text, struct perf_event_attr *attr, const char **ret_modifiers,
		     struct error *error)
{
	const char *at = text + strlen(BREAKPOINT);
	uint64_t address = 0, bytes = 0;
	bool is_good = take_number(&at, &address);
	size_t nr;

	if (is_good && *at == '/') {
		at++;
		is_good = take_number(&at, &bytes) && bytes;
	}
	if (is_good && *at == ':') {
		nr = strcspn(at + 1, ":");
		attr->bp_type = parse_access(at + 1, nr);
		if (attr->bp_type)
			at += nr + 1;
	}
	attr->bp_addr = address;
	attr->bp_len = bytes;
	*ret_modifiers = *at == ':' ? at + 1 : NULL;
	if (is_good && (!*at || *ret_modifiers))
		return finish_breakpoint(attr, text, error);
	(void)error_set(error, -EINVAL, "bad breakpoint '%s'", text);
	error_hint(error, "use mem:ADDRESS[/BYTES][:rwx], for example mem:0x4040a0/8:w");
	return -EINVAL;
}
