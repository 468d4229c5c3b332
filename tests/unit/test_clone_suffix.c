/* sym/clone_suffix: which ends of names are suffixes of clones. */
#include "sym/clone_suffix.h"

#include <string.h>

#include "base/array.h"
#include "unit/test.h"

/* Each is a name and, after a bar, what is a suffix of it. */
static const char *const names[] = {
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

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		char name[128];
		size_t expected = strcspn(names[i], "|");

		memcpy(name, names[i], expected);
		strcpy(name + expected, names[i] + expected + 1);
		if (clone_suffix_find(name) != expected)
			CHECK_STR(name, names[i]);
	}
}

TEST(clone_suffix_bytes_of_one)
{
	CHECK_EQ(clone_suffix_bytes(".part.0.cold"), strlen(".part.0"));
	CHECK_EQ(clone_suffix_bytes(".cold.part.0"), strlen(".cold"));
	CHECK_EQ(clone_suffix_bytes(".avx2"), 0);
	CHECK_EQ(clone_suffix_bytes(""), 0);
}
