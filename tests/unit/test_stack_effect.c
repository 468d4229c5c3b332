/* The bytes are as assemblers write them. */
#include "elf/image/stack_effect.h"

#include "unit/test.h"

static struct stack_effect read(const char *bytes, size_t nr)
{
	struct stack_effect effect;

	stack_effect_read(&effect, (const uint8_t *)bytes, nr);
	return effect;
}

#define READ(code) read(code, sizeof(code) - 1)

#define CHECK_MOVES(code, by)                           \
	do {                                            \
		struct stack_effect got = READ(code);   \
		CHECK_EQ(got.length, sizeof(code) - 1); \
		CHECK_EQ(got.sp, SP_MOVES);             \
		CHECK_EQ(got.bytes, by);                \
		CHECK_EQ(got.flow, FLOW_ON);            \
	} while (0)

TEST(stack_effect_of_moves)
{
	CHECK_MOVES("\x53", -8);			   /* push %rbx */
	CHECK_MOVES("\x41\x57", -8);			   /* push %r15 */
	CHECK_MOVES("\x41\x5c", 8);			   /* pop %r12 */
	CHECK_MOVES("\x48\x83\xec\x18", -24);		   /* sub $24, %rsp */
	CHECK_MOVES("\x48\x81\xc4\x00\x10\x00\x00", 4096); /* add $4096, %rsp */
	CHECK_MOVES("\x48\x8d\x64\x24\xf8", -8);	   /* lea -8(%rsp), %rsp */
	CHECK_MOVES("\x6a\x01", -8);			   /* push $1 */
}

TEST(stack_effect_of_the_frame_pointer)
{
	CHECK_EQ(READ("\x55").fp, FP_PUSHED);
	CHECK_EQ(READ("\x5d").fp, FP_POPPED);
	CHECK_EQ(READ("\x48\x89\xe5").fp, FP_FROM_SP);	      /* mov %rsp, %rbp */
	CHECK_EQ(READ("\x48\x89\x6c\x24\x10").fp, FP_STORED); /* mov %rbp, 16(%rsp) */
	CHECK_EQ(READ("\x48\x89\x6c\x24\x10").fp_bytes, 16);
	CHECK_EQ(READ("\x48\x8b\x6c\x24\x10").fp, FP_LOADED);
	CHECK_EQ(READ("\x31\xed").fp, FP_ZEROED);	   /* xor %ebp, %ebp */
	CHECK_EQ(READ("\x48\x8b\x2f").fp, FP_WRITTEN);	   /* mov (%rdi), %rbp */
	CHECK_EQ(READ("\x48\x8d\x65\xd8").sp, SP_FROM_FP); /* lea -40(%rbp), %rsp */
	CHECK_EQ(READ("\x48\x8d\x65\xd8").bytes, -40);
	CHECK_EQ(READ("\xc9").sp, SP_LEAVE);
}

TEST(stack_effect_that_is_not_known)
{
	CHECK_EQ(READ("\x48\x83\xe4\xf0").sp, SP_LOST); /* and $-16, %rsp */
	CHECK_EQ(READ("\x5c").sp, SP_LOST);		/* pop %rsp */
	CHECK_EQ(READ("\x48\x94").sp, SP_LOST);		/* xchg %rax, %rsp */
	CHECK_EQ(READ("\x48\x83").length, 0);		/* truncated */
	CHECK_EQ(READ("").length, 0);
}

TEST(stack_effect_of_jumps)
{
	CHECK_EQ(READ("\x74\x05").flow, FLOW_BRANCH);
	CHECK_EQ(READ("\x74\x05").target, 5);
	CHECK_EQ(READ("\xeb\xfe").target, -2);
	CHECK_EQ(READ("\xe8\x00\x01\x00\x00").flow, FLOW_CALL);
	CHECK_EQ(READ("\xe8\x00\x01\x00\x00").target, 256);
	CHECK_EQ(READ("\xff\xd0").flow, FLOW_CALL);	/* call *%rax */
	CHECK_EQ(READ("\xff\xe0").flow, FLOW_INDIRECT); /* jmp *%rax */
	CHECK_EQ(READ("\xc3").flow, FLOW_RETURN);
	CHECK_EQ(READ("\x0f\x0b").flow, FLOW_STOP); /* ud2 */
	CHECK(READ("\x0f\x1f\x40\x00").is_padding);
	CHECK(READ("\x48\x8d\x05\x10\x00\x00\x00").is_address); /* lea 16(%rip), %rax */
}
