/*
 * The C library that most processes use is ours too, and our dynamic linker has asked its resolvers,
 * or does when it looks a name up; their answers depend on the processor only (and on
 * GLIBC_TUNABLES, which nobody sets for one process alone). Nothing of the file is run that would
 * not run in this process anyhow. A static stook has no such library.
 */
#include "probe/find/ifunc.h"

#include <errno.h>

#ifndef STOOK_STATIC

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <sys/stat.h>

struct loaded {
	dev_t device;
	ino_t inode;
	const char *path; /* NULL: not loaded */
	uint64_t bias;
};

static int is_wanted(struct dl_phdr_info *info, size_t nr, void *context)
{
	struct loaded *loaded = context;
	struct stat st;

	(void)nr;
	if (info->dlpi_name[0] != '/' || stat(info->dlpi_name, &st) < 0 ||
	    st.st_dev != loaded->device || st.st_ino != loaded->inode)
		return 0;
	loaded->path = info->dlpi_name;
	loaded->bias = info->dlpi_addr;
	return 1;
}

/* By any name of the resolver's: those that only the library itself uses can't be looked up. */
static void *look_up(void *library, const struct user_file *file, uint32_t function)
{
	const struct listed_function *functions = file->functions.functions;
	uint64_t resolver = functions[function].vaddr;
	void *code = NULL;

	while (function && functions[function - 1].vaddr == resolver)
		function--;
	for (; !code && function < file->functions.nr && functions[function].vaddr == resolver;
	     function++)
		if (functions[function].is_ifunc)
			code = dlsym(library, user_file_name(file, function));
	return code;
}

int ifunc_resolve(const struct user_file *file, uint32_t function, uint64_t *ret_vaddr)
{
	struct loaded loaded = {.device = file->device, .inode = file->inode};
	uint64_t offset, vaddr;
	void *library, *code;

	(void)dl_iterate_phdr(is_wanted, &loaded);
	library = loaded.path ? dlopen(loaded.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	if (!library)
		return -ENOENT;
	code = look_up(library, file, function);
	(void)dlclose(library);
	if (!code)
		return -ENOENT;
	vaddr = (uint64_t)(uintptr_t)code - loaded.bias;
	if (user_file_offset(file, vaddr, &offset) < 0)
		return -ERANGE;
	*ret_vaddr = vaddr;
	return 0;
}

#else

int ifunc_resolve(const struct user_file *file, uint32_t function, uint64_t *ret_vaddr)
{
	(void)file;
	(void)function;
	(void)ret_vaddr;
	return -ENOENT;
}

#endif
