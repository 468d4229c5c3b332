/*
 * probe/find/arguments and tracepoint_format: where operands of probes are stored. Registers are
 * checked against the kernel's struct pt_regs of this machine.
 */
#include "unit/test.h"

#include <asm/ptrace.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "probe/expression/expression.h"
#include "probe/find/arguments.h"
#include "probe/find/tracepoints.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Two files /sys/kernel/tracing/events/…/format of Linux 6.1 combined. */
static const char format[] =
	"name: block_rq_issue\n"
	"ID: 1234\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:int error;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:const char * filename;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:char rwbs[8];\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:char comm[16];\toffset:48;\tsize:16;\tsigned:0;\n"
	"\tfield:__data_loc char[] cmd;\toffset:64;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] name;\toffset:68;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long args[6];\toffset:72;\tsize:48;\tsigned:0;\n"
	"\tfield:u8 mac[6];\toffset:120;\tsize:6;\tsigned:0;\n"
	"\tfield:bool ok;\toffset:126;\tsize:1;\tsigned:0;\n"
	"\n"
	"print fmt: \"%d,%d %s\", ((unsigned int) ((REC->dev) >> 20)), REC->rwbs\n";

static const struct probe tracepoint = {.kind = PROBE_TRACEPOINT, .name = "block:block_rq_issue"};
static const struct probe function = {.kind = PROBE_USER, .name = "malloc"};

static struct operand argument(unsigned number)
{
	return (struct operand){.kind = TALLY_AT_CALL, .argument = number};
}

static struct operand field(const char *name, bool is_address)
{
	struct operand operand = {.kind = TALLY_AT_CALL, .is_address = is_address};

	(void)strcpy(operand.field, name);
	return operand;
}

static struct tally_fetch find(const struct probe *probe, const char *text, bool by_trampoline,
			       struct operand operand)
{
	struct tally_fetch fetch = {0};
	struct error error = {0};
	int err = arguments_find(&arguments_x86, probe, text, by_trampoline, &operand, &fetch,
				 &error);

	if (err)
		(void)fprintf(stderr, "%s\n", error.text);
	CHECK_EQ(err, 0);
	return fetch;
}

static void check_refused(const struct argument_machine *machine, const struct probe *probe,
			  const char *text, struct operand operand, const char *what)
{
	struct tally_fetch fetch = {.kind = 77};
	struct error error = {0};

	CHECK_EQ(arguments_find(machine, probe, text, false, &operand, &fetch, &error), -EINVAL);
	if (!strstr(error.text, what))
		(void)fprintf(stderr, "%s\n", error.text);
	CHECK(strstr(error.text, what) != NULL);
	CHECK_EQ(fetch.kind, 77);
}

/* --- functions ------------------------------------------------------------------------------- */

#if defined(__x86_64__)
TEST(arguments_registers_are_the_kernels)
{
	static const size_t want[] = {
		offsetof(struct pt_regs, rdi), offsetof(struct pt_regs, rsi),
		offsetof(struct pt_regs, rdx), offsetof(struct pt_regs, rcx),
		offsetof(struct pt_regs, r8),  offsetof(struct pt_regs, r9),
	};
	static const size_t go[] = {
		offsetof(struct pt_regs, rax), offsetof(struct pt_regs, rbx),
		offsetof(struct pt_regs, rcx), offsetof(struct pt_regs, rdi),
		offsetof(struct pt_regs, rsi), offsetof(struct pt_regs, r8),
	};
	size_t i;

	for (i = 0; i < COUNT(want); i++) {
		CHECK_EQ(arguments_x86.functions.at[i], want[i]);
		CHECK_EQ(arguments_x86.go.at[i], go[i]);
	}
	CHECK_EQ(arguments_x86.result, offsetof(struct pt_regs, rax));
}
#endif

