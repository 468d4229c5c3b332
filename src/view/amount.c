/*
 * The unit of a column of times is chosen so that the total has four digits or more.
 *
 * Units are spelt differently by the tools that write profiles. All spellings of times are known;
 * larger units of bytes are shown unchanged, because a kilobyte is 1,000 bytes to one tool and
 * 1,024 to another.
 */
#include "view/amount.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* The first unit whose minimum the total reaches is used. */
static const struct time_unit {
	uint64_t ns;
	uint64_t least_total, least_column; /* ns */
	const char *name, *heading;
} time_units[] = {
	{1000000000, 1000000000, 10000000000000, "s", "sum, s"},
	{1000000, 1000000, 1000000000, "ms", "sum, ms"},
	{1000, 1000, 1000000, "us", "sum, us"},
	{1, 0, 0, "ns", "sum, ns"},
};

/* There are two code points for micro: MICRO SIGN and GREEK SMALL LETTER MU. */
static const struct unit_name {
	const char *name;
	uint64_t ns;
} time_names[] = {
	{"nanoseconds", 1},	  {"nanosecond", 1},	 {"ns", 1},
	{"microseconds", 1000},	  {"microsecond", 1000}, {"us", 1000},
	{"\xc2\xb5s", 1000},	  {"\xce\xbcs", 1000},	 {"milliseconds", 1000000},
	{"millisecond", 1000000}, {"ms", 1000000},	 {"seconds", 1000000000},
	{"second", 1000000000},	  {"s", 1000000000},
};

static const char *const byte_names[] = {"bytes", "byte", "B"};

/* Units that only mean "a count". */
static const char *const count_names[] = {"", "count", "samples", "hits"};

/* Longer units are truncated. */
#define UNIT_COLUMNS 24
#define UNIT_BYTES   (UNIT_COLUMNS * 4 + sizeof(".."))

static bool is_one_of(const char *unit, const char *const *names, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(unit, names[i]))
			return true;
	return false;
}

static bool is_bytes(const struct profile *profile)
{
	const char *unit = amount_unit(profile);

	return unit && is_one_of(unit, byte_names, ARRAY_SIZE(byte_names));
}

/* True if the unit is "samples": a profile of one of several events. */
static bool is_samples(const struct profile *profile)
{
	const char *unit = amount_unit(profile);

	return unit && !strcmp(unit, "samples");
}

/*
 * Returns the main value's unit in ns; 0 if it is not a time, or if `most` units overflow 64 bits.
 */
static uint64_t unit_ns(const struct profile *profile, uint64_t most)
{
	const char *unit = amount_unit(profile);
	size_t i;

	for (i = 0; unit && i < ARRAY_SIZE(time_names); i++)
		if (!strcmp(unit, time_names[i].name))
			return most <= UINT64_MAX / time_names[i].ns ? time_names[i].ns : 0;
	return 0;
}

static uint64_t column_unit_ns(const struct profile *profile)
{
	return unit_ns(profile, profile_total(profile));
}

/*
 * Returns the unit if it adds information: it is neither "count" etc. nor the value's name. Else
 * NULL.
 */
static const char *foreign_unit(const struct profile *profile)
{
	const char *unit = amount_unit(profile);

	if (!unit || is_one_of(unit, count_names, ARRAY_SIZE(count_names)) ||
	    !strcmp(unit, amount_name(profile)))
		return NULL;
	return unit;
}

/*
 * Copies a unit, truncated, with terminal control characters replaced by `?`. Returns the buffer.
 */
static const char *clean_unit(const char *unit, char buffer[UNIT_BYTES])
{
	size_t nr = 0, i;

	for (i = 0; *unit && i < UNIT_COLUMNS; i++) {
		size_t bytes = text_character(unit);

		if (bytes)
			memcpy(buffer + nr, unit, bytes);
		else
			buffer[nr] = '?';
		nr += bytes ? bytes : 1;
		unit += bytes ? bytes : 1;
	}
	memcpy(buffer + nr, *unit ? ".." : "", *unit ? 3 : 1);
	return buffer;
}

static const struct time_unit *unit_of_total(uint64_t total)
{
	size_t i = 0;

	while (total < time_units[i].least_total)
		i++;
	return &time_units[i];
}

