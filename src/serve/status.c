/* The status of an agent: shared memory, health, metrics. */
#include "serve/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"

/* A writer that was preempted goes on long before this many tries. */
#define READ_TRIES 100000

/* Data are late so many epochs, and this time for naming and storing them, after they should have been stored. */
#define LATE_EPOCHS 2
#define LATE_NS	    (10 * NS_PER_SEC)

/*
 * The memory is a file that only the first mapping can be written through (F_SEAL_FUTURE_WRITE, Linux 5.1), and that
 * mapping is not inherited: the server, which reads foreign bytes, is a fork of the agent.
 */
static int map_twice(struct shared_status *shared, int fd)
{
	void *page, *view;

	if (ftruncate(fd, sizeof(struct status_page)) < 0)
		return -errno;
	page = mmap(NULL, sizeof(struct status_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	shared->page = page;
	if (madvise(page, sizeof(struct status_page), MADV_DONTFORK) < 0 ||
	    fcntl(fd, F_ADD_SEALS,
		  F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	view = mmap(NULL, sizeof(struct status_page), PROT_READ, MAP_SHARED, fd, 0);
	if (view == MAP_FAILED)
		return -errno;
	shared->view = view;
	return 0;
}

int shared_status_init(struct shared_status *shared)
{
	cleanup_fd int fd = memfd_create("stook-status", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err = fd < 0 ? -errno : map_twice(shared, fd);

	if (err < 0)
		shared_status_clear(shared);
	return err;
}

void shared_status_clear(struct shared_status *shared)
{
	if (shared->page)
		(void)munmap(shared->page, sizeof(struct status_page));
	if (shared->view)
		(void)munmap((void *)shared->view, sizeof(struct status_page));
	*shared = (struct shared_status){0};
}

void shared_status_write(const struct shared_status *shared, const struct status *status)
{
	struct status_page *page = shared->page;
	const unsigned version = atomic_load_explicit(&page->version, memory_order_relaxed);

	atomic_store_explicit(&page->version, version + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	page->status = *status;
	atomic_store_explicit(&page->version, version + 2, memory_order_release);
}

bool shared_status_read(const struct shared_status *shared, struct status *ret)
{
	const struct status_page *view = shared->view;
	unsigned before, i;

	for (i = 0; i < READ_TRIES; i++) {
		before = atomic_load_explicit(&view->version, memory_order_acquire);
		*ret = view->status;
		atomic_thread_fence(memory_order_acquire);
		if (!(before & 1) &&
		    atomic_load_explicit(&view->version, memory_order_relaxed) == before)
			return true;
	}
	return false;
}

/* --- health ----------------------------------------------------------------------------------- */

static struct health red(const char *why)
{
	struct health health = {.is_red = true};

	(void)snprintf(health.why, sizeof(health.why), "%s", why);
	return health;
}

static struct health late(const char *what, double seconds)
{
	struct health health = {.is_red = true};

	(void)snprintf(health.why, sizeof(health.why), "%s for %.0f s", what, seconds);
	return health;
}

struct health health_of(const struct status *status, const struct store_extent *extent,
			const struct error *error, uint64_t wall_ns, uint64_t now_ns)
{
	const uint64_t epoch_ns =
		status ? status->epoch_ns : extent->last_to_ns - extent->last_from_ns;
	const uint64_t interval_ns = status && status->store_interval_ns > epoch_ns
					     ? status->store_interval_ns
					     : epoch_ns;
	const uint64_t late_ns = interval_ns + LATE_EPOCHS * epoch_ns + LATE_NS;
	const uint64_t stored_ns = status && status->stored_ns ? status->stored_ns
				   : status		       ? status->started_ns
							       : 0;
	const double age = status ? ((double)now_ns - (double)stored_ns) / 1e9
				  : ((double)wall_ns - (double)extent->last_to_ns) / 1e9;

	if (error)
		return red(error->text);
	if (!status && !extent->last_to_ns)
		return red("the store is empty");
	if (!status && age < -(double)late_ns / 1e9)
		return red("the last epoch ends in the future: was the clock set back?");
	if (age > (double)late_ns / 1e9)
		return late(status && status->is_paused ? "the agent is paused; no epoch was stored"
							: "no epoch was stored",
			    age);
	if (status && !status->is_paused && status->kept_ns && now_ns > status->kept_ns + late_ns)
		return late("all samples were lost", (double)(now_ns - status->kept_ns) / 1e9);
	return (struct health){.is_red = false};
}

/* --- metrics ---------------------------------------------------------------------------------- */

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	(void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void gauge(FILE *out, const char *name, const char *help, double value)
{
	head(out, name, "gauge", help);
	(void)fprintf(out, "%s %.17g\n", name, value);
}

static void counter(FILE *out, const char *name, const char *help, uint64_t value)
{
	head(out, name, "counter", help);
	(void)fprintf(out, "%s %" PRIu64 "\n", name, value);
}

static void write_samples(const struct status *status, FILE *out)
{
	const struct {
		const char *name;
		uint64_t nr;
	} ends[] = {
		{"idle", status->idle},		{"own", status->own},
		{"filtered", status->filtered}, {"ended", status->ended},
		{"recorded", status->recorded}, {"counted", status->counted},
		{"thinned", status->thinned},
	};
	static const char *const reasons[] = {
#define X(id, name, sentence) name,
		WIRE_LOSS_REASONS(X)
#undef X
	};
	size_t i;

	counter(out, "stook_entries_total",
		"Times that the sampling program ran: the sum of samples and losses.",
		status->entries);
	head(out, "stook_samples_total", "counter", "Samples by what became of them.");
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		(void)fprintf(out, "stook_samples_total{result=\"%s\"} %" PRIu64 "\n", ends[i].name,
			      ends[i].nr);
	head(out, "stook_lost_samples_total", "counter", "Samples that were lost, by reason.");
	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		(void)fprintf(out, "stook_lost_samples_total{reason=\"%s\"} %" PRIu64 "\n",
			      reasons[i], status->lost[i]);
}

static void write_walk(const char *stack, const char *end, uint64_t ns, FILE *out)
{
	(void)fprintf(out, "stook_walked_cpu_seconds_total{stack=\"%s\",end=\"%s\"} %.17g\n", stack,
		      end, (double)ns / 1e9);
}

static void write_walks(const struct status *status, FILE *out)
{
	static const char *const names[] = {
#define X(id, name, words) name,
		WALK_ENDS(X)
#undef X
	};
	size_t i;

	head(out, "stook_walked_cpu_seconds_total", "counter",
	     "Stored CPU time by how the walk of its stack ended.");
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		write_walk("user", names[i], status->user_walks_ns[i], out);
		write_walk("kernel", names[i], status->kernel_walks_ns[i], out);
	}
}

static void write_agent(const struct status *status, FILE *out)
{
	const struct shortages *without = &status->shortages;

	write_samples(status, out);
	write_walks(status, out);
	counter(out, "stook_epochs_stored_total", "Epochs that were stored.", status->nr_stored);
	counter(out, "stook_epochs_dropped_total", "Epochs that could not be stored.",
		status->nr_dropped);
	head(out, "stook_agent_cpu_seconds_total", "counter",
	     "CPU time of the agent: its processes, and its programs in the kernel.");
	(void)fprintf(out,
		      "stook_agent_cpu_seconds_total{part=\"processes\"} %.9g\n"
		      "stook_agent_cpu_seconds_total{part=\"programs\"} %.9g\n",
		      (double)status->own_ns / 1e9, (double)status->bpf_ns / 1e9);
	counter(out, "stook_agent_unwind_tables_left_out_total",
		"Files without an unwind table, which needs too much of --max-memory.",
		without->nr_tables_left_out);
	counter(out, "stook_agent_unwind_tables_evicted_total",
		"Times that an unwind table was unloaded for others, or had no room: stacks of its "
		"code were cut short.",
		without->nr_tables_evicted);
	counter(out, "stook_agent_process_events_lost_total",
		"Events of processes that the kernel dropped: mappings were read again, and some "
		"code may have no name.",
		without->nr_lost_events);
	counter(out, "stook_agent_mappings_dropped_total",
		"Times that mappings of a process were dropped or read in part: too many processes "
		"or mappings.",
		without->nr_forgotten);
	counter(out, "stook_agent_unwinding_left_out_total",
		"Processes and files that were too many to be unwound by tables at a time: their "
		"stacks were cut short.",
		without->nr_unpublished);
	counter(out, "stook_agent_unseen_total",
		"Processes and mappings that were not looked at, in time or for want of room: some "
		"code may have no name.",
		without->nr_unseen);
	counter(out, "stook_agent_names_left_out_total",
		"Files left without names in an epoch: reading their symbols needs too much of "
		"--max-memory.",
		without->nr_names_left_out);
	counter(out, "stook_agent_helper_failures_total",
		"Helper processes that crashed or took too long over other people's files, and "
		"files and file systems that were given up after that.",
		status->nr_helpers_failed);
	gauge(out, "stook_agent_memory_bytes", "Memory of the agent's processes and kernel maps.",
	      (double)status->memory_bytes);
	gauge(out, "stook_sampling_rate_hertz", "Samples per second on each CPU; 0 in a pause.",
	      status->is_paused ? 0 : status->rate_hz);
	gauge(out, "stook_budget_ratio", "Budget, as a share of all CPUs; 0: none.",
	      status->budget);
}

void metrics_write(const struct status *status, const struct store_extent *extent,
		   uint64_t store_bytes, const struct health *health, FILE *out)
{
	head(out, "stook_build_info", "gauge", "Version of Stook.");
	(void)fprintf(out, "stook_build_info{version=\"" STOOK_VERSION "\"} 1\n");
	gauge(out, "stook_healthy", "1 while data arrive in the store.", !health->is_red);
	gauge(out, "stook_store_bytes", "Size of the store's files.", (double)store_bytes);
	head(out, "stook_store_blocks", "gauge", "Blocks in the store, by length.");
	(void)fprintf(out,
		      "stook_store_blocks{length=\"epoch\"} %" PRIu64
		      "\nstook_store_blocks{length=\"minute\"} %" PRIu64
		      "\nstook_store_blocks{length=\"hour\"} %" PRIu64 "\n",
		      extent->nr_epochs, extent->nr_minutes, extent->nr_hours);
	gauge(out, "stook_store_first_timestamp_seconds", "Start of the oldest block.",
	      (double)extent->from_ns / 1e9);
	gauge(out, "stook_store_last_timestamp_seconds", "End of the last epoch.",
	      (double)extent->last_to_ns / 1e9);
	if (status)
		write_agent(status, out);
}
