/*
 * Looks names up among generic events, tracepoints, PMUs and CPU models, and applies terms.
 *
 * Terms are applied from left to right, and a later one replaces the bits of an earlier one: `mem-loads/ldlat=30/` is
 * mem-loads with another ldlat. Some releases of perf combine the bits of both with OR instead.
 */
#include "event/lookup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/closest.h"
#include "base/file/fd_io.h"
#include "base/text.h"
#include "event/generic.h"
#include "event/models.h"

#define EVENTS_MAX 65536 /* in one list; globs of tracepoints name thousands */

/* --- rejecting --------------------------------------------------------------------------------- */

static void offer(void *context, const struct event_name *name)
{
	closest_offer(context, name->name);
}

/* "the PMUs cpu, msr and 7 others"; what is longer than a few names is summarised. */
static void list_pmus(const struct pmus *pmus, char *text, size_t bytes)
{
	const size_t nr_shown = pmus->nr > 6 ? 5 : pmus->nr;
	size_t i, at = 0;

	text[0] = '\0';
	for (i = 0; i < nr_shown && at < bytes; i++)
		at += (size_t)snprintf(text + at, bytes - at, "%s%.20s", i ? ", " : "",
				       pmus->items[i].name);
	if (i < pmus->nr && at < bytes)
		(void)snprintf(text + at, bytes - at, " and %zu others", pmus->nr - i);
}

static int refuse_name(const struct parser *parser, const char *name)
{
	const struct event_host *host = parser->host;
	const char *model = models_describe(host->model);
	struct closest closest;
	char list[200];
	bool is_found;
	int err;

	list_pmus(&host->pmus, list, sizeof(list));
	(void)error_set(parser->error, -EINVAL,
			"unknown event '" SHOWN "': not generic, not of the PMUs %s, not of %s",
			parser->text, *list ? list : "(there are none)",
			model ? model
			      : "a CPU model (libpfm4 is missing, or does not know this one)");
	closest_init(&closest, name);
	err = event_names(parser->host, offer, &closest);
	is_found = !err && closest_hint(&closest, parser->error);
	closest_clear(&closest);
	if (!strcmp(name, "duration_time") || !strcmp(name, "user_time") ||
	    !strcmp(name, "system_time"))
		error_hint(parser->error, "perf measures this itself; no counter has it");
	else if (!is_found)
		error_hint(parser->error, "'stook list' has the events of this host: cpu-clock, "
					  "page-faults, sched:sched_switch, …");
	return err ? err : -EINVAL;
}

static int refuse_pmu(const struct parser *parser, const char *name)
{
	const struct pmus *pmus = &parser->host->pmus;
	struct closest closest;
	char list[200];
	size_t i;

	(void)error_set(parser->error, -EINVAL, "'" SHOWN "': no PMU or event '%.60s' on this host",
			parser->text, name);
	closest_init(&closest, name);
	for (i = 0; i < pmus->nr; i++)
		closest_offer(&closest, pmus->items[i].name);
	list_pmus(pmus, list, sizeof(list));
	if (!closest_hint(&closest, parser->error))
		error_hint(parser->error, "its PMUs are: %s", *list ? list : "(none)");
	closest_clear(&closest);
	return -EINVAL;
}

static int refuse_term(const struct parser *parser, const struct pmu *pmu, const char *key)
{
	struct closest closest;
	char list[300] = "";
	size_t i, at = 0;

	(void)error_set(parser->error, -EINVAL, "'" SHOWN "': '%s' has no term or event '%.60s'",
			parser->text, pmu->name, key);
	closest_init(&closest, key);
	for (i = 0; i < pmu->nr_formats; i++) {
		closest_offer(&closest, pmu->formats[i].name);
		if (at < sizeof(list))
			at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "",
					       pmu->formats[i].name);
	}
	for (i = 0; i < pmu->nr_aliases; i++)
		closest_offer(&closest, pmu->aliases[i].name);
	if (!closest_hint(&closest, parser->error))
		error_hint(parser->error, "its terms are: %s", *list ? list : "(none)");
	closest_clear(&closest);
	return -EINVAL;
}

/* --- terms ------------------------------------------------------------------------------------- */

/* A PMU's own terms may be abbreviations of events: one level, which they are in sysfs. */
#define DEPTH_MAX 1

