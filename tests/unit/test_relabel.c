/* agent/relabel: rules that keep, drop and replace. */
#include "agent/relabel.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "unit/test.h"

static struct relabel_rules rules;
static struct relabel_labels labels;

static uint32_t string(const char *text)
{
	return (uint32_t)profile_add_string(labels.profile, text);
}

/* A sample with these labels: comm=java, pid=42, cgroup=/kubepods/pod7, unit=web.service, process=java. */
static void begin(void)
{
	rules = (struct relabel_rules){0};
	labels = (struct relabel_labels){.profile = profile_new()};
	labels.sample = (struct sample_labels){
		.comm = string("java"), .pid = 42, .cgroup = string("/kubepods/pod7")};
	labels.set[0] = (struct set_label){.key = string("unit"), .text = string("web.service")};
	labels.set[1] = (struct set_label){.key = string("process"), .text = string("java")};
	labels.nr = 2;
}

static void end(void)
{
	relabel_rules_clear(&rules);
	profile_free(labels.profile);
}

static const char *text_of(const char *key)
{
	size_t i;

	for (i = 0; i < labels.nr; i++)
		if (!strcmp(profile_string(labels.profile, labels.set[i].key), key))
			return profile_string(labels.profile, labels.set[i].text);
	return "";
}

static int apply(const char *rule)
{
	struct error error = {0};

	CHECK_EQ(relabel_rules_add(&rules, rule, &error), 0);
	return relabel_rules_apply(&rules, &labels);
}

TEST(relabel_keeps_and_drops)
{
	static const struct {
		const char *rule;
		int kept;
	} cases[] = {
		{"keep comm=java", 1},
		{"keep comm=perl", 0},
		{"drop comm=java", 0},
		{"drop comm=perl", 1},
		{"keep pid=42", 1},
		{"drop cgroup~pod7", 0},
		{"drop unit", 0},
		{"keep pod", 0},
		{"drop unit~^web && comm=java", 0},
		{"keep  unit=web.service || pod", 1},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		begin();
		CHECK_EQ(apply(cases[i].rule), cases[i].kept);
		end();
	}
	begin();
	CHECK_EQ(relabel_rules_apply(&rules, &labels), 1);
	end();
}

TEST(relabel_replaces)
{
	begin();
	CHECK_EQ(apply("replace unit~^(.*)\\.service$ service.name=\\1"), 1);
	CHECK_STR(text_of("service.name"), "web");
	CHECK_EQ(apply("replace comm~a(.)(x)? both=<\\0,\\1,\\2,\\\\1>"), 1);
	CHECK_STR(text_of("both"), "<av,v,,\\1>");
	CHECK_EQ(apply("replace comm~. unit=a = b"), 1);
	CHECK_STR(text_of("unit"), "a = b");
	CHECK_EQ(apply("replace none~. unit=c"), 1); /* has no such label */
	CHECK_EQ(apply("replace comm~^x unit=c"), 1);
	CHECK_STR(text_of("unit"), "a = b");
	CHECK_EQ(apply("replace comm~. unit="), 1);
	CHECK_STR(text_of("unit"), "");
	CHECK_STR(text_of("process"), "java");
	CHECK_EQ(labels.nr, 3);
	/* Rules see what those before them have made. */
	CHECK_EQ(apply("drop service.name=web"), 0);
	end();
}

TEST(relabel_limits_what_it_makes)
{
	char rule[3000] = "replace comm~(.*) long=";
	size_t i;

	begin();
	for (i = strlen(rule); i < sizeof(rule) - 2; i += 2)
		memcpy(rule + i, "\\1", 2);
	CHECK_EQ(apply(rule), 1);
	CHECK_EQ(strlen(text_of("long")), 1024);
	labels.nr = LABEL_SET_MAX;
	for (i = 0; i < LABEL_SET_MAX; i++)
		labels.set[i] = labels.set[0];
	CHECK_EQ(apply("replace comm~. further=1"), 1);
	CHECK_EQ(labels.nr, LABEL_SET_MAX);
	end();
}

TEST(relabel_refuses_bad_rules)
{
	static const char *const bad[] = {
		"",
		"keep",
		"keep ",
		"forget comm=a",
		"keep comm=a b",
		"drop (comm=a",
		"replace",
		"replace ",
		"replace a",
		"replace a~b",
		"replace a~b c",
		"replace ~b c=d",
		"replace a~( c=d",
		"replace a~b =d",
		"replace a~b c d=e",
		"replace a~b comm=d",
		"replace a~b pid=d",
		"replace a~b cgroup=d",
	};
	struct error error = {0};
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_EQ(relabel_rules_add(&rules, bad[i], &error), -EINVAL);
	CHECK_EQ(rules.nr, 0);
	end();
}
