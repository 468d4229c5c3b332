/*
 * The parts of attaching that decide and describe: the means of attaching on each kernel, the texts
 * of tracefs events, patching a number into instructions, refusals. Real attaching is tested in
 * tests/live.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "bpf/probe_wire.h"
#include "probe/attach/link.h"
#include "probe/attach/probe_features.h"
#include "unit/test.h"

/* --- the choice of hooks ---------------------------------------------------------------------- */

#define HAS(feature) (1u << PROBE_FEATURE_##feature)

static int choose(const struct probe *probe, unsigned has, const char **ret_why)
{
	struct probe_features features = {0};
	int i;

	for (i = 0; i < NR_PROBE_FEATURES; i++)
		features.has[i] = has >> i & 1;
	return probe_hook_choose(probe, &features, ret_why);
}

static const struct {
	struct probe probe;
	unsigned has;
	int hook;
} choices[] = {
	{{.kind = PROBE_USER}, HAS(UPROBE_MULTI) | HAS(UPROBE_EVENT), HOOK_UPROBE_MULTI},
	{{.kind = PROBE_USER}, HAS(UPROBE_EVENT), HOOK_UPROBE_EVENT},
	{{.kind = PROBE_USER, .is_return = true}, HAS(UPROBE_EVENT), HOOK_UPROBE_EVENT},
	{{.kind = PROBE_USER, .offset = 64}, HAS(UPROBE_MULTI), HOOK_UPROBE_MULTI},
	{{.kind = PROBE_USDT}, HAS(UPROBE_MULTI), HOOK_UPROBE_MULTI},
	{{.kind = PROBE_USER}, HAS(KPROBE_MULTI) | HAS(FENTRY), -EOPNOTSUPP},
	{{.kind = PROBE_KERNEL}, HAS(KPROBE_MULTI) | HAS(FENTRY), HOOK_KPROBE_MULTI},
	{{.kind = PROBE_KERNEL}, HAS(FENTRY), HOOK_FENTRY},
	{{.kind = PROBE_KERNEL, .is_return = true}, HAS(FENTRY) | HAS(KPROBE_EVENT), HOOK_FEXIT},
	{{.kind = PROBE_KERNEL, .is_return = true}, HAS(KPROBE_EVENT), -EOPNOTSUPP},
	{{.kind = PROBE_KERNEL, .address = 1}, HAS(KPROBE_EVENT) | HAS(FENTRY), HOOK_KPROBE_EVENT},
	{{.kind = PROBE_KERNEL}, HAS(KPROBE_EVENT) | HAS(FENTRY), HOOK_FENTRY},
	{{.kind = PROBE_KERNEL}, HAS(KPROBE_EVENT), -EOPNOTSUPP},
	{{.kind = PROBE_KERNEL, .address = 1, .offset = 8},
	 HAS(KPROBE_MULTI) | HAS(FENTRY) | HAS(KPROBE_EVENT),
	 HOOK_KPROBE_EVENT},
	{{.kind = PROBE_KERNEL, .address = 1, .offset = 8}, HAS(KPROBE_MULTI), -EOPNOTSUPP},
	{{.kind = PROBE_KERNEL, .address = 1, .is_shadowed = true},
	 HAS(KPROBE_MULTI) | HAS(KPROBE_EVENT) | HAS(FENTRY),
	 HOOK_KPROBE_MULTI},
	{{.kind = PROBE_KERNEL, .address = 1, .is_shadowed = true},
	 HAS(KPROBE_EVENT) | HAS(FENTRY),
	 -EOPNOTSUPP},
	{{.kind = PROBE_TRACEPOINT}, 0, HOOK_TRACEPOINT},
};

TEST(hooks_are_chosen_by_kind_and_kernel)
{
	const char *why;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(choices); i++)
		CHECK_EQ(choose(&choices[i].probe, choices[i].has, &why), choices[i].hook);
}

