/*
 * Probes: the places whose hits are counted, which probe/find finds by pattern and probe/attach
 * attaches to. Pure data, except for the descriptors of the files.
 *
 * A probe's number is its index. Texts are copied and live as long as the list. A static probe can
 * be in several places, each of which is a probe: where hits are counted by name, probes of kind
 * PROBE_USDT with the same name (and file) are shown as one row.
 */
#ifndef STOOK_PROBE_EXPRESSION_PROBE_LIST_H
#define STOOK_PROBE_EXPRESSION_PROBE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum probe_kind {
	PROBE_USER,	  /* an instruction of a file, mostly a function's first */
	PROBE_USDT,	  /* a static probe of a file: likewise, with arguments of its own */
	PROBE_KERNEL,	  /* a function of the kernel or of a module, or an instruction in one */
	PROBE_TRACEPOINT, /* of the kernel */
};

struct probe {
	enum probe_kind kind;
	bool is_return;	 /* when the function returns, not when it is called */
	bool is_entry;	 /* at a user function's first instruction */
	bool is_go;	 /* in a Go program: return probes would crash it */
	bool unwinds;	 /* exceptions may pass there: with a return probe they end the program */
	uint32_t file;	 /* user code: its number in the list */
	uint64_t offset; /* user code: in the file; kernel: from its symbol on */
	uint64_t semaphore;  /* USDT: offset in the file of the count of its users; 0: none */
	uint64_t address;    /* kernel: of its symbol; 0 if addresses are hidden */
	uint32_t tracepoint; /* its id */
	const char *name;    /* as shown; several at one address: "a|b" */
	const char *symbol;  /* kernel function, or "category/event"; NULL: user code */
	const char
		*detail; /* tells it from others of its name: "hash.c", "+0x4a0"; NULL: no need */
	const char *why_no_return; /* its return can't be probed; NULL: it can */
	const char *arguments; /* USDT: as its note has them, "-4@%eax 8@-24(%rbp)"; NULL: none */
};

/* In a file, not in the kernel. */
static inline bool probe_is_user(const struct probe *probe)
{
	return probe->kind == PROBE_USER || probe->kind == PROBE_USDT;
}

struct probe_file {
	int fd;		  /* for reading; the list's */
	const char *path; /* as its process saw it, for showing */
	uint64_t inode;	  /* as the kernel's file system numbers it */
};

/* A match that can't be probed. */
struct probe_refusal {
	const char *name;
	const char *why; /* "an IFUNC resolver: it runs once, whatever is called" */
};

struct probe_list {
	struct probe *probes;
	size_t nr_probes, cap_probes;
	struct probe_file *files;
	size_t nr_files, cap_files;
	struct probe_refusal *refusals;
	size_t nr_refusals, cap_refusals;
	/* What a pattern that can be read in two ways was taken for, as a sentence; each once. */
	const char **notes;
	size_t nr_notes, cap_notes;
	struct text_block *texts; /* in which the copies are */
};

void probe_list_init(struct probe_list *list);
void probe_list_clear(struct probe_list *list);

/* Takes over fd. The file's number, the same for one added before (whose fd is kept); or -errno. */
int64_t probe_list_add_file(struct probe_list *list, int fd, const char *path);

/* Copies the probe and its texts. Its number, or -ENOMEM. */
int64_t probe_list_add(struct probe_list *list, const struct probe *probe);

/* Notes that a match can't be probed. 0 or -ENOMEM. */
int probe_list_refuse(struct probe_list *list, const char *name, const char *why);

/* Copies the note. 0 or -ENOMEM. */
int probe_list_note(struct probe_list *list, const char *note);

/* A text of the list's own, NULL when out of memory. */
const char *probe_list_text(struct probe_list *list, const char *text);

/* --- calls and returns of one function, paired ------------------------------------------------ */

struct probe_pairs_options {
	bool calls, returns; /* what is taken from hits is known at calls, at returns */
	bool paired;	     /* in any case */
	bool force_returns;  /* return probes that may end programs */
};

struct probe_pairs {
	bool are_paired; /* each function has both, and what is known at one is needed at the other */
	uint32_t *functions; /* of each probe the number that stands for its function */
};

/*
 * Makes of the list what is needed: calls become returns, or what is missing of a pair is added
 * behind all that is there. 0; -EINVAL for a probe that has no return, or must not have; -ENOMEM.
 */
int probe_pairs_make(struct probe_list *list, const struct probe_pairs_options *options,
		     struct probe_pairs *ret, struct error *error);
void probe_pairs_clear(struct probe_pairs *pairs);

#endif
