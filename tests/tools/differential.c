/*
 * Compares the walk by unwind tables with other unwinders, on live processes:
 *
 *	$ differential -n 300 $(pidof redis-server)
 *	300 stops, 300 the same (0 by gdb), 0 cut short, 0 different
 *	     300  ended complete
 *
 * At random instants a random thread of the given processes, or of their descendants, is stopped.
 * Its registers and stack make a raw record, which src/collect walks in user space: the tables, the
 * lookup and the step are the same as in the kernel. While the thread is stopped, elfutils' libdwfl
 * walks it, too. The lists of frames must be equal. If they are not, gdb walks it as well, up to a
 * limit, and both lists are printed: `the same by gdb` counts stacks where gdb agrees with stook
 * and not with libdwfl.
 *
 * -d DIR saves stacks that were equal, for tests/unit/test_replay.c (saved_stack.h).
 */
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "collect/unwind/unwinder.h"
#include "judges.h"
#include "proc/process_table.h"
#include "run/run.h"
#include "saved_stack.h"
#include "stopped_thread.h"
#include "tests/unit/look_here.h"

#define MAX_REASONS	 64
#define MAX_REASON_BYTES 200
#define MAX_PIDS	 64
#define MAX_TABLE_BYTES	 (512ULL << 20)
#define MAX_FILES	 4096
#define MAX_PRINTED	 40 /* differences printed with both lists */
#define SLEEPER_CHANCE	 16 /* 1 of this many chosen threads may be asleep */
#define MAX_IDLE_TRIES	 20000

struct options {
	uint64_t nr_stops, seconds, mean_us, stack_bytes, nr_gdb, nr_saved, seed;
	const char *save_folder;
	pid_t pids[MAX_PIDS];
	size_t nr_pids;
};

enum outcome { SAME, SAME_BY_GDB, ONE_MORE, CUT, DIFFERENT, NR_OUTCOMES };

struct reason {
	char text[MAX_REASON_BYTES];
	uint64_t nr;
};

struct comparison {
	struct options options;
	struct file_table *files;
	struct worker *worker;
	struct unwinder *unwinder;
	struct stopped_thread thread;
	struct user_stack ours;
	struct frame_list dwfl, gdb;
	struct saved_stack saved;
	uint64_t nr[NR_OUTCOMES], nr_ends[NR_WALK_ENDS];
	uint64_t nr_gone, nr_gdb, nr_saved;
	struct reason reasons[MAX_REASONS];
	size_t nr_reasons;
};

/* --- lists ----------------------------------------------------------------------------------- */

/* Returns the number of equal frames at the start of both lists. */
static size_t common_frames(const struct user_stack *ours, const struct frame_list *theirs)
{
	size_t nr = ours->nr < theirs->nr ? ours->nr : theirs->nr, i;

	for (i = 0; i < nr && ours->frames[i] == theirs->frames[i]; i++)
		;
	return i;
}

static bool is_equal(const struct user_stack *ours, const struct frame_list *theirs)
{
	return ours->nr == theirs->nr && common_frames(ours, theirs) == ours->nr;
}

/* True if the record was full or the frame limit was reached, and all frames so far are equal. */
static bool is_cut(const struct user_stack *ours, const struct frame_list *theirs)
{
	return ours->end == WALK_TRUNCATED && common_frames(ours, theirs) == ours->nr;
}

/*
 * In code without CFI, libdwfl follows the frame pointer, which skips the caller of a function that
 * has not set up its own frame yet: then libdwfl has all of our frames except the second.
 */
static bool lacks_the_caller(const struct user_stack *ours, const struct frame_list *theirs)
{
	return theirs->nr > 1 && ours->nr == theirs->nr + 1 &&
	       ours->frames[0] == theirs->frames[0] &&
	       memcmp(ours->frames + 2, theirs->frames + 1,
		      (theirs->nr - 1) * sizeof(theirs->frames[0])) == 0;
}

/* Names a frame as file+offset, or as an address if it is in no file. */
static void name_frame(const struct comparison *c, const struct mappings *mappings,
		       uint64_t address, char *ret, size_t nr)
{
	const struct mapping *mapping = mappings_find(mappings, address - 1);
	const char *path = "anonymous", *base;

	if (!mapping) {
		snprintf(ret, nr, "%#" PRIx64, address);
		return;
	}
	if (mapping->kind == MAPPING_VDSO)
		path = "vdso";
	else if (mapping->kind == MAPPING_FILE)
		path = file_table_get(c->files, mapping->file)->path;
	base = strrchr(path, '/');
	snprintf(ret, nr, "%s+%#" PRIx64, base ? base + 1 : path,
		 address - mapping->start + mapping->offset);
}

