/*
 * Loading BPF objects. libbpf relocates and loads; this file adds what our objects need beyond
 * that: fewer types to read (core_btf), and a handler that sees each program just before it is
 * loaded. The handler keeps function types for programs that are loaded again (probe/attach). On
 * kernels without compare-and-exchange (before Linux 5.12) it removes the instruction, because
 * their verifiers reject it even in unreachable code; the constant claims_are_atomic keeps programs
 * from reaching it.
 */
#include "kernel/load.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/core_btf.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/* All named structs of vmlinux/vmlinux.h; a struct that is a member of another comes first. */
static const char *const structs_read[] = {
	"ns_common",
	"pid_namespace",
	"upid",
	"pid",
	"signal_struct",
	"inode",
	"dentry",
	"path",
	"uprobe_consumer",
	"trace_uprobe",
	"uprobe_dispatch_data",
	"uprobe_task",
	"xol_area",
	"uprobes_state",
	"mm_struct",
	"sched_entity",
	"sched_info",
	"kernfs_node",
	"cgroup_subsys_state",
	"cgroup",
	"css_set",
	"pt_regs",
	"task_struct",
};

static int print(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level != LIBBPF_DEBUG)
		log_vprint(format, args);
	return 0;
}

/* --- types of functions ------------------------------------------------------------------------- */

/*
 * Copies the function types that a program is about to be loaded with. Returns 0 or a negative
 * errno.
 */
static int keep_types(struct program_types *types, const struct bpf_prog_load_opts *options)
{
	size_t bytes = (size_t)options->func_info_cnt * options->func_info_rec_size;

	if (!bytes)
		return 0;
	*types = (struct program_types){
		.btf_fd = fcntl((int)options->prog_btf_fd, F_DUPFD_CLOEXEC, 0),
		.functions = malloc(bytes),
		.nr = options->func_info_cnt,
		.function_bytes = options->func_info_rec_size,
	};
	if (types->btf_fd < 0 || !types->functions) {
		program_types_clear(types);
		return -ENOMEM;
	}
	memcpy(types->functions, options->func_info, bytes);
	return 0;
}

void program_types_set(const struct program_types *types, struct bpf_prog_load_opts *options)
{
	if (!types->nr)
		return;
	options->prog_btf_fd = (uint32_t)types->btf_fd;
	options->func_info = types->functions;
	options->func_info_cnt = types->nr;
	options->func_info_rec_size = types->function_bytes;
}

void program_types_clear(struct program_types *types)
{
	if (types->nr && types->btf_fd >= 0)
		(void)close(types->btf_fd);
	free(types->functions);
	*types = (struct program_types){0};
}

/* --- compare-and-exchange --------------------------------------------------------------------- */

/* True if this kernel's BPF has compare-and-exchange (Linux 5.12). */
static bool has_exchange(void)
{
	const struct bpf_insn program[] = {
		{.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1, .imm = 1},
		{.code = BPF_STX | BPF_ATOMIC | BPF_DW,
		 .dst_reg = BPF_REG_10,
		 .src_reg = BPF_REG_1,
		 .off = -8,
		 .imm = BPF_CMPXCHG},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "stook_exchange", "Dual BSD/GPL", program,
			       ARRAY_SIZE(program), NULL);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

static bool is_exchange(const struct bpf_insn *instruction)
{
	return BPF_CLASS(instruction->code) == BPF_STX &&
	       BPF_MODE(instruction->code) == BPF_ATOMIC && instruction->imm != BPF_ADD;
}

void load_remove_exchange(struct bpf_insn *instructions, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (is_exchange(&instructions[i]))
			instructions[i] = (struct bpf_insn){.code = BPF_JMP | BPF_JA};
		else if (instructions[i].code == (BPF_LD | BPF_IMM | BPF_DW))
			i++; /* a 64-bit load takes two slots; the second is no instruction */
	}
}

/* libbpf has already appended all called functions, so one pass covers everything. */
static int take_out_exchange(struct bpf_program *program)
{
	size_t nr = bpf_program__insn_cnt(program);
	cleanup_free struct bpf_insn *copy = calloc(nr, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, bpf_program__insns(program), nr * sizeof(*copy));
	load_remove_exchange(copy, nr);
	return bpf_program__set_insns(program, copy, nr);
}

/* --- loading ------------------------------------------------------------------------------------ */

static int before_load(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
	const struct load_handler *handler = (const struct load_handler *)cookie;
	int err = 0;

	if (handler->section < NR_LOAD_COPIED)
		err = keep_types(&handler->types->copied[handler->section], options);
	if (!err && !handler->types->has_exchange)
		err = take_out_exchange(program);
	return err;
}

