/*
 * unwind_stacks MS [SHAPE…]: stacks other than the main thread's; see shapes.h.
 *
 *	thread		stack of a pthread
 *	context		made by makecontext()
 *	fiber_zero	handmade, like a coroutine library's: the return address of the first
 *			function is zero
 *	fiber_data	the return address is that of data
 *	fiber_wild	the return address is not a valid address
 *	fiber_reused	the return address is in the code that made the stack: it is a valid frame,
 *			after which the stack ends
 */
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "shapes.h"

#define STACK_BYTES 65536

/* --- made by the C library ------------------------------------------------------------------- */

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

#ifdef __GLIBC__ /* musl has no makecontext() */
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

/* --- handmade -------------------------------------------------------------------------------- */

static __attribute__((used, noinline, noclone)) void in_fiber(void)
{
	work();
	_exit(0);
}

/* Continues in in_fiber() on another stack, as if called from the address at its top. */
static __attribute__((noreturn)) void start_fiber(uintptr_t returns_to)
{
	/* Separate pages, so that the stack's end is the end of readable memory. */
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
