/* See program_code.h. The mistakes that users make: a script, a 32-bit program, a foreign one. */
#include "probe/find/program_code.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "elf/image/elf_image.h"

#if defined(__aarch64__)
#define HOST_MACHINE EM_AARCH64
#else
#define HOST_MACHINE EM_X86_64
#endif

/* What is said of a file that begins with "#!". */
static int refuse_script(struct error *error, const char *path, const char *head)
{
	const char *at = head + 2 + strspn(head + 2, " \t");
	int nr = (int)strcspn(at, " \t\r\n");

	(void)error_set(error, -ENOEXEC, "'%s' is a script, which has no functions to probe", path);
	if (nr)
		error_hint(error, "it is run by '%.*s'", nr, at);
	return -ENOEXEC;
}

int program_code_check(int fd, const char *path, struct error *error)
{
	struct error why = {0};
	struct elf_image image;
	char head[128] = "";
	int err;

	err = elf_image_open(&image, fd, &why);
	if (err < 0) {
		(void)!pread(fd, head, sizeof(head) - 1, 0);
		if (text_starts_with(head, "#!"))
			return refuse_script(error, path, head);
		return error_set(error, err, "cannot probe '%s': %s", path, why.text);
	}
	if (!image.is_64)
		err = error_set(error, -ENOEXEC, "cannot probe '%s': 32-bit code is not supported",
				path);
	else if (image.machine != HOST_MACHINE)
		err = error_set(error, -ENOEXEC,
				"cannot probe '%s': its code is for another kind of machine", path);
	elf_image_close(&image);
	return err;
}
