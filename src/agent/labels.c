/*
 * The path of a cgroup names a container by how its runtime calls the last directory: the id alone (Docker, Kubernetes
 * with cgroupfs), or in a scope of systemd: docker-ID.scope, cri-containerd-ID.scope, crio-ID.scope, libpod-ID.scope;
 * or as ….slice:cri-containerd:ID. Only ids of 64 hexadecimal digits count, or those of AWS ECS, 32 digits and a
 * number. A pod has a directory with its uid after "pod", with underscores for hyphens in a slice of systemd.
 *
 * The innermost unit and slice count: for a user's service that is the service, not user@1000.service.
 */
#include "agent/labels.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"
#include "proc/cgroup.h"
#include "proc/process_info.h"

/* --- the path of a cgroup --------------------------------------------------------------------- */

#define CONTAINER_ID_BYTES 64
#define TASK_ID_BYTES	   32 /* of AWS ECS, followed by a hyphen and a number */
#define POD_UID_BYTES	   36
#define STATIC_POD_BYTES   32 /* a pod that kubelet read from a file: a hash */

static size_t nr_hex(const char *text, size_t nr)
{
	size_t i = 0;

	while (i < nr && isxdigit((unsigned char)text[i]))
		i++;
	return i;
}

static void copy(char to[CGROUP_NAME_BYTES], const char *from, size_t nr)
{
	if (nr >= CGROUP_NAME_BYTES)
		return;
	memcpy(to, from, nr);
	to[nr] = '\0';
}

static bool is_container(const char *id, size_t nr)
{
	size_t digits = nr_hex(id, nr), i = digits + 1;

	if (nr == CONTAINER_ID_BYTES)
		return digits == nr;
	if (digits != TASK_ID_BYTES || nr <= i || id[digits] != '-')
		return false;
	while (i < nr && isdigit((unsigned char)id[i]))
		i++;
	return i == nr;
}

/* The id may follow the name of a runtime, and a hyphen or colon. */
static void find_container(const char *name, size_t nr, struct cgroup_names *ret)
{
	size_t from = 0, i;

	if (text_ends_with(name, nr, ".scope"))
		nr -= strlen(".scope");
	for (i = 0; i <= nr; i++) {
		if (is_container(name + from, nr - from)) {
			copy(ret->container, name + from, nr - from);
			return;
		}
		if (i < nr && (name[i] == '-' || name[i] == ':'))
			from = i + 1;
	}
}

/* Lengths of the parts of a UUID. */
static bool is_uuid(const char *text, size_t nr)
{
	static const size_t parts[] = {8, 4, 4, 4, 12};
	size_t i;

	if (nr < POD_UID_BYTES)
		return false;
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		if (nr_hex(text, parts[i]) != parts[i])
			return false;
		text += parts[i];
		if (i + 1 < ARRAY_SIZE(parts) && *text != '-' && *text != '_')
			return false;
		text++;
	}
	return true;
}

static void find_pod(const char *name, size_t nr, struct cgroup_names *ret)
{
	const char *at = memmem(name, nr, "pod", 3);
	size_t left;
	char *c;

	/* "kubepods-besteffort-pod…" */
	for (; at; at = memmem(at, (size_t)(name + nr - at), "pod", 3)) {
		at += 3;
		left = (size_t)(name + nr - at);
		if (is_uuid(at, left))
			copy(ret->pod, at, POD_UID_BYTES);
		else if (nr_hex(at, left) == STATIC_POD_BYTES)
			copy(ret->pod, at, STATIC_POD_BYTES);
	}
	for (c = ret->pod; *c; c++)
		if (*c == '_')
			*c = '-';
}

