/* profile/named_code: the code of a profile as bytes, there and back, and bytes of a compromised process. */
#include "profile/named_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unit/test.h"

static uint32_t string_of(struct profile *profile, const char *text)
{
	int64_t string = profile_add_string(profile, text);

	CHECK(string >= 0);
	return (uint32_t)string;
}

static uint32_t add_frame(struct profile *profile, uint32_t module, uint64_t address)
{
	int64_t frame = profile_add_frame(profile, FRAME_USER, module, address);

	CHECK(frame >= 0);
	return (uint32_t)frame;
}

/* A named frame with lines, a frame without a name, and one without an address. */
static struct profile *make_profile(void)
{
	struct profile *profile = profile_new();
	struct code_line lines[2];
	struct module module = {.kind = MODULE_FILE};
	uint32_t number;

	CHECK(profile);
	module.name = string_of(profile, "/bin/app");
	number = (uint32_t)profile_add_module(profile, &module);
	CHECK_EQ(profile_set_code(profile, number,
				  &(struct module_code){.build_id = {1, 2},
							.build_id_bytes = 2,
							.nr_segments = 1,
							.segments = {{0x1000, 0x401000, 0x2000}}}),
		 0);
	lines[0] = (struct code_line){string_of(profile, "inlined"), string_of(profile, "a.c"), 7};
	lines[1] = (struct code_line){string_of(profile, "main"), string_of(profile, "b.c"), 8};
	CHECK_EQ(add_frame(profile, number, 0x1234), 0);
	profile_set_name(profile, 0, lines[1].function);
	CHECK_EQ(profile_set_lines(profile, 0, lines, 2), 0);
	CHECK_EQ(add_frame(profile, number, 0x1300), 1);
	CHECK_EQ(profile_add_named_frame(profile, FRAME_USER, number, lines, 1), 2);
	return profile;
}

TEST(named_code_there_and_back)
{
	struct profile *profile = make_profile(), *read, *back;
	cleanup_free void *bytes = NULL, *answer = NULL;
	const struct code_line *lines;
	size_t nr;

	CHECK_EQ(named_code_write(profile, &bytes, &nr), 0);
	CHECK_EQ(named_code_read(bytes, nr, &read), 0);
	CHECK_EQ(profile_nr_frames(read), 3);
	CHECK_EQ(profile_nr_modules(read), profile_nr_modules(profile));
	CHECK_EQ(profile_frame(read, 0)->address, 0x1234);
	CHECK_STR(profile_string(read, profile_frame(read, 0)->function), "main");
	CHECK(!profile_is_named(read, profile_frame(read, 1)));
	CHECK_EQ(profile_code(read, 2)->segments[0].vaddr, 0x401000);
	CHECK_EQ(profile_code(read, 2)->build_id[1], 2);

	CHECK_EQ(profile_set_function(read, 1, "named"), 0);
	CHECK_EQ(profile_set_lines(
			 read, 1,
			 &(struct code_line){string_of(read, "named"), string_of(read, "new.c"), 9},
			 1),
		 0);
	CHECK_EQ(named_code_write(read, &answer, &nr), 0);
	CHECK_EQ(named_code_read(answer, nr, &back), 0);
	CHECK_EQ(named_code_take(profile, back), 0);
	CHECK_STR(profile_string(profile, profile_frame(profile, 1)->function), "named");
	lines = profile_lines(profile, profile_frame(profile, 1));
	CHECK_STR(profile_string(profile, lines->file), "new.c");
	lines = profile_lines(profile, profile_frame(profile, 0));
	CHECK_STR(profile_string(profile, lines[0].function), "inlined");
	CHECK_EQ(lines[1].line, 8);

	CHECK(add_frame(profile, 2, 0x1400) == 3);
	CHECK_EQ(named_code_take(profile, back), -EPROTO);
	profile_free(profile);
	profile_free(read);
	profile_free(back);
}

/* Every truncation, and every byte changed: refused, or a profile whose numbers fit. */
TEST(named_code_damaged)
{
	struct profile *profile = make_profile(), *read;
	cleanup_free uint8_t *bytes = NULL;
	size_t nr, i, k;

	CHECK_EQ(named_code_write(profile, (void **)&bytes, &nr), 0);
	for (i = 0; i < nr; i++) {
		const void *part = test_guarded(bytes, i);

		if ((uintptr_t)part % 8 == 0)
			CHECK_EQ(named_code_read(part, i, &read), -EPROTO);
	}
	for (i = 0; i < nr; i++) {
		const uint8_t before = bytes[i];

		bytes[i] ^= 0xff;
		if (named_code_read(bytes, nr, &read) == 0) {
			for (k = 0; k < profile_nr_frames(read); k++) {
				const struct frame *frame = profile_frame(read, (uint32_t)k);

				CHECK(frame->module < profile_nr_modules(read));
				CHECK(frame->function < profile_nr_strings(read));
			}
			profile_free(read);
		}
		bytes[i] = before;
	}
	profile_free(profile);
}
