/*
 * The sampling events: one a CPU, whose throttling is reported in the sideband's ring of that CPU.
 * The rate of samples also decides how large the buffers are.
 */
#include "collect/sampling.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "bpf/wire.h"
#include "kernel/perf_open.h"

struct sampling {
	int *fds;
	size_t nr;
};

static struct perf_event_attr attributes(const struct event *event,
					 const struct sampling_rate *rate)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = event->type,
		.config = event->config,
		.disabled = 1,
		.exclude_user = event->exclude_user,
		.exclude_kernel = event->exclude_kernel,
		.exclude_idle = event->exclude_idle,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		/* For the throttle records, which share the sideband's ring and so its layout. */
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	if (rate->frequency) {
		attr.freq = 1;
		attr.sample_freq = rate->frequency;
	} else {
		attr.sample_period = rate->period;
	}
	return attr;
}

bool sampling_is_supported(const struct event *event, uint32_t cpu)
{
	struct perf_event_attr attr = attributes(event, &(struct sampling_rate){.period = 1000000});
	cleanup_fd int fd = perf_open(&attr, cpu);

	return fd >= 0 || (errno != ENOENT && errno != EOPNOTSUPP && errno != ENODEV);
}

static int explain_open(const struct event *event, const struct sampling_rate *rate, uint32_t cpu,
			struct error *error)
{
	bool is_hardware = event->type != PERF_TYPE_SOFTWARE;
	int code = -errno;

	switch (code) {
	case -ENOENT:
	case -EOPNOTSUPP:
	case -ENODEV:
		(void)error_set(error, code, "cannot sample '%s' on CPU %u: no such counter here",
				event->name, cpu);
		if (is_hardware)
			error_hint(error, "this machine exposes no such hardware counter (a "
					  "virtual machine?); use -e cpu-clock");
		return code;
	case -EINVAL:
		(void)error_set(
			error, code, "the kernel refuses to sample '%s' at this rate (%llu)",
			event->name,
			(unsigned long long)(rate->frequency ? rate->frequency : rate->period));
		error_hint(error, "sysctl kernel.perf_event_max_sample_rate is the highest "
				  "frequency it allows");
		return code;
	case -EACCES:
	case -EPERM:
		(void)error_set_errno(error, "not allowed to sample '%s'", event->name);
		error_hint(error, "run as root, or with CAP_PERFMON and CAP_BPF; if you do, a "
				  "security module or a container forbids perf_event_open()");
		return code;
	default:
		return error_set_errno(error, "cannot sample '%s' on CPU %u", event->name, cpu);
	}
}

static int open_one(const struct event *event, const struct sampling_rate *rate, uint32_t cpu,
		    int output_fd, int program_fd, int *ret_fd, struct error *error)
{
	struct perf_event_attr attr = attributes(event, rate);
	cleanup_fd int fd = perf_open(&attr, cpu);

	if (fd < 0)
		return explain_open(event, rate, cpu, error);
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, output_fd) < 0)
		return error_set_errno(error, "cannot send the throttling of CPU %u to its ring",
				       cpu);
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) < 0)
		return error_set_errno(error, "cannot attach to '%s' on CPU %u", event->name, cpu);
	*ret_fd = take_fd(&fd);
	return 0;
}

