/* elf/unwind/unwind_rows: made-up files with known rows, damaged ones, and this host's libc. */
#include "elf/unwind/unwind_rows.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "elf/unwind/code_spans.h"
#include "unit/cfi_fixture.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"
#include "unit/unwind_reading.h"

/*
 * The file: headers; code at offset 0x200, address 0x1200; .eh_frame_hdr at 0x600, followed by
 * .eh_frame; .debug_frame; section names and headers.
 */
#define TEXT		   0x1200
#define TEXT_BYTES	   0x400
#define TEXT_OFFSET	   0x200
#define EH_FRAME_HDR	   0x1600
#define EH_FRAME_HDR_BYTES 16
#define FILE_ROOM	   16384

struct plan {
	uint16_t machine; /* 0: x86-64 */
	uint64_t entry;
	uint8_t text[TEXT_BYTES];
	struct made eh_frame, debug_frame;
	const char *debug_name; /* NULL: .debug_frame */
	uint64_t debug_flags;
	uint32_t eh_frame_type; /* 0: SHT_PROGBITS */
	bool has_no_sections;
};

static size_t put_sections(uint8_t *file, size_t end, const struct plan *plan)
{
	char names[64] = "";
	Elf64_Shdr sections[4] = {{0}};
	size_t debug_at = EH_FRAME_HDR - 0x1000 + EH_FRAME_HDR_BYTES + plan->eh_frame.nr;

	memcpy(names + 1, ".eh_frame", 10);
	strcpy(names + 11, plan->debug_name ? plan->debug_name : ".debug_frame");
	sections[1] =
		(Elf64_Shdr){.sh_name = 1,
			     .sh_type = plan->eh_frame_type ? plan->eh_frame_type : SHT_PROGBITS,
			     .sh_addr = EH_FRAME_HDR + EH_FRAME_HDR_BYTES,
			     .sh_offset = EH_FRAME_HDR - 0x1000 + EH_FRAME_HDR_BYTES,
			     .sh_size = plan->eh_frame.nr};
	sections[2] = (Elf64_Shdr){.sh_name = 11,
				   .sh_type = SHT_PROGBITS,
				   .sh_flags = plan->debug_flags,
				   .sh_offset = debug_at,
				   .sh_size = plan->debug_frame.nr};
	sections[3] =
		(Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = end, .sh_size = sizeof(names)};
	memcpy(file + end, names, sizeof(names));
	memcpy(file + end + sizeof(names), sections, sizeof(sections));
	return end + sizeof(names) + sizeof(sections);
}

/* Fills FILE_ROOM bytes; returns the size of the file in them. */
static size_t build(uint8_t *file, const struct plan *plan)
{
	size_t end = EH_FRAME_HDR - 0x1000 + EH_FRAME_HDR_BYTES;
	static const uint8_t eh_frame_hdr[] = {1, 0x1b, 0xff, 0xff, 12}; /* 12 bytes from here */
	Elf64_Phdr segments[3] = {
		{PT_LOAD, PF_R | PF_X, TEXT_OFFSET, TEXT, 0, TEXT_BYTES, TEXT_BYTES, 0x1000},
		{PT_LOAD, PF_R, 0x600, EH_FRAME_HDR, 0, 0, 0, 0x1000},
		{PT_GNU_EH_FRAME, PF_R, 0x600, EH_FRAME_HDR, 0, 16, 16, 4},
	};
	Elf64_Ehdr header = {.e_ident = ELFMAG, .e_type = ET_EXEC, .e_version = EV_CURRENT};

	memset(file, 0, FILE_ROOM);
	memcpy(file + TEXT_OFFSET, plan->text, TEXT_BYTES);
	memcpy(file + 0x600, eh_frame_hdr, sizeof(eh_frame_hdr));
	memcpy(file + end, plan->eh_frame.bytes, plan->eh_frame.nr);
	end += plan->eh_frame.nr;
	segments[1].p_filesz = end - 0x600;
	memcpy(file + end, plan->debug_frame.bytes, plan->debug_frame.nr);
	end += plan->debug_frame.nr;
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	header.e_machine = plan->machine ? plan->machine : EM_X86_64;
	header.e_entry = plan->entry;
	header.e_ehsize = sizeof(header);
	header.e_phoff = sizeof(header);
	header.e_phentsize = sizeof(segments[0]);
	header.e_phnum = 3;
	header.e_shentsize = sizeof(Elf64_Shdr);
	if (!plan->has_no_sections) {
		header.e_shoff = end + 64;
		header.e_shnum = 4;
		header.e_shstrndx = 3;
		end = put_sections(file, end, plan);
	}
	memcpy(file, &header, sizeof(header));
	memcpy(file + header.e_phoff, segments, sizeof(segments));
	return end;
}

