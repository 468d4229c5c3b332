/*
 * There are some thousands of tracepoints; the ids of the chosen ones are read one by one.
 *
 * A tracepoint's file `format` has a line for each field:
 *
 *	\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
 *	\tfield:char comm[16];\toffset:40;\tsize:16;\tsigned:0;
 *	\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;
 */
#include "probe/find/tracepoints.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "proc/tracefs.h"

#define NAME_BYTES 512

int tracepoints_parse(struct tracepoints *tracepoints, char *list)
{
	char *line, *next, *colon;

	*tracepoints = (struct tracepoints){.text = list};
	for (line = list; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		colon = strchr(line, ':');
		if (!colon || colon == line || !colon[1])
			continue;
		*colon = '\0';
		if (ARRAY_ADD(tracepoints->items, tracepoints->nr, tracepoints->capacity,
			      (struct tracepoint){line, colon + 1, 0}) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int compare_tracepoints(const void *left, const void *right)
{
	const struct tracepoint *a = left, *b = right;

	return strcmp(a->category, b->category) ?: strcmp(a->name, b->name);
}

int tracepoints_read(struct tracepoints *tracepoints, int tracefs_fd, struct error *error)
{
	char *list = tracefs_read(tracefs_fd, "available_events", NULL);

	if (!list)
		return error_set_errno(error, "cannot read tracefs' available_events");
	if (tracepoints_parse(tracepoints, list) < 0)
		return error_no_memory(error, "for tracepoints");
	if (tracepoints->nr)
		qsort(tracepoints->items, tracepoints->nr, sizeof(*tracepoints->items),
		      compare_tracepoints);
	return 0;
}

void tracepoints_clear(struct tracepoints *tracepoints)
{
	free(tracepoints->text);
	free(tracepoints->items);
	exclusions_clear(&tracepoints->exclusions);
	*tracepoints = (struct tracepoints){0};
}

static bool fits(const struct pattern *pattern, const struct tracepoint *tracepoint)
{
	return (!pattern->category || matcher_matches(pattern->category, tracepoint->category)) &&
	       (!pattern->name || matcher_matches(pattern->name, tracepoint->name));
}

bool tracepoint_fits(const struct pattern *pattern, const struct probe *probe)
{
	char category[NAME_BYTES];
	const char *slash;

	if (pattern->kind != PATTERN_TRACEPOINT || probe->kind != PROBE_TRACEPOINT)
		return false;
	slash = strchr(probe->symbol, '/');
	(void)snprintf(category, sizeof(category), "%.*s", (int)(slash - probe->symbol),
		       probe->symbol);
	return fits(pattern, &(struct tracepoint){category, slash + 1, 0});
}

size_t tracepoints_choose(struct tracepoints *tracepoints, const struct pattern *pattern)
{
	size_t i, nr = 0;

	for (i = 0; i < tracepoints->nr; i++) {
		if (!fits(pattern, &tracepoints->items[i]))
			continue;
		tracepoints->items[i].nr_chosen++;
		nr++;
	}
	return nr;
}

bool tracepoints_have(const struct tracepoints *tracepoints, const struct pattern *pattern)
{
	size_t i;

	for (i = 0; i < tracepoints->nr; i++)
		if (fits(pattern, &tracepoints->items[i]))
			return true;
	return false;
}

bool tracepoints_have_category(const struct tracepoints *tracepoints,
			       const struct matcher *category)
{
	size_t i;

	for (i = 0; i < tracepoints->nr; i++)
		if (matcher_matches(category, tracepoints->items[i].category))
			return true;
	return false;
}

static bool is_left_out(const struct tracepoints *tracepoints, const struct tracepoint *tracepoint)
{
	const struct exclusions *exclusions = &tracepoints->exclusions;
	size_t i;

	for (i = 0; i < exclusions->nr; i++)
		if (exclusion_is_about(exclusions->patterns[i], PATTERN_TRACEPOINT, false) &&
		    fits(exclusions->patterns[i], tracepoint))
			return true;
	return false;
}

size_t tracepoints_settle(struct tracepoints *tracepoints)
{
	size_t i, nr = 0;

	for (i = 0; i < tracepoints->nr; i++) {
		struct tracepoint *tracepoint = &tracepoints->items[i];

		if (tracepoint->nr_chosen && is_left_out(tracepoints, tracepoint))
			tracepoint->nr_chosen = 0;
		nr += tracepoint->nr_chosen > 0;
	}
	return nr;
}

static int add(const struct tracepoint *tracepoint, int tracefs_fd, struct probe_list *list,
	       struct error *error)
{
	struct probe probe = {.kind = PROBE_TRACEPOINT};
	char name[NAME_BYTES], symbol[NAME_BYTES];
	int64_t id;

	(void)snprintf(name, sizeof(name), "%s:%s", tracepoint->category, tracepoint->name);
	(void)snprintf(symbol, sizeof(symbol), "%s/%s", tracepoint->category, tracepoint->name);
	id = tracefs_event_id(tracefs_fd, symbol);
	if (id == -ENOENT) /* ftrace's own have no id; a module may be unloaded meanwhile */
		return probe_list_refuse(list, name,
					 "it has no id, so nothing can be attached to it");
	if (id < 0)
		return error_set(error, (int)id, "cannot read the id of tracepoint '%s': %s", name,
				 strerror((int)-id));
	probe.tracepoint = (uint32_t)id;
	probe.name = name;
	probe.symbol = symbol;
	id = probe_list_add(list, &probe);
	return id < 0 ? error_no_memory(error, "for tracepoints") : 0;
}

int tracepoints_add(const struct tracepoints *tracepoints, int tracefs_fd, struct probe_list *list,
		    struct error *error)
{
	size_t i;
	int err = 0;

	for (i = 0; i < tracepoints->nr && !err; i++)
		if (tracepoints->items[i].nr_chosen)
			err = add(&tracepoints->items[i], tracefs_fd, list, error);
	return err;
}

void tracepoints_offer(const struct tracepoints *tracepoints, struct closest *closest)
{
	size_t i;

	for (i = 0; i < tracepoints->nr; i++)
		closest_offer(closest, tracepoints->items[i].name);
}

/* --- suggestions ------------------------------------------------------------------------------ */

#define SUGGESTED_MAX 3
#define SYSCALLS      "syscalls"

/* Finds a tracepoint in the sorted array; NULL: none. */
static const struct tracepoint *find_tracepoint(const struct tracepoints *tracepoints,
						const char *category, const char *name)
{
	const struct tracepoint wanted = {category, name, 0};

	return tracepoints->nr ? bsearch(&wanted, tracepoints->items, tracepoints->nr,
					 sizeof(wanted), compare_tracepoints)
			       : NULL;
}

/*
 * Finds the system call tracepoint that corresponds to a function: vfs_read and ksys_read belong to
 * read.
 */
static const struct tracepoint *find_syscall(const struct tracepoints *tracepoints,
					     const struct probe *probe)
{
	static const char *const prefixes[] = {"__x64_sys_", "__arm64_sys_", "__se_sys_",
					       "__do_sys_",  "do_sys_",	     "ksys_",
					       "vfs_",	     "do_",	     "sys_"};
	char name[NAME_BYTES];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(prefixes); i++) {
		const struct tracepoint *found;

		if (!text_starts_with(probe->symbol, prefixes[i]))
			continue;
		(void)snprintf(name, sizeof(name), "sys_%s_%s", probe->is_return ? "exit" : "enter",
			       probe->symbol + strlen(prefixes[i]));
		found = find_tracepoint(tracepoints, SYSCALLS, name);
		if (found)
			return found;
	}
	return NULL;
}

/* Keeps the shortest names, without duplicates; the best known system calls have short names. */
static void keep(const struct tracepoint **kept, const struct tracepoint *tracepoint)
{
	size_t i;

	for (i = 0; i < SUGGESTED_MAX; i++)
		if (kept[i] == tracepoint)
			return;
	for (i = 0; i < SUGGESTED_MAX && tracepoint; i++)
		if (!kept[i] || strlen(tracepoint->name) < strlen(kept[i]->name)) {
			const struct tracepoint *longer = kept[i];

			kept[i] = tracepoint;
			tracepoint = longer;
		}
}

/* Suggests the category named like the first word of a function: tcp for tcp_sendmsg. */
static bool suggest_category(const struct tracepoints *tracepoints, const char *function, char *ret,
			     size_t bytes)
{
	size_t nr = strcspn(function, "_"), i;

	for (i = 0; i < tracepoints->nr; i++) {
		const char *category = tracepoints->items[i].category;

		if (strlen(category) != nr || strncmp(category, function, nr) != 0)
			continue;
		(void)snprintf(ret, bytes, "t:%s:*", category);
		return true;
	}
	return false;
}

void tracepoints_suggest(const struct tracepoints *tracepoints, const struct probe_list *list,
			 char *ret, size_t bytes)
{
	const struct tracepoint *kept[SUGGESTED_MAX] = {NULL};
	size_t i, nr = 0;

	*ret = '\0';
	for (i = 0; i < list->nr_probes; i++)
		if (list->probes[i].kind == PROBE_KERNEL)
			keep(kept, find_syscall(tracepoints, &list->probes[i]));
	for (i = 0; i < SUGGESTED_MAX && kept[i] && nr < bytes; i++)
		nr += (size_t)snprintf(ret + nr, bytes - nr, "%st:%s:%s", i ? ", " : "",
				       kept[i]->category, kept[i]->name);
	for (i = 0; i < list->nr_probes && !*ret; i++)
		if (list->probes[i].kind == PROBE_KERNEL &&
		    suggest_category(tracepoints, list->probes[i].symbol, ret, bytes))
			return;
}

/* --- fields ----------------------------------------------------------------------------------- */

#define COMMON "common_"

static bool is_name_byte(char byte)
{
	return isalnum((unsigned char)byte) || byte == '_';
}

/* True if the declaration of nr bytes contains the word. */
static bool has_word(const char *text, size_t nr, const char *word)
{
	size_t bytes = strlen(word), i;

	for (i = 0; i + bytes <= nr; i++)
		if (!memcmp(text + i, word, bytes) && (!i || !is_name_byte(text[i - 1])) &&
		    (i + bytes == nr || !is_name_byte(text[i + bytes])))
			return true;
	return false;
}

/* Parses the number after `;\tKEY:` in the same line. */
static bool take_number(const char *line, const char *key, uint32_t *ret)
{
	const char *end = strchr(line, '\n');
	const char *at = strstr(line, key);
	char *behind;
	unsigned long number;

	if (!at || (end && at > end) || !isdigit((unsigned char)at[strlen(key)]))
		return false;
	number = strtoul(at + strlen(key), &behind, 10);
	*ret = (uint32_t)number;
	return *behind == ';' && number <= UINT16_MAX;
}

/* Parses a declaration. The name is the last word, before any brackets. */
static void take_declaration(const char *text, size_t nr, struct tracepoint_field *field)
{
	size_t end = nr, begin;

	field->is_relative = nr > 9 && text_starts_with(text, "__rel_loc");
	field->is_data_loc =
		field->is_relative || (nr > 10 && text_starts_with(text, "__data_loc"));
	field->is_char = has_word(text, nr, "char");
	if (end && text[end - 1] == ']') {
		field->is_array = true;
		while (end && text[end - 1] != '[')
			end--;
		end -= end > 0;
	}
	while (end && !is_name_byte(text[end - 1]))
		end--;
	for (begin = end; begin && is_name_byte(text[begin - 1]); begin--)
		;
	field->name = text + begin;
	field->nr_name = end - begin;
}

/* Parses the next field and advances *format past it. False at the end. */
static bool tracepoint_field_next(const char **format, struct tracepoint_field *ret)
{
	const char *at;

	while ((at = strstr(*format, "\tfield:"))) {
		struct tracepoint_field field = {0};
		uint32_t is_signed = 0;
		const char *end;

		at += strlen("\tfield:");
		*format = at;
		end = at + strcspn(at, ";\n");
		if (*end != ';' || !take_number(end, "offset:", &field.offset) ||
		    !take_number(end, "size:", &field.bytes) ||
		    !take_number(end, "signed:", &is_signed))
			continue;
		take_declaration(at, (size_t)(end - at), &field);
		field.is_signed = is_signed;
		if (!field.nr_name)
			continue;
		*ret = field;
		return true;
	}
	return false;
}

bool tracepoint_field_find(const char *format, const char *name, struct tracepoint_field *ret)
{
	struct tracepoint_field field;

	while (tracepoint_field_next(&format, &field)) {
		if (field.nr_name != strlen(name) || memcmp(field.name, name, field.nr_name) != 0)
			continue;
		*ret = field;
		return true;
	}
	return false;
}

bool tracepoint_field_is_text(const struct tracepoint_field *field)
{
	return field->is_char && (field->is_array || field->is_data_loc);
}

void tracepoint_field_names(const char *format, char *ret, size_t bytes)
{
	struct tracepoint_field field;
	size_t nr = 0;

	*ret = '\0';
	while (tracepoint_field_next(&format, &field)) {
		if (text_starts_with(field.name, COMMON))
			continue;
		if (nr + field.nr_name + 8 > bytes) {
			(void)snprintf(ret + nr, bytes - nr, ", …");
			return;
		}
		nr += (size_t)snprintf(ret + nr, bytes - nr, "%s%.*s", nr ? ", " : "",
				       (int)field.nr_name, field.name);
	}
}
