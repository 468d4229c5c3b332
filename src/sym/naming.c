/* What naming a frame takes, whatever kind of code it is in. */
#include "sym/naming.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

/* The stub of a function is named like it, with this behind. */
#define STUB "@plt"

int64_t add_function_name(const struct naming *naming, const char *name)
{
	const size_t stub_bytes = sizeof(STUB) - 1;
	char cut[NAME_MAX_BYTES + 1];
	cleanup_free char *readable = NULL, *stub = NULL;
	size_t nr = strnlen(name, NAME_MAX_BYTES);
	bool is_stub = nr > stub_bytes && text_ends_with(name, nr, STUB);

	memcpy(cut, name, nr);
	cut[is_stub ? nr - stub_bytes : nr] = '\0';
	readable = demangle(cut, &naming->symbolizer->options.demangle);
	if (is_stub && asprintf(&stub, "%s" STUB, readable ? readable : cut) < 0)
		return -ENOMEM;
	if (is_stub)
		return profile_add_string(naming->profile, stub);
	return profile_add_string(naming->profile, readable ? readable : cut);
}

int name_frame(const struct naming *naming, uint32_t frame, const char *name)
{
	int64_t string = add_function_name(naming, name);

	if (string < 0)
		return (int)string;
	profile_set_name(naming->profile, frame, (uint32_t)string);
	return 0;
}

int naming_vaddr(const struct naming *naming, const struct elf_image *image, uint64_t offset,
		 uint64_t *ret)
{
	const struct module_code *code = profile_code(naming->profile, naming->module);
	size_t i;

	if (image)
		return elf_image_offset_to_vaddr(image, offset, ret);
	for (i = 0; code && i < code->nr_segments; i++) {
		const struct module_segment *segment = &code->segments[i];

		if (offset < segment->offset || offset - segment->offset >= segment->bytes)
			continue;
		*ret = segment->vaddr + (offset - segment->offset);
		return 0;
	}
	return -ENOENT;
}
