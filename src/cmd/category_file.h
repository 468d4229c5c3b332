/* Tables of categories that users name: for --categories. */
#ifndef STOOK_CMD_CATEGORY_FILE_H
#define STOOK_CMD_CATEGORY_FILE_H

#include "base/error.h"
#include "view/categories.h"

/*
 * The table in this file, or for "kernel" the built-in one; NULL for no path. To be freed by
 * categories_free(). 0 or a negative errno.
 */
int category_file_load(const char *path, struct categories **ret, struct error *error);

#endif
