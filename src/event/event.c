/*
 * The syntax of events: lists, groups, NAME[/TERMS/], modifiers. Names and terms are looked up by event/lookup.c.
 *
 * A name is, in this order: generic; a tracepoint; a PMU, if terms follow; an event that PMUs have a name for; an
 * event of the CPU model. Left out on purpose: perf's own events (duration_time), metrics, and terms that configure
 * perf record.
 */
#include "event/event.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "event/generic.h"
#include "event/lookup.h"
#include "event/models.h"
#include "event/pmu.h"

#define DEVICES	 "/sys/bus/event_source/devices"
#define TEXT_MAX 4096

struct event_host *event_host_open(const struct event_host_options *options, struct error *error)
{
	struct event_host *host = calloc(1, sizeof(*host));

	if (!host) {
		(void)error_no_memory(error, "");
		return NULL;
	}
	host->tracefs_fd = options->tracefs_fd;
	host->model = options->model ? strdup(options->model) : NULL;
	if (options->model && !host->model)
		(void)error_no_memory(error, "");
	else if (!pmus_open(&host->pmus, options->devices ? options->devices : DEVICES, error))
		return host;
	event_host_close(host);
	return NULL;
}

void event_host_close(struct event_host *host)
{
	if (!host)
		return;
	pmus_clear(&host->pmus);
	free(host->model);
	free(host);
}

void events_clear(struct events *events)
{
	free(events->items);
	*events = (struct events){0};
}

/* --- modifiers --------------------------------------------------------------------------------- */

#define MODIFIERS "ukhGHIpPSDWe"

static int refuse_modifiers(const struct parser *parser, const char *modifiers)
{
	const char *letter = modifiers + strspn(modifiers, MODIFIERS);

	(void)error_set(parser->error, -EINVAL, "unknown event modifier '%.20s' in '" SHOWN "'",
			modifiers, parser->text);
	if (*letter == 'b')
		error_hint(parser->error, "counting with BPF (b) is not supported");
	else if (strpbrk(modifiers, "p") && !*letter)
		error_hint(parser->error, "precise levels are p, pp and ppp, or P for the highest");
	return -EINVAL;
}

static bool are_modifiers(const char *text)
{
	const char *at;
	size_t nr_precise = 0;

	for (at = text; *at; at++) {
		nr_precise += *at == 'p';
		if (!strchr(MODIFIERS, *at) || (*at != 'p' && strchr(at + 1, *at)))
			return false;
	}
	return *text && nr_precise <= 3;
}

/*
 * A group's modifiers are applied after its events' own. u, k, h exclude the levels that are not named, as G and H do;
 * precise events are not taken in guests unless G says so.
 */
static void modify(struct event *event, const char *modifiers, bool is_leader)
{
	struct perf_event_attr *attr = &event->attr;
	bool filters = attr->exclude_user || attr->exclude_kernel || attr->exclude_hv;
	bool knows_guests = attr->exclude_host || (attr->exclude_guest && !attr->precise_ip);
	unsigned precise = 0;
	const char *at;

	if (!filters && strpbrk(modifiers, "ukh"))
		attr->exclude_user = attr->exclude_kernel = attr->exclude_hv = 1;
	if (!knows_guests && strpbrk(modifiers, "GH"))
		attr->exclude_guest = attr->exclude_host = 1;
	knows_guests = attr->exclude_guest || attr->exclude_host;
	for (at = modifiers; *at; at++)
		switch (*at) {
		case 'u':
			attr->exclude_user = 0;
			break;
		case 'k':
			attr->exclude_kernel = 0;
			break;
		case 'h':
			attr->exclude_hv = 0;
			break;
		case 'G':
			attr->exclude_guest = 0;
			break;
		case 'H':
			attr->exclude_host = 0;
			break;
		case 'I':
			attr->exclude_idle = 1;
			break;
		case 'p':
			precise++;
			if (!knows_guests)
				attr->exclude_guest = 1;
			break;
		case 'P':
			event->is_most_precise = true;
			break;
		case 'S':
			event->reads_group = true;
			break;
		/* The kernel accepts these at the leader only. */
		case 'D':
			attr->pinned = is_leader;
			break;
		case 'e':
			attr->exclusive = is_leader;
			break;
		case 'W':
			event->is_weak = is_leader;
			break;
		default: /* are_modifiers() refuses others */
			break;
		}
	if (precise)
		attr->precise_ip = precise;
}

