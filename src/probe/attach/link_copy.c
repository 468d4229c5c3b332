/*
 * One program per probe: fentry, fexit, and tracepoints. The original program is loaded again for
 * each probe, with the probe's number as a constant.
 *
 * The instructions are taken from libbpf after it has loaded the original: relocated, with the
 * descriptors of our maps. Verifying a program that only counts takes a tenth of a millisecond, so
 * this works for thousands of probes.
 *
 * A tracepoint's filter (probe/find/tracepoint_filter.h) stands before the copy's instructions.
 *
 * fentry finds a function's type by its name, and then the function: of several with one name, the first. Others
 * (is_shadowed) have no hook.
 */
#include "probe/attach/link.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "kernel/load.h"
#include "kernel/perf_open.h"

/* --- function types by name, from the kernel's BTF -------------------------------------------- */

#define FUNCTION_TYPE_NONE 0

/*
 * BTF has some 60,000 functions, unsorted: each is looked up among the list's probes. Parsing takes
 * ten milliseconds, the lookups three.
 */
#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

static void find_types(const struct btf *btf, const struct symbol_index *index, uint32_t *types)
{
	uint32_t nr_types = btf__type_cnt(btf), type;

	for (type = 1; type < nr_types; type++) {
		const struct btf_type *entry = btf__type_by_id(btf, type);
		const uint32_t *numbers;
		const char *name;
		size_t nr, i;

		if (!btf_is_func(entry))
			continue;
		name = btf__name_by_offset(btf, entry->name_off);
		numbers = symbol_index_find(index, name, strlen(name), &nr);
		for (i = 0; i < nr; i++)
			types[numbers[i]] = type;
	}
}

/* Reads the BTF id of each probe's function. The caller frees *ret_types. Returns 0 or -errno. */
static int function_types_read(const struct probe_list *list, uint32_t **ret_types,
			       struct error *error)
{
	cleanup_free uint32_t *types = calloc(list->nr_probes + 1, sizeof(*types));
	cleanup_free uint32_t *numbers = calloc(list->nr_probes + 1, sizeof(*numbers));
	cleanup(symbol_index_clear) struct symbol_index index = {0};
	struct btf *btf;
	size_t nr = 0, i;

	for (i = 0; numbers && i < list->nr_probes; i++)
		if (list->probes[i].kind == PROBE_KERNEL)
			numbers[nr++] = (uint32_t)i;
	if (!types || !numbers || symbol_index_init(&index, list, numbers, nr) < 0)
		return error_no_memory(error, "");
	btf = btf__parse_raw(KERNEL_BTF);
	if (!btf)
		return error_set_errno(error, "cannot read the kernel's BTF from %s", KERNEL_BTF);
	find_types(btf, &index, types);
	btf__free(btf);
	*ret_types = take_pointer(&types);
	return 0;
}

/* --- copies ----------------------------------------------------------------------------------- */

#define LICENSE	  "Dual BSD/GPL" /* that of the original; required by helpers */
#define LOG_BYTES 4096

struct copying {
	struct link_state *state;
	enum probe_hook hook;
	struct link_group *group;
	const struct bpf_program *original;
	struct bpf_insn *instructions;
	size_t nr;
	const struct program_types *types;
};

size_t link_copy_number(struct bpf_insn *instructions, size_t nr, uint32_t number)
{
	size_t i, nr_found = 0;

	for (i = 0; i + 1 < nr; i++) {
		struct bpf_insn *low = &instructions[i], *high = &instructions[i + 1];

		if (low->code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if (!low->src_reg && (uint32_t)low->imm == (uint32_t)WIRE_NUMBER_MARK &&
		    (uint32_t)high->imm == (uint32_t)(WIRE_NUMBER_MARK >> 32)) {
			low->imm = (int32_t)number;
			high->imm = 0;
			nr_found++;
		}
		i++;
	}
	return nr_found;
}

/* Copies the types for a program that begins nr instructions earlier; its first function still begins at 0. */
static struct bpf_func_info *types_behind(const struct program_types *types, size_t nr)
{
	const size_t bytes = (size_t)types->nr * types->function_bytes;
	struct bpf_func_info *functions = malloc(bytes + 1);
	uint32_t i;

	if (!functions)
		return NULL;
	memcpy(functions, types->functions, bytes);
	for (i = 1; i < types->nr; i++)
		((struct bpf_func_info *)((char *)functions + (size_t)i * types->function_bytes))
			->insn_off += (uint32_t)nr;
	return functions;
}

static int load(const struct copying *copying, uint32_t number, char *log)
{
	const struct link_state *state = copying->state;
	const struct probe *probe = link_probe(state, number);
	const size_t nr = probe->nr_filter + copying->nr;
	cleanup_free struct bpf_insn *copy = calloc(nr, sizeof(*copy));
	cleanup_free struct bpf_func_info *functions = NULL;
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = bpf_program__expected_attach_type(copying->original));
	int fd;

	if (!copy)
		return -ENOMEM;
	memcpy(copy + probe->nr_filter, copying->instructions, copying->nr * sizeof(*copy));
	if (!link_copy_number(copy + probe->nr_filter, copying->nr, number))
		return -ENOEXEC;
	program_types_set(copying->types, &options);
	if (probe->nr_filter) {
		memcpy(copy, probe->filter, probe->nr_filter * sizeof(*copy));
		functions = types_behind(copying->types, probe->nr_filter);
		if (!functions)
			return -ENOMEM;
		options.func_info = copying->types->nr ? functions : NULL;
	}
	if (copying->hook != HOOK_TRACEPOINT)
		options.attach_btf_id = state->function_types[number];
	if (log) {
		options.log_level = 1;
		options.log_buf = log;
		options.log_size = LOG_BYTES;
	}
	fd = bpf_prog_load(bpf_program__type(copying->original),
			   bpf_program__name(copying->original), LICENSE, copy, nr, &options);
	return fd < 0 ? -errno : fd;
}

