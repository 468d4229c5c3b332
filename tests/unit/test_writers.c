/*
 * One profile through each writer, compared with tests/golden/. `make bless` runs this with BLESS
 * set, which makes the current output the expected one.
 */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/flame/flame.h"
#include "format/folded/folded.h"
#include "format/format.h"
#include "format/gzip.h"
#include "format/pprof/pprof.h"
#include "unit/make_profile.h"
#include "view/categories.h"
#include "view/report.h"

static const char *const lines[] = {
	"redis-server;_start;libc.so.6!__libc_start_main;main;aeMain;aeProcessEvents;"
	"readQueryFromClient;processInputBuffer;processCommand;call;setCommand;dictFind 412",
	"redis-server;_start;libc.so.6!__libc_start_main;main;aeMain;aeProcessEvents;"
	"readQueryFromClient;processInputBuffer;processCommand;call;setCommand 203",
	"redis-server;_start;libc.so.6!__libc_start_main;main;aeMain;aeProcessEvents;"
	"readQueryFromClient;processInputBuffer;processCommand;call;getCommand;dictFind@2 355",
	"redis-server;_start;libc.so.6!__libc_start_main;main;aeMain;aeProcessEvents;"
	"readQueryFromClient;libc.so.6!read;entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];"
	"ksys_read_[k];vfs_read_[k];sock_read_iter_[k];tcp_recvmsg_[k] 377",
	"redis-server;_start;libc.so.6!__libc_start_main;main;aeMain;beforeSleep;"
	"handleClientsWithPendingWrites;libc.so.6!write;entry_SYSCALL_64_after_hwframe_[k];"
	"do_syscall_64_[k];ksys_write_[k];vfs_write_[k];sock_write_iter_[k];tcp_sendmsg_[k];"
	"tcp_write_xmit_[k];__tcp_transmit_skb_[k];ip_queue_xmit_[k] 623",
	"redis-server;_start;libc.so.6!__libc_start_main;main;aeMain;aeApiPoll;"
	"entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];do_epoll_wait_[k] 44",
	"redis-server;_start;libc.so.6!__libc_start_main;main;aeMain;serverCron 3",
	"redis-server;_start;libc.so.6!__libc_start_main;main;aeMain;clientsCron 4",
	"jemalloc_bg_thd;libc.so.6!clone3;libc.so.6!start_thread;libjemalloc.so.2!;"
	"libjemalloc.so.2!@1;libjemalloc.so.2!@2 31",
	"my app;_start;main;sort(std::vector<int>&)@1;sort(std::vector<int>&)@2;"
	"sort(std::vector<int>&)@3;"
	"void std::__introsort_loop<__gnu_cxx::__normal_iterator<Größe*, std::vector<Größe> >, "
	"long, "
	"__gnu_cxx::__ops::_Iter_less_iter>(Größe*, Größe*, long) 588",
	"my app;_start;main;sort(std::vector<int>&)@1 107",
	"kworker/0:1;[missed];ret_from_fork_[k];kthread_[k];worker_thread_[k] 12",
	"java;[missed] 54",
	"java;! 17",
	";main 1",
};

/* Inlined functions, source lines, JIT-compiled code, deleted files; and the kernel. */
static const char *const code_lines[] = {
	"server;_start;main;handle{/src/server/handle.c:120};parse{/src/server/parse.h:44}_[i];"
	"skip_blank{/src/server/parse.h:12}_[i] 300",
	"server;_start;main;handle{/src/server/handle.c:120};parse{/src/server/parse.h:44}_[i] 90",
	"server;_start;main;handle{/src/server/handle.c:131};libc.so.6!write;"
	"entry_SYSCALL_64_after_hwframe_[k];ksys_write_[k];fdget_pos_[i] 120",
	"server;_start;main;reply{/src/server/reply.c:7};copy_[i] 61",
	"server;_start;main;reply;copy 9",
	"node;_start;node!uv_run;LazyCompile:~run app.js:5_[j];Builtin:Map_[j];inner_[i] 210",
	"node;_start;node!uv_run;!_[j] 4",
	"worker;~plugin.so!;~plugin.so!@1;memcpy 77",
	"worker;~plugin.so!exported 8",
	"worker;other.so!;! 6",
	"worker;main;{/src/nameless.c:3} 5",
	"worker;[missed];kthread_[k] 2",
};

static struct profile *golden_code(void)
{
	struct profile *profile = profile_new();
	struct profile_origin origin = {
		.period = 10000000, .time_ns = 1700000000123456789, .duration_ns = 9000000000};
	size_t i;

