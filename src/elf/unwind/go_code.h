/*
 * What Go's code needs besides its call frame information.
 *
 * Go's .debug_frame says where return addresses are, and nothing of frame pointers, though all of
 * its code keeps them, right below the return address. And it does not tell of the places where the
 * runtime changes from one stack to another: frame pointers lead through these.
 */
#ifndef STOOK_ELF_UNWIND_GO_CODE_H
#define STOOK_ELF_UNWIND_GO_CODE_H

#include <stdint.h>

#include "bpf/unwind_format.h"
#include "elf/image/elf_image.h"

struct go_code;

/* *ret: NULL if the file holds no Go. 0 or -ENOMEM. */
int go_code_read(struct go_code **ret, const struct elf_image *image);
void go_code_free(struct go_code *code);

/*
 * What a function is walked by, whatever its CFI says: UNWIND_CFA_END where stacks begin,
 * UNWIND_CFA_CHAIN where they change or CFI is not to be used; UNWIND_CFA_NONE: by its CFI.
 */
enum unwind_cfa go_code_special(const struct go_code *code, uint64_t function);

/* Adds to a rule of .debug_frame where the frame pointer is. */
void go_code_complete(struct unwind_rule *rule);

#endif
