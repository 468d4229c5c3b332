/* The first bytes under a probe, given to elf/image/uprobe_code.h; see probe_code.h. */
#include "probe/attach/probe_code.h"

#include <elf.h>
#include <unistd.h>

#include "elf/image/instructions.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

bool probe_code_is_stepped(const struct probe_list *list, uint32_t number)
{
	const struct probe *probe = &list->probes[number];
	uint8_t code[UPROBE_CODE_BYTES];
	ssize_t nr;

	if (!probe_is_user(probe))
		return false;
	nr = pread(list->files[probe->file].fd, code, sizeof(code), (off_t)probe->offset);
	return uprobe_code_is_stepped(MACHINE, code, nr > 0 ? (size_t)nr : 0);
}
