/* The tables of subcommands, ours and those of other tools. A new one is a file of its own and a row here. */
#include "cmd/commands.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/closest.h"
#include "base/text.h"

static const struct command commands[] = {
	{"profile", cmd_profile, "sample stacks on a timer or a counter"},
	{"funccount", cmd_funccount, "count the calls of functions, by pattern"},
	{"stackcount", cmd_stackcount, "count the stacks that lead to a function or tracepoint"},
	{"tally", cmd_tally, "hits by key, with sums and histograms of arguments or latency"},
	{"report", cmd_report, "profiles as tables and trees, or in another format"},
	{"diff", cmd_diff, "what changed between two profiles, and how sure that is"},
	{"flame", cmd_flame, "draw profiles as a flame graph"},
	{"symbolize", cmd_symbolize, "name here what was recorded elsewhere without names"},
	{"completion", cmd_completion, "what shells need to complete its command lines"},
};

const struct command *command_get(size_t i)
{
	return i < ARRAY_SIZE(commands) ? &commands[i] : NULL;
}

const struct command *command_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	return NULL;
}

/* --- commands that are not there --------------------------------------------------------------- */

#define OFF_CPU                                                                             \
	"time off the CPU is not measured; 'stook stackcount t:sched:sched_switch' counts " \
	"who goes to sleep, and where"
#define DRAWS "'stook flame IN -o OUT.svg' draws folded stacks and what 'perf script' prints"

/* Subcommands of perf, bcc's tools and scripts around them, with the nearest thing that there is. */
static const struct {
	const char *name, *hint;
} elsewhere[] = {
	{"annotate", "'stook profile --lines' shows source lines, 'stook report -s function,line' "
		     "sums up by them"},
	{"archive", "'stook profile --no-symbols -o raw.pb.gz' here, 'stook symbolize' elsewhere"},
	{"argdist", "'stook tally FUNCTION --by arg1', or --value arg1 --hist"},
	{"bpftrace", "'stook tally' has keys, values and conditions for probes"},
	{"convert", "'stook report IN -o OUT' writes the format that OUT ends in"},
	{"difffolded", "'stook diff BEFORE AFTER', with -f for flamegraph.pl"},
	{"export", "'stook report IN -o OUT' writes the format that OUT ends in"},
	{"flamegraph", DRAWS},
	{"funclatency", "'stook tally FUNCTION --value latency --hist'"},
	{"funcslower", "stook tally FUNCTION --value latency --where 'latency > 10ms'"},
	{"heatmap", "'stook profile --timeline 1 -o OUT.html' has a timeline"},
	{"list", "'stook funccount -l PATTERN' lists what can be probed"},
	{"memleak", "'stook stackcount c:malloc --weight arg1' shows who allocates how many bytes"},
	{"off-cpu", OFF_CPU},
	{"offcpu", OFF_CPU},
	{"offcputime", OFF_CPU},
	{"offwaketime", OFF_CPU},
	{"probe", "nothing is to be defined first: 'stook funccount PATTERN' counts calls, 'stook "
		  "tally' their arguments"},
	{"record",
	 "'stook profile -o OUT.pb.gz 10' takes a profile, 'stook report' shows it again"},
	{"runqlat", "time in the run queue is not measured; 'stook stackcount "
		    "t:sched:sched_switch' counts who goes to sleep, and where"},
	{"sched", OFF_CPU},
	{"script", "'stook report IN --format perf' prints what 'perf script' would"},
	{"stackcollapse", DRAWS ", so that nothing need be collapsed"},
	{"stackcollapse-perf", DRAWS ", so that nothing need be collapsed"},
	{"stat", "counters are not shown by themselves; 'stook profile -e EVENT' samples on one"},
	{"syscount", "stook funccount 't:syscalls:sys_enter_*'"},
	{"top", "'stook profile -i 2' prints a report every two seconds"},
	{"trace", "events are not printed one by one; 'stook funccount' counts them, 'stook tally' "
		  "by their arguments"},
	{"wakeuptime", OFF_CPU},
};

/* "offcputime-bpfcc" and "flamegraph.pl" without their ends. */
static size_t bytes_of_name(const char *name)
{
	static const char *const ends[] = {"-bpfcc", ".bt", ".pl", ".py"};
	size_t bytes = strlen(name), i;

	for (i = 0; i < ARRAY_SIZE(ends); i++)
		if (text_ends_with(name, bytes, ends[i]))
			return bytes - strlen(ends[i]);
	return bytes;
}

static void hint_near(const char *name, struct error *error)
{
	const char *names[CLOSEST_NAMES];
	struct closest closest;
	size_t nr, i;

	closest_init(&closest, name);
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		closest_offer(&closest, commands[i].name);
	nr = closest_names(&closest, names);
	if (nr == 1)
		error_hint(error, "did you mean '%s'?", names[0]);
	else if (nr > 1)
		error_hint(error, "did you mean '%s' or '%s'?", names[0], names[1]);
	else
		error_hint(error, "'stook --help' lists the commands");
	closest_clear(&closest);
}

void command_explain(const char *name, struct error *error)
{
	size_t bytes = bytes_of_name(name), i;

	(void)error_set(error, -EINVAL, "no command '%s'", name);
	for (i = 0; i < ARRAY_SIZE(elsewhere); i++)
		if (strlen(elsewhere[i].name) == bytes && !strncmp(elsewhere[i].name, name, bytes))
			break;
	if (i < ARRAY_SIZE(elsewhere))
		error_hint(error, "%s", elsewhere[i].hint);
	else if (name[0] == '-' || isdigit((unsigned char)name[0]))
		error_hint(error, "a command comes first: stook profile %s", name);
	else
		hint_near(name, error);
}
