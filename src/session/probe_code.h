/* What the instruction under a probe of user code means for the probe; read from its file. */
#ifndef STOOK_SESSION_PROBE_CODE_H
#define STOOK_SESSION_PROBE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "event/probe_list.h"

/* See elf/uprobe_code.h. False for probes of the kernel. */
bool probe_code_is_stepped(const struct probe_list *list, uint32_t number);

#endif
