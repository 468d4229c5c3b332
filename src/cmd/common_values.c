/* See common_values.h. Types are kept as texts, since each profile numbers its strings itself. */
#include "cmd/common_values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_BYTES 128

static const char *type_of(const struct profile *profile, size_t number)
{
	return profile_string(profile, profile_value_type(profile, number).type);
}

static const char *unit_of(const struct profile *profile, size_t number)
{
	return profile_string(profile, profile_value_type(profile, number).unit);
}

/* Its number in the profile, or -ENOENT. */
static int find(const struct profile *profile, const struct common_value *value)
{
	size_t i;

	for (i = 0; i < profile_nr_values(profile); i++)
		if (!strcmp(type_of(profile, i), value->type) &&
		    !strcmp(unit_of(profile, i), value->unit))
			return (int)i;
	return -ENOENT;
}

static void free_value(struct common_value *value)
{
	free(value->type);
	free(value->unit);
	*value = (struct common_value){0};
}

/* --- adding ---------------------------------------------------------------------------------- */

static int take_all(struct common_values *common, const struct profile *profile)
{
	for (; common->nr < profile_nr_values(profile); common->nr++) {
		struct common_value *value = &common->values[common->nr];

		value->type = strdup(type_of(profile, common->nr));
		value->unit = strdup(unit_of(profile, common->nr));
		if (!value->type || !value->unit) {
			free_value(value);
			return -ENOMEM;
		}
	}
	common->has_first_count = true;
	return 0;
}

static void keep_those_of(struct common_values *common, const struct profile *profile)
{
	size_t nr = 0, i;

	for (i = 0; i < common->nr; i++) {
		if (find(profile, &common->values[i]) >= 0) {
			common->values[nr++] = common->values[i];
			continue;
		}
		free_value(&common->values[i]);
		common->has_first_count &= i > 0;
	}
	common->nr = nr;
}

/* What a file counts is remembered of the first one, and of the first that counts something else. */
static int remember(struct common_values *common, const struct profile *profile, const char *path)
{
	size_t number = common->nr_profiles > 0;

	if (common->counts[number] || (number && !strcmp(common->counts[0], type_of(profile, 0))))
		return 0;
	common->paths[number] = path;
	common->counts[number] = strdup(type_of(profile, 0));
	return common->counts[number] ? 0 : -ENOMEM;
}

static void list_common(const struct common_values *common, char list[LIST_BYTES])
{
	size_t nr = 0, i;

	for (i = 0; i < common->nr && nr < LIST_BYTES; i++)
		nr += (size_t)snprintf(list + nr, LIST_BYTES - nr, "%s%s", i ? ", " : "",
				       common->values[i].type);
}

static void list_values(const struct profile *profile, char list[LIST_BYTES])
{
	size_t nr = 0, i;

	for (i = 0; i < profile_nr_values(profile) && nr < LIST_BYTES; i++)
		nr += (size_t)snprintf(list + nr, LIST_BYTES - nr, "%s%s", i ? ", " : "",
				       type_of(profile, i));
}

static bool has_any_of(const struct common_values *common, const struct profile *profile)
{
	size_t i;

	for (i = 0; i < common->nr; i++)
		if (find(profile, &common->values[i]) >= 0)
			return true;
	return false;
}

static int nothing_in_common(const struct common_values *common, const struct profile *profile,
			     const char *path, struct error *error)
{
	char theirs[LIST_BYTES], its[LIST_BYTES];

	list_common(common, theirs);
	list_values(profile, its);
	(void)error_set(error, -EINVAL, "'%s' and '%s' count nothing that %s have",
			common->paths[0], path,
			common->nr_profiles > 1 ? "all of these files" : "both");
	error_hint(error, "'%s'%s: %s; '%s': %s", common->paths[0],
		   common->nr_profiles > 1 ? " and others" : "", theirs, path, its);
	return -EINVAL;
}

int common_values_add(struct common_values *common, const struct profile *profile, const char *path,
		      struct error *error)
{
	int err = remember(common, profile, path);

	if (!err && !common->nr_profiles)
		err = take_all(common, profile);
	if (err)
		return error_set(error, err, "out of memory");
	if (!has_any_of(common, profile))
		return nothing_in_common(common, profile, path, error);
	keep_those_of(common, profile);
	common->nr_profiles++;
	return 0;
}

/* --- choosing -------------------------------------------------------------------------------- */

static const struct common_value *chosen(const struct common_values *common)
{
	size_t i;

	for (i = 0; i < common->nr && !common->has_first_count; i++)
		if (!strcmp(common->values[i].type, "samples"))
			return &common->values[i];
	return &common->values[0];
}

int common_values_choose(const struct common_values *common, struct profile *profile)
{
	int number = common->nr ? find(profile, chosen(common)) : 0;

	return number > 0 ? profile_choose_value(profile, (size_t)number) : 0;
}

void common_values_note(const struct common_values *common, char note[COMMON_VALUES_NOTE_BYTES])
{
	*note = '\0';
	if (common->nr && common->counts[1])
		(void)snprintf(note, COMMON_VALUES_NOTE_BYTES,
			       "showing %s, which all files have: '%s' counts %s, '%s' %s",
			       chosen(common)->type, common->paths[0], common->counts[0],
			       common->paths[1], common->counts[1]);
}

void common_values_clear(struct common_values *common)
{
	size_t i;

	for (i = 0; i < common->nr; i++)
		free_value(&common->values[i]);
	free(common->counts[0]);
	free(common->counts[1]);
	*common = (struct common_values){0};
}