	for (i = 0; i < sizeof(code_lines) / sizeof(code_lines[0]); i++)
		(void)make_sample(profile, code_lines[i]);
	origin.event = (uint32_t)profile_add_string(profile, "cpu-clock");
	origin.unit = (uint32_t)profile_add_string(profile, "nanoseconds");
	profile_set_origin(profile, &origin);
	return profile;
}

static struct profile *golden_profile(void)
{
	struct profile *profile = profile_new();
	struct sample_labels labels = {0};
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		labels.pid = 1000 + (int32_t)strlen(lines[i]) % 3;
		labels.tid = labels.pid + (int32_t)i % 2;
		labels.cpu = (int32_t)i % 2;
		labels.cgroup = (uint32_t)profile_add_string(
			profile, i % 2 ? "/system.slice/redis.service" : "/");
		(void)make_labelled(profile, labels, lines[i]);
	}
	return profile;
}

static void bless(const char *path, const char *text)
{
	cleanup_file FILE *file = fopen(path, "w");

	CHECK(file && fputs(text, file) >= 0);
}

static void compare(const char *path, const char *text)
{
	cleanup_file FILE *file = fopen(path, "r");
	cleanup_free char *golden = calloc(1, 1 << 20);

	CHECK(file != NULL && golden != NULL);
	(void)!fread(golden, 1, (1 << 20) - 1, file);
	if (strcmp(golden, text) != 0)
		fprintf(stderr, "%s is no longer what is written:\n%s", path, text);
	CHECK(!strcmp(golden, text));
}

/* Compares the output of an open_memstream() stream with tests/golden/NAME. */
static void check_golden(const char *name, FILE *out, char **text)
{
	char path[128];

	(void)fclose(out);
	(void)snprintf(path, sizeof(path), "tests/golden/%s", name);
	if (getenv("BLESS"))
		bless(path, *text);
	else
		compare(path, *text);
	free(*text);
}

/* Frees the profile, as the next two do. */
static void golden_folded(const char *name, struct profile *profile, struct format_options options)
{
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(folded_write(profile, &options, out), 0);
	check_golden(name, out, &text);
	profile_free(profile);
}

static void golden_report(const char *name, struct profile *profile, struct format_options options)
{
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(format_by_name("report")->write(profile, &options, out), 0);
	check_golden(name, out, &text);
	profile_free(profile);
}

/* Sixteen bytes per line of the uncompressed file. */
static void write_hex(const uint8_t *bytes, size_t nr, FILE *out)
{
	size_t i, k;

	for (i = 0; i < nr; i += 16) {
		for (k = i; k < i + 16; k++)
			if (k < nr)
				(void)fprintf(out, "%02x ", bytes[k]);
			else
				(void)fputs("   ", out);
		(void)putc(' ', out);
		for (k = i; k < i + 16 && k < nr; k++)
			(void)putc(bytes[k] >= ' ' && bytes[k] < 0x7f ? bytes[k] : '.', out);
		(void)putc('\n', out);
	}
}

static void golden_pprof(const char *name, struct profile *profile, struct format_options options)
{
	cleanup_free char *packed = NULL;
	cleanup_free uint8_t *bytes = NULL;
	char *text = NULL;
	size_t nr, nr_text;
	FILE *stream = open_memstream(&packed, &nr), *out;

	CHECK_EQ(pprof_write(profile, &options, stream), 0);
	(void)fclose(stream);
	stream = fmemopen(packed, nr, "r");
	CHECK_EQ(gzip_read(stream, 1 << 20, &bytes, &nr), 0);
	(void)fclose(stream);
	out = open_memstream(&text, &nr_text);
	write_hex(bytes, nr, out);
	check_golden(name, out, &text);
	profile_free(profile);
}

static void golden_speedscope(const char *name, struct profile *profile, unsigned labels)
{
	const struct format_options options = {.labels = labels};
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(speedscope_write(profile, &options, out), 0);
	check_golden(name, out, &text);
	profile_free(profile);
}

TEST(golden_speedscope_plain)
{
	golden_speedscope("speedscope.txt", golden_profile(), LABEL_COMM | LABEL_PID);
}

TEST(golden_speedscope_code)
{
	golden_speedscope("speedscope_code.txt", golden_code(), LABEL_COMM);
}

TEST(golden_folded_plain)
{
	golden_folded("folded.txt", golden_profile(),
		      (struct format_options){.labels = LABEL_COMM});
}

TEST(golden_folded_all)
{
	golden_folded("folded_all.txt", golden_profile(),
		      (struct format_options){.labels = LABEL_COMM | LABEL_PID | LABEL_TID |
							LABEL_CPU | LABEL_CGROUP,
					      .delimited = true,
					      .annotate = true});
}

