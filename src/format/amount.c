/* See amount.h. The unit of a column of times is such that the total has four digits or more. */
#include "format/amount.h"

#include <inttypes.h>
#include <string.h>

#include "format/folded_scale.h"
#include "format/report_rows.h"

/* The first one of which there is enough is taken. */
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

static bool is_unit(const struct profile *profile, const char *name)
{
	const char *unit = amount_unit(profile);

	return unit && !strcmp(unit, name);
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

	while (profile_total(profile) < time_units[i].least_column)
		i++;
	return &time_units[i];
}

const char *amount_unit(const struct profile *profile)
{
	uint32_t unit = profile_origin(profile)->counted.unit;

	return unit ? profile_string(profile, unit) : NULL;
}

static void write_time(uint64_t total, char buffer[AMOUNT_BYTES])
{
	const struct time_unit *unit = unit_of_total(total);
	uint64_t thousandth = unit->ns > 1 ? unit->ns / 1000 : 1;
	uint64_t thousandths = total / thousandth + (total % thousandth > thousandth / 2);
	char number[COLUMNS_NUMBER_BYTES];

	if (unit->ns == 1)
		(void)snprintf(buffer, AMOUNT_BYTES, "%" PRIu64 " ns of ", total);
	else
		(void)snprintf(buffer, AMOUNT_BYTES, "%s.%03u %s of ",
			       columns_number(number, thousandths / 1000),
			       (unsigned)(thousandths % 1000), unit->name);
}

const char *amount_total(const struct profile *profile, uint64_t total, char buffer[AMOUNT_BYTES])
{
	char number[COLUMNS_NUMBER_BYTES];
	const char *what = " ";

	struct folded_scale scale = folded_scale_of(profile);

	if (is_unit(profile, "nanoseconds")) {
		write_time(total, buffer);
		return buffer;
	}
	if (scale.decimals) {
		(void)snprintf(buffer, AMOUNT_BYTES, "%s, the sum of ",
			       folded_scale_text(number, total, scale));
		return buffer;
	}
	if (is_unit(profile, "bytes"))
		what = " bytes of ";
	else if (profile_is_sum(profile))
		what = ", the sum of ";
	(void)snprintf(buffer, AMOUNT_BYTES, "%s%s", columns_number(number, total), what);
	return buffer;
}

const char *amount_counted(const struct profile *profile, uint64_t total,
			   char buffer[AMOUNT_COUNTED_BYTES])
{
	const char *counted = report_rows_counted(profile);
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
		return report_rows_counted(profile);
	if (is_unit(profile, "nanoseconds"))
		return unit_of_column(profile)->heading;
	return is_unit(profile, "bytes") ? "sum, bytes" : "sum";
}

const char *amount_number(const struct profile *profile, uint64_t number,
			  char buffer[COLUMNS_NUMBER_BYTES])
{
	uint64_t ns = is_unit(profile, "nanoseconds") ? unit_of_column(profile)->ns : 1;
	struct folded_scale scale = folded_scale_of(profile);

	if (scale.decimals)
		return folded_scale_text(buffer, number, scale);
	return columns_number(buffer, number / ns + (number % ns >= ns - ns / 2 && ns > 1));
}
