/* run/process_labels: when processes are asked, by helper processes, and what becomes of the answers. */
#include "run/process_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/labels.h"
#include "base/array.h"
#include "base/clock.h"
#include "proc/process_info.h"
#include "unit/published_context.h"

struct host {
	struct process_labels *labels;
	struct worker *worker;
	struct profile *profile;
	struct process_names names;
	uint64_t now_ns;
};

static struct host open_host(void)
{
	struct error error = {0};
	struct host host = {process_labels_new(), worker_new(&error), profile_new(), {0}, 1};
	const struct sample_labels labels = {.pid = getpid()};

	CHECK(host.labels && host.worker && host.profile);
	CHECK(profile_add_sample(host.profile, &labels, NULL, 0, 0, 7) >= 0);
	return host;
}

static void close_host(struct host *host)
{
	process_names_clear(&host->names);
	profile_free(host->profile);
	worker_free(host->worker);
	process_labels_free(host->labels);
}

/* Moves the clock, and looks. Returns a label of this process. */
static const char *look_for(struct host *host, uint64_t seconds, const char *wanted)
{
	struct bytes rest;

	host->now_ns += seconds * NS_PER_SEC;
	CHECK_EQ(process_labels_look(host->labels, host->worker, host->profile, &host->names,
				     host->now_ns),
		 0);
	(void)process_labels_find(host->labels, getpid(), NULL, &rest);
	while (rest.nr) {
		const char *key = bytes_string(&rest), *text = bytes_string(&rest);

		CHECK(key && text);
		if (!strcmp(key, wanted))
			return text;
	}
	return "";
}

static const char *look_after(struct host *host, uint64_t seconds)
{
	return look_for(host, seconds, "service.name");
}

static void publish_name(struct published_header *header, const char *name)
{
	static struct protobuf_writer messages[2];
	static unsigned turn;
	struct protobuf_writer *message = &messages[turn++ & 1];

	protobuf_reset(message);
	add_text(message, "service.name", name);
	add_text(message, "service.version", "1.2");
	publish(header, message->bytes, message->nr);
}

/* A helper process may not read the memory of its parent: an ordinary user, with Yama. */
static void need_memory(struct host *host, struct published_header *header)
{
	publish_name(header, "need");
	if (!*look_after(host, 0))
		SKIP("the right to read a parent's memory");
}

TEST(process_labels_are_what_is_published)
{
	struct published_header *header = make_published();
	struct host host = open_host();

	need_memory(&host, header);
	CHECK_STR(look_after(&host, 1), "need");
	publish_name(header, "changed");
	CHECK_STR(look_after(&host, 200), "need"); /* too early */
	CHECK_STR(look_after(&host, 100), "changed");
	header->published = 0; /* is being changed */
	CHECK_STR(look_after(&host, 300), "changed");
	publish_name(header, "again");
	CHECK_STR(look_after(&host, 5), "again");
	CHECK_EQ(munmap(header, PUBLISHED_PAGE), 0); /* withdrawn */
	CHECK_STR(look_after(&host, 300), "");
	CHECK_EQ(process_labels_nr_left_out(host.labels), 0);
	close_host(&host);
}

TEST(process_labels_that_come_late)
{
	struct host host = open_host();
	struct published_header *header;

	CHECK_STR(look_after(&host, 0), "");
	header = make_published();
	publish_name(header, "late");
	CHECK_STR(look_after(&host, 4), "");
	if (!*look_after(&host, 1))
		SKIP("the right to read a parent's memory");
	CHECK_STR(look_after(&host, 0), "late");
	close_host(&host);
}

TEST(process_labels_of_hostile_contexts)
{
	static const char *const messages[] = {"\xff\xff\xff", "\x0a\x7f", "\x0a\x02\x0a\x00"};
	static char huge[1 << 20];
	struct published_header *header = make_published();
	struct host host = open_host();
	size_t i;

	need_memory(&host, header);
	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		publish(header, messages[i], strlen(messages[i]));
		CHECK_STR(look_after(&host, 3600), "");
	}
	publish(header, huge, sizeof(huge));
	CHECK_STR(look_after(&host, 3600), "");
	CHECK_EQ(process_labels_nr_left_out(host.labels), 1);
	publish_name(header, "good");
	CHECK_STR(look_after(&host, 3600), "good");
	close_host(&host);
}

