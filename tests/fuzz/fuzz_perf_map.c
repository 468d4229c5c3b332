/*
 * Descriptions of JIT-compiled code from a hostile runtime. The first byte chooses the input: a
 * perf map (0: its bytes, 1: as a file), a jitdump (2), or a name (3: from a JVM, 4: from another
 * runtime). The second byte is the file's length at the first reading; reading a file in two parts
 * must give the same result as reading it at once.
 *
 *	make fuzz && tests/fuzz/seeds_maps.sh FOLDER && build/fuzz/fuzz_perf_map FOLDER
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "fuzz/fuzz.h"
#include "sym/code_map.h"
#include "sym/run_time_maps.h"

/* Result of reading. */
struct outcome {
	struct code_map *map;
	uint64_t at;
	size_t nr_bad;
	int err;
};

static void settle(struct outcome *outcome)
{
	expect(code_map_settle(outcome->map) == 0);
}

static void expect_same(const struct outcome *a, const struct outcome *b, uint64_t address)
{
	uint64_t start_a = 0, start_b = 0;
	const char *name_a = code_map_find(a->map, address, &start_a);
	const char *name_b = code_map_find(b->map, address, &start_b);

	expect(!name_a == !name_b && start_a == start_b && start_a <= address);
	expect(!name_a || (*name_a && !strcmp(name_a, name_b)));
}

/* Compares lookups at each number in the text, and around it. */
static void compare(const struct outcome *a, const struct outcome *b, const char *text, size_t nr)
{
	size_t i;

	expect(a->err == b->err && a->at == b->at && a->nr_bad == b->nr_bad);
	expect(code_map_nr(a->map) == code_map_nr(b->map));
	for (i = 0; i < nr; i++) {
		uint64_t address = strtoull(text + i, NULL, 16);

		expect_same(a, b, address - 1);
		expect_same(a, b, address);
		expect_same(a, b, address + address / 2);
		if (i + sizeof(address) > nr)
			continue;
		memcpy(&address, text + i, sizeof(address));
		expect_same(a, b, address);
	}
}

/* --- reading the text's first nr bytes ----------------------------------------- */

static void parse_perf_map(struct outcome *outcome, const char *text, size_t nr)
{
	cleanup_free char *exact = malloc(nr + !nr);
	size_t nr_parsed = 0;

	expect(exact);
	memcpy(exact, text + outcome->at, nr - outcome->at);
	outcome->err =
		perf_map_parse(exact, nr - outcome->at, outcome->map, &outcome->nr_bad, &nr_parsed);
	outcome->at += nr_parsed;
}

static int file_of(const char *text, size_t nr)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	expect(ftruncate(fd, 0) == 0 && fd_write_at(fd, 0, text, nr) == 0);
	return fd;
}

static void read_perf_map(struct outcome *outcome, const char *text, size_t nr)
{
	outcome->err = perf_map_read(file_of(text, nr), outcome->map, &outcome->at,
				     &outcome->nr_bad, NULL);
}

static void read_jitdump(struct outcome *outcome, const char *text, size_t nr)
{
	outcome->err = jitdump_read(file_of(text, nr), outcome->map, &outcome->at, NULL);
}

/* --- entry point ----------------------------------------------------------------------------- */

static void read_in_parts(void (*read)(struct outcome *outcome, const char *text, size_t nr),
			  const char *text, size_t nr, size_t first)
{
	struct outcome whole = {.map = code_map_new()}, parts = {.map = code_map_new()};

	expect(whole.map && parts.map);
	read(&whole, text, nr);
	settle(&whole);
	read(&parts, text, first);
	expect(code_map_compact(parts.map) == 0);
	read(&parts, text, nr);
	settle(&parts);
	compare(&whole, &parts, text, nr);
	code_map_free(whole.map);
	code_map_free(parts.map);
}

static void show_name(const char *name, bool is_java, size_t room)
{
	const struct runtime_names_style whole = {0}, cut = {.cut_tiers = true};
	cleanup_free char *shown = malloc(room + 1);
	char full[4096];

	expect(shown);
	runtime_name(name, is_java, &whole, full, sizeof(full));
	runtime_name(name, is_java, &cut, full, sizeof(full));
	expect(strlen(full) <= strlen(name) + strlen("(anonymous)"));
	runtime_name(name, is_java, &cut, shown, room);
	expect(!room || (strlen(shown) < room && !strncmp(shown, full, strlen(shown))));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	cleanup_free char *text = NULL;
	size_t first;

	if (nr < 2)
		return 0;
	text = malloc(nr - 1);
	expect(text);
	memcpy(text, bytes + 2, nr - 2);
	text[nr - 2] = '\0';
	first = (nr - 2) * bytes[1] / 255;
	switch (bytes[0] % 5) {
	case 0:
		read_in_parts(parse_perf_map, text, nr - 2, first);
		break;
	case 1:
		read_in_parts(read_perf_map, text, nr - 2, first);
		break;
	case 2:
		read_in_parts(read_jitdump, text, nr - 2, first);
		break;
	default:
		show_name(text, bytes[0] % 5 == 3, bytes[1]);
	}
	return 0;
}
