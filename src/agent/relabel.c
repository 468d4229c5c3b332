/* A rule is a condition, or a regular expression with a template. Both are checked when they are read. */
#include "agent/relabel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/matcher.h"
#include "base/text.h"
#include "proc/process_context.h"
#include "store/where.h"

#define TEXT_BYTES 1024 /* of a label that a rule makes */

enum action {
	ACTION_KEEP,
	ACTION_DROP,
	ACTION_REPLACE,
};

struct relabel_rule {
	enum action action;
	struct store_where *where; /* to keep or drop */
	char *key, *made, *text;   /* to replace; one allocation */
	struct matcher *matcher;
};

static const char *const actions[] = {
	[ACTION_KEEP] = "keep ",
	[ACTION_DROP] = "drop ",
	[ACTION_REPLACE] = "replace ",
};

static const char *const fixed[] = {"comm", "pid", "cgroup"};

/* --- reading rules ---------------------------------------------------------------------------- */

static void clear_rule(struct relabel_rule *rule)
{
	store_where_free(rule->where);
	matcher_free(rule->matcher);
	free(rule->key);
}

void relabel_rules_clear(struct relabel_rules *rules)
{
	size_t i;

	for (i = 0; i < rules->nr; i++)
		clear_rule(&rules->items[i]);
	free(rules->items);
	*rules = (struct relabel_rules){0};
}

static int bad_rule(struct error *error, const char *text, const char *why)
{
	(void)error_set(error, -EINVAL, "bad rule '%s': %s", text, why);
	error_hint(error, "keep CONDITION, drop CONDITION, or replace KEY~REGEX NEW=TEXT");
	return -EINVAL;
}

/* text: KEY~REGEX NEW=TEXT. Returns what is wrong with it, or NULL. */
static const char *parse_replace(struct relabel_rule *rule, const char *text)
{
	struct matcher_error fault;
	char *regex, *end, *equals;
	size_t i;

	rule->key = strdup(text);
	if (!rule->key)
		return "out of memory";
	regex = strchr(rule->key, '~');
	end = regex ? strchr(regex, ' ') : NULL;
	equals = end ? strchr(end, '=') : NULL;
	if (!equals || regex == rule->key)
		return "not of the form KEY~REGEX NEW=TEXT";
	*regex++ = *end++ = *equals++ = '\0';
	rule->made = end + strspn(end, " ");
	rule->text = equals;
	if (!*rule->made || strchr(rule->made, ' '))
		return "no name of a label before '='";
	for (i = 0; i < ARRAY_SIZE(fixed); i++)
		if (!strcmp(rule->made, fixed[i]))
			return "this label cannot be replaced";
	rule->matcher = matcher_new(regex, strlen(regex), MATCHER_SEARCH, &fault);
	if (!rule->matcher)
		return fault.what ? fault.what : "out of memory";
	return NULL;
}

static int add(struct relabel_rules *rules, struct relabel_rule *rule, struct error *error)
{
	if (ARRAY_ADD(rules->items, rules->nr, rules->capacity, *rule) == 0)
		return 0;
	clear_rule(rule);
	return error_no_memory(error, "for rules");
}

int relabel_rules_add(struct relabel_rules *rules, const char *text, struct error *error)
{
	struct relabel_rule rule = {0};
	struct error why = {0};
	const char *fault = NULL, *rest;
	size_t i = 0;

	while (i < ARRAY_SIZE(actions) && !text_starts_with(text, actions[i]))
		i++;
	if (i == ARRAY_SIZE(actions))
		return bad_rule(error, text, "unknown action");
	rule.action = (enum action)i;
	rest = text + strlen(actions[i]);
	rest += strspn(rest, " ");
	if (rule.action == ACTION_REPLACE) {
		fault = parse_replace(&rule, rest);
	} else {
		rule.where = store_where_parse(rest, &why);
		fault = rule.where ? NULL : why.text;
	}
	if (!fault)
		return add(rules, &rule, error);
	clear_rule(&rule);
	return bad_rule(error, text, fault);
}

