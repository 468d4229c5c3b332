/* Folders are left out where the files' own names tell the two apart. */
#include "format/flame/compared_names.h"

#include <string.h>

#include "format/flame/svg_text.h"

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool compared_names_known(const struct comparison_style *style)
{
	return style && style->before_name && style->after_name;
}

void compared_names_write(const struct comparison_style *style, FILE *out)
{
	const char *before = file_name(style->before_name), *after = file_name(style->after_name);
	bool are_alike = !strcmp(before, after);

	svg_text(out, are_alike ? style->before_name : before);
	(void)fputs(" \xe2\x86\x92 ", out);
	svg_text(out, are_alike ? style->after_name : after);
}