static const char *show(const struct unwind_rows *rows)
{
	static char text[4000];
	size_t i;

	text[0] = '\0';
	for (i = 0; i < rows->nr_rows; i++) {
		sprintf(text + strlen(text), "%s%llx ", i ? "; " : "",
			(unsigned long long)rows->rows[i].address);
		show_rule(text, &rows->rules[rows->rows[i].rule]);
	}
	return text;
}

/* Returns the plan's rows and their totals as text. */
static const char *rows_of(const struct plan *plan, const struct plan *debug_plan,
			   struct unwind_rows *ret_sums)
{
	static uint8_t file[FILE_ROOM], debug_file[FILE_ROOM];
	struct elf_image image, debug;
	struct unwind_rows rows;
	const char *text;

	CHECK_EQ(elf_image_open_memory(&image, file, build(file, plan), NULL), 0);
	if (debug_plan)
		CHECK_EQ(elf_image_open_memory(&debug, debug_file, build(debug_file, debug_plan),
					       NULL),
			 0);
	CHECK_EQ(unwind_rows_read(&rows, &image, debug_plan ? &debug : NULL, NULL), 0);
	text = show(&rows);
	if (ret_sums)
		*ret_sums = rows;
	unwind_rows_clear(&rows);
	if (debug_plan)
		elf_image_close(&debug);
	elf_image_close(&image);
	return text;
}

/* Adds a common entry and functions; those of .debug_frame have another CFA. */
static void add(struct made *made, bool is_eh_frame, uint64_t start, uint64_t bytes)
{
	size_t common = put_common(made, is_eh_frame, "", "", 0);

	put_function(made, is_eh_frame, common, start, bytes, "\x0e\x18", is_eh_frame ? 0 : 2);
}

TEST(unwind_rows_gaps_and_neighbours)
{
	struct plan plan = {.entry = 0};
	size_t common = put_common(&plan.eh_frame, true, "", "", 0);
	struct unwind_rows sums;

	/* Unordered; equal neighbours; one outside the code. */
	put_function(&plan.eh_frame, true, common, TEXT + 0x100, 0x10, "\x44\x0e\x10", 3);
	put_function(&plan.eh_frame, true, common, TEXT + 0x10, 0x10, "", 0);
	put_function(&plan.eh_frame, true, common, TEXT + 0x20, 0x10, "\x44\x0e\x10\x44\x0e\x10",
		     6);
	put_function(&plan.eh_frame, true, common, TEXT + TEXT_BYTES - 1, 2, "", 0);
	CHECK_STR(rows_of(&plan, NULL, &sums),
		  "1210 r7+8 c-8 same; 1224 r7+16 c-8 same; 1230 none; "
		  "1300 r7+8 c-8 same; 1304 r7+16 c-8 same; 1310 none");
	CHECK_EQ(sums.nr_functions, 3);
	CHECK_EQ(sums.nr_broken, 1);
	CHECK_EQ(sums.nr_not_packed, 0);
	CHECK_EQ(sums.nr_rules, 3);
}

TEST(unwind_rows_of_nothing)
{
	struct plan plan = {.entry = 0}, other = {.machine = EM_386};

	CHECK_STR(rows_of(&plan, NULL, NULL), "");
	add(&other.eh_frame, true, TEXT, 0x10);
	CHECK_STR(rows_of(&other, NULL, NULL), "");
}

