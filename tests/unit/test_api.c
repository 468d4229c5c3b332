/* The answers of the server over a store: all paths, malformed parameters, hostile names; health and metrics. */
#include "serve/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "serve/status.h"
#include "store/store.h"
#include "unit/folder.h"
#include "unit/make_profile.h"
#include "unit/pprof_fixture.h"
#include "unit/test.h"

#define SECOND 1000000000ULL
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define BEGIN  (1700000000ULL / 3600 * HOUR) /* a full hour */
#define NOW    (BEGIN + 10 * MINUTE)

#define SCRIPT "<script>alert(1)</script>"

struct answered {
	struct http_response head;
	char *body;
	size_t nr;
};

static void answered_clear(struct answered *answered)
{
	free(answered->body);
}

/* Epochs of a length; of those before, as old as `limits` says, only minutes and hours are left. */
static void make_store_of(uint64_t begin_ns, uint64_t length_ns, const struct store_limits *limits)
{
	struct store *store = NULL;
	struct profile *profile = make_profile("redis;main;get 5\n"
					       "redis;main;libc.so!read;sys_read_[k] 3\n"
					       "" SCRIPT ";main;" SCRIPT " 2\n");
	uint64_t at;

	CHECK_EQ(store_open_writer(in_folder("store"), &store, NULL), 0);
	for (at = begin_ns; at + length_ns <= NOW; at += length_ns) {
		const struct store_epoch epoch = {at, at + length_ns, .period_ns = 1,
						  .measured_ns = length_ns};

		CHECK_EQ(store_append(store, &epoch, profile, NULL), 0);
	}
	while (limits && store_expire(store, limits, NOW, NULL) > 0)
		;
	store_close(store);
	profile_free(profile);
}

/* Ten minutes of epochs of 10 s. */
static void make_store(void)
{
	make_store_of(BEGIN, 10 * SECOND, NULL);
}

static struct answered ask_with(const struct status *status, const char *target)
{
	const struct api api = {
		.path = in_folder("store"),
		.wall_ns = NOW,
		.now_ns = 1000 * SECOND,
		.store_bytes = 4096,
		.status = status,
	};
	struct http_request request = {.host = NULL};
	struct answered answered = {.body = NULL};
	const struct api_route *route;
	FILE *body = open_memstream(&answered.body, &answered.nr);

	CHECK_EQ(http_request_parse(&request, target), 0);
	route = api_find(request.path);
	CHECK(route && route->answer);
	CHECK_EQ(api_answer(route, &api, &request, &answered.head, body), 0);
	CHECK_EQ(fclose(body), 0);
	return answered;
}

static struct answered ask(const char *target)
{
	return ask_with(NULL, target);
}

static void check_body(const char *target, int status, const char *part)
{
	cleanup(answered_clear) struct answered answered = ask(target);

	CHECK_EQ(answered.head.status, status);
	if (!strstr(answered.body, part))
		CHECK_STR(answered.body, part);
}

TEST(parts_of_the_page_are_assets)
{
	char *page;
	size_t nr;
	FILE *out = open_memstream(&page, &nr);

	CHECK_EQ(api_find("/")->write(out), 0);
	CHECK_EQ(fclose(out), 0);
	CHECK(strstr(page, "<script src=\"/stook.js\"></script>") != NULL);
	free(page);
	CHECK(api_find("/")->is_public);
	CHECK(strstr(api_find("/stook.js")->asset, "class App") != NULL);
	CHECK(api_find("/stook.css")->asset != NULL);
	CHECK(!api_find("/../etc/passwd"));
	CHECK(!api_find(""));
	CHECK(!api_find("/api"));
}

