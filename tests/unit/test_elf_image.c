/* elf/image/elf_image: compared with readelf; made-up sections and relocations; malformed files. */
#include "elf/image/elf_image.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "unit/made_elf.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"

static int memory_file(const void *bytes, size_t nr)
{
	int fd = memfd_create("tiny", 0);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, bytes, nr), nr);
	return fd;
}

static void check_tiny(const struct elf_image *image)
{
	uint64_t vaddr = 0;
	size_t i;

	CHECK_EQ(image->machine, EM_X86_64);
	CHECK(image->is_64);
	CHECK_EQ(image->nr_segments, 1);
	CHECK_EQ(elf_image_offset_to_vaddr(image, 0x400, &vaddr), 0);
	CHECK_EQ(vaddr, 0x401400);
	CHECK_EQ(elf_image_offset_to_vaddr(image, 0x7ff, &vaddr), 0);
	CHECK_EQ(vaddr, 0x4017ff);
	CHECK_EQ(elf_image_offset_to_vaddr(image, 0x3ff, &vaddr), -ENOENT);
	CHECK_EQ(elf_image_offset_to_vaddr(image, 0x800, &vaddr), -ENOENT);
	CHECK_EQ(vaddr, 0x4017ff);
	CHECK_EQ(image->build_id_bytes, TINY_BUILD_ID_BYTES);
	for (i = 0; i < TINY_BUILD_ID_BYTES; i++)
		CHECK_EQ(image->build_id[i], i);
}

TEST(elf_image_of_bytes)
{
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, NULL, 0);
	struct elf_image image;

	CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
	check_tiny(&image);
	elf_image_close(&image);
}

TEST(elf_image_has_its_build_id_only)
{
	uint8_t bytes[TINY_ROOM], id[TINY_BUILD_ID_BYTES + 1];
	size_t nr = tiny_elf_build(bytes, NULL, 0), i;
	cleanup_fd int fd = memory_file(bytes, nr), other = memory_file("text", 4);
	struct elf_image image;

	for (i = 0; i < sizeof(id); i++)
		id[i] = (uint8_t)i;
	CHECK_EQ(elf_image_open(&image, fd, NULL), 0);
	CHECK(elf_image_has_build_id(&image, id, TINY_BUILD_ID_BYTES));
	CHECK(!elf_image_has_build_id(&image, id, TINY_BUILD_ID_BYTES - 1));
	CHECK(!elf_image_has_build_id(&image, id, TINY_BUILD_ID_BYTES + 1));
	CHECK(!elf_image_has_build_id(&image, id + 1, TINY_BUILD_ID_BYTES));
	CHECK(elf_image_fd_has_build_id(fd, id, TINY_BUILD_ID_BYTES));
	CHECK(!elf_image_fd_has_build_id(fd, id + 1, TINY_BUILD_ID_BYTES));
	CHECK(!elf_image_fd_has_build_id(other, id, TINY_BUILD_ID_BYTES));
	image.build_id_bytes = 0;
	CHECK(!elf_image_has_build_id(&image, id, 0)); /* an empty build id matches none */
	elf_image_close(&image);
}

TEST(elf_image_of_file)
{
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, NULL, 0);
	cleanup_fd int fd = memory_file(bytes, nr);
	struct elf_image image;
	char magic[4];

	CHECK_EQ(elf_image_open(&image, fd, NULL), 0);
	check_tiny(&image);
	CHECK_EQ(elf_image_read(&image, 0, magic, 4), 0);
	CHECK(!memcmp(magic, ELFMAG, 4));
	CHECK_EQ(elf_image_read(&image, nr - 3, magic, 4), -ENOEXEC);
	CHECK_EQ(elf_image_read(&image, UINT64_MAX, magic, 4), -ENOEXEC);
	/* The file shrinks while it is open. */
	CHECK_EQ(ftruncate(fd, 100), 0);
	CHECK_EQ(elf_image_read(&image, nr - 4, magic, 4), -ENOEXEC);
	elf_image_close(&image);
}

