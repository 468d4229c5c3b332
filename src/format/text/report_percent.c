/* See report_percent.h. The limits are those of perf report, whose users know what they mean. */
#include "format/text/report_percent.h"

#define RED_PERCENT   5.0
#define GREEN_PERCENT 0.5

#define RED    "\033[31m"
#define GREEN  "\033[32m"
#define NORMAL "\033[m"

void report_percent_write(FILE *out, double percent, bool color)
{
	bool is_heavy = color && percent >= GREEN_PERCENT;

	if (is_heavy)
		(void)fputs(percent >= RED_PERCENT ? RED : GREEN, out);
	(void)fprintf(out, "%5.1f%%", percent);
	if (is_heavy)
		(void)fputs(NORMAL, out);
}