TEST(a_probe_without_hook_says_why)
{
	size_t i, nr = 0;

	for (i = 0; i < ARRAY_SIZE(choices); i++) {
		const char *why = NULL;

		if (choose(&choices[i].probe, choices[i].has, &why) >= 0)
			continue;
		CHECK(why && *why);
		nr++;
	}
	CHECK_EQ(nr, 5);
}

TEST(hidden_addresses_are_told_from_missing_kprobes)
{
	const struct probe probe = {.kind = PROBE_KERNEL};
	const char *hidden = "", *missing = "";

	CHECK_EQ(choose(&probe, HAS(KPROBE_EVENT), &hidden), -EOPNOTSUPP);
	CHECK_EQ(choose(&probe, 0, &missing), -EOPNOTSUPP);
	CHECK(strstr(hidden, "kptr_restrict") != NULL);
	CHECK(strstr(missing, "neither kprobes nor fentry") != NULL);
}

TEST(a_name_that_leads_elsewhere_is_told)
{
	const struct probe probe = {.kind = PROBE_KERNEL, .address = 1, .is_shadowed = true};
	const char *shadowed = "", *missing = "";

	CHECK_EQ(choose(&probe, HAS(FENTRY), &shadowed), -EOPNOTSUPP);
	CHECK_EQ(choose(&probe, 0, &missing), -EOPNOTSUPP);
	CHECK(strstr(shadowed, "the same name") != NULL);
	CHECK(strstr(missing, "neither kprobes nor fentry") != NULL);
}

TEST(what_is_forbidden_is_told_from_what_is_missing)
{
	struct probe_features features = {
		.why = {[PROBE_FEATURE_FENTRY] = -EPERM, [PROBE_FEATURE_KPROBE_EVENT] = -ENOENT}};
	struct probe probe = {.kind = PROBE_KERNEL};
	const char *why = "";

	CHECK_EQ(probe_hook_choose(&probe, &features, &why), -EOPNOTSUPP);
	CHECK(strstr(why, "EPERM") != NULL);
	probe.is_return = true;
	CHECK_EQ(probe_hook_choose(&probe, &features, &why), -EOPNOTSUPP);
	CHECK(strstr(why, "EPERM") != NULL);
	probe = (struct probe){.kind = PROBE_USER};
	features.why[PROBE_FEATURE_UPROBE_EVENT] = -EACCES;
	CHECK_EQ(probe_hook_choose(&probe, &features, &why), -EOPNOTSUPP);
	CHECK(strstr(why, "not permitted") != NULL);
}

/* --- texts of events -------------------------------------------------------------------------- */

static const char *defined(const struct probe *probe)
{
	static char text[EVENT_TEXT_BYTES];

	event_text_define(text, "s7_a_0", probe, 9);
	return text;
}

TEST(events_are_defined_by_our_own_descriptor)
{
	CHECK_STR(defined(&(struct probe){.kind = PROBE_USER, .offset = 0x4a0}),
		  "p:stook/s7_a_0 /proc/self/fd/9:0x4a0");
	CHECK_STR(defined(&(struct probe){.kind = PROBE_USER, .offset = 0x4a0, .is_return = true}),
		  "r:stook/s7_a_0 /proc/self/fd/9:0x4a0");
	CHECK_STR(
		defined(&(struct probe){.kind = PROBE_USDT, .offset = 0x4a0, .semaphore = 0x9010}),
		"p:stook/s7_a_0 /proc/self/fd/9:0x4a0(0x9010)");
}

TEST(kernel_events_are_defined_by_symbol)
{
	CHECK_STR(defined(&(struct probe){.kind = PROBE_KERNEL, .symbol = "vfs_read"}),
		  "p:stook/s7_a_0 vfs_read+0x0");
	CHECK_STR(
		defined(&(struct probe){.kind = PROBE_KERNEL, .symbol = "vfs_read", .offset = 16}),
		"p:stook/s7_a_0 vfs_read+0x10");
}

