/*
 * Opens an ELF file, its sections and its relocations. libelf reads the headers and checks them
 * against the file's size; names and contents are read by elf_image_read(), so that no value in the
 * file makes us allocate more than the file has or the caller allows.
 *
 * Extended numbering (more than 65,279 sections or 65,534 segments) is rejected: no executable
 * needs it, and it could make libelf allocate for billions of headers of a sparse file. Files of
 * the other byte order are rejected too: their code does not run here.
 */
#include "elf/image/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd_io.h"

/*
 * Executables have one to four code segments and one to three notes segments, of some hundred
 * bytes.
 */
#define CODE_SEGMENTS_MAX 64
#define NOTES_MAX	  16
#define NOTES_MAX_BYTES	  65536
#define DYNAMIC_MAX_BYTES 65536

/* A smaller range is read even if it is a hole: it costs no more than looking for one. */
#define HOLLOW_MIN_BYTES 65536

#define LOADER_NAME_BYTES 16 /* prefix of a name, enough to recognise a dynamic loader */

/* Sections may overlap, so their sizes don't limit the work. Chromium has 1.1 M relocations. */
#define RELOCATIONS_MAX (16u << 20)

#define VDSO_MAX_BYTES (256u << 10) /* it has two pages of 4 KiB, or one of 64 KiB */

static bool range_fits(uint64_t start, uint64_t bytes, uint64_t total)
{
	return start <= total && bytes <= total - start;
}

int elf_image_read(const struct elf_image *image, uint64_t offset, void *to, size_t nr)
{
	if (!range_fits(offset, nr, image->bytes))
		return -ENOEXEC;
	if (!image->memory) {
		int err;

		if (nr >= HOLLOW_MIN_BYTES && fd_is_hollow(image->fd, offset, nr))
			return -ENXIO;
		err = read_budget_take(image->budget, nr);
		if (!err)
			err = fd_read_at(image->fd, offset, to, nr);
		return err == -ENODATA ? -ENOEXEC : err; /* the file has shrunk */
	}
	memcpy(to, image->memory + offset, nr);
	return 0;
}

static int refuse(struct error *error, const char *why)
{
	return error_set(error, -ENOEXEC, "invalid ELF file: %s", why);
}

/* Checks the file header before libelf uses it. */
static int check_header(struct elf_image *image, struct error *error)
{
	unsigned char ident[EI_NIDENT];
	Elf64_Ehdr wide;
	Elf32_Ehdr narrow;
	bool extended;

	if (elf_image_read(image, 0, ident, sizeof(ident)) < 0 || memcmp(ident, ELFMAG, SELFMAG))
		return refuse(error, "no ELF magic number");
	if (ident[EI_DATA] != ELFDATA2LSB)
		return refuse(error, "wrong byte order");
	image->is_64 = ident[EI_CLASS] == ELFCLASS64;
	if (elf_image_read(image, 0, image->is_64 ? (void *)&wide : (void *)&narrow,
			   image->is_64 ? sizeof(wide) : sizeof(narrow)) < 0)
		return refuse(error, "truncated header");
	image->machine = image->is_64 ? wide.e_machine : narrow.e_machine;
	if (image->is_64)
		extended = (wide.e_shoff && !wide.e_shnum) || wide.e_phnum == PN_XNUM;
	else
		extended = (narrow.e_shoff && !narrow.e_shnum) || narrow.e_phnum == PN_XNUM;
	if (extended)
		return refuse(error, "too many sections or segments");
	return 0;
}

/* Lists the executable segments by file offset. */
static int read_segments(struct elf_image *image, struct error *error)
{
	size_t nr_headers, i, capacity = 0;
	struct elf_segment *at;
	GElf_Phdr header;

	if (elf_getphdrnum(image->elf, &nr_headers) < 0)
		return refuse(error, elf_errmsg(-1));
	for (i = 0; i < nr_headers; i++) {
		if (!gelf_getphdr(image->elf, (int)i, &header))
			return refuse(error, elf_errmsg(-1));
		if (header.p_type != PT_LOAD || !(header.p_flags & PF_X) || !header.p_filesz)
			continue;
		if (!range_fits(header.p_offset, header.p_filesz, UINT64_MAX) ||
		    !range_fits(header.p_vaddr, header.p_filesz, UINT64_MAX) ||
		    image->nr_segments == CODE_SEGMENTS_MAX)
			return refuse(error, "invalid code segments");
		if (ARRAY_RESERVE(image->segments, capacity, image->nr_segments + 1) < 0)
			return error_no_memory(error, "");
		at = image->segments + image->nr_segments++;
		for (; at > image->segments && at[-1].offset > header.p_offset; at--)
			at[0] = at[-1];
		*at = (struct elf_segment){header.p_offset, header.p_vaddr, header.p_filesz};
	}
	return 0;
}

