/* sym/names_task: answers are checked before they are used, since a parser may have been compromised. */
#include "sym/names_task.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unit/test.h"

/* An answer as parsers write it. */
struct written {
	struct names_head head;
	struct names_place places[3];
	char text[16];
};

static struct written valid(void)
{
	return (struct written){
		.head = {.code = {.build_id_bytes = 20, .nr_segments = 1},
			 .is_read = 1,
			 .nr = 3,
			 .text_bytes = sizeof("first\0\0second")},
		.places = {{.start = 0x10, .name = 0, .is_found = 1},
			   {.start = 0x20, .name = 6, .is_found = 1},
			   {.name = 999}},
		.text = "first\0\0second",
	};
}

static int parse(const void *from, size_t nr, struct names_answer *ret)
{
	void *bytes = malloc(nr + 1);

	CHECK(bytes);
	memcpy(bytes, from, nr);
	return names_answer_parse(bytes, nr, 3, ret);
}

static size_t bytes_of_valid(void)
{
	return sizeof(struct names_head) + 3 * sizeof(struct names_place) +
	       sizeof("first\0\0second");
}

TEST(names_answer)
{
	struct written written = valid();
	struct names_answer answer;

	CHECK_EQ(parse(&written, bytes_of_valid(), &answer), 0);
	CHECK_STR(names_answer_name(&answer, 0), "first");
	CHECK_STR(names_answer_name(&answer, 1), "");
	CHECK_EQ(answer.places[1].start, 0x20);
	CHECK(names_answer_name(&answer, 2) == NULL);
	CHECK_EQ(answer.head.code.build_id_bytes, 20);
	names_answer_clear(&answer);
}

TEST(names_answer_of_another_length)
{
	struct written written = valid();
	struct names_answer answer;
	size_t nr;

	for (nr = 0; nr <= sizeof(written); nr++)
		if (nr != bytes_of_valid())
			CHECK_EQ(parse(&written, nr, &answer), -EPROTO);
}

TEST(names_answer_beyond_limits)
{
	struct written cases[9];
	struct names_answer answer;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		cases[i] = valid();
	cases[0].head.nr = 2;
	cases[1].head.nr = UINT64_MAX;
	cases[2].head.code.build_id_bytes = PROFILE_BUILD_ID_BYTES + 1;
	cases[3].head.code.nr_segments = PROFILE_MAX_SEGMENTS + 1;
	cases[4].head.refused = 1;
	cases[5].head.text_bytes = UINT64_MAX;
	cases[6].places[1].name = (uint32_t)cases[6].head.text_bytes;
	memset(cases[7].text, 'x', sizeof(cases[7].text)); /* no NUL */
	cases[8].places[1].name = 8;			   /* "econd" */
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ(parse(&cases[i], bytes_of_valid(), &answer), -EPROTO);
}

TEST(names_answer_with_long_names)
{
	static struct {
		struct names_head head;
		struct names_place place;
		char text[(64 << 10) + 1];
	} written;
	struct names_answer answer;
	size_t nr;

	for (nr = 0; nr < sizeof(written.text); nr++) {
		void *bytes;

		if (nr > 2 && nr < sizeof(written.text) - 3)
			continue;
		memset(written.text, 'x', nr);
		written.text[nr] = '\0';
		written.head.nr = 1;
		written.head.text_bytes = nr + 1;
		written.place.is_found = 1;
		bytes = malloc(sizeof(written));
		CHECK(bytes);
		memcpy(bytes, &written, sizeof(written));
		CHECK_EQ(names_answer_parse(bytes, offsetof(typeof(written), text) + nr + 1, 1,
					    &answer),
			 nr < sizeof(written.text) - 1 ? 0 : -EPROTO);
		names_answer_clear(&answer);
	}
}