TEST(elf_image_segments_are_sorted)
{
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, NULL, 0);
	Elf64_Phdr segments[2] = {{PT_LOAD, PF_X, 0x600, 0x9600, 0, 0x100, 0x100, 0x1000},
				  {PT_LOAD, PF_X, 0x400, 0x1400, 0, 0x100, 0x100, 0x1000}};
	struct elf_image image;
	uint64_t vaddr;

	memcpy(bytes + sizeof(Elf64_Ehdr), segments, sizeof(segments));
	CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
	CHECK_EQ(image.nr_segments, 2);
	CHECK(image.segments[0].offset < image.segments[1].offset);
	CHECK_EQ(elf_image_offset_to_vaddr(&image, 0x610, &vaddr), 0);
	CHECK_EQ(vaddr, 0x9610);
	/* Without PT_NOTE the build id is found in its section. */
	CHECK_EQ(image.build_id_bytes, TINY_BUILD_ID_BYTES);
	elf_image_close(&image);
}

/* Overwrites nr_change bytes of a valid file and expects an error. */
static void check_refused(size_t at, const void *change, size_t nr_change)
{
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, NULL, 0);
	struct elf_image image;
	struct error error = {0};

	memcpy(bytes + at, change, nr_change);
	CHECK_EQ(elf_image_open_memory(&image, bytes, nr, &error), -ENOEXEC);
	CHECK_EQ(error.code, -ENOEXEC);
	CHECK(error.text[0]);
	elf_image_close(&image); /* closing twice is a no-op */
}

TEST(elf_image_refuses)
{
	const uint16_t none = 0, many = PN_XNUM;
	const uint64_t far_away = UINT64_MAX - 16;
	const uint8_t big_endian = ELFDATA2MSB;

	check_refused(0, "\177ELG", 4);
	check_refused(EI_DATA, &big_endian, 1);
	check_refused(offsetof(Elf64_Ehdr, e_shnum), &none, 2);
	check_refused(offsetof(Elf64_Ehdr, e_phnum), &many, 2);
	check_refused(offsetof(Elf64_Ehdr, e_phoff), &far_away, 8);
	check_refused(sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_offset), &far_away, 8);
	check_refused(sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_vaddr), &far_away, 8);
}

TEST(elf_image_refuses_what_is_no_file)
{
	struct elf_image image;
	struct error error = {0};
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(elf_image_open(&image, ends[0], &error), -ENOEXEC);
	CHECK_EQ(elf_image_open(&image, -1, &error), -EBADF);
	CHECK_EQ(error.code, -EBADF);
}

TEST(elf_header_is_checked_alone)
{
	struct error error = {0};
	uint16_t machine = 0;
	bool is_64 = false;
	FILE *own = fopen("/proc/self/exe", "r"), *text = tmpfile();

	CHECK(own && text);
	CHECK_EQ(elf_header_check(fileno(own), &is_64, &machine, &error), 0);
	CHECK(is_64);
	CHECK(machine == EM_X86_64 || machine == EM_AARCH64);
	CHECK_EQ(elf_header_check(fileno(text), &is_64, &machine, &error), -ENOEXEC);
	CHECK_STR(error.text, "invalid ELF file: no ELF magic number");
	CHECK_EQ(fputs("\177ELF\2\1\1", text) < 0, 0);
	CHECK_EQ(fflush(text), 0);
	CHECK_EQ(elf_header_check(fileno(text), &is_64, &machine, &error), -ENOEXEC);
	CHECK_EQ(fclose(own), 0);
	CHECK_EQ(fclose(text), 0);
}

/* Opens and reads arbitrary bytes; only a crash or a leak is a failure. */
static void use(const uint8_t *bytes, size_t nr, int fd)
{
	struct elf_image image;
	uint64_t vaddr;
	size_t i;
	int err = fd >= 0 ? elf_image_open(&image, fd, NULL)
			  : elf_image_open_memory(&image, bytes, nr, NULL);

	if (err < 0)
		return;
	for (i = 1; i < image.nr_segments; i++)
		CHECK(image.segments[i - 1].offset <= image.segments[i].offset);
	CHECK(image.build_id_bytes <= BUILD_ID_MAX_BYTES);
	(void)elf_image_offset_to_vaddr(&image, TINY_TEXT_OFFSET, &vaddr);
	elf_image_close(&image);
}

