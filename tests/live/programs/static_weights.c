/*
 * A static probe (USDT) with an argument in memory. The note is handwritten, because compilers
 * would not use memory here. The probe is hit ROUNDS times each with 5, with -9, and with
 * unreadable memory.
 */
#include <stdlib.h>

#if defined(__x86_64__)
#define PLACE	   "8@(%%rdi)"
#define CONSTRAINT "D"
#else
#define PLACE	   "8@[x0]"
#define CONSTRAINT "r"
#endif

__attribute__((noinline)) static void pass(const long *number)
{
#if defined(__aarch64__)
	register const long *first __asm__("x0") = number;
#else
	const long *first = number;
#endif

	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt, \"\", \"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f - 991f, 994f - 993f, 3\n"
			 "991: .asciz \"stapsdt\"\n"
			 "992: .balign 4\n"
			 "993: .8byte 990b, 0, 0\n"
			 ".asciz \"weights\"\n"
			 ".asciz \"passed\"\n"
			 ".asciz \"" PLACE "\"\n"
			 "994: .balign 4\n"
			 ".popsection\n"
			 :
			 : CONSTRAINT(first)
			 : "memory");
}

int main(int argc, char **argv)
{
	long nr_rounds = argc > 1 ? atol(argv[1]) : 10, i;
	const long five = 5, below = -9;

	for (i = 0; i < nr_rounds; i++) {
		pass(&five);
		pass(&below);
		pass(NULL);
	}
	return 0;
}
