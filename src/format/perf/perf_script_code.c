/* See perf_script_code.h. */
#include "format/perf/perf_script_code.h"

#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

static bool begins(struct perf_text text, const char *with)
{
	return text.nr >= strlen(with) && !memcmp(text.at, with, strlen(with));
}

static bool ends(struct perf_text text, const char *with)
{
	return text_ends_with(text.at, text.nr, with);
}

static bool is_kernel_file(struct perf_text file)
{
	static const char *const endings[] = {"vmlinux", "vmlinuz", ".ko",
					      ".ko.gz",	 ".ko.xz",  ".ko.zst"};
	const char *slash = memrchr(file.at, '/', file.nr);
	size_t i;

	if (begins(file, "bpf_prog_") || begins(file, "bpf_trampoline_"))
		return true;
	for (i = 0; i < ARRAY_SIZE(endings); i++)
		if (ends(file, endings[i]))
			return true;
	return slash &&
	       begins((struct perf_text){slash + 1, file.nr - (size_t)(slash + 1 - file.at)},
		      "vmlinux-");
}

/* /tmp/perf-PID.map, jitted-PID-N.so of perf inject, memory without a file. */
static bool is_run_time_file(struct perf_text file)
{
	const char *slash = memrchr(file.at, '/', file.nr);
	struct perf_text name = file;

	if (slash) {
		name.at = slash + 1;
		name.nr -= (size_t)(slash + 1 - file.at);
	}
	return (begins(name, "perf-") && ends(name, ".map")) || begins(name, "jitted-") ||
	       begins(file, "[anon") || begins(file, "//anon") || begins(file, "[JIT]") ||
	       begins(file, "/memfd:doublemapper");
}

/* In brackets perf shows the kernel, its modules, and what the kernel maps into processes. */
static enum perf_code code_in_brackets(struct perf_text file)
{
	static const char *const users[] = {"[heap]", "[stack", "[uprobes]", "[vvar"};
	size_t i;

	if (begins(file, "[vdso") || begins(file, "[vsyscall"))
		return PERF_CODE_VDSO;
	for (i = 0; i < ARRAY_SIZE(users); i++)
		if (begins(file, users[i]))
			return PERF_CODE_FILE;
	return PERF_CODE_KERNEL;
}

enum perf_code perf_script_code(const struct perf_frame *frame)
{
	struct perf_text file = frame->file;

	if (!file.nr || (begins(file, "[unknown]") && file.nr == strlen("[unknown]")))
		return frame->address >> 63 ? PERF_CODE_KERNEL : PERF_CODE_UNKNOWN;
	if (begins(file, "inlined") && file.nr == strlen("inlined"))
		return PERF_CODE_INLINED;
	if (is_run_time_file(file))
		return PERF_CODE_RUN_TIME;
	if (is_kernel_file(file))
		return PERF_CODE_KERNEL;
	return *file.at == '[' ? code_in_brackets(file) : PERF_CODE_FILE;
}