TEST(elf_image_truncated)
{
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, NULL, 0);
	cleanup_fd int fd = memory_file(bytes, nr);

	for (; nr > 0; nr--) {
		uint8_t *guarded = test_guarded(bytes, nr - 1);

		use(guarded, nr - 1, -1);
		CHECK_EQ(ftruncate(fd, (off_t)nr - 1), 0);
		use(NULL, 0, fd);
	}
}

TEST(elf_image_damaged)
{
	uint8_t sound[TINY_ROOM];
	size_t nr = tiny_elf_build(sound, NULL, 0);
	uint8_t *guarded = test_guarded(sound, nr);
	uint64_t state = 1;
	size_t round;

	for (round = 0; round < 20000; round++) {
		memcpy(guarded, sound, nr);
		/* Half of the damage goes to the headers. */
		tiny_damage(guarded, round % 2 ? nr : 0x400, &state);
		if (round % 4 == 0)
			tiny_damage(guarded + nr - TINY_NR_SECTIONS * sizeof(Elf64_Shdr),
				    TINY_NR_SECTIONS * sizeof(Elf64_Shdr), &state);
		use(guarded, nr, -1);
	}
}

TEST(elf_image_out_of_memory)
{
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, NULL, 0);
	struct elf_image image;
	size_t nth;
	int err;

	for (nth = 1;; nth++) {
		test_fail_allocation(nth);
		err = elf_image_open_memory(&image, bytes, nr, NULL);
		test_fail_allocation(0);
		if (err == 0)
			break;
		CHECK_EQ(err, -ENOMEM);
	}
	CHECK(nth > 1);
	elf_image_close(&image);
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *ret_path)
{
	if (strstr(info->dlpi_name, "/libc.so"))
		snprintf(ret_path, 256, "%s", info->dlpi_name);
	return 0;
}

static bool ask_readelf(const char *path, char *ret_build_id)
{
	char line[512];
	bool found = false;
	FILE *output;

	snprintf(line, sizeof(line), "readelf -n %s 2>/dev/null", path);
	output = popen(line, "r");
	CHECK(output);
	while (fgets(line, sizeof(line), output))
		if (!found && sscanf(line, " Build ID: %128s", ret_build_id) == 1)
			found = true;
	pclose(output);
	return found;
}

TEST(elf_image_build_id_as_readelf_has_it)
{
	char path[256] = "", expected[256], hex[2 * BUILD_ID_MAX_BYTES + 1] = "";
	struct elf_image image;
	size_t i;
	FILE *file;

	dl_iterate_phdr(find_libc, path);
	if (!path[0] || !ask_readelf(path, expected))
		SKIP("needs readelf, and a libc with a build id");
	file = fopen(path, "r");
	CHECK(file);
	CHECK_EQ(elf_image_open(&image, fileno(file), NULL), 0);
	for (i = 0; i < image.build_id_bytes; i++)
		sprintf(hex + 2 * i, "%02x", image.build_id[i]);
	CHECK_STR(hex, expected);
	elf_image_close(&image);
	fclose(file);
}

static int find_own_code(struct dl_phdr_info *info, size_t size, void *ret_header)
{
	size_t i;

	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
			*(ElfW(Phdr) *)ret_header = info->dlpi_phdr[i];
	return 1; /* the program comes first */
}

TEST(elf_image_segments_as_the_loader_has_them)
{
	FILE *file = fopen("/proc/self/exe", "r");
	ElfW(Phdr) header;
	struct elf_image image;

	CHECK(file);
	dl_iterate_phdr(find_own_code, &header);
	CHECK_EQ(elf_image_open(&image, fileno(file), NULL), 0);
	CHECK_EQ(image.nr_segments, 1);
	CHECK_EQ(image.segments[0].offset, header.p_offset);
	CHECK_EQ(image.segments[0].vaddr, header.p_vaddr);
	CHECK_EQ(image.segments[0].bytes, header.p_filesz);
	elf_image_close(&image);
	fclose(file);
}

