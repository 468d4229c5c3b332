/* sym/symbolizer: frames of this very program, its libc, the vdso, and a made-up kernel. */
#include "sym/symbolizer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "unit/test.h"

/* --- a profile to be named ----------------------------------------------------------------- */

static uint32_t add_module(struct profile *profile, enum module_kind kind, uint32_t file)
{
	struct module module = {.kind = kind, .file = file};
	int64_t number;

	module.name = (uint32_t)profile_add_string(profile, "some module");
	number = profile_add_module(profile, &module);
	CHECK(number >= 0);
	return (uint32_t)number;
}

static uint32_t add_frame(struct profile *profile, uint32_t module, uint64_t address)
{
	enum frame_kind kind = module == MODULE_NR_KERNEL ? FRAME_KERNEL : FRAME_USER;
	int64_t number = profile_add_frame(profile, kind, module, address);

	CHECK(number >= 0);
	return (uint32_t)number;
}

static const char *name_of(const struct profile *profile, uint32_t frame)
{
	return profile_string(profile, profile_frame(profile, frame)->function);
}

static uint32_t add_file(struct file_table *files, const char *path)
{
	int64_t number = file_table_add_fd(files, path, open(path, O_RDONLY | O_CLOEXEC));

	CHECK(number >= 0);
	return (uint32_t)number;
}

/* Where a function of the running program lies in its file. */
struct place {
	uint64_t address;
	char path[256];
	uint64_t offset;
};

static int find_place(struct dl_phdr_info *info, size_t size, void *context)
{
	struct place *place = context;
	size_t i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + header->p_vaddr;

		if (header->p_type != PT_LOAD || place->address < start ||
		    place->address - start >= header->p_filesz)
			continue;
		place->offset = place->address - start + header->p_offset;
		snprintf(place->path, sizeof(place->path), "%s",
			 info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe");
		return 1;
	}
	return 0;
}

static struct place place_of(const void *function)
{
	struct place place = {.address = (uint64_t)(uintptr_t)function};

	CHECK_EQ(dl_iterate_phdr(find_place, &place), 1);
	return place;
}

/* A function whose name is as a C++ compiler would make it. */
int mangled_function(int number) __asm__("_ZN5stook4testEi");
__attribute__((noinline)) int mangled_function(int number)
{
	return number * 3;
}

/* --- a made-up kernel ---------------------------------------------------------------------- */

struct fake_kernel {
	int answer; /* 0 or a negative errno */
	size_t nr_calls, nr_addresses;
};

static int fake_names(void *self, const uint64_t *addresses, size_t nr,
		      int (*add)(void *context, size_t i, const char *name, const char *module),
		      void *context, struct error *error)
{
	struct fake_kernel *kernel = self;
	size_t i;

	kernel->nr_calls++;
	kernel->nr_addresses += nr;
	if (kernel->answer < 0)
		return error_set(error, kernel->answer, "the fake kernel refuses");
	for (i = 0; i < nr; i++) {
		char name[32];
		int err;

		if (addresses[i] % 2)
			continue; /* odd addresses have no names */
		snprintf(name, sizeof(name), "kernel_%llx", (unsigned long long)addresses[i]);
		err = add(context, i, name, "");
		if (err < 0)
			return error_set(error, err, "no room");
	}
	return 0;
}

static struct kernel_names fake_source(struct fake_kernel *kernel)
{
	return (struct kernel_names){.name = fake_names, .self = kernel};
}

/* --- tests --------------------------------------------------------------------------------- */

TEST(symbolizer_names_files)
{
	struct profile *profile = profile_new();
	struct file_table *files = file_table_new(10);
	struct symbolizer_sources sources = {.files = files};
	struct symbolizer_result result = {0};
	struct place own = place_of(mangled_function), libc = place_of(gnu_get_libc_version);
	uint32_t own_module = add_module(profile, MODULE_FILE, add_file(files, own.path));
	uint32_t frames[4];

	frames[0] = add_frame(profile, own_module, own.offset);
	if (strcmp(libc.path, own.path))
		frames[1] = add_frame(profile,
				      add_module(profile, MODULE_FILE, add_file(files, libc.path)),
				      libc.offset + 1);
	else
		frames[1] = add_frame(profile, own_module, libc.offset + 1);
	frames[2] = add_frame(profile, own_module, own.offset + 1);
	frames[3] = add_frame(profile, own_module, 1ULL << 60);
	CHECK_EQ(mangled_function(2), 6);
	CHECK_EQ(symbolizer_name_frames(profile, &sources, &result), 0);
	CHECK_STR(name_of(profile, frames[0]), "stook::test(int)");
	CHECK_STR(name_of(profile, frames[1]), "gnu_get_libc_version");
	CHECK_STR(name_of(profile, frames[2]), "stook::test(int)");
	CHECK_EQ(profile_frame(profile, frames[3])->function, 0);
	CHECK_EQ(result.nr_named, 3);
	CHECK_EQ(result.nr_unnamed, 1);
	CHECK_EQ(result.nr_frames_tried, 4);
	CHECK_EQ(result.nr_files_failed, 0);
	CHECK_EQ(result.kernel_error.code, 0);
	profile_free(profile);
	file_table_free(files);
}

