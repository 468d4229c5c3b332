/*
 * The location of code is taken from the file itself; a debug file has the same addresses, but no
 * bytes there. Names are demangled only if a pattern does not match the mangled name, at most once;
 * this takes about a microsecond each.
 */
#include "probe/find/user_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/image/instructions.h"
#include "elf/image/unwinding_code.h"
#include "elf/symbols/debug_data.h"
#include "elf/symbols/go_functions.h"
#include "elf/unwind/cfi_entries.h"
#include "elf/unwind/function_starts.h"
#include "sym/demangle.h"

/* Special values of `readable`, below all offsets in texts. */
#define READABLE_UNKNOWN 0
#define READABLE_NONE	 1
#define TEXTS_START	 2

/* --- opening -------------------------------------------------------------------------------- */

struct user_file *user_file_new(const struct stat *st)
{
	struct user_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->device = st->st_dev;
	file->inode = st->st_ino;
	file->bytes = st->st_size;
	file->changed = st->st_ctim;
	file->image.fd = -1;
	return file;
}

void user_file_free(struct user_file *file)
{
	if (!file)
		return;
	user_file_close(file);
	function_list_clear(&file->functions);
	symbol_table_free(file->starts);
	free(file->readable);
	free(file->texts);
	free(file);
}

bool user_file_is(const struct user_file *file, const struct stat *st)
{
	return file->device == st->st_dev && file->inode == st->st_ino &&
	       file->bytes == st->st_size && file->changed.tv_sec == st->st_ctim.tv_sec &&
	       file->changed.tv_nsec == st->st_ctim.tv_nsec;
}

uint64_t user_file_bytes(const struct user_file *file)
{
	const struct function_list *list = &file->functions;

	return sizeof(*file) + list->capacity * (sizeof(*list->functions) + sizeof(uint32_t)) +
	       list->string_capacity + file->cap_text_bytes;
}

int user_file_open(struct user_file *file, int fd, struct error *error)
{
	int err = elf_image_open(&file->image, fd, error);

	if (err == 0)
		file->is_go |= cfi_section_is_of_go(&file->image);
	return err;
}

void user_file_close(struct user_file *file)
{
	elf_image_close(&file->image);
	exclusions_clear(&file->exclusions);
	free(file->choices);
	file->choices = NULL;
	file->nr_choices = file->cap_choices = 0;
	file->path = file->library = NULL;
}

/* --- functions ------------------------------------------------------------------------------ */

static int add_table(struct user_file *file, symbol_source *read, struct error *error)
{
	struct symbol_table *table = NULL;
	struct error ignored = {0};
	int err;

	err = read(&table, &file->image, &ignored);
	if (err == 0 && table)
		err = function_list_add_table(&file->functions, table);
	/* Without section headers, this table is the only sign of a Go program. */
	file->is_go |= table && read == go_functions_read;
	symbol_table_free(table);
	/* A malformed table is skipped: there may be others. */
	return err == -ENOMEM ? error_no_memory(error, "for functions") : 0;
}

/* Returns a descriptor of the file's debug file; or as debug_files_open(). */
static int user_file_open_debug(const struct user_file *file, const struct debug_places *places)
{
	struct code_file code = {.fd = file->image.fd,
				 .path = "",
				 .root_fd = -1,
				 .uid = (uid_t)-1,
				 .build_id_bytes = file->image.build_id_bytes,
				 .debug_fd = -1};

	memcpy(code.build_id, file->image.build_id, file->image.build_id_bytes);
	return debug_files_open(places, &code, &file->image);
}

static int add_debug_file(struct user_file *file, const struct debug_places *places,
			  struct error *error)
{
	cleanup_fd int fd = user_file_open_debug(file, places);
	struct error ignored;
	struct elf_image image;
	int err;

	/* Without its functions, there would seem to be none of such a name. */
	if (worker_is_passing(fd))
		return error_set(error, -EIO, "its debug file could not be opened now");
	if (fd < 0 || elf_image_open(&image, fd, &ignored) < 0)
		return 0;
	err = function_list_read(&file->functions, &image, SYMBOLS_STATIC, &ignored);
	if (!err)
		file->has_all_names = elf_image_has_section(&image, SHT_SYMTAB);
	file->unwinds |= unwinding_code_is_in(&image);
	elf_image_close(&image);
	return err == -ENOMEM ? error_no_memory(error, "for functions") : 0;
}

