/* probe/find/no_return: by name, and only by the whole name. */
#include "probe/find/no_return.h"
#include "unit/test.h"

TEST(returns_that_would_break)
{
	CHECK(no_return_why("_start") != NULL);
	CHECK(no_return_why("__sigsetjmp") != NULL);
	CHECK(no_return_why("dlsym") != NULL);
	CHECK(!no_return_why("longjmp"));
	CHECK(!no_return_why("setjmp_count"));
	CHECK(!no_return_why(""));
}
