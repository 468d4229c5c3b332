/*
 * jit-PID.dump, "jitdump": a binary record of the code that a runtime makes, with the code itself.
 * Only names and places are taken from it.
 */
#ifndef STOOK_SYM_JITDUMP_H
#define STOOK_SYM_JITDUMP_H

#include <stddef.h>
#include <stdint.h>

#include "sym/code_map.h"

#define JITDUMP_MAX_BYTES (4ULL << 30)

/* Longer names are cut. */
#define JITDUMP_NAME_BYTES 8192

/*
 * Adds the whole records from *at on (0: the file's beginning, with its header), which is where the
 * next call is to go on when the file has grown. A file that is shorter than *at was written anew:
 * it is read from its beginning. A record that contradicts itself is passed over.
 *
 * 0; -ENOEXEC if it is no jitdump of this machine's byte order; -EBADMSG at a record that does not
 * even have room for its own size, behind which nothing can be found; -EFBIG when there is more
 * behind JITDUMP_MAX_BYTES; or another negative errno. All before *at was added then too.
 */
int jitdump_read(int fd, struct code_map *map, uint64_t *at);

#endif