TEST(each_question_has_an_answer)
{
	enter_folder();
	make_store();
	check_body("/api/store", 200, "\"red\": null");
	check_body("/api/labels", 200, "\"redis\"");
	check_body("/api/series", 200, "\"points\": 360");
	check_body("/api/series?by=comm&from=-10m", 200,
		   "{\"name\": \"redis\", \"total\": 480, \"amounts\": [8,8,");
	check_body("/api/series?by=comm&from=-10m&top=1", 200, "\"rest\": [2,2,");
	check_body("/api/series?by=category&from=-10m", 200, "\"name\": \"");
	check_body("/api/series?by=comm&where=comm=redis", 200, "\"rest\": [0,0,");
	check_body("/api/profile", 200, "{\"about\":{");
	check_body("/api/profile?format=folded&where=comm=redis", 200, "redis;main;get 300");
	check_body("/api/profile?format=json&categories=kernel", 200, "{");
	check_body("/api/diff?from=-5m", 200, "\"difference\":{");
	check_body("/api/diff?from=-5m&format=json&before_from=-10m&before_to=-5m", 200,
		   "\"least_sigma\"");
	check_body("/api/regressions", 404, "too little time");
	check_body("/healthz", 200, "ok\n");
	check_body("/metrics", 200, "\nstook_store_blocks{length=\"epoch\"} 60\n");
	leave_folder();
}

static void check_series(uint64_t from_ns, uint64_t to_ns, const char *head, const char *amounts)
{
	char target[128];

	(void)snprintf(target, sizeof(target), "/api/series?by=comm&top=1&from=@%llu&to=@%llu",
		       from_ns / SECOND, to_ns / SECOND);
	check_body(target, 200, head);
	check_body(target, 200, amounts);
}

TEST(a_point_of_a_series_is_as_long_as_the_blocks)
{
	const struct store_limits no_epochs = {.epochs_ns = 1}, hours_only = {1, 1};

	enter_folder();
	make_store_of(BEGIN - 2 * HOUR, 10 * SECOND, &no_epochs);
	check_series(BEGIN - 10 * MINUTE, BEGIN, "\"step\": 60.000, \"points\": 10,",
		     "[48,48,48,48,48,48,48,48,48,48]");
	leave_folder();
	enter_folder();
	make_store_of(BEGIN - 2 * HOUR, 10 * SECOND, &hours_only);
	check_series(BEGIN - HOUR, BEGIN, "\"step\": 3600.000, \"points\": 1,", "[2880]");
	check_series(BEGIN - HOUR - 20 * MINUTE, BEGIN - HOUR - 10 * MINUTE,
		     "\"step\": 3600.000, \"points\": 1,", "[2880]");
	leave_folder();
	enter_folder();
	make_store_of(BEGIN, 30 * SECOND, NULL);
	check_series(BEGIN, BEGIN + 5 * MINUTE, "\"step\": 60.000, \"points\": 5,",
		     "[16,16,16,16,16]");
	leave_folder();
	/* Each point has whole blocks: it says how much of them. */
	enter_folder();
	make_store_of(BEGIN, 40 * SECOND, NULL);
	check_series(BEGIN, BEGIN + 5 * MINUTE, "\"measured\": [80,40,80,40,80],",
		     "[16,8,16,8,16]");
	check_body("/api/series?from=-5m&where=comm=nobody", 200, "\"covered\": [1,1,1,1,1]");
	leave_folder();
	/* While the host slept. */
	enter_folder();
	make_store_of(BEGIN - 20 * MINUTE, 30 * MINUTE, NULL);
	check_series(BEGIN - 30 * MINUTE, BEGIN + 10 * MINUTE, "\"step\": 60.000, \"points\": 40,",
		     "\"total\": 8,");
	leave_folder();
}

TEST(a_series_begins_with_whole_points)
{
	enter_folder();
	make_store_of(BEGIN + 3 * SECOND, 10 * SECOND, NULL);
	check_series(BEGIN + MINUTE, BEGIN + MINUTE + 30 * SECOND,
		     "\"step\": 10.000, \"points\": 3,", "\"total\": 24, \"amounts\": [8,8,8]");
	leave_folder();
}