/* Returns the modifiers in an event's name, or its end. */
static const char *find_modifiers(const char *name)
{
	const char *slash = text_starts_with(name, BREAKPOINT) ? NULL : strrchr(name, '/');
	const char *colon = strrchr(name, ':');

	if (slash)
		return slash + 1 + (slash[1] == ':');
	return colon && are_modifiers(colon + 1) ? colon + 1 : name + strlen(name);
}

void event_leave_kernel_out(struct event *event)
{
	const char *modifiers = find_modifiers(event->name);
	const bool needs_colon = !*modifiers && (text_starts_with(event->name, BREAKPOINT) ||
						 !strchr(event->name, '/'));
	const size_t nr = strlen(event->name);

	event->attr.exclude_kernel = event->attr.exclude_hv = 1;
	(void)snprintf(event->name + nr, sizeof(event->name) - nr, needs_colon ? ":u" : "u");
}

static void add_pmu_to_name(struct event *event)
{
	char name[EVENT_NAME_BYTES], first[EVENT_NAME_BYTES];
	const char *slash = strchr(event->name, '/'), *modifiers = find_modifiers(event->name);
	const size_t nr_first = slash ? (size_t)(slash - event->name)
				      : (size_t)(modifiers - event->name) - (*modifiers ? 1 : 0);
	int nr;

	(void)snprintf(first, sizeof(first), "%.*s", (int)nr_first, event->name);
	if (!slash)
		nr = snprintf(name, sizeof(name), "%s/%s/%s", event->pmu, first, modifiers);
	else if (strstr(event->pmu, first) || strpbrk(first, "*?["))
		nr = snprintf(name, sizeof(name), "%s%s", event->pmu, slash);
	else
		nr = snprintf(name, sizeof(name), "%s/%s,%s", event->pmu, first, slash + 1);
	if (nr < (int)sizeof(name))
		(void)strcpy(event->name, name);
}

void events_tell_apart(struct events *events)
{
	cleanup_free bool *is_shared = calloc(events->nr + 1, sizeof(*is_shared));
	size_t i, k;

	for (i = 0; is_shared && i < events->nr; i++)
		for (k = 0; k < events->nr; k++)
			is_shared[i] |= *events->items[i].pmu &&
					strcmp(events->items[i].pmu, events->items[k].pmu) != 0 &&
					!strcmp(events->items[i].name, events->items[k].name);
	for (i = 0; is_shared && i < events->nr; i++)
		if (is_shared[i])
			add_pmu_to_name(&events->items[i]);
}

/* --- texts ------------------------------------------------------------------------------------- */

/* An event without terms: NAME[:MODIFIERS]. Sets *ret_modifiers to "" or what follows the name. */
static int parse_named(struct parser *parser, char *name, const char **ret_modifiers)
{
	char *colon = strchr(name, ':');
	int err;

	*ret_modifiers = "";
	if (colon)
		*colon = '\0';
	err = lookup_generic(parser, name);
	if (err != -ENOENT) {
		*ret_modifiers = colon ? colon + 1 : "";
		return !err && colon && !are_modifiers(colon + 1)
			       ? refuse_modifiers(parser, colon + 1)
			       : err;
	}
	if (colon)
		*colon = ':';
	err = lookup_tracepoints(parser, name);
	/* The modifiers are behind the last colon, of which other names have some. */
	if (err == -ENOENT && (colon = strrchr(name, ':')) && are_modifiers(colon + 1)) {
		*ret_modifiers = colon + 1;
		*colon = '\0';
		err = lookup_tracepoints(parser, name);
	}
	return err == -ENOENT ? lookup_name(parser, name) : err;
}

