/*
 * The names of JIT-compiled code: for each process its perf map and its jitdump, read at the first
 * request and continued when the files have grown. A rewritten file is read again from its
 * beginning. After another program in the same process (exec) writes the same files, they are no
 * longer read for the earlier program.
 */
#ifndef STOOK_SYM_RUN_TIME_MAPS_H
#define STOOK_SYM_RUN_TIME_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file/read_budget.h"
#include "sym/code_map.h"

struct run_time_maps;

/* Number of processes that are known; then the one that was not asked for longest is forgotten. */
#define RUN_TIME_MAPS_MAX 4096

/* One process' map may use this much even if max_bytes is less. */
#define RUN_TIME_MAP_BYTES (64u << 20)

/*
 * Past max_bytes, maps of processes other than the requested one are freed, and read again from the
 * beginning at their next request. A map that alone exceeds both max_bytes and RUN_TIME_MAP_BYTES
 * is not used until another file replaces it: the newest names are in the part not read, so the
 * older ones may be wrong.
 */
struct run_time_maps *run_time_maps_new(size_t max_bytes);
void run_time_maps_limit(struct run_time_maps *maps, size_t max_bytes); /* from now on */
void run_time_maps_free(struct run_time_maps *maps);

/* The files of a process, owned by the caller; -1: none. */
struct run_time_files {
	int perf_map, jitdump;
	bool is_java;
	bool is_superseded; /* they describe a later program; what was read before stays */
};

/*
 * Reads the current names of one process, identified by its number in the runtime table. Reading
 * counts against the budget (NULL: none); a map cut short by it is continued at the next call. *ret is
 * NULL if the process has no names, else valid until the next call. 0; -ENOMEM; -EFBIG, once, for a map that is
 * too large; or another negative errno if the map could not be read completely: *ret is set then,
 * too.
 */
int run_time_maps_get(struct run_time_maps *maps, uint32_t number,
		      const struct run_time_files *files, struct read_budget *budget,
		      const struct code_map **ret);

/* --- readable names --------------------------------------------------------------------------- */

struct runtime_names_style {
	bool cut_tiers; /* drop V8's and .NET's optimisation tiers: all code of a function is one */
};

/*
 * Makes a name from a runtime's map readable.
 *
 * Java methods lose their types: all overloads of a method get one name, whichever agent wrote the
 * map.
 *
 *	Ljava/lang/String;::indexOf		java/lang/String.indexOf	perf-map-agent
 *	La/A;::f->Lb/B;::g			a/A.f->b/B.g			the same, unfolded
 *	Ljava/lang/String;indexOf(II)I		java/lang/String.indexOf	perf's own agent
 *	int java.lang.String.indexOf(int)	java/lang/String.indexOf	jcmd Compiler.perfmap
 *	void App$$Lambda$1/0x7f.<init>(int)	App$$Lambda$1/0x7f.<init>
 *
 * A JavaScript function loses the word before it, which only says how V8 came to compile it; other
 * code keeps its word. With cut_tiers, the marks of optimisation tiers are removed, too: `~`
 * interpreted, `^` Sparkplug, `+` Maglev, `*` TurboFan.
 *
 *	LazyCompile:*run /srv/app.js:12:3	*run /srv/app.js:12:3
 *	JS:~ /srv/app.js:7:16			~(anonymous) /srv/app.js:7:16
 *	JS:run /srv/app.js:12:3			run /srv/app.js:12:3		never optimised
 *	InterpretedFunction:run /srv/app.js:12	~run /srv/app.js:12		older V8
 *	Script:~ /srv/app.js:1:1		the same, or cut: Script: /srv/app.js:1:1
 *	JS:f-3-liftoff				the same, or cut: JS:f-3	WebAssembly
 *	void [app] A::f(int32)[Tier0]		the same, or cut: void [app] A::f(int32)	.NET
 *
 * All other names stay unchanged: V8's `Builtin:`, `BytecodeHandler:`, `RegExp:`, `Stub:`; the
 * JVM's stubs; Python's `py::run:/srv/app.py`; Erlang's `$lists:reverse/1`; Ruby's.
 *
 * Writes the name to `to`, truncated to nr bytes including the NUL. is_java: the process is a JVM;
 * only then are names parsed as Java's.
 */
void runtime_name(const char *name, bool is_java, const struct runtime_names_style *style, char *to,
		  size_t nr);

#endif
