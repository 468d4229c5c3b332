/* The sampling events; see sampling.h. */
#include "collect/sampling.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
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

static bool has_no_counter(int code)
{
	return code == -ENOENT || code == -EOPNOTSUPP || code == -ENODEV;
}

bool sampling_is_supported(const struct event *event, uint32_t cpu)
{
	struct perf_event_attr attr = attributes(event, &(struct sampling_rate){.period = 1000000});
	cleanup_fd int fd = perf_open(&attr, cpu);

	return fd >= 0 || !has_no_counter(-errno);
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
