/*
 * verified OBJECT [NAME…]: loads the BPF programs of an object file and prints the verifier's
 * figures, one line per program:
 *
 *   sample 1234 5678      instructions processed: with default options, with all options on
 *
 * An option is a `const volatile bool` of the object; the verifier skips code that depends on an
 * option that is off. The NAMEs are other 32-bit constants to set to 1: facts about a kernel that
 * the profiler finds out, and without which its program is refused. The count is from the
 * verifier's log, because bpf_prog_info has it only since Linux 5.16. Exits with 1 and the kernel's
 * messages on stderr if a program is refused.
 */
#include <errno.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bpf/wire.h"
#include "kernel/load.h"

#define MAX_PROGRAMS 32
#define LOG_BYTES    65536 /* has a line for each of many functions */
#define LOG_STATS    4	   /* BPF_LOG_STATS: only the totals at the end */

struct program {
	char name[64];
	unsigned long instructions;
	char log[LOG_BYTES];
};

static struct program programs[MAX_PROGRAMS];
static char **asked_for;

static bool is_bool(const struct btf *btf, __u32 variable)
{
	int type = btf__resolve_type(btf, btf__type_by_id(btf, variable)->type);
	const struct btf_type *resolved = type < 0 ? NULL : btf__type_by_id(btf, (__u32)type);

	return resolved && btf_is_int(resolved) && btf_int_encoding(resolved) == BTF_INT_BOOL;
}

static bool is_asked_for(const char *name)
{
	for (char **asked = asked_for; *asked; asked++)
		if (!strcmp(*asked, name))
			return true;
	return false;
}

/* Sets the options in a copy of the object's initial values. */
static void set_options(const struct btf *btf, const struct btf_type *section, char *bytes,
			bool all_on)
{
	const __u32 one = 1;

	for (int i = 0; i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *info = &btf_var_secinfos(section)[i];
		const struct btf_type *variable = btf__type_by_id(btf, info->type);

		if (all_on && is_bool(btf, info->type))
			bytes[info->offset] = 1;
		if (info->size == sizeof(one) &&
		    is_asked_for(btf__name_by_offset(btf, variable->name_off)))
			memcpy(bytes + info->offset, &one, sizeof(one));
	}
}

static void configure(struct bpf_object *object, bool all_on)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata");
	const struct btf *btf = bpf_object__btf(object);
	int section = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	size_t nr_bytes = 0;
	const void *initial = map ? bpf_map__initial_value(map, &nr_bytes) : NULL;
	char *bytes = nr_bytes ? malloc(nr_bytes) : NULL;

	if (initial && bytes && section >= 0) {
		memcpy(bytes, initial, nr_bytes);
		set_options(btf, btf__type_by_id(btf, (__u32)section), bytes, all_on);
		(void)bpf_map__set_initial_value(map, bytes, nr_bytes);
	}
	free(bytes);
}

/* Sets sizes that the profiler sets at run time. Counts have room for weights. */
static void give_maps_a_size(struct bpf_object *object)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, "counts_by_slot");

	if (map)
		(void)bpf_map__set_value_size(bpf_map__inner_map(map), sizeof(struct wire_count));

	bpf_object__for_each_map(map, object) if (!bpf_map__max_entries(map))(void)
		bpf_map__set_max_entries(map, 1);
}

/* True for probes' programs: they are loaded differently, and by the guest's stook commands. */
static bool is_of_probes(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);

	return !strcmp(section, "kprobe") || !strncmp(section, "copied_", 7);
}

/* True for a tracepoint that this kernel does not have; the profiler does not load its program then, either. */
static bool is_missing(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program), prefix[] = "tp_btf/";
	static struct btf *kernel;
	char name[128];

	if (strncmp(section, prefix, strlen(prefix)) != 0)
		return false;
	if (!kernel)
		kernel = btf__load_vmlinux_btf();
	(void)snprintf(name, sizeof(name), "btf_trace_%s", section + strlen(prefix));
	return !kernel || btf__find_by_name_kind(kernel, name, BTF_KIND_TYPEDEF) < 0;
}

static bool is_left_out(const struct bpf_program *program)
{
	return is_of_probes(program) || is_missing(program);
}

static void leave_out(struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) if (is_left_out(program))(void)
		bpf_program__set_autoload(program, false);
}

static int want_statistics(struct bpf_object *object)
{
	struct bpf_program *program;
	int nr = 0;

	bpf_object__for_each_program(program, object)
	{
		if (nr == MAX_PROGRAMS)
			break;
		if (is_left_out(program))
			continue;
		(void)snprintf(programs[nr].name, sizeof(programs[nr].name), "%s",
			       bpf_program__name(program));
		(void)bpf_program__set_autoload(program, true);
		(void)bpf_program__set_log_level(program, LOG_STATS);
		(void)bpf_program__set_log_buf(program, programs[nr].log, LOG_BYTES);
		nr++;
	}
	return nr;
}

static unsigned long instructions_in(const char *log)
{
	const char *found = strstr(log, "processed ");

	return found ? strtoul(found + strlen("processed "), NULL, 10) : 0;
}

/*
 * Opens the object like the profiler, which removes instructions that this kernel does not know,
 * and loads it. With nr the verifier prints statistics, else libbpf prints the whole log of a
 * refused program. Returns 0 or a negative errno.
 */
static int load(const char *path, bool all_on, int *nr)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);
	struct load_types types;
	struct bpf_object *object;
	int err = -EINVAL;

	load_types_open(&types, &options);
	object = bpf_object__open_file(path, &options);
	if (object) {
		give_maps_a_size(object);
		configure(object, all_on);
		leave_out(object);
		if (nr)
			*nr = want_statistics(object);
		err = bpf_object__load(object);
	}
	bpf_object__close(object);
	load_types_close(&types);
	return err;
}

/* Fills programs[].instructions; returns the number of programs, 0 if one was refused. */
static int verify(const char *path, bool all_on)
{
	int nr;

	if (load(path, all_on, &nr) < 0) {
		fprintf(stderr, "verified: '%s' was refused with %s\n", path,
			all_on ? "all options on" : "the defaults");
		(void)load(path, all_on, NULL);
		return 0;
	}
	for (int i = 0; i < nr; i++)
		programs[i].instructions = instructions_in(programs[i].log);
	return nr;
}

static int print_object(const char *path)
{
	unsigned long before[MAX_PROGRAMS];
	int nr = verify(path, false);

	for (int i = 0; i < nr; i++)
		before[i] = programs[i].instructions;
	if (nr && verify(path, true) != nr)
		nr = 0;
	for (int i = 0; i < nr; i++)
		printf("%s %lu %lu\n", programs[i].name, before[i], programs[i].instructions);
	return nr ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	asked_for = argv + 2;
	log_to(stderr);
	return print_object(argv[1]);
}
