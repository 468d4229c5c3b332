/*
 * A library for unwind_code.c. Built with different values of FRAME_BYTES and PREFIX, its code is
 * at the same addresses but has frames of another size and functions with other names.
 *
 *	library_call(f)		calls f, two frames further in
 *	library_bind()		calls three hundred functions for the first time each: if the
 *				library was loaded with lazy binding, most of the time is spent in
 *				the dynamic loader
 */
#ifndef FRAME_BYTES
#define FRAME_BYTES  100
#define PREFIX(name) first_##name
#else
#define PREFIX(name) second_##name
#endif

static __attribute__((noinline, noclone)) void PREFIX(inner)(void (*call)(void))
{
	char room[FRAME_BYTES];

	__asm__ volatile("" ::"r"(room) : "memory");
	call();
	__asm__ volatile("" ::: "memory");
}

void library_call(void (*call)(void));
void library_bind(void);

void library_call(void (*call)(void))
{
	char room[2 * FRAME_BYTES];

	__asm__ volatile("" ::"r"(room) : "memory");
	PREFIX(inner)(call);
	__asm__ volatile("" ::: "memory");
}

#define TEN(what, name)                                                                     \
	what(name##0) what(name##1) what(name##2) what(name##3) what(name##4) what(name##5) \
		what(name##6) what(name##7) what(name##8) what(name##9)
#define HUNDRED(what, name) \
	TEN(what, name##0)  \
	TEN(what, name##1)  \
	TEN(what, name##2)  \
	TEN(what, name##3)  \
	TEN(what, name##4)  \
	TEN(what, name##5)  \
	TEN(what, name##6) TEN(what, name##7) TEN(what, name##8) TEN(what, name##9)

/* Exported, so that calls to them go through the PLT. */
#define DEFINE(name)                                       \
	void name(void);                                   \
	__attribute__((noinline, noclone)) void name(void) \
	{                                                  \
		__asm__ volatile("");                      \
	}
#define CALL(name) name();

HUNDRED(DEFINE, bound_1)
HUNDRED(DEFINE, bound_2)
HUNDRED(DEFINE, bound_3)

void library_bind(void)
{
	HUNDRED(CALL, bound_1)
	HUNDRED(CALL, bound_2)
	HUNDRED(CALL, bound_3)
}
