/*
 * The few kernel types that the BPF programs read, taken out of the kernel's description of all of
 * its types (BTF).
 *
 * libbpf would do it from the whole: 5.5 MB, read and copied, to relocate a dozen fields. That is
 * 41 ms of CPU and 11 MB of memory at each start, more than all the rest of a run together. Taking
 * the few types out first costs a third of that.
 */
#ifndef STOOK_KERNEL_CORE_BTF_H
#define STOOK_KERNEL_CORE_BTF_H

#include <stddef.h>

#include "base/error.h"

/*
 * A descriptor of a file in memory with the BTF of the named structs, which libbpf can be given as
 * /proc/self/fd/N instead of the kernel's. Members are kept by name, offset and kind. Those that
 * are structs with a name have an inside only if they are named before; a struct that the kernel
 * does not have is left out. -1 on failure: then libbpf can still be left to read the whole.
 */
int core_btf_extract(const char *path, const char *const *structs, size_t nr_structs,
		     struct error *error);

#endif
