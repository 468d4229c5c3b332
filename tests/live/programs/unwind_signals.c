/*
 * unwind_signals MS [SHAPE…]: stacks with signal handlers in them; see shapes.h. A timer sends the
 * signals to code that spins in one place, and the handlers do the work.
 *
 *	handler		SIGPROF, on the interrupted stack
 *	altstack	SIGPROF, on an alternate stack
 *	nested		SIGPROF, with SIGUSR1 in its handler
 *	raised		SIGUSR1, by raise()
 *	prologue	SIGPROF between pushes and pops: the rule for the caller's frame changes
 *			with each instruction, so the rule must be that of the interrupted
 *			instruction
 *	first_byte	SIGPROF at the first instruction of a function, directly after one with a
 *			big frame: the byte before the interrupted one belongs to another function
 *	pushes		no signal: the samples themselves hit the pushes and pops
 */
#include <signal.h>
#include <sys/time.h>

#include "shapes.h"

#define ALTSTACK_BYTES 65536

static volatile sig_atomic_t is_over;
static uint64_t end_ns;

/* --- interrupted code ------------------------------------------------------------------------- */

/* void push_and_pop(volatile sig_atomic_t *until); loop_at_first_byte() has the same type */
__asm__(".text\n"
	".type push_and_pop, @function\n"
	"push_and_pop:\n"
	"	.cfi_startproc\n"
	"1:	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset rbx, 0\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset rbp, 0\n"
	"	mov $0x1234, %ebp\n"
	"	sub $4096, %rsp\n"
	"	.cfi_adjust_cfa_offset 4096\n"
	"	mov (%rdi), %ebx\n"
	"	push $7\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	add $4104, %rsp\n"
	"	.cfi_adjust_cfa_offset -4104\n"
	"	test %ebx, %ebx\n"
	"	pop %rbp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore rbp\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore rbx\n"
	"	jz 1b\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size push_and_pop, . - push_and_pop\n"
	"\n"
	".type big_neighbour, @function\n"
	"big_neighbour:\n"
	"	.cfi_startproc\n"
	"	.cfi_def_cfa_offset 65536\n"
	"	nop\n"
	"	.cfi_endproc\n"
	".size big_neighbour, . - big_neighbour\n"
	"\n"
	".type loop_at_first_byte, @function\n"
	"loop_at_first_byte:\n"
	"	.cfi_startproc\n"
	"	cmpl $0, (%rdi)\n"
	"	je loop_at_first_byte\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size loop_at_first_byte, . - loop_at_first_byte\n");

void push_and_pop(volatile sig_atomic_t *until);
void loop_at_first_byte(volatile sig_atomic_t *until);

NAMED void loop_in_c(volatile sig_atomic_t *until)
{
	while (!*until)
		;
}

/* --- signals ---------------------------------------------------------------------------------- */

/* A few milliseconds at a time, so that the interrupted code is hit at varying places. */
NAMED void work_a_while(void)
{
	uint64_t turn_end_ns = thread_cpu_ns() + 7000000;

	while (thread_cpu_ns() < turn_end_ns)
		hot();
	is_over = thread_cpu_ns() >= end_ns;
}

static void on_signal(int number)
{
	if (!is_over)
		work_a_while();
	NO_TAIL_CALL();
}

static void on_outer_signal(int number)
{
	raise(SIGUSR1);
	NO_TAIL_CALL();
}

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigaction(number, &action, NULL);
}

static void start_signals(void)
{
	struct itimerval timer = {.it_interval.tv_usec = 1001, .it_value.tv_usec = 1};

	end_ns = thread_cpu_ns() + work_ns;
	setitimer(ITIMER_PROF, &timer, NULL);
}

NAMED void interrupted(void (*loop)(volatile sig_atomic_t *until))
{
	char room[200];

	__asm__ volatile("" ::"r"(room) : "memory");
	loop(&is_over);
	NO_TAIL_CALL();
}

/* --- shapes ----------------------------------------------------------------------------------- */

static void handler(void)
{
	handle(SIGPROF, on_signal, 0);
	start_signals();
	interrupted(loop_in_c);
	NO_TAIL_CALL();
}

static void altstack(void)
{
	stack_t stack = {.ss_sp = malloc(ALTSTACK_BYTES), .ss_size = ALTSTACK_BYTES};

	sigaltstack(&stack, NULL);
	handle(SIGPROF, on_signal, SA_ONSTACK);
	start_signals();
	interrupted(loop_in_c);
	NO_TAIL_CALL();
}

static void nested(void)
{
	handle(SIGPROF, on_outer_signal, 0);
	handle(SIGUSR1, on_signal, 0);
	start_signals();
	interrupted(loop_in_c);
	NO_TAIL_CALL();
}

static void raised(void)
{
	handle(SIGUSR1, on_signal, 0);
	end_ns = thread_cpu_ns() + work_ns;
	while (!is_over)
		raise(SIGUSR1);
}

static void prologue(void)
{
	handle(SIGPROF, on_signal, 0);
	start_signals();
	interrupted(push_and_pop);
	NO_TAIL_CALL();
}

static void first_byte(void)
{
	handle(SIGPROF, on_signal, 0);
	start_signals();
	interrupted(loop_at_first_byte);
	NO_TAIL_CALL();
}

static void end_it(int number)
{
	is_over = 1;
}

static void pushes(void)
{
	struct itimerval timer = {.it_value.tv_usec = (suseconds_t)(work_ns / 1000)};

	handle(SIGPROF, end_it, 0);
	setitimer(ITIMER_PROF, &timer, NULL);
	interrupted(push_and_pop);
	NO_TAIL_CALL();
}

static const struct shape shapes[] = {
	{"handler", handler},	{"altstack", altstack},	    {"nested", nested}, {"raised", raised},
	{"prologue", prologue}, {"first_byte", first_byte}, {"pushes", pushes},
};

SHAPES_MAIN(shapes)
