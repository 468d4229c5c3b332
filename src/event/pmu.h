/*
 * The PMUs of a host as a sysfs tree describes them (/sys/bus/event_source/devices): each with its number, its CPUs,
 * the terms of its events with the bits that they set, and the events that the kernel gives names to.
 *
 * Opening a tree reads the PMUs' names and numbers only, since large hosts have hundreds. A missing tree has no PMUs.
 */
#ifndef STOOK_EVENT_PMU_H
#define STOOK_EVENT_PMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct pmu_format {
	char *name;
	unsigned field; /* 0: config, 1: config1, …; PMU_FIELDS: not understood */
	uint64_t bits;
};

#define PMU_FIELDS 4

/* An event with a name: events/NAME, with NAME.unit and NAME.scale. */
struct pmu_alias {
	char *name;
	char *terms; /* event=0x3c,umask=0x1 */
	char *unit;  /* "" if it is a plain count */
	double scale;
};

struct pmu {
	char *name;
	uint32_t type;
	/* The rest is set by pmu_read(). */
	bool is_read;
	bool is_core; /* of the CPUs, not of something beside them */
	char *cpus;   /* "0-7": on which its events are opened; "" if it does not say */
	struct pmu_format *formats;
	struct pmu_alias *aliases;
	size_t nr_formats, cap_formats, nr_aliases, cap_aliases;
};

struct pmus {
	char *root;
	struct pmu *items; /* by name */
	size_t nr, cap;
};

/* On failure, *ret is empty. */
int pmus_open(struct pmus *ret, const char *root, struct error *error);
void pmus_clear(struct pmus *pmus);

/* Reads the formats and aliases of a PMU, if that was not done before. 0 or -ENOMEM. */
int pmu_read(const struct pmus *pmus, struct pmu *pmu, struct error *error);

/* Both return NULL if there is none; the PMU must have been read. Case does not matter in names of events. */
const struct pmu_format *pmu_find_format(const struct pmu *pmu, const char *name);
const struct pmu_alias *pmu_find_alias(const struct pmu *pmu, const char *name);

/*
 * True if a user who writes `text` means this PMU: its name or a glob of it, without `uncore_` and without a number at
 * the end if the user likes: `imc` and `uncore_imc` mean uncore_imc_0 and uncore_imc_1.
 */
bool pmu_is_meant(const struct pmu *pmu, const char *text);

/* Parses the text of a format file, "config:0-7,32-35": 0 or -EINVAL. */
int pmu_format_parse(const char *text, struct pmu_format *ret);

/* Sets the format's bits in a field to those of value: 0, or -ERANGE if value has more bits. */
int pmu_format_set(const struct pmu_format *format, uint64_t value, uint64_t *field);
uint64_t pmu_format_max(const struct pmu_format *format);

#endif
