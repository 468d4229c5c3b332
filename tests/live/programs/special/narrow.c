/*
 * narrow: a 32-bit program, without a C library, so that any compiler for x86-64 can build it. Runs
 * for a few hundred milliseconds, in narrow_main;narrow_outer;narrow_inner.
 */
static volatile unsigned turns;

/* Forces a frame in a leaf function, by using the frame's address. */
#define HAVE_FRAME() __asm__ volatile("" ::"r"(__builtin_frame_address(0)))

static __attribute__((noinline)) void narrow_inner(void)
{
	HAVE_FRAME();
	for (turns = 0; turns < 100000; turns = turns + 1)
		;
}

static __attribute__((noinline)) void narrow_outer(void)
{
	for (int i = 0; i < 1500; i++)
		narrow_inner();
}

void narrow_main(void);
void narrow_main(void)
{
	narrow_outer();
	__asm__ volatile("int $0x80" ::"a"(1), "b"(0));
}

__asm__(".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	push $0\n"
	"	call narrow_main\n");
