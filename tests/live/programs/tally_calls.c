/*
 * Calls functions known numbers of times with known arguments, and prints the expected sums:
 *
 *	tally_calls THREADS ROUNDS
 *
 *	take	each thread calls it ROUNDS times, with i = 0 … ROUNDS - 1, i * 3 - 10 and one of two
 *		texts; it returns -i if i is odd, else i. A forked child does the same in one thread.
 *	deep	calls itself DEPTH levels deep, ROUNDS / 100 times
 *	leave	calls itself DEPTH levels deep and leaves all levels by longjmp, ROUNDS / 100 times;
 *		each time it is called once more from the same place and returns
 *	hop	jumps to its own first instruction DEPTH - 1 times: calls with the same return
 *		address, each of which the kernel hooks; ROUNDS / 100 times
 *	quit	ends its thread and so never returns, once
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH 10

#define PROBED __attribute__((noinline, noclone, noipa))

PROBED long take(int i, long number, const char *text);
PROBED long deep(int levels);
PROBED int leave(int levels, int is_to_leave);
PROBED void quit(int number);
long hop(long times);

static unsigned long rounds;
static jmp_buf out;

long take(int i, long number, const char *text)
{
	__asm__ volatile("" : : "r"(number), "r"(text) : "memory");
	return i % 2 ? -(long)i : i;
}

long deep(int levels)
{
	long below = levels > 1 ? deep(levels - 1) : 0;

	__asm__ volatile("" : "+r"(below) : : "memory");
	return below + 1;
}

int leave(int levels, int is_to_leave)
{
	int below = 0;

	if (levels > 1)
		below = leave(levels - 1, is_to_leave);
	else if (is_to_leave)
		longjmp(out, 1);
	__asm__ volatile("" : "+r"(below) : : "memory");
	return below + 1;
}

#if defined(__x86_64__)
__asm__(".text\n"
	".globl hop\n"
	".type hop, @function\n"
	"hop:	lea -1(%rdi), %rdi\n"
	"	mov %rdi, %rax\n"
	"	test %rdi, %rdi\n"
	"	jg hop\n"
	"	ret\n"
	".size hop, . - hop\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl hop\n"
	".type hop, %function\n"
	"hop:	sub x0, x0, #1\n"
	"	cmp x0, #0\n"
	"	b.gt hop\n"
	"	ret\n"
	".size hop, . - hop\n");
#endif

void quit(int number)
{
	__asm__ volatile("" : : "r"(number) : "memory");
	pthread_exit(NULL);
}

static void *call_take(void *nothing)
{
	/* In memory that has been written before: a probe cannot read untouched memory. */
	char texts[2][16];
	unsigned long i;

	(void)snprintf(texts[0], sizeof(texts[0]), "even");
	(void)snprintf(texts[1], sizeof(texts[1]), "odd one");
	for (i = 0; i < rounds; i++)
		take((int)i, (long)i * 3 - 10, texts[i % 2]);
	return NULL;
}

static void *call_quit(void *nothing)
{
	quit(1);
	return NULL;
}

static void call_deep(void)
{
	unsigned long i;

	for (i = 0; i < rounds / 100; i++)
		(void)deep(DEPTH);
}

static void call_hop(void)
{
	unsigned long i;

	for (i = 0; i < rounds / 100; i++)
		(void)hop(DEPTH);
}

static void call_leave(void)
{
	volatile unsigned long i;

	for (i = 0; i < rounds / 100; i++) {
		if (!setjmp(out))
			(void)leave(DEPTH, 1);
		else
			(void)leave(1, 0);
	}
}

static void run_thread(void *(*work)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
		exit(1);
}

int main(int argc, char **argv)
{
	unsigned long nr_threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 4, i;
	pthread_t threads[64];
	pid_t child;

	rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000;
	if (!nr_threads || nr_threads > 64)
		return 2;
	for (i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, call_take, NULL))
			return 1;
	for (i = 0; i < nr_threads; i++)
		(void)pthread_join(threads[i], NULL);
	child = fork();
	if (!child) {
		(void)call_take(NULL);
		_exit(0);
	}
	(void)waitpid(child, NULL, 0);
	call_deep();
	call_leave();
	call_hop();
	run_thread(call_quit);
	return 0;
}
