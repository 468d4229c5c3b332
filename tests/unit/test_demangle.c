/* sym/demangle: a table of names, against c++filt, and names made to blow up. */
#include "sym/demangle.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "unit/test.h"

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
		cleanup_free char *readable = demangle(names[i].mangled);

		if (names[i].expected)
			CHECK_STR(readable, names[i].expected);
		else if (readable)
			CHECK_STR(readable, "(nothing)");
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
		/* In names from Rust, c++filt prints the hashes as well. */
		if (!names[i].expected || strstr(names[i].mangled, "17h") ||
		    !strncmp(names[i].mangled, "_R", 2))
			continue;
		snprintf(command, sizeof(command), "c++filt '%s'", names[i].mangled);
		output = popen(command, "r");
		CHECK(output);
		CHECK(fgets(line, sizeof(line), output));
		line[strcspn(line, "\n")] = '\0';
		CHECK_STR(line, names[i].expected);
		pclose(output);
	}
}

/* f(A<int, int>, A<that, that>, A<that, that>, …): each parameter is twice as long as the last. */
TEST(demangle_gives_up_on_names_that_blow_up)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[512] = "_Z1f1AIiiE";
	clock_t start = clock();
	size_t i;

	for (i = 0; i < 34; i++)
		snprintf(name + strlen(name), sizeof(name) - strlen(name), "S_IS%c_S%c_E",
			 digits[i], digits[i]);
	CHECK(!demangle(name));
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
	CHECK(!demangle(name));
	memcpy(name, "_RNv", 4);
	CHECK(!demangle(name));
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
		free(demangle(name));
	}
}

TEST(demangle_out_of_memory)
{
	char *readable = NULL;
	size_t nth;

	for (nth = 1; !readable; nth++) {
		test_fail_allocation(nth);
		readable = demangle(names[3].mangled);
		test_fail_allocation(0);
	}
	CHECK(nth > 2);
	CHECK_STR(readable, names[3].expected);
	free(readable);
}
