/* See library_name.h. Pure text: what is a library indeed is seen when it is opened. */
#include "probe/find/library_name.h"

#include <string.h>

#include "base/text.h"

#define DELETED " (deleted)"

static bool is_library_of(const char *file, const char *name, const char *behind)
{
	size_t nr = strlen(name);

	return text_starts_with(file, "lib") && !strncmp(file + 3, name, nr) &&
	       text_starts_with(file + 3 + nr, behind);
}

/* musl's C library and its dynamic linker are one file. */
static bool is_musl_of(const char *file, const char *name)
{
	return !strcmp(name, "c") &&
	       (text_starts_with(file, "ld-musl-") || text_starts_with(file, "libc.musl-"));
}

enum library_fit library_fit_of(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	const char *file = slash ? slash + 1 : path;
	size_t nr = strlen(file);

	if (text_ends_with(file, nr, DELETED))
		nr -= strlen(DELETED);
	if (strlen(name) == nr && !strncmp(file, name, nr))
		return FIT_SAME;
	if (is_library_of(file, name, ".so") || is_musl_of(file, name))
		return FIT_LIBRARY;
	if (is_library_of(file, name, "-") && strstr(file, ".so"))
		return FIT_RELEASE;
	return NR_LIBRARY_FITS;
}

bool library_is_wanted(const char *file, const char *name)
{
	size_t nr = strlen("lib") + strlen(name) + strlen(".so");

	if (strstr(name, ".so") && !strcmp(file, name))
		return true;
	return is_musl_of(file, name) ||
	       (is_library_of(file, name, ".so") && (!file[nr] || file[nr] == '.'));
}