/* Sets *ret_modifiers to "" or what follows the event, which is cut into pieces. */
static int parse_event(struct parser *parser, char *text, const char **ret_modifiers)
{
	char *slash = strchr(text, '/'), *end = slash ? strrchr(text, '/') : NULL;
	const char *modifiers = "";
	struct event event;
	int err;

	if (text_starts_with(text, BREAKPOINT)) {
		lookup_init(parser, &event);
		err = breakpoint_parse(text, &event.attr, &modifiers, parser->error);
		if (!err && modifiers && !are_modifiers(modifiers))
			err = refuse_modifiers(parser, modifiers);
		*ret_modifiers = modifiers ? modifiers : "";
		return err ? err : lookup_add(parser, &event);
	}
	if (!slash)
		return parse_named(parser, text, ret_modifiers);
	if (end == slash || slash == text)
		return error_set(parser->error, -EINVAL,
				 "'" SHOWN "': terms stand between two slashes, PMU/TERM=VALUE,…/",
				 parser->text);
	*slash = *end = '\0';
	*ret_modifiers = end + 1 + (end[1] == ':');
	if (end[1] && !are_modifiers(*ret_modifiers))
		return refuse_modifiers(parser, *ret_modifiers);
	return lookup_with_terms(parser, text, slash + 1);
}

static int parse_item(struct parser *parser, const char *text)
{
	cleanup_free char *copy = strdup(text);
	const size_t first = parser->out->nr;
	const char *modifiers;
	size_t i;
	int err;

	if (!copy)
		return error_no_memory(parser->error, "");
	if (strlen(text) >= EVENT_NAME_BYTES)
		return error_set(parser->error, -EINVAL, "event name '%.40s…' is too long", text);
	parser->text = text;
	err = parse_event(parser, copy, &modifiers);
	for (i = first; !err && i < parser->out->nr; i++) {
		parser->out->items[i].leader = i;
		modify(&parser->out->items[i], modifiers, true);
	}
	return err;
}

char *event_split(char **rest)
{
	char *text = *rest, *at = text;
	bool is_quoted = false, has_terms = false;
	unsigned depth = 0;

	if (!text)
		return NULL;
	/* The slash in mem:ADDRESS/BYTES has no partner. */
	for (; *at; at++) {
		if (!is_quoted && !has_terms && (at == text || strchr(",{", at[-1])) &&
		    text_starts_with(at, BREAKPOINT))
			at += strcspn(at, ",}");
		if (!*at)
			break;
		if (*at == '\'' && has_terms)
			is_quoted = !is_quoted;
		else if (is_quoted || (has_terms && *at != '/'))
			continue;
		else if (*at == '/')
			has_terms = !has_terms;
		else if (*at == '{')
			depth++;
		else if (*at == '}' && depth)
			depth--;
		else if (*at == ',' && !depth)
			break;
	}
	*rest = *at ? at + 1 : NULL;
	*at = '\0';
	return text;
}

/*
 * The kernel has no groups across PMUs, and a generic event is one of each kind of core: a group of several PMUs
 * becomes a group of each, and what needs no PMU of the tree (a clock, a tracepoint) is counted beside them, on all
 * CPUs.
 */
static size_t find_leader(const struct events *events, size_t first, size_t number)
{
	const char *pmu = events->items[number].pmu, *one = "";
	bool is_divided = false;
	size_t i;

	for (i = first; i < events->nr; i++) {
		const char *other = events->items[i].pmu;

		is_divided |= *one && *other && strcmp(one, other) != 0;
		one = *other ? other : one;
	}
	if (!is_divided)
		return first;
	for (i = first; i < number && (!*pmu || strcmp(events->items[i].pmu, pmu) != 0);)
		i++;
	return i;
}

