/* base/stream: that writing failed is told, however long ago it was; looking takes nothing. */
#include "base/stream.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "unit/test.h"

TEST(stream_that_is_well)
{
	FILE *out = fopen("/dev/null", "we");

	(void)fputs("x", out);
	CHECK_EQ(stream_finish(out), 0);
	(void)fclose(out);
}

TEST(stream_that_fails_at_the_end)
{
	FILE *out = fopen("/dev/full", "we");

	(void)fputs("x", out);
	CHECK_EQ(stream_finish(out), -ENOSPC);
	(void)fclose(out);
}

TEST(stream_that_failed_before)
{
	FILE *out = fopen("/dev/full", "we");

	(void)setvbuf(out, NULL, _IONBF, 0);
	errno = 0;
	(void)fputs("x", out);
	CHECK_EQ(stream_finish(out), -ENOSPC);
	errno = 0; /* what it was is no longer known */
	CHECK_EQ(stream_finish(out), -EIO);
	(void)fclose(out);
}

TEST(stream_that_is_looked_at)
{
	static const char text[] = "a profile";
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	char head[16];

	CHECK_EQ(stream_peek(in, head, 4), 4);
	CHECK(!memcmp(head, "a pr", 4));
	CHECK_EQ(stream_peek(in, head, sizeof(head)), strlen(text));
	CHECK_EQ(fread(head, 1, sizeof(head), in), strlen(text));
	CHECK(!memcmp(head, text, strlen(text)));
	CHECK_EQ(stream_peek(in, head, sizeof(head)), 0);
	(void)fclose(in);
}