struct terms {
	struct parser *parser;
	const struct pmu *pmu; /* NULL: a generic event */
	struct event *event;
	/* Formats, by number: those for which an alias leaves the value to the user, and those that have one. */
	uint64_t needed, given;
};

static int refuse_value(const struct terms *terms, const char *key, const char *value)
{
	return error_set(terms->parser->error, -EINVAL, "'" SHOWN "': bad value '%.40s' of '%.40s'",
			 terms->parser->text, value ? value : "", key);
}

/* Copies a text without the quotes around it, if there are some. */
static int copy_name(const struct terms *terms, const char *key, const char *value)
{
	size_t nr = value ? strlen(value) : 0;

	if (nr >= 2 && value[0] == '\'' && value[nr - 1] == '\'') {
		value++;
		nr -= 2;
	}
	if (!nr || nr >= sizeof(terms->event->name))
		return refuse_value(terms, key, value);
	memcpy(terms->event->name, value, nr);
	terms->event->name[nr] = '\0';
	return 0;
}

/* Terms that every event has. 1: done; 0: not one of these; or a negative errno. */
static int apply_common(const struct terms *terms, const char *key, const char *value)
{
	/* How perf record samples, or how perf stat prints. */
	static const char *const of_perf[] = {
		"branch_type", "time",	       "call-graph",	  "stack-size",
		"max-stack",   "nr",	       "inherit",	  "no-inherit",
		"overwrite",   "no-overwrite", "percore",	  "aux-output",
		"aux-action",  "metric-id",    "aux-sample-size", "driver-config"};
	struct perf_event_attr *attr = &terms->event->attr;
	uint64_t number;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(of_perf); i++)
		if (!strcmp(key, of_perf[i]) && !(terms->pmu && pmu_find_format(terms->pmu, key)))
			return error_set(terms->parser->error, -EINVAL,
					 "'" SHOWN "': '%s' is an option of perf, not of the event",
					 terms->parser->text, key);
	if (!strcmp(key, "name"))
		return copy_name(terms, key, value) ?: 1;
	if (strcmp(key, "config") != 0 && strcmp(key, "config1") != 0 &&
	    strcmp(key, "config2") != 0 && strcmp(key, "period") != 0 && strcmp(key, "freq") != 0)
		return 0;
	if (!value || number_parse(value, UINT64_MAX, &number) < 0)
		return refuse_value(terms, key, value);
	if (!strcmp(key, "config")) {
		attr->config = number;
	} else if (!strcmp(key, "config1")) {
		attr->config1 = number;
	} else if (!strcmp(key, "config2")) {
		attr->config2 = number;
	} else { /* period and freq replace each other */
		if (!number)
			return refuse_value(terms, key, value);
		attr->freq = key[0] == 'f';
		attr->sample_period = number;
	}
	return 1;
}

/* No PMU has that many formats; of one that has, those beyond are not checked. */
static uint64_t bit_of(const struct terms *terms, const struct pmu_format *format)
{
	const size_t i = (size_t)(format - terms->pmu->formats);

	return i < 64 ? UINT64_C(1) << i : 0;
}

static int apply_format(struct terms *terms, const struct pmu_format *format, const char *value)
{
	struct perf_event_attr *attr = &terms->event->attr;
	struct error *error = terms->parser->error;
	uint64_t number = 1, config1 = attr->config1, config2 = attr->config2,
		 config = attr->config;
#ifdef PERF_ATTR_SIZE_VER8
	uint64_t config3 = attr->config3;
	uint64_t *const fields[PMU_FIELDS + 1] = {&config, &config1, &config2, &config3, NULL};
#else
	uint64_t *const fields[PMU_FIELDS + 1] = {&config, &config1, &config2, NULL, NULL};
#endif

	if (!fields[format->field])
		return error_set(error, -EINVAL,
				 "'" SHOWN
				 "': the bits of '%.40s' are not understood: the kernel is "
				 "newer than stook",
				 terms->parser->text, format->name);
	if (value && number_parse(value, UINT64_MAX, &number) < 0)
		return refuse_value(terms, format->name, value);
	if (pmu_format_set(format, number, fields[format->field]) < 0) {
		(void)refuse_value(terms, format->name, value);
		error_hint(error, "the largest is %" PRIu64 " (0x%" PRIx64 ")",
			   pmu_format_max(format), pmu_format_max(format));
		return -EINVAL;
	}
	attr->config = config;
	attr->config1 = config1;
	attr->config2 = config2;
#ifdef PERF_ATTR_SIZE_VER8
	attr->config3 = config3;
#endif
	terms->given |= bit_of(terms, format);
	return 0;
}