struct sampling *sampling_open(const struct event *event, const struct sampling_rate *rate,
			       const uint32_t *cpus, size_t nr_cpus,
			       const struct sideband *sideband, int program_fd, struct error *error)
{
	struct sampling *sampling = calloc(1, sizeof(*sampling));
	size_t i;

	if (sampling)
		sampling->fds = malloc(nr_cpus * sizeof(*sampling->fds));
	if (!sampling || !sampling->fds) {
		sampling_close(sampling);
		(void)error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	for (i = 0; i < nr_cpus; i++) {
		if (open_one(event, rate, cpus[i], sideband_fd_of_cpu(sideband, cpus[i]),
			     program_fd, &sampling->fds[i], error) < 0) {
			sampling_close(sampling);
			return NULL;
		}
		sampling->nr++;
	}
	return sampling;
}

void sampling_close(struct sampling *sampling)
{
	size_t i;

	if (!sampling)
		return;
	for (i = 0; i < sampling->nr; i++)
		(void)close(sampling->fds[i]);
	free(sampling->fds);
	free(sampling);
}

int sampling_start(struct sampling *sampling, struct error *error)
{
	size_t i;

	for (i = 0; i < sampling->nr; i++)
		if (ioctl(sampling->fds[i], PERF_EVENT_IOC_ENABLE, 0) < 0)
			return error_set_errno(error, "cannot start sampling");
	return 0;
}

void sampling_stop(struct sampling *sampling)
{
	size_t i;

	for (i = 0; i < sampling->nr; i++)
		(void)ioctl(sampling->fds[i], PERF_EVENT_IOC_DISABLE, 0);
}

void sampling_read(const struct sampling *sampling, struct sampling_reading *ret)
{
	struct {
		uint64_t value, enabled_ns, running_ns;
	} one;
	size_t i;

	*ret = (struct sampling_reading){0};
	for (i = 0; i < sampling->nr; i++) {
		if (read(sampling->fds[i], &one, sizeof(one)) != sizeof(one) || !one.running_ns)
			continue;
		ret->events += (uint64_t)((double)one.value * (double)one.enabled_ns /
					  (double)one.running_ns);
		ret->enabled_ns += one.enabled_ns;
		ret->running_ns += one.running_ns;
	}
}

/* --- sizes -------------------------------------------------------------------------------------- */

/*
 * The ring must take what comes between two polls, also when every stack is a new one and the poll
 * comes late, or a raw one and the poll comes soon; the count map, the different stacks of an epoch.
 * Both only cost memory when they are too large; too small, the ring loses samples, and an epoch ends
 * early.
 */
#define RING_SECONDS	  0.5 /* of records at full rate, each … */
#define RING_RECORD_BYTES 512
#define RAW_SECONDS	  0.015 /* of raw ones, of which half the ring may be full */
#define RAW_RECORD_BYTES  (2 * (WIRE_MAX_RAW_WORDS * 8 + 512))
#define MIN_RING_BYTES	  (256UL << 10)
#define MAX_RING_BYTES	  (64UL << 20)

#define COUNT_SECONDS 4 /* of samples that are all different */
#define MIN_COUNTS    4096
#define MAX_COUNTS    131072

/* Samples a second on a CPU, of an event whose own rate is not known; of probes. */
#define UNKNOWN_RATE 10000
#define PROBES_RATE  4000

static size_t power_of_two_at_least(double wanted, size_t least, size_t most)
{
	size_t size = least;

	while ((double)size < wanted && size < most)
		size *= 2;
	return size;
}

void sampling_choose_sizes(const struct event *event, const struct sampling_rate *rate,
			   size_t nr_cpus, bool has_raw, size_t *ring_bytes, size_t *max_counts)
{
	const size_t raw_bytes = RAW_RECORD_BYTES;
	double samples = PROBES_RATE, records, raw; /* a second */

	if (event && rate->frequency)
		samples = (double)rate->frequency;
	else if (event)
		samples = event_is_clock(event) ? 1e9 / (double)rate->period : UNKNOWN_RATE;
	samples *= (double)nr_cpus;
	records = samples * RING_SECONDS * RING_RECORD_BYTES;
	raw = has_raw ? samples * RAW_SECONDS * (double)raw_bytes : 0;

	if (!*ring_bytes)
		*ring_bytes = power_of_two_at_least(records > raw ? records : raw, MIN_RING_BYTES,
						    MAX_RING_BYTES);
	if (!*max_counts)
		*max_counts =
			power_of_two_at_least(samples * COUNT_SECONDS, MIN_COUNTS, MAX_COUNTS);
}
