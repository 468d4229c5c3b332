/* Labels of the agent: paths of cgroups as runtimes make them; states of threads that become values. */
#include "agent/labels.h"

#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "unit/test.h"

#define ID  "3f4b2a6d9c1e08577a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f"
#define UID "8f7e6d5c-4b3a-2910-8f7e-6d5c4b3a2910"

static void check_names(const char *path, const char *container, const char *pod, const char *unit,
			const char *slice)
{
	struct cgroup_names names;

	cgroup_names_parse(path, &names);
	CHECK_STR(names.container, container);
	CHECK_STR(names.pod, pod);
	CHECK_STR(names.unit, unit);
	CHECK_STR(names.slice, slice);
}

TEST(cgroup_names_are_those_of_runtimes)
{
	check_names("/", "", "", "", "");
	check_names("", "", "", "", "");
	check_names("/docker/" ID, ID, "", "", "");
	check_names("/system.slice/docker-" ID ".scope", ID, "", "docker-" ID ".scope",
		    "system.slice");
	check_names("/system.slice/nginx.service", "", "", "nginx.service", "system.slice");
	check_names("/user.slice/user-1000.slice/user@1000.service/app.slice/foo.service", "", "",
		    "foo.service", "app.slice");
	check_names("/kubepods/burstable/pod" UID "/" ID, ID, UID, "", "");
	check_names("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
		    "pod8f7e6d5c_4b3a_2910_8f7e_6d5c4b3a2910.slice/cri-containerd-" ID ".scope",
		    ID, UID, "cri-containerd-" ID ".scope",
		    "kubepods-burstable-pod8f7e6d5c_4b3a_2910_8f7e_6d5c4b3a2910.slice");
	check_names("/kubepods.slice/kubepods-pod" UID ".slice/crio-" ID ".scope/container", ID,
		    UID, "crio-" ID ".scope", "kubepods-pod" UID ".slice");
	check_names("/system.slice/containerd.service/kubepods-besteffort-pod" UID
		    ".slice:cri-containerd:" ID,
		    ID, UID, "containerd.service", "system.slice");
	check_names("/machine.slice/libpod-" ID ".scope", ID, "", "libpod-" ID ".scope",
		    "machine.slice");
	check_names("/kubepods/besteffort/pod0123456789abcdef0123456789abcdef/" ID, ID,
		    "0123456789abcdef0123456789abcdef", "", "");
	check_names("/ecs/0123456789abcdef0123456789abcdef/"
		    "0123456789abcdef0123456789abcdef-1234567890",
		    "0123456789abcdef0123456789abcdef-1234567890", "", "", "");
}

TEST(cgroup_names_are_not_guessed)
{
	char path[400] = "/";

	check_names("/docker/" ID "0", "", "", "", "");
	check_names("/docker/0123456789abcdef", "", "", "", "");
	check_names("/0123456789abcdef0123456789abcdef", "", "", "", "");
	check_names("/podcast/pod-of-whales/pod8f7e6d5c-4b3a", "", "", "", "");
	memset(path + 1, 'a', 300);
	memcpy(path + 301, ".service", sizeof(".service"));
	check_names(path, "", "", "", "");
}

static const char *label_of(const struct profile *profile, uint32_t sample, const char *key)
{
	struct set_label labels[LABEL_SET_MAX];
	size_t nr = profile_label_set(profile, profile_sample(profile, sample)->labels.set, labels);
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(profile_string(profile, labels[i].key), key))
			return profile_string(profile, labels[i].text);
	return "";
}

static const struct process_names no_names;
static const struct relabel_rules no_rules;