static int apply_terms(struct terms *terms, char *text, unsigned depth);

static int apply_alias(struct terms *terms, const struct pmu_alias *alias, unsigned depth)
{
	cleanup_free char *copy = strdup(alias->terms);

	if (!copy)
		return error_no_memory(terms->parser->error, "");
	(void)snprintf(terms->event->unit, sizeof(terms->event->unit), "%s", alias->unit);
	terms->event->scale = alias->scale;
	return apply_terms(terms, copy, depth + 1);
}

/* The model's name for an event among terms: `cpu/uops_executed.core,cmask=1/`. */
static bool apply_model(const struct terms *terms, const char *key)
{
	struct perf_event_attr *attr = &terms->event->attr;
	struct model_code code;

	if (!terms->pmu->is_core || models_find(terms->parser->host->model, key, &code) < 0 ||
	    (code.pmu && strcmp(code.pmu, terms->pmu->name) != 0))
		return false;
	attr->config = code.config[0];
	attr->config1 = code.config[1];
	attr->config2 = code.config[2];
	return true;
}

static int apply_term(struct terms *terms, const char *key, const char *value, unsigned depth)
{
	const struct pmu *pmu = terms->pmu;
	const struct pmu_format *format = pmu ? pmu_find_format(pmu, key) : NULL;
	const struct pmu_alias *alias = NULL;
	struct perf_event_attr raw;
	int result = apply_common(terms, key, value);

	if (result)
		return result < 0 ? result : 0;
	if (!pmu)
		return error_set(terms->parser->error, -EINVAL,
				 "'" SHOWN "': a generic event has no term '%.60s'",
				 terms->parser->text, key);
	/* An alias says `umask=?` for values that only the user knows. */
	if (format && depth && value && value[0] == '?') {
		terms->needed |= bit_of(terms, format);
		return 0;
	}
	if (format)
		return apply_format(terms, format, value);
	if (!value && depth < DEPTH_MAX)
		alias = pmu_find_alias(pmu, key);
	if (alias)
		return apply_alias(terms, alias, depth);
	if (!value && key[0] == 'r' && generic_find(key, &raw) && raw.type == PERF_TYPE_RAW) {
		terms->event->attr.config = raw.config;
		return 0;
	}
	if (!value && !depth && apply_model(terms, key))
		return 0;
	return refuse_term(terms->parser, pmu, key);
}

/* Returns the first of two characters that is not between single quotes, or the end. */
static char *find_unquoted(char *text, char wanted)
{
	bool is_quoted = false;

	for (; *text && (is_quoted || *text != wanted); text++)
		is_quoted ^= *text == '\'';
	return text;
}

/* Applies a list of KEY[=VALUE], which is cut into pieces. */
static int apply_terms(struct terms *terms, char *text, unsigned depth)
{
	bool is_last = !*text;
	int err = 0;

	while (!err && !is_last) {
		char *end = find_unquoted(text, ','), *value;

		is_last = !*end;

		*end = '\0';
		value = strchr(text, '=');
		if (value)
			*value++ = '\0';
		if (*text)
			err = apply_term(terms, text, value, depth);
		else
			err = error_set(terms->parser->error, -EINVAL,
					"'" SHOWN "': a term is empty", terms->parser->text);
		text = end + 1;
	}
	return err;
}

/* --- events ------------------------------------------------------------------------------------ */

int lookup_add(const struct parser *parser, const struct event *event)
{
	struct events *out = parser->out;

	if (out->nr >= EVENTS_MAX)
		return error_set(parser->error, -E2BIG, "more than %d events", EVENTS_MAX);
	if (ARRAY_ADD(out->items, out->nr, out->cap, *event) < 0)
		return error_no_memory(parser->error, "");
	return 0;
}

static int copy_text(const struct parser *parser, char *to, size_t bytes, const char *from)
{
	if (strlen(from) < bytes) {
		(void)strcpy(to, from);
		return 0;
	}
	return error_set(parser->error, -E2BIG, "'%.100s…' is too long", from);
}