TEST(symbolizer_leaves_the_nameless)
{
	struct profile *profile = profile_new();
	struct file_table *files = file_table_new(10);
	struct symbolizer_sources sources = {.files = files};
	struct symbolizer_result result = {0};

	add_frame(profile, MODULE_NR_UNKNOWN, 0x1000);
	add_frame(profile, MODULE_NR_KERNEL, 0x1000);
	add_frame(profile, add_module(profile, MODULE_ANON, 0), 0x1000);
	add_frame(profile, add_module(profile, MODULE_FILE, add_file(files, "/")), 0x1000);
	add_frame(profile, add_module(profile, MODULE_FILE, add_file(files, "/etc/passwd")), 1);
	CHECK_EQ(symbolizer_name_frames(profile, &sources, &result), 0);
	CHECK_EQ(result.nr_named, 0);
	CHECK_EQ(result.nr_unnamed, 5);
	CHECK_EQ(result.nr_files_failed, 2);
	CHECK_EQ(result.kernel_error.code, 0);
	profile_free(profile);
	file_table_free(files);
}

TEST(symbolizer_names_the_vdso)
{
	struct profile *profile = profile_new();
	struct symbolizer_sources sources = {0};
	struct symbolizer_result result = {0};
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	char *function = vdso ? dlvsym(vdso, "__vdso_clock_gettime", "LINUX_2.6") : NULL;
	uint32_t frame, none;

	if (!function)
		SKIP("needs a vdso with __vdso_clock_gettime");
	frame = add_frame(profile, add_module(profile, MODULE_VDSO, 0),
			  (uint64_t)(uintptr_t)function + 1 - getauxval(AT_SYSINFO_EHDR));
	none = add_frame(profile, add_module(profile, MODULE_VDSO, 0), 1ULL << 40);
	CHECK_EQ(symbolizer_name_frames(profile, &sources, &result), 0);
	CHECK_STR(name_of(profile, frame), "__vdso_clock_gettime");
	CHECK_EQ(profile_frame(profile, none)->function, 0);
	CHECK_EQ(result.nr_files_failed, 0);
	profile_free(profile);
}

TEST(symbolizer_asks_the_kernel_once)
{
	struct fake_kernel kernel = {0};
	struct profile *profile = profile_new();
	struct symbolizer_sources sources = {.kernel = fake_source(&kernel)};
	struct symbolizer_result result = {0};
	uint32_t frames[3];

	frames[0] = add_frame(profile, MODULE_NR_KERNEL, 0x20);
	frames[1] = add_frame(profile, MODULE_NR_KERNEL, 0x11);
	CHECK_EQ(symbolizer_name_frames(profile, &sources, &result), 0);
	CHECK_EQ(symbolizer_name_frames(profile, &sources, &result), 0);
	CHECK_EQ(kernel.nr_calls, 1);
	CHECK_EQ(kernel.nr_addresses, 2);
	frames[2] = add_frame(profile, MODULE_NR_KERNEL, 0x10);
	CHECK_EQ(symbolizer_name_frames(profile, &sources, &result), 0);
	CHECK_EQ(kernel.nr_calls, 2);
	CHECK_EQ(kernel.nr_addresses, 3);
	CHECK_STR(name_of(profile, frames[0]), "kernel_20");
	CHECK_STR(name_of(profile, frames[1]), "");
	CHECK_STR(name_of(profile, frames[2]), "kernel_10");
	CHECK_EQ(result.nr_named, 2);
	CHECK_EQ(result.nr_unnamed, 1);
	profile_free(profile);
}

TEST(symbolizer_falls_back)
{
	struct fake_kernel refusing = {.answer = -EPERM}, answering = {0};
	struct profile *profile = profile_new();
	struct symbolizer_sources sources = {.kernel = fake_source(&refusing),
					     .kernel_fallback = fake_source(&answering)};
	struct symbolizer_result result = {0};
	uint32_t frame = add_frame(profile, MODULE_NR_KERNEL, 0x20);

	CHECK_EQ(symbolizer_name_frames(profile, &sources, &result), 0);
	CHECK_STR(name_of(profile, frame), "kernel_20");
	CHECK_EQ(result.kernel_error.code, 0);

	answering.answer = -EACCES;
	add_frame(profile, MODULE_NR_KERNEL, 0x40);
	CHECK_EQ(symbolizer_name_frames(profile, &sources, &result), 0);
	CHECK_EQ(result.kernel_error.code, -EACCES);
	CHECK_STR(result.kernel_error.text, "the fake kernel refuses");
	CHECK_EQ(result.nr_named, 1);
	CHECK_EQ(result.nr_unnamed, 1);
	CHECK_EQ(refusing.nr_calls, 2);
	profile_free(profile);
}

TEST(symbolizer_out_of_memory)
{
	struct fake_kernel kernel = {0};
	struct profile *profile = profile_new();
	struct file_table *files = file_table_new(10);
	struct symbolizer_sources sources = {.files = files, .kernel = fake_source(&kernel)};
	struct symbolizer_result result = {0};
	struct place own = place_of(mangled_function);
	uint32_t user = add_frame(
		profile, add_module(profile, MODULE_FILE, add_file(files, own.path)), own.offset);
	uint32_t in_kernel = add_frame(profile, MODULE_NR_KERNEL, 0x20);
	size_t nth;
	int err = -ENOMEM;

	/* The demangler's own allocation failing merely leaves a name mangled. */
	for (nth = 1; err; nth++) {
		test_fail_allocation(nth);
		err = symbolizer_name_frames(profile, &sources, &result);
		test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
	}
	CHECK(nth > 3);
	CHECK(profile_frame(profile, user)->function);
	CHECK_STR(name_of(profile, in_kernel), "kernel_20");
	CHECK_EQ(result.nr_named, 2);
	CHECK_EQ(result.kernel_error.code, 0);
	profile_free(profile);
	file_table_free(files);
}