bool elf_segment_next(const struct elf_image *image, uint32_t type, size_t *i, GElf_Phdr *ret)
{
	size_t nr = 0;

	(void)elf_getphdrnum(image->elf, &nr);
	while (*i < nr)
		if (gelf_getphdr(image->elf, (int)(*i)++, ret) && ret->p_type == type)
			return true;
	return false;
}

/* Reads the beginning of a string in a section; libelf would read the whole section. */
static void read_string(const struct elf_image *image, size_t section, uint64_t at, char *to,
			size_t nr)
{
	Elf_Scn *strings = elf_getscn(image->elf, section);
	GElf_Shdr header;

	memset(to, 0, nr);
	if (!strings || !gelf_getshdr(strings, &header) || header.sh_type != SHT_STRTAB ||
	    at >= header.sh_size)
		return;
	nr = nr - 1 < header.sh_size - at ? nr - 1 : (size_t)(header.sh_size - at);
	if (range_fits(header.sh_offset, header.sh_size, image->bytes))
		(void)elf_image_read(image, header.sh_offset + at, to, nr);
}

/*
 * True if the file is the dynamic loader, whose entry point is real, unlike that of other
 * libraries. Only the first dynamic section is examined, since libelf keeps all that it reads in
 * memory.
 */
static bool is_loader(const struct elf_image *image)
{
	Elf_Scn *section = NULL;
	char name[LOADER_NAME_BYTES];
	Elf_Data *entries;
	GElf_Shdr header;
	GElf_Dyn entry;
	int i;

	do {
		section = elf_nextscn(image->elf, section);
		if (!section || !gelf_getshdr(section, &header))
			return false;
	} while (header.sh_type != SHT_DYNAMIC);
	if (header.sh_size > DYNAMIC_MAX_BYTES || header.sh_flags & SHF_COMPRESSED)
		return false;
	entries = elf_getdata(section, NULL);
	for (i = 0; entries && gelf_getdyn(entries, i, &entry); i++) {
		if (entry.d_tag != DT_SONAME)
			continue;
		read_string(image, header.sh_link, entry.d_un.d_val, name, sizeof(name));
		/*
		 * "ld-linux-x86-64.so.2", "ld-musl-aarch64.so.1": every dynamic program starts
		 * there.
		 */
		return !strncmp(name, "ld-", 3) || !strncmp(name, "ld.so", 5) ||
		       !strncmp(name, "ld64", 4);
	}
	return false;
}

/* Finds the build id in a block of notes. */
static void find_build_id(struct elf_image *image, uint64_t offset, uint64_t bytes, uint64_t align)
{
	size_t at = 0, next, name, content;
	Elf_Data *notes;
	GElf_Nhdr note;

	if (bytes > NOTES_MAX_BYTES || !range_fits(offset, bytes, image->bytes))
		return;
	notes = elf_getdata_rawchunk(image->elf, (int64_t)offset, bytes,
				     align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	if (!notes)
		return;
	for (; (next = gelf_getnote(notes, at, &note, &name, &content)) > 0; at = next) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp((char *)notes->d_buf + name, "GNU", sizeof("GNU")) ||
		    note.n_descsz > BUILD_ID_MAX_BYTES)
			continue;
		memcpy(image->build_id, (char *)notes->d_buf + content, note.n_descsz);
		image->build_id_bytes = note.n_descsz;
		return;
	}
}