void lookup_init(const struct parser *parser, struct event *event)
{
	*event = (struct event){.attr.size = sizeof(event->attr), .scale = 1};
	(void)snprintf(event->name, sizeof(event->name), "%s", parser->text);
}

/* Appends the event of a PMU: an alias or nothing, and terms. */
static int add_pmu_event(struct parser *parser, struct pmu *pmu, const char *alias,
			 const char *terms_text)
{
	cleanup_free char *text = strdup(terms_text);
	struct event event;
	struct terms terms = {.parser = parser, .pmu = pmu, .event = &event};
	uint64_t missing;
	int err = pmu_read(&parser->host->pmus, pmu, parser->error);

	if (!err && !text)
		err = error_no_memory(parser->error, "");
	if (err)
		return err;
	lookup_init(parser, &event);
	event.attr.type = pmu->type;
	err = copy_text(parser, event.pmu, sizeof(event.pmu), pmu->name);
	if (!err)
		err = copy_text(parser, event.cpus, sizeof(event.cpus), pmu->cpus);
	if (!err && alias)
		err = apply_term(&terms, alias, NULL, 0);
	if (!err)
		err = apply_terms(&terms, text, 0);
	missing = terms.needed & ~terms.given;
	if (!err && missing)
		err = error_set(parser->error, -EINVAL, "'" SHOWN "' needs a value: %s/…,%s=N/",
				parser->text, pmu->name,
				pmu->formats[__builtin_ctzll(missing)].name);
	return err ? err : lookup_add(parser, &event);
}

/*
 * Kernels that describe a hybrid CPU by cpu_core and cpu_atom take the PMU's type in the upper half of a generic
 * event's config; raw events have the PMU's type.
 */
static int add_hybrid(const struct parser *parser, const struct event *generic, bool *ret_is_done)
{
	static const char *const names[] = {"cpu_core", "cpu_atom"};
	struct pmus *pmus = &parser->host->pmus;
	struct event event;
	size_t i, k;
	int err = 0;

	*ret_is_done = false;
	if (parser->is_single || generic->attr.type == PERF_TYPE_SOFTWARE)
		return 0;
	for (k = 0; !err && k < ARRAY_SIZE(names); k++)
		for (i = 0; !err && i < pmus->nr; i++) {
			struct pmu *pmu = &pmus->items[i];

			if (strcmp(pmu->name, names[k]) != 0)
				continue;
			err = pmu_read(pmus, pmu, parser->error);
			event = *generic;
			if (event.attr.type == PERF_TYPE_RAW)
				event.attr.type = pmu->type;
			else
				event.attr.config |= (uint64_t)pmu->type << 32;
			if (!err)
				err = copy_text(parser, event.pmu, sizeof(event.pmu), pmu->name);
			if (!err)
				err = copy_text(parser, event.cpus, sizeof(event.cpus), pmu->cpus);
			if (!err)
				err = lookup_add(parser, &event);
			*ret_is_done = true;
		}
	return err;
}

static int add_generic(struct parser *parser, const struct perf_event_attr *attr,
		       const char *terms_text)
{
	cleanup_free char *text = strdup(terms_text);
	struct event event;
	struct terms terms = {.parser = parser, .event = &event};
	bool is_done;
	int err;

	if (!text)
		return error_no_memory(parser->error, "");
	lookup_init(parser, &event);
	event.attr.type = attr->type;
	event.attr.config = attr->config;
	err = apply_terms(&terms, text, 0);
	if (!err)
		err = add_hybrid(parser, &event, &is_done);
	return err || is_done ? err : lookup_add(parser, &event);
}

/* An event by a name that PMUs have, on each that has it. -ENOENT without a message if there is none. */
static int add_alias(struct parser *parser, const char *name, const char *terms)
{
	struct pmus *pmus = &parser->host->pmus;
	int err, result = -ENOENT;
	size_t i;

	for (i = 0; i < pmus->nr; i++) {
		struct pmu *pmu = &pmus->items[i];

		err = pmu_read(pmus, pmu, parser->error);
		if (!err && pmu_find_alias(pmu, name))
			result = err = add_pmu_event(parser, pmu, name, terms);
		if (err)
			return err;
	}
	return result;
}

static struct pmu *find_pmu(const struct pmus *pmus, const char *name)
{
	size_t i;

