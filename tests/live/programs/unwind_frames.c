/*
 * unwind_frames MS [SHAPE…]: frames made by compilers; see shapes.h.
 *
 *	chain		eight functions that save different registers and have frames of different
 *			sizes
 *	deep400		recursion, 400 deep
 *	deep600		recursion, 600 deep: more than the frame limit
 *	realigned	a local on a 64-byte boundary and memory of variable size: the location of
 *			the caller's frame is stored in memory
 *	alloca		only memory of variable size: the register is used as a frame pointer
 *	clobbered	the same, and its callee uses the frame pointer register for a number
 *	realigned_entry	a function that assumes nothing about its initial stack pointer
 *	big		frames of 4 KiB, 40 KiB and 1 MiB
 *	noreturn	a call at the very end of a function: the return address is past the
 *			function
 *	split		a function whose unlikely part the compiler has moved elsewhere
 */
#include <alloca.h>

#include "shapes.h"

#define TOUCH(memory) __asm__ volatile("" ::"r"(memory) : "memory")

/* --- chain ----------------------------------------------------------------------------------- */

NAMED void link_1(void)
{
	work();
	NO_TAIL_CALL();
}

/* Registers that a function has to save: the more the asm clobbers, the more are pushed. */
#define LINK(name, next, bytes, ...)                  \
	NAMED void name(void)                         \
	{                                             \
		char room[bytes];                     \
		TOUCH(room);                          \
		__asm__ volatile("" ::: __VA_ARGS__); \
		next();                               \
		NO_TAIL_CALL();                       \
	}

LINK(link_2, link_1, 8, "rbx")
LINK(link_3, link_2, 100, "rbx", "rbp")
LINK(link_4, link_3, 200, "r12", "r13", "r14", "r15")
LINK(link_5, link_4, 1, "rbp")
LINK(link_6, link_5, 3000, "rbx", "rbp", "r12", "r13", "r14", "r15")
LINK(link_7, link_6, 16, "r15")
LINK(link_8, link_7, 24, "cc")

/* --- depth ----------------------------------------------------------------------------------- */

NAMED void recurse(unsigned depth)
{
	if (depth > 1)
		recurse(depth - 1);
	else
		work();
	NO_TAIL_CALL();
}

static void deep400(void)
{
	recurse(400);
}

static void deep600(void)
{
	recurse(600);
}

/* --- stack pointers at a variable distance from the caller's ---------------------------------- */

static volatile size_t some_bytes = 100;

NAMED void realigned(void)
{
	char line[64] __attribute__((aligned(64)));
	char *more = alloca(some_bytes);

	TOUCH(line);
	TOUCH(more);
	work();
	NO_TAIL_CALL();
}

NAMED void with_alloca(void)
{
	TOUCH(alloca(some_bytes));
	work();
	NO_TAIL_CALL();
}

NAMED void with_number(void)
{
	__asm__ volatile("mov $0x123456789, %%rbp" ::: "rbp");
	work();
	NO_TAIL_CALL();
}

NAMED void with_alloca_above(void)
{
	TOUCH(alloca(some_bytes));
	with_number();
	NO_TAIL_CALL();
}

NAMED __attribute__((force_align_arg_pointer)) void realigned_entry(void)
{
	work();
	NO_TAIL_CALL();
}

/* --- big frames ------------------------------------------------------------------------------ */

/* Writes all of it: a sample cannot read untouched memory. */
#define BIG(name, next, bytes)                 \
	NAMED void name(void)                  \
	{                                      \
		char room[bytes];              \
		memset(room, 0, sizeof(room)); \
		TOUCH(room);                   \
		next();                        \
		NO_TAIL_CALL();                \
	}

BIG(big_1m, work, 1 << 20)
BIG(big_40k, big_1m, 40 << 10)
BIG(big_4k, big_40k, 4 << 10)

/* --- unusual return addresses and entry points ----------------------------------------------- */

NAMED __attribute__((noreturn)) void work_and_exit(void)
{
	work();
	_exit(0);
}

/* Adjacent in one section, so that the call is followed by the first byte of another function. */
#define BESIDE static __attribute__((noinline, noclone, no_icf, used, section(".text.beside")))

BESIDE void calls_noreturn(void)
{
	char room[72];

	TOUCH(room);
	work_and_exit();
}

BESIDE void not_called(void)
{
	char room[4096];

	TOUCH(room);
	work();
	NO_TAIL_CALL();
}

NAMED __attribute__((cold)) void unlikely_work(char *room)
{
	TOUCH(room);
	work();
	NO_TAIL_CALL();
}

NAMED void split(size_t nr)
{
	char room[500];

	if (__builtin_expect(nr > 0, 0))
		unlikely_work(room);
	TOUCH(room);
}

static void run_split(void)
{
	split(some_bytes);
	NO_TAIL_CALL();
}

static const struct shape shapes[] = {
	{"chain", link_8},
	{"deep400", deep400},
	{"deep600", deep600},
	{"realigned", realigned},
	{"alloca", with_alloca},
	{"clobbered", with_alloca_above},
	{"realigned_entry", realigned_entry},
	{"big", big_4k},
	{"noreturn", calls_noreturn},
	{"split", run_split},
};

SHAPES_MAIN(shapes)