static int read_functions(struct user_file *file, const struct debug_places *places,
			  struct error *error)
{
	int err;

	file->unwinds = unwinding_code_is_in(&file->image);
	file->has_all_names = elf_image_has_section(&file->image, SHT_SYMTAB);
	err = function_list_read(&file->functions, &file->image, SYMBOLS_STATIC | SYMBOLS_DYNAMIC,
				 error);
	if (!err && !file->has_all_names)
		err = add_debug_file(file, places, error);
	if (!err && !file->has_all_names)
		err = add_table(file, debug_data_read, error);
	if (!err && !file->has_all_names)
		err = add_table(file, go_functions_read, error);
	return err;
}

int user_file_read(struct user_file *file, const struct debug_places *places, struct error *error)
{
	int err;

	if (file->is_read)
		return 0;
	function_list_clear(&file->functions); /* what an earlier question could not finish */
	err = read_functions(file, places, error);
	if (err < 0)
		return err;
	file->readable = calloc(file->functions.nr + 1, sizeof(*file->readable));
	if (function_list_settle(&file->functions) < 0 || !file->readable)
		return error_no_memory(error, "for functions");
	file->is_read = true;
	return 0;
}

int user_file_offset(const struct user_file *file, uint64_t vaddr, uint64_t *ret_offset)
{
	size_t i;

	for (i = 0; i < file->image.nr_segments; i++) {
		const struct elf_segment *segment = &file->image.segments[i];

		if (vaddr < segment->vaddr || vaddr - segment->vaddr >= segment->bytes)
			continue;
		*ret_offset = segment->offset + (vaddr - segment->vaddr);
		return *ret_offset < file->image.bytes ? 0
						       : -ENOENT; /* the file may be truncated */
	}
	return -ENOENT;
}

/* Reads the code at a file offset. Returns the number of bytes read, less at the file's end. */
static size_t read_code(const struct user_file *file, uint64_t offset,
			uint8_t ret[UPROBE_CODE_BYTES])
{
	size_t nr = UPROBE_CODE_BYTES;

	while (nr && elf_image_read(&file->image, offset, ret, nr) < 0)
		nr--;
	return nr;
}

const char *user_file_why_not(const struct user_file *file, uint64_t vaddr)
{
	uint8_t code[UPROBE_CODE_BYTES];
	uint64_t offset;
	size_t nr;

	if (user_file_offset(file, vaddr, &offset) < 0)
		return "no code at this address";
	nr = read_code(file, offset, code);
	if (uprobe_code_breaks(file->image.machine, code, nr))
		return "the kernel misdecodes its first instruction, so a probe would break the "
		       "program";
	if (uprobe_code_is_refused(file->image.machine, code, nr))
		return "the kernel cannot probe its first instruction";
	return NULL;
}

const char *user_file_why_not_inside(const struct user_file *file, uint64_t vaddr)
{
	uint8_t code[UPROBE_CODE_BYTES];
	uint64_t offset;

	if (user_file_offset(file, vaddr, &offset) == 0 &&
	    uprobe_code_becomes_call(file->image.machine, code, read_code(file, offset, code)))
		return "the kernel may replace this nop by a call (Linux 6.18), which would "
		       "overwrite data below the stack pointer (red zone)";
	return user_file_why_not(file, vaddr);
}

void user_file_judge_code(const struct user_file *file, struct probes_place *place)
{
	uint8_t code[UPROBE_CODE_BYTES];
	size_t nr = read_code(file, place->offset, code);

	place->is_stepped = uprobe_code_is_stepped(file->image.machine, code, nr);
	place->is_doubtful = uprobe_code_is_doubtful(file->image.machine, code, nr);
}

