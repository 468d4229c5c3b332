/*
 * The tables of our subcommands and of other tools' commands. A new subcommand is a file and a row
 * here.
 */
#include "cmd/commands.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/closest.h"
#include "base/text.h"

static const struct command commands[] = {
	{"profile", cmd_profile, "sample stacks on a timer or a counter"},
	{"funccount", cmd_funccount, "count function calls, by pattern"},
	{"stackcount", cmd_stackcount, "count the stacks that lead to a function or tracepoint"},
	{"tally", cmd_tally, "count hits by key, with sums and histograms of arguments or latency"},
	{"stat", cmd_stat, "count events, in total or per CPU, core, thread or cgroup"},
	{"sched", cmd_sched, "show for how long tasks ran, and waited for a CPU"},
	{"agent", cmd_agent, "sample the whole host without end, and keep the profiles"},
	{"report", cmd_report, "print profiles as tables and trees, or convert them"},
	{"query", cmd_query, "show what a store of continuous profiles has of a time"},
	{"serve", cmd_serve, "serve a store of continuous profiles: a page and an API"},
	{"open", cmd_open,
	 "print a link to the page of a server behind a socket, and keep it open"},
	{"diff", cmd_diff, "compare two profiles, with statistical significance"},
	{"flame", cmd_flame, "draw profiles as a flame graph"},
	{"list", cmd_list, "list the events that this host has"},
	{"doctor", cmd_doctor, "find out what works on this host, what does not, and why"},
	{"symbolize", cmd_symbolize, "add symbols to a profile recorded on another machine"},
	{"completion", cmd_completion, "print the completion script for a shell"},
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

/* --- commands of other tools ------------------------------------------------------------------ */

#define OFF_CPU "'stook profile --off-cpu' shows where threads wait; --wall, also where they run"
#define LOCKS	"'stook profile --locks' shows waits for locks, by kind and stack"
#define DRAWS	"'stook flame IN -o OUT.svg' draws folded stacks and what 'perf script' prints"

/* Commands of perf, bcc and related scripts, with the nearest thing that stook has. */
static const struct {
	const char *name, *hint;
} elsewhere[] = {
	{"annotate", "'stook profile --lines' shows source lines, 'stook report -s function,line' "
		     "groups by them"},
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
	{"klockstat", LOCKS},
	{"lock", LOCKS},
	{"memleak", "'stook stackcount c:malloc --weight arg1' shows allocated bytes by stack"},
	{"off-cpu", OFF_CPU},
	{"offcpu", OFF_CPU},
	{"offcputime", OFF_CPU},
	{"offwaketime",
	 "'stook profile --off-cpu --wakers' shows where threads wait, and who wakes them"},
	{"probe",
	 "probes need not be defined first: 'stook funccount PATTERN' counts calls, 'stook "
	 "tally' their arguments"},
	{"record", "'stook profile -o OUT.pb.gz 10' records a profile, 'stook report' prints it"},
	{"runqlat", "'stook sched --hist'; --by pid, tid, comm, cgroup or cpu has one for each"},
	{"runqlen", "'stook sched --by cpu' shows how long tasks waited for each CPU"},
	{"runqslower", "'stook sched --timehist --min-us 10000'"},
	{"script", "'stook report IN --format perf' prints what 'perf script' would"},
	{"stackcollapse", DRAWS "; stacks need not be collapsed first"},
	{"stackcollapse-perf", DRAWS "; stacks need not be collapsed first"},
	{"syscount", "stook funccount 't:syscalls:sys_enter_*'"},
	{"top", "'stook profile -i 2' prints a report every two seconds"},
	{"trace", "events are not printed one by one; 'stook funccount' counts them, 'stook tally' "
		  "by their arguments"},
	{"wakeuptime", OFF_CPU},
};

/* Returns the length of name without endings like those of "offcputime-bpfcc", "flamegraph.pl". */
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
		error_hint(error, "the command is missing: stook profile %s", name);
	else
		hint_near(name, error);
}