TEST(a_profile_is_written_in_each_format)
{
	static const char *const formats[] = {"pprof", "perf",	     "folded", "report", "html",
					      "svg",   "speedscope", "json",   "csv",	 "md"};
	char target[64];
	size_t i;

	enter_folder();
	make_store();
	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		cleanup(answered_clear) struct answered answered = {.body = NULL};

		(void)snprintf(target, sizeof(target), "/api/profile?format=%s", formats[i]);
		answered = ask(target);
		CHECK_EQ(answered.head.status, 200);
		CHECK(answered.nr > 50);
		CHECK(!strncmp(answered.head.file, "stook.", 6));
	}
	leave_folder();
}

/* The samples in the profile of the last seconds, of which each epoch has ten. */
static uint64_t nr_in_last(unsigned seconds)
{
	cleanup(answered_clear) struct answered answered = {.body = NULL};
	char target[64];
	struct profile *profile;
	struct format_notes notes;
	struct file file;
	uint64_t nr;

	(void)snprintf(target, sizeof(target), "/debug/pprof/profile?seconds=%u", seconds);
	answered = ask(target);
	CHECK_EQ(answered.head.status, 200);
	file = inflate_file(answered.body, answered.nr);
	profile = parsed(file.bytes, file.nr, &notes);
	nr = profile_total(profile);
	profile_free(profile);
	free(file.bytes);
	return nr;
}

TEST(pprof_is_of_the_last_seconds)
{
	static const uint64_t lengths_ns[] = {10 * SECOND, 9999 * SECOND / 1000,
					      10001234567 /* ns */};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lengths_ns); i++) {
		enter_folder();
		make_store_of(BEGIN + 123456, lengths_ns[i], NULL);
		CHECK_EQ(nr_in_last(1), 10);
		CHECK_EQ(nr_in_last(10), 10);
		CHECK_EQ(nr_in_last(14), 10);
		CHECK_EQ(nr_in_last(16), 20);
		CHECK_EQ(nr_in_last(30), 30);
		CHECK_EQ(nr_in_last(99999), 10 * (10 * MINUTE / lengths_ns[i] - (i == 0)));
		leave_folder();
	}
}

TEST(the_last_epoch_can_be_asked_for)
{
	static const uint64_t begins_ns[] = {BEGIN, BEGIN + 1, BEGIN + 400000, BEGIN + 999999};
	char *epoch, target[128], from[32], to[32];
	struct answered answered;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(begins_ns); i++) {
		enter_folder();
		make_store_of(begins_ns[i], 9999123456, NULL);
		answered = ask("/api/store");
		epoch = strstr(answered.body, "\"epoch\": ");
		CHECK(epoch && sscanf(epoch, "\"epoch\": {\"from\": %31[0-9.], \"to\": %31[0-9.]}",
				      from, to) == 2);
		answered_clear(&answered);
		(void)snprintf(target, sizeof(target),
			       "/api/profile?format=folded&where=comm=redis&from=@%s&to=@%s", from,
			       to);
		check_body(target, 200, "redis;main;get 5\n");
		leave_folder();
	}
}

TEST(bad_parameters_are_named)
{
	enter_folder();
	make_store();
	check_body("/api/profile?from=yesterday", 400, "bad value 'yesterday' for 'from'");
	check_body("/api/profile?from=-1h&to=-2h", 400, "is not before");
	check_body("/api/profile?format=exe", 400, "bad value 'exe' for 'format'");
	check_body("/api/profile?where=((", 400, "\"error\": \"");
	check_body("/api/profile?by=", 200, "{");
	check_body("/api/profile?by=comm,,pid", 400, "a label is empty");
	check_body("/api/profile?by=nothing", 404, "no sample has the label 'nothing'");
	check_body("/api/profile?value=nothing", 400, "no value 'nothing'");
	check_body("/api/profile?categories=/etc/passwd", 400, "kernel or waits");
	check_body("/api/profile?from=-2h&to=-90m&format=json", 404, "no samples from");
	check_body("/api/profile?from=-2h&to=-90m", 200, "{\"about\":");
	check_body("/api/series?from=-2h&to=-90m", 200, "\"series\": []");
	check_body("/api/series?by=comm,pid", 400, "one label, or category");
	check_body("/api/series?top=65", 400, "a number up to 64");
	check_body("/api/regressions?format=svg", 400, "report, md, csv or json");
	check_body("/debug/pprof/profile?seconds=0", 400, "at least 1");
	check_body("/debug/pprof/profile?seconds=99999999", 400, "a number up to");
	leave_folder();
}