/* Large holes of a file are not read; everything that is read counts against the budget. */
TEST(elf_image_read_stays_within_its_budget_and_out_of_holes)
{
	static uint8_t bytes[1 << 20];
	size_t nr = tiny_elf_build(bytes, NULL, 0);
	cleanup_file FILE *file = tmpfile();
	struct elf_image image;
	struct read_budget budget;

	CHECK(file);
	CHECK_EQ(pwrite(fileno(file), bytes, nr, 0), nr);
	CHECK_EQ(ftruncate(fileno(file), 1 << 30), 0);
	CHECK_EQ(elf_image_open(&image, fileno(file), NULL), 0);
	CHECK_EQ(elf_image_read(&image, 1 << 20, bytes, sizeof(bytes)), -ENXIO);
	CHECK_EQ(elf_image_read(&image, 1 << 20, bytes, 1000), 0);
	read_budget_init(&budget, 1000 * NS_PER_SEC, 4000, -1);
	read_budget_begin(&budget);
	image.budget = &budget;
	CHECK_EQ(elf_image_read(&image, 1 << 20, bytes, sizeof(bytes)), -ENXIO);
	CHECK_EQ(elf_image_read(&image, 0, bytes, 1000), 0);
	CHECK_EQ(budget.left_bytes, 3000);
	CHECK_EQ(elf_image_read(&image, 0, bytes, 1001), -EDQUOT);
	elf_image_close(&image);
}

