/*
 * The parser of single lines. A thread's name may contain anything, including numbers. The tid is
 * therefore recognized by what follows: it is the first number followed by a CPU or a time; if perf
 * printed neither, the first number followed by an event; else the first number.
 */
#include "format/perf/perf_script_parts.h"

#include <string.h>

#include "base/array.h"
#include "base/text.h"

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

/* --- parts of a line: functions skip what they parse, or leave the cursor unchanged ----------- */

struct cursor {
	const char *at, *end;
};

static void skip_blanks(struct cursor *cursor)
{
	while (cursor->at < cursor->end && is_blank(*cursor->at))
		cursor->at++;
}

static bool take_byte(struct cursor *cursor, char byte)
{
	if (cursor->at == cursor->end || *cursor->at != byte)
		return false;
	cursor->at++;
	return true;
}

static bool at_word_end(const struct cursor *cursor)
{
	return cursor->at == cursor->end || is_blank(*cursor->at);
}

static bool take_number(struct cursor *cursor, uint64_t max, uint64_t *ret)
{
	struct cursor start = *cursor;
	uint64_t number = 0;

	for (; cursor->at < cursor->end && is_digit(*cursor->at); cursor->at++) {
		unsigned digit = (unsigned)(*cursor->at - '0');

		if (number > (max - digit) / 10) {
			*cursor = start;
			return false;
		}
		number = number * 10 + digit;
	}
	*ret = number;
	return cursor->at > start.at;
}

/* A thread that has exited is -1. */
static bool take_id(struct cursor *cursor, int32_t *ret)
{
	struct cursor start = *cursor;
	bool is_negative = take_byte(cursor, '-');
	uint64_t number;

	if (!take_number(cursor, INT32_MAX, &number)) {
		*cursor = start;
		return false;
	}
	*ret = is_negative ? -(int32_t)number : (int32_t)number;
	return true;
}

/* PID/TID or TID. */
static bool take_ids(struct cursor *cursor, struct perf_header *header)
{
	if (!take_id(cursor, &header->tid))
		return false;
	header->has_tid = true;
	header->has_pid = take_byte(cursor, '/');
	if (header->has_pid) {
		header->pid = header->tid;
		if (!take_id(cursor, &header->tid))
			return false;
	}
	return at_word_end(cursor);
}

/* [CPU] */
static void take_cpu(struct cursor *cursor, struct perf_header *header)
{
	struct cursor start = *cursor;
	int32_t cpu;

	header->has_cpu = take_byte(cursor, '[') && take_id(cursor, &cpu) && take_byte(cursor, ']');
	if (header->has_cpu)
		header->cpu = cpu;
	else
		*cursor = start;
}

/* SECONDS.FRACTION: with 6 digits, or 9 with --ns. */
static void take_time(struct cursor *cursor, struct perf_header *header)
{
	struct cursor start = *cursor;
	uint64_t seconds, fraction;
	const char *digits;

	if (take_number(cursor, UINT32_MAX, &seconds) && take_byte(cursor, '.')) {
		digits = cursor->at;
		if (take_number(cursor, 999999999, &fraction) && cursor->at - digits <= 9) {
			size_t nr = (size_t)(cursor->at - digits);

			for (; nr < 9; nr++)
				fraction *= 10;
			header->time_ns = seconds * 1000000000 + fraction;
			header->has_time = take_byte(cursor, ':');
		}
	}
	if (!header->has_time)
		*cursor = start;
}

/* EVENT: a word that ends with a colon. */
static void take_event(struct cursor *cursor, struct perf_header *header)
{
	struct cursor start = *cursor;
	size_t nr;

	while (!at_word_end(cursor))
		cursor->at++;
	nr = (size_t)(cursor->at - start.at);
	if (nr > 1 && start.at[nr - 1] == ':')
		header->event = (struct perf_text){start.at, nr - 1};
	else
		*cursor = start;
}

/* A number is a period only before an event or at the end; otherwise it may be an address. */
static void take_period(struct cursor *cursor, struct perf_header *header)
{
	struct cursor start = *cursor;

	header->has_period =
		take_number(cursor, UINT64_MAX, &header->period) && at_word_end(cursor);
	skip_blanks(cursor);
	if (header->has_period)
		take_event(cursor, header);
	if (header->has_period && (header->event.nr || cursor->at == cursor->end))
		return;
	header->has_period = false;
	*cursor = start;
	take_event(cursor, header);
}

/* --- the header ------------------------------------------------------------------------------- */

/* Parses the header after the comm, if the comm ends at the cursor. */
static bool header_behind(struct cursor cursor, struct perf_header *ret)
{
	struct perf_header header = {.has_pid = false};

	if (!take_ids(&cursor, &header))
		return false;
	skip_blanks(&cursor);
	take_cpu(&cursor, &header);
	skip_blanks(&cursor);
	take_time(&cursor, &header);
	skip_blanks(&cursor);
	take_period(&cursor, &header);
	skip_blanks(&cursor);
	header.rest = (struct perf_text){cursor.at, (size_t)(cursor.end - cursor.at)};
	*ret = header;
	return true;
}