static void print_row(const struct comparison *c, const struct mappings *mappings, size_t i,
		      const struct frame_list *theirs)
{
	uint64_t our = i < c->ours.nr ? c->ours.frames[i] : 0;
	uint64_t their = i < theirs->nr ? theirs->frames[i] : 0;
	char our_name[120] = "-", their_name[120] = "-";

	if (our)
		name_frame(c, mappings, our, our_name, sizeof(our_name));
	if (their)
		name_frame(c, mappings, their, their_name, sizeof(their_name));
	printf("    %c %3zu  %-46s %-46s\n", our == their ? ' ' : '!', i, our_name, their_name);
}

/* Prints the frames around the first difference. */
static void print_difference(const struct comparison *c, const struct mappings *mappings,
			     const struct frame_list *theirs, const char *judge)
{
	size_t common = common_frames(&c->ours, theirs);
	size_t first = common > 12 ? common - 12 : 0, i;
	size_t last = c->ours.nr > theirs->nr ? c->ours.nr : theirs->nr;

	if (last > common + 12)
		last = common + 12;
	printf("  thread %d of %d, %u words from %#" PRIx64
	       ": stook %u frames, %s; %s %zu frames, %s\n",
	       c->thread.tid, c->thread.pid, c->thread.record.nr_user - WIRE_RAW_HEAD,
	       c->thread.words[UNWIND_REG_SP], c->ours.nr, walk_end_names[c->ours.end], judge,
	       theirs->nr, theirs->end);
	for (i = first; i < last; i++)
		print_row(c, mappings, i, theirs);
}

/* --- comparing ------------------------------------------------------------------------------- */

static void count_reason(struct comparison *c, const char *text)
{
	size_t i;

	for (i = 0; i < c->nr_reasons && strcmp(c->reasons[i].text, text) != 0; i++)
		;
	if (i == MAX_REASONS)
		i--;
	else if (i == c->nr_reasons)
		snprintf(c->reasons[c->nr_reasons++].text, MAX_REASON_BYTES, "%s", text);
	c->reasons[i].nr++;
}

static const char *side_of_gdb(const struct comparison *c, enum outcome outcome)
{
	if (outcome == SAME_BY_GDB || is_cut(&c->ours, &c->gdb))
		return "gdb agrees with stook";
	if (c->gdb.nr == c->dwfl.nr &&
	    memcmp(c->gdb.frames, c->dwfl.frames, c->gdb.nr * sizeof(c->gdb.frames[0])) == 0)
		return "gdb agrees with libdwfl";
	return "gdb with neither";
}

/* Counts the kind of difference: which walk stopped, and the file of the last common frame. */
static void explain(struct comparison *c, const struct mappings *mappings, enum outcome outcome,
		    bool has_gdb)
{
	size_t common = common_frames(&c->ours, &c->dwfl);
	const char *who = "they part", *gdb = "gdb was not asked";
	char file[120] = "the innermost frame", text[MAX_REASON_BYTES];

	if (common == c->ours.nr)
		who = "stook stops";
	else if (common == c->dwfl.nr)
		who = "libdwfl stops";
	if (common)
		name_frame(c, mappings, c->ours.frames[common - 1], file, sizeof(file));
	file[strcspn(file, "+")] = '\0';
	if (has_gdb)
		gdb = side_of_gdb(c, outcome);
	snprintf(text, sizeof(text), "%s in %.60s: stook %s, libdwfl %.60s, %s", who, file,
		 walk_end_names[c->ours.end], c->dwfl.end, gdb);
	count_reason(c, text);
}

/* Drops the last frames of a failed walk that are not in code. */
static void drop_strays(struct frame_list *list, const struct mappings *mappings)
{
	while (!list->is_whole && list->nr > 1 &&
	       !mappings_find(mappings, list->frames[list->nr - 1] - 1))
		list->nr--;
}

/* Releases the thread to gdb. Returns false if the thread has moved or gdb failed. */
static bool ask_gdb(struct comparison *c, const struct mappings *mappings)
{
	c->nr_gdb++;
	freeze_process(&c->thread);
	judge_by_gdb(c->thread.pid, c->thread.tid, &c->gdb);
	thaw_process(&c->thread);
	drop_strays(&c->gdb, mappings);
	return c->gdb.nr && c->gdb.frames[0] == c->ours.frames[0];
}

/* Compares the walks and releases the thread. */
static enum outcome judge(struct comparison *c, const struct mappings *mappings)
{
	enum outcome outcome = DIFFERENT;
	bool has_gdb = false;

