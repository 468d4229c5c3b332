/*
 * Go's functions make frames in one way only: the stack pointer is decremented by a fixed amount,
 * and the frame pointer is saved directly below the return address. The table of functions has the
 * amount for each instruction. (Go's .debug_frame is made from the same numbers.)
 *
 * Some functions of the runtime switch stacks, which is not in the table. They are recognised by
 * name, and the part between the two instructions that set the stack pointer has a rule of its own:
 *
 *	systemstack	runs a function on the scheduler's stack (g0). Its caller is on the
 *			goroutine's stack, where the runtime saved the stack pointer
 *	morestack	the same, but never returns: it continues in its caller, whose program counter
 *			is saved, too
 *	mcall		leaves the goroutine, and never returns on this stack: the goroutine may
 *			already be running elsewhere. Go's own tracebacks end there
 *	nanotime1 …	call the vdso on the scheduler's stack, with a frame pointer that leads back
 *
 * The offsets at which the runtime stores these values differ between versions of Go and are read
 * from the code of systemstack() itself. If that code is not recognised, frame pointers are used,
 * as in the functions that are CHAIN throughout: they lead to the goroutine's stack, but miss one
 * caller.
 */
#include "elf/unwind/go_frames.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "elf/image/instructions.h"

#define CODE_MAX_BYTES 1024 /* of a function that switches stacks; they have 50 to 300 */

#define X86_SP 7
#define X86_G  14 /* r14, since Go 1.17 */

/* The part of a function to which its special rule applies. */
enum part {
	ALL,
	ON_OTHER_STACK, /* from one write to the stack pointer to the next one */
	BEHIND_RETURN,	/* after the return in clone()'s parent: a new thread */
	NOTHING,	/* none, but the frame pointer is not saved */
};

static const struct special {
	const char *name;
	enum part part;
	enum unwind_cfa cfa;
	bool is_in_caller; /* for GO_STACK: the program counter was saved, there is no call */
} specials[] = {
	{"runtime.goexit", ALL, UNWIND_CFA_END, false}, /* stacks begin there */
	{"runtime.mstart", ALL, UNWIND_CFA_END, false},
	{"runtime.rt0_go", ALL, UNWIND_CFA_END, false},
	{"runtime.mcall", ON_OTHER_STACK, UNWIND_CFA_END, false},
	{"runtime.systemstack", ON_OTHER_STACK, UNWIND_CFA_GO_STACK, false},
	{"runtime.morestack", ON_OTHER_STACK, UNWIND_CFA_GO_STACK, true},
	{"runtime.nanotime1", ON_OTHER_STACK, UNWIND_CFA_CHAIN, false},
	{"runtime.walltime", ON_OTHER_STACK, UNWIND_CFA_CHAIN, false},
	{"time.now", ON_OTHER_STACK, UNWIND_CFA_CHAIN, false},
	{"runtime.clone", BEHIND_RETURN, UNWIND_CFA_END, false},
	{"runtime.asmcgocall", ALL, UNWIND_CFA_CHAIN, false},
	{"runtime.cgocallback", ALL, UNWIND_CFA_CHAIN, false},
	{"runtime.gogo", ALL, UNWIND_CFA_CHAIN, false},
	{"gogo", ALL, UNWIND_CFA_CHAIN, false},
	{"runtime.sigtramp", NOTHING, 0, false},
	{"runtime.sigprofNonGoWrapper", NOTHING, 0, false},
	{"crosscall2", NOTHING, 0, false},
	{"runtime.sigreturn", ALL, UNWIND_CFA_SIGNAL, false},
	{"runtime.sigreturn__sigaction", ALL, UNWIND_CFA_SIGNAL, false},
};

/* Ignores a suffix: "runtime.mcall.abi0" is "runtime.mcall". NULL for ordinary functions. */
static const struct special *find_special(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(specials); i++) {
		size_t length = strlen(specials[i].name);

		if (!strncmp(name, specials[i].name, length) &&
		    (name[length] == '\0' || name[length] == '.'))
			return &specials[i];
	}
	return NULL;
}

/* --- reading the runtime's code -------------------------------------------------------------- */

struct code {
	uint8_t bytes[CODE_MAX_BYTES];
	size_t nr;
};

static void read_code(const struct elf_image *image, const struct go_function *function,
		      struct code *ret)
{
	uint64_t nr = function->end - function->start;
	size_t i;

