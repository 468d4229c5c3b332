/*
 * The patterns by which users choose probes, parsed: bcc's grammar and a little more. Pure:
 * nothing is looked up here.
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
 *	!c:mem*			leaves out what matches; !mem*: from all patterns before and behind
 *
 * A glob (`*`, `?`, `[…]`, and alternatives `(a|b)`, also nested) matches whole names. An extended
 * regular expression matches from a name's start, as with bcc's tools: ^tcp_ and tcp_ are all that
 * begin so, tcp_$ is that name alone. Categories, providers, and names with an offset are whole.
 *
 * The program ends at the first `:` that is not one of a `::`, nor between brackets or parentheses:
 * prog:std::*. Where it has such a colon of its own, or a `*`, `?` or `|`, a `\` goes before it.
 * One called like a prefix (k, t, kprobe, …) is p:t:FUNC, or has a path: ./t:FUNC. An offset is `+0x…` or `+digits`
 * at the end (with regular expressions only the former), so operator+ is a name; `\+` is never an
 * offset. What stands before an offset without a program is a file if it has a `/` or `.so`, if the
 * pattern can't be about an instruction of the kernel, and if no function of the kernel has that name.
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
	bool is_any_kind; /* an exclusion of names wherever: !NAME; kind is PATTERN_KERNEL */
	char *text;	  /* as it was written */
	char *program;	  /* NULL: of the kernel; without its backslashes */
	uint32_t pid;	  /* of a program that is a number; else 0 */
	struct matcher *category, *provider; /* NULL: any */
	struct matcher *name;		     /* NULL: an address */
	char *name_text;		     /* as it was written; NULL: an address */
	bool has_offset;		     /* then only one name fits */
	uint64_t offset;		     /* behind the function's start */
	uint64_t address;		     /* of name NULL */
	bool may_be_file; /* name_text+offset, where the kernel has no such name */
};

/*
 * 0, or -EINVAL with the text, what is wrong and where, counted from 1: "bad pattern 'c:(a|b': no
 * ')' for this '(' at 3"; -ENOMEM. *ret is written only on success.
 */
int pattern_parse(const char *text, bool is_regex, struct pattern *ret, struct error *error);
void pattern_clear(struct pattern *pattern);

/* Makes a pattern that may be of a file one that is. 0 or -ENOMEM. */
int pattern_take_for_file(struct pattern *pattern);

/* --- the patterns that leave out matches of one file, or of the kernel ------------------------ */

struct exclusions {
	const struct pattern **patterns; /* which are somebody else's */
	size_t nr, capacity;
};

/* One that is there already is not added again. 0 or -ENOMEM. */
int exclusions_add(struct exclusions *exclusions, const struct pattern *pattern);
void exclusions_clear(struct exclusions *exclusions);

/* True if an exclusion applies to matches of this kind: `!NAME` to all, `!r:…` to returns only. */
bool exclusion_is_about(const struct pattern *pattern, enum pattern_kind kind, bool is_return);

#endif