static const struct made_section made_sections[] = {
	{".text.hot", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, "abc", 3, 0, 0},
	{".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2000, "hello", 5, 0, 0},
	{".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x3000, "second", 6, 0, 0},
	{".bss", SHT_NOBITS, SHF_ALLOC, 0x4000, NULL, 100, 0, 0},
	{".packed", SHT_NOTE, SHF_COMPRESSED, 0, "xyz", 3, 0, 0},
	{".empty", SHT_PROGBITS, 0, 0, "", 0, 0, 0},
};

static int read_named(const struct elf_image *image, const char *name, uint64_t max_bytes)
{
	uint8_t *bytes = NULL;
	GElf_Shdr header;
	int err = elf_section_find(image, name, &header);

	if (err == 0)
		err = elf_section_read(image, &header, max_bytes, &bytes);
	CHECK(err == 0 || !bytes);
	if (err == 0)
		CHECK_EQ(bytes[0], 'h');
	free(bytes);
	return err;
}

TEST(elf_section_by_name_and_type)
{
	uint8_t bytes[MADE_ROOM];
	size_t nr = made_elf_build(bytes, EM_X86_64, made_sections, ARRAY_SIZE(made_sections));
	struct elf_image image;
	GElf_Shdr header;

	CHECK_EQ(elf_image_open_memory(&image, test_guarded(bytes, nr), nr, NULL), 0);
	CHECK_EQ(elf_section_find(&image, ".text", &header), 0);
	CHECK_EQ(header.sh_addr, 0x2000);
	CHECK_EQ(elf_section_find(&image, ".tex", &header), -ENOENT);
	CHECK_EQ(elf_section_find(&image, ".text.hot.not.there.and.too.long.for.it", &header),
		 -ENOENT);
	/* The last name, at the end of the string table and of the file. */
	CHECK_EQ(elf_section_find(&image, ".empty", &header), 0);
	CHECK_EQ(elf_section_find(&image, ".empty2", &header), -ENOENT);
	CHECK_EQ(elf_section_find_type(&image, SHT_NOTE, &header), 0);
	CHECK_EQ(header.sh_size, 3);
	CHECK_EQ(elf_section_find_type(&image, SHT_DYNSYM, &header), -ENOENT);

	CHECK_EQ(read_named(&image, ".text", 5), 0);
	CHECK_EQ(read_named(&image, ".text", 4), -ENOEXEC);
	CHECK_EQ(read_named(&image, ".bss", 1000), -ENOEXEC);
	CHECK_EQ(read_named(&image, ".packed", 1000), -ENOEXEC);
	CHECK_EQ(read_named(&image, ".empty", 1000), -ENOEXEC);
	test_fail_allocation(1);
	CHECK_EQ(read_named(&image, ".text", 5), -ENOMEM);
	test_fail_allocation(0);
	elf_image_close(&image);
}

TEST(elf_section_truncated_and_damaged)
{
	uint8_t sound[MADE_ROOM], *guarded;
	size_t nr = made_elf_build(sound, EM_X86_64, made_sections, ARRAY_SIZE(made_sections)), i,
	       round;
	struct elf_image image;
	GElf_Shdr header;
	uint64_t state = 9;

	guarded = test_guarded(sound, nr);
	for (round = 0; round < 5000 + nr; round++) {
		size_t shorter = round < nr ? round : nr;
		uint8_t *bytes = round < nr ? test_guarded(sound, shorter) : guarded;

		if (round >= nr) {
			memcpy(guarded, sound, nr);
			tiny_damage(guarded, nr, &state);
		}
		if (elf_image_open_memory(&image, bytes, shorter, NULL) < 0)
			continue;
		for (i = 0; i < ARRAY_SIZE(made_sections); i++) {
			uint8_t *content = NULL;

			if (elf_section_find(&image, made_sections[i].name, &header) == 0)
				(void)elf_section_read(&image, &header, 1000, &content);
			free(content);
		}
		elf_image_close(&image);
	}
}

#define NR_FIRST (RELOCATIONS_CHUNK + 3) /* more than fit into one chunk */

static Elf64_Rela first_relocations[NR_FIRST], second_relocations[2], unloaded_relocations[1];

static size_t build_relocations(uint8_t *bytes)
{
	const struct made_section sections[] = {
		{".rela.dyn", SHT_RELA, SHF_ALLOC, 0x1000, first_relocations,
		 sizeof(first_relocations), 0, 24},
		{".rela.debug_info", SHT_RELA, 0, 0, unloaded_relocations,
		 sizeof(unloaded_relocations), 0, 24},
		{".empty", SHT_RELA, SHF_ALLOC, 0x2000, "", 0, 0, 24},
		{".rela.plt", SHT_RELA, SHF_ALLOC, 0x3000, second_relocations,
		 sizeof(second_relocations), 0, 24},
	};
	size_t i;

	for (i = 0; i < NR_FIRST; i++)
		first_relocations[i].r_offset = i;
	for (i = 0; i < ARRAY_SIZE(second_relocations); i++)
		second_relocations[i].r_offset = NR_FIRST + i;
	unloaded_relocations[0].r_offset = 1000000;
	return made_elf_build(bytes, EM_X86_64, sections, ARRAY_SIZE(sections));
}

/* Returns the number of relocations; they must be numbered if is_sound. */
static size_t count_relocations(const uint8_t *bytes, size_t nr_bytes, bool is_sound)
{
	struct relocations relocations;
	struct elf_image image;
	GElf_Rela relocation;
	size_t nr = 0;

	if (elf_image_open_memory(&image, bytes, nr_bytes, NULL) < 0)
		return 0;
	relocations_init(&relocations, &image);
	while (relocations_next(&relocations, &relocation)) {
		CHECK(!is_sound || relocation.r_offset == nr);
		nr++;
	}
	CHECK(!relocations_next(&relocations, &relocation));
	elf_image_close(&image);
	return nr;
}

TEST(relocations_of_all_loaded_sections)
{
	uint8_t bytes[MADE_ROOM];
	size_t nr = build_relocations(bytes);

	CHECK_EQ(count_relocations(bytes, nr, true), NR_FIRST + ARRAY_SIZE(second_relocations));
}

TEST(relocations_of_a_file_without_any)
{
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, NULL, 0);

	CHECK_EQ(count_relocations(bytes, nr, true), 0);
}

TEST(relocations_truncated_and_damaged)
{
	uint8_t sound[MADE_ROOM], *guarded;
	size_t nr = build_relocations(sound), shorter, round;
	uint64_t state = 10;

	for (shorter = 0; shorter < nr; shorter += 7)
		CHECK(count_relocations(test_guarded(sound, shorter), shorter, false) <=
		      NR_FIRST + ARRAY_SIZE(second_relocations));
	guarded = test_guarded(sound, nr);
	for (round = 0; round < 5000; round++) {
		memcpy(guarded, sound, nr);
		tiny_damage(guarded, 2048, &state);
		CHECK(count_relocations(guarded, nr, false) < 10000);
	}
}