	ret->nr = 0;
	for (i = 0; i < image->nr_segments; i++) {
		const struct elf_segment *segment = &image->segments[i];
		uint64_t at = function->start - segment->vaddr;

		if (function->start < segment->vaddr || at >= segment->bytes)
			continue;
		if (nr > segment->bytes - at)
			nr = segment->bytes - at;
		if (nr > CODE_MAX_BYTES)
			nr = CODE_MAX_BYTES;
		if (elf_image_read(image, segment->offset + at, ret->bytes, nr) == 0)
			ret->nr = nr;
		return;
	}
}

/* `mov ANYTHING, %rsp` */
static bool sets_stack_pointer(const uint8_t *at, size_t nr)
{
	if (nr < 3 || (at[0] & 0xf8) != 0x48) /* REX.W */
		return false;
	return (at[1] == 0x8b && (at[2] & 0x38) == 0x20 && !(at[0] & 4)) ||
	       (at[1] == 0x89 && (at[2] & 0xc7) == 0xc4 && !(at[0] & 1));
}

static bool is_end_of_part(enum part part, const uint8_t *at, size_t nr)
{
	return part == BEHIND_RETURN ? at[0] == 0xc3 : sets_stack_pointer(at, nr);
}

/*
 * Finds the offsets in the code by which systemstack() returns, with g in rax: `mov m(%rax), %rbx;
 * mov curg(%rbx), %rax; … mov sched(%rax), %rsp`.
 */
static void find_offsets(const struct code *code, struct unwind_rule *ret)
{
	size_t i, j;

	for (i = 0; i + 15 <= code->nr; i++) {
		const uint8_t *at = code->bytes + i;
		int32_t curg;

		if (memcmp(at, "\x48\x8b\x58", 3) != 0 || memcmp(at + 4, "\x48\x8b\x83", 3) != 0)
			continue;
		memcpy(&curg, at + 7, sizeof(curg));
		for (j = i + 11; j + 4 <= code->nr; j++)
			if (!memcmp(code->bytes + j, "\x48\x8b\x60", 3))
				break;
		if (j + 4 > code->nr || curg <= 0 || curg % 8 || at[3] % 8 || at[3] > 127 ||
		    code->bytes[j + 3] % 8 || code->bytes[j + 3] > 127)
			continue;
		*ret = (struct unwind_rule){.cfa = UNWIND_CFA_GO_STACK,
					    .reg = X86_G,
					    .offset = at[3],
					    .add = curg,
					    .ra = {.offset = code->bytes[j + 3]}};
		return;
	}
}

/* --- listing --------------------------------------------------------------------------------- */

static int list(struct go_frames *frames, uint32_t source, uint32_t source_of_signals,
		struct code_spans *spans)
{
	const uint64_t nr = frames->table.header.nr_functions;
	struct go_function function;
	const char *name;
	uint64_t i;
	int err = 0;

	for (i = 0; i < nr && err == 0; i++) {
		struct code_span span = {.source = source, .offset = (uint32_t)i};
		const struct special *special;

		if (!go_table_function(&frames->table, i, &function, &name))
			continue;
		span.start = function.start;
		span.end = function.end;
		special = find_special(name);
		if (special && special->cfa == UNWIND_CFA_SIGNAL) {
			/* The byte before is included: see code_spans.c. */
			span.source = source_of_signals;
			span.start--;
			if (spans->nr && spans->spans[spans->nr - 1].end == function.start)
				spans->spans[spans->nr - 1].end--;
		}
		if (special && special->cfa == UNWIND_CFA_GO_STACK && !special->is_in_caller) {
			struct code code;

			read_code(frames->image, &function, &code);
			find_offsets(&code, &frames->to_goroutine);
		}
		err = code_spans_add(spans, &span);
	}
	code_spans_settle(spans);
	return err;
}

int go_frames_read(struct go_frames *frames, const struct elf_image *image, uint32_t source,
		   uint32_t source_of_signals, struct code_spans *spans, struct error *error)
{
	int err;

	*frames = (struct go_frames){.image = image};
	if (image->machine != EM_X86_64)
		return 0;
	err = go_table_read(&frames->table, image, NULL);
	if (err == 0)
		err = list(frames, source, source_of_signals, spans);
	return err == -ENOMEM ? error_no_memory(error, "for unwind rows") : 0;
}

void go_frames_clear(struct go_frames *frames)
{
	go_table_clear(&frames->table);
}

/* --- rows ------------------------------------------------------------------------------------ */

