/*
 * Rules that choose what is stored by its labels, and change labels, in the order in which they are given:
 *
 *	keep CONDITION			samples for which it does not hold are left out
 *	drop CONDITION			samples for which it holds are left out
 *	replace KEY~REGEX NEW=TEXT	if the regular expression is found in the label KEY, NEW becomes TEXT, in which
 *					\0 is what was found and \1 to \9 are its parts in brackets; an empty TEXT
 *					removes NEW
 *
 * Conditions are those of queries (store/where.h). The labels comm, pid and cgroup can be read but not replaced.
 */
#ifndef STOOK_AGENT_RELABEL_H
#define STOOK_AGENT_RELABEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "profile/profile.h"

/* Zero-initialised: no rules. */
struct relabel_rules {
	struct relabel_rule *items;
	size_t nr, capacity;
};

/* Adds a rule. 0, or a negative errno with the reason in *error. */
int relabel_rules_add(struct relabel_rules *rules, const char *text, struct error *error);

void relabel_rules_clear(struct relabel_rules *rules);

/* Labels of a sample: those that are its own, and a set of texts. */
struct relabel_labels {
	struct profile *profile;
	struct sample_labels sample;
	struct set_label set[LABEL_SET_MAX];
	size_t nr;
	bool lacks_build_id,
		lacks_own; /* these, and those of the process' own, are not known yet */
	/* For relabel_rules_apply(): */
	char number[LABEL_NUMBER_BYTES];
	bool is_open; /* a rule asked for one of those */
};

/*
 * Sets a label, or removes it if the text is empty. The text is a name that others chose, and may be a whole string of
 * the profile. If the set is full, nothing changes. 0 or -ENOMEM.
 */
int relabel_set(struct relabel_labels *labels, const char *key, const char *text, size_t nr);

/*
 * Changes the set. 1: the sample is stored; 0: it is left out, or may be when all labels are known; or -ENOMEM.
 */
int relabel_rules_apply(const struct relabel_rules *rules, struct relabel_labels *labels);

#endif
