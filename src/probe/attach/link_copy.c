/*
 * Copies of programs; see link_copy.h.
 *
 * The instructions are taken from libbpf after it has loaded the original: relocated, with the
 * descriptors of our maps inside. Verifying a program that only counts takes a tenth of a
 * millisecond, so this is good for thousands as well.
 *
 * fentry knows functions by BTF, which has one of each name: of static functions of one name it
 * would take the first that comes, so these are refused.
 */
#include "probe/attach/link_copy.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd_io.h"
#include "bpf/probe_wire.h"
#include "kernel/load.h"
#include "kernel/perf_open.h"
#include "probe/attach/function_types.h"
#include "probe/attach/link_refusal.h"

#define LICENSE	  "Dual BSD/GPL" /* the original's; helpers ask for it */
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

/* --- one copy -------------------------------------------------------------------------------- */

static int load(const struct copying *copying, uint32_t number, char *log)
{
	const struct link_state *state = copying->state;
	size_t bytes = copying->nr * sizeof(*copying->instructions);
	cleanup_free struct bpf_insn *copy = malloc(bytes);
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = bpf_program__expected_attach_type(copying->original));
	int fd;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, copying->instructions, bytes);
	program_types_set(copying->types, &options);
	if (!link_copy_number(copy, copying->nr, number))
		return -ENOEXEC;
	if (copying->hook != HOOK_TRACEPOINT)
		options.attach_btf_id = state->function_types[number];
	if (log) {
		options.log_level = 1;
		options.log_buf = log;
		options.log_size = LOG_BYTES;
	}
	fd = bpf_prog_load(bpf_program__type(copying->original),
			   bpf_program__name(copying->original), LICENSE, copy, copying->nr,
			   &options);
	return fd < 0 ? -errno : fd;
}

/* The kernel's own words begin with the reason when it is the function, not the program. */
static const char *why_not_loaded(const struct copying *copying, uint32_t number, int err)
{
	static const struct {
		const char *said, *means;
	} reasons[] = {
		{"return type", "fentry can't pass its type of return value"},
		{"Too many", "it has more arguments than fentry can pass"},
		{"unsupported", "fentry can't pass its types of arguments"},
		{"variable args", "fentry can't pass a variable number of arguments"},
	};
	char log[LOG_BYTES] = "";
	const char *why = link_refusal(copying->hook, err);
	size_t i;
	int fd;

	if (!why)
		return NULL;
	fd = load(copying, number, log);
	if (fd >= 0)
		(void)close(fd);
	for (i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (strstr(log, reasons[i].said))
			return reasons[i].means;
	return "the kernel's verifier does not let fentry into it";
}

static int attach_function(const struct copying *copying, uint32_t number, int program_fd)
{
	int fd = bpf_raw_tracepoint_open(NULL, program_fd);

	return fd < 0 ? -errno : link_group_add_fd(copying->group, copying->hook, fd);
}

static int attach_tracepoint(const struct copying *copying, uint32_t number, int program_fd)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.disabled = 1,
		.config = link_probe(copying->state, number)->tracepoint,
	};
	/* The program runs on all CPUs. */
	cleanup_fd int fd = perf_open(&attr, 0);

	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return link_group_add_fd(copying->group, copying->hook, take_fd(&fd));
}

static int attach_one(const struct copying *copying, uint32_t number)
{
	cleanup_fd int program_fd = load(copying, number, NULL);
	const char *why;
	int err = program_fd;

	if (program_fd < 0) {
		why = why_not_loaded(copying, number, err);
	} else {
		err = copying->hook == HOOK_TRACEPOINT
			      ? attach_tracepoint(copying, number, program_fd)
			      : attach_function(copying, number, program_fd);
		why = err < 0 ? link_refusal(copying->hook, err) : NULL;
	}
	if (err >= 0)
		return 0;
	if (!why)
		return err;
	link_refuse(copying->state, number, why);
	return 0;
}

/* --- all of them ----------------------------------------------------------------------------- */

static const char *why_no_type(const struct link_state *state, uint32_t number)
{
	switch (state->function_types[number]) {
	case FUNCTION_TYPE_NONE:
		return "the kernel does not describe it for fentry (a module's, or assembler)";
	case FUNCTION_TYPE_AMBIGUOUS:
		return "fentry can't tell it from another function of its name";
	default:
		return NULL;
	}
}

static int attach_all(const struct copying *copying, const uint32_t *numbers, size_t nr)
{
	const char *why;
	int err = 0;
	size_t i;

	for (i = 0; i < nr && !err; i++) {
		why = copying->hook == HOOK_TRACEPOINT ? NULL
						       : why_no_type(copying->state, numbers[i]);
		if (why)
			link_refuse(copying->state, numbers[i], why);
		else
			err = attach_one(copying, numbers[i]);
	}
	return err;
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

	if (hook != HOOK_TRACEPOINT && !state->function_types)
		err = function_types_read(state->options.list, &state->function_types, error);
	if (err < 0)
		return err;
	/* Each copy needs one for as long as it is attached. */
	(void)fd_allow_all();
	err = attach_all(&copying, numbers, nr);
	return err < 0 ? link_failure(hook, err, nr, error) : 0;
}

void link_copy_end(struct link_state *state)
{
	free(state->function_types);
	state->function_types = NULL;
}