TEST(events_of_ours_are_found_among_others)
{
	struct event_owner owner = {.pid = 4711, .start_ns = 0xabcdef0123};
	char name[EVENT_NAME_BYTES], found[EVENT_NAME_BYTES], listed[400];
	struct event_owner read = {0};
	const char *at = listed;

	event_text_name(name, &owner, 3);
	(void)snprintf(listed, sizeof(listed),
		       "p:probes/other /bin/a:0x10\n"
		       "p:stook/mine /bin/a:0x10\n"
		       "r32:stook/%s /proc/self/fd/9:0x4a0\n"
		       "p:stook/%s /proc/self/fd/9:0x5a0",
		       name, name);
	CHECK(event_text_next(&at, found, &read));
	CHECK_STR(found, name);
	CHECK_EQ(read.pid, owner.pid);
	CHECK_EQ(read.start_ns, owner.start_ns);
	CHECK(event_text_next(&at, found, &read));
	CHECK(!event_text_next(&at, found, &read));
	CHECK_EQ(*at, '\0');
}

TEST(names_that_are_too_long_are_not_ours)
{
	char listed[200] = "p:stook/s1_2_", found[EVENT_NAME_BYTES];
	struct event_owner owner;
	const char *at = listed;

	memset(listed + strlen(listed), '3', 100);
	CHECK(!event_text_next(&at, found, &owner));
}

/* --- places ----------------------------------------------------------------------------------- */

TEST(a_user_place_is_the_offset_in_the_file)
{
	struct wire_place places[LINK_EVENT_PLACES];

	CHECK_EQ(link_event_places(&(struct probe){.kind = PROBE_USER, .offset = 0x40}, 77, places),
		 1);
	CHECK_EQ(places[0].file, 77);
	CHECK_EQ(places[0].offset, 0x40);
}

TEST(a_kernel_function_has_a_place_behind_its_landing_pad_too)
{
	struct wire_place places[LINK_EVENT_PLACES];
	struct probe probe = {.kind = PROBE_KERNEL, .address = 0x1000};

	CHECK_EQ(link_event_places(&probe, 0, places), 2);
	CHECK_EQ(places[0].file, 0);
	CHECK_EQ(places[1].offset, places[0].offset + 4);
	probe.offset = 8;
	CHECK_EQ(link_event_places(&probe, 0, places), 1);
	CHECK_EQ(places[0].offset & ~1ULL, 0x1008);
}

/* --- numbers patched into instructions -------------------------------------------------------- */

#define LOAD(low, high)                                                           \
	{.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .imm = (int32_t)(low)}, \
	{                                                                         \
		.imm = (int32_t)(high)                                            \
	}
#define MARK_LOW  (uint32_t) WIRE_NUMBER_MARK
#define MARK_HIGH (uint32_t)(WIRE_NUMBER_MARK >> 32)

TEST(a_number_is_put_where_the_mark_is_loaded)
{
	struct bpf_insn code[] = {LOAD(MARK_LOW, MARK_HIGH),
				  {.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = (int32_t)MARK_LOW},
				  LOAD(MARK_LOW, 1),
				  LOAD(MARK_LOW, MARK_HIGH)};

	CHECK_EQ(link_copy_number(code, ARRAY_SIZE(code), 123456), 2);
	CHECK_EQ(code[0].imm, 123456);
	CHECK_EQ(code[1].imm, 0);
	CHECK_EQ(code[2].imm, (int32_t)MARK_LOW);
	CHECK_EQ(code[3].imm, (int32_t)MARK_LOW);
	CHECK_EQ(code[4].imm, 1);
	CHECK_EQ(code[5].imm, 123456);
	CHECK_EQ(code[6].imm, 0);
}

