/* See diff_cells.h. More is red and less is blue, as in flame graphs; what may be chance is grey. */
#include "format/text/diff_cells.h"

#include <math.h>
#include <string.h>

#include "format/text/columns.h"

#define RELATIVE_BYTES 16
#define NARROW_WIDTH   80 /* below it there is no room for errors and relative changes */
#define MAX_SIGMA      1000
#define MAX_PERCENT    10000 /* relative changes beyond it are told as a factor */

static const char *const colors[] = {
	[CHANGE_NONE] = "\033[90m",  [CHANGE_MORE] = "\033[31m",   [CHANGE_LESS] = "\033[94m",
	[CHANGE_NEW] = "\033[1;31m", [CHANGE_GONE] = "\033[1;94m",
};

const char *diff_cells_kind(enum change kind)
{
	static const char *const names[] = {
		[CHANGE_NONE] = "",   [CHANGE_MORE] = "more", [CHANGE_LESS] = "less",
		[CHANGE_NEW] = "new", [CHANGE_GONE] = "gone",
	};

	return names[kind];
}

double diff_cells_number(const struct difference_scale *scale, double number)
{
	return scale->by_time ? number : 100 * number;
}

static bool is_narrow(const struct diff_terminal *terminal)
{
	return terminal->width < NARROW_WIDTH;
}

bool diff_cells_have_errors(const struct diff_terminal *terminal)
{
	return !is_narrow(terminal);
}

size_t diff_cells_columns(const struct diff_terminal *terminal)
{
	return is_narrow(terminal) ? 34 : 51;
}

void diff_cells_write_head(const struct diff_terminal *terminal)
{
	if (is_narrow(terminal))
		(void)fprintf(terminal->out, "%8s %8s %7s %6s", "BEFORE", "AFTER", "CHANGE",
			      "SIGMA");
	else
		(void)fprintf(terminal->out, "%8s %8s %16s %6s %7s", "BEFORE", "AFTER", "CHANGE",
			      "SIGMA", "REL");
	columns_pad(terminal->out, 2);
}

/* Digits behind the point that the error leaves a meaning, of what fits into seven columns. */
static int digits_of(double size, double error)
{
	if (size >= 1000)
		return size < 10000 ? 1 : 0;
	if (error >= 0.01 || error <= 0 || size >= 100)
		return 2;
	return error >= 0.001 || size >= 10 ? 3 : 4;
}

static void write_number(FILE *out, double number, double error, bool with_sign, const char *unit)
{
	int digits = digits_of(fabs(number), error);

	if (fabs(number) >= 1e6)
		(void)fprintf(out, with_sign ? "%+7.1e%s" : "%7.1e%s", number, unit);
	else
		(void)fprintf(out, with_sign ? "%+7.*f%s" : "%7.*f%s", digits, number, unit);
}

static const char *relative(const struct difference *difference, char buffer[RELATIVE_BYTES])
{
	double percent;

	if (difference->before <= 0)
		return difference->after > 0 ? "NEW" : "";
	if (difference->after <= 0)
		return "GONE";
	percent = 100 * difference->change / difference->before;
	if (percent < MAX_PERCENT)
		(void)snprintf(buffer, RELATIVE_BYTES, "%+.0f%%", percent);
	else
		(void)snprintf(buffer, RELATIVE_BYTES, "x%.0f",
			       difference->after / difference->before);
	return buffer;
}

/* With as many digits as the foot has of the one that decides. */
static void write_sigma(FILE *out, double sigma)
{
	if (sigma >= MAX_SIGMA)
		(void)fprintf(out, " %6.0e", sigma);
	else
		(void)fprintf(out, " %6.2f", sigma);
}

static void write_cells(const struct diff_terminal *terminal, const struct difference_scale *scale,
			const struct difference *difference, bool with_sigma)
{
	const char *unit = scale->by_time ? " " : "%";
	double error = diff_cells_number(scale, difference->error);
	char buffer[RELATIVE_BYTES];
	FILE *out = terminal->out;

	if (terminal->color)
		(void)fputs(colors[difference->kind], out);
	write_number(out, diff_cells_number(scale, difference->before), error, false, unit);
	(void)putc(' ', out);
	write_number(out, diff_cells_number(scale, difference->after), error, false, unit);
	(void)putc(' ', out);
	write_number(out, diff_cells_number(scale, difference->change), error, true, "");
	if (!is_narrow(terminal)) {
		(void)fputs(terminal->ascii ? "+-" : " ±", out);
		write_number(out, error, error, false, "");
	}
	if (with_sigma)
		write_sigma(out, difference->sigma);
	else
		columns_pad(out, 7);
	if (!is_narrow(terminal))
		(void)fprintf(out, " %7s", relative(difference, buffer));
	columns_pad(out, 2);
}

void diff_cells_write(const struct diff_terminal *terminal, const struct difference_scale *scale,
		      const struct difference *difference)
{
	write_cells(terminal, scale, difference, true);
}

void diff_cells_write_sum(const struct diff_terminal *terminal,
			  const struct difference_scale *scale, const struct difference *difference)
{
	write_cells(terminal, scale, difference, false);
}

void diff_cells_end(const struct diff_terminal *terminal)
{
	(void)fputs(terminal->color ? "\033[0m\n" : "\n", terminal->out);
}
