/* What samples are told apart by, in the words of --by. */
#ifndef STOOK_CMD_OPTIONS_LABEL_KEYS_H
#define STOOK_CMD_OPTIONS_LABEL_KEYS_H

#include "base/error.h"

/* "pid,comm" as enum label bits. 0 or -EINVAL. */
int label_keys_take(const char *value, unsigned *ret, struct error *error);

/*
 * Whether a profile has all these labels: what is asked about must be there, for rows of nothing but 0
 * would say something wrong. 0 or -EINVAL.
 */
int label_keys_check(unsigned wanted, unsigned there, struct error *error);

#endif