/* In JSON for scripts, names are strings; only pages have markup. */
TEST(names_do_not_become_markup)
{
	struct answered answered;

	enter_folder();
	make_store();
	answered = ask("/api/profile?format=html");
	CHECK(!strstr(answered.body, SCRIPT));
	answered_clear(&answered);
	answered = ask("/api/profile?format=svg");
	CHECK(!strstr(answered.body, SCRIPT));
	answered_clear(&answered);
	answered = ask("/api/series?by=comm");
	CHECK(strstr(answered.body, "{\"name\": \"" SCRIPT "\"") != NULL);
	CHECK_STR(answered.head.type, "application/json");
	answered_clear(&answered);
	answered = ask("/api/profile?by=" SCRIPT);
	CHECK_EQ(answered.head.status, 404);
	CHECK_STR(answered.head.type, "application/json");
	answered_clear(&answered);
	leave_folder();
}

/* Questions take a process, and places in a queue. */
TEST(only_those_who_may_look_can_ask)
{
	static const char *const paths[] = {"/",
					    "/stook.js",
					    "/stook.css",
					    "/debug/pprof/",
					    "/debug/pprof/profile",
					    "/api/store",
					    "/api/labels",
					    "/api/series",
					    "/api/profile",
					    "/api/diff",
					    "/api/regressions",
					    "/metrics",
					    "/healthz"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		const struct api_route *route = api_find(paths[i]);

		CHECK_EQ(route->is_public, !route->answer);
		CHECK_EQ(!route->answer, route->asset || route->write);
	}
}

/* --- health ----------------------------------------------------------------------------------- */

TEST(a_store_that_cannot_be_read_is_red)
{
	enter_folder();
	check_body("/healthz", 503, "cannot open store");
	check_body("/metrics", 200, "\nstook_healthy 0\n");
	check_body("/api/profile", 503, "cannot open store");
	check_body("/api/store", 503, "cannot open store");
	make_file(in_folder("store"),
		  "not a store, but a text that is long enough to look like one");
	check_body("/healthz", 503, "store");
	leave_folder();
}

static void check_health(const struct status *status, uint64_t last_to_ns, uint64_t wall_ns,
			 uint64_t now_ns, const char *wanted)
{
	const struct store_extent extent = {.last_from_ns = last_to_ns - 10 * SECOND,
					    .last_to_ns = last_to_ns};
	const struct health health = health_of(status, &extent, NULL, wall_ns, now_ns);

	CHECK_STR(health.why, wanted);
	CHECK_EQ(health.is_red, *wanted != '\0');
}

TEST(health_is_red_when_data_stop)
{
	struct status status = {.started_ns = SECOND, .epoch_ns = 10 * SECOND};

	check_health(NULL, BEGIN, BEGIN + 40 * SECOND, 0, "");
	check_health(NULL, BEGIN, BEGIN + 41 * SECOND, 0, "no epoch was stored for 41 s");
	check_health(NULL, BEGIN, BEGIN - 60 * SECOND, 0,
		     "the last epoch ends in the future: was the clock set back?");
	/* With an agent, the clock on the wall does not matter. */
	check_health(&status, BEGIN, 0, 30 * SECOND, "");
	check_health(&status, BEGIN, 0, 51 * SECOND, "no epoch was stored for 50 s");
	status.stored_ns = 100 * SECOND;
	check_health(&status, BEGIN, 0, 120 * SECOND, "");
	/* Epochs without samples are stored, too. */
	status.kept_ns = 80 * SECOND;
	check_health(&status, BEGIN, 0, 120 * SECOND, "");
	status.kept_ns = 60 * SECOND;
	check_health(&status, BEGIN, 0, 120 * SECOND, "all samples were lost for 60 s");
	status.is_paused = true;
	check_health(&status, BEGIN, 0, 120 * SECOND, "");
	check_health(&status, BEGIN, 0, 200 * SECOND,
		     "the agent is paused; no epoch was stored for 100 s");
}

