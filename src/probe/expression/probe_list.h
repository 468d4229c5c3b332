/*
 * A list of probes: the places whose hits are counted. probe/find finds them by pattern,
 * probe/attach attaches to them. Pure data, except for the handles of the files.
 *
 * A probe's number is its index. Texts are copied and owned by the list. A static probe can have
 * several places, each of which is a probe: where hits are counted by name, probes of kind
 * PROBE_USDT with the same name (and file) are shown as one row.
 */
#ifndef STOOK_PROBE_EXPRESSION_PROBE_LIST_H
#define STOOK_PROBE_EXPRESSION_PROBE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bpf_insn;

enum probe_kind {
	PROBE_USER,   /* an instruction of a file, usually a function's first */
	PROBE_USDT,   /* a static probe of a file: also an instruction, with its own arguments */
	PROBE_KERNEL, /* a function of the kernel or of a module, or an instruction in one */
	PROBE_TRACEPOINT, /* a tracepoint of the kernel */
};

struct probe {
	enum probe_kind kind;
	bool is_return; /* at the function's return instead of its call */
	bool is_entry;	/* at a user function's first instruction */
	bool is_go;	/* in a Go program, which return probes would crash */
	bool is_stepped; /* user code that the kernel has to single-step (elf/image/instructions.h) */
	bool is_doubtful; /* user code that the kernel may reject (likewise) */
	bool has_twin;	  /* another kernel function has its name … */
	bool is_shadowed; /* … and that one is found by it */
	bool unwinds; /* exceptions may propagate there and, with a return probe, kill the program */
	uint32_t file;	     /* user code: file number in the list */
	uint64_t offset;     /* user code: file offset; kernel: offset from its symbol */
	uint64_t semaphore;  /* USDT: file offset of its semaphore (count of users); 0: none */
	uint64_t address;    /* kernel: address of its symbol; 0 if hidden */
	uint32_t tracepoint; /* id of a tracepoint */
	const char *name;    /* as shown; several at one address: "a|b" */
	const char *symbol;  /* kernel function, or "category/event"; NULL: user code */
	const char *
		detail; /* distinguishes probes with the same name: "hash.c", "+0x4a0"; NULL: none */
	const char *why_no_return; /* why its return cannot be probed; NULL: it can */
	const char *arguments;	   /* USDT: its note's "-4@%eax 8@-24(%rbp)"; NULL: none */
	/* A tracepoint's filter as instructions, set after it was added and freed with the list. */
	struct bpf_insn *filter;
	size_t nr_filter;
};

/* True for probes in a file, false for kernel probes. */
static inline bool probe_is_user(const struct probe *probe)
{
	return probe->kind == PROBE_USER || probe->kind == PROBE_USDT;
}

struct probe_file {
	int handle;	  /* O_PATH; owned by the list */
	const char *path; /* as seen by its process, for display; owned by the list */
	uint64_t device, inode;
};

/* A match that cannot be probed. */
struct probe_refusal {
	const char *name;
	const char *why; /* "an IFUNC resolver, which runs once per process" */
};

struct probe_list {
	struct probe *probes;
	size_t nr_probes, cap_probes;
	struct probe_file *files;
	size_t nr_files, cap_files;
	struct probe_refusal *refusals;
	size_t nr_refusals, cap_refusals;
	/* How ambiguous patterns were interpreted, as sentences, without duplicates. */
	const char **notes;
	size_t nr_notes, cap_notes;
	struct text_block *texts; /* holds the copies */
};

void probe_list_init(struct probe_list *list);
void probe_list_clear(struct probe_list *list);

/*
 * Takes ownership of the handle, and copies the path. Returns the file's number, the existing one if the file was
 * added before (then its first handle is kept); or -ENOMEM.
 */
int64_t probe_list_add_file(struct probe_list *list, const struct probe_file *file);

/* Copies the probe and its texts. Returns its number, or -ENOMEM. */
int64_t probe_list_add(struct probe_list *list, const struct probe *probe);

/* Records that a match cannot be probed. Returns 0 or -ENOMEM. */
int probe_list_refuse(struct probe_list *list, const char *name, const char *why);

/* Copies the note. Returns 0 or -ENOMEM. */
int probe_list_note(struct probe_list *list, const char *note);

/* Returns a copy of the text, owned by the list; NULL when out of memory. */
const char *probe_list_text(struct probe_list *list, const char *text);

/* --- calls and returns of one function, paired ------------------------------------------------ */

struct probe_pairs_options {
	bool calls, returns; /* needs operands known at calls; at returns */
	bool paired;	     /* pair in any case */
	bool force_returns;  /* allow return probes that may kill programs */
};

struct probe_pairs {
	bool are_paired; /* each function has both probes, and values of one are needed at the other */
	uint32_t *functions; /* by probe: number that identifies its function */
};

/*
 * Adapts the list: turns calls into returns, or appends the missing probe of each pair. Returns 0;
 * -EINVAL for a probe that has no return, or whose return must not be probed; or -ENOMEM.
 */
int probe_pairs_make(struct probe_list *list, const struct probe_pairs_options *options,
		     struct probe_pairs *ret, struct error *error);
void probe_pairs_clear(struct probe_pairs *pairs);

#endif
