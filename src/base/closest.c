/*
 * Computes edit distances by dynamic programming with three columns of the table; a transposition
 * counts as one edit. Case is ignored. For a match with a part of the name, a column's first cell
 * is 0 at every byte of the name. 100,000 names take some 50 ms.
 *
 * Extra bytes around the match cost about as much as an edit: a user who writes `mallc` means
 * malloc rather than mallctl.
 */
#include "base/closest.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define EDIT_COST    4
#define AROUND_COST  3 /* plus one for each AROUND_BYTES around the match */
#define AROUND_BYTES 4
#define CASE_COST    1
#define TOO_FAR	     UINT_MAX

/* --- the wanted name -------------------------------------------------------------------------- */

/* Copies the letters of one literal part of a pattern. Returns the end of the part. */
static const char *take_part(const char *text, char *part, size_t *ret_nr)
{
	size_t nr = 0;

	for (; *text && !strchr("*(|)", *text); text++) {
		if (*text == '\\' && text[1])
			text++;
		else if (strchr("?[]{}^$+\\", *text) || (*text == '.' && text[1] == '*'))
			continue;
		if (nr < CLOSEST_WANTED_MAX)
			part[nr++] = *text;
	}
	*ret_nr = nr;
	return text;
}

void closest_init(struct closest *closest, const char *text)
{
	size_t i;

	memset(closest, 0, sizeof(*closest));
	for (;; text++) {
		char part[CLOSEST_WANTED_MAX];
		size_t nr;

		text = take_part(text, part, &nr);
		if (nr > closest->nr_wanted) {
			memcpy(closest->wanted, part, nr);
			closest->nr_wanted = nr;
		}
		if (!*text)
			break;
	}
	closest->wanted[closest->nr_wanted] = '\0';
	for (i = 0; i < closest->nr_wanted; i++)
		closest->folded[i] = (char)tolower((unsigned char)closest->wanted[i]);
}

void closest_clear(struct closest *closest)
{
	size_t i;

	for (i = 0; i < closest->nr_names; i++)
		free(closest->names[i]);
	memset(closest, 0, sizeof(*closest));
}

/* --- distances -------------------------------------------------------------------------------- */

/*
 * The number of edits from the wanted name to the name, or to its closest part. Cell i of a column
 * is the number of edits from the first i bytes of the wanted name to the part of the name read so
 * far.
 */
static unsigned distance(const struct closest *closest, const char *name, bool of_part)
{
	unsigned columns[3][CLOSEST_WANTED_MAX + 1], least, before_last, last = 0;
	unsigned *two_back = columns[0], *back = columns[1], *now = columns[2], *free_column;
	size_t nr = closest->nr_wanted, i;

	for (i = 0; i <= nr; i++)
		back[i] = (unsigned)i;
	least = back[nr];
	for (; *name; name++) {
		before_last = last;
		last = (unsigned)tolower((unsigned char)*name);
		now[0] = of_part ? 0 : back[0] + 1;
		for (i = 1; i <= nr; i++) {
			unsigned wanted = (unsigned char)closest->folded[i - 1];

			now[i] = back[i - 1] + (wanted != last);
			if (now[i - 1] + 1 < now[i])
				now[i] = now[i - 1] + 1;
			if (back[i] + 1 < now[i])
				now[i] = back[i] + 1;
			if (i > 1 && before_last == wanted &&
			    last == (unsigned char)closest->folded[i - 2] &&
			    two_back[i - 2] + 1 < now[i])
				now[i] = two_back[i - 2] + 1;
		}
		if (now[nr] < least)
			least = now[nr];
		free_column = two_back;
		two_back = back;
		back = now;
		now = free_column;
	}
	return of_part ? least : back[nr];
}

/* Up to a third of the letters of a whole name may differ. */
static unsigned cost_of_whole(const struct closest *closest, const char *name, size_t nr)
{
	size_t wanted = closest->nr_wanted, edits_max = (wanted + 1) / 3;
	unsigned edits;

	if (nr + edits_max < wanted || nr > wanted + edits_max)
		return TOO_FAR;
	edits = distance(closest, name, false);
	if (edits > edits_max)
		return TOO_FAR;
	if (!edits && strcmp(name, closest->wanted) != 0)
		return CASE_COST;
	return edits * EDIT_COST;
}

/* Up to a sixth may differ in a part of a name; one if there are five letters. */
static unsigned cost_of_part(const struct closest *closest, const char *name, size_t nr)
{
	size_t wanted = closest->nr_wanted, edits_max = wanted == 5 ? 1 : wanted / 6;
	unsigned edits;

	if (nr <= wanted)
		return TOO_FAR;
	edits = distance(closest, name, true);
	if (edits > edits_max)
		return TOO_FAR;
	return edits * EDIT_COST + AROUND_COST + (unsigned)((nr - wanted) / AROUND_BYTES);
}

static unsigned cost_of(const struct closest *closest, const char *name)
{
	size_t nr = strlen(name);
	unsigned whole = cost_of_whole(closest, name, nr), part = cost_of_part(closest, name, nr);

	return whole < part ? whole : part;
}

/* --- the closest names ------------------------------------------------------------------------ */

/* At equal cost the shorter name comes first, then alphabetical order. */
static int compare(unsigned cost, const char *name, unsigned other_cost, const char *other)
{
	size_t nr = strlen(name), nr_other = strlen(other);

	return COMPARE(cost, other_cost) ?: COMPARE(nr, nr_other) ?: strcmp(name, other);
}

void closest_offer(struct closest *closest, const char *name)
{
	unsigned cost = closest->nr_wanted > 1 ? cost_of(closest, name) : TOO_FAR;
	size_t at = 0, last;
	char *copy;

	if (cost == TOO_FAR)
		return;
	for (; at < closest->nr_names; at++) {
		int order = compare(cost, name, closest->costs[at], closest->names[at]);

		if (!order)
			return;
		if (order < 0)
			break;
	}
	copy = at < CLOSEST_NAMES ? strdup(name) : NULL;
	if (!copy)
		return;
	if (closest->nr_names == CLOSEST_NAMES)
		free(closest->names[--closest->nr_names]);
	for (last = closest->nr_names++; last > at; last--) {
		closest->names[last] = closest->names[last - 1];
		closest->costs[last] = closest->costs[last - 1];
	}
	closest->names[at] = copy;
	closest->costs[at] = cost;
}

size_t closest_names(const struct closest *closest, const char *names[CLOSEST_NAMES])
{
	size_t i;

	for (i = 0; i < closest->nr_names; i++)
		names[i] = closest->names[i];
	return closest->nr_names;
}

bool closest_hint(const struct closest *closest, struct error *error)
{
	const char *names[CLOSEST_NAMES];
	size_t nr = closest_names(closest, names);

	if (nr == 1)
		error_hint(error, "did you mean '%s'?", names[0]);
	else if (nr == 2)
		error_hint(error, "did you mean '%s' or '%s'?", names[0], names[1]);
	else if (nr > 2)
		error_hint(error, "did you mean '%s', '%s' or '%s'?", names[0], names[1], names[2]);
	return nr > 0;
}