static void handle_sections(struct load_types *types)
{
	static const struct {
		const char *name;
		enum bpf_prog_type type;
		enum bpf_attach_type attach_type;
	} sections[] = {
#define X(id, section, type, attach_type) {section, type, attach_type},
		LOAD_SECTIONS(X)
#undef X
	};
	size_t i;

	/*
	 * A handler that stays registered: libbpf before 1.2 shrinks its list of handlers with
	 * realloc(), which frees the list when it becomes empty, and then goes on using it.
	 */
	(void)libbpf_register_prog_handler("stook_none", BPF_PROG_TYPE_UNSPEC, 0, NULL);
	for (i = 0; i < NR_LOAD_SECTIONS; i++) {
		struct load_handler *handler = &types->handlers[i];
		LIBBPF_OPTS(libbpf_prog_handler_opts, options, .cookie = (long)handler,
			    .prog_prepare_load_fn = before_load);

		*handler = (struct load_handler){.types = types, .section = (enum load_section)i};
		handler->id = libbpf_register_prog_handler(sections[i].name, sections[i].type,
							   sections[i].attach_type, &options);
	}
}

void load_types_open(struct load_types *types, struct bpf_object_open_opts *options)
{
	libbpf_set_print(print);
	memset(types->copied, 0, sizeof(types->copied));
	types->has_exchange = has_exchange();
	handle_sections(types);
	types->fd = core_btf_extract(KERNEL_BTF, structs_read, ARRAY_SIZE(structs_read), NULL);
	(void)snprintf(types->path, sizeof(types->path), "/proc/self/fd/%d", types->fd);
	if (types->fd >= 0)
		options->btf_custom_path = types->path;
}

void load_types_close(struct load_types *types)
{
	size_t i;

	for (i = 0; i < NR_LOAD_SECTIONS; i++)
		if (types->handlers[i].id > 0)
			(void)libbpf_unregister_prog_handler(types->handlers[i].id);
	for (i = 0; i < NR_LOAD_COPIED; i++)
		program_types_clear(&types->copied[i]);
	if (types->fd >= 0)
		(void)close(types->fd);
	types->fd = -1;
}

bool load_has_func_ret(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_TRACING, BPF_FUNC_get_func_ret, NULL) == 1;
}

int load_try_types(struct error *error)
{
	int fd;

	libbpf_set_print(print);
	fd = core_btf_extract(KERNEL_BTF, structs_read, ARRAY_SIZE(structs_read), error);

	if (fd < 0)
		return error->code;
	(void)close(fd);
	return 0;
}

int load_try(struct error *error)
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "stook_try", "Dual BSD/GPL", nothing,
			       ARRAY_SIZE(nothing), NULL);

	if (fd < 0)
		return load_explain(-errno, error);
	(void)close(fd);
	return 0;
}

#define FILES_ENOUGH 64 /* to load, without those that each CPU needs */

/*
 * libbpf tries what the kernel can do, and takes it for an older one if there is no descriptor for that. After the
 * failure it has closed the ones that it had.
 */
static bool has_few_descriptors(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FILES_ENOUGH;
}

int load_explain(int err, struct error *error)
{
	if (err == -EINVAL && has_few_descriptors())
		err = -EMFILE;
	if (err == -EPERM) {
		(void)error_set(error, err, "not permitted to load BPF programs: %s",
				strerror(-err));
		error_hint(error,
			   "run as root, or with CAP_BPF and CAP_PERFMON; if you do, a security "
			   "module, kernel lockdown or a container's seccomp filter forbids "
			   "bpf(), or, before Linux 5.11, ulimit -l is too low for its maps");
	} else if (err == -ENOMEM || err == -E2BIG || err == -ENOSPC) {
		(void)error_set(error, err, "cannot create the BPF maps: %s", strerror(-err));
		error_hint(error, "reduce --ring-bytes or --count-entries; before Linux 5.11, "
				  "also raise ulimit -l");
	} else if (err == -EMFILE) {
		(void)error_set(error, err, "too many open files");
		error_hint(error, "raise the limit: ulimit -n; 64 plus two per CPU are enough");
	} else {
		(void)error_set(error, err, "the kernel rejected the BPF programs: %s",
				strerror(-err));
		error_hint(error, "Linux 5.10 or newer is needed; -v shows the kernel's messages");
	}
	return err;
}

/* Programs run inside RCU read sections, for which membarrier() waits, but not with nohz_full. They take microseconds. */
void load_wait_for_programs(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
		(void)usleep(20000);
}
