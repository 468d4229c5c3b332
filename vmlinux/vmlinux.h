/*
 * The kernel types that the BPF programs use, and no others. Maintained by hand, so that building
 * needs neither BTF nor headers of the kernel that will be profiled. Structs have only the fields
 * that are read; CO-RE relocates each access by the BTF of the running kernel, so neither order nor
 * offsets here matter. Types of the kernel's stable interface (contexts, enums, flags) are not
 * relocated and must be exact; the ones that differ by architecture are in a header of their own.
 */
#ifndef STOOK_VMLINUX_H
#define STOOK_VMLINUX_H

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

enum {
	false = 0,
	true = 1,
};

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_CGROUP_ARRAY = 8,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};

enum {
	BPF_F_MMAPABLE = 1 << 10, /* map flag: user space can mmap the values */
};

enum {
	BPF_F_SKIP_FIELD_MASK = 0xff, /* bpf_get_stack() */
	BPF_F_USER_STACK = 1 << 8,
};

enum {
	BPF_RB_NO_WAKEUP = 1 << 0, /* bpf_ringbuf_output() */
	BPF_RB_FORCE_WAKEUP = 1 << 1,
	BPF_RB_AVAIL_DATA = 0, /* bpf_ringbuf_query() */
	BPF_RB_RING_SIZE = 1,
};

#if defined(__TARGET_ARCH_x86)
#include "vmlinux/x86.h"
#elif defined(__TARGET_ARCH_arm64)
#include "vmlinux/arm64.h"
#else
#error "stook knows x86-64 and arm64"
#endif

/* The context of a perf_event program. */
struct bpf_perf_event_data {
	bpf_user_pt_regs_t regs;
	__u64 sample_period;
	__u64 addr;
};

struct bpf_perf_event_value {
	__u64 counter;
	__u64 enabled;
	__u64 running;
};

/* The context of a raw_tracepoint program. */
struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

/* The context of a program that iterates over tasks. */
struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task; /* NULL: the end */
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
};

struct mm_struct;

struct inode {
	unsigned long i_ino;
};

/* A place of a uprobe event in tracefs, and the data that its dispatcher passes to programs. */
struct dentry {
	struct inode *d_inode;
};

struct path {
	struct dentry *dentry;
};

struct uprobe_consumer {
	void *ret_handler;
};

struct trace_uprobe {
	struct uprobe_consumer consumer;
	struct path path;
	unsigned long offset;
};

struct uprobe_dispatch_data {
	struct trace_uprobe *tu;
};

struct uprobe_task {
	unsigned long vaddr;
};

struct sched_entity {
	__u64 sum_exec_runtime;
	__u64 nr_migrations;
};

/* Without members where the kernel is built without SCHED_INFO. */
struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	struct uprobe_task *utask;
	void *stack;
	unsigned int flags;
	unsigned int __state;
	unsigned int on_cpu; /* an int, a u8 since 7.3: only unsigned, the size is adapted */
	unsigned int in_iowait : 1;
	int wake_cpu;
	struct sched_entity se;
	struct sched_info sched_info;
	struct mm_struct *mm;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 start_time;
	__u64 self_exec_id;
	struct css_set *cgroups;
	struct signal_struct *signal;
	char comm[16];
};

/* Before Linux 5.14. */
struct task_struct___named_state {
	long state;
};

#pragma clang attribute pop

#endif
