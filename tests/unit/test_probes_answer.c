/* probe/find/probes_task: answers are checked before they are used, since a parser may have been compromised. */
#include "probe/find/probes_task.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unit/test.h"

#define FILE_BYTES 0x1000

/* An answer as parsers write it. */
struct written {
	struct probes_head head;
	struct probes_place places[2];
	struct probes_refusal refusals[1];
	char text[24];
};

#define TEXT "\0malloc\0free\0too hot"

static struct written valid(void)
{
	return (struct written){
		.head = {.has_texts = 1,
			 .nr_known = 9,
			 .nr_matches = 3,
			 .nr_places = 2,
			 .nr_refusals = 1,
			 .text_bytes = sizeof(TEXT)},
		.places = {{.vaddr = 0x401000, .offset = 0, .name = 1, .is_entry = 1},
			   {.vaddr = 0x401fff, .offset = FILE_BYTES - 1, .name = 8}},
		.refusals = {{.nr = 1, .why = 13, .nr_names = 1, .names = {8}}},
		.text = TEXT,
	};
}

static const size_t valid_bytes = offsetof(struct written, text) + sizeof(TEXT);

static int parse(const void *from, size_t nr, struct probes_answer *ret)
{
	void *bytes = malloc(nr + 1);

	CHECK(bytes);
	memcpy(bytes, from, nr);
	return probes_answer_parse(bytes, nr, FILE_BYTES, ret);
}

TEST(probes_answer)
{
	struct written written = valid();
	struct probes_answer answer;

	CHECK_EQ(parse(&written, valid_bytes, &answer), 0);
	CHECK_STR(probes_answer_text(&answer, answer.places[0].name), "malloc");
	CHECK_STR(probes_answer_text(&answer, answer.places[1].name), "free");
	CHECK_STR(probes_answer_text(&answer, answer.places[1].source), "");
	CHECK(probes_answer_text_or_null(&answer, answer.places[1].source) == NULL);
	CHECK_STR(probes_answer_text(&answer, answer.refusals[0].why), "too hot");
	probes_answer_clear(&answer);
}

TEST(probes_answer_of_another_length)
{
	struct written written = valid();
	struct probes_answer answer;
	size_t nr;

	for (nr = 0; nr <= sizeof(written); nr++)
		if (nr != valid_bytes)
			CHECK_EQ(parse(&written, nr, &answer), -EPROTO);
}

/* Each number in turn is too large. */
TEST(probes_answer_beyond_limits)
{
	static const size_t in_head[] = {
		offsetof(struct probes_head, err),
		offsetof(struct probes_head, failure),
		offsetof(struct probes_head, why),
		offsetof(struct probes_head, nr_closest),
		offsetof(struct probes_head, example),
		offsetof(struct probes_head, is_go),
		offsetof(struct probes_head, unwinds),
		offsetof(struct probes_head, has_all_names),
		offsetof(struct probes_head, has_texts),
		offsetof(struct probes_head, nr_places),
		offsetof(struct probes_head, nr_refusals),
		offsetof(struct probes_head, text_bytes),
	};
	static const size_t in_place[] = {
		offsetof(struct probes_place, offset),
		offsetof(struct probes_place, semaphore),
		offsetof(struct probes_place, name),
		offsetof(struct probes_place, source),
		offsetof(struct probes_place, implementation),
		offsetof(struct probes_place, why_no_return),
		offsetof(struct probes_place, arguments),
		offsetof(struct probes_place, is_entry),
		offsetof(struct probes_place, is_ifunc),
		offsetof(struct probes_place, is_stepped),
		offsetof(struct probes_place, is_doubtful),
	};
	static const size_t in_refusal[] = {
		offsetof(struct probes_refusal, why),
		offsetof(struct probes_refusal, nr_names),
		offsetof(struct probes_refusal, names),
	};
	const uint32_t large = FILE_BYTES; /* more than there are of anything */
	struct probes_answer answer;
	struct written written;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(in_head); i++) {
		written = valid();
		memcpy((char *)&written.head + in_head[i], &large, sizeof(large));
		CHECK_EQ(parse(&written, valid_bytes, &answer), -EPROTO);
	}
	for (i = 0; i < ARRAY_SIZE(in_place); i++) {
		written = valid();
		memcpy((char *)&written.places[1] + in_place[i], &large, sizeof(large));
		CHECK_EQ(parse(&written, valid_bytes, &answer), -EPROTO);
	}
	for (i = 0; i < ARRAY_SIZE(in_refusal); i++) {
		written = valid();
		memcpy((char *)&written.refusals[0] + in_refusal[i], &large, sizeof(large));
		CHECK_EQ(parse(&written, valid_bytes, &answer), -EPROTO);
	}
}

TEST(probes_answer_that_is_not_sound)
{
	struct written cases[11];
	struct probes_answer answer;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		cases[i] = valid();
	cases[0].head.nr_places = UINT64_MAX;
	cases[1].head.nr_places = UINT64_MAX / sizeof(struct probes_place) + 1;
	cases[2].head.nr_refusals = UINT64_MAX;
	cases[3].head.text_bytes = UINT64_MAX;
	cases[4].head.nr_matches = 1; /* of which two were chosen */
	cases[5].head.err = -4096;
	cases[6].head.nr_closest = 1;
	cases[6].head.closest[0] = sizeof(TEXT);
	cases[7].text[0] = 'x';				  /* the empty text is not empty */
	memset(cases[8].text + 1, 'x', sizeof(TEXT) - 1); /* no NUL at the end */
	cases[9].refusals[0].nr_names = 0;
	cases[10].refusals[0].nr = 0;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ(parse(&cases[i], valid_bytes, &answer), -EPROTO);
}