/* Under a small budget, the epochs of a minute are stored together. */
TEST(health_goes_by_the_interval_of_the_agent)
{
	struct status status = {
		.stored_ns = 100 * SECOND,
		.epoch_ns = 10 * SECOND,
		.store_interval_ns = 60 * SECOND,
	};

	check_health(&status, BEGIN, 0, 165 * SECOND, "");
	check_health(&status, BEGIN, 0, 190 * SECOND, "");
	check_health(&status, BEGIN, 0, 191 * SECOND, "no epoch was stored for 91 s");
	status.store_interval_ns = 1; /* less than an epoch is an epoch */
	check_health(&status, BEGIN, 0, 140 * SECOND, "");
	check_health(&status, BEGIN, 0, 141 * SECOND, "no epoch was stored for 41 s");
}

TEST(metrics_have_losses_and_walks_by_name)
{
	struct status status = {.entries = 10, .recorded = 7, .epoch_ns = SECOND};
	struct answered answered;

	enter_folder();
	make_store();
	status.lost[LOST_RING_FULL] = 3;
	status.user_walks_ns[WALK_COMPLETE] = 6 * SECOND;
	answered = ask_with(&status, "/metrics");
	CHECK(strstr(answered.body, "\nstook_entries_total 10\n") != NULL);
	CHECK(strstr(answered.body, "\nstook_samples_total{result=\"recorded\"} 7\n") != NULL);
	CHECK(strstr(answered.body, "\nstook_lost_samples_total{reason=\"ring_full\"} 3\n") !=
	      NULL);
	CHECK(strstr(answered.body,
		     "\nstook_walked_cpu_seconds_total{stack=\"user\",end=\"complete\"} 6\n") !=
	      NULL);
	CHECK(strstr(answered.body, "\nstook_store_bytes 4096\n") != NULL);
	answered_clear(&answered);
	leave_folder();
}

TEST(a_status_is_read_whole)
{
	struct shared_status shared = {0};
	struct status status = {.entries = 1}, read;

	CHECK_EQ(shared_status_init(&shared), 0);
	shared_status_write(&shared, &status);
	CHECK(shared_status_read(&shared, &read));
	CHECK_EQ(read.entries, 1);
	shared.page->version++; /* the writer died in the middle */
	CHECK(!shared_status_read(&shared, &read));
	shared_status_clear(&shared);
}

/* In the process that the agent forks for its server. */
static int look_at(const struct shared_status *shared)
{
	struct status read;
	unsigned char resident;

	if (mincore(shared->page, 1, &resident) == 0 || errno != ENOMEM)
		return 1;
	if (mprotect((void *)shared->view, 1, PROT_READ | PROT_WRITE) == 0 || errno != EACCES)
		return 2;
	return !shared_status_read(shared, &read) ? 3 : read.entries != 2 ? 4 : 0;
}

TEST(only_its_maker_writes_a_status)
{
	struct shared_status shared = {0};
	struct status status = {.entries = 1};
	int fds[2], end = -1;
	pid_t pid;
	char byte;

	CHECK_EQ(shared_status_init(&shared), 0);
	shared_status_write(&shared, &status);
	CHECK_EQ(pipe(fds), 0);
	pid = fork();
	if (pid == 0)
		_exit(read(fds[0], &byte, 1) == 1 ? look_at(&shared) : 5);
	status.entries = 2;
	shared_status_write(&shared, &status);
	CHECK_EQ(write(fds[1], "", 1), 1);
	CHECK_EQ(waitpid(pid, &end, 0), pid);
	CHECK_EQ(end, 0);
	CHECK_EQ(close(fds[0]) | close(fds[1]), 0);
	shared_status_clear(&shared);
}