bool perf_header_is_sure(const struct perf_header *header)
{
	return header->has_tid && (header->has_cpu || header->has_time || header->event.nr);
}

static int certainty(const struct perf_header *header)
{
	if (header->has_cpu || header->has_time)
		return 3;
	if (header->event.nr)
		return 2;
	return header->has_tid;
}

static struct perf_text without_blanks_behind(const char *at, const char *end)
{
	while (end > at && is_blank(end[-1]))
		end--;
	return (struct perf_text){at, (size_t)(end - at)};
}

bool perf_script_header(const char *line, size_t nr, struct perf_header *ret)
{
	struct cursor start = {line, line + nr}, cursor;
	struct perf_header found;

	skip_blanks(&start);
	*ret = (struct perf_header){.comm = without_blanks_behind(start.at, start.end),
				    .rest = {start.end, 0}};
	cursor = start;
	while (cursor.at < cursor.end && certainty(ret) < 3) {
		if (header_behind(cursor, &found) && certainty(&found) > certainty(ret)) {
			found.comm = without_blanks_behind(start.at, cursor.at);
			*ret = found;
		}
		while (!at_word_end(&cursor))
			cursor.at++;
		skip_blanks(&cursor);
	}
	return start.at < start.end;
}

/* --- frames ----------------------------------------------------------------------------------- */

static bool take_address(struct cursor *cursor, uint64_t *ret)
{
	const char *start = cursor->at;
	uint64_t address = 0;

	for (; cursor->at < cursor->end; cursor->at++) {
		char byte = *cursor->at;

		if (is_digit(byte))
			address = address << 4 | (unsigned)(byte - '0');
		else if (byte >= 'a' && byte <= 'f')
			address = address << 4 | (unsigned)(byte - 'a' + 10);
		else
			break;
	}
	*ret = address;
	return cursor->at > start && cursor->at - start <= 16 && at_word_end(cursor);
}

/* Finds ` (FILE)` at the end; ` (deleted)` is part of the file. */
static const char *find_file(const char *at, const char *end)
{
	static const char deleted[] = " (deleted))";
	const char *before = end;

	if (text_ends_with(at, (size_t)(end - at), deleted))
		before -= strlen(deleted);
	while (before > at) {
		const char *open = memrchr(at, '(', (size_t)(before - at));

		if (!open || open == at || is_blank(open[-1]))
			return open;
		before = open;
	}
	return NULL;
}

static struct perf_text without_offset(struct perf_text symbol)
{
	size_t nr = symbol.nr;

	while (nr && (is_digit(symbol.at[nr - 1]) ||
		      (symbol.at[nr - 1] >= 'a' && symbol.at[nr - 1] <= 'f')))
		nr--;
	if (nr > 3 && nr < symbol.nr && !memcmp(symbol.at + nr - 3, "+0x", 3))
		symbol.nr = nr - 3;
	return symbol;
}

bool perf_script_frame(const char *line, size_t nr, struct perf_frame *ret)
{
	struct cursor cursor = {line, line + nr};
	struct perf_frame frame = {0};
	const char *end = line + nr;

	skip_blanks(&cursor);
	if (!take_address(&cursor, &frame.address))
		return false;
	skip_blanks(&cursor);
	while (end > cursor.at && is_blank(end[-1]))
		end--;
	if (end > cursor.at && end[-1] == ')') {
		const char *file = find_file(cursor.at, end);

		if (file) {
			frame.file = (struct perf_text){file + 1, (size_t)(end - file) - 2};
			end = file;
		}
	}
	frame.symbol = without_offset(without_blanks_behind(cursor.at, end));
	*ret = frame;
	return true;
}

bool perf_header_has_frame(const struct perf_header *header)
{
	struct perf_frame frame;

	return header->comm.nr && header->has_tid &&
	       perf_script_frame(header->rest.at, header->rest.nr, &frame) && frame.file.nr;
}

bool perf_script_place(const char *line, size_t nr, struct perf_text *ret_file, uint32_t *ret_line)
{
	struct cursor cursor;
	const char *colon;
	uint64_t number;

	if (nr < 3 || line[0] != ' ' || line[1] != ' ' || is_blank(line[2]))
		return false;
	*ret_file = (struct perf_text){NULL, 0};
	*ret_line = 0;
	colon = memrchr(line, ':', nr);
	if (!colon)
		return true;
	cursor = (struct cursor){colon + 1, line + nr};
	if (!take_number(&cursor, UINT32_MAX, &number) || !number || colon == line + 2)
		return true;
	*ret_file = (struct perf_text){line + 2, (size_t)(colon - line) - 2};
	*ret_line = (uint32_t)number;
	return true;
}

/* --- kinds of code ---------------------------------------------------------------------------- */

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

/* True for /tmp/perf-PID.map, jitted-PID-N.so of perf inject, and anonymous memory. */
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

/* In brackets, perf prints the kernel, its modules, and special mappings of processes. */
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
