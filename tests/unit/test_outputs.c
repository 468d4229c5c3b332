/* run/outputs: which labels a run has to keep for its outputs. */
#include "run/outputs.h"

#include "unit/test.h"

static bool keeps(const char *stdout_format, const char *path)
{
	const struct output_options options = {
		.stdout_format = stdout_format ? format_by_name(stdout_format) : NULL,
		.paths = {path},
		.nr_paths = path != NULL,
	};

	return outputs_keep_labels(&options);
}

TEST(outputs_keep_labels_for_other_programs)
{
	CHECK(!keeps(NULL, NULL));
	CHECK(!keeps("folded", NULL));
	CHECK(keeps("perf", NULL));
	CHECK(keeps(NULL, "out.pb.gz"));
	CHECK(!keeps(NULL, "out.html"));
	CHECK(!keeps("folded", "out.svg"));
	CHECK(keeps("folded", "out.perf"));
	CHECK(keeps("perf", "out.svg"));
	CHECK(keeps("perf", "/dev/stdout")); /* gets stdout's format */
	CHECK(!keeps(NULL, "/dev/stdout"));
}