TEST(unwind_rows_overlaps)
{
	struct plan plan = {.entry = 0};

	add(&plan.eh_frame, true, TEXT + 0x20, 0x20);
	put_function(&plan.eh_frame, true, 0, TEXT + 0x10, 0x18, "\x0e\x10\x48\x0e\x20", 5);
	/* The first one starts inside the second one. */
	CHECK_STR(rows_of(&plan, NULL, NULL),
		  "1210 r7+16 c-8 same; 1218 r7+32 c-8 same; 1228 r7+8 c-8 same; 1240 none");
}

TEST(unwind_rows_debug_frame_fills_gaps)
{
	struct plan plan = {.entry = 0}, debug = {.eh_frame_type = SHT_NOBITS};

	add(&plan.eh_frame, true, TEXT + 0x20, 0x10);
	add(&plan.debug_frame, false, TEXT + 0x18, 0x20);
	add(&debug.debug_frame, false, TEXT + 0x10, 0x40);
	add(&debug.eh_frame, true, TEXT, 0x100);
	CHECK_STR(rows_of(&plan, NULL, NULL),
		  "1218 r7+24 c-8 same; 1220 r7+8 c-8 same; 1230 r7+24 c-8 same; 1238 none");
	CHECK_STR(rows_of(&plan, &debug, NULL),
		  "1210 r7+24 c-8 same; 1220 r7+8 c-8 same; 1230 r7+24 c-8 same; 1250 none");
}

/* Compresses .debug_frame with zlib, after a header. */
static void compress_debug_frame(struct plan *plan, const void *header, size_t nr_header)
{
	struct made packed = {.nr = 0};
	uLongf nr = sizeof(packed.bytes) - nr_header;

	put(&packed, header, nr_header);
	CHECK_EQ(compress(packed.bytes + nr_header, &nr, plan->debug_frame.bytes,
			  plan->debug_frame.nr),
		 Z_OK);
	packed.nr += nr;
	plan->debug_frame = packed;
}

TEST(unwind_rows_of_compressed_sections)
{
	struct plan plan = {.debug_flags = SHF_COMPRESSED}, gnu = {.debug_name = ".zdebug_frame"};
	char gnu_header[12] = "ZLIB";
	struct unwind_rows sums;
	Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB};

	add(&plan.debug_frame, false, TEXT, 0x10);
	gnu.debug_frame = plan.debug_frame;
	header.ch_size = plan.debug_frame.nr;
	gnu_header[11] = (char)plan.debug_frame.nr;
	compress_debug_frame(&plan, &header, sizeof(header));
	CHECK_STR(rows_of(&plan, NULL, NULL), "1200 r7+24 c-8 same; 1210 none");
	compress_debug_frame(&gnu, gnu_header, sizeof(gnu_header));
	CHECK_STR(rows_of(&gnu, NULL, NULL), "1200 r7+24 c-8 same; 1210 none");

	/* A wrong uncompressed size, smaller and larger, and an unknown compression. */
	plan.debug_frame.bytes[offsetof(Elf64_Chdr, ch_size)]--;
	CHECK_STR(rows_of(&plan, NULL, &sums), "");
	CHECK_EQ(sums.nr_broken, 1);
	plan.debug_frame.bytes[offsetof(Elf64_Chdr, ch_size)] += 2;
	CHECK_STR(rows_of(&plan, NULL, NULL), "");
	plan.debug_frame.bytes[offsetof(Elf64_Chdr, ch_size)]--;
	plan.debug_frame.bytes[offsetof(Elf64_Chdr, ch_size) + 5] = 1; /* 1 TiB */
	CHECK_STR(rows_of(&plan, NULL, NULL), "");
	plan.debug_frame.bytes[offsetof(Elf64_Chdr, ch_size) + 5] = 0;
	CHECK_STR(rows_of(&plan, NULL, NULL), "1200 r7+24 c-8 same; 1210 none");
	plan.debug_frame.bytes[0] = 2;
	CHECK_STR(rows_of(&plan, NULL, NULL), "");
}

