/*
 * The context is found by the name of its mapping, which begins with a header:
 *
 *	char signature[8]	"OTEL_CTX", written last
 *	u32 version		2
 *	u32 size		of the message, in bytes
 *	u64 published		a time; 0 while the context is changed
 *	u64 message		its address, anywhere in the process
 *
 * The process may change all of it at any time. The message is what was published if the header is the same before and
 * after it was read.
 *
 * The message is a resource, or a process context that contains one, depending on the draft of the specification
 * that a publisher implements; both have the same version:
 *
 *	Resource	attributes 1 (repeated KeyValue), number of dropped ones 2
 *	ProcessContext	resource 1, attributes 2 (repeated KeyValue)
 *	KeyValue	key 1, value 2 (AnyValue)
 *	AnyValue	text 1; other kinds are skipped
 *
 * Field 1 of the message is taken for an attribute if it has the key of one that is wanted, else for a resource.
 */
#include "proc/process_context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd_io.h"
#include "base/protobuf.h"
#include "proc/mappings.h"

/* --- reading a process' memory ---------------------------------------------------------------- */

#define SIGNATURE	"OTEL_CTX"
#define SIGNATURE_BYTES 8
#define FORMAT_VERSION	2
#define TRIES		4 /* while it is being written */
#define PAUSE_NS	NS_PER_MS
#define MAX_MAPPINGS	4 /* of such a name; a process should have one */

struct header {
	char signature[SIGNATURE_BYTES];
	uint32_t version, size;
	uint64_t published, message;
};

static bool is_context(const struct maps_entry *entry)
{
	/* Anonymous memory, named by prctl(); shared memory, likewise; a memfd, which is always unlinked. */
	static const char *const names[] = {"[anon:" SIGNATURE "]", "[anon_shmem:" SIGNATURE "]",
					    "/memfd:" SIGNATURE, "/memfd:" SIGNATURE " (deleted)"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(entry->path, names[i]))
			return true;
	return false;
}

/* 0, -EAGAIN, -EBADMSG or -E2BIG. */
static int read_once(int memory, uint64_t at, struct process_context *ret)
{
	struct header header, again;

	if (fd_read_at(memory, at, &header, sizeof(header)) < 0 || header.version > FORMAT_VERSION)
		return -EBADMSG;
	/* The signature is written last. */
	if (memcmp(header.signature, SIGNATURE, SIGNATURE_BYTES) != 0 || !header.published)
		return -EAGAIN;
	if (header.version != FORMAT_VERSION)
		return -EBADMSG;
	if (header.size > sizeof(ret->message))
		return -E2BIG;
	if (fd_read_at(memory, header.message, ret->message, header.size) < 0 ||
	    fd_read_at(memory, at, &again, sizeof(again)) < 0)
		return -EBADMSG;
	if (memcmp(&header, &again, sizeof(header)) != 0)
		return -EAGAIN;
	ret->nr = header.size;
	return 0;
}

static int read_context(int memory, uint64_t at, struct process_context *ret)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	unsigned tries;
	int err = -EAGAIN;

	for (tries = 0; tries < TRIES && err == -EAGAIN; tries++) {
		if (tries)
			(void)nanosleep(&pause, NULL);
		err = read_once(memory, at, ret);
	}
	return err;
}

int process_context_read(int32_t pid, struct process_context *ret)
{
	cleanup_fd int memory = -1;
	struct maps_entry entry;
	unsigned nr_mappings = 0;
	struct maps maps;
	char path[64];
	int err = maps_open(&maps, pid) == -EACCES ? -EACCES : -ENOENT;

	while (maps.file && err != 0 && nr_mappings < MAX_MAPPINGS && maps_next(&maps, &entry)) {
		if (!is_context(&entry))
			continue;
		nr_mappings++;
		(void)snprintf(path, sizeof(path), "/proc/%d/mem", pid);
		if (memory < 0)
			memory = open(path, O_RDONLY | O_CLOEXEC);
		err = memory < 0 ? -EACCES : read_context(memory, entry.start, ret);
	}
	maps_close(&maps);
	return err;
}

/* --- the message ------------------------------------------------------------------------------ */

/* These are labels of the same name, so none may have the name of a label that we make ourselves. */
const char *const process_attribute_names[PROCESS_NR_ATTRIBUTES] = {
	"service.name",
	"service.namespace",
	"service.version",
	"service.instance.id",
	"k8s.namespace.name",
	"k8s.pod.name",
	"deployment.environment.name",
	"k8s.container.name",
};

/* Returns the number of the attribute with this key, or -1. */
static int find_attribute(const struct bytes *key)
{
	int i;

	for (i = 0; i < PROCESS_NR_ATTRIBUTES; i++)
		if (key->nr == strlen(process_attribute_names[i]) &&
		    !memcmp(key->at, process_attribute_names[i], key->nr))
			return i;
	return -1;
}

/* The first of several values with the same key counts. */
static void set_text(struct process_attributes *attributes, int number, const struct bytes *text)
{
	char *to = attributes->texts[number];
	size_t i;

	if (*to || !text->nr)
		return;
	if (text->nr >= PROCESS_ATTRIBUTE_BYTES) {
		attributes->nr_left_out++;
		return;
	}
	for (i = 0; i < text->nr; i++)
		to[i] = text->at[i] ? (char)text->at[i] : '?';
}

/* Parses a KeyValue; false if it is malformed, or none that is wanted. */
static bool parse_attribute(struct bytes pair, struct process_attributes *attributes)
{
	struct bytes key = {0}, value = {0}, text = {0};
	struct protobuf_field field;
	int number;

	while (protobuf_next(&pair, &field)) {
		if (field.type != PROTOBUF_BYTES)
			continue;
		if (field.number == 1)
			key = field.bytes;
		else if (field.number == 2)
			value = field.bytes;
	}
	number = pair.failed ? -1 : find_attribute(&key);
	while (protobuf_next(&value, &field))
		if (field.number == 1 && field.type == PROTOBUF_BYTES)
			text = field.bytes;
	if (number >= 0 && !value.failed)
		set_text(attributes, number, &text);
	return number >= 0;
}

static void parse_resource(struct bytes resource, struct process_attributes *attributes)
{
	struct protobuf_field field;

	while (protobuf_next(&resource, &field))
		if (field.number == 1 && field.type == PROTOBUF_BYTES)
			(void)parse_attribute(field.bytes, attributes);
}

int process_context_parse(struct bytes message, struct process_attributes *ret)
{
	struct process_attributes attributes = {0};
	struct protobuf_field field;

	while (protobuf_next(&message, &field)) {
		if (field.type != PROTOBUF_BYTES || field.number > 2)
			continue;
		if (!parse_attribute(field.bytes, &attributes) && field.number == 1)
			parse_resource(field.bytes, &attributes);
	}
	if (message.failed)
		return -EBADMSG;
	*ret = attributes;
	return 0;
}