	for (i = 0; i < pmus->nr; i++)
		if (!strcmp(pmus->items[i].name, name))
			return &pmus->items[i];
	return NULL;
}

/* An event by the name that its CPU model's vendor gives it. -ENOENT without a message if there is none. */
static int add_model(struct parser *parser, const char *name, const char *terms_text)
{
	struct event_host *host = parser->host;
	struct model_code code;
	struct pmu *pmu;
	struct event event;

	if (models_find(host->model, name, &code) < 0)
		return -ENOENT;
	pmu = find_pmu(&host->pmus, code.pmu ? code.pmu : "cpu");
	if (pmu && pmu_read(&host->pmus, pmu, parser->error) < 0)
		return -ENOMEM;
	if (pmu && pmu->is_core)
		return add_pmu_event(parser, pmu, name, terms_text);
	/* A virtual machine without a PMU, or a PMU that has another name. */
	if (*terms_text)
		return refuse_pmu(parser, "cpu");
	lookup_init(parser, &event);
	event.attr.type = PERF_TYPE_RAW;
	event.attr.config = code.config[0];
	event.attr.config1 = code.config[1];
	event.attr.config2 = code.config[2];
	return lookup_add(parser, &event);
}

int lookup_with_terms(struct parser *parser, const char *name, const char *terms)
{
	struct pmus *pmus = &parser->host->pmus;
	struct pmu *exact = find_pmu(pmus, name);
	struct perf_event_attr attr = {0};
	bool is_found = false;
	int err = 0;
	size_t i;

	if (exact)
		return add_pmu_event(parser, exact, NULL, terms);
	if (generic_find(name, &attr))
		return add_generic(parser, &attr, terms);
	for (i = 0; !err && i < pmus->nr; i++)
		if (pmu_is_meant(&pmus->items[i], name)) {
			is_found = true;
			err = add_pmu_event(parser, &pmus->items[i], NULL, terms);
		}
	if (is_found)
		return err;
	err = add_alias(parser, name, terms);
	if (err == -ENOENT)
		err = add_model(parser, name, terms);
	return err == -ENOENT ? refuse_pmu(parser, name) : err;
}

/* --- tracepoints ------------------------------------------------------------------------------- */

static void clean_directory(DIR **directory)
{
	if (*directory)
		(void)closedir(*directory);
}

