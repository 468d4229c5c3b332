/* format/flame/speedscope. tests/browser/speedscope.mjs loads its files into speedscope itself. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/flame/flame.h"
#include "profile/profile.h"
#include "unit/make_profile.h"

static char *written(const struct profile *profile, unsigned labels)
{
	const struct format_options options = {.labels = labels};
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(speedscope_write(profile, &options, out), 0);
	(void)fclose(out);
	return text;
}

/* Compares everything except the file's fixed beginning. */
static void check_written(const struct profile *profile, unsigned labels, const char *wanted)
{
	static const char head[] =
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		"\"exporter\":\"stook\",\"activeProfileIndex\":0,\n\"profiles\":[\n";
	cleanup_free char *text = written(profile, labels);

	CHECK(!strncmp(text, head, strlen(head)));
	CHECK_STR(text + strlen(head), wanted);
}

static struct profile *profile_of(const char *const *lines, size_t nr)
{
	struct profile *profile = profile_new();
	size_t i;

	for (i = 0; i < nr; i++)
		(void)make_sample(profile, lines[i]);
	return profile;
}

TEST(speedscope_stacks_root_first_in_the_order_of_names)
{
	static const char *const lines[] = {"b;main;zeta 3", "a;main;alpha;sys_read_[k] 4",
					    "a;main 5"};
	struct profile *profile = profile_of(lines, 3);

	check_written(
		profile, LABEL_COMM,
		"{\"type\":\"sampled\",\"name\":\"samples\",\"unit\":\"none\","
		"\"startValue\":0,\"endValue\":12,\"samples\":[[0,1],\n[0,1,2,3],\n[4,1,5]],\n"
		"\"weights\":[5,4,3]}],\n\"shared\":{\"frames\":[\n"
		"{\"name\":\"a\"},\n"
		"{\"name\":\"main\",\"file\":\"/usr/lib/app\"},\n"
		"{\"name\":\"alpha\",\"file\":\"/usr/lib/app\"},\n"
		"{\"name\":\"sys_read\",\"file\":\"[kernel]\"},\n"
		"{\"name\":\"b\"},\n"
		"{\"name\":\"zeta\",\"file\":\"/usr/lib/app\"}]}}\n");
	profile_free(profile);
}

TEST(speedscope_places_in_the_source)
{
	static const char *const lines[] = {
		"a;main{/src/a b:c.c:12};copy{/src/copy.h:7}_[i];libc.so!;run: 5_[j];[missed] 1"};
	struct profile *profile = profile_of(lines, 1);
	cleanup_free char *text = written(profile, LABEL_COMM);

	CHECK(strstr(text, "{\"name\":\"main\",\"file\":\"a b:c.c\",\"line\":12},\n"
			   "{\"name\":\"copy\",\"file\":\"copy.h\",\"line\":7},\n"
			   "{\"name\":\"[unknown]\",\"file\":\"/usr/lib/libc.so\"},\n"
			   "{\"name\":\"run: 5\",\"file\":\"[JIT]\"},\n"
			   "{\"name\":\"[Missed Kernel Stack]\"}]"));
	profile_free(profile);
}

TEST(speedscope_same_name_in_two_files_is_two_frames)
{
	static const char *const lines[] = {"a;x.so!init 1", "a;y.so!init 2", "a;x.so!init@2 3"};
	struct profile *profile = profile_of(lines, 3);

	check_written(profile, 0,
		      "{\"type\":\"sampled\",\"name\":\"samples\",\"unit\":\"none\","
		      "\"startValue\":0,\"endValue\":6,\"samples\":[[0],\n[1]],\n"
		      "\"weights\":[4,2]}],\n\"shared\":{\"frames\":[\n"
		      "{\"name\":\"init\",\"file\":\"/usr/lib/x.so\"},\n"
		      "{\"name\":\"init\",\"file\":\"/usr/lib/y.so\"}]}}\n");
	profile_free(profile);
}

static void set_clock(struct profile *profile)
{
	struct profile_origin origin = {.period = 1000};

	origin.event = (uint32_t)profile_add_string(profile, "cpu-clock");
	origin.unit = (uint32_t)profile_add_string(profile, "nanoseconds");
	profile_set_origin(profile, &origin);
}

