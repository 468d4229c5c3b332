/* Calls in one thread: every way in which a function can be reached and can begin. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stddef.h>

#include "counted.h"

#define DEPTH 10 /* below the 64 pending returns that the kernel allows a thread */

/* --- recursion, twins, aliases, IFUNC, tail calls, longjmp ------------------------------------ */

HIT static void hit_recursive(int depth)
{
	if (depth > 1)
		hit_recursive(depth - 1);
	BODY;
}

/* tasks.c has another function of this name. */
HIT static void hit_twin(void)
{
	BODY;
}

void hit_alias_a(void);
void hit_alias_b(void) __attribute__((alias("hit_alias_a")));

HIT void hit_alias_a(void)
{
	BODY;
}

HIT static void hit_chosen_plain(void)
{
	BODY;
}

HIT static void hit_chosen_fast(void)
{
	BODY;
}

/* Runs while the program is still being relocated. */
static void (*choose(void))(void)
{
	volatile int is_fast = 1;

	return is_fast ? hit_chosen_fast : hit_chosen_plain;
}

static void hit_chosen(void) __attribute__((ifunc("choose")));

HIT static void hit_tail_inner(void)
{
	BODY;
}

__attribute__((optimize("optimize-sibling-calls"))) HIT static void hit_tail_outer(void)
{
	hit_tail_inner();
}

static jmp_buf landing;

HIT static void hit_jumps_away(void)
{
	BODY;
	longjmp(landing, 1);
}

static void jump(void)
{
	if (!setjmp(landing))
		hit_jumps_away();
}

void calls_simple(long n)
{
	REPEAT(n)
	{
		hit_recursive(DEPTH);
		hit_twin();
		hit_alias_a();
		hit_alias_b();
		hit_chosen();
		hit_tail_outer();
		jump();
	}
	truth("hit_recursive", DEPTH * n);
	truth("hit_twin", n);
	truth("hit_alias_a|hit_alias_b", 2 * n);
	truth("hit_chosen_fast", n);
	truth("hit_tail_outer", n);
	truth("hit_tail_inner", n);
	truth("hit_jumps_away", n);
}

/* --- first instructions ----------------------------------------------------------------------- */

/*
 * A uprobe replaces a function's first instruction and executes it elsewhere, or emulates it: the
 * kernel needs special code for instructions that use or change the program counter.
 */
#if defined(__x86_64__)
#define STARTS(X)                                                     \
	X(ret, "ret")                                                 \
	X(call, "call 1f\n ret\n 1: ret")                             \
	X(jump, "jmp 1f\n int3\n 1: ret")                             \
	X(branch, "jc 1f\n ret\n 1: ret")                             \
	X(long_jump, ".byte 0xe9\n .long 1f - . - 4\n int3\n 1: ret") \
	X(relative, "mov hit_starts_ret(%rip), %eax\n ret")           \
	X(nop5, ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n ret")           \
	X(endbr, "endbr64\n ret")                                     \
	X(push, "push %r12\n pop %r12\n ret")                         \
	X(long_move, "movabs $0x1122334455667788, %rax\n ret")        \
	X(vector, "vmovaps %ymm0, %ymm0\n ret")
#elif defined(__aarch64__)
#define STARTS(X)                                   \
	X(ret, "ret")                               \
	X(jump, "b 1f\n nop\n 1: ret")              \
	X(branch, "cbz xzr, 1f\n nop\n 1: ret")     \
	X(relative, "adr x0, hit_starts_ret\n ret") \
	X(page, "adrp x0, hit_starts_ret\n ret")    \
	X(literal, "ldr w0, 1f\n ret\n 1: .word 0") \
	X(nop, "nop\n ret")                         \
	X(push, "stp x29, x30, [sp, #-16]!\n ldp x29, x30, [sp], #16\n ret")
#endif

#define DEFINE(name, body)                                                 \
	__asm__(".text\n"                                                  \
		".globl hit_starts_" #name "\n"                            \
		".hidden hit_starts_" #name "\n"                           \
		".type hit_starts_" #name ", %function\n"                  \
		".balign 16\n"                                             \
		"hit_starts_" #name ": " body "\n"                         \
		".size hit_starts_" #name ", . - hit_starts_" #name "\n"); \
	void hit_starts_##name(void);
STARTS(DEFINE)

void calls_starts(long n)
{
	REPEAT(n)
	{
#define CALL(name, body) hit_starts_##name();
		STARTS(CALL)
	}
#define NOTE(name, body) truth("hit_starts_" #name, n);
	STARTS(NOTE)
}

/* --- libraries -------------------------------------------------------------------------------- */

void hit_library_outer(void); /* in library.c, like the functions that it calls */

void calls_library(long n)
{
	REPEAT(n)
	hit_library_outer();
	truth("hit_library_outer", n);
	truth("hit_library_inner", 2 * n);
	truth("hit_library_hidden", n);
}

/* After unloading and loading again, the library is mapped twice, maybe at another address. */
void calls_late_library(long n)
{
	for (int turn = 0; turn < 2; turn++) {
		void *library = dlopen("libcounted_late.so", RTLD_NOW);
		void (*outer)(void);

		must(library, "cannot load libcounted_late.so");
		*(void **)&outer = dlsym(library, "hit_late_outer");
		must(outer, "cannot find hit_late_outer");
		REPEAT(n)
		outer();
		dlclose(library);
	}
	truth("hit_late_outer", 2 * n);
	truth("hit_late_inner", 4 * n);
	truth("hit_late_hidden", 2 * n);
}