TEST(arguments_of_functions)
{
	const struct operand retval = {.kind = TALLY_AT_RETURN};
	struct tally_fetch fetch = find(&function, NULL, false, argument(2));

	CHECK_EQ(fetch.kind, TALLY_FETCH_REGISTER);
	CHECK_EQ(fetch.bytes, 8);
	CHECK_EQ(fetch.base, 104);
	CHECK_EQ(find(&function, NULL, false, retval).base, 80);
	check_refused(&arguments_x86, &function, NULL, argument(7), "'malloc' has no arg7");
	check_refused(&arguments_x86, &function, NULL, field("x", false), "not a tracepoint");
}

TEST(arguments_by_trampoline)
{
	const struct probe kernel = {.kind = PROBE_KERNEL, .name = "vfs_read"};
	const struct operand retval = {.kind = TALLY_AT_RETURN};
	struct tally_fetch fetch = find(&kernel, NULL, true, argument(3));

	CHECK_EQ(fetch.kind, TALLY_FETCH_FIELD);
	CHECK_EQ(fetch.base, 16);
	CHECK_EQ(fetch.bytes, 8);
	CHECK_EQ(find(&kernel, NULL, true, retval).kind, TALLY_FETCH_RESULT);
	CHECK_EQ(find(&kernel, NULL, false, argument(3)).kind, TALLY_FETCH_REGISTER);
}

TEST(arguments_of_go)
{
	const struct probe go = {.kind = PROBE_USER, .name = "main.f", .is_go = true};

	CHECK_EQ(find(&go, NULL, false, argument(1)).base, 80);
	CHECK_EQ(find(&go, NULL, false, argument(4)).base, 112);
}

/* --- static probes --------------------------------------------------------------------------- */

static struct tally_fetch note(const struct argument_machine *machine, const char *text,
			       unsigned number)
{
	const struct probe probe = {.kind = PROBE_USDT, .name = "p:n", .arguments = text};
	struct operand operand = argument(number);
	struct tally_fetch fetch = {0};
	struct error error = {0};

	CHECK_EQ(arguments_find(machine, &probe, NULL, false, &operand, &fetch, &error), 0);
	return fetch;
}

static void check_note(const struct argument_machine *machine, const char *text, unsigned number,
		       struct tally_fetch want)
{
	struct tally_fetch got = note(machine, text, number);

	CHECK_EQ(got.kind, want.kind);
	CHECK_EQ(got.bytes, want.bytes);
	CHECK_EQ(got.is_signed, want.is_signed);
	CHECK_EQ(got.shift, want.shift);
	CHECK_EQ(got.base, want.base);
	CHECK_EQ(got.index, want.index);
	CHECK_EQ(got.add, want.add);
}

#define CONSTANT TALLY_FETCH_CONSTANT
#define REGISTER TALLY_FETCH_REGISTER
#define MEMORY	 TALLY_FETCH_MEMORY
#define NO_INDEX TALLY_NO_INDEX

TEST(arguments_of_notes_x86)
{
	const char text[] = "8@%rdi -4@%esi 8@%rax 4@$0 -8@$-12 8@-24(%rbp) 2@(%rbx) -1@%r15b "
			    "8@16(%rax,%rcx,8) 4@(%r12,%r13)";

	check_note(&arguments_x86, text, 1,
		   (struct tally_fetch){REGISTER, 8, 0, 0, 112, NO_INDEX, 0});
	check_note(&arguments_x86, text, 2,
		   (struct tally_fetch){REGISTER, 4, 1, 0, 104, NO_INDEX, 0});
	check_note(&arguments_x86, text, 4,
		   (struct tally_fetch){CONSTANT, 4, 0, 0, 0, NO_INDEX, 0});
	check_note(&arguments_x86, text, 5,
		   (struct tally_fetch){CONSTANT, 8, 1, 0, 0, NO_INDEX, -12});
	check_note(&arguments_x86, text, 6,
		   (struct tally_fetch){MEMORY, 8, 0, 0, 32, NO_INDEX, -24});
	check_note(&arguments_x86, text, 7, (struct tally_fetch){MEMORY, 2, 0, 0, 40, NO_INDEX, 0});
	check_note(&arguments_x86, text, 8,
		   (struct tally_fetch){REGISTER, 1, 1, 0, 0, NO_INDEX, 0});
	check_note(&arguments_x86, text, 9, (struct tally_fetch){MEMORY, 8, 0, 3, 80, 88, 16});
	check_note(&arguments_x86, text, 10, (struct tally_fetch){MEMORY, 4, 0, 0, 24, 16, 0});
}

