/*
 * A check costs little more than reading the clock, so that readers can check often. The stop
 * descriptor is polled only a hundred times a second.
 */
#include "base/file/read_budget.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define PART_SHARE 2 /* a part may use 1/n of the remaining budget */
#define LOOK_NS	   (10 * NS_PER_MS)

/* A rest below 1/n of the total counts as nothing: parts would only get smaller and smaller. */
#define REST_SHARE 4096

void read_budget_init(struct read_budget *budget, uint64_t time_ns, uint64_t bytes, int stop_fd)
{
	*budget = (struct read_budget){
		.max_ns = time_ns,
		.max_bytes = bytes,
		.left_ns = time_ns,
		.left_bytes = bytes,
		.stop_fd = stop_fd,
	};
}

static void look_for_stop(struct read_budget *budget, uint64_t now_ns)
{
	struct pollfd stop = {.fd = budget->stop_fd, .events = POLLIN};

	budget->look_ns = now_ns + LOOK_NS;
	if (stop.fd >= 0 && poll(&stop, 1, 0) > 0)
		budget->spent = -ECANCELED;
}

void read_budget_begin(struct read_budget *budget)
{
	uint64_t now_ns = clock_now_ns();

	budget->began_ns = now_ns;
	budget->end_ns = now_ns + budget->left_ns / PART_SHARE;
	budget->part_bytes = budget->left_bytes / PART_SHARE;
	budget->spent = 0;
	if (budget->left_bytes < budget->max_bytes / REST_SHARE)
		budget->spent = -EDQUOT;
	if (!budget->left_ns || budget->left_ns < budget->max_ns / REST_SHARE)
		budget->spent = -ETIME;
	look_for_stop(budget, now_ns);
}

int read_budget_end(struct read_budget *budget)
{
	uint64_t taken_ns = clock_now_ns() - budget->began_ns;

	budget->left_ns -= taken_ns < budget->left_ns ? taken_ns : budget->left_ns;
	return budget->spent;
}

int read_budget_take(struct read_budget *budget, uint64_t bytes)
{
	uint64_t now_ns;

	if (!budget || budget->spent)
		return budget ? budget->spent : 0;
	now_ns = clock_now_ns();
	if (bytes > budget->part_bytes)
		budget->spent = -EDQUOT;
	if (now_ns >= budget->end_ns)
		budget->spent = -ETIME;
	if (now_ns >= budget->look_ns)
		look_for_stop(budget, now_ns);
	if (budget->spent)
		return budget->spent;
	budget->part_bytes -= bytes;
	budget->left_bytes -= bytes;
	return 0;
}

void read_budget_charge(struct read_budget *budget, uint64_t bytes, int refused)
{
	if (!budget)
		return;
	if (bytes > budget->part_bytes)
		bytes = budget->part_bytes;
	budget->part_bytes -= bytes;
	budget->left_bytes -= bytes;
	if (refused < 0 && !budget->spent)
		budget->spent = refused;
}

uint64_t read_budget_left_ns(const struct read_budget *budget)
{
	uint64_t now_ns = clock_now_ns();

	if (!budget)
		return UINT64_MAX;
	return now_ns < budget->end_ns && !budget->spent ? budget->end_ns - now_ns : 0;
}

int read_budget_stop_fd(const struct read_budget *budget)
{
	return budget ? budget->stop_fd : -1;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void read_budget_refill(struct read_budget *budget, uint64_t time_ns)
{
	double share = budget->max_ns ? (double)time_ns / (double)budget->max_ns : 1;
	uint64_t bytes =
		share < 1 ? (uint64_t)(share * (double)budget->max_bytes) : budget->max_bytes;

	budget->left_ns += least(time_ns, budget->max_ns - budget->left_ns);
	budget->left_bytes += least(bytes, budget->max_bytes - budget->left_bytes);
}

uint64_t read_budget_spare_memory(void)
{
	cleanup_file FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			return (uint64_t)kib << 10;
	return UINT64_MAX;
}
