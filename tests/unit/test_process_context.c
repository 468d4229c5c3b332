/* proc/process_context: contexts as SDKs publish them, ones that change, and hostile ones. */
#include "proc/process_context.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "unit/published_context.h"

/* Larger than any limit of pids. */
#define GONE 0x7ffffff0

/* --- reading ---------------------------------------------------------------------------------- */

static struct process_context context;

TEST(process_context_is_read)
{
	struct published_header *header;

	CHECK_EQ(process_context_read(getpid(), &context), -ENOENT);
	CHECK_EQ(process_context_read(GONE, &context), -ENOENT);
	header = make_published();
	CHECK_EQ(process_context_read(getpid(), &context), -EAGAIN); /* no signature yet */
	publish(header, "abc", 3);
	CHECK_EQ(process_context_read(getpid(), &context), 0);
	CHECK_EQ(context.nr, 3);
	CHECK(!memcmp(context.message, "abc", 3));
	memcpy(header + 1, "behind", 6);
	publish(header, header + 1, 6);
	CHECK_EQ(process_context_read(getpid(), &context), 0);
	CHECK_EQ(context.nr, 6);
	CHECK(!memcmp(context.message, "behind", 6));
	publish(header, NULL, 0);
	CHECK_EQ(process_context_read(getpid(), &context), 0);
	CHECK_EQ(context.nr, 0);
	CHECK_EQ(munmap(header, PUBLISHED_PAGE), 0);
	CHECK_EQ(process_context_read(getpid(), &context), -ENOENT);
}

TEST(process_context_may_be_hostile)
{
	static const uint64_t bad[] = {0, 8, 1ULL << 47, 1ULL << 63, UINT64_MAX};
	const size_t nr_open = test_nr_open();
	struct published_header *header = make_published();
	uint8_t *end =
		mmap(NULL, 2 * PUBLISHED_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	CHECK(end != MAP_FAILED);
	CHECK_EQ(munmap(end + PUBLISHED_PAGE, PUBLISHED_PAGE), 0);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		publish(header, (const void *)(uintptr_t)bad[i], 3);
		CHECK_EQ(process_context_read(getpid(), &context), -EBADMSG);
	}
	publish(header, end + PUBLISHED_PAGE - 2, 3);
	CHECK_EQ(process_context_read(getpid(), &context), -EBADMSG);
	publish(header, end + PUBLISHED_PAGE - 2, 2);
	CHECK_EQ(process_context_read(getpid(), &context), 0);
	publish(header, end, UINT32_MAX);
	CHECK_EQ(process_context_read(getpid(), &context), -E2BIG);
	publish(header, end, PROCESS_CONTEXT_BYTES + 1);
	CHECK_EQ(process_context_read(getpid(), &context), -E2BIG);
	publish(header, end, 3);
	header->published = 0;
	CHECK_EQ(process_context_read(getpid(), &context), -EAGAIN);
	header->published = 1;
	header->version = 1;
	CHECK_EQ(process_context_read(getpid(), &context), -EBADMSG);
	header->version = 3;
	CHECK_EQ(process_context_read(getpid(), &context), -EBADMSG);
	CHECK_EQ(test_nr_open(), nr_open);
}

/* A second one is used if the first, perhaps inherited by a fork, is none. */
TEST(process_context_of_several_mappings)
{
	struct published_header *headers[2] = {make_published(), make_published()};
	size_t i;

	for (i = 0; i < 2; i++) {
		publish(headers[i], "abc", 3);
		CHECK_EQ(process_context_read(getpid(), &context), 0);
		CHECK_EQ(context.nr, 3);
		memset(headers[i], 0, PUBLISHED_PAGE);
	}
	CHECK_EQ(process_context_read(getpid(), &context), -EAGAIN);
}

struct publisher {
	struct published_header *header;
	char messages[2][64];
	atomic_bool is_over;
};

/* Each message is written before it is published, and overwritten only after the other one has been. */
static void *publish_in_turn(void *argument)
{
	struct publisher *publisher = argument;
	unsigned char byte;
	unsigned turn;

	for (turn = 0; !publisher->is_over; turn++) {
		char *message = publisher->messages[turn & 1];

		byte = (unsigned char)('a' + turn % 26);
		memset(message, byte, sizeof(publisher->messages[0]));
		publish(publisher->header, message, sizeof(publisher->messages[0]));
	}
	return NULL;
}