TEST(golden_report_60)
{
	golden_report("report_60.txt", golden_profile(),
		      (struct format_options){.labels = LABEL_COMM, .width = 60});
}

TEST(golden_report_100)
{
	golden_report("report_100.txt", golden_profile(),
		      (struct format_options){
			      .labels = LABEL_COMM | LABEL_CPU,
			      .width = 100,
			      .report = &(struct report_style){.paths.has_threshold = true,
							       .paths.threshold = 1},
		      });
}

TEST(golden_report_ascii)
{
	golden_report("report_ascii.txt", golden_profile(),
		      (struct format_options){
			      .labels = LABEL_COMM | LABEL_TID,
			      .ascii = true,
			      .report = &(struct report_style){.max_rows = 5},
		      });
}

TEST(golden_report_callee)
{
	golden_report("report_callee.txt", golden_profile(),
		      (struct format_options){
			      .labels = LABEL_COMM,
			      .color = true,
			      .report = &(struct report_style){.paths.order = REPORT_CALLEE,
							       .paths.has_threshold = true,
							       .paths.threshold = 2,
							       .paths.max_branches = 3,
							       .sort_by_total = true,
							       .least_percent = 20},
		      });
}

TEST(golden_report_fractal)
{
	golden_report("report_fractal.txt", golden_profile(),
		      (struct format_options){
			      .labels = LABEL_COMM,
			      .report = &(struct report_style){.paths.form = REPORT_FRACTAL,
							       .paths.has_threshold = true,
							       .paths.threshold = 10,
							       .max_rows = 1},
		      });
}

TEST(golden_report_flat)
{
	golden_report("report_flat.txt", golden_profile(),
		      (struct format_options){
			      .labels = LABEL_COMM,
			      .report = &(struct report_style){.paths.form = REPORT_FLAT,
							       .paths.has_threshold = true,
							       .paths.threshold = 5,
							       .paths.max_branches = 3,
							       .max_rows = 4,
							       .groups = {GROUP_COMM, GROUP_KIND,
									  GROUP_MODULE},
							       .nr_groups = 3},
		      });
}

TEST(golden_report_folded)
{
	golden_report("report_folded.txt", golden_code(),
		      (struct format_options){
			      .labels = LABEL_COMM,
			      .lines = true,
			      .report = &(struct report_style){.paths.form = REPORT_FOLDED,
							       .max_rows = 5,
							       .groups = {GROUP_LINE, GROUP_CPU},
							       .nr_groups = 2},
		      });
}

/* With the built-in kernel table; frees the profile. */
static void golden_rows(const char *name, struct profile *profile, const char *format)
{
	struct categories *categories = NULL;
	const int err = categories_built_in("kernel", &categories, NULL);
	const struct format_options options = {
		.labels = LABEL_COMM,
		.categories = categories,
		.report = &(struct report_style){.paths.form = REPORT_GRAPH,
						 .paths.has_threshold = true,
						 .paths.threshold = 10}};
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(err, 0);
	CHECK_EQ(format_by_name(format)->write(profile, &options, out), 0);
	check_golden(name, out, &text);
	categories_free(categories);
	profile_free(profile);
}

TEST(golden_report_categories)
{
	golden_rows("report_categories.txt", golden_profile(), "report");
}

TEST(golden_report_json)
{
	golden_rows("report_json.txt", golden_code(), "json");
}

TEST(golden_report_csv)
{
	golden_rows("report_csv.txt", golden_code(), "csv");
}

TEST(golden_markdown)
{
	golden_rows("markdown.txt", golden_profile(), "md");
}

TEST(golden_folded_code)
{
	golden_folded("folded_code.txt", golden_code(),
		      (struct format_options){.labels = LABEL_COMM, .lines = true});
}

TEST(golden_folded_code_annotated)
{
	golden_folded("folded_code_annotated.txt", golden_code(),
		      (struct format_options){.labels = LABEL_COMM, .annotate = true});
}

TEST(golden_report_code)
{
	golden_report("report_code.txt", golden_code(),
		      (struct format_options){.labels = LABEL_COMM, .lines = true, .width = 80});
}

TEST(golden_pprof_plain)
{
	golden_pprof("pprof.txt", golden_profile(),
		     (struct format_options){.labels = LABEL_COMM | LABEL_CPU});
}

TEST(golden_pprof_code)
{
	golden_pprof("pprof_code.txt", golden_code(),
		     (struct format_options){.labels = LABEL_COMM});
}
