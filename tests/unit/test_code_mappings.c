/* probe/attach/code_mappings: what of the files of probes is mapped. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "probe/attach/code_mappings.h"
#include "unit/test.h"

#define FILE_BYTES 40000

static int make_file(char byte)
{
	static char content[FILE_BYTES];
	int fd = memfd_create("code", MFD_CLOEXEC);

	memset(content, byte, sizeof(content));
	CHECK_EQ(write(fd, content, sizeof(content)), (int)sizeof(content));
	return fd;
}

TEST(each_file_from_its_first_place_to_its_last)
{
	struct probe_file files[] = {{.fd = make_file('a')}, {.fd = make_file('b')}, {.fd = -1}};
	struct probe probes[] = {
		{.kind = PROBE_USER, .file = 1, .offset = 20000},
		{.kind = PROBE_USDT, .file = 1, .offset = 9000},
		{.kind = PROBE_KERNEL, .offset = 5},
		{.kind = PROBE_USER, .file = 0, .offset = 30000},
		{.kind = PROBE_USER, .file = 2, .offset = 1},
	};
	const struct probe_list list = {.probes = probes,
					.nr_probes = ARRAY_SIZE(probes),
					.files = files,
					.nr_files = ARRAY_SIZE(files)};
	const uint32_t numbers[] = {0, 1, 2, 4};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct code_mappings mappings;

	CHECK_EQ(code_mappings_init(&mappings, &list, numbers, ARRAY_SIZE(numbers)), 0);
	CHECK(!mappings.files[0].memory); /* none of the numbers is there */
	CHECK_EQ(mappings.files[1].bytes, 20001 - 9000 / page * page);
	CHECK_EQ(*(const char *)mappings.files[1].memory, 'b');
	CHECK(!mappings.files[2].memory); /* can't be mapped: no matter */
	code_mappings_clear(&mappings);
	CHECK(!mappings.files);
	close(files[0].fd);
	close(files[1].fd);
}

TEST(no_probes_no_mappings)
{
	const struct probe_list list = {0};
	struct code_mappings mappings;

	CHECK_EQ(code_mappings_init(&mappings, &list, NULL, 0), 0);
	code_mappings_clear(&mappings);
}
