/* Two writers of stints. Both write at once and keep none; a trace remembers which names it has. */
#include "format/text/stints.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "format/text/json.h"

/* --- lines ------------------------------------------------------------------------------------ */

#define TASK_COLUMNS 30

void timehist_write_heading(FILE *out)
{
	fputs("           time    cpu  task name                       wait time  sch delay   run "
	      "time  state\n"
	      "                        [tid/pid]                          (msec)     (msec)     "
	      "(msec)\n"
	      "--------------- ------  ------------------------------  ---------  ---------  "
	      "---------  -----\n",
	      out);
}

static void write_task(FILE *out, const struct sched_stint *stint)
{
	char name[SCHED_COMM_BYTES + 1] = "", task[SCHED_COMM_BYTES + 32];

	memcpy(name, stint->comm, SCHED_COMM_BYTES);
	if (!stint->tid && !stint->state)
		(void)snprintf(task, sizeof(task), "<idle>");
	else if (stint->tid == stint->pid)
		(void)snprintf(task, sizeof(task), "%s[%u]", name, stint->tid);
	else
		(void)snprintf(task, sizeof(task), "%s[%u/%u]", name, stint->tid, stint->pid);
	text_make_safe(task, task, strlen(task));
	(void)fprintf(out, "%-*s", TASK_COLUMNS, task);
}

static double ms(uint64_t ns)
{
	return (double)ns / (double)NS_PER_MS;
}

void timehist_write(FILE *out, const struct sched_stint *stint)
{
	char time[32];

	(void)snprintf(time, sizeof(time), "%llu.%06llu", stint->end_ns / NS_PER_SEC,
		       stint->end_ns % NS_PER_SEC / NS_PER_US);
	(void)fprintf(out, "%15s [%04u]  ", time, stint->cpu);
	write_task(out, stint);
	(void)fprintf(out, "  %9.3f  %9.3f  %9.3f", ms(stint->wait_ns), ms(stint->delay_ns),
		      ms(stint->run_ns));
	if (stint->state)
		(void)fprintf(out, "  %5c", (int)stint->state);
	(void)putc('\n', out);
}

/* --- a trace ---------------------------------------------------------------------------------- */

/* The process that stands for all CPUs: pids of processes are never that large. */
#define CPUS_PID 0x7fffffff

static void begin_event(struct trace *trace)
{
	fputs(trace->has_events ? ",\n" : "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n",
	      trace->out);
	trace->has_events = true;
}

/* kind: "process_name" or "thread_name". */
static void add_name(struct trace *trace, const char *kind, uint32_t pid, uint32_t tid,
		     const char *name)
{
	begin_event(trace);
	(void)fprintf(trace->out,
		      "{\"ph\": \"M\", \"name\": \"%s\", \"pid\": %u, \"tid\": %u, "
		      "\"args\": {\"name\": ",
		      kind, pid, tid);
	json_write_string(trace->out, name);
	fputs("}}", trace->out);
}

/* Names a track again only if its name changes. */
static int add_new_name(struct trace *trace, struct u64_map *named, const char *kind, uint32_t pid,
			uint32_t tid, const char *name)
{
	uint64_t key = (uint64_t)pid << 32 | tid, hash = hash_key(name, strlen(name));
	const uint64_t *known = u64_map_find(named, key);

	if (known && *known == hash)
		return 0;
	add_name(trace, kind, pid, tid, name);
	return u64_map_set(named, key, hash);
}

static void begin_slice(struct trace *trace, uint32_t pid, uint32_t tid, uint64_t start_ns,
			uint64_t ns, const char *name)
{
	begin_event(trace);
	(void)fprintf(trace->out,
		      "{\"ph\": \"X\", \"pid\": %u, \"tid\": %u, \"ts\": %llu.%03llu"
		      ", \"dur\": %llu.%03llu, \"name\": ",
		      pid, tid, start_ns / NS_PER_US, start_ns % NS_PER_US, ns / NS_PER_US,
		      ns % NS_PER_US);
	json_write_string(trace->out, name);
}

/* A process is named after the first of its threads that is seen, until its leader is. */
static int add_names(struct trace *trace, const struct sched_stint *stint, const char *comm)
{
	const uint64_t process = (uint64_t)stint->pid << 32;
	char cpu[16];
	int err = 0;

	if (!trace->cpus.nr)
		add_name(trace, "process_name", CPUS_PID, 0, "CPUs");
	(void)snprintf(cpu, sizeof(cpu), "CPU %u", stint->cpu);
	err = add_new_name(trace, &trace->cpus, "thread_name", CPUS_PID, stint->cpu, cpu);
	if (!err && (stint->tid == stint->pid || !u64_map_find(&trace->processes, process)))
		err = add_new_name(trace, &trace->processes, "process_name", stint->pid, 0, comm);
	return err ? err
		   : add_new_name(trace, &trace->named, "thread_name", stint->pid, stint->tid,
				  comm);
}

int trace_add(struct trace *trace, const struct sched_stint *stint)
{
	char comm[SCHED_COMM_BYTES + 1] = "";
	uint64_t start_ns = stint->end_ns - stint->run_ns, delay_ns = stint->delay_ns;
	int err;

	if (!stint->state) /* idle: the gaps show it */
		return 0;
	memcpy(comm, stint->comm, SCHED_COMM_BYTES);
	err = add_names(trace, stint, comm);
	if (err)
		return err;
	begin_slice(trace, CPUS_PID, stint->cpu, start_ns, stint->run_ns, comm);
	(void)fprintf(trace->out,
		      ", \"args\": {\"pid\": %u, \"tid\": %u, \"delay_us\": %.3f, "
		      "\"wait_us\": %.3f, \"state\": \"%c\"}}",
		      stint->pid, stint->tid, (double)delay_ns / 1e3, (double)stint->wait_ns / 1e3,
		      (int)stint->state);
	/*
	 * The two clocks differ by some microseconds, and slices of a track must not overlap. Before a thread's first
	 * stint there is none, but its delay may be older than the trace.
	 */
	if (stint->wait_ns && delay_ns > stint->wait_ns)
		delay_ns = stint->wait_ns;
	if (start_ns < trace->began_ns)
		delay_ns = 0;
	else if (delay_ns > start_ns - trace->began_ns)
		delay_ns = start_ns - trace->began_ns;
	if (delay_ns) {
		begin_slice(trace, stint->pid, stint->tid, start_ns - delay_ns, delay_ns,
			    "runnable");
		(void)putc('}', trace->out);
	}
	begin_slice(trace, stint->pid, stint->tid, start_ns, stint->run_ns, "running");
	(void)fprintf(trace->out, ", \"args\": {\"cpu\": %u, \"left\": \"%c\"}}", stint->cpu,
		      (int)stint->state);
	return 0;
}

void trace_end(struct trace *trace)
{
	fputs(trace->has_events ? "\n]}\n" : "{\"traceEvents\": []}\n", trace->out);
	u64_map_clear(&trace->named);
	u64_map_clear(&trace->processes);
	u64_map_clear(&trace->cpus);
}
