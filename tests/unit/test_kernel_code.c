/*
 * collect/kernel_code, with a made kernel: the kernel itself at 0x1000, a module at 0x2000, and BPF programs at 0x3000
 * that are unloaded and replaced.
 */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>

#include "collect/kernel_code.h"

static const char *program; /* at 0x3000 now; NULL: none */
static const char *program_module = "bpf";
static size_t nr_asked;
static int failure;

static int name_here(void *self, const uint64_t *addresses, size_t nr,
		     int (*add)(void *context, size_t i, const char *name, const char *module),
		     void *context, struct error *error)
{
	int err = failure;
	size_t i;

	for (i = 0; i < nr && !err; i++) {
		nr_asked++;
		if (addresses[i] >> 12 == 1)
			err = add(context, i, "of_kernel", "");
		else if (addresses[i] >> 12 == 2)
			err = add(context, i, "of_module", "ext4");
		else if (addresses[i] >> 12 == 3 && program)
			err = add(context, i, program, program_module);
	}
	return err;
}

static struct kernel_code make_code(void)
{
	nr_asked = 0;
	failure = 0;
	program = NULL;
	return (struct kernel_code){.names = {.name = name_here}};
}

/* Takes a sample in kernel code. Returns its frame. */
static uint32_t sample(struct profile *profile, uint64_t address)
{
	int64_t frame = profile_add_frame(profile, FRAME_KERNEL, MODULE_NR_KERNEL, address);

	CHECK(frame >= 0);
	return (uint32_t)frame;
}

static const char *name_of(const struct profile *profile, uint32_t frame)
{
	return profile_string(profile, profile_frame(profile, frame)->function);
}

static void unload(struct kernel_code *code, uint64_t time_ns, const char *name)
{
	struct gone_code gone = {.time_ns = time_ns, .start = 0x3000, .end = 0x3100};

	(void)snprintf(gone.name, sizeof(gone.name), "%s", name);
	CHECK_EQ(kernel_code_add_gone(code, &gone), 0);
}

TEST(kernel_code_is_named_while_it_is_there)
{
	struct profile *profile = profile_new();
	struct kernel_code code = make_code();
	uint32_t module = sample(profile, 0x2010), bpf = sample(profile, 0x3010);
	uint32_t core = sample(profile, 0x1010), none = sample(profile, 0x4010);

	program = "one";
	CHECK_EQ(kernel_code_name(&code, profile), 0);
	CHECK_EQ(nr_asked, 4);
	program = "two"; /* too late for frames that have a name */
	CHECK_EQ(kernel_code_name(&code, profile), 0);
	CHECK_EQ(nr_asked, 4);
	CHECK_STR(name_of(profile, module), "of_module");
	CHECK_STR(name_of(profile, bpf), "one");
	CHECK_STR(name_of(profile, core), "of_kernel");
	CHECK_STR(name_of(profile, none), "");
	profile_free(profile);
	kernel_code_clear(&code);
}

/* The kernel itself is asked for once, other code once in each profile. */
TEST(kernel_code_asks_little)
{
	struct kernel_code code = make_code();
	int i;

	program = "one";
	for (i = 0; i < 10; i++) {
		struct profile *profile = profile_new();

		(void)sample(profile, 0x1010);
		(void)sample(profile, 0x3010);
		CHECK_EQ(kernel_code_name(&code, profile), 0);
		CHECK_EQ(nr_asked, i + 2);
		kernel_code_change_profile(&code);
		profile_free(profile);
	}
	kernel_code_clear(&code);
}

/* What is remembered of the kernel itself does not grow with the number of its addresses. */
TEST(kernel_code_remembers_pages_of_the_kernel)
{
	struct profile *profile = profile_new();
	struct kernel_code code = make_code();
	uint64_t address;

	(void)sample(profile, 0x1010);
	CHECK_EQ(kernel_code_name(&code, profile), 0);
	for (address = 0x1000; address < 0x2000; address++)
		(void)sample(profile, address);
	CHECK_EQ(kernel_code_name(&code, profile), 0);
	CHECK_EQ(nr_asked, 1);
	CHECK_EQ(code.core.nr, 1);
	(void)sample(profile, 0x2000);
	CHECK_EQ(kernel_code_name(&code, profile), 0);
	CHECK_EQ(nr_asked, 2);
	profile_free(profile);
	kernel_code_clear(&code);
}