/* {EVENT,…}[:MODIFIERS] */
static int parse_group(struct parser *parser, char *text)
{
	const size_t first = parser->out->nr;
	char *end = strrchr(text, '}'), *rest = text + 1, *item;
	cleanup_free char *whole = strdup(text);
	const char *modifiers = "";
	size_t i;
	int err = 0;

	if (!whole)
		return error_no_memory(parser->error, "");
	parser->text = whole;
	if (end && end[1] == ':')
		modifiers = end + 2;
	if (!end || (end[1] && end[1] != ':') || end == text + 1)
		return error_set(parser->error, -EINVAL,
				 "'" SHOWN "': a group is {EVENT,EVENT…}:MODIFIERS", whole);
	if (end[1] && !are_modifiers(modifiers))
		return refuse_modifiers(parser, modifiers);
	*end = '\0';
	while (!err && (item = event_split(&rest)))
		err = parse_item(parser, item);
	for (i = first; !err && i < parser->out->nr; i++) {
		struct event *event = &parser->out->items[i];

		event->leader = find_leader(parser->out, first, i);
		if (event->leader != i)
			event->attr.pinned = event->attr.exclusive = 0;
		modify(event, modifiers, event->leader == i);
	}
	return err;
}

static int parse_list(struct parser *parser, const char *text)
{
	cleanup_free char *copy = NULL;
	const size_t first = parser->out->nr;
	char *rest, *item;
	int err = 0;

	if (strlen(text) > TEXT_MAX)
		return error_set(parser->error, -EINVAL, "the list of events '%.40s…' is too long",
				 text);
	rest = copy = strdup(text);
	if (!copy)
		return error_no_memory(parser->error, "");
	while (!err && (item = event_split(&rest)))
		err = *item == '{' ? parse_group(parser, item) : parse_item(parser, item);
	if (err)
		parser->out->nr = first;
	return err;
}

int events_parse(struct event_host *host, const char *text, struct events *events,
		 struct error *error)
{
	struct parser parser = {.host = host, .out = events, .error = error};

	return parse_list(&parser, text);
}

int event_parse(const char *text, struct event *ret, struct error *error)
{
	struct event_host *host =
		event_host_open(&(struct event_host_options){.tracefs_fd = -1}, error);
	struct events events = {0};
	struct parser parser = {.host = host, .out = &events, .is_single = true, .error = error};
	int err = host ? parse_item(&parser, text) : -ENOMEM;

	if (!err && events.nr > 1) {
		err = error_set(error, -EINVAL,
				"'" SHOWN "' is %zu events, one of each of %s, %s, …", text,
				events.nr, events.items[0].pmu, events.items[1].pmu);
		error_hint(error, "name one PMU: %s/…/", events.items[0].pmu);
	}
	if (!err)
		*ret = events.items[0];
	events_clear(&events);
	event_host_close(host);
	return err;
}

bool event_is_tracepoint(const char *text)
{
	const char *colon = strchr(text, ':');
	struct perf_event_attr attr;
	struct model_code code;
	char category[64];

	if (!colon || colon == text || !colon[1] || text_starts_with(text, BREAKPOINT) ||
	    strchr(text, '/') || text[0] == '{' || (size_t)(colon - text) >= sizeof(category))
		return false;
	memcpy(category, text, (size_t)(colon - text));
	category[colon - text] = '\0';
	/* No tracepoint is called like modifiers: mem-loads:P is an event of a PMU. */
	return !generic_find(category, &attr) && !are_modifiers(colon + 1) &&
	       models_find(NULL, text, &code) < 0;
}

bool event_is_clock(const struct event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE &&
	       (event->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
		event->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

double event_count_estimate(const struct event_count *count)
{
	if (!count->running_ns || count->running_ns >= count->enabled_ns)
		return count->running_ns ? (double)count->value : 0;
	return (double)count->value * ((double)count->enabled_ns / (double)count->running_ns);
}

const char *event_value_unit(const struct event *event)
{
	return event_is_clock(event) ? "nanoseconds" : "count";
}