	if (is_equal(&c->ours, &c->dwfl))
		outcome = SAME;
	else if (is_cut(&c->ours, &c->dwfl))
		outcome = CUT;
	else if (lacks_the_caller(&c->ours, &c->dwfl))
		outcome = ONE_MORE;
	if (outcome != DIFFERENT || c->nr_gdb >= c->options.nr_gdb) {
		release_thread(&c->thread);
	} else {
		has_gdb = ask_gdb(c, mappings);
		if (has_gdb && is_equal(&c->ours, &c->gdb))
			outcome = SAME_BY_GDB;
	}
	if (outcome == SAME || outcome == CUT || outcome == ONE_MORE)
		return outcome;
	explain(c, mappings, outcome, has_gdb);
	if (c->nr[SAME_BY_GDB] + c->nr[DIFFERENT] < MAX_PRINTED) {
		print_difference(c, mappings, &c->dwfl, "libdwfl");
		if (has_gdb && outcome == DIFFERENT)
			print_difference(c, mappings, &c->gdb, "gdb");
	}
	return outcome;
}

/* --- one stop -------------------------------------------------------------------------------- */

/* Returns 0 or a negative errno. Builds missing tables while the thread is stopped. */
static int walk(struct comparison *c, const struct mappings *mappings)
{
	int err;

	while ((err = unwinder_walk(c->unwinder, &c->thread.record, mappings, &c->ours)) ==
	       -EAGAIN) {
		struct pollfd made = {.fd = worker_fd(c->worker), .events = POLLIN};

		(void)poll(&made, 1, 1000);
		(void)unwinder_poll(c->unwinder);
	}
	return err;
}

/* Saves libdwfl's frames and our record of the same walk. */
static void keep(struct comparison *c, const struct mappings *mappings)
{
	char path[4096];

	if (c->saved.nr_frames != c->dwfl.nr ||
	    memcmp(c->saved.frames, c->dwfl.frames, c->dwfl.nr * sizeof(c->dwfl.frames[0])) != 0)
		return;
	snprintf(path, sizeof(path), "%s/%d-%" PRIu64 ".txt", c->options.save_folder, c->thread.pid,
		 c->nr_saved);
	if (saved_stack_write(&c->saved, path, c->thread.words, mappings, c->files) < 0)
		fprintf(stderr, "differential: '%s' can't be written\n", path);
	else
		c->nr_saved++;
}

static int compare_stopped(struct comparison *c, struct process_table *processes)
{
	bool is_saving = c->options.save_folder && c->nr_saved < c->options.nr_saved;
	const struct mappings *mappings;
	enum outcome outcome;

	if (!processes ||
	    process_table_ensure(processes, c->thread.pid, NULL, clock_now_ns()) < 0 ||
	    look_here(c->files, processes) < 0)
		return -ENOMEM;
	mappings = process_table_mappings(processes, c->thread.pid, NULL, clock_now_ns());
	if (!mappings || read_thread(&c->thread, c->options.stack_bytes) < 0 ||
	    walk(c, mappings) < 0)
		return -ESRCH;
	judge_by_dwfl(c->thread.pid, c->thread.tid, &c->dwfl);
	if (!c->dwfl.nr)
		return -ESRCH; /* killed, or in the middle of an exec */
	drop_strays(&c->dwfl, mappings);
	if (is_saving)
		is_saving = saved_stack_walk(&c->saved, &c->thread, mappings, c->files) == 0;
	outcome = judge(c, mappings);
	c->nr[outcome]++;
	c->nr_ends[c->ours.end]++;
	if (is_saving)
		keep(c, mappings);
	return 0;
}

static void compare_thread(struct comparison *c, pid_t pid, pid_t tid)
{
	struct process_table *processes;
	int err = stop_thread(&c->thread, pid, tid);

	if (err == -ETIMEDOUT) {
		fprintf(stderr, "differential: thread %d does not stop\n", tid);
		exit(1); /* releases it, whenever it stops */
	}
	if (err < 0) {
		c->nr_gone++;
		return;
	}
	processes = process_table_new(c->files); /* a new one: changed maps are not reported */
	if (compare_stopped(c, processes) < 0) {
		release_thread(&c->thread);
		c->nr_gone++;
	}
	process_table_free(processes);
}

/* --- all stops ------------------------------------------------------------------------------- */

static uint64_t nr_stops(const struct comparison *c)
{
	return c->nr[SAME] + c->nr[SAME_BY_GDB] + c->nr[ONE_MORE] + c->nr[CUT] + c->nr[DIFFERENT];
}

