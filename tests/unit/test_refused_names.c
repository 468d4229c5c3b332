/* The names that the programs leave out (bpf/wire.h): a program must never take one name for another. */
#include "kernel/follow.h"

#include <stdlib.h>
#include <string.h>

#include "unit/test.h"

/* Likewise has_refused_name() of bpf/follow.bpf.c. */
static bool is_refused(const struct wire_refused_name *slots, const char *name)
{
	uint64_t words[WIRE_COMM_BYTES / 8] = {0};
	const struct wire_refused_name *slot;

	memcpy(words, name, strnlen(name, sizeof(words)));
	slot = &slots[wire_name_hash((const __u64 *)words) % WIRE_NAME_SLOTS];
	return slot->words[0] == words[0] && slot->words[1] == words[1] &&
	       slot->check == wire_name_check((const __u64 *)words);
}

TEST(refused_names_are_found)
{
	struct refused_names refused = {.slots = calloc(WIRE_NAME_SLOTS, sizeof(*refused.slots))};
	char name[WIRE_COMM_BYTES + 1];
	unsigned i, nr_found = 0;

	CHECK(refused.slots != NULL);
	CHECK(!is_refused(refused.slots, "")); /* a free slot is nobody's */
	refused_names_add(&refused, "redis-server");
	refused_names_add(&refused, "redis-server");
	CHECK(is_refused(refused.slots, "redis-server"));
	CHECK(!is_refused(refused.slots, "redis-serve") && !is_refused(refused.slots, ""));
	CHECK_EQ(refused.nr_replaced, 0);
	refused_names_add(&refused, "");
	CHECK(is_refused(refused.slots, ""));
	for (i = 0; i < 2 * WIRE_NAME_SLOTS; i++) {
		(void)snprintf(name, sizeof(name), "worker-%08x", i);
		refused_names_add(&refused, name);
		CHECK(is_refused(refused.slots, name)); /* the last one has the slot */
	}
	for (i = 0; i < 2 * WIRE_NAME_SLOTS; i++) {
		(void)snprintf(name, sizeof(name), "worker-%08x", i);
		nr_found += is_refused(refused.slots, name);
	}
	CHECK(nr_found <= WIRE_NAME_SLOTS && nr_found > WIRE_NAME_SLOTS / 2);
	CHECK(refused.nr_replaced >= WIRE_NAME_SLOTS);
	free(refused.slots);
}

/* A program reads while a slot is written: whatever parts of the old and the new name it sees are neither's. */
TEST(refused_names_are_not_mixed)
{
	struct wire_refused_name one = {0}, other = {0}, mixed;
	unsigned parts;

	memcpy(one.words, "compile-worker-1", sizeof(one.words));
	memcpy(other.words, "redis-io-thread2", sizeof(other.words));
	one.check = wire_name_check(one.words);
	other.check = wire_name_check(other.words);
	for (parts = 0; parts < 8; parts++) {
		mixed.words[0] = parts & 1 ? one.words[0] : other.words[0];
		mixed.words[1] = parts & 2 ? one.words[1] : other.words[1];
		mixed.check = parts & 4 ? one.check : other.check;
		CHECK_EQ(mixed.check == wire_name_check(mixed.words), parts == 0 || parts == 7);
	}
}
