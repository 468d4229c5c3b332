/*
 * count_many [ROUNDS]: many functions, for measuring how long it takes to attach to them.
 *
 *	many_0_0_*	  141
 *	many_0_*	1,000, including these
 *	many_*		12,000, including these
 *
 * Waits for the end of its standard input, then calls each of them ROUNDS times (default 1).
 */
#include <stdlib.h>
#include <unistd.h>

/* clang-format 14 does not terminate on these. */
/* clang-format off */
#define TEN(X, name) \
	X(name##0) X(name##1) X(name##2) X(name##3) X(name##4) \
	X(name##5) X(name##6) X(name##7) X(name##8) X(name##9)
#define HUNDRED(X, name) \
	TEN(X, name##0) TEN(X, name##1) TEN(X, name##2) TEN(X, name##3) TEN(X, name##4) \
	TEN(X, name##5) TEN(X, name##6) TEN(X, name##7) TEN(X, name##8) TEN(X, name##9)
#define THOUSAND(X, name) \
	HUNDRED(X, name##0) HUNDRED(X, name##1) HUNDRED(X, name##2) HUNDRED(X, name##3) \
	HUNDRED(X, name##4) HUNDRED(X, name##5) HUNDRED(X, name##6) HUNDRED(X, name##7) \
	HUNDRED(X, name##8) HUNDRED(X, name##9)

#define FIRST_141(X) \
	HUNDRED(X, many_0_0_1) \
	TEN(X, many_0_0_20) TEN(X, many_0_0_21) TEN(X, many_0_0_22) TEN(X, many_0_0_23) \
	X(many_0_0_240)
#define NEXT_859(X) \
	HUNDRED(X, many_0_1) HUNDRED(X, many_0_2) HUNDRED(X, many_0_3) HUNDRED(X, many_0_4) \
	HUNDRED(X, many_0_5) HUNDRED(X, many_0_6) HUNDRED(X, many_0_7) HUNDRED(X, many_0_8) \
	TEN(X, many_0_90) TEN(X, many_0_91) TEN(X, many_0_92) TEN(X, many_0_93) \
	TEN(X, many_0_94) X(many_0_950) X(many_0_951) X(many_0_952) X(many_0_953) \
	X(many_0_954) X(many_0_955) X(many_0_956) X(many_0_957) X(many_0_958)
#define LAST_11000(X) \
	THOUSAND(X, many_10) THOUSAND(X, many_11) THOUSAND(X, many_12) THOUSAND(X, many_13) \
	THOUSAND(X, many_14) THOUSAND(X, many_15) THOUSAND(X, many_16) THOUSAND(X, many_17) \
	THOUSAND(X, many_18) THOUSAND(X, many_19) THOUSAND(X, many_20)
#define ALL(X) FIRST_141(X) NEXT_859(X) LAST_11000(X)
/* clang-format on */

/* Not static, like functions of a library; of a few instructions each. */
#define DEFINE(name)                                       \
	void name(void);                                   \
	__attribute__((noinline, noclone)) void name(void) \
	{                                                  \
		__asm__ volatile("" ::: "memory");         \
	}
ALL(DEFINE)

#define ENTRY(name) name,
static void (*const functions[])(void) = {ALL(ENTRY)};

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1;
	char bytes[64];

	while (read(STDIN_FILENO, bytes, sizeof(bytes)) > 0)
		;
	while (rounds-- > 0)
		for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
			functions[i]();
	return 0;
}
