/* sym/run_time_maps: lines of real maps. */
#include "sym/run_time_maps.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "unit/test.h"

static const struct runtime_names_style whole, cut = {.cut_tiers = true};

static const char *shown(const char *name, bool is_java, const struct runtime_names_style *style)
{
	static char text[1000];

	runtime_name(name, is_java, style, text, sizeof(text));
	return text;
}

struct example {
	const char *name;
	const char *shown; /* NULL: as it is */
};

static void check_java(const struct example *examples, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		const char *name = examples[i].name;

		CHECK_STR(shown(name, true, &whole), examples[i].shown ? examples[i].shown : name);
		CHECK_STR(shown(name, true, &cut), examples[i].shown ? examples[i].shown : name);
		/* Another runtime that has such a name means something else by it. */
		CHECK_STR(shown(name, false, &whole), name);
	}
}

/* --- Java ---------------------------------------------------------------------------------- */

/* JDK 17: jcmd PID Compiler.perfmap. */
TEST(runtime_names_of_java_perfmap)
{
	static const struct example examples[] = {
		{"int java.lang.String.indexOf(int)", "java/lang/String.indexOf"},
		{"void java.util.TimSort.mergeHi(int, int, int, int)", "java/util/TimSort.mergeHi"},
		{"java.lang.Object[] java.util.ArrayList.grow(int)", "java/util/ArrayList.grow"},
		{"byte[] java.util.Arrays.copyOf(byte[], int)", "java/util/Arrays.copyOf"},
		{"int[][] App$Inner.grid(java.lang.String[], int[][])", "App$Inner.grid"},
		{"java.lang.Class java.lang.Object.getClass()", "java/lang/Object.getClass"},
		{"void java.lang.Object.<init>()", "java/lang/Object.<init>"},
		{"void App.<clinit>()", "App.<clinit>"},
		{"void App.main(java.lang.String[])", "App.main"},
		{"double App$1.area()", "App$1.area"},
		{"java.lang.Integer App.lambda$main$0(java.lang.Integer)", "App.lambda$main$0"},
		{"void java.util.stream.ReferencePipeline$4$1.accept(java.lang.Object)",
		 "java/util/stream/ReferencePipeline$4$1.accept"},
		{"java.lang.Object App$$Lambda$1/0x00007fed9c000c08.apply(java.lang.Object)",
		 "App$$Lambda$1/0x00007fed9c000c08.apply"},
		{"int java.util.stream.IntPipeline$$Lambda$4/0x00007fed9c041248.applyAsInt(int, "
		 "int)",
		 "java/util/stream/IntPipeline$$Lambda$4/0x00007fed9c041248.applyAsInt"},
		{"void com.shop.OrderTest.an empty order costs nothing()",
		 "com/shop/OrderTest.an empty order costs nothing"},
		{"I2C/C2I adapters", NULL},
		{"Interpreter", NULL},
		{"StubRoutines (1)", NULL},
		{"SafepointBlob", NULL},
		{"handle_exception Runtime1 stub", NULL},
		{"jni_fast_GetLongField", NULL},
		{"_complete_monitor_locking_Java", NULL},
		{"IncompatibleClassChangeError throw_exception", NULL},
	};

	check_java(examples, ARRAY_SIZE(examples));
}

TEST(runtime_names_of_java_agents)
{
	static const struct example examples[] = {
		{"Ljava/lang/String;::indexOf", "java/lang/String.indexOf"},
		{"LApp;::main", "App.main"},
		{"LApp$Inner;::<init>", "App$Inner.<init>"},
		{"Ljava/util/stream/ReferencePipeline$4$1;::accept",
		 "java/util/stream/ReferencePipeline$4$1.accept"},
		{"LApp$$Lambda$14/0x0000000800c03000;::run",
		 "App$$Lambda$14/0x0000000800c03000.run"},
		{"Ljava/lang/String;::indexOf(II)I", "java/lang/String.indexOf"},
		{"La/A;::f->Lb/B;::g", "a/A.f->b/B.g"},
		{"La/A;::f(I)V->Lb/B;::g()V->Lc/C;::h", "a/A.f->b/B.g->c/C.h"},
		{"La/A;::f->others", "a/A.f->others"},
		{"Ljava/lang/StringLatin1;equals([B[B)Z", "java/lang/StringLatin1.equals"},
		{"Ljava/lang/AbstractStringBuilder;appendChars(Ljava/lang/String;II)V",
		 "java/lang/AbstractStringBuilder.appendChars"},
		{"Ljava/lang/Object;<init>()V", "java/lang/Object.<init>"},
		{"call_stub", NULL},
		{"vtable stub", NULL},
	};

	check_java(examples, ARRAY_SIZE(examples));
}

