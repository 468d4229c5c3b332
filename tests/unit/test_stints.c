/* format/text/stints: the exact lines of --timehist, and the trace of --trace. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/text/stints.h"

static const struct sched_stint stints[] = {
	{70958029311000ULL, 50000, 17000, 3000000, 18, 18, 0, 'S', "migration/0"},
	{70958031107500ULL, 1796000, 0, 0, 0, 0, 0, 0, ""},
	{70958031192001ULL, 84123, 0, 0, 4819, 4823, 12, 'R', "fuzz\"\033"},
	{70958031200000ULL, 1001, 5000, 4000, 4819, 4819, 12, 'D', "fuzz_named_codes"},
};

TEST(timehist_lines)
{
	char *text = NULL;
	size_t nr = 0, i;
	FILE *out = open_memstream(&text, &nr);

	CHECK(out != NULL);
	timehist_write_heading(out);
	for (i = 0; i < ARRAY_SIZE(stints); i++)
		timehist_write(out, &stints[i]);
	(void)fclose(out);
	/* The columns of `perf sched timehist --state`. */
	CHECK_STR(
		text,
		"           time    cpu  task name                       wait time  sch delay   "
		"run time  state\n"
		"                        [tid/pid]                          (msec)     (msec)     "
		"(msec)\n"
		"--------------- ------  ------------------------------  ---------  ---------  "
		"---------  -----\n"
		"   70958.029311 [0000]  migration/0[18]                     3.000      0.017      "
		"0.050      S\n"
		"   70958.031107 [0000]  <idle>                              0.000      0.000      "
		"1.796\n"
		"   70958.031192 [0012]  fuzz\"?[4823/4819]                   0.000      0.000     "
		" "
		"0.084      R\n"
		"   70958.031200 [0012]  fuzz_named_codes[4819]              0.004      0.005      "
		"0.001      D\n");
	free(text);
}

/* A CPU's slices do not overlap, nor do a thread's; names are there before, and again if they change. */
TEST(trace_of_stints)
{
	char *text = NULL;
	size_t nr = 0, i;
	struct trace trace = {.out = open_memstream(&text, &nr)};

	for (i = 0; i < ARRAY_SIZE(stints); i++)
		CHECK_EQ(trace_add(&trace, &stints[i]), 0);
	trace_end(&trace);
	(void)fclose(trace.out);
	CHECK_STR(
		text,
		"{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n"
		"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 2147483647, \"tid\": 0, "
		"\"args\": {\"name\": \"CPUs\"}},\n"
		"{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 2147483647, \"tid\": 0, "
		"\"args\": {\"name\": \"CPU 0\"}},\n"
		"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 18, \"tid\": 0, "
		"\"args\": {\"name\": \"migration/0\"}},\n"
		"{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 18, \"tid\": 18, "
		"\"args\": {\"name\": \"migration/0\"}},\n"
		"{\"ph\": \"X\", \"pid\": 2147483647, \"tid\": 0, \"ts\": 70958029261.000, "
		"\"dur\": 50.000, \"name\": \"migration/0\", \"args\": {\"pid\": 18, \"tid\": 18, "
		"\"delay_us\": 17.000, \"wait_us\": 3000.000, \"state\": \"S\"}},\n"
		"{\"ph\": \"X\", \"pid\": 18, \"tid\": 18, \"ts\": 70958029244.000, "
		"\"dur\": 17.000, \"name\": \"runnable\"},\n"
		"{\"ph\": \"X\", \"pid\": 18, \"tid\": 18, \"ts\": 70958029261.000, "
		"\"dur\": 50.000, \"name\": \"running\", \"args\": {\"cpu\": 0, \"left\": "
		"\"S\"}},\n"
		"{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 2147483647, \"tid\": 12, "
		"\"args\": {\"name\": \"CPU 12\"}},\n"
		"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 4819, \"tid\": 0, "
		"\"args\": {\"name\": \"fuzz\\\"\\u001b\"}},\n"
		"{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 4819, \"tid\": 4823, "
		"\"args\": {\"name\": \"fuzz\\\"\\u001b\"}},\n"
		"{\"ph\": \"X\", \"pid\": 2147483647, \"tid\": 12, \"ts\": 70958031107.878, "
		"\"dur\": 84.123, \"name\": \"fuzz\\\"\\u001b\", \"args\": {\"pid\": 4819, "
		"\"tid\": 4823, \"delay_us\": 0.000, \"wait_us\": 0.000, \"state\": \"R\"}},\n"
		"{\"ph\": \"X\", \"pid\": 4819, \"tid\": 4823, \"ts\": 70958031107.878, "
		"\"dur\": 84.123, \"name\": \"running\", \"args\": {\"cpu\": 12, \"left\": "
		"\"R\"}},\n"
		"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 4819, \"tid\": 0, "
		"\"args\": {\"name\": \"fuzz_named_codes\"}},\n"
		"{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 4819, \"tid\": 4819, "
		"\"args\": {\"name\": \"fuzz_named_codes\"}},\n"
		"{\"ph\": \"X\", \"pid\": 2147483647, \"tid\": 12, \"ts\": 70958031198.999, "
		"\"dur\": 1.001, \"name\": \"fuzz_named_codes\", \"args\": {\"pid\": 4819, "
		"\"tid\": 4819, \"delay_us\": 5.000, \"wait_us\": 4.000, \"state\": \"D\"}},\n"
		"{\"ph\": \"X\", \"pid\": 4819, \"tid\": 4819, \"ts\": 70958031194.999, "
		"\"dur\": 4.000, \"name\": \"runnable\"},\n"
		"{\"ph\": \"X\", \"pid\": 4819, \"tid\": 4819, \"ts\": 70958031198.999, "
		"\"dur\": 1.001, \"name\": \"running\", \"args\": {\"cpu\": 12, \"left\": "
		"\"D\"}}\n"
		"]}\n");
	free(text);
}

TEST(trace_of_nothing)
{
	char *text = NULL;
	size_t nr = 0;
	struct trace trace = {.out = open_memstream(&text, &nr)};

	trace_end(&trace);
	(void)fclose(trace.out);
	CHECK_STR(text, "{\"traceEvents\": []}\n");
	free(text);
}

TEST(trace_without_memory)
{
	size_t nth;
	int err = -ENOMEM;

	for (nth = 1; err; nth++) {
		struct trace trace = {.out = fopen("/dev/null", "we")};

		CHECK(trace.out != NULL);
		(void)setvbuf(trace.out, NULL, _IONBF, 0);
		(void)test_fail_allocation(nth);
		err = trace_add(&trace, &stints[0]);
		(void)test_fail_allocation(0);
		CHECK(!err || err == -ENOMEM);
		trace_end(&trace);
		(void)fclose(trace.out);
	}
	CHECK(nth > 3);
}