TEST(a_map_is_not_taken_for_a_number)
{
	struct bpf_insn code[] = {LOAD(MARK_LOW, MARK_HIGH)};

	code[0].src_reg = BPF_PSEUDO_MAP_FD;
	CHECK_EQ(link_copy_number(code, ARRAY_SIZE(code), 1), 0);
	CHECK_EQ(link_copy_number(code, 1, 1), 0);
	CHECK_EQ(link_copy_number(code, 0, 1), 0);
}

/* --- refusals --------------------------------------------------------------------------------- */

TEST(refusals_are_told_from_failures)
{
	CHECK(link_refusal(HOOK_UPROBE_MULTI, -EINVAL) != NULL);
	CHECK(link_refusal(HOOK_UPROBE_MULTI, -524) != NULL);
	CHECK(link_refusal(HOOK_KPROBE_MULTI, -ESRCH) != NULL);
	CHECK(link_refusal(HOOK_UPROBE_MULTI, -ESRCH) == NULL);
	CHECK(link_refusal(HOOK_FENTRY, -EMFILE) == NULL);
	CHECK(link_refusal(HOOK_UPROBE_EVENT, -EPERM) == NULL);
	/* The map of places has one of another file with that inode number. */
	CHECK(strstr(link_refusal(HOOK_UPROBE_EVENT, -EEXIST), "same inode number") != NULL);
	CHECK(strstr(link_refusal(HOOK_UPROBE_MULTI, -EEXIST), "no second probe") != NULL);
	CHECK(link_refusal(HOOK_UPROBE_EVENT, -ENOMEM) == NULL);
}

TEST(a_failure_has_a_hint)
{
	struct error error = {0};

	CHECK_EQ(link_failure(HOOK_FENTRY, -EMFILE, 3, &error), -EMFILE);
	CHECK(strstr(error.text, "3 probes") != NULL);
	CHECK(strstr(error.hint, "ulimit -n") != NULL);
}

/* --- symbols ---------------------------------------------------------------------------------- */

TEST(symbols_are_found_by_the_whole_name)
{
	struct probe probes[] = {{.symbol = "vfs_read"},
				 {.symbol = "do_exit"},
				 {.symbol = "vfs_readv"},
				 {.symbol = "vfs_read"}};
	const struct probe_list list = {.probes = probes, .nr_probes = ARRAY_SIZE(probes)};
	const uint32_t numbers[] = {0, 1, 2, 3};
	struct symbol_index index;
	const uint32_t *found;
	size_t nr;

	CHECK_EQ(symbol_index_init(&index, &list, numbers, ARRAY_SIZE(numbers)), 0);
	found = symbol_index_find(&index, "vfs_read [xfs]", 8, &nr);
	CHECK_EQ(nr, 2);
	CHECK_EQ(found[0] + found[1], 3);
	(void)symbol_index_find(&index, "vfs_rea", 7, &nr);
	CHECK_EQ(nr, 0);
	(void)symbol_index_find(&index, "zzz", 3, &nr);
	CHECK_EQ(nr, 0);
	found = symbol_index_find(&index, "do_exit", 7, &nr);
	CHECK_EQ(nr, 1);
	CHECK_EQ(found[0], 1);
	symbol_index_clear(&index);
}

/* --- places that the kernel may reject -------------------------------------------------------- */

TEST(doubtful_places_are_tried_first)
{
	struct probe probes[5] = {[1] = {.is_doubtful = true}, [4] = {.is_doubtful = true}};
	const struct probe_list list = {.probes = probes, .nr_probes = ARRAY_SIZE(probes)};
	const uint32_t numbers[] = {0, 1, 2, 3, 4}, expected[] = {1, 4, 0, 2, 3};
	uint32_t sorted[ARRAY_SIZE(numbers)];

	CHECK_EQ(doubtful_places_first(&list, numbers, ARRAY_SIZE(numbers), sorted), 2);
	CHECK(!memcmp(sorted, expected, sizeof(expected)));
}