/* Looks in segments first, as in a loaded program; a debug file has the build id in a section. */
static void read_build_id(struct elf_image *image)
{
	size_t nr_notes = 0, i = 0;
	Elf_Scn *section = NULL;
	GElf_Phdr segment;
	GElf_Shdr header;

	while (!image->build_id_bytes && nr_notes++ < NOTES_MAX &&
	       elf_segment_next(image, PT_NOTE, &i, &segment))
		find_build_id(image, segment.p_offset, segment.p_filesz, segment.p_align);
	while (!image->build_id_bytes && nr_notes < NOTES_MAX &&
	       (section = elf_nextscn(image->elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
			continue;
		find_build_id(image, header.sh_offset, header.sh_size, header.sh_addralign);
		nr_notes++;
	}
}

/* Expects fd or memory, and the size, to be set. */
static int open_image(struct elf_image *image, struct error *error)
{
	GElf_Phdr interpreter;
	GElf_Ehdr header;
	size_t i = 0;
	int err;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return error_set(error, -ENOSYS, "libelf does not know this version of ELF");
	err = check_header(image, error);
	if (err < 0)
		return err;
	if (image->memory)
		image->elf = elf_memory((char *)(uintptr_t)image->memory, image->bytes);
	else
		image->elf = elf_begin(image->fd, ELF_C_READ, NULL);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF ||
	    !gelf_getehdr(image->elf, &header)) {
		err = refuse(error, image->elf ? "no header" : elf_errmsg(-1));
	} else {
		err = read_segments(image, error);
		/* Programs have an interpreter; their entry point is real. */
		if (!err && header.e_entry &&
		    (header.e_type == ET_EXEC ||
		     elf_segment_next(image, PT_INTERP, &i, &interpreter) || is_loader(image)))
			image->entry = header.e_entry;
	}
	if (err < 0)
		elf_image_close(image);
	else
		read_build_id(image);
	return err;
}

/* Fills in the descriptor and the size. */
static int use_file(struct elf_image *image, int fd, struct error *error)
{
	struct stat status;

	*image = (struct elf_image){.fd = fd};
	if (fstat(fd, &status) < 0)
		return error_set_errno(error, "cannot read the file");
	if (!S_ISREG(status.st_mode))
		return refuse(error, "not a regular file");
	image->bytes = (uint64_t)status.st_size;
	image->changed_ns =
		(uint64_t)status.st_ctim.tv_sec * NS_PER_SEC + (uint64_t)status.st_ctim.tv_nsec;
	return 0;
}

int elf_image_open(struct elf_image *image, int fd, struct error *error)
{
	int err = use_file(image, fd, error);

	return err < 0 ? err : open_image(image, error);
}

int elf_header_check(int fd, bool *ret_is_64, uint16_t *ret_machine, struct error *error)
{
	struct elf_image image;
	int err = use_file(&image, fd, error);

	if (err == 0)
		err = check_header(&image, error);
	if (err < 0)
		return err;
	*ret_is_64 = image.is_64;
	*ret_machine = image.machine;
	return 0;
}

int elf_image_open_memory(struct elf_image *image, const void *bytes, size_t nr,
			  struct error *error)
{
	*image = (struct elf_image){.fd = -1, .memory = bytes, .bytes = nr};
	return open_image(image, error);
}

void elf_image_close(struct elf_image *image)
{
	if (image->elf)
		(void)elf_end(image->elf);
	free(image->segments);
	*image = (struct elf_image){.fd = -1};
}

bool elf_image_has_section(const struct elf_image *image, uint32_t type)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(image->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == type && header.sh_size)
			return true;
	return false;
}

bool elf_image_has_build_id(const struct elf_image *image, const uint8_t *build_id, size_t nr)
{
	return nr && image->build_id_bytes == nr && !memcmp(image->build_id, build_id, nr);
}

bool elf_image_fd_has_build_id(int fd, const uint8_t *build_id, size_t nr)
{
	struct elf_image image;
	bool has;

	if (elf_image_open(&image, fd, NULL) < 0)
		return false;
	has = elf_image_has_build_id(&image, build_id, nr);
	elf_image_close(&image);
	return has;
}

int elf_image_offset_to_vaddr(const struct elf_image *image, uint64_t offset, uint64_t *ret_vaddr)
{
	size_t i;

	for (i = 0; i < image->nr_segments; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (offset < segment->offset || offset - segment->offset >= segment->bytes)
			continue;
		*ret_vaddr = segment->vaddr + (offset - segment->offset);
		return 0;
	}
	return -ENOENT;
}

/* --- sections -------------------------------------------------------------------------------- */

