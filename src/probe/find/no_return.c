/*
 * What breaks by a return probe; see no_return.h. The kernel replaces what lies at the stack pointer,
 * when a function begins, by the address of its own trampoline. These were found by probing all
 * returns of libc and of programs (tools/torture-probes): bash and perl found their arguments
 * missing, longjmp() ended in SIGILL.
 *
 * An exception that passes a probed function ends the program as well, as the unwinder does not know
 * the trampoline. No list of names could tell where one may pass: see elf/image/unwinding_code.h.
 */
#include "probe/find/no_return.h"

#include <stddef.h>
#include <string.h>

#include "base/array.h"

#define NOT_CALLED "it is not called: where others have their return address, it has something else"
#define COMES_BACK                                                                          \
	"it notes where it returns to and returns there again, for which a return probe's " \
	"program is killed"
#define ASKS_WHO "it looks at the address it returns to, to learn who has called it"
#define UNWINDS                                                                           \
	"it walks the stack from where it returns to: nothing would be found there, and " \
	"exceptions "                                                                     \
	"not be caught"

static const struct {
	const char *name, *why;
} known[] = {
	{"_start", NOT_CALLED},
	{"_dl_start_user", NOT_CALLED},
	{"_dl_runtime_resolve", NOT_CALLED},
	{"_dl_runtime_resolve_fxsave", NOT_CALLED},
	{"_dl_runtime_resolve_xsave", NOT_CALLED},
	{"_dl_runtime_resolve_xsavec", NOT_CALLED},
	{"_dl_runtime_profile", NOT_CALLED},
	{"_dl_runtime_profile_avx", NOT_CALLED},
	{"_dl_runtime_profile_avx512", NOT_CALLED},
	{"_dl_runtime_profile_sse", NOT_CALLED},
	{"__restore_rt", NOT_CALLED},
	{"__start_context", NOT_CALLED},
	{"setjmp", COMES_BACK},
	{"_setjmp", COMES_BACK},
	{"__setjmp", COMES_BACK},
	{"sigsetjmp", COMES_BACK},
	{"__sigsetjmp", COMES_BACK},
	{"getcontext", COMES_BACK},
	{"swapcontext", COMES_BACK},
	{"__getcontext", COMES_BACK},
	{"__swapcontext", COMES_BACK},
	{"dlopen", ASKS_WHO},
	{"dlmopen", ASKS_WHO},
	{"dlsym", ASKS_WHO},
	{"dlvsym", ASKS_WHO},
	{"backtrace", UNWINDS},
	{"mcount", ASKS_WHO},
	{"_mcount", ASKS_WHO},
	{"__fentry__", ASKS_WHO},
	{"_Unwind_RaiseException", UNWINDS},
	{"_Unwind_Resume", UNWINDS},
	{"_Unwind_Resume_or_Rethrow", UNWINDS},
	{"_Unwind_ForcedUnwind", UNWINDS},
	{"_Unwind_Backtrace", UNWINDS},
	{"__cxa_throw", UNWINDS},
	{"__cxa_rethrow", UNWINDS},
	{"_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE", UNWINDS},
};

const char *no_return_why(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(name, known[i].name))
			return known[i].why;
	return NULL;
}

const char *no_return_why_at(const struct user_file *file, uint64_t vaddr)
{
	const struct listed_function *functions = file->functions.functions;
	int64_t first = user_file_function_at(file, vaddr);
	const char *why = NULL;
	size_t i;

	if (vaddr == file->image.entry)
		return no_return_why("_start");
	for (i = (size_t)first; first >= 0 && i < file->functions.nr && !why; i++) {
		if (functions[i].vaddr != vaddr)
			break;
		why = no_return_why(user_file_name(file, (uint32_t)i));
	}
	return why;
}
