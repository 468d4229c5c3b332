/*
 * sym/demangle: a table of names, compared with c++filt; names that explode; suffixes of function
 * clones.
 */
#include "sym/demangle.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "unit/test.h"

/* --- suffixes of clones ----------------------------------------------------------------------- */

/* Each is a name; the part after the bar is its suffix. */
static const char *const suffixed[] = {
	"f|.isra.0",
	"f|.constprop.12",
	"f|.part.0.isra.0.cold",
	"f|.cold",
	"f|.cold.7",
	"f|.localalias",
	"f|.lto_priv.0",
	"f|._omp_fn.3",
	"f|.clone.1",
	"f|.resolver",
	"f|.llvm.1234567890123456789",
	"f|.__uniq.99.llvm.7",
	"buffer.1234|.isra.0",
	"_ZN4$LT$a..b$GT$1f17h0123456789abcdefE|.llvm.1",
	"_Z1fv|.cold",
	"f|",
	"|",
	"f.|",
	"f.isra|",
	"f.isra.|",
	"f.isra.0x|",
	"f.colder|",
	"f.123|",
	"f.avx2|",
	"f.abi0|",
	"main.(*T).cold|",
	"main.(*T).part.0|",
	"a/b.c.cold|",
	"runtime.goexit.abi0|",
	"main.main.func1|",
	"main.f.cold|",
	".L42.part.0|",
	".cold|",
	".omp_outlined.|",
};

TEST(clone_suffix_table)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(suffixed); i++) {
		char name[128];
		size_t expected = strcspn(suffixed[i], "|");

		memcpy(name, suffixed[i], expected);
		strcpy(name + expected, suffixed[i] + expected + 1);
		if (clone_suffix_find(name) != expected)
			CHECK_STR(name, suffixed[i]);
	}
}

TEST(clone_suffix_bytes_of_one)
{
	CHECK_EQ(clone_suffix_bytes(".part.0.cold"), strlen(".part.0"));
	CHECK_EQ(clone_suffix_bytes(".cold.part.0"), strlen(".cold"));
	CHECK_EQ(clone_suffix_bytes(".avx2"), 0);
	CHECK_EQ(clone_suffix_bytes(""), 0);
}

/* --- demangling ------------------------------------------------------------------------------- */

static const struct demangle_style full = {DEMANGLE_FULL, false};

static const struct {
	const char *mangled, *expected; /* NULL: not mangled */
} names[] = {
	{"_Z3fooi", "foo(int)"},
	{"_ZN3foo3barEv", "foo::bar()"},
	{"_ZNK3foo3barEv", "foo::bar() const"},
	{"_ZNSt6vectorIiSaIiEE9push_backERKi",
	 "std::vector<int, std::allocator<int> >::push_back(int const&)"},
	{"_Z3maxIdET_S0_S0_", "double max<double>(double, double)"},
	{"_ZL6helperi.cold", "helper(int) [clone .cold]"},
	{"_ZL6helperi.isra.0", "helper(int) [clone .isra.0]"},
	{"_ZThn8_N1A1fEv", "non-virtual thunk to A::f()"},
	{"_GLOBAL__I_main", "global constructors keyed to main"},
	{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
	{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.42", "core::fmt::Formatter::pad"},
	{"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
	{"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
	{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.cold",
	 "core::fmt::Formatter::pad [clone .cold]"},
	{"_RNvNtCs1234_7mycrate3foo3bar.cold.llvm.7", "mycrate::foo::bar [clone .cold]"},
	{"_Z1fi.part.0.isra.0", "f(int) [clone .part.0] [clone .isra.0]"},
	{"_Z1fi.arch_haswell.0", "f(int) [clone .arch_haswell.0]"},
	{"_D3foo3barFiZv", "foo.bar(int)"},
	{"_D3foo3barFiZv.cold", "foo.bar(int) [clone .cold]"},
	{"_D3std5stdio__T7writelnTAyaZQnFNfQjZv",
	 "std.stdio.writeln!(immutable(char)[]).writeln(immutable(char)[])"},
	{"_Dmain", "D main"},
	{"_D", NULL},
	{"_Domain", NULL},
	{"$s4main3fooyyF", NULL}, /* Swift */
	{"f.isra.0", NULL},
	{"", NULL},
	{"_", NULL},
	{"_Z", NULL},
	{"_R", NULL},
	{"_Read", NULL},
	{"main", NULL},
	{"_start", NULL},
	{"__libc_start_main", NULL},
	{"Z3fooi", NULL},
	{"main.main.func1", NULL},
};

TEST(demangle_table)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		cleanup_free char *readable = demangle(names[i].mangled, &full);

		if (names[i].expected)
			CHECK_STR(readable, names[i].expected);
		else if (readable)
			CHECK_STR(readable, "(nothing)");
	}
}

/* Names in other manglings; NULL: not demangled. */
static const struct {
	const char *mangled, *folded, *simple, *simple_folded, *raw_folded;
} styles[] = {
	{"_ZN1a1fIiEEvT_", "void a::f<int>(int)", "a::f", "a::f", NULL},
	{"_Z1fi.part.0.isra.0", "f(int)", "f [clone .part.0] [clone .isra.0]", "f", "_Z1fi"},
	{"_Z1fi.avx2", "f(int)", "f [clone .avx2]", "f", NULL},
	{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.cold", "core::fmt::Formatter::pad",
	 "core::fmt::Formatter::pad [clone .cold]", "core::fmt::Formatter::pad",
	 "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"},
	{"_RINvNtC3std3mem8align_ofdE.llvm.5", "std::mem::align_of::<f64>", "std::mem::align_of",
	 "std::mem::align_of", "_RINvNtC3std3mem8align_ofdE"},
	{"_D3std5stdio__T7writelnTAyaZQnFNfQjZv.cold",
	 "std.stdio.writeln!(immutable(char)[]).writeln(immutable(char)[])",
	 "std.stdio.writeln.writeln [clone .cold]", "std.stdio.writeln.writeln",
	 "_D3std5stdio__T7writelnTAyaZQnFNfQjZv"},
	{"f.isra.0", "f", NULL, "f", "f"},
	{"vfs_read.constprop.0.cold", "vfs_read", NULL, "vfs_read", "vfs_read"},
	{"main.(*T).f", NULL, NULL, NULL, NULL},
	{"runtime.goexit.abi0", NULL, NULL, NULL, NULL},
	{"main", NULL, NULL, NULL, NULL},
};

static void check_style(const char *mangled, enum demangle_mode mode, bool fold_clones,
			const char *expected)
{
	struct demangle_style style = {mode, fold_clones};
	cleanup_free char *readable = demangle(mangled, &style);

	CHECK_STR(readable ? readable : "(nothing)", expected ? expected : "(nothing)");
}

TEST(demangle_styles)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(styles); i++) {
		check_style(styles[i].mangled, DEMANGLE_NO, false, NULL);
		check_style(styles[i].mangled, DEMANGLE_FULL, true, styles[i].folded);
		check_style(styles[i].mangled, DEMANGLE_SIMPLE, false, styles[i].simple);
		check_style(styles[i].mangled, DEMANGLE_SIMPLE, true, styles[i].simple_folded);
		check_style(styles[i].mangled, DEMANGLE_NO, true, styles[i].raw_folded);
	}
}