int64_t user_file_function_at(const struct user_file *file, uint64_t vaddr)
{
	const struct listed_function *functions = file->functions.functions;
	size_t nr = ARRAY_NR_UP_TO(functions, file->functions.nr, vaddr, vaddr);

	return nr ? (int64_t)ARRAY_NR_BELOW(functions, nr, vaddr, functions[nr - 1].vaddr)
		  : -ENOENT;
}

/*
 * Uses .eh_frame, which stays when a program is stripped. Reading that of a large file takes some
 * milliseconds.
 */
int user_file_start_of(struct user_file *file, uint64_t vaddr, uint64_t *ret_start)
{
	struct error ignored;

	if (!file->has_starts &&
	    function_starts_read(&file->starts, &file->image, &ignored) == -ENOMEM)
		return -ENOMEM;
	file->has_starts = true;
	return file->starts && symbol_table_find(file->starts, vaddr, ret_start) ? 0 : -ENOENT;
}

/* --- names ---------------------------------------------------------------------------------- */

static bool looks_mangled(const char *name)
{
	return name[0] == '_' && name[1] && strchr("ZRDG", name[1]);
}

static int add_text(struct user_file *file, const char *text)
{
	if (!file->nr_text_bytes)
		file->nr_text_bytes = TEXTS_START;
	return array_add_text(&file->texts, &file->cap_text_bytes, &file->nr_text_bytes, text) < 0
		       ? -ENOMEM
		       : 0;
}

/*
 * Adds the full demangled name and, after its NUL, the name without parameters. Returns the offset.
 */
static uint32_t add_readable(struct user_file *file, const char *name)
{
	static const struct demangle_style full = {DEMANGLE_FULL, false},
					   simple = {DEMANGLE_SIMPLE, false};
	cleanup_free char *long_text = demangle(name, &full);
	cleanup_free char *short_text = long_text ? demangle(name, &simple) : NULL;
	size_t at = file->nr_text_bytes ? file->nr_text_bytes : TEXTS_START;

	if (!long_text || add_text(file, long_text) < 0)
		return READABLE_NONE;
	if (add_text(file, short_text ? short_text : long_text) < 0) {
		file->nr_text_bytes = at;
		return READABLE_NONE;
	}
	return (uint32_t)at;
}

/* Returns the demangled name; NULL if the name is not mangled. */
static const char *readable_of(struct user_file *file, uint32_t function)
{
	const char *name = user_file_name(file, function);
	uint32_t *at = &file->readable[function];

	if (*at == READABLE_UNKNOWN)
		*at = looks_mangled(name) ? add_readable(file, name) : READABLE_NONE;
	return *at == READABLE_NONE ? NULL : file->texts + *at;
}

bool user_file_matches(struct user_file *file, uint32_t function, const struct matcher *matcher)
{
	const char *readable;

	if (matcher_matches(matcher, user_file_name(file, function)))
		return true;
	readable = readable_of(file, function);
	return readable && (matcher_matches(matcher, readable) ||
			    matcher_matches(matcher, readable + strlen(readable) + 1));
}

const char *user_file_shown(struct user_file *file, uint32_t function)
{
	const char *readable = readable_of(file, function);

	return readable ? readable : user_file_name(file, function);
}

const char *user_file_simple(struct user_file *file, uint32_t function)
{
	const char *readable = user_file_shown(file, function);

	return readable + strlen(readable) + 1;
}

/* --- functions whose return must not be probed ---------------------------------------------- */

/*
 * Functions that a return probe breaks. At a function's entry the kernel replaces the word at the
 * stack pointer by the address of its trampoline. These functions were found by probing all returns
 * of libc and of programs (tools/torture-probes): bash and perl found their arguments missing,
 * longjmp() ended in SIGILL.
 *
 * An exception that propagates through a probed function ends the program too, as the unwinder does
 * not know the trampoline. A list of names cannot cover that: see elf/image/unwinding_code.h.
 */
#define NOT_CALLED "it is not called, so the top of its stack is not a return address"
#define COMES_BACK                                                                       \
	"it saves its return address and returns there twice; with a return probe, the " \
	"program would be killed"
#define ASKS_WHO "it inspects its return address to identify its caller"
#define UNWINDS                                                                               \
	"it unwinds the stack from its return address; a return probe would break that, and " \
	"exceptions would not be caught"

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
