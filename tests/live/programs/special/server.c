/*
 * server NR US: forks NR children, one after the other, that each work for about US microseconds of
 * CPU time and exit. There is no exec: all mappings are inherited. The chain is
 * main;serve;request;work;hot.
 */
#include "../shapes.h"

NAMED void request(void)
{
	char room[700];

	__asm__ volatile("" ::"r"(room) : "memory");
	work();
	NO_TAIL_CALL();
}

NAMED void serve(long nr)
{
	for (long i = 0; i < nr; i++) {
		if (fork() == 0) {
			prctl(PR_SET_NAME, "child");
			request();
			_exit(0);
		}
		wait(NULL);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	work_ns = strtoull(argv[2], NULL, 10) * 1000;
	serve(atol(argv[1]));
	return 0;
}