TEST(unwind_rows_without_section_headers)
{
	struct plan plan = {.has_no_sections = true};

	add(&plan.eh_frame, true, TEXT, 0x10);
	put_number(&plan.eh_frame, 0, 4);
	add(&plan.eh_frame, true, TEXT + 0x10, 0x10); /* ignored: after the end */
	CHECK_STR(rows_of(&plan, NULL, NULL), "1200 r7+8 c-8 same; 1210 none");
}

TEST(unwind_rows_broken_functions)
{
	struct plan plan = {.entry = 0};
	struct unwind_rows sums;

	add(&plan.eh_frame, true, TEXT, 0x10);
	put_function(&plan.eh_frame, true, 0, TEXT + 0x10, 0x10, "\x0e\x10\x44\x0e\x18\x17", 6);
	put_function(&plan.eh_frame, true, 0, TEXT + 0x20, 0x10, "\x44\x0f\x00", 3);
	CHECK_STR(rows_of(&plan, NULL, &sums),
		  "1200 r7+8 c-8 same; 1210 none; 1220 r7+8 c-8 same; 1224 none");
	CHECK_EQ(sums.nr_functions, 2);
	CHECK_EQ(sums.nr_broken, 1);
	CHECK_EQ(sums.nr_not_packed, 1);
}

TEST(unwind_rows_entry)
{
	struct plan plan = {.entry = TEXT + 0x10};

	CHECK_STR(rows_of(&plan, NULL, NULL),
		  "1210 end; 1250 none"); /* 64 bytes: no symbol has its size */
	add(&plan.eh_frame, true, TEXT + 0x40, 0x10);
	CHECK_STR(rows_of(&plan, NULL, NULL), "1210 end; 1240 r7+8 c-8 same; 1250 none");
	add(&plan.eh_frame, true, TEXT + 0x8, 0x28);
	CHECK_STR(rows_of(&plan, NULL, NULL),
		  "1208 r7+8 c-8 same; 1210 end; 1230 none; 1240 r7+8 c-8 same; 1250 none");
	plan.entry = TEXT + 0x40;
	CHECK_STR(rows_of(&plan, NULL, NULL), "1208 r7+8 c-8 same; 1230 none; 1240 end; 1250 none");
	plan.entry = TEXT + TEXT_BYTES - 8;
	CHECK_STR(rows_of(&plan, NULL, NULL),
		  "1208 r7+8 c-8 same; 1230 none; 1240 r7+8 c-8 same; 1250 none; 15f8 end; "
		  "1600 none");
	plan.entry = 0x100; /* no code there */
	CHECK_STR(rows_of(&plan, NULL, NULL),
		  "1208 r7+8 c-8 same; 1230 none; 1240 r7+8 c-8 same; 1250 none");
}

TEST(unwind_rows_signal_returns)
{
	static const char long_form[] = "\x48\xc7\xc0\x0f\0\0\0\x0f\x05";
	static const char short_form[] = "\xb8\x0f\0\0\0\x0f\x05";
	static const char arm64_form[] = "\x68\x11\x80\xd2\x01\0\0\xd4";
	struct plan plan = {.entry = 0}, arm64 = {.machine = EM_AARCH64};

	memcpy(plan.text, short_form, 7);
	memcpy(plan.text + 0x20, long_form, 9);
	memcpy(plan.text + 0x50, short_form, 7);
	memcpy(plan.text + TEXT_BYTES - 7, short_form, 7);
	memcpy(plan.text + 0x80, arm64_form, 8);
	add(&plan.eh_frame, true, TEXT + 0x40, 0x10);
	/* This entry overlaps the end of the third one. */
	put_function(&plan.eh_frame, true, 0, TEXT + 0x56, 1, "", 0);
	CHECK_STR(rows_of(&plan, NULL, NULL),
		  "1200 S:signal; 1207 none; 121f S:signal; 1229 none; 1240 r7+8 c-8 same; "
		  "1250 none; 1256 r7+8 c-8 same; 1257 none; 15f8 S:signal; 1600 none");
	memcpy(arm64.text + 0x10, arm64_form, 8);
	memcpy(arm64.text + 0x22, arm64_form, 8); /* not at the start of an instruction */
	CHECK_STR(rows_of(&arm64, NULL, NULL), "120f S:signal; 1218 none");
}