/*
 * Returns why a copy could not be loaded; NULL: the error applies to all probes. If the cause is
 * the function and not the program, the verifier's log begins with it.
 */
static const char *why_not_loaded(const struct copying *copying, uint32_t number, int err)
{
	static const struct {
		const char *said, *means;
	} reasons[] = {
		{"return type", "fentry does not support its return type"},
		{"Too many", "it has more arguments than fentry supports"},
		{"unsupported", "fentry does not support its argument types"},
		{"variable args", "fentry does not support variadic functions"},
	};
	char log[LOG_BYTES] = "";
	const char *why = link_refusal(copying->hook, err);
	size_t i;
	int fd;

	if (!why)
		return NULL;
	if (copying->hook == HOOK_TRACEPOINT)
		return "the kernel rejects its program or filter";
	fd = load(copying, number, log);
	if (fd >= 0)
		(void)close(fd);
	for (i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (strstr(log, reasons[i].said))
			return reasons[i].means;
	return "the verifier rejects fentry for this function";
}

static int attach_tracepoint(const struct copying *copying, uint32_t number, int program_fd)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.disabled = 1,
		.config = link_probe(copying->state, number)->tracepoint,
	};
	/* A program set on a tracepoint runs on all CPUs. */
	cleanup_fd int fd = perf_open(&attr, perf_any_cpu());

	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return link_group_add_fd(copying->group, copying->hook, take_fd(&fd));
}

static int attach_one(const struct copying *copying, uint32_t number)
{
	cleanup_fd int program_fd = load(copying, number, NULL);
	const char *why;
	int err = program_fd, fd;

	if (program_fd < 0) {
		why = why_not_loaded(copying, number, err);
	} else {
		if (copying->hook == HOOK_TRACEPOINT) {
			err = attach_tracepoint(copying, number, program_fd);
		} else {
			fd = bpf_raw_tracepoint_open(NULL, program_fd);
			err = fd < 0 ? -errno
				     : link_group_add_fd(copying->group, copying->hook, fd);
			if (err == 0)
				err = link_group_add_program(copying->group, copying->hook,
							     take_fd(&program_fd));
		}
		why = err < 0 ? link_refusal(copying->hook, err) : NULL;
	}
	if (err >= 0)
		return 0;
	if (!why)
		return err;
	link_refuse(copying->state, number, why);
	return 0;
}

int link_copy_attach(struct link_state *state, enum probe_hook hook, const uint32_t *numbers,
		     size_t nr, struct link_group *group, struct error *error)
{
	struct bpf_program *original = state->options.programs->by_hook[hook];
	struct copying copying = {
		.state = state,
		.hook = hook,
		.group = group,
		.original = original,
		.instructions = (struct bpf_insn *)bpf_program__insns(original),
		.nr = bpf_program__insn_cnt(original),
		.types = &state->options.programs->types[hook],
	};
	int err = 0;
	size_t i;

	if (hook != HOOK_TRACEPOINT && !state->function_types)
		err = function_types_read(state->options.list, &state->function_types, error);
	if (err < 0)
		return err;
	/* Each copy holds two descriptors while it is attached. */
	(void)fd_raise_limit();
	for (i = 0; i < nr && !err; i++) {
		if (hook != HOOK_TRACEPOINT &&
		    state->function_types[numbers[i]] == FUNCTION_TYPE_NONE)
			link_refuse(state, numbers[i],
				    "not in the kernel's BTF, which fentry needs (a module's "
				    "function, or assembly)");
		else
			err = attach_one(&copying, numbers[i]);
	}
	return err < 0 ? link_failure(hook, err, nr, error) : 0;
}
