/* Reads tables of categories; see category_file.h. */
#include "cmd/category_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* They are written by hand. */
#define MAX_TABLE_BYTES (1U << 20)

static int read_table(const char *path, char **ret, size_t *ret_nr, struct error *error)
{
	cleanup_file FILE *file = fopen(path, "re");
	cleanup_free char *text = malloc(MAX_TABLE_BYTES + 1);
	size_t nr;

	if (!text)
		return error_set(error, -ENOMEM, "out of memory");
	if (!file)
		return error_set_errno(error, "cannot open '%s'", path);
	nr = fread(text, 1, MAX_TABLE_BYTES + 1, file);
	if (ferror(file))
		return error_set_errno(error, "cannot read '%s'", path);
	if (nr > MAX_TABLE_BYTES)
		return error_set(error, -EFBIG, "'%s' is too large for a table of categories",
				 path);
	*ret = take_pointer(&text);
	*ret_nr = nr;
	return 0;
}

int category_file_load(const char *path, struct categories **ret, struct error *error)
{
	cleanup_free char *text = NULL;
	struct categories *categories = NULL;
	struct error why = {0};
	size_t nr = 0;
	int err;

	if (path && !strcmp(path, "kernel")) {
		categories = categories_of_kernel(error);
		if (!categories)
			return -ENOMEM;
	} else if (path) {
		err = read_table(path, &text, &nr, error);
		if (err)
			return err;
		categories = categories_parse(text, nr, &why);
		if (!categories)
			return error_set(error, -EINVAL, "'%s': %s", path, why.text);
	}
	*ret = categories;
	return 0;
}