TEST(demangle_as_cxxfilt_does)
{
	char line[512], command[256];
	size_t i;
	FILE *output;

	if (system("c++filt --version >/dev/null 2>&1"))
		SKIP("needs c++filt");
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		/* c++filt omits suffixes of Rust names, and fails on D names with one. */
		if (!names[i].expected || strstr(names[i].mangled, ".cold"))
			continue;
		snprintf(command, sizeof(command), "c++filt -i %s '%s'",
			 strncmp(names[i].mangled, "_D", 2) ? "" : "-s dlang", names[i].mangled);
		output = popen(command, "r");
		CHECK(output);
		CHECK(fgets(line, sizeof(line), output));
		line[strcspn(line, "\n")] = '\0';
		CHECK_STR(line, names[i].expected);
		pclose(output);
	}
}

/* f(A<int, int>, A<that, that>, …): each parameter is twice as long as the one before. */
TEST(demangle_gives_up_on_names_that_blow_up)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[512] = "_Z1f1AIiiE";
	clock_t start = clock();
	size_t i;

	for (i = 0; i < 34; i++)
		snprintf(name + strlen(name), sizeof(name) - strlen(name), "S_IS%c_S%c_E",
			 digits[i], digits[i]);
	CHECK(!demangle(name, &full));
	CHECK(clock() - start < CLOCKS_PER_SEC);
}

/* The same in D by back references: tuple types, each of two copies of the one before. */
TEST(demangle_gives_up_on_references_that_blow_up)
{
	char name[512] = "_D1fFB2ii";
	clock_t start = clock();
	size_t i;

	/* The first reference points 4 back, the second 6; then 7 and 9. */
	for (i = 0; i < 40; i++)
		strcat(name, i ? "B2QgQi" : "B2QfQh");
	strcat(name, "Zv");
	CHECK(!demangle(name, &full));
	CHECK(clock() - start < CLOCKS_PER_SEC);
}

/* Each function type lacks its terminator; the parser notices late and tries again. */
TEST(demangle_gives_up_on_function_types_that_blow_up)
{
	char name[512] = "_D1a";
	clock_t start = clock();
	size_t i;

	for (i = 0; i < 60; i++)
		strcat(name, "FS1a");
	CHECK(!demangle(name, &full));
	CHECK(clock() - start < CLOCKS_PER_SEC);
}

TEST(demangle_gives_up_on_deep_names)
{
	size_t nr = 1000000;
	char *name = malloc(nr + 1);

	CHECK(name);
	memset(name, 'P', nr);
	memcpy(name, "_Z1f", 4);
	memcpy(name + nr - 1, "i", 2);
	CHECK(!demangle(name, &full));
	memcpy(name, "_RNv", 4);
	CHECK(!demangle(name, &full));
	memcpy(name, "_D1f", 4);
	CHECK(!demangle(name, &full));
	free(name);
}

TEST(demangle_damaged)
{
	uint64_t state = 3;
	size_t round;

	for (round = 0; round < 50000; round++) {
		const char *sound = names[round % 13].mangled;
		size_t nr = strlen(sound), places = 3;
		char name[128];

		memcpy(name, sound, nr + 1);
		while (places--) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			name[2 + (state >> 33) % (nr - 2)] = (char)(33 + (state >> 50) % 94);
		}
		free(demangle(name, &full));
	}
}

TEST(demangle_out_of_memory)
{
	char *readable = NULL;
	size_t nth;

	for (nth = 1; !readable; nth++) {
		test_fail_allocation(nth);
		readable = demangle(names[3].mangled, &full);
		test_fail_allocation(0);
	}
	CHECK(nth > 2);
	CHECK_STR(readable, names[3].expected);
	free(readable);
}