static void find_unit(const char *name, size_t nr, struct cgroup_names *ret)
{
	static const char *const suffixes[] = {".service", ".scope", ".socket", ".mount", ".swap"};
	size_t i;

	if (text_ends_with(name, nr, ".slice"))
		copy(ret->slice, name, nr);
	for (i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (text_ends_with(name, nr, suffixes[i]))
			copy(ret->unit, name, nr);
}

void cgroup_names_parse(const char *path, struct cgroup_names *ret)
{
	*ret = (struct cgroup_names){0};
	while (*path) {
		size_t nr = strcspn(path, "/");

		find_container(path, nr, ret);
		find_pod(path, nr, ret);
		find_unit(path, nr, ret);
		path += nr + (path[nr] == '/');
	}
}

/* --- labels ----------------------------------------------------------------------------------- */

static int add_label(struct relabel_labels *list, const char *key, const char *text)
{
	return relabel_set(list, key, text, strlen(text));
}

/* If the program has samples: its file was read to name them. */
static int add_build_id(struct relabel_labels *list, const char *program)
{
	struct profile *profile = list->profile;
	char text[2 * PROFILE_BUILD_ID_BYTES + 1] = "";
	uint32_t i;

	for (i = 0; i < profile_nr_modules(profile) && *program; i++) {
		const struct module *module = profile_module(profile, i);
		const struct module_code *code = profile_code(profile, i);
		unsigned k;

		if (module->kind != MODULE_FILE || !code ||
		    strcmp(profile_string(profile, module->name), program) != 0)
			continue;
		for (k = 0; k < code->build_id_bytes; k++)
			(void)snprintf(text + 2 * k, 3, "%02x", code->build_id[k]);
		break;
	}
	return add_label(list, "build_id", text);
}

/* known: NULL: nothing. What has the pid now may be another process, or this one with another program. */
static int add_process(struct relabel_labels *list, const struct process_name *known)
{
	const char *name = known ? known->name : "";
	const char *program = known && known->path ? known->path : "";

	if (!list->sample.pid)
		return 0;
	if (!*name)
		name = profile_string(list->profile, list->sample.comm);
	return add_label(list, "process", name)
		       ?: add_label(list, "executable", program) ?: add_build_id(list, program);
}

/* Labels that the process gives itself. */
static int add_own(struct relabel_labels *list, const struct process_labels *own,
		   const struct process_name *known)
{
	struct bytes rest = {0};
	int err = 0;

	list->lacks_own = !own || !process_labels_find(own, list->sample.pid, known, &rest);

	while (rest.nr && !err) {
		const char *key = bytes_string(&rest), *text = bytes_string(&rest);

		err = key && text ? add_label(list, key, text) : 0;
	}
	return err;
}

static int add_cgroup(struct relabel_labels *list, const char *path)
{
	struct cgroup_names names;

	cgroup_names_parse(path, &names);
	return add_label(list, "container", names.container)
		       ?: add_label(list, "pod", names.pod)
		       ?: add_label(list, "unit", names.unit)
		       ?: add_label(list, "slice", names.slice);
}

/* True unless the process is over: what has the pid now has the same name and program. */
static bool is_there(int32_t pid, const struct process_name *known)
{
	char name[PROCESS_NAME_BYTES], path[PATH_MAX];

	if (!known)
		return true;
	process_name_read(pid, name);
	return !strcmp(name, known->name) &&
	       (!known->path ||
		(process_program_path(pid, path) == 0 && !strcmp(path, known->path)));
}

/* The cgroup of a process; if it is over, that of its nearest ancestor that is not. */
static char *find_cgroup(int32_t pid, const struct process_name *known)
{
	char *path = pid && is_there(pid, known) ? cgroup_of_process(pid) : NULL;
	size_t i;

	for (i = 0; !path && known && i < PROCESS_ANCESTORS && known->ancestors[i]; i++)
		path = cgroup_of_process(known->ancestors[i]);
	return path;
}

/*
 * The kernel's programs know the cgroup of version 2. On a host with both versions, containers may be in those of
 * version 1 only.
 */
static int choose_cgroup(struct profile *profile, const struct sample_labels *labels,
			 const struct process_name *known, uint32_t *ret)
{
	const char *path = profile_string(profile, labels->cgroup);
	cleanup_free char *other = NULL;
	int64_t string;

	*ret = labels->cgroup;
	if (*path && strcmp(path, "/") != 0)
		return 0;
	other = find_cgroup(labels->pid, known);
	if (!other)
		return 0;
	string = profile_add_foreign_string(profile, other, strlen(other));
	*ret = (uint32_t)string;
	return string < 0 ? -ENOMEM : 0;
}

/* In the number of a set: the sample is left out by a rule. */
#define LEFT_OUT UINT32_MAX

/* The labels of an epoch's samples. */
struct labelling {
	struct profile *profile;
	const struct label_sources *sources;
	struct u64_map known; /* hash of what distinguishes samples → what describe() has found */
};

/* Labels of a process in a cgroup: *ret is the number of the set, and in the upper half that of the cgroup's path. */
static int describe(const struct labelling *labelling, const struct sample_labels *labels,
		    uint64_t *ret)
{
	const struct process_name *known =
		process_names_find(labelling->sources->names, labels->pid);
	struct relabel_labels list = {.profile = labelling->profile, .sample = *labels};
	int64_t set = LEFT_OUT;
	int err = choose_cgroup(list.profile, labels, known, &list.sample.cgroup);

	if (!err)
		err = add_process(&list, known);
	if (!err)
		err = add_own(&list, labelling->sources->own, known);
	if (!err)
		err = add_cgroup(&list, profile_string(list.profile, list.sample.cgroup));
	list.lacks_build_id = labelling->sources->is_early;
	list.lacks_own &= labelling->sources->is_early;
	if (!err)
		err = relabel_rules_apply(labelling->sources->rules, &list);
	if (err > 0)
		set = profile_add_label_set(list.profile, list.set, list.nr);
	if (err < 0 || set < 0)
		return err < 0 ? err : (int)set;
	*ret = (uint64_t)set | (uint64_t)list.sample.cgroup << 32;
	return 0;
}

/* Rules may depend on the thread's name. */
static uint64_t key_of(const struct labelling *labelling, const struct sample_labels *labels)
{
	return hash_add(labelling->sources->rules->nr ? labels->comm : 0,
			(uint64_t)(uint32_t)labels->pid << 32 | labels->cgroup);
}

static int label_sample(struct labelling *labelling, uint32_t number, uint64_t *left_out)
{
	struct profile *profile = labelling->profile;
	struct sample_labels labels = profile_sample(profile, number)->labels;
	const uint64_t key = key_of(labelling, &labels);
	const uint64_t *found = u64_map_find(&labelling->known, key);
	uint64_t described = found ? *found : 0;
	int err = 0;

	if (!found)
		err = describe(labelling, &labels, &described)
			      ?: u64_map_set(&labelling->known, key, described);
	if (err)
		return err;
	if ((uint32_t)described == LEFT_OUT) {
		*left_out += profile_sample(profile, number)->count;
		profile_drop_sample(profile, number);
		return 0;
	}
	labels.set = (uint32_t)described;
	labels.cgroup = (uint32_t)(described >> 32);
	return profile_relabel_sample(profile, number, &labels);
}

int labels_add(struct profile *profile, const struct label_sources *sources, uint64_t *ret_left_out)
{
	const size_t nr = profile_nr_samples(profile); /* more are added meanwhile */
	struct labelling labelling = {profile, sources, {0}};
	uint64_t left_out = 0;
	uint32_t i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = label_sample(&labelling, i, &left_out);
	u64_map_clear(&labelling.known);
	*ret_left_out = left_out;
	return err;
}

/* --- states ----------------------------------------------------------------------------------- */

/* The value for time in the state that a frame names; -ENOENT: it names none. */
static int value_of_state(struct profile *profile, const struct frame *frame)
{
	static const struct {
		const char *frame, *value;
	} states[] = {
		{"[running]", PROFILE_CPU_TIME},
		{"[runnable]", "runnable"},
		{"[sleeping]", "sleeping"},
		{"[blocked]", "blocked"},
		{"[idle]", "idle"},
		{"[stopped]", "stopped"},
	};
	const char *name = profile_string(profile, frame->function);
	struct value_type type;
	size_t i;

	if (frame->module != MODULE_NR_UNKNOWN)
		return -ENOENT;
	for (i = 0; i < ARRAY_SIZE(states) && strcmp(name, states[i].frame) != 0; i++)
		;
	if (i == ARRAY_SIZE(states))
		return -ENOENT;
	if (profile_make_value_type(profile, states[i].value, "nanoseconds", &type) < 0)
		return -ENOMEM;
	return profile_add_value_type(profile, &type);
}

/* Moves a sample's count to the value of its state, in a stack without the state. */
static int split_sample(struct profile *profile, uint32_t number)
{
	const struct sample sample = *profile_sample(profile, number);
	const size_t nr = sample.nr_frames;
	const uint32_t *all = profile_sample_frames(profile, &sample);
	const int value =
		nr ? value_of_state(profile, profile_frame(profile, all[nr - 1])) : -ENOENT;
	cleanup_free uint32_t *frames = NULL;
	int64_t without;

	if (value < 0)
		return value == -ENOENT ? 0 : value;
	frames = calloc(nr, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	memcpy(frames, all, nr * sizeof(*frames));
	without = profile_add_sample(profile, &sample.labels, frames, nr - 1,
				     sample.nr_kernel_frames, 0);
	if (without < 0)
		return (int)without;
	profile_drop_sample(profile, number);
	return profile_add_value(profile, (uint32_t)without, (size_t)value, sample.count);
}

int labels_split_states(struct profile *profile)
{
	const size_t nr = profile_nr_samples(profile);
	uint32_t i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = split_sample(profile, i);
	return err;
}