TEST(unwind_rows_find_a_rule)
{
	static uint8_t file[FILE_ROOM];
	struct plan plan = {.entry = 0};
	struct elf_image image;
	struct unwind_rows rows;

	add(&plan.eh_frame, true, TEXT, 0x10);
	CHECK_EQ(elf_image_open_memory(&image, file, build(file, &plan), NULL), 0);
	CHECK_EQ(unwind_rows_read(&rows, &image, NULL, NULL), 0);
	CHECK_EQ(unwind_rows_find(&rows, 0)->cfa, UNWIND_CFA_NONE);
	CHECK_EQ(unwind_rows_find(&rows, TEXT - 1)->cfa, UNWIND_CFA_NONE);
	CHECK_EQ(unwind_rows_find(&rows, TEXT)->cfa, UNWIND_CFA_REGISTER);
	CHECK_EQ(unwind_rows_find(&rows, TEXT + 0xf)->offset, 8);
	CHECK_EQ(unwind_rows_find(&rows, TEXT + 0x10)->cfa, UNWIND_CFA_NONE);
	CHECK_EQ(unwind_rows_find(&rows, UINT64_MAX), &rows.rules[0]);
	unwind_rows_clear(&rows);
	elf_image_close(&image);
}

/* --- damage -------------------------------------------------------------------------------- */

static void use(const uint8_t *file, size_t nr)
{
	struct elf_image image;
	struct unwind_rows rows;

	if (elf_image_open_memory(&image, file, nr, NULL) < 0)
		return;
	(void)unwind_rows_read(&rows, &image, &image, NULL);
	unwind_rows_clear(&rows);
	elf_image_close(&image);
}

static void make_rich_plan(struct plan *plan)
{
	size_t common = put_common(&plan->eh_frame, true, "zR", "\1\0", 2);

	plan->entry = TEXT + 0x10;
	put_function(&plan->eh_frame, true, common, TEXT, 0x80,
		     "\0\x41\x0e\x10\x86\x02\x41\x0a\x0b", 9);
	put_function(&plan->eh_frame, true, common, TEXT + 0x90, 0x20,
		     "\0\x41\x0f\x05\x76\x78\x06\x23\x10\x10\x06\x02\x77\x08", 14);
	add(&plan->debug_frame, false, TEXT + 0x40, 0x100);
}

TEST(unwind_rows_cut_short)
{
	static uint8_t file[FILE_ROOM];
	static struct plan plan;
	size_t nr, end;

	make_rich_plan(&plan);
	end = build(file, &plan);
	for (nr = 0; nr <= end; nr++)
		use(test_guarded(file, nr), nr);
	plan.has_no_sections = true;
	end = build(file, &plan);
	for (nr = 0x600; nr <= end; nr++)
		use(test_guarded(file, nr), nr);
}

TEST(unwind_rows_damaged)
{
	static uint8_t file[FILE_ROOM];
	static struct plan plan;
	uint64_t state = 1;
	uint8_t *guarded;
	size_t nr, round;

	make_rich_plan(&plan);
	nr = build(file, &plan);
	guarded = test_guarded(file, nr);
	for (round = 0; round < 20000; round++) {
		memcpy(guarded, file, nr);
		/* Half of the damage goes to headers and sections. */
		tiny_damage(round % 2 ? guarded : guarded + 0x600, round % 2 ? nr : nr - 0x600,
			    &state);
		use(guarded, nr);
	}
}

