/*
 * /proc/kallsyms: a line is `ADDRESS TYPE NAME`, and for modules and BPF programs a tab and
 * `[MODULE]`. One pass keeps the text symbols (types t T w W): 16 bytes each, names in one block.
 *
 * There are no sizes: a function extends to the next one. This would be wrong far after the last
 * function of a module or of the kernel. So `_etext` and similar markers end the function before
 * them, without naming one, and the length of a function has a limit.
 *
 * Order of preference of several names at one address: T, then t, then w or W; then
 * symbol_name_compare().
 */
#include "sym/kallsyms.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/strings.h"
#include "elf/symbols/symbol_table.h"

/* Limit on a function's length, if the next symbol is of the same module, and if it is not. */
#define FUNCTION_MAX_BYTES (512u << 10)
#define LAST_MAX_BYTES	   (64u << 10)

#define READ_BYTES 65536

/* Stop reading after this many symbols if all their addresses are hidden. */
#define HIDDEN_MAX 100

enum rank {
	RANK_END, /* the end of a text section, not a function */
	RANK_WEAK,
	RANK_LOCAL,
	RANK_GLOBAL,
};

struct kernel_symbol {
	uint64_t address;
	uint32_t name; /* offset in names */
	uint32_t module : 24;
	uint32_t rank : 8;
};

struct kallsyms {
	struct kernel_symbol *symbols; /* sorted by address, one per address */
	size_t nr, capacity;
	char *names;
	size_t nr_name_bytes, cap_name_bytes;
	struct strings *modules;
};

/* A parsed line; name and module point into its text. */
struct line {
	uint64_t address;
	enum rank rank;
	const char *name;
	const char *module;
	size_t nr_name, nr_module;
};

/* --- parsing ------------------------------------------------------------------------------- */

static bool parse_type(char type, enum rank *ret)
{
	switch (type) {
	case 'T':
		*ret = RANK_GLOBAL;
		return true;
	case 't':
		*ret = RANK_LOCAL;
		return true;
	case 'w':
	case 'W':
		*ret = RANK_WEAK;
		return true;
	default:
		return false;
	}
}

static bool is_end_marker(const char *name, size_t nr)
{
	static const char *const markers[] = {"_etext", "_einittext", "__entry_text_end"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(markers); i++)
		if (nr == strlen(markers[i]) && !memcmp(name, markers[i], nr))
			return true;
	return false;
}

/*
 * False if the line is not a text symbol. `$x` and the like are arm64's mapping symbols, not
 * functions.
 */
static bool parse_line(const char *text, struct line *ret)
{
	struct line line = {.module = ""};
	char *at;

	line.address = strtoull(text, &at, 16);
	if (at == text || at[0] != ' ' || !parse_type(at[1], &line.rank) || at[2] != ' ')
		return false;
	line.name = at + 3;
	line.nr_name = strcspn(line.name, " \t\n");
	if (!line.nr_name || line.name[0] == '$')
		return false;
	if (is_end_marker(line.name, line.nr_name))
		line.rank = RANK_END;
	at = (char *)line.name + line.nr_name;
	at += strspn(at, " \t");
	if (at[0] == '[') {
		line.module = at + 1;
		line.nr_module = strcspn(line.module, "]\n");
	}
	*ret = line;
	return true;
}

static int add_line(struct kallsyms *kallsyms, const struct line *line)
{
	int64_t module = strings_add_bytes(kallsyms->modules, line->module, line->nr_module);
	size_t end = kallsyms->nr_name_bytes + line->nr_name;

	if (module < 0 || module >= 1 << 24 || end >= UINT32_MAX ||
	    ARRAY_RESERVE(kallsyms->symbols, kallsyms->capacity, kallsyms->nr + 1) < 0 ||
	    ARRAY_RESERVE(kallsyms->names, kallsyms->cap_name_bytes, end + 1) < 0)
		return -ENOMEM;
	memcpy(kallsyms->names + kallsyms->nr_name_bytes, line->name, line->nr_name);
	kallsyms->names[end] = '\0';
	kallsyms->symbols[kallsyms->nr++] = (struct kernel_symbol){
		.address = line->address,
		.name = (uint32_t)kallsyms->nr_name_bytes,
		.module = (uint32_t)module,
		.rank = line->rank,
	};
	kallsyms->nr_name_bytes = end + 1;
	return 0;
}

static int read_lines(struct kallsyms *kallsyms, FILE *file, struct error *error)
{
	cleanup_free char *text = NULL;
	size_t capacity = 0, nr_hidden = 0;
	struct line line;

	errno = 0;
	while (getline(&text, &capacity, file) >= 0) {
		if (!parse_line(text, &line))
			continue;
		if (!line.address) {
			if (++nr_hidden >= HIDDEN_MAX && !kallsyms->nr)
				break;
			continue;
		}
		if (add_line(kallsyms, &line) < 0)
			return error_no_memory(error, "for kernel symbols");
	}
	if (ferror(file))
		return error_set_errno(error, "cannot read /proc/kallsyms");
	if (kallsyms->nr)
		return 0;
	if (!nr_hidden)
		return error_set(error, -ENODATA, "/proc/kallsyms lists no functions");
	(void)error_set(error, -EPERM, "the kernel hides addresses in /proc/kallsyms (all are 0)");
	error_hint(error,
		   "run with CAP_SYSLOG (root has it) and kernel.kptr_restrict below 2, e.g. "
		   "'sysctl kernel.kptr_restrict=1'");
	return -EPERM;
}