TEST(runtime_names_nearly_java)
{
	static const struct example examples[] = {
		{"", NULL},
		{"L", NULL},
		{"L;", NULL},
		{"L;::f", NULL},
		{"La;", NULL},
		{"La;::", NULL},
		{"La;(I)V", NULL},
		{"La b;::f", NULL},
		{"Loop", NULL},
		{"int f(int)", NULL},
		{"int A.(int)", NULL},
		{"int .f(int)", NULL},
		{" A.f(int)", NULL},
		{"int A.f(int", NULL},
		{"int A.f", NULL},
		{"A.f(int)", NULL},
		{"A.f(int, B.c)", NULL},
		{"(", NULL},
		{"()", NULL},
		{" ()", NULL},
		{"->", NULL},
	};

	check_java(examples, ARRAY_SIZE(examples));
}

/* --- others -------------------------------------------------------------------------------- */

struct tier_example {
	const char *name;
	const char *whole; /* NULL: as it is */
	const char *cut;
};

static void check_tiers(const struct tier_example *examples, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		const struct tier_example *example = &examples[i];

		CHECK_STR(shown(example->name, false, &whole),
			  example->whole ? example->whole : example->name);
		CHECK_STR(shown(example->name, false, &cut),
			  example->cut ? example->cut : example->name);
	}
}

/* Node 20: --perf-basic-prof, --interpreted-frames-native-stack; older and newer words of V8. */
TEST(runtime_names_of_javascript)
{
	static const struct tier_example examples[] = {
		{"JS:~spin /srv/app.js:7:14", "~spin /srv/app.js:7:14", "spin /srv/app.js:7:14"},
		{"JS:^spin /srv/app.js:7:14", "^spin /srv/app.js:7:14", "spin /srv/app.js:7:14"},
		{"JS:+spin /srv/app.js:7:14", "+spin /srv/app.js:7:14", "spin /srv/app.js:7:14"},
		{"JS:*spin /srv/app.js:7:14", "*spin /srv/app.js:7:14", "spin /srv/app.js:7:14"},
		{"JS:*'spin /srv/app.js:7:14", "*'spin /srv/app.js:7:14", "spin /srv/app.js:7:14"},
		{"JS:spin /srv/app.js:7:14", "spin /srv/app.js:7:14", "spin /srv/app.js:7:14"},
		{"JS:~#priv /srv/app.js:1:111", "~#priv /srv/app.js:1:111",
		 "#priv /srv/app.js:1:111"},
		{"JS:^get len /srv/app.js:1:48", "^get len /srv/app.js:1:48",
		 "get len /srv/app.js:1:48"},
		{"JS:~ /srv/app.js:7:164", "~(anonymous) /srv/app.js:7:164",
		 "(anonymous) /srv/app.js:7:164"},
		{"JS:*~odd /srv/app.js:1:1", "*~odd /srv/app.js:1:1", "~odd /srv/app.js:1:1"},
		{"JS:~Module._compile node:internal/modules/cjs/loader:1483:37",
		 "~Module._compile node:internal/modules/cjs/loader:1483:37",
		 "Module._compile node:internal/modules/cjs/loader:1483:37"},
		{"LazyCompile:*run /srv/app.js:12:3", "*run /srv/app.js:12:3",
		 "run /srv/app.js:12:3"},
		{"LazyCompile:~run /srv/app.js:12", "~run /srv/app.js:12", "run /srv/app.js:12"},
		{"LazyCompile:*", "*(anonymous)", "(anonymous)"},
		{"Function:~run /srv/app.js:12:3", "~run /srv/app.js:12:3", "run /srv/app.js:12:3"},
		{"InterpretedFunction:run /srv/app.js:12:3", "~run /srv/app.js:12:3",
		 "run /srv/app.js:12:3"},
		{"InterpretedFunction:run", "~run", "run"},
		{"Script:~ /srv/app.js:1:1", NULL, "Script: /srv/app.js:1:1"},
		{"Eval:~ node:internal/fs/promises:1:1", NULL,
		 "Eval: node:internal/fs/promises:1:1"},
		{"Eval:~ :1:1", NULL, "Eval: :1:1"},
		{"Builtin:ArrayPrototypeValues", NULL, NULL},
		{"BytecodeHandler:ExtraWide", NULL, NULL},
		{"RegExp:a(b+)c", NULL, NULL},
		{"Stub:js-to-wasm:i:i", NULL, NULL},
		{"JS:wasm-function[0]-0-liftoff", NULL, "JS:wasm-function[0]-0"},
		{"JS:wasm-function[0]-0-turbofan", NULL, "JS:wasm-function[0]-0"},
		{"Function:fib-12-turbofan", NULL, "Function:fib-12"},
		{"Function:my-turbofan", NULL, NULL},
		{"JS:", NULL, NULL},
		{"Function:plain", NULL, NULL},
		{"Function: :", NULL, NULL},
	};

	check_tiers(examples, ARRAY_SIZE(examples));
}