/* Programs at one address, one after the other: each has its own frame. */
TEST(kernel_code_at_a_reused_address)
{
	struct profile *profile = profile_new();
	struct kernel_code code = make_code();
	uint32_t first = sample(profile, 0x3010), second, third, other = sample(profile, 0x3110);

	program = "first";
	CHECK_EQ(kernel_code_name(&code, profile), 0);
	unload(&code, 200, "second"); /* on another CPU, read first */
	unload(&code, 100, "first");
	CHECK_EQ(kernel_code_replay(&code, profile, 99), 0);
	CHECK_EQ(sample(profile, 0x3010), first);
	CHECK_EQ(kernel_code_replay(&code, profile, 100), 0);
	second = sample(profile, 0x3010);
	CHECK(second != first);
	CHECK_EQ(sample(profile, 0x3110), other);
	CHECK_EQ(kernel_code_replay(&code, profile, 1000), 0); /* before anybody asked for it */
	third = sample(profile, 0x3010);
	CHECK(third != second && third != first);
	program = "third";
	CHECK_EQ(kernel_code_name(&code, profile), 0);
	CHECK_STR(name_of(profile, first), "first");
	CHECK_STR(name_of(profile, second), "second");
	CHECK_STR(name_of(profile, third), "third");
	CHECK_EQ(profile_frame(profile, first)->address >= PROFILE_NOWHERE, 1);
	CHECK_EQ(profile_frame(profile, third)->address, 0x3010);
	profile_free(profile);
	kernel_code_clear(&code);
}

/*
 * The program that was sampled is unloaded after the epoch, and before the kernel is asked, which may take half a
 * second on an overloaded host. The next one is at the same address by then.
 */
TEST(kernel_code_that_is_unloaded_before_it_is_asked_for)
{
	struct profile *profile = profile_new();
	struct kernel_code code = make_code();
	uint32_t older, frame, other;

	program = "older";
	older = sample(profile, 0x3020);
	CHECK_EQ(kernel_code_name(&code, profile), 0);
	frame = sample(profile, 0x3010);
	other = sample(profile, 0x3110);
	CHECK_EQ(kernel_code_replay(&code, profile, 100), 0);
	program = "third";
	CHECK_EQ(kernel_code_name(&code, profile), 0);
	unload(&code, 120, "second");
	unload(&code, 110, "first");
	CHECK_EQ(kernel_code_correct(&code, profile), 0);
	CHECK_STR(name_of(profile, frame), "first");
	CHECK_STR(name_of(profile, older), "older"); /* asked for in an earlier epoch */
	CHECK_STR(name_of(profile, other), "third");
	CHECK_EQ(kernel_code_replay(&code, profile, 200), 0);
	CHECK(sample(profile, 0x3010) != frame);
	CHECK_STR(name_of(profile, frame), "first");
	profile_free(profile);
	kernel_code_clear(&code);
}

/* The kernel may name no module for a program: it goes away all the same. */
TEST(kernel_code_of_programs_without_a_module)
{
	struct kernel_code code = make_code();
	int i;

	program_module = "";
	program = "bpf_prog_0123456789abcdef_x";
	for (i = 0; i < 3; i++) {
		struct profile *profile = profile_new();

		(void)sample(profile, 0x3010);
		CHECK_EQ(kernel_code_name(&code, profile), 0);
		CHECK_EQ(nr_asked, i + 1);
		kernel_code_change_profile(&code);
		profile_free(profile);
	}
	program_module = "bpf";
	kernel_code_clear(&code);
}

/* Before Linux 5.13 the kernel can't be asked, but it reports what it unloads. */
TEST(kernel_code_of_a_kernel_that_cannot_be_asked)
{
	struct profile *profile = profile_new();
	struct kernel_code code = make_code();
	uint32_t bpf = sample(profile, 0x3010), core = sample(profile, 0x1010);

	failure = -EINVAL;
	CHECK_EQ(kernel_code_name(&code, profile), 0);
	unload(&code, 100, "first");
	CHECK_EQ(kernel_code_replay(&code, profile, 100), 0);
	CHECK_STR(name_of(profile, bpf), "first");
	CHECK_STR(name_of(profile, core), "");
	profile_free(profile);
	kernel_code_clear(&code);
}

/* The kernel's want of memory is not ours, and passes. */
TEST(kernel_code_is_asked_again)
{
	struct profile *profile = profile_new();
	struct kernel_code code = make_code();
	uint32_t module = sample(profile, 0x2010);
	int i, nr_tries = 0;

	failure = -ENOMEM;
	for (i = 0; i < 100; i++) {
		nr_tries += code.nr_rests == 0;
		CHECK_EQ(kernel_code_name(&code, profile), 0);
		CHECK_STR(name_of(profile, module), "");
	}
	CHECK(nr_tries > 3 && nr_tries < 8);
	failure = 0;
	for (i = 0; i < 100; i++)
		CHECK_EQ(kernel_code_name(&code, profile), 0);
	CHECK_STR(name_of(profile, module), "of_module");
	CHECK_EQ(nr_asked, 1);
	profile_free(profile);
	kernel_code_clear(&code);
}

TEST(kernel_code_without_memory)
{
	struct profile *profile = profile_new();
	struct kernel_code code = make_code();
	size_t nth = 0;
	int err = 0;

	program = "one";
	do {
		(void)sample(profile, 0x3000 + nth * 0x1000);
		(void)sample(profile, 0x1000 + nth);
		(void)test_fail_allocation(++nth);
		err = kernel_code_name(&code, profile);
		(void)test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
	} while (err);
	CHECK(nth > 2);
	unload(&code, 1, "one");
	CHECK_EQ(kernel_code_replay(&code, profile, 1), 0);
	profile_free(profile);
	kernel_code_clear(&code);
}