TEST(process_context_is_that_of_one_moment)
{
	static struct publisher publisher;
	unsigned tries;
	pthread_t thread;
	size_t i;

	publisher.header = make_published();
	CHECK_EQ(pthread_create(&thread, NULL, publish_in_turn, &publisher), 0);
	for (tries = 0; tries < 300; tries++) {
		int err = process_context_read(getpid(), &context);

		CHECK(err == 0 || err == -EAGAIN);
		for (i = 0; !err && i < context.nr; i++)
			CHECK_EQ(context.message[i], context.message[0]);
	}
	publisher.is_over = true;
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(process_context_read(getpid(), &context), 0);
}

/* --- messages ---------------------------------------------------------------------------------- */

static struct process_attributes attributes;

static const char *text_of(const char *key)
{
	size_t i;

	for (i = 0; i < PROCESS_NR_ATTRIBUTES; i++)
		if (!strcmp(process_attribute_names[i], key))
			return attributes.texts[i];
	return "?";
}

static int parse(const struct protobuf_writer *message)
{
	return process_context_parse(
		bytes_of(test_guarded(message->bytes, message->nr), message->nr), &attributes);
}

static void make_resource(struct protobuf_writer *resource)
{
	struct protobuf_writer value = {0}, pair = {0};

	add_text(resource, "telemetry.sdk.name", "opentelemetry");
	add_text(resource, "service.name", "shop");
	add_text(resource, "service.name", "another");
	add_text(resource, "service.namesake", "x");
	add_text(resource, "process", "forged");
	add_text(resource, "service.instance.id", "627cc493-f310-47de-96bd-71410b7dec09");
	add_text(resource, "deployment.environment.name", "Zürich");
	protobuf_number(&value, 3, 7); /* a number, not a text */
	protobuf_text(&pair, 1, "service.version");
	protobuf_message(&pair, 2, &value);
	protobuf_message(resource, 1, &pair);
	protobuf_number(resource, 2, 3); /* attributes that were dropped */
	protobuf_clear(&value);
	protobuf_clear(&pair);
}

static void check_resource(void)
{
	CHECK_STR(text_of("service.name"), "shop");
	CHECK_STR(text_of("service.instance.id"), "627cc493-f310-47de-96bd-71410b7dec09");
	CHECK_STR(text_of("deployment.environment.name"), "Zürich");
	CHECK_STR(text_of("service.version"), "");
	CHECK_STR(text_of("service.namespace"), "");
	CHECK_EQ(attributes.nr_left_out, 0);
}

/* Both drafts of the specification: a resource, and a message that contains one. */
TEST(process_context_message)
{
	struct protobuf_writer resource = {0}, message = {0};

	make_resource(&resource);
	CHECK_EQ(parse(&resource), 0);
	check_resource();
	protobuf_message(&message, 1, &resource);
	add_attribute(&message, 2, "k8s.pod.name", "shop-0", 6);
	CHECK_EQ(parse(&message), 0);
	check_resource();
	CHECK_STR(text_of("k8s.pod.name"), "shop-0");
	protobuf_reset(&message);
	CHECK_EQ(parse(&message), 0);
	CHECK_STR(text_of("service.name"), "");
	protobuf_clear(&message);
	protobuf_clear(&resource);
}

TEST(process_context_of_long_texts)
{
	struct protobuf_writer message = {0};
	char text[PROCESS_ATTRIBUTE_BYTES];

	memset(text, 'x', sizeof(text));
	add_attribute(&message, 1, "service.name", text, sizeof(text));
	add_attribute(&message, 1, "service.version", text, sizeof(text) - 1);
	add_attribute(&message, 1, "service.namespace", "a\0b", 3);
	CHECK_EQ(parse(&message), 0);
	CHECK_STR(text_of("service.name"), "");
	CHECK_EQ(strlen(text_of("service.version")), sizeof(text) - 1);
	CHECK_STR(text_of("service.namespace"), "a?b");
	CHECK_EQ(attributes.nr_left_out, 1);
	protobuf_clear(&message);
}

TEST(process_context_cut_anywhere)
{
	struct protobuf_writer message = {0};
	size_t nr, nr_whole = 0;

	make_resource(&message);
	for (nr = 0; nr <= message.nr; nr++) {
		const struct process_attributes before = attributes;
		int err = process_context_parse(bytes_of(test_guarded(message.bytes, nr), nr),
						&attributes);

		CHECK(err == 0 ||
		      (err == -EBADMSG && !memcmp(&before, &attributes, sizeof(before))));
		nr_whole += err == 0;
	}
	CHECK_EQ(nr_whole, 10); /* between fields */
	check_resource();
	protobuf_clear(&message);
}
