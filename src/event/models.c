/*
 * Asks libpfm4 for the codes of events.
 *
 * Linked, the library would add 40,000 relocations and 290 page faults to every start (0.8 ms), and would have to be
 * installed on each profiled host. So it is opened by name, like libdebuginfod; the static program contains it if the
 * build machine has libpfm.a. perfmon/perf_event.h and linux/perf_event.h exclude each other: this file has no
 * struct perf_event_attr of the kernel's header.
 */
#include "event/models.h"

#include <errno.h>

#ifdef STOOK_LIBPFM

#include <ctype.h>
#include <dlfcn.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"

#define NAME_BYTES 256

#define FUNCTIONS(X)           \
	X(initialize)          \
	X(get_pmu_info)        \
	X(get_event_next)      \
	X(get_event_info)      \
	X(get_event_attr_info) \
	X(get_os_event_encoding)

struct library {
#define X(name) __typeof__(pfm_##name) *name;
	FUNCTIONS(X)
#undef X
};

/* 0 or -ENOSYS. The library is not closed: its tables are constant, and a second open is free. */
static int open_library(struct library *ret)
{
#ifdef STOOK_STATIC
#define X(name) ret->name = pfm_##name;
	FUNCTIONS(X)
#undef X
#else
	void *handle = dlopen("libpfm.so.4", RTLD_LAZY | RTLD_LOCAL);

	if (!handle)
		return -ENOSYS;
#define X(name) *(void **)&ret->name = dlsym(handle, "pfm_" #name);
	FUNCTIONS(X)
#undef X
#define X(name) || !ret->name
	if (false FUNCTIONS(X))
		return -ENOSYS;
#undef X
#endif
	return ret->initialize() == PFM_SUCCESS ? 0 : -ENOSYS;
}

/* True for the PMU of the model's cores; of those present if model is NULL. */
static bool is_wanted(const pfm_pmu_info_t *info, const char *model)
{
	if (info->type != PFM_PMU_TYPE_CORE)
		return false;
	return model ? !strcmp(info->name, model) : info->is_present;
}

/* Finds the next PMU at or after *number. A CPU with two kinds of cores has two. */
static bool next_pmu(const struct library *library, const char *model, int *number,
		     pfm_pmu_info_t *ret)
{
	for (; *number < PFM_PMU_MAX; ++*number) {
		*ret = (pfm_pmu_info_t){.size = sizeof(*ret)};
		if (library->get_pmu_info((pfm_pmu_t)*number, ret) == PFM_SUCCESS &&
		    is_wanted(ret, model)) {
			++*number;
			return true;
		}
	}
	return false;
}

/* The kernel's names of the PMUs of Intel's hybrid CPUs. */
static const char *kernel_pmu(const char *name)
{
	static const struct {
		const char *end, *pmu;
	} kinds[] = {{"_glc", "cpu_core"}, {"_grt", "cpu_atom"}};
	size_t i, nr = strlen(name);

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (nr > strlen(kinds[i].end) &&
		    !strcmp(name + nr - strlen(kinds[i].end), kinds[i].end))
			return kinds[i].pmu;
	return NULL;
}

static int encode(const struct library *library, const char *pmu, const char *text,
		  struct model_code *ret)
{
	struct perf_event_attr attr = {0};
	pfm_perf_encode_arg_t argument = {.attr = &attr, .size = sizeof(argument)};
	char name[NAME_BYTES], *dot;

	if ((size_t)snprintf(name, sizeof(name), "%s::%s", pmu, text) >= sizeof(name))
		return -ENOENT;
	for (dot = name + strlen(pmu); (dot = strchr(dot, '.'));)
		*dot = ':';
	if (library->get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT,
					   &argument) != PFM_SUCCESS)
		return -ENOENT;
	*ret = (struct model_code){.config = {attr.config, attr.config1, attr.config2},
				   .pmu = kernel_pmu(pmu)};
	return 0;
}

/*
 * Intel's fixed counters. Where libpfm4 has these names, its codes are of pseudo events, some of which the kernel does
 * not know and would count as nothing; its other names have the codes that perf's tables have.
 */
static const char *fixed_counter(const char *text)
{
	static const struct {
		const char *perf, *libpfm4;
	} names[] = {
		{"inst_retired.any", "INSTRUCTION_RETIRED"},
		{"cpu_clk_unhalted.thread", "UNHALTED_CORE_CYCLES"},
		{"cpu_clk_unhalted.core", "UNHALTED_CORE_CYCLES"},
		{"cpu_clk_unhalted.ref_tsc", "UNHALTED_REFERENCE_CYCLES"},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcasecmp(text, names[i].perf))
			return names[i].libpfm4;
	return NULL;
}

