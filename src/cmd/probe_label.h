/* What probes are called in results. */
#ifndef STOOK_CMD_PROBE_LABEL_H
#define STOOK_CMD_PROBE_LABEL_H

#include "probe/expression/probe_list.h"

/* "name", "r:name" when it returns, "name (hash.c)" if it is one of several; to be freed. */
char *probe_label(const struct probe *probe);

#endif
