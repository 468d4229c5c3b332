/* Profiles whose frames are in this test program, and the options to symbolize them. */
#ifndef STOOK_TESTS_UNIT_SYMBOLIZER_FIXTURE_H
#define STOOK_TESTS_UNIT_SYMBOLIZER_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sym/symbolizer.h"
#include "unit/look_here.h"
#include "unit/test.h"

struct fixture {
	struct profile *profile;
	struct file_table *files;
	struct runtime_table *runtimes;
	struct symbolizer_options options;
	struct symbolizer *symbolizer; /* created from the options on first use */
	struct symbolizer_result result;
};

static inline void open_fixture(struct fixture *fixture, size_t max_open)
{
	*fixture = (struct fixture){
		.profile = profile_new(),
		.files = file_table_new(max_open),
		.runtimes = runtime_table_new(),
	};
	CHECK(fixture->profile && fixture->files && fixture->runtimes);
	fixture->options = (struct symbolizer_options){
		.files = fixture->files,
		.runtimes = fixture->runtimes,
		.max_bytes = 64 << 20,
	};
}

static inline void close_fixture(struct fixture *fixture)
{
	symbolizer_free(fixture->symbolizer);
	runtime_table_free(fixture->runtimes);
	file_table_free(fixture->files);
	profile_free(fixture->profile);
}

static inline void name_all(struct fixture *fixture)
{
	if (!fixture->symbolizer)
		fixture->symbolizer = symbolizer_new(&fixture->options);
	CHECK(fixture->symbolizer != NULL);
	CHECK_EQ(symbolizer_name(fixture->symbolizer, fixture->profile), 0);
	symbolizer_summarize(fixture->symbolizer, &fixture->result);
}

/*
 * Symbolizes everything with the nth allocation failing, and once more if that failed. Returns
 * false if there were fewer than nth allocations: then every allocation has been tried.
 */
static inline bool name_with_failure(struct fixture *fixture, size_t nth)
{
	size_t nr;
	int err;

	fixture->symbolizer = symbolizer_new(&fixture->options);
	(void)test_fail_allocation(nth);
	err = symbolizer_name(fixture->symbolizer, fixture->profile);
	nr = test_fail_allocation(0);
	CHECK(err == 0 || err == -ENOMEM);
	name_all(fixture);
	return nr >= nth;
}

static inline uint32_t add_module(struct fixture *fixture, enum module_kind kind, uint32_t file,
				  const char *path)
{
	struct module module = {.kind = kind, .file = file};
	int64_t number;

	module.name = (uint32_t)profile_add_string(fixture->profile, path);
	number = profile_add_module(fixture->profile, &module);
	CHECK(number >= 0);
	return (uint32_t)number;
}

static inline uint32_t add_frame(struct fixture *fixture, uint32_t module, uint64_t address)
{
	enum frame_kind kind = module == MODULE_NR_KERNEL ? FRAME_KERNEL : FRAME_USER;
	int64_t number = profile_add_frame(fixture->profile, kind, module, address);

	CHECK(number >= 0);
	return (uint32_t)number;
}

/* Adds a module whose file is opened now. */
static inline uint32_t add_file(struct fixture *fixture, const char *path)
{
	int64_t number = add_fd_here(fixture->files, path, open(path, O_RDONLY | O_CLOEXEC));

	CHECK(number >= 0);
	return add_module(fixture, MODULE_FILE, (uint32_t)number, path);
}

static inline const char *name_of(const struct fixture *fixture, uint32_t frame)
{
	return profile_string(fixture->profile, profile_frame(fixture->profile, frame)->function);
}

/* Location of code of the running program in its file. */
struct place {
	uint64_t address;
	char path[256];
	uint64_t offset;
};

static inline int find_place(struct dl_phdr_info *info, size_t size, void *context)
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
		(void)snprintf(place->path, sizeof(place->path), "%s",
			       info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe");
		return 1;
	}
	(void)size;
	return 0;
}

static inline struct place place_of(const void *code)
{
	struct place place = {.address = (uint64_t)(uintptr_t)code};

	CHECK_EQ(dl_iterate_phdr(find_place, &place), 1);
	return place;
}

/* Skips the test without pidfds, by which the child process that reads lines is awaited. */
static inline void need_pidfd(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd < 0 && errno == ENOSYS)
		SKIP("there is no pidfd_open()");
	(void)close(fd);
}

/* --- a fake kernel --------------------------------------------------------------------------- */

struct fake_kernel {
	int answer; /* 0 or a negative errno */
	size_t nr_calls, nr_addresses;
};

static inline int fake_names(void *self, const uint64_t *addresses, size_t nr,
			     int (*add)(void *context, size_t i, const char *name,
					const char *module),
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
			continue; /* odd addresses have no symbol */
		(void)snprintf(name, sizeof(name), "kernel_%llx", (unsigned long long)addresses[i]);
		err = add(context, i, name, "");
		if (err < 0)
			return error_set(error, err, "no room");
	}
	return 0;
}

static inline struct kernel_names fake_source(struct fake_kernel *kernel)
{
	return (struct kernel_names){.name = fake_names, .self = kernel};
}

#endif