/*
 * Names for which libpfm4 (4.13) has the code of another event, or of none, by mistake: the event's own code is missing
 * or mistyped (topdown, mem_load_misc_retired, mem_trans_retired), the number for MSR_PEBS_FRONTEND is taken for the
 * unit mask, a threshold is missing, or there is a value for a register that the event does not have. Corrected by what
 * perf's tables say; a library that gives another code is left alone.
 */
static void correct(const char *text, struct model_code *code)
{
	static const struct {
		const char *name;
		uint64_t wrong, config, config1;
	} codes[] = {
		{"topdown.backend_bound_slots", 0x200, 0x2a4, 0},
		{"topdown.bad_spec_slots", 0x400, 0x4a4, 0},
		{"topdown.br_mispredict_slots", 0x800, 0x8a4, 0},
		{"topdown.memory_bound_slots", 0x1000, 0x10a4, 0},
		{"mem_load_misc_retired.uc", 0x4c4, 0x4d4, 0},
		{"mem_trans_retired.store_sample", 0x3cd, 0x2cd, 0},
		{"int_misc.unknown_branch_cycles", 0x7ad, 0x40ad, 0x7},
		{"uops_retired.ms", 0x8c2, 0x4c2, 0x8},
		{"arith.int_divider_active", 0x8b0, 0x10008b0, 0},
		{"exe.amx_busy", 0x2b7, 0x2b7, 0},
	};
	char name[NAME_BYTES], *colon;
	size_t i;

	(void)snprintf(name, sizeof(name), "%s", text);
	while ((colon = strchr(name, ':')))
		*colon = '.';
	for (i = 0; i < ARRAY_SIZE(codes); i++)
		if (code->config[0] == codes[i].wrong && !strcasecmp(name, codes[i].name)) {
			code->config[0] = codes[i].config;
			code->config[1] = codes[i].config1;
		}
}

int models_find(const char *model, const char *text, struct model_code *ret)
{
	const char *other = fixed_counter(text);
	struct library library;
	pfm_pmu_info_t info;
	int number = 0, err = open_library(&library);

	if (err)
		return err;
	err = -ENOSYS;
	/* "::" would name another model. */
	while (!strstr(text, "::") && next_pmu(&library, model, &number, &info)) {
		err = other ? encode(&library, info.name, other, ret) : -ENOENT;
		if (err)
			err = encode(&library, info.name, text, ret);
		if (!err) {
			correct(text, ret);
			return 0;
		}
	}
	return err;
}

static void visit_event(const struct library *library, int index, models_visit_fn *visit,
			void *context)
{
	pfm_event_info_t event = {.size = sizeof(event)};
	char name[NAME_BYTES];
	bool has_masks = false;
	int i;

	if (library->get_event_info(index, PFM_OS_PERF_EVENT, &event) != PFM_SUCCESS)
		return;
	for (i = 0; i < event.nattrs; i++) {
		pfm_event_attr_info_t mask = {.size = sizeof(mask)};
		char *at;

		if (library->get_event_attr_info(index, i, PFM_OS_PERF_EVENT, &mask) !=
			    PFM_SUCCESS ||
		    mask.type != PFM_ATTR_UMASK)
			continue;
		has_masks = true;
		(void)snprintf(name, sizeof(name), "%s.%s", event.name, mask.name);
		for (at = name; *at; at++)
			*at = *at == ':' ? '.' : (char)tolower((unsigned char)*at);
		visit(context, name, mask.desc ? mask.desc : "");
	}
	if (has_masks)
		return;
	(void)snprintf(name, sizeof(name), "%s", event.name);
	for (i = 0; name[i]; i++)
		name[i] = (char)tolower((unsigned char)name[i]);
	visit(context, name, event.desc ? event.desc : "");
}

int models_each(const char *model, models_visit_fn *visit, void *context)
{
	struct library library;
	pfm_pmu_info_t info;
	int number = 0, index, err = open_library(&library);

	if (err)
		return err;
	err = -ENOSYS;
	for (; next_pmu(&library, model, &number, &info); err = 0)
		for (index = info.first_event; index >= 0; index = library.get_event_next(index))
			visit_event(&library, index, visit, context);
	return err;
}

const char *models_describe(const char *model)
{
	struct library library;
	pfm_pmu_info_t info;
	int number = 0;

	if (open_library(&library) < 0 || !next_pmu(&library, model, &number, &info))
		return NULL;
	return info.desc;
}

#else /* built without libpfm4 */

int models_find(const char *model, const char *text, struct model_code *ret)
{
	return -ENOSYS;
}

int models_each(const char *model, models_visit_fn *visit, void *context)
{
	return -ENOSYS;
}

const char *models_describe(const char *model)
{
	return NULL;
}

#endif