/* The rule when the stack pointer is `bytes` below the return address. */
static struct unwind_rule rule_of_size(int64_t bytes, const struct special *special)
{
	struct unwind_rule rule = {.cfa = UNWIND_CFA_REGISTER,
				   .reg = X86_SP,
				   .offset = (int32_t)bytes + 8,
				   .ra = {.where = UNWIND_AT_CFA, .offset = -8}};

	if (bytes < 0 || bytes > INT32_MAX - 8)
		return (struct unwind_rule){.cfa = UNWIND_CFA_NONE};
	if (bytes >= 8 && !(special && special->part == NOTHING))
		rule.fp = (struct unwind_place){.where = UNWIND_AT_CFA, .offset = -16};
	return rule;
}

static struct unwind_rule special_rule(const struct go_frames *frames,
				       const struct special *special)
{
	struct unwind_rule rule = {.cfa = (uint8_t)special->cfa};

	if (special->cfa != UNWIND_CFA_GO_STACK)
		return rule;
	if (!frames->to_goroutine.add)
		return (struct unwind_rule){.cfa = UNWIND_CFA_CHAIN};
	rule = frames->to_goroutine;
	rule.ra.where = special->is_in_caller ? UNWIND_SAME : UNWIND_AT_CFA;
	return rule;
}

/* Passes rows on in order, clipped to the span. */
struct writer {
	const struct code_span *span;
	int (*add)(void *context, uint64_t address, const struct unwind_rule *rule);
	void *context;
};

static int write_row(const struct writer *writer, uint64_t start, uint64_t end,
		     const struct unwind_rule *rule)
{
	if (start < writer->span->start)
		start = writer->span->start;
	if (end > writer->span->end)
		end = writer->span->end;
	return start < end ? writer->add(writer->context, start, rule) : 0;
}

/* Writes rows by the function's stack sizes in [start, end). */
static int write_sizes(const struct go_frames *frames, const struct go_function *function,
		       const struct special *special, const struct writer *writer, uint64_t start,
		       uint64_t end)
{
	struct unwind_rule rule = {.cfa = UNWIND_CFA_CHAIN};
	struct go_sizes sizes;
	uint64_t from, to;
	int64_t bytes;
	int err = 0;

	if (!function->sizes)
		return write_row(writer, start, end, &rule);
	go_sizes_init(&sizes, &frames->table, function);
	while (err == 0 && go_sizes_next(&sizes, &from, &to, &bytes)) {
		rule = rule_of_size(bytes, special);
		if (from < start)
			from = start;
		if (to > end)
			to = end;
		if (from < to)
			err = write_row(writer, from, to, &rule);
	}
	rule = (struct unwind_rule){.cfa = UNWIND_CFA_NONE};
	if (err == 0 && sizes.at < end)
		err = write_row(writer, sizes.at > start ? sizes.at : start, end, &rule);
	return err;
}

/*
 * Writes rows for the parts in turn: by stack sizes, then the special rule, then by stack sizes
 * again …
 */
static int write_parts(const struct go_frames *frames, const struct go_function *function,
		       const struct special *special, const struct writer *writer)
{
	struct unwind_rule rule = special_rule(frames, special);
	uint64_t start = function->start;
	bool is_special = false;
	struct code code;
	size_t at = 0, nr;
	int err = 0;

	read_code(frames->image, function, &code);
	while (err == 0 && start < function->end) {
		bool is_end = false;
		uint64_t end;

		for (; !is_end && at < code.nr; at += nr) {
			nr = instruction_length(EM_X86_64, code.bytes + at, code.nr - at);
			if (!nr)
				break;
			is_end = is_end_of_part(special->part, code.bytes + at, code.nr - at);
		}
		end = is_end ? function->start + at : function->end;
		if (is_special)
			err = write_row(writer, start, end, &rule);
		else
			err = write_sizes(frames, function, special, writer, start, end);
		is_special = !is_special || special->part == BEHIND_RETURN;
		start = end;
	}
	return err;
}

int go_frames_rows(const struct go_frames *frames, const struct code_span *span,
		   int (*add)(void *context, uint64_t address, const struct unwind_rule *rule),
		   void *context)
{
	const struct writer writer = {span, add, context};
	const struct special *special;
	struct go_function function;
	struct unwind_rule rule;
	const char *name;

	if (!go_table_function(&frames->table, span->offset, &function, &name))
		return 0;
	special = find_special(name);
	if (special && special->part == ALL) {
		rule = special_rule(frames, special);
		return add(context, span->start, &rule);
	}
	if (special && special->part != NOTHING)
		return write_parts(frames, &function, special, &writer);
	return write_sizes(frames, &function, special, &writer, function.start, function.end);
}
