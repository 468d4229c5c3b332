/* What the instruction under a probe of user code means for the probe; read from its file. */
#ifndef STOOK_PROBE_ATTACH_PROBE_CODE_H
#define STOOK_PROBE_ATTACH_PROBE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/expression/probe_list.h"

/* See elf/image/uprobe_code.h. False for probes of the kernel. */
bool probe_code_is_stepped(const struct probe_list *list, uint32_t number);

#endif