/* --- applying them ---------------------------------------------------------------------------- */

static struct set_label *find(struct relabel_labels *labels, const char *key)
{
	size_t i;

	for (i = 0; i < labels->nr; i++)
		if (!strcmp(profile_string(labels->profile, labels->set[i].key), key))
			return &labels->set[i];
	return NULL;
}

/* True if a label that is not there may be when all are known. */
static bool may_come(const struct relabel_labels *labels, const char *key)
{
	size_t i;

	if (!strcmp(key, "build_id"))
		return labels->lacks_build_id;
	if (!strcmp(key, "cmdline") || text_starts_with(key, "env."))
		return labels->lacks_own;
	for (i = 0; i < PROCESS_NR_ATTRIBUTES; i++)
		if (!strcmp(key, process_attribute_names[i]))
			return labels->lacks_own;
	return false;
}

static const char *label_of(void *context, const char *key)
{
	struct relabel_labels *labels = context;
	const char *text = profile_label_text(labels->profile, &labels->sample, labels->set,
					      labels->nr, key, labels->number);

	labels->is_open |= !text && may_come(labels, key);
	/* All samples have these two, perhaps with an empty text. */
	return text || (strcmp(key, "comm") != 0 && strcmp(key, "cgroup") != 0) ? text : "";
}

/* Puts the parts of `value` into the template. What does not fit is left out. */
static size_t expand(const char *template, const char *value, const regmatch_t parts[MATCHER_PARTS],
		     char to[TEXT_BYTES])
{
	size_t nr = 0, bytes;

	for (; *template; template ++) {
		const char *from = template;

		bytes = 1;
		if (*template == '\\' && template[1] >= '0' && template[1] <= '9') {
			const regmatch_t *part = &parts[*++template - '0'];

			from = value + (part->rm_so < 0 ? 0 : part->rm_so);
			bytes = (size_t)(part->rm_eo - part->rm_so);
		} else if (*template == '\\' && template[1]) {
			from = ++template;
		}
		if (bytes > TEXT_BYTES - nr)
			bytes = TEXT_BYTES - nr;
		memcpy(to + nr, from, bytes);
		nr += bytes;
	}
	return nr;
}

int relabel_set(struct relabel_labels *labels, const char *key, const char *text, size_t nr)
{
	struct set_label *known = find(labels, key);
	int64_t key_string, string;

	if (!nr) {
		if (known)
			*known = labels->set[--labels->nr];
		return 0;
	}
	if (!known && labels->nr == LABEL_SET_MAX)
		return 0;
	/* The text first: another string may move it, if it is one of the profile's. */
	string = profile_add_foreign_string(labels->profile, text, nr);
	key_string = profile_add_string(labels->profile, key);
	if (key_string < 0 || string < 0)
		return -ENOMEM;
	*(known ? known : &labels->set[labels->nr++]) =
		(struct set_label){.key = (uint32_t)key_string, .text = (uint32_t)string};
	return 0;
}

static int replace(const struct relabel_rule *rule, struct relabel_labels *labels)
{
	const char *value = label_of(labels, rule->key);
	regmatch_t parts[MATCHER_PARTS];
	char text[TEXT_BYTES];

	if (!value || !matcher_find(rule->matcher, value, parts))
		return 0;
	return relabel_set(labels, rule->made, text, expand(rule->text, value, parts, text));
}

int relabel_rules_apply(const struct relabel_rules *rules, struct relabel_labels *labels)
{
	size_t i;

	for (i = 0; i < rules->nr; i++) {
		const struct relabel_rule *rule = &rules->items[i];
		const bool drops = rule->action == ACTION_DROP;

		if (rule->action == ACTION_REPLACE) {
			if (replace(rule, labels) < 0)
				return -ENOMEM;
		} else if (store_where_matches(rule->where, label_of, labels) == drops ||
			   labels->is_open) {
			return 0;
		}
	}
	return 1;
}