TEST(speedscope_a_profile_for_each_value)
{
	static const char *const lines[] = {"a;main 2", "a;other 3"};
	struct profile *profile = profile_of(lines, 2);
	struct value_type bytes;

	set_clock(profile);
	bytes.type = (uint32_t)profile_add_string(profile, "alloc\n");
	bytes.unit = (uint32_t)profile_add_string(profile, "bytes");
	CHECK_EQ(profile_add_value_type(profile, &bytes), 1);
	CHECK_EQ(profile_add_value(profile, 1, 1, 77), 0);
	check_written(profile, 0,
		      "{\"type\":\"sampled\",\"name\":\"cpu-clock\",\"unit\":\"nanoseconds\","
		      "\"startValue\":0,\"endValue\":5000,\"samples\":[[0],\n[1]],\n"
		      "\"weights\":[2000,3000]},\n"
		      "{\"type\":\"sampled\",\"name\":\"alloc\\u000a\",\"unit\":\"bytes\","
		      "\"startValue\":0,\"endValue\":77,\"samples\":[[1]],\n"
		      "\"weights\":[77]}],\n\"shared\":{\"frames\":[\n"
		      "{\"name\":\"main\",\"file\":\"/usr/lib/app\"},\n"
		      "{\"name\":\"other\",\"file\":\"/usr/lib/app\"}]}}\n");
	profile_free(profile);
}

TEST(speedscope_slices_are_in_the_order_of_time)
{
	struct profile *profile = profile_new();
	const struct time_slice early = {1000, 2000}, late = {2000, 3000};
	struct sample_labels labels = {0};
	cleanup_free char *text = NULL;

	labels.slice = (uint32_t)profile_add_slice(profile, &early);
	(void)make_labelled(profile, labels, "a;main;zeta 4");
	labels.slice = (uint32_t)profile_add_slice(profile, &late);
	(void)make_labelled(profile, labels, "a;main;zeta 1");
	(void)make_labelled(profile, labels, "a;main;alpha 2");
	text = written(profile, 0);
	CHECK(strstr(text, "\"samples\":[[0,1],\n[0,2],\n[0,1]],\n\"weights\":[4,2,1]"));
	profile_free(profile);
}

TEST(speedscope_fractions)
{
	struct profile *profile = profile_of((const char *const[]){"a;b 1000", "a;c 225"}, 2);
	cleanup_free char *text = NULL;

	set_main_value(profile, "weight", "1/100");
	text = written(profile, LABEL_COMM);
	CHECK(strstr(text, "\"endValue\":12.25,"));
	CHECK(strstr(text, "\"weights\":[10,2.25]"));
	profile_free(profile);
}

TEST(speedscope_names_of_others_making)
{
	static const char *const lines[] = {"a\"\\;</script>\x01\xff 1"};
	struct profile *profile = profile_of(lines, 1);
	cleanup_free char *text = written(profile, LABEL_COMM);

	CHECK(strstr(text, "{\"name\":\"a\\u0022\\u005c\"}") ||
	      strstr(text, "{\"name\":\"a\\\"\\\\\"}"));
	CHECK(strstr(text, "\"name\":\"</script>?\\ufffd\""));
	profile_free(profile);
}

TEST(speedscope_of_nothing)
{
	struct profile *profile = profile_new();

	check_written(profile, LABEL_COMM,
		      "{\"type\":\"sampled\",\"name\":\"samples\",\"unit\":\"none\","
		      "\"startValue\":0,\"endValue\":0,\"samples\":[],\n\"weights\":[]}],\n"
		      "\"shared\":{\"frames\":[\n]}}\n");
	profile_free(profile);
}

TEST(speedscope_the_disk_is_full)
{
	static const char *const lines[] = {"a;main 2"};
	struct profile *profile = profile_of(lines, 1);
	const struct format_options options = {0};
	FILE *out = fopen("/dev/full", "w");

	CHECK_EQ(speedscope_write(profile, &options, out), -ENOSPC);
	(void)fclose(out);
	profile_free(profile);
}

TEST(speedscope_out_of_memory)
{
	static const char *const lines[] = {"a;main{/src/a.c:12} 2", "a;other 3"};
	struct profile *profile = profile_of(lines, 2);
	const struct format_options options = {.labels = LABEL_COMM};
	size_t nth;
	int result = -ENOMEM;

	set_clock(profile);
	for (nth = 1; result == -ENOMEM; nth++) {
		FILE *out = fopen("/dev/null", "w");

		(void)test_fail_allocation(nth);
		result = speedscope_write(profile, &options, out);
		(void)test_fail_allocation(0);
		(void)fclose(out);
	}
	CHECK_EQ(result, 0);
	CHECK(nth > 5);
	profile_free(profile);
}