/* True if the section's name, in the string table `names`, is `wanted`. */
static bool has_name(const struct elf_image *image, const GElf_Shdr *names, uint64_t at,
		     const char *wanted)
{
	char name[SECTION_NAME_MAX_BYTES + 1];
	size_t nr = strlen(wanted) + 1;

	if (nr > sizeof(name) || at > names->sh_size || nr > names->sh_size - at ||
	    names->sh_offset > image->bytes || at > image->bytes - names->sh_offset)
		return false;
	return !elf_image_read(image, names->sh_offset + at, name, nr) && !memcmp(name, wanted, nr);
}

int elf_section_find(const struct elf_image *image, const char *name, GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;
	GElf_Shdr names, header;
	size_t names_index;

	if (elf_getshdrstrndx(image->elf, &names_index) < 0 ||
	    !gelf_getshdr(elf_getscn(image->elf, names_index), &names))
		return -ENOENT;
	while ((section = elf_nextscn(image->elf, section))) {
		if (!gelf_getshdr(section, &header) ||
		    !has_name(image, &names, header.sh_name, name))
			continue;
		*ret = header;
		return 0;
	}
	return -ENOENT;
}

int elf_section_find_type(const struct elf_image *image, uint32_t type, GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(image->elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != type)
			continue;
		*ret = header;
		return 0;
	}
	return -ENOENT;
}

int elf_section_read(const struct elf_image *image, const GElf_Shdr *header, uint64_t max_bytes,
		     uint8_t **ret)
{
	cleanup_free uint8_t *bytes = NULL;
	int err;

	if (header->sh_type == SHT_NOBITS || header->sh_flags & SHF_COMPRESSED ||
	    !header->sh_size || header->sh_size > max_bytes || header->sh_size > image->bytes)
		return -ENOEXEC;
	bytes = malloc(header->sh_size);
	if (!bytes)
		return -ENOMEM;
	err = elf_image_read(image, header->sh_offset, bytes, header->sh_size);
	if (err < 0)
		return err;
	*ret = take_pointer(&bytes);
	return 0;
}

/* --- relocations ----------------------------------------------------------------------------- */

void relocations_init(struct relocations *relocations, const struct elf_image *image)
{
	relocations->image = image;
	relocations->section = NULL;
	relocations->offset = relocations->end = 0;
	relocations->nr_left = image->is_64 ? RELOCATIONS_MAX : 0;
	relocations->at = relocations->nr = 0;
}

/* Moves to the next section of relocations; false if there is none. */
static bool next_relocations(struct relocations *relocations)
{
	uint64_t bytes = relocations->image->bytes;
	GElf_Shdr header;

	while ((relocations->section =
			elf_nextscn(relocations->image->elf, relocations->section))) {
		if (!gelf_getshdr(relocations->section, &header) || header.sh_type != SHT_RELA ||
		    !(header.sh_flags & SHF_ALLOC) || header.sh_flags & SHF_COMPRESSED ||
		    header.sh_offset > bytes || header.sh_size > bytes - header.sh_offset)
			continue;
		relocations->offset = header.sh_offset;
		relocations->end = header.sh_offset + header.sh_size;
		return true;
	}
	relocations->nr_left = 0;
	return false;
}

static bool next_chunk(struct relocations *relocations)
{
	uint64_t nr = (relocations->end - relocations->offset) / sizeof(Elf64_Rela);

	if (nr > RELOCATIONS_CHUNK)
		nr = RELOCATIONS_CHUNK;
	if (nr > relocations->nr_left)
		nr = relocations->nr_left;
	if (!nr || elf_image_read(relocations->image, relocations->offset, relocations->chunk,
				  nr * sizeof(Elf64_Rela)) < 0)
		return false;
	relocations->offset += nr * sizeof(Elf64_Rela);
	relocations->nr_left -= nr;
	relocations->nr = nr;
	relocations->at = 0;
	return true;
}

bool relocations_next(struct relocations *relocations, GElf_Rela *ret)
{
	while (relocations->at == relocations->nr && !next_chunk(relocations))
		if (!relocations->nr_left || !next_relocations(relocations))
			return false;
	*ret = relocations->chunk[relocations->at++];
	return true;
}

/* --- the vdso -------------------------------------------------------------------------------- */

/* The kernel does not give the vdso's length: its section headers come last, so it ends there. */
const void *vdso_find(size_t *ret_bytes)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	uint64_t bytes;

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || !header->e_shoff)
		return NULL;
	bytes = header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize;
	if (bytes > VDSO_MAX_BYTES)
		return NULL;
	*ret_bytes = bytes;
	return header;
}