TEST(labels_are_those_of_the_process_and_its_cgroup)
{
	const struct process_name own = {.pid = getpid(), .name = "at-the-sample"};
	struct process_names names = {0};
	uint64_t left_out;
	struct profile *profile = profile_new();
	struct sample_labels labels = {
		.comm = (uint32_t)profile_add_string(profile, "thread"),
		.cgroup = (uint32_t)profile_add_string(profile, "/a.slice/b.service"),
		.pid = getpid(),
	};
	uint32_t i, nr = 0;

	/* The pid is there, and is by now that of another program. */
	CHECK_EQ(process_names_add(&names, &own, "/bin/at-the-sample"), 0);
	CHECK(profile_add_sample(profile, &labels, NULL, 0, 0, 7) >= 0);
	labels.pid = 0;
	CHECK(profile_add_sample(profile, &labels, NULL, 0, 0, 5) >= 0);
	CHECK_EQ(labels_add(profile, &(struct label_sources){&names, &no_rules}, &left_out), 0);
	CHECK_EQ(left_out, 0);
	CHECK_EQ(profile_total(profile), 12);
	for (i = 0; i < profile_nr_samples(profile); i++) {
		const struct sample *sample = profile_sample(profile, i);

		if (!sample->count)
			continue;
		nr++;
		CHECK_STR(profile_string(profile, sample->labels.comm), "thread");
		CHECK_STR(label_of(profile, i, "unit"), "b.service");
		CHECK_STR(label_of(profile, i, "slice"), "a.slice");
		CHECK_STR(label_of(profile, i, "executable"),
			  sample->count == 7 ? "/bin/at-the-sample" : "");
		CHECK_STR(label_of(profile, i, "process"),
			  sample->count == 7 ? "at-the-sample" : "");
	}
	CHECK_EQ(nr, 2);
	process_names_clear(&names);
	profile_free(profile);
}

/* Adding a label may move all texts of a profile, the thread's name among them. */
TEST(a_process_without_a_name_has_that_of_its_thread)
{
	char name[600] = "";
	uint64_t left_out;
	size_t nr;

	for (nr = 1; nr < sizeof(name); nr++) {
		struct profile *profile = profile_new();
		struct sample_labels labels = {.pid = INT32_MAX};

		memset(name, 'x', nr);
		labels.comm = (uint32_t)profile_add_string(profile, name);
		CHECK(profile_add_sample(profile, &labels, NULL, 0, 0, 1) >= 0);
		CHECK_EQ(labels_add(profile, &(struct label_sources){&no_names, &no_rules},
				    &left_out),
			 0);
		CHECK_STR(label_of(profile, profile_nr_samples(profile) - 1, "process"), name);
		profile_free(profile);
	}
}

/* Such pids do not exist: they are larger than any limit. */
#define GONE	 0x7ffffff0
#define GONE_TOO 0x7ffffff1

TEST(labels_of_a_process_that_is_over_are_those_it_had)
{
	const struct process_name gone = {.pid = GONE, .name = "cc1"};
	uint64_t left_out;
	struct profile *profile = profile_new();
	struct process_names names = {0};
	struct sample_labels labels = {
		.comm = (uint32_t)profile_add_string(profile, "thread"),
		.pid = GONE,
	};
	uint32_t i;

	CHECK_EQ(process_names_add(&names, &gone, "/usr/lib/gcc/cc1"), 0);
	CHECK(profile_add_sample(profile, &labels, NULL, 0, 0, 7) >= 0);
	labels.pid = GONE_TOO;
	CHECK(profile_add_sample(profile, &labels, NULL, 0, 0, 5) >= 0);
	CHECK_EQ(labels_add(profile, &(struct label_sources){&names, &no_rules}, &left_out), 0);
	for (i = 0; i < profile_nr_samples(profile); i++) {
		const bool is_known = profile_sample(profile, i)->count == 7;

		if (!profile_sample(profile, i)->count)
			continue;
		CHECK_STR(label_of(profile, i, "process"), is_known ? "cc1" : "thread");
		CHECK_STR(label_of(profile, i, "executable"), is_known ? "/usr/lib/gcc/cc1" : "");
	}
	process_names_clear(&names);
	profile_free(profile);
}

