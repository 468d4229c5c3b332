/*
 * One profile through each writer, compared with tests/golden/. `make bless` runs this with BLESS
 * set, and then what is written now becomes what is right.
 */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/folded.h"
#include "format/report.h"
#include "unit/make_profile.h"

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
	(void)fread(golden, 1, (1 << 20) - 1, file);
	if (strcmp(golden, text) != 0)
		fprintf(stderr, "%s is no longer what is written:\n%s", path, text);
	CHECK(!strcmp(golden, text));
}

/* Compares what was written to a stream of open_memstream() with tests/golden/NAME. */
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

static void golden_folded(const char *name, struct folded_options options)
{
	struct profile *profile = golden_profile();
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(folded_write(profile, &options, out), 0);
	check_golden(name, out, &text);
	profile_free(profile);
}

static void golden_report(const char *name, struct report_options options)
{
	struct profile *profile = golden_profile();
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(report_write(profile, &options, out), 0);
	check_golden(name, out, &text);
	profile_free(profile);
}

TEST(golden_folded_plain)
{
	golden_folded("folded.txt", (struct folded_options){.labels = LABEL_COMM});
}

TEST(golden_folded_all)
{
	golden_folded("folded_all.txt",
		      (struct folded_options){.labels = LABEL_COMM | LABEL_PID | LABEL_TID |
							LABEL_CPU | LABEL_CGROUP,
					      .delimited = true,
					      .annotate = true});
}

TEST(golden_report_60)
{
	golden_report("report_60.txt", (struct report_options){.labels = LABEL_COMM, .width = 60});
}

TEST(golden_report_100)
{
	golden_report("report_100.txt", (struct report_options){.labels = LABEL_COMM | LABEL_CPU,
								.width = 100,
								.threshold = 1});
}

TEST(golden_report_ascii)
{
	golden_report("report_ascii.txt", (struct report_options){.labels = LABEL_COMM | LABEL_TID,
								  .nr_functions = 5,
								  .ascii = true});
}
