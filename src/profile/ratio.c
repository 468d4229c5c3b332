/*
 * The names of the values are those of events as the user wrote them; a slash may be a part of a name
 * (`cpu/event=0x3c/`), so each slash is tried as the one between the names.
 */
#include "profile/ratio.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* Finds a value by its name, of which nr bytes are given. Negative: there is none. */
static int find_value(const struct profile *profile, const char *name, size_t nr)
{
	char text[PROFILE_RATIO_BYTES];

	(void)snprintf(text, sizeof(text), "%.*s", (int)nr, name);
	return profile_find_value(profile, text);
}

/* Ratios below a tenth are shown per 1,000 or more of the denominator; of time, per second. */
static double choose_factor(double whole, bool is_time)
{
	double factor = 1;

	if (is_time)
		return 1e9;
	while (whole > 0 && whole * factor < 0.1 && factor < 1e9)
		factor *= 1000;
	return factor;
}

/* "instruction" of "instructions"; with modifiers, the name stays. */
static int singular(const char *name)
{
	const size_t nr = strlen(name);

	if (text_ends_with(name, nr, "ches"))
		return (int)nr - 2;
	return (int)(text_ends_with(name, nr, "s") ? nr - 1 : nr);
}

static void write_text(struct ratio *ratio, const char *above, size_t nr_above, const char *below,
		       bool is_time)
{
	char number[NUMBER_COMMAS_BYTES];
	int nr = snprintf(ratio->text, sizeof(ratio->text), "%.*s per ", (int)nr_above, above);
	char *at = ratio->text + nr;
	const size_t room = sizeof(ratio->text) - (size_t)nr;

	if (is_time)
		(void)snprintf(at, room, "second of %s", below);
	else if (ratio->factor > 1)
		(void)snprintf(at, room, "%s %s", number_commas(number, (uint64_t)ratio->factor),
			       below);
	else
		(void)snprintf(at, room, "%.*s", singular(below), below);
}

/* Returns the numbers of both values and the slash between their names; NULL: there is none. */
static const char *find_values(const struct profile *profile, const char *names, int *above,
			       int *below)
{
	const char *slash;

	for (slash = strchr(names, '/'); slash; slash = strchr(slash + 1, '/')) {
		*above = find_value(profile, names, (size_t)(slash - names));
		*below = find_value(profile, slash + 1, strlen(slash + 1));
		if (*above >= 0 && *below >= 0 && *above != *below && (!*above || !*below))
			return slash;
	}
	return NULL;
}

bool ratio_find(struct ratio *ret, const struct profile *profile)
{
	const struct profile_origin *origin = profile_origin(profile);
	const char *names = profile_string(profile, origin->ratio), *slash;
	int above = -1, below = -1;
	double amount;
	bool is_time;

	slash = origin->ratio && strlen(names) < PROFILE_RATIO_BYTES
			? find_values(profile, names, &above, &below)
			: NULL;
	if (!slash)
		return false;
	amount = (double)profile_value_total(profile, (size_t)below);
	if (!(amount > 0))
		return false;
	is_time = !strcmp(profile_value_unit(profile, (size_t)below), "nanoseconds");
	*ret = (struct ratio){
		.other = (size_t)(above ? above : below),
		.is_main_above = !above,
		.whole = (double)profile_value_total(profile, (size_t)above) / amount,
		.least = RATIO_LEAST_SAMPLES * (double)origin->period,
	};
	ret->factor = choose_factor(ret->whole, is_time);
	ret->whole *= ret->factor;
	ret->heading = text_starts_with(names, "instructions") &&
				       (text_starts_with(slash + 1, "cycles") ||
					text_starts_with(slash + 1, "cpu-cycles"))
			       ? "IPC"
			       : "RATIO";
	write_text(ret, names, (size_t)(slash - names), slash + 1, is_time);
	return true;
}

double ratio_of(const struct ratio *ratio, uint64_t amount, uint64_t other)
{
	const double above = (double)(ratio->is_main_above ? amount : other);
	const double below = (double)(ratio->is_main_above ? other : amount);

	return below > 0 && below >= ratio->least ? ratio->factor * above / below : (double)NAN;
}

double ratio_deviation(const struct ratio *ratio, double part)
{
	double octaves;

	if (!(ratio->whole > 0) || !(part > 0))
		return part < ratio->whole ? -1 : 0;
	octaves = log2(part / ratio->whole) / log2(RATIO_MOST);
	return fmax(-1, fmin(1, octaves));
}

const char *ratio_number(double ratio, char text[RATIO_NUMBER_BYTES])
{
	if (isnan(ratio))
		return "too few samples";
	if (ratio >= 1000 && ratio < 1e18)
		return number_commas(text, (uint64_t)(ratio + 0.5));
	(void)snprintf(text, RATIO_NUMBER_BYTES, "%.*f",
		       ratio < 10    ? 2
		       : ratio < 100 ? 1
				     : 0,
		       ratio);
	return text;
}
