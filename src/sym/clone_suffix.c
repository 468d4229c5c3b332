/* Suffixes of clones by a table of words. Those of GCC come first, then LLVM's. */
#include "sym/clone_suffix.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"

static const struct {
	const char *word;
	bool has_number; /* always; the others may have one */
} suffixes[] = {
	{".cold", false},	  {".isra", true},	  {".constprop", true},
	{".part", true},	  {".localalias", false}, {".lto_priv", true},
	{".clone", true},	  {".resolver", false},	  {"._omp_fn", true},
	{"._omp_cpyfn", true},	  {"._loopfn", true},	  {".simdclone", true},
	{".llvm", true},	  {".__uniq", true},	  {".specialized", true},
	{".omp_outlined", false},
};

size_t clone_suffix_bytes(const char *at)
{
	size_t i, nr, digits;

	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		nr = strlen(suffixes[i].word);
		if (strncmp(at, suffixes[i].word, nr) != 0 || (at[nr] && at[nr] != '.'))
			continue;
		digits = at[nr] ? strspn(at + nr + 1, "0123456789") : 0;
		if (digits)
			return nr + 1 + digits;
		return suffixes[i].has_number ? 0 : nr;
	}
	return 0;
}

static bool is_mangled(const char *name)
{
	return name[0] == '_' && name[1] && strchr("ZRD", name[1]);
}

/* A C identifier, perhaps with the number that a local one got. */
static bool is_plain(const char *name, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c == '.' ? !i || !isdigit((unsigned char)name[i + 1]) || i + 1 == nr
			     : !isalnum(c) && c != '_' && c != '$')
			return false;
	}
	return nr > 0;
}

size_t clone_suffix_find(const char *name)
{
	const char *dot = name;

	while ((dot = strchr(dot, '.'))) {
		size_t nr = 0, next;

		while ((next = clone_suffix_bytes(dot + nr)))
			nr += next;
		if (nr && !dot[nr])
			break;
		dot += nr ? nr : 1;
	}
	if (!dot || (!is_mangled(name) && !is_plain(name, (size_t)(dot - name))))
		return strlen(name);
	return (size_t)(dot - name);
}