/* Another program in the process has nothing of the one before. One of another start time is another process. */
TEST(process_labels_are_those_of_the_program)
{
	struct published_header *header = make_published();
	struct host host = open_host();
	struct process_name name = {.pid = getpid()};

	need_memory(&host, header);
	CHECK_EQ(process_start_read(getpid(), &name.program.start_time_ns), 0);
	CHECK_EQ(process_names_add(&host.names, &name, NULL), 0);
	CHECK_STR(look_after(&host, 1), "need");
	name.program.exec_id++;
	CHECK_EQ(process_names_add(&host.names, &name, NULL), 0);
	CHECK_EQ(munmap(header, PUBLISHED_PAGE), 0);
	CHECK_STR(look_after(&host, 1), "");
	header = make_published();
	publish_name(header, "next");
	CHECK_STR(look_after(&host, 3600), "next");
	name.program.start_time_ns = 1; /* with the machine */
	CHECK_EQ(process_names_add(&host.names, &name, NULL), 0);
	CHECK_STR(look_after(&host, 1), "");
	close_host(&host);
}

/* Words are only read if they are asked for, and read again when something else is. */
TEST(process_labels_of_words)
{
	struct process_label_wants *wants = calloc(1, sizeof(*wants));
	struct host host = open_host();

	CHECK(wants != NULL);
	if (!wants)
		return;
	CHECK(setenv("STOOK_TEST", "changed since", 1) == 0);
	CHECK_STR(look_for(&host, 0, "cmdline"), "");
	wants->command_line = true;
	memcpy(wants->variables, "PATH\0", 5);
	wants->nr_variables = 5;
	process_labels_want(host.labels, wants);
	CHECK_STR(look_for(&host, 0, "env.STOOK_TEST"), "");
	if (!*look_for(&host, 0, "env.PATH"))
		SKIP("the right to read a parent's memory, or PATH");
	CHECK(strchr(look_for(&host, 0, "env.PATH"), '/') != NULL);
	CHECK(strstr(look_for(&host, 0, "cmdline"), "unit_tests") != NULL);
	process_labels_want(host.labels, calloc(1, sizeof(*wants)));
	CHECK_STR(look_for(&host, 0, "cmdline"), "");
	close_host(&host);
}

/* A process without samples keeps its labels for as long as it exists. */
/* A rule may ask for what is wanted now, and was not before. */
TEST(process_labels_that_are_wanted_later)
{
	struct process_label_wants *wants = calloc(1, sizeof(*wants));
	struct profile *others = profile_new();
	struct host host = open_host();
	struct bytes texts;

	(void)look_after(&host, 0);
	CHECK(process_labels_find(host.labels, getpid(), NULL, &texts));
	wants->command_line = true;
	process_labels_want(host.labels, wants);
	CHECK_EQ(process_labels_look(host.labels, host.worker, others, &host.names, host.now_ns),
		 0);
	CHECK(!process_labels_find(host.labels, getpid(), NULL, &texts));
	CHECK(*look_for(&host, 0, "cmdline"));
	CHECK(process_labels_find(host.labels, getpid(), NULL, &texts));
	profile_free(others);
	close_host(&host);
}

TEST(process_labels_are_forgotten_with_the_process)
{
	struct published_header *header = make_published();
	struct host host = open_host();
	struct profile *other = profile_new(), *own = host.profile;
	const struct sample_labels gone = {.pid = 0x7ffffff0};
	struct bytes rest;

	need_memory(&host, header);
	CHECK(profile_add_sample(other, &gone, NULL, 0, 0, 7) >= 0);
	host.profile = other;
	CHECK_STR(look_after(&host, 1), "need");
	CHECK(!process_labels_find(host.labels, gone.pid, NULL, &rest));
	CHECK(!rest.nr);
	host.profile = own;
	CHECK_STR(look_after(&host, 1), "need");
	profile_free(other);
	close_host(&host);
}

TEST(process_labels_are_labels_of_samples)
{
	static const struct relabel_rules no_rules;
	struct published_header *header = make_published();
	struct host host = open_host();
	const struct label_sources sources = {&host.names, &no_rules, host.labels};
	struct set_label labels[LABEL_SET_MAX];
	uint64_t left_out;
	size_t nr, nr_found = 0, i;
	uint32_t last;

	need_memory(&host, header);
	CHECK_EQ(labels_add(host.profile, &sources, &left_out), 0);
	last = (uint32_t)profile_nr_samples(host.profile) - 1;
	nr = profile_label_set(host.profile, profile_sample(host.profile, last)->labels.set,
			       labels);
	for (i = 0; i < nr; i++) {
		const char *key = profile_string(host.profile, labels[i].key);
		const char *text = profile_string(host.profile, labels[i].text);

		nr_found += !strcmp(key, "service.name") && !strcmp(text, "need");
		nr_found += !strcmp(key, "service.version") && !strcmp(text, "1.2");
	}
	CHECK_EQ(nr_found, 2);
	close_host(&host);
}