TEST(arguments_of_notes_arm64)
{
	const char text[] = "8@x0 -4@w1 8@[sp, 16] 4@[x2] 8@17 8@[x3,-8] 1@[x4, x5] -8@-3 8@sp";

	check_note(&arguments_arm64, text, 1,
		   (struct tally_fetch){REGISTER, 8, 0, 0, 0, NO_INDEX, 0});
	check_note(&arguments_arm64, text, 2,
		   (struct tally_fetch){REGISTER, 4, 1, 0, 8, NO_INDEX, 0});
	check_note(&arguments_arm64, text, 3,
		   (struct tally_fetch){MEMORY, 8, 0, 0, 248, NO_INDEX, 16});
	check_note(&arguments_arm64, text, 4,
		   (struct tally_fetch){MEMORY, 4, 0, 0, 16, NO_INDEX, 0});
	check_note(&arguments_arm64, text, 5,
		   (struct tally_fetch){CONSTANT, 8, 0, 0, 0, NO_INDEX, 17});
	check_note(&arguments_arm64, text, 6,
		   (struct tally_fetch){MEMORY, 8, 0, 0, 24, NO_INDEX, -8});
	check_note(&arguments_arm64, text, 7, (struct tally_fetch){MEMORY, 1, 0, 0, 32, 40, 0});
	check_note(&arguments_arm64, text, 8,
		   (struct tally_fetch){CONSTANT, 8, 1, 0, 0, NO_INDEX, -3});
	check_note(&arguments_arm64, text, 9,
		   (struct tally_fetch){REGISTER, 8, 0, 0, 248, NO_INDEX, 0});
}

/* Each is put in front of a valid argument, which must still be found. */
TEST(arguments_of_notes_that_are_not_known)
{
	static const char *const wrong[] = {
		"8f@%xmm0",    "8@%xmm0", "3@%rax",    "8@",	      "@%rax",
		"8@%rax,%rbx", "8@(%rax", "8@5(%rip)", "8@sym(%rip)", "8@(%rax,%rcx,3)",
		"8@(,%rax,8)", "8@$",	  "8@$0x",     "8@-(%rax)",   "%rax",
		"8",	       "-",	  "8@[x0]",
	};
	size_t i, nr;

	for (i = 0; i < COUNT(wrong); i++) {
		char text[64];
		struct probe probe = {.kind = PROBE_USDT, .name = "p:n", .arguments = text};

		(void)snprintf(text, sizeof(text), "%s 8@%%rdi", wrong[i]);
		check_refused(&arguments_x86, &probe, NULL, argument(1), "unsupported location");
		CHECK_EQ(note(&arguments_x86, text, 2).base, 112);
		for (nr = 0; nr < strlen(wrong[i]); nr++) {
			struct operand operand = argument(1);
			struct tally_fetch fetch;
			char *cut = test_guarded(text, nr + 1);

			cut[nr] = '\0';
			probe.arguments = cut;
			(void)arguments_find(&arguments_x86, &probe, NULL, false, &operand, &fetch,
					     NULL);
			(void)arguments_find(&arguments_arm64, &probe, NULL, false, &operand,
					     &fetch, NULL);
		}
	}
}

