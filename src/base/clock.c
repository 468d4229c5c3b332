/* Local times are the C library's, which knows where the time zone has a gap. */
#include "base/clock.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/text.h"

#define NS_PER_DAY (86400 * NS_PER_SEC)

/* Digits and signs of a date or time: `0` stands for any digit. */
static bool has_form(const char *text, const char *form)
{
	for (; *form; text++, form++)
		if (*form == '0' ? *text < '0' || *text > '9' : *text != *form)
			return false;
	return !*text;
}

static int digits(const char *text, size_t nr)
{
	int number = 0;

	while (nr--)
		number = 10 * number + (*text++ - '0');
	return number;
}

/* "03:12" or "03:12:05". 0 or -EINVAL. */
static int parse_time_of_day(const char *text, struct tm *ret)
{
	if (!has_form(text, "00:00") && !has_form(text, "00:00:00"))
		return -EINVAL;
	ret->tm_hour = digits(text, 2);
	ret->tm_min = digits(text + 3, 2);
	ret->tm_sec = text[5] ? digits(text + 6, 2) : 0;
	return ret->tm_hour < 24 && ret->tm_min < 60 && ret->tm_sec < 60 ? 0 : -EINVAL;
}

/* "2026-11-23", with a time of day after a blank or a T. 0 or -EINVAL. */
static int parse_date(const char *text, struct tm *ret)
{
	char date[] = "0000-00-00";
	int err = 0;

	if (strlen(text) < sizeof(date) - 1)
		return -EINVAL;
	memcpy(date, text, sizeof(date) - 1);
	if (!has_form(date, "0000-00-00"))
		return -EINVAL;
	text += sizeof(date) - 1;
	if (*text == ' ' || *text == 'T')
		err = parse_time_of_day(text + 1, ret);
	else if (*text)
		err = -EINVAL;
	ret->tm_year = digits(date, 4) - 1900;
	ret->tm_mon = digits(date + 5, 2) - 1;
	ret->tm_mday = digits(date + 8, 2);
	return err;
}

static int finish(struct tm *time, bool is_utc, uint64_t *ret_ns)
{
	const struct tm wanted = *time;
	time_t seconds;

	time->tm_isdst = -1;
	seconds = is_utc ? timegm(time) : mktime(time);
	/* A 30th of February becomes a day of March. */
	if (seconds < 0 || (uint64_t)seconds > INT64_MAX / NS_PER_SEC ||
	    time->tm_mday != wanted.tm_mday || time->tm_mon != wanted.tm_mon)
		return -EINVAL;
	*ret_ns = (uint64_t)seconds * NS_PER_SEC;
	return 0;
}

static int parse_absolute(const char *text, uint64_t *ret_ns)
{
	char copy[] = "0000-00-00 00:00:00Z";
	size_t nr = strlen(text);
	struct tm time = {0};
	bool is_utc = nr && text[nr - 1] == 'Z';

	if (nr >= sizeof(copy))
		return -EINVAL;
	(void)strcpy(copy, text);
	if (is_utc)
		copy[nr - 1] = '\0';
	return parse_date(copy, &time) < 0 ? -EINVAL : finish(&time, is_utc, ret_ns);
}

/* The last time before `before_ns` that the clock showed this. */
static int parse_daily(const char *text, uint64_t before_ns, uint64_t *ret_ns)
{
	const time_t seconds = (time_t)(before_ns / NS_PER_SEC);
	struct tm of_day = {0}, time;
	int days, err = parse_time_of_day(text, &of_day);

	for (days = 0; days < 2 && !err; days++) {
		if (!localtime_r(&seconds, &time))
			return -EINVAL;
		time.tm_mday -= days;
		time.tm_hour = of_day.tm_hour;
		time.tm_min = of_day.tm_min;
		time.tm_sec = of_day.tm_sec;
		time.tm_isdst = -1;
		*ret_ns = (uint64_t)mktime(&time) * NS_PER_SEC;
		if (*ret_ns <= before_ns)
			return 0;
	}
	return -EINVAL;
}

int moment_parse_length(const char *text, uint64_t *ret_ns)
{
	static const struct {
		char letter;
		uint64_t days;
	} units[] = {{'d', 1}, {'w', 7}};
	char number[24];
	size_t nr = strlen(text), i;
	uint64_t count;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (!nr || text[nr - 1] != units[i].letter)
			continue;
		if (nr > sizeof(number))
			return -EINVAL;
		memcpy(number, text, nr - 1);
		number[nr - 1] = '\0';
		if (!has_form(number, "0") && !has_form(number, "00") && !has_form(number, "000"))
			return -EINVAL;
		count = (uint64_t)digits(number, nr - 1) * units[i].days;
		*ret_ns = count * NS_PER_DAY;
		return 0;
	}
	return number_parse_seconds(text, ret_ns) < 0 ? -EINVAL : 0;
}

int moment_parse(const char *text, uint64_t now_ns, uint64_t *ret_ns)
{
	uint64_t ns;

	if (!strcmp(text, "now")) {
		*ret_ns = now_ns;
		return 0;
	}
	if (*text == '-') {
		if (moment_parse_length(text + 1, &ns) < 0)
			return -EINVAL;
		*ret_ns = now_ns > ns ? now_ns - ns : 0;
		return 0;
	}
	if (*text == '@') {
		if (text[1 + strspn(text + 1, "0123456789.")] ||
		    number_parse_seconds(text + 1, ret_ns) < 0)
			return -EINVAL;
		return 0;
	}
	if (parse_daily(text, now_ns, ret_ns) == 0)
		return 0;
	return parse_absolute(text, ret_ns);
}

int moment_parse_range(const char *from, const char *to, uint64_t now_ns, uint64_t *ret_from_ns,
		       uint64_t *ret_to_ns)
{
	struct tm time;

	if (moment_parse(to, now_ns, ret_to_ns) < 0)
		return -EINVAL;
	if (parse_time_of_day(from, &time) == 0)
		return parse_daily(from, *ret_to_ns, ret_from_ns);
	return moment_parse(from, now_ns, ret_from_ns);
}

const char *moment_text(char text[MOMENT_BYTES], uint64_t time_ns)
{
	const time_t seconds = (time_t)(time_ns / NS_PER_SEC);
	struct tm local;

	*text = '\0';
	if (localtime_r(&seconds, &local))
		(void)strftime(text, MOMENT_BYTES, "%Y-%m-%d %H:%M:%S", &local);
	return text;
}