static const struct time_unit *unit_of_column(const struct profile *profile)
{
	size_t i = 0;

	while (profile_total(profile) * column_unit_ns(profile) < time_units[i].least_column)
		i++;
	return &time_units[i];
}

const char *amount_name(const struct profile *profile)
{
	return profile_value_name(profile, 0);
}

const char *amount_unit(const struct profile *profile)
{
	return profile_is_sum(profile) ? profile_value_unit(profile, 0) : NULL;
}

static void write_time(uint64_t total, char buffer[AMOUNT_BYTES])
{
	const struct time_unit *unit = unit_of_total(total);
	uint64_t thousandth = unit->ns > 1 ? unit->ns / 1000 : 1;
	uint64_t thousandths = total / thousandth + (total % thousandth > thousandth / 2);
	char number[NUMBER_COMMAS_BYTES];

	if (unit->ns == 1)
		(void)snprintf(buffer, AMOUNT_BYTES, "%" PRIu64 " ns of ", total);
	else
		(void)snprintf(buffer, AMOUNT_BYTES, "%s.%03u %s of ",
			       number_commas(number, thousandths / 1000),
			       (unsigned)(thousandths % 1000), unit->name);
}

static void write_sum(const struct profile *profile, const char *number, char buffer[AMOUNT_BYTES])
{
	const char *unit = foreign_unit(profile);
	char cleaned[UNIT_BYTES];

	if (is_samples(profile))
		(void)snprintf(buffer, AMOUNT_BYTES, "%s samples of ", number);
	else if (unit)
		(void)snprintf(buffer, AMOUNT_BYTES, "%s %s, the sum of ", number,
			       clean_unit(unit, cleaned));
	else
		(void)snprintf(buffer, AMOUNT_BYTES, "%s, the sum of ", number);
}

const char *amount_total(const struct profile *profile, uint64_t total, char buffer[AMOUNT_BYTES])
{
	struct value_scale scale = profile_scale(profile);
	uint64_t ns = unit_ns(profile, total);
	char number[NUMBER_COMMAS_BYTES];

	if (ns) {
		write_time(total * ns, buffer);
		return buffer;
	}
	if (scale.decimals) {
		(void)snprintf(buffer, AMOUNT_BYTES, "%s, the sum of ",
			       value_scale_text(number, total, scale));
		return buffer;
	}
	(void)number_commas(number, total);
	if (is_bytes(profile))
		(void)snprintf(buffer, AMOUNT_BYTES, "%s bytes of ", number);
	else if (profile_is_sum(profile))
		write_sum(profile, number, buffer);
	else
		(void)snprintf(buffer, AMOUNT_BYTES, "%s ", number);
	return buffer;
}

const char *amount_counted(const struct profile *profile, uint64_t total,
			   char buffer[AMOUNT_COUNTED_BYTES])
{
	const char *counted = amount_name(profile);
	size_t nr = strlen(counted);

	if (total != 1 || profile_is_sum(profile) || nr < 2 || nr > AMOUNT_COUNTED_BYTES ||
	    counted[nr - 1] != 's')
		return counted;
	memcpy(buffer, counted, nr - 1);
	buffer[nr - 1] = '\0';
	return buffer;
}

const char *amount_heading(const struct profile *profile)
{
	if (!profile_is_sum(profile))
		return amount_name(profile);
	if (column_unit_ns(profile))
		return unit_of_column(profile)->heading;
	if (is_samples(profile))
		return "samples";
	return is_bytes(profile) ? "sum, bytes" : "sum";
}

const char *amount_number(const struct profile *profile, uint64_t number,
			  char buffer[NUMBER_COMMAS_BYTES])
{
	struct value_scale scale = profile_scale(profile);
	uint64_t own_ns = column_unit_ns(profile);
	uint64_t ns = own_ns ? unit_of_column(profile)->ns : 1;

	if (scale.decimals)
		return value_scale_text(buffer, number, scale);
	number *= own_ns ? own_ns : 1;
	return number_commas(buffer, number / ns + (number % ns >= ns - ns / 2 && ns > 1));
}
