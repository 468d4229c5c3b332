/* kernel/core_btf: offsets in the extracted part equal libbpf's in the whole; damage fails. */
#include "kernel/core_btf.h"

#include <bpf/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "unit/test.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

static const char *const wanted[] = {"inner", "outer", "not_there"};

/* struct inner { int a; char pad[12]; typedef struct { long b; } counter; };
 * struct other { int x; }; struct outer { struct inner in; struct other o; void *p; inner i[2]; }
 */
static struct btf *make_btf(void)
{
	struct btf *btf = btf__new_empty();
	int i32 = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int i64 = btf__add_int(btf, "long", 8, BTF_INT_SIGNED);
	int nameless, counter, chars, inner, other, pointer, inners;

	nameless = btf__add_struct(btf, NULL, 8);
	CHECK_EQ(btf__add_field(btf, "b", i64, 0, 0), 0);
	counter = btf__add_typedef(btf, "counter_t", nameless);
	chars = btf__add_array(btf, i32, i32, 3);
	inner = btf__add_struct(btf, "inner", 24);
	CHECK_EQ(btf__add_field(btf, "a", i32, 0, 0), 0);
	CHECK_EQ(btf__add_field(btf, "pad", chars, 32, 0), 0);
	CHECK_EQ(btf__add_field(btf, "counter", counter, 128, 0), 0);
	other = btf__add_struct(btf, "other", 4);
	CHECK_EQ(btf__add_field(btf, "x", i32, 0, 0), 0);
	pointer = btf__add_ptr(btf, other);
	inners = btf__add_array(btf, i32, inner, 2);
	btf__add_struct(btf, "outer", 88);
	CHECK_EQ(btf__add_field(btf, "in", inner, 0, 0), 0);
	CHECK_EQ(btf__add_field(btf, "o", other, 192, 0), 0);
	CHECK_EQ(btf__add_field(btf, "p", pointer, 256, 0), 0);
	CHECK_EQ(btf__add_field(btf, "i", inners, 320, 0), 0);
	return btf;
}

static int extract(const void *bytes, size_t nr)
{
	int source = memfd_create("btf", 0), fd;
	char path[64];

	CHECK(source >= 0);
	CHECK_EQ(write(source, bytes, nr), nr);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", source);
	fd = core_btf_extract(path, wanted, ARRAY_SIZE(wanted), NULL);
	(void)close(source);
	return fd;
}

static struct btf *parse(int fd)
{
	char path[64];
	struct btf *btf;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	btf = btf__parse_raw(path);
	CHECK(btf != NULL);
	return btf;
}

/* Returns the bit offset of a member, or -1. */
static int64_t offset_of(const struct btf *btf, const char *name, const char *member)
{
	int number = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT), i;
	const struct btf_type *type = number > 0 ? btf__type_by_id(btf, (uint32_t)number) : NULL;

	for (i = 0; type && i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off), member))
			return btf_member_bit_offset(type, (uint32_t)i);
	return -1;
}

TEST(core_btf_keeps_members_and_offsets)
{
	struct btf *whole = make_btf(), *part;
	uint32_t nr;
	const void *bytes = btf__raw_data(whole, &nr);
	int fd = extract(bytes, nr), number;
	const struct btf_type *type;

	CHECK(fd >= 0);
	part = parse(fd);
	CHECK_EQ(offset_of(part, "inner", "a"), 0);
	CHECK_EQ(offset_of(part, "inner", "counter"), 128);
	CHECK_EQ(offset_of(part, "outer", "p"), 256);
	CHECK_EQ(offset_of(part, "outer", "i"), 320);
	CHECK_EQ(offset_of(part, "other", "x"), -1); /* not requested */

	/* An anonymous type is extracted with its members. */
	number = btf__find_by_name_kind(part, "inner", BTF_KIND_STRUCT);
	type = btf__type_by_id(part, (uint32_t)number);
	type = btf__type_by_id(part, btf_members(type)[2].type);
	CHECK(btf_is_struct(type));
	CHECK_EQ(btf_vlen(type), 1);
	CHECK_STR(btf__name_by_offset(part, btf_members(type)[0].name_off), "b");
	btf__free(part);
	btf__free(whole);
	(void)close(fd);
}

TEST(core_btf_agrees_with_libbpf_on_this_kernel)
{
	static const char *const structs[] = {"ns_common", "pid_namespace", "upid",
					      "pid",	   "signal_struct", "task_struct"};
	static const char *const fields[][2] = {
		{"task_struct", "start_time"},
		{"task_struct", "self_exec_id"},
		{"task_struct", "pid"},
		{"task_struct", "thread_pid"},
		{"pid", "numbers"},
		{"upid", "ns"},
		{"signal_struct", "live"},
		{"pid_namespace", "ns"},
	};
	struct btf *whole, *part;
	size_t i;
	int fd;

	if (access(KERNEL_BTF, R_OK) < 0)
		SKIP("no " KERNEL_BTF);
	fd = core_btf_extract(KERNEL_BTF, structs, ARRAY_SIZE(structs), NULL);
	CHECK(fd >= 0);
	whole = btf__parse_raw(KERNEL_BTF);
	part = parse(fd);
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		int64_t offset = offset_of(whole, fields[i][0], fields[i][1]);

		CHECK_EQ(offset_of(part, fields[i][0], fields[i][1]), offset);
	}
	btf__free(part);
	btf__free(whole);
	(void)close(fd);
}

TEST(core_btf_survives_every_truncation_and_bit_flips)
{
	struct btf *whole = make_btf();
	uint32_t nr, length;
	const unsigned char *bytes = btf__raw_data(whole, &nr);
	unsigned char *copy = malloc(nr);
	unsigned flip;

	CHECK(copy);
	for (length = 0; length < nr; length++) {
		int fd = extract(bytes, length);

		if (fd >= 0)
			(void)close(fd);
	}
	for (flip = 0; flip < nr * 8; flip++) {
		int fd;

		memcpy(copy, bytes, nr);
		copy[flip / 8] ^= (unsigned char)(1U << flip % 8);
		fd = extract(copy, nr);
		if (fd >= 0)
			(void)close(fd);
	}
	free(copy);
	btf__free(whole);
}

TEST(core_btf_says_what_is_wrong)
{
	struct error error = {0};

	CHECK_EQ(core_btf_extract("/nonexistent", wanted, ARRAY_SIZE(wanted), &error), -1);
	CHECK(strstr(error.text, "/nonexistent"));
}