TEST(unwind_rows_out_of_memory)
{
	static uint8_t file[FILE_ROOM];
	static struct plan plan;
	struct elf_image image;
	struct unwind_rows rows;
	size_t nth;
	int err;

	make_rich_plan(&plan);
	CHECK_EQ(elf_image_open_memory(&image, file, build(file, &plan), NULL), 0);
	for (nth = 1;; nth++) {
		struct error error = {0};

		test_fail_allocation(nth);
		err = unwind_rows_read(&rows, &image, NULL, &error);
		test_fail_allocation(0);
		unwind_rows_clear(&rows);
		if (err == 0)
			break;
		CHECK_EQ(err, -ENOMEM);
		CHECK_EQ(error.code, -ENOMEM);
	}
	CHECK(nth > 10);
	elf_image_close(&image);
}

/* --- this host ----------------------------------------------------------------------------- */

static int find_libc(struct dl_phdr_info *info, size_t size, void *ret_info)
{
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	*(struct dl_phdr_info *)ret_info = *info;
	return 1;
}

/* True if some address of the function has such a rule. */
static bool has_rule(const struct unwind_rows *rows, uint64_t start, uint64_t bytes,
		     enum unwind_cfa cfa)
{
	uint64_t at;

	for (at = start; at < start + bytes; at++)
		if (unwind_rows_find(rows, at)->cfa == cfa)
			return true;
	return false;
}

TEST(unwind_rows_of_libc)
{
	struct dl_phdr_info info = {0};
	struct elf_image image;
	struct unwind_rows rows;
	uint64_t clone_address;
	FILE *file;
	size_t i, nr_signal = 0;

	if (!dl_iterate_phdr(find_libc, &info))
		SKIP("needs a libc that is a shared library");
	file = fopen(info.dlpi_name, "r");
	CHECK(file);
	CHECK_EQ(elf_image_open(&image, fileno(file), NULL), 0);
	CHECK_EQ(unwind_rows_read(&rows, &image, NULL, NULL), 0);
	CHECK(rows.nr_functions > 1000);
	CHECK(rows.nr_rows > 5000);
	CHECK_EQ(rows.nr_broken, 0);
	CHECK(rows.nr_not_packed < 20);
	/* A new thread starts in clone, and signal handlers return to __restore_rt. */
	clone_address = (uint64_t)(uintptr_t)dlsym(RTLD_NEXT, "clone") - info.dlpi_addr;
	CHECK(has_rule(&rows, clone_address, 100, UNWIND_CFA_END));
	CHECK(has_rule(&rows, clone_address, 100, UNWIND_CFA_REGISTER));
	for (i = 0; i < rows.nr_rows; i++)
		nr_signal += rows.rules[rows.rows[i].rule].is_signal_frame;
	CHECK(nr_signal >= 1);
	unwind_rows_clear(&rows);
	elf_image_close(&image);
	fclose(file);
}

static struct code_spans spans_of(uint64_t first, uint64_t step, size_t nr)
{
	struct code_spans spans = {0};
	size_t i;

	for (i = 0; i < nr; i++)
		CHECK_EQ(code_spans_add(&spans, &(struct code_span){.start = first + i * step,
								    .end = first + i * step + 4}),
			 0);
	return spans;
}

/* The first ones are taken, and others are merged in place: a program may have millions. */
TEST(code_spans_are_filled_in_place)
{
	struct code_spans spans = {0}, others = spans_of(8, 16, 24), more = spans_of(0, 16, 8);
	const struct code_span *const array = others.spans;
	size_t i;

	CHECK_EQ(code_spans_fill(&spans, &others), 0);
	CHECK(spans.spans == array && !others.spans);
	CHECK_EQ(code_spans_fill(&spans, &more), 0);
	CHECK(spans.spans == array);
	CHECK_EQ(spans.nr, 32);
	for (i = 1; i < spans.nr; i++)
		CHECK(spans.spans[i - 1].end <= spans.spans[i].start);
	for (i = 0; i < 16; i++)
		CHECK_EQ(spans.spans[i].start, 8 * i);
	code_spans_clear(&spans);
	code_spans_clear(&more);
}
