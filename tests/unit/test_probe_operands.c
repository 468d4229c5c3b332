/* cmd/probe_operands: valid operands of --weight, and where probes have them. */
#include "cmd/probe_operands.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "unit/test.h"

static struct probe probes[] = {
	{.kind = PROBE_USER, .name = "f"},
	{.kind = PROBE_USDT, .name = "gc:start", .arguments = "-4@$7 8@%rdi"},
};

static struct probe_list list = {.probes = probes, .nr_probes = ARRAY_SIZE(probes)};

static int parse(const char *text, struct probe_weight *ret)
{
	struct error error = {0};
	int err = probe_weight_parse(text, ret, &error);

	CHECK_EQ(error.code, err);
	return err;
}

static int find(const char *text, struct tally_fetch **ret)
{
	const struct probe_features features = {.has = {false}};
	struct probe_weight weight;
	struct error error = {0};

	*ret = NULL;
	CHECK_EQ(parse(text, &weight), 0);
	return probe_weight_find(&weight, &list, &features, ret, &error);
}

TEST(probe_weight_is_an_operand_and_perhaps_a_cast)
{
	struct probe_weight weight;

	CHECK_EQ(parse("arg2", &weight), 0);
	CHECK_EQ(weight.operand.argument, 2);
	CHECK_EQ(weight.bytes, 0);
	CHECK_EQ(parse("(int)retval", &weight), 0);
	CHECK_EQ(weight.operand.kind, TALLY_AT_RETURN);
	CHECK_EQ(weight.bytes, 4);
	CHECK(weight.is_signed);
	CHECK_EQ(parse("(u8)args.bytes", &weight), 0);
	CHECK_STR(weight.operand.field, "bytes");
	CHECK_EQ(weight.bytes, 1);
	CHECK(!weight.is_signed);
}

TEST(probe_weight_is_nothing_else)
{
	static const char *const bad[] = {
		"",	      "arg1 + 1",      "7",	"pid",	   "comm",	 "arg", "str(arg1)",
		"arg1, arg2", "(int)(u8)arg1", "-arg1", "latency", "arg1 + arg2"};
	struct probe_weight weight;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_EQ(parse(bad[i], &weight), -EINVAL);
}

#if defined(__x86_64__)
TEST(probe_weight_has_a_place_at_each_probe)
{
	struct tally_fetch *fetches;

	CHECK_EQ(find("arg1", &fetches), 0);
	CHECK_EQ(fetches[0].kind, TALLY_FETCH_REGISTER);
	CHECK_EQ(fetches[0].bytes, 8);
	CHECK_EQ(fetches[1].kind, TALLY_FETCH_CONSTANT);
	CHECK_EQ(fetches[1].bytes, 4);
	free(fetches);
	CHECK_EQ(find("(u16)arg2", &fetches), 0);
	CHECK_EQ(fetches[0].bytes, 2);
	CHECK_EQ(fetches[1].bytes, 2);
	free(fetches);
	CHECK_EQ(find("(long)arg1", &fetches), 0); /* wider than the argument */
	CHECK_EQ(fetches[1].bytes, 4);
	CHECK(fetches[1].is_signed);
	free(fetches);
}
#endif

TEST(probe_weight_that_a_probe_has_not)
{
	struct tally_fetch *fetches;

	CHECK_EQ(find("arg3", &fetches), -EINVAL); /* operand of the static probe */
	CHECK_EQ(find("args.bytes", &fetches), -EINVAL);
	CHECK_EQ(find("retval", &fetches), -EINVAL);
	probes[0].is_return = true;
	list.nr_probes = 1;
	CHECK_EQ(find("arg1", &fetches), -EINVAL);
	CHECK_EQ(find("retval", &fetches), 0);
	free(fetches);
	probes[0].is_return = false;
	list.nr_probes = ARRAY_SIZE(probes);
}
