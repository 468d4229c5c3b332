/*
 * Names as runtimes write them into their maps, made readable.
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
 */
#ifndef STOOK_SYM_RUNTIME_NAMES_H
#define STOOK_SYM_RUNTIME_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct runtime_names_style {
	bool cut_tiers; /* how far V8 or .NET optimised a function: all its code is one */
};

/*
 * Writes the name to show into *to, cut to nr bytes with its NUL. is_java: the process is a JVM;
 * names of others are not taken for Java's.
 */
void runtime_name(const char *name, bool is_java, const struct runtime_names_style *style, char *to,
		  size_t nr);

#endif
