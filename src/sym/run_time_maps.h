/*
 * The names of JIT-compiled code: for each process the perf map that it writes, and its jitdump,
 * read when they are first wanted and read on when they have grown. A file that was written anew is
 * read anew. Once a later program writes to the same place, nothing more is read for the earlier one.
 */
#ifndef STOOK_SYM_RUN_TIME_MAPS_H
#define STOOK_SYM_RUN_TIME_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/read_budget.h"
#include "proc/file_table.h"
#include "proc/runtime_table.h"
#include "sym/code_map.h"

struct run_time_maps;

/* The map of one process may take so much even if less is allowed to all. */
#define RUN_TIME_MAP_BYTES (64u << 20)

/*
 * Past max_bytes, maps of other processes than the one that is asked for are given up, and read
 * again as a whole the next time. A map that is too large by itself, for max_bytes and
 * RUN_TIME_MAP_BYTES, is given up for good, until another file takes its place: the names in its
 * rest are the latest ones, so those before it can't be believed. Reading counts against the budget
 * (NULL: none): a map that it cuts short is read on the next time.
 */
struct run_time_maps *run_time_maps_new(size_t max_bytes, struct read_budget *budget);
void run_time_maps_free(struct run_time_maps *maps);

/*
 * The names of one process (its number, and what is known of it) as of now; *ret is NULL if it has
 * none, else good until the next call. 0; -ENOMEM; -EFBIG, once, for a map that is too large; or
 * another negative errno if not all could be read: *ret is set then too.
 */
int run_time_maps_get(struct run_time_maps *maps, uint32_t number,
		      const struct runtime_process *process, struct file_table *files,
		      const struct code_map **ret);

/* --- making their names readable -------------------------------------------------------------- */

struct runtime_names_style {
	bool cut_tiers; /* how far V8 or .NET optimised a function: all its code is one */
};

/*
 * Makes a name as a runtime writes it into its map readable.
 *
 * A JVM's lose their types: overloads of a method are one, whoever wrote the map.
 *
 *	Ljava/lang/String;::indexOf		java/lang/String.indexOf	perf-map-agent
 *	La/A;::f->Lb/B;::g			a/A.f->b/B.g			the same, unfolded
 *	Ljava/lang/String;indexOf(II)I		java/lang/String.indexOf	perf's own agent
 *	int java.lang.String.indexOf(int)	java/lang/String.indexOf	jcmd Compiler.perfmap
 *	void App$$Lambda$1/0x7f.<init>(int)	App$$Lambda$1/0x7f.<init>
 *
 * A JavaScript function loses the word before it, which only says how V8 came to compile it; code
 * that is no function keeps its word. With cut_tiers the marks of how far it was optimised go too:
 * `~` interpreted, `^` Sparkplug, `+` Maglev, `*` TurboFan.
 *
 *	LazyCompile:*run /srv/app.js:12:3	*run /srv/app.js:12:3
 *	JS:~ /srv/app.js:7:16			~(anonymous) /srv/app.js:7:16
 *	JS:run /srv/app.js:12:3			run /srv/app.js:12:3		never optimised
 *	InterpretedFunction:run /srv/app.js:12	~run /srv/app.js:12		older V8
 *	Script:~ /srv/app.js:1:1		the same, or cut: Script: /srv/app.js:1:1
 *	JS:f-3-liftoff				the same, or cut: JS:f-3	WebAssembly
 *	void [app] A::f(int32)[Tier0]		the same, or cut: void [app] A::f(int32)	.NET
 *
 * All others are left as they are: V8's `Builtin:`, `BytecodeHandler:`, `RegExp:`, `Stub:`; the
 * JVM's stubs; Python's `py::run:/srv/app.py`; Erlang's `$lists:reverse/1`; Ruby's.
 *
 * Writes the name to show into *to, cut to nr bytes with its NUL. is_java: the process is a JVM;
 * names of others are not taken for Java's.
 */
void runtime_name(const char *name, bool is_java, const struct runtime_names_style *style, char *to,
		  size_t nr);

#endif
