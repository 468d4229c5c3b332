/*
 * See probe_notes.h. Names come from files that anybody may have made, so they pass through
 * columns_write(), which lets no control characters through.
 */
#include "cmd/probe_notes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cmd/complain.h"
#include "cmd/probe_label.h"
#include "format/text/columns.h"

#define FEW 10 /* of a kind are named; -v or --list names all */

#define TOLD_AWAY_NS (10 * NS_PER_MS) /* less is not worth a line */

static void write_name(FILE *out, const char *name)
{
	(void)columns_write(out, name, columns_of(name), "");
}

/* --- the list -------------------------------------------------------------------------------- */

static void list_probe(const struct probe_list *list, const struct probe *probe)
{
	cleanup_free char *label = probe_label(probe);

	write_name(stdout, label ? label : probe->name);
	putchar('\t');
	if (probe->kind == PROBE_USER || probe->kind == PROBE_USDT) {
		write_name(stdout, list->files[probe->file].path);
		printf("+0x%" PRIx64 "\n", probe->offset);
	} else if (probe->kind == PROBE_TRACEPOINT) {
		puts(probe->symbol);
	} else if (probe->address) {
		printf("0x%" PRIx64 "\n", probe->address + probe->offset);
	} else {
		puts("kernel");
	}
}

static void tell_refusal(const char *name, const char *why)
{
	fputs("       ", stderr);
	write_name(stderr, name);
	fprintf(stderr, ": %s\n", why);
}

int probe_notes_list(const struct probe_list *list, struct error *error)
{
	size_t i;

	for (i = 0; i < list->nr_probes; i++)
		list_probe(list, &list->probes[i]);
	if (fflush(stdout) != 0 || ferror(stdout))
		return error_set_errno(error, "cannot write to standard output");
	if (list->nr_refusals)
		complain("these match and cannot be probed:");
	for (i = 0; i < list->nr_refusals; i++)
		tell_refusal(list->refusals[i].name, list->refusals[i].why);
	return 0;
}

/* --- before ---------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void probe_notes_before(const struct probe_list *list, const struct probe_reach *reach,
			double budget, bool is_default_budget)
{
	if (list->nr_refusals)
		complain("left out '%s': %s%s", list->refusals[0].name, list->refusals[0].why,
			 list->nr_refusals > 1 ? " (--list tells of more)" : "");
	if (reach->shared_file && reach->spares_others)
		complain("children are not counted, so that others that use %s are left alone "
			 "(--follow)",
			 base_name(reach->shared_file));
	else if (reach->shared_file)
		complain("others that use %s are slowed down too", base_name(reach->shared_file));
	if (is_default_budget && budget > 0)
		complain("probes that together take more than %g %% of a CPU are cut, the hottest "
			 "first (--budget off keeps all)",
			 budget * 100);
}

/* --- after ----------------------------------------------------------------------------------- */

static void tell_rest(size_t nr, size_t nr_told)
{
	if (nr > nr_told)
		fprintf(stderr, "       … and %zu more\n", nr - nr_told);
}

static void tell_refused(const struct probe_list *list, const struct probing *probing, size_t most)
{
	size_t nr = probing_nr(probing, PROBE_REFUSED), nr_told = 0, i;

	if (!nr)
		return;
	complain("%zu could not be probed:", nr);
	for (i = 0; i < list->nr_probes && nr_told < most; i++) {
		const struct probe_status *status = probing_status(probing, (uint32_t)i);

		if (status->state != PROBE_REFUSED)
			continue;
		tell_refusal(list->probes[i].name, status->why);
		nr_told++;
	}
	tell_rest(nr, nr_told);
}

static void tell_cut(const struct probe_list *list, const struct probing *probing, size_t most)
{
	size_t nr = probing_nr(probing, PROBE_CUT), nr_told = 0, i;
	char number[COLUMNS_NUMBER_BYTES];

	if (!nr)
		return;
	complain("the budget of %g %% cut %zu, whose counts end there:",
		 probing_budget(probing)->share * 100, nr);
	for (i = 0; i < list->nr_probes && nr_told < most; i++) {
		const struct probe_status *status = probing_status(probing, (uint32_t)i);
		cleanup_free char *label = NULL;

		if (status->state != PROBE_CUT)
			continue;
		label = probe_label(&list->probes[i]);
		fputs("       ", stderr);
		write_name(stderr, label ? label : list->probes[i].name);
		fprintf(stderr, " at %s calls a second\n",
			columns_number(number, (uint64_t)status->cut_rate));
		nr_told++;
	}
	tell_rest(nr, nr_told);
}

/* Those that were cut have a line of their own; what the others missed is nowhere else. */
static void tell_away(const struct probe_list *list, const struct probing *probing)
{
	uint64_t longest_ns = 0;
	size_t nr = 0, i;

	for (i = 0; i < list->nr_probes; i++) {
		const struct probe_status *status = probing_status(probing, (uint32_t)i);

		if (status->state != PROBE_ATTACHED || !status->away_ns)
			continue;
		nr++;
		if (status->away_ns > longest_ns)
			longest_ns = status->away_ns;
	}
	if (longest_ns > TOLD_AWAY_NS)
		complain("%zu %s let go for up to %.2f s in all while hot ones were searched: "
			 "their counts miss that time",
			 nr, nr == 1 ? "function was" : "functions were",
			 (double)longest_ns / NS_PER_SEC);
}

void probe_notes_after(const struct probe_list *list, const struct probing *probing,
		       uint64_t missed, bool is_verbose)
{
	size_t most = is_verbose ? SIZE_MAX : FEW;
	size_t nr_waiting = probing_nr(probing, PROBE_WAITING);
	char number[COLUMNS_NUMBER_BYTES];

	tell_refused(list, probing, most);
	tell_cut(list, probing, most);
	tell_away(list, probing);
	if (nr_waiting)
		complain("%zu were not attached before the end: the budget takes them step by step",
			 nr_waiting);
	if (is_verbose && probing_budget(probing)->hit_ns > 0)
		complain("a hit costs %.0f ns here, by a measurement before the run",
			 probing_budget(probing)->hit_ns);
	if (missed == UINT64_MAX && is_verbose)
		complain("whether hits were missed this kernel does not tell");
	if (missed && missed != UINT64_MAX)
		complain("the kernel missed %s hits: what was counted is too little by that",
			 columns_number(number, missed));
}