static void run(struct comparison *c)
{
	uint64_t end_ns = clock_now_ns() + c->options.seconds * NS_PER_SEC;
	unsigned tries = 0;

	while (nr_stops(c) < c->options.nr_stops && clock_now_ns() < end_ns &&
	       tries++ < MAX_IDLE_TRIES) {
		pid_t root = c->options.pids[(size_t)random() % c->options.nr_pids];
		pid_t pid = choose_process(root);
		pid_t tid = choose_thread(pid, random() % SLEEPER_CHANCE == 0);
		double wait_us = -log(drand48() + 1e-9) * (double)c->options.mean_us;

		if (tid) {
			compare_thread(c, pid, tid);
			tries = 0;
		}
		usleep((useconds_t)(tid ? wait_us : wait_us / 8));
		fflush(stdout);
	}
}

static void print_sums(const struct comparison *c)
{
	size_t i;

	printf("%" PRIu64 " stops, %" PRIu64 " the same (%" PRIu64 " by gdb), %" PRIu64
	       " cut short, %" PRIu64 " different\n",
	       nr_stops(c), c->nr[SAME] + c->nr[SAME_BY_GDB] + c->nr[ONE_MORE], c->nr[SAME_BY_GDB],
	       c->nr[CUT], c->nr[DIFFERENT]);
	for (i = 0; i < NR_WALK_ENDS; i++)
		if (c->nr_ends[i])
			printf("  %6" PRIu64 "  ended %s\n", c->nr_ends[i], walk_end_names[i]);
	for (i = 0; i < c->nr_reasons; i++)
		printf("  %6" PRIu64 "  %s\n", c->reasons[i].nr, c->reasons[i].text);
	if (c->nr[ONE_MORE])
		printf("  %6" PRIu64 "  have the caller that libdwfl leaves out\n",
		       c->nr[ONE_MORE]);
	if (c->nr_gone)
		printf("  %6" PRIu64 "  were gone before they could be read\n", c->nr_gone);
}

static bool parse_number(const char *text, uint64_t *ret)
{
	return number_parse(text, UINT32_MAX, ret) == 0;
}

static bool parse_options(struct options *o, int argc, char **argv)
{
	bool understood = true;
	uint64_t pid;
	int option;

	while ((option = getopt(argc, argv, "n:t:w:s:g:d:k:r:")) != -1) {
		switch (option) {
		case 'n':
			understood &= parse_number(optarg, &o->nr_stops);
			break;
		case 't':
			understood &= parse_number(optarg, &o->seconds);
			break;
		case 'w':
			understood &= parse_number(optarg, &o->mean_us);
			break;
		case 's':
			understood &= parse_number(optarg, &o->stack_bytes);
			break;
		case 'g':
			understood &= parse_number(optarg, &o->nr_gdb);
			break;
		case 'k':
			understood &= parse_number(optarg, &o->nr_saved);
			break;
		case 'r':
			understood &= parse_number(optarg, &o->seed);
			break;
		case 'd':
			o->save_folder = optarg;
			break;
		default:
			return false;
		}
	}
	for (; optind < argc && o->nr_pids < MAX_PIDS; optind++) {
		understood &= parse_number(argv[optind], &pid);
		o->pids[o->nr_pids++] = (pid_t)pid;
	}
	return understood && o->nr_pids && optind == argc;
}

int main(int argc, char **argv)
{
	static struct comparison c = {
		.options = {.nr_stops = 300,
			    .seconds = 3600,
			    .mean_us = 3000,
			    .stack_bytes = MAX_STACK_WORDS * 8,
			    .nr_gdb = 20,
			    .nr_saved = 20,
			    .seed = 1},
	};
	struct unwinder_options options = {
		.max_bytes = MAX_TABLE_BYTES,
		.max_frames = WIRE_MAX_USER_FRAMES,
	};
	struct error error = {0};
	int status = worker_main(argc, argv, run_tasks, NR_TASKS);

	if (status >= 0)
		return status;
	if (!parse_options(&c.options, argc, argv)) {
		fprintf(stderr, "usage: differential [-n STOPS] [-t SECONDS] [-w MEAN-WAIT-US]\n"
				"       [-s STACK-BYTES] [-g ASK-GDB-AT-MOST] [-r SEED] [-d FOLDER "
				"[-k KEEP]] PID...\n");
		return 2;
	}
	srandom((unsigned)c.options.seed);
	srand48((long)c.options.seed);
	c.files = options.files = file_table_new(MAX_FILES);
	c.worker = options.worker = worker_new(&error);
	c.unwinder = c.files && c.worker ? unwinder_new(&options, &error) : NULL;
	if (!c.unwinder) {
		fprintf(stderr, "differential: %s\n", error.text);
		return 1;
	}
	run(&c);
	print_sums(&c);
	unwinder_free(c.unwinder);
	worker_free(c.worker);
	file_table_free(c.files);
	return nr_stops(&c) ? 0 : 1;
}
