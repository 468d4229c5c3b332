/*
 * From the ELF headers: PT_INTERP, and the DT_NEEDED entries of the dynamic section, whose strings are expected in
 * .dynstr.
 */
#include "probe/find/needed_task.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "elf/image/elf_image.h"

#define DYNAMIC_MAX_BYTES (64u << 10) /* more than in any known program */
#define STRINGS_MAX_BYTES (4u << 20)

const char *needed_answer_next(struct bytes *answer)
{
	const char *text = answer->nr ? bytes_string(answer) : NULL;

	return text && strlen(text) < PATH_MAX ? text : NULL;
}

/* Texts that do not fit are left out. */
static int add_text(struct worker_job *job, const char *text)
{
	size_t nr = strlen(text) + 1;
	int err;

	if (nr > PATH_MAX || nr > NEEDED_MAX_BYTES - job->answer_bytes)
		return 0;
	err = fd_write_at(job->answer_fd, job->answer_bytes, text, nr);
	job->answer_bytes += nr;
	return err;
}

static int add_loader(struct worker_job *job, const struct elf_image *image)
{
	char path[PATH_MAX] = "";
	GElf_Phdr header;
	size_t i = 0;

	if (!elf_segment_next(image, PT_INTERP, &i, &header) || header.p_filesz >= sizeof(path) ||
	    elf_image_read(image, header.p_offset, path, header.p_filesz) < 0)
		path[0] = '\0';
	return add_text(job, path);
}

static int add_libraries(struct worker_job *job, const struct elf_image *image)
{
	cleanup_free uint8_t *entries = NULL, *strings = NULL;
	GElf_Shdr dynamic, names;
	size_t i;
	int err = 0;

	if (elf_section_find_type(image, SHT_DYNAMIC, &dynamic) < 0 ||
	    elf_section_find(image, ".dynstr", &names) < 0 ||
	    elf_section_read(image, &dynamic, DYNAMIC_MAX_BYTES, &entries) < 0 ||
	    elf_section_read(image, &names, STRINGS_MAX_BYTES, &strings) < 0)
		return 0;
	strings[names.sh_size - 1] = '\0';
	for (i = 0; i < dynamic.sh_size / sizeof(Elf64_Dyn) && err == 0; i++) {
		Elf64_Dyn entry;

		memcpy(&entry, entries + i * sizeof(entry), sizeof(entry));
		if (entry.d_tag == DT_NEEDED && entry.d_un.d_val < names.sh_size)
			err = add_text(job, (const char *)strings + entry.d_un.d_val);
	}
	return err;
}

int needed_task(struct worker_job *job, void **state)
{
	struct elf_image image;
	int err = job->fd < 0 ? job->fd : elf_image_open(&image, job->fd, NULL);

	(void)state;
	if (err == 0) {
		err = add_loader(job, &image);
		if (err == 0)
			err = add_libraries(job, &image);
		elf_image_close(&image);
	}
	return err == -ENOMEM ? -E2BIG : err;
}
