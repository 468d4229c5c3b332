/*
 * tally_static ROUNDS: a static probe (USDT) with arguments of many kinds, hit ROUNDS times. For i
 * = 0 … ROUNDS - 1 the arguments are i, -i as 32 bits, i * 1000 as 16 bits, a constant, and a text
 * in memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, i;
	char texts[2][16];

	(void)snprintf(texts[0], sizeof(texts[0]), "even");
	(void)snprintf(texts[1], sizeof(texts[1]), "odd");
	for (i = 0; i < rounds; i++)
		DTRACE_PROBE5(tally, hit, i, -(int)i, (unsigned short)(i * 1000), 42, texts[i % 2]);
	return 0;
}