TEST(runtime_names_of_others)
{
	static const struct tier_example examples[] = {
		{"int32 [app] Program::Main(string[])[Tier0]", NULL,
		 "int32 [app] Program::Main(string[])"},
		{"instance void [System.Private.CoreLib] System.Threading.Thread::Run()[PreJIT]",
		 NULL, "instance void [System.Private.CoreLib] System.Threading.Thread::Run()"},
		{"void [app] A+<>c::<F>b__0(int32)[OptimizedTier1]", NULL,
		 "void [app] A+<>c::<F>b__0(int32)"},
		{"int32 [app] Program::Main(string[])", NULL, NULL},
		{"stub<1> GenerateLookupStub", NULL, NULL},
		{"f()[]", NULL, NULL},
		{"A::f()[]", NULL, NULL},
		{"A::f()[x]y", NULL, NULL},
		{"py::run:/srv/app.py", NULL, NULL},
		{"py::Worker.<locals>.<lambda>:/srv/my app.py", NULL, NULL},
		{"$lists:reverse/1", NULL, NULL},
		{"[JIT] Integer#times", NULL, NULL},
		{"[JIT] block in main@/srv/app.rb:12", NULL, NULL},
		{"trace_17", NULL, NULL},
	};

	check_tiers(examples, ARRAY_SIZE(examples));
}

/* --- room ---------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	bool is_java;
} various[] = {
	{"La/A;::f(I)V->Lb/B;::g()V", true},
	{"void App$$Lambda$1/0x00.f(int)", true},
	{"JS:~ /srv/app.js:7:164", false},
	{"Eval:~ /srv/app.js:7:164", false},
	{"JS:wasm-function[0]-0-liftoff", false},
	{"int32 [app] P::Main(string[])[Tier0]", false},
	{"plain", false},
};

/* Whatever the room, the beginning of what is shown in full, and nothing behind the room. */
TEST(runtime_names_cut_to_any_room)
{
	size_t i, nr;

	for (i = 0; i < ARRAY_SIZE(various); i++) {
		const char *full = shown(various[i].name, various[i].is_java, &cut);

		for (nr = 0; nr < 40; nr++) {
			char filler[40];
			char *guarded;

			memset(filler, '!', sizeof(filler));
			guarded = test_guarded(filler, nr);
			runtime_name(various[i].name, various[i].is_java, &cut, guarded, nr);
			CHECK(!nr || (strlen(guarded) == strnlen(full, nr - 1) &&
				      !memcmp(guarded, full, strlen(guarded))));
		}
	}
}

/* Every beginning of a name, against a guard page. */
TEST(runtime_names_truncated)
{
	size_t i, nr;

	for (i = 0; i < ARRAY_SIZE(various); i++)
		for (nr = 0; nr <= strlen(various[i].name); nr++) {
			char name[64] = "";
			const char *guarded;

			memcpy(name, various[i].name, nr);
			guarded = test_guarded(name, nr + 1);
			CHECK(strlen(shown(guarded, true, &cut)) <= nr);
			CHECK(strlen(shown(guarded, false, &whole)) <= nr + strlen("(anonymous)"));
			CHECK(nr < 1 || shown(guarded, false, &cut)[0]);
		}
}