/* --- putting in order ---------------------------------------------------------------------- */

/* By address; the preferred symbol of an address comes first. */
static int compare_symbols(const void *left, const void *right, void *names)
{
	const struct kernel_symbol *a = left, *b = right;

	return COMPARE(a->address, b->address)
		       ?: COMPARE(b->rank, a->rank)
		       ?: symbol_name_compare((char *)names + a->name, (char *)names + b->name);
}

/*
 * Sorts, and keeps one symbol per address. Only the kernel's own symbols come in order, the symbols
 * of modules and BPF programs do not.
 */
static void sort_symbols(struct kallsyms *kallsyms)
{
	size_t i, nr = 0;

	for (i = 1; i < kallsyms->nr; i++)
		if (compare_symbols(&kallsyms->symbols[i - 1], &kallsyms->symbols[i],
				    kallsyms->names) > 0)
			break;
	if (i < kallsyms->nr)
		qsort_r(kallsyms->symbols, kallsyms->nr, sizeof(*kallsyms->symbols),
			compare_symbols, kallsyms->names);
	for (i = 0; i < kallsyms->nr; i++)
		if (!nr || kallsyms->symbols[nr - 1].address != kallsyms->symbols[i].address)
			kallsyms->symbols[nr++] = kallsyms->symbols[i];
	kallsyms->nr = nr;
}

struct kallsyms *kallsyms_read(FILE *file, struct error *error)
{
	struct kallsyms *kallsyms = calloc(1, sizeof(*kallsyms));

	if (kallsyms)
		kallsyms->modules = strings_new();
	if (!kallsyms || !kallsyms->modules) {
		(void)error_no_memory(error, "for kernel symbols");
		goto fail;
	}
	if (read_lines(kallsyms, file, error) < 0)
		goto fail;
	sort_symbols(kallsyms);
	return kallsyms;
fail:
	kallsyms_free(kallsyms);
	return NULL;
}

void kallsyms_free(struct kallsyms *kallsyms)
{
	if (!kallsyms)
		return;
	free(kallsyms->symbols);
	free(kallsyms->names);
	strings_free(kallsyms->modules);
	free(kallsyms);
}

/* --- looking up ---------------------------------------------------------------------------- */

const char *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address,
			  const char **ret_module)
{
	size_t next = array_first(kallsyms->nr, i, kallsyms->symbols[i].address > address);
	const struct kernel_symbol *symbol;
	bool is_last;

	if (!next)
		return NULL;
	symbol = &kallsyms->symbols[next - 1];
	is_last = next == kallsyms->nr || symbol[1].module != symbol->module;
	if (symbol->rank == RANK_END ||
	    address - symbol->address >= (is_last ? LAST_MAX_BYTES : FUNCTION_MAX_BYTES))
		return NULL;
	if (ret_module)
		*ret_module = strings_get(kallsyms->modules, symbol->module);
	return kallsyms->names + symbol->name;
}

size_t kallsyms_nr(const struct kallsyms *kallsyms)
{
	return kallsyms->nr;
}

size_t kallsyms_bytes(const struct kallsyms *kallsyms)
{
	return sizeof(*kallsyms) + kallsyms->capacity * sizeof(*kallsyms->symbols) +
	       kallsyms->cap_name_bytes + strings_bytes(kallsyms->modules);
}

/* --- as a source of names ------------------------------------------------------------------ */

static struct kallsyms *open_kallsyms(struct error *error)
{
	cleanup_file FILE *file = fopen("/proc/kallsyms", "re");

	if (!file) {
		(void)error_set_errno(error, "cannot open /proc/kallsyms");
		return NULL;
	}
	/* By default stdio uses the block size of /proc, 1 KiB: 5,000 reads. */
	(void)setvbuf(file, NULL, _IOFBF, READ_BYTES);
	return kallsyms_read(file, error);
}

static int name_addresses(void *self, const uint64_t *addresses, size_t nr,
			  int (*add)(void *context, size_t i, const char *name, const char *module),
			  void *context, struct error *error)
{
	struct error reason = {0};
	struct kallsyms **cache = self;
	size_t i;

	if (!*cache)
		*cache = open_kallsyms(&reason);
	if (!*cache) {
		if (error)
			*error = reason;
		return reason.code;
	}
	for (i = 0; i < nr; i++) {
		const char *module;
		const char *name = kallsyms_find(*cache, addresses[i], &module);
		int err = name ? add(context, i, name, module) : 0;

		if (err < 0)
			return error_set(error, err, "cannot keep a kernel name");
	}
	return 0;
}

struct kernel_names kallsyms_names(struct kallsyms **cache)
{
	return (struct kernel_names){.name = name_addresses, .self = cache};
}