/* Opens a directory below tracefs; NULL if it can't. */
static DIR *open_directory(int tracefs_fd, const char *path)
{
	int fd = openat(tracefs_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	if (!directory && fd >= 0)
		(void)close(fd);
	return directory;
}

/*
 * Calls visit for each tracepoint CATEGORY:EVENT that matches both globs, until it returns something else than 0,
 * which is returned.
 */
static int each_tracepoint(const struct event_host *host, const char *categories,
			   const char *events,
			   int (*visit)(void *context, const char *category, const char *event),
			   void *context)
{
	cleanup(clean_directory) DIR *top = open_directory(host->tracefs_fd, "events");
	const struct dirent *category, *event;
	char path[NAME_MAX + sizeof("events/")];
	int result = 0;

	while (top && !result && (category = readdir(top))) {
		cleanup(clean_directory) DIR *directory = NULL;

		if (category->d_name[0] == '.' || fnmatch(categories, category->d_name, 0) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "events/%s", category->d_name);
		directory = open_directory(host->tracefs_fd, path);
		while (directory && !result && (event = readdir(directory)))
			if (event->d_name[0] != '.' && event->d_type == DT_DIR &&
			    !fnmatch(events, event->d_name, 0))
				result = visit(context, category->d_name, event->d_name);
	}
	return result;
}

static int add_tracepoint(void *context, const char *category, const char *name)
{
	struct parser *parser = context;
	char path[2 * NAME_MAX + sizeof("events///id")], text[32];
	cleanup_fd int fd = -1;
	struct event event;
	uint64_t id;
	ssize_t nr;

	(void)snprintf(path, sizeof(path), "events/%s/%s/id", category, name);
	fd = openat(parser->host->tracefs_fd, path, O_RDONLY | O_CLOEXEC);
	nr = fd < 0 ? -1 : fd_read_up_to(fd, 0, text, sizeof(text) - 1);
	if (nr <= 0)
		return 0; /* kernel events like ftrace/function have none */
	text[nr] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (number_parse(text, UINT32_MAX, &id) < 0)
		return 0;
	lookup_init(parser, &event);
	if (strpbrk(parser->text, "*?["))
		(void)snprintf(event.name, sizeof(event.name), "%s:%s", category, name);
	event.attr.type = PERF_TYPE_TRACEPOINT;
	event.attr.config = id;
	return lookup_add(parser, &event);
}

int lookup_tracepoints(struct parser *parser, const char *name)
{
	const char *colon = strchr(name, ':');
	const size_t nr = parser->out->nr;
	char category[NAME_MAX + 1];
	int err;

	if (!colon || colon == name || !colon[1] || (size_t)(colon - name) >= sizeof(category) ||
	    strchr(name, '/') || name[0] == '.' || colon[1] == '.' || strlen(colon + 1) > NAME_MAX)
		return -ENOENT;
	memcpy(category, name, (size_t)(colon - name));
	category[colon - name] = '\0';
	err = strpbrk(name, "*?[")
		      ? each_tracepoint(parser->host, category, colon + 1, add_tracepoint, parser)
		      : add_tracepoint(parser, category, colon + 1);
	return err || parser->out->nr > nr ? err : -ENOENT;
}

/* --- names without terms ----------------------------------------------------------------------- */

int lookup_generic(struct parser *parser, const char *name)
{
	struct perf_event_attr attr = {0};

	return generic_find(name, &attr) ? add_generic(parser, &attr, "") : -ENOENT;
}

int lookup_name(struct parser *parser, const char *name)
{
	int err = *name ? add_alias(parser, name, "") : -ENOENT;

	if (err == -ENOENT && *name)
		err = add_model(parser, name, "");
	return err == -ENOENT ? refuse_name(parser, name) : err;
}

/* --- names ------------------------------------------------------------------------------------- */

struct visitor {
	event_visit_fn *visit;
	void *context;
};

static void visit_generic(void *context, const char *name, const char *description, uint32_t type)
{
	static const enum event_kind kinds[] = {[PERF_TYPE_HARDWARE] = EVENT_HARDWARE,
						[PERF_TYPE_SOFTWARE] = EVENT_SOFTWARE,
						[PERF_TYPE_HW_CACHE] = EVENT_CACHE};
	const struct visitor *visitor = context;

	visitor->visit(visitor->context, &(struct event_name){kinds[type], name, "", description});
}

static void visit_model(void *context, const char *name, const char *description)
{
	const struct visitor *visitor = context;
	const struct event_name event = {EVENT_MODEL, name, "", description};

	visitor->visit(visitor->context, &event);
}

static int visit_tracepoint(void *context, const char *category, const char *event)
{
	const struct visitor *visitor = context;
	char name[2 * NAME_MAX + 2];

	(void)snprintf(name, sizeof(name), "%s:%s", category, event);
	visitor->visit(visitor->context, &(struct event_name){EVENT_TRACEPOINT, name, "", ""});
	return 0;
}

/* Visits the terms that a user can write between a PMU's slashes, and the events that the PMU has names for. */
static void visit_pmu(const struct visitor *visitor, const struct pmu *pmu)
{
	char name[NAME_MAX + sizeof("//")], text[512] = "";
	struct event_name event = {EVENT_PMU, name, pmu->name, text};
	size_t i, at = 0;

	(void)snprintf(name, sizeof(name), "%s//", pmu->name);
	for (i = 0; i < pmu->nr_formats && at < sizeof(text); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? ", " : "terms ",
				       pmu->formats[i].name);
	if (pmu->nr_formats)
		visitor->visit(visitor->context, &event);
	for (i = 0; i < pmu->nr_aliases; i++) {
		event.name = pmu->aliases[i].name;
		event.description = pmu->aliases[i].terms;
		visitor->visit(visitor->context, &event);
	}
}

int event_names(struct event_host *host, event_visit_fn *visit, void *context)
{
	struct visitor visitor = {visit, context};
	size_t i;
	int err;

	generic_each(visit_generic, &visitor);
	for (i = 0; i < host->pmus.nr; i++) {
		err = pmu_read(&host->pmus, &host->pmus.items[i], NULL);
		if (err)
			return err;
		visit_pmu(&visitor, &host->pmus.items[i]);
	}
	(void)models_each(host->model, visit_model, &visitor);
	return each_tracepoint(host, "*", "*", visit_tracepoint, &visitor);
}