TEST(labels_decide_what_is_left_out)
{
	struct profile *profile = profile_new();
	struct relabel_rules rules = {0};
	struct sample_labels labels = {.pid = GONE};
	struct error error;
	uint64_t left_out;

	CHECK_EQ(relabel_rules_add(&rules, "drop process=noise", &error), 0);
	labels.comm = (uint32_t)profile_add_string(profile, "noise");
	CHECK(profile_add_sample(profile, &labels, NULL, 0, 0, 7) >= 0);
	labels.comm = (uint32_t)profile_add_string(profile, "work");
	CHECK(profile_add_sample(profile, &labels, NULL, 0, 0, 5) >= 0);
	CHECK_EQ(labels_add(profile, &(struct label_sources){&no_names, &rules}, &left_out), 0);
	CHECK_EQ(left_out, 7);
	CHECK_EQ(profile_total(profile), 5);
	relabel_rules_clear(&rules);
	profile_free(profile);
}

TEST(process_names_are_those_of_the_latest_program)
{
	struct process_names names = {0}, later = {0};
	struct process_name name = {.pid = 7, .name = "sh", .ancestors = {3}};

	CHECK(!process_names_find(&names, 7));
	CHECK_EQ(process_names_add(&names, &name, "/bin/sh"), 0);
	name.pid = 8;
	CHECK_EQ(process_names_add(&names, &name, NULL), 0);
	name = (struct process_name){.pid = 7, .name = "cc1"};
	CHECK_EQ(process_names_add(&later, &name, "/bin/cc1"), 0);
	CHECK_EQ(process_names_join(&names, &later), 0);
	CHECK_EQ(names.nr, 2);
	CHECK_STR(process_names_find(&names, 7)->name, "cc1");
	CHECK_STR(process_names_find(&names, 7)->path, "/bin/cc1");
	CHECK_STR(process_names_find(&names, 8)->name, "sh");
	CHECK(!process_names_find(&names, 8)->path);
	CHECK_EQ(process_names_find(&names, 8)->ancestors[0], 3);
	process_names_clear(&names);
	process_names_clear(&later);
}

static uint32_t named_frame(struct profile *profile, const char *name)
{
	const struct code_line line = {.function = (uint32_t)profile_add_string(profile, name)};

	return (uint32_t)profile_add_named_frame(profile, FRAME_USER, MODULE_NR_UNKNOWN, &line, 1);
}

static void add(struct profile *profile, const char *state, const char *function, uint64_t count)
{
	const struct sample_labels labels = {0};
	const uint32_t frames[] = {named_frame(profile, function), named_frame(profile, state)};
	const uint32_t none = *state ? 0 : 1;

	CHECK(profile_add_sample(profile, &labels, *function ? frames : frames + 1,
				 (*function ? 2 : 1) - none, 0, count) >= 0);
}

TEST(states_become_values)
{
	static const struct {
		const char *value;
		uint64_t total;
	} wanted[] = {{"cpu", 3}, {"sleeping", 11}, {"blocked", 4}};
	struct profile *profile = profile_new();
	struct value_type cpu;
	size_t i, nr = 0;

	CHECK_EQ(profile_make_value_type(profile, "cpu", "nanoseconds", &cpu), 0);
	profile_set_main_type(profile, cpu);
	add(profile, "[running]", "work", 2);
	add(profile, "", "work", 1); /* has no state: stays */
	add(profile, "[sleeping]", "work", 5);
	add(profile, "[sleeping]", "", 6); /* a thread without a stack */
	add(profile, "[blocked]", "read", 4);
	CHECK_EQ(labels_split_states(profile), 0);
	CHECK_EQ(profile_nr_values(profile), 3);
	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		const int value = profile_find_value(profile, wanted[i].value);

		CHECK(value >= 0);
		CHECK_EQ(profile_value_total(profile, (size_t)value), wanted[i].total);
	}
	/* One stack, whatever the state; and the one of a thread without one. */
	for (i = 0; i < profile_nr_samples(profile); i++)
		nr += profile_has_value(profile, (uint32_t)i);
	CHECK_EQ(nr, 3);
	profile_free(profile);
}
