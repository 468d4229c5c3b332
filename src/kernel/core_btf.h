/*
 * Extracts the few kernel types that the BPF programs read from the kernel's BTF, its description
 * of all its types.
 *
 * libbpf would relocate the programs against the whole BTF: 5.5 MB, read and copied, for a dozen
 * fields. That takes 41 ms of CPU and 11 MB of memory at each start, more than the rest of a run
 * together. Extracting the few types first costs a third of that.
 */
#ifndef STOOK_KERNEL_CORE_BTF_H
#define STOOK_KERNEL_CORE_BTF_H

#include <stddef.h>

#include "base/error.h"

/*
 * Returns a descriptor of an in-memory file with the BTF of the named structs. The caller closes
 * it. libbpf takes it as /proc/self/fd/N in place of the kernel's BTF. Members keep name, offset
 * and kind. A member that is a named struct has members of its own only if that struct comes
 * earlier in `structs`. A struct that the kernel does not have is left out. Returns -1 on failure;
 * libbpf can then still read the whole BTF.
 */
int core_btf_extract(const char *path, const char *const *structs, size_t nr_structs,
		     struct error *error);

#endif
