/* Publishes a process context in the memory of a test. */
#ifndef STOOK_TESTS_UNIT_PUBLISHED_CONTEXT_H
#define STOOK_TESTS_UNIT_PUBLISHED_CONTEXT_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/protobuf.h"
#include "unit/test.h"

struct published_header {
	char signature[8];
	uint32_t version, size;
	uint64_t published;
	const void *message;
};

#define PUBLISHED_PAGE 4096

/* A mapping of the name that such contexts have. Memfds are the only ones that each kernel lets be named. */
static inline struct published_header *make_published(void)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	struct published_header *header;

	CHECK(fd >= 0 && ftruncate(fd, PUBLISHED_PAGE) == 0);
	header = mmap(NULL, PUBLISHED_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(header != MAP_FAILED);
	(void)close(fd);
	return header;
}

static inline void publish(struct published_header *header, const void *message, size_t nr)
{
	static uint64_t time;

	__atomic_store_n(&header->published, 0, __ATOMIC_SEQ_CST);
	header->version = 2;
	__atomic_store_n(&header->size, (uint32_t)nr, __ATOMIC_SEQ_CST);
	__atomic_store_n(&header->message, message, __ATOMIC_SEQ_CST);
	memcpy(header->signature, "OTEL_CTX", sizeof(header->signature));
	__atomic_store_n(&header->published, ++time, __ATOMIC_SEQ_CST);
}

/* Adds an attribute to the field of a message. */
static inline void add_attribute(struct protobuf_writer *message, uint32_t number, const char *key,
				 const void *text, size_t nr)
{
	struct protobuf_writer value = {0}, pair = {0};

	protobuf_bytes(&value, 1, text, nr);
	protobuf_text(&pair, 1, key);
	protobuf_message(&pair, 2, &value);
	protobuf_message(message, number, &pair);
	protobuf_clear(&pair);
	protobuf_clear(&value);
}

static inline void add_text(struct protobuf_writer *message, const char *key, const char *text)
{
	add_attribute(message, 1, key, text, strlen(text));
}

#endif
