/* Words for the user on stderr, all in one manner: `stook: what` and `  hint: what to try`. */
#ifndef STOOK_CMD_COMPLAIN_H
#define STOOK_CMD_COMPLAIN_H

#include "base/error.h"

void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void complain_error(const struct error *error);

#endif