TEST(arguments_of_notes_that_are_not_there)
{
	const struct probe two = {.kind = PROBE_USDT, .name = "p:n", .arguments = "8@%rax 4@%ebx"};
	const struct probe none = {.kind = PROBE_USDT, .name = "p:n"};
	const struct operand retval = {.kind = TALLY_AT_RETURN};

	check_refused(&arguments_x86, &two, NULL, argument(3), "arg1 to arg2");
	check_refused(&arguments_x86, &none, NULL, argument(1), "'p:n' has no arg1");
	check_refused(&arguments_x86, &two, NULL, retval, "no retval");
}

/* --- tracepoints ----------------------------------------------------------------------------- */

TEST(arguments_fields)
{
	struct tally_fetch fetch = find(&tracepoint, format, false, field("error", false));

	CHECK_EQ(fetch.kind, TALLY_FETCH_FIELD);
	CHECK(fetch.is_signed);
	CHECK_EQ(fetch.bytes, 4);
	CHECK_EQ(fetch.base, 24);
	CHECK_EQ(find(&tracepoint, format, false, field("sector", false)).bytes, 8);
	CHECK_EQ(find(&tracepoint, format, false, field("ok", false)).bytes, 1);
	CHECK_EQ(find(&tracepoint, format, false, field("filename", false)).kind,
		 TALLY_FETCH_FIELD);
}

TEST(arguments_text_fields)
{
	struct tally_fetch comm = find(&tracepoint, format, false, field("comm", true));
	struct tally_fetch cmd = find(&tracepoint, format, false, field("cmd", true));
	struct tally_fetch name = find(&tracepoint, format, false, field("name", true));

	CHECK_EQ(comm.kind, TALLY_FETCH_ADDRESS);
	CHECK_EQ(comm.base, 48);
	CHECK_EQ(cmd.kind, TALLY_FETCH_DATA_LOC);
	CHECK(cmd.base == 64 && cmd.index == 0);
	CHECK_EQ(name.kind, TALLY_FETCH_DATA_LOC);
	CHECK(name.base == 68 && name.index == 72);
	CHECK(arguments_field_is_text(format, "comm"));
	CHECK(arguments_field_is_text(format, "cmd"));
	CHECK(!arguments_field_is_text(format, "filename"));
	CHECK(!arguments_field_is_text(format, "mac"));
	CHECK(!arguments_field_is_text(format, "dev"));
	CHECK(!arguments_field_is_text(format, "nothing"));
}

TEST(arguments_fields_that_are_not_there)
{
	char names[300];

	check_refused(&arguments_x86, &tracepoint, format, field("bytes", false),
		      "has no field 'bytes'");
	check_refused(&arguments_x86, &tracepoint, format, field("args", false), "not a number");
	check_refused(&arguments_x86, &tracepoint, format, field("common_pid", false),
		      "cannot be read");
	check_refused(&arguments_x86, &tracepoint, format, argument(1), "it has fields");
	tracepoint_field_names(format, names, sizeof(names));
	CHECK_STR(names, "dev, sector, error, filename, rwbs, comm, cmd, name, args, mac, ok");
	tracepoint_field_names(format, names, 20);
	CHECK_STR(names, "dev, sector, …");
}

TEST(arguments_fields_of_broken_formats)
{
	static const char *const broken[] = {
		"\tfield:int x;\toffset:8;\tsize:4;\n",
		"\tfield:int x;\toffset:;\tsize:4;\tsigned:0;\n",
		"\tfield:int x;\toffset:99999999999;\tsize:4;\tsigned:0;\n",
		"\tfield:int x",
		"\tfield:;\toffset:8;\tsize:4;\tsigned:0;\n",
		"\tfield:[;\toffset:8;\tsize:4;\tsigned:0;\n",
		"\tfield:];\toffset:8;\tsize:4;\tsigned:0;\n",
		"",
	};
	struct tracepoint_field found;
	size_t i;

	for (i = 0; i < COUNT(broken); i++)
		CHECK(!tracepoint_field_find(broken[i], "x", &found));
	for (i = 0; i < sizeof(format); i++) {
		char *cut = test_guarded(format, i + 1);

		cut[i] = '\0';
		(void)tracepoint_field_find(cut, "ok", &found);
	}
}
