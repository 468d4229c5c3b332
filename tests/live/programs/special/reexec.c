/*
 * reexec MS [NEXT]: works for MS of CPU time and executes the program NEXT, with the same pid.
 * Both are built from this file as non-PIE programs, with different STEP and FRAME_BYTES: their code
 * is at the same addresses, but has frames of different sizes. The chain is main;STEP;work;hot,
 * where STEP is a function's name.
 */
#include "../shapes.h"

#define TEXT(word)  #word
#define QUOTE(word) TEXT(word)

NAMED void STEP(void)
{
	char room[FRAME_BYTES];

	__asm__ volatile("" ::"r"(room) : "memory");
	work();
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	prctl(PR_SET_NAME, QUOTE(STEP));
	work_ns = strtoull(argc > 1 ? argv[1] : "100", NULL, 10) * 1000000;
	STEP();
	if (argc > 2)
		execl(argv[2], "next", argv[1], (char *)NULL);
	return argc > 2;
}
