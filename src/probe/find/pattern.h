/*
 * Parses the patterns by which users choose probes: bcc's grammar and a little more. Pure: nothing
 * is looked up here.
 *
 *	vfs_*			kernel functions; also k:vfs_*
 *	c:malloc		a library by its short name, a program on PATH, a path, a pid
 *	redis-server:(call*|*Read*)
 *	p:LIB:FUNC, p::FUNC	bcc's way to write the two above; p:FUNC is p::FUNC
 *	r:c:malloc, r:vfs_read	when it returns; r::vfs_read, r:k:vfs_read too
 *	t:sched:sched_*		tracepoints; t:sched_*: of any category
 *	u:LIB:PROVIDER:PROBE	static probes (USDT); u:LIB:PROBE: of any provider
 *	c:malloc+0x1a		an instruction in a function
 *	kprobe:, kretprobe:, uprobe:, uretprobe:, tracepoint:, usdt:
 *				bpftrace's words for k:, r:k:, p:, r:p:, t:, u:
 *	prog:0x401136		an address as linked; 0xffffffff81000000: of the kernel
 *	libz.so.1+0x4a20	the same, as profiles show functions without a name
 *	!c:mem*			excludes matches; !mem*: from all patterns, in any order
 *
 * A glob (`*`, `?`, `[…]`, and alternatives `(a|b)`, also nested) matches whole names. An extended
 * regular expression matches from the start of a name, as in bcc's tools: ^tcp_ and tcp_ match
 * every name with this prefix, tcp_$ only that name. Categories, providers, and names with an
 * offset are matched as a whole.
 *
 * The program ends at the first `:` that is not part of a `::` and not inside brackets or
 * parentheses: prog:std::*. A `:`, `*`, `?` or `|` in the program itself is escaped by `\`. A
 * program with the name of a prefix (k, t, kprobe, …) is written p:t:FUNC, or with a path:
 * ./t:FUNC. An offset is `+0x…` or `+digits` at the end (in regular expressions only the former),
 * so operator+ is a name; `\+` never starts an offset. NAME+OFFSET without a program means a file
 * if NAME has a `/` or `.so`, if the pattern cannot mean an instruction of the kernel, and if no
 * kernel function has that name.
 */
#ifndef STOOK_PROBE_FIND_PATTERN_H
#define STOOK_PROBE_FIND_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/matcher.h"

enum pattern_kind {
	PATTERN_USER,	    /* program, name */
	PATTERN_KERNEL,	    /* name */
	PATTERN_TRACEPOINT, /* category, name */
	PATTERN_USDT,	    /* program, provider, name */
};

struct pattern {
	enum pattern_kind kind;
	bool is_return;
	bool is_exclusion;
	bool is_any_kind; /* an exclusion from all kinds: !NAME; kind is PATTERN_KERNEL */
	char *text;	  /* as given by the user */
	char *program;	  /* without backslashes; NULL: the kernel */
	uint32_t pid;	  /* if the program is a number; else 0 */
	struct matcher *category, *provider; /* NULL: any */
	struct matcher *name;		     /* NULL: an address */
	char *name_text;		     /* as given by the user; NULL: an address */
	bool has_offset;		     /* the name is then a single one */
	uint64_t offset;		     /* from the function's start */
	uint64_t address;		     /* if name is NULL */
	bool may_be_file; /* name_text is a file if the kernel has no such function */
};

/*
 * Returns 0; -EINVAL, with an error that shows the pattern, the mistake and its column: "bad
 * pattern 'c:(a|b': no ')' for this '(' (column 3)"; or -ENOMEM. *ret is written only on success.
 */
int pattern_parse(const char *text, bool is_regex, struct pattern *ret, struct error *error);
void pattern_clear(struct pattern *pattern);

/* Turns a pattern with may_be_file into one for a file. Returns 0 or -ENOMEM. */
int pattern_become_file(struct pattern *pattern);

/* --- the exclusions that apply to one file, or to the kernel ---------------------------------- */

struct exclusions {
	const struct pattern **patterns; /* not owned */
	size_t nr, capacity;
};

/* Adds a pattern unless it was added before. Returns 0 or -ENOMEM. */
int exclusions_add(struct exclusions *exclusions, const struct pattern *pattern);
void exclusions_clear(struct exclusions *exclusions);

/*
 * True if an exclusion applies to matches of this kind: `!NAME` to all kinds, `!r:…` only to
 * returns.
 */
bool exclusion_is_about(const struct pattern *pattern, enum pattern_kind kind, bool is_return);

#endif
