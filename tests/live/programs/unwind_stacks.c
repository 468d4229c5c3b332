/*
 * unwind_stacks MS [SHAPE…]: stacks that are not the main thread's; see shapes.h.
 *
 *	thread		of a pthread
 *	context		made by makecontext()
 *	fiber_zero	made by hand, as libraries for coroutines do: where the first function would
 *			return to is a zero
 *	fiber_data	there is the address of data
 *	fiber_wild	there is what is no address at all
 *	fiber_reused	there is code, of the one who made the stack: to look at it is right, and behind
 *			it the stack ends
 */
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "shapes.h"

#define STACK_BYTES 65536

/* --- the C library's ------------------------------------------------------------------------- */

static void *in_thread(void *argument)
{
	work();
	NO_TAIL_CALL();
	return NULL;
}

static void thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
}

#ifdef __GLIBC__ /* musl has none */
static void in_context(void)
{
	work();
	NO_TAIL_CALL();
}

static void context(void)
{
	ucontext_t own, other;

	getcontext(&other);
	other.uc_stack.ss_sp = malloc(STACK_BYTES);
	other.uc_stack.ss_size = STACK_BYTES;
	other.uc_link = &own;
	makecontext(&other, in_context, 0);
	swapcontext(&own, &other);
}
#endif

/* --- made by hand ---------------------------------------------------------------------------- */

static __attribute__((used, noinline, noclone)) void in_fiber(void)
{
	work();
	_exit(0);
}

/* Goes on in in_fiber(), on another stack, as if what is at its top had called it. */
static __attribute__((noreturn)) void start_fiber(uintptr_t returns_to)
{
	/* Pages that nothing else is on, so that the stack's end is the end of memory. */
	char *stack = mmap(NULL, STACK_BYTES + 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t *top = (uintptr_t *)(stack + STACK_BYTES) - 1;

	mprotect(stack + STACK_BYTES, 4096, PROT_NONE);
	*top = returns_to;
	__asm__ volatile("mov %0, %%rsp\n\tjmp in_fiber" ::"r"(top) : "memory");
	__builtin_unreachable();
}

static void fiber_zero(void)
{
	start_fiber(0);
}

static void fiber_data(void)
{
	start_fiber((uintptr_t)&work_ns);
}

static void fiber_wild(void)
{
	start_fiber(0xdeadbeefdeadbeef);
}

static void fiber_reused(void)
{
	start_fiber((uintptr_t)fiber_reused + 4);
}

static const struct shape shapes[] = {
	{"thread", thread},
#ifdef __GLIBC__
	{"context", context},
#endif
	{"fiber_zero", fiber_zero}, {"fiber_data", fiber_data},
	{"fiber_wild", fiber_wild}, {"fiber_reused", fiber_reused},
};

SHAPES_MAIN(shapes)
