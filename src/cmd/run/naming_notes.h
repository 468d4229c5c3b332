/* Tells, a line each, what kept frames from being named. */
#ifndef STOOK_CMD_RUN_NAMING_NOTES_H
#define STOOK_CMD_RUN_NAMING_NOTES_H

#include "sym/symbolizer.h"

void naming_notes_tell(const struct symbolizer *symbolizer);

#endif
