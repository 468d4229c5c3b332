/* What a session has to say of itself, and what belongs to it. */
#include "collect/session_state.h"

struct profile *session_profile(struct session *session)
{
	return session->profile;
}

struct file_table *session_files(struct session *session)
{
	return session->files;
}

struct runtime_table *session_runtimes(struct session *session)
{
	return session->runtimes;
}

const struct error *session_table_cache_error(const struct session *session)
{
	return session->unwinder ? unwinder_cache_error(session->unwinder) : NULL;
}

uint64_t session_progress(const struct session *session)
{
	return session->accounting.sum.recorded + session->accounting.sum.counted +
	       sampler_read_progress(session->sampler);
}

const struct probing *session_probing(const struct session *session)
{
	return session->probing;
}

/*
 * What the event counted while CPUs were busy. A clock runs on idle and on stolen CPUs too; that
 * time is taken off.
 */
static uint64_t busy_events(const struct session *session)
{
	uint64_t events = session->reading.events;
	uint64_t absent_ns = session->absence.stolen_ns;

	if (!event_is_clock(&session->event))
		return events;
	if (!session->options.include_idle)
		absent_ns += session->absence.idle_ns;
	return events > absent_ns ? events - absent_ns : 0;
}

static void summarize_files(const struct session *session, struct session_summary *ret)
{
	size_t i;

	ret->nr_files = file_table_nr(session->files);
	for (i = 0; i < ret->nr_files; i++) {
		const struct file *file = file_table_get(session->files, (uint32_t)i);

		ret->nr_files_gone +=
			file->sampled && (file->state == FILE_GONE || file->state == FILE_REFUSED);
	}
}

void session_summarize(const struct session *session, struct session_summary *ret)
{
	const struct drain_totals *totals = drain_totals(session->drain);
	const struct wire_counters *sum = &session->accounting.sum;

	*ret = (struct session_summary){
		.accounting = session->accounting,
		.complete = session->complete,
		.shown = totals->records + totals->counted - totals->hidden,
		.hidden = totals->hidden,
		.unseen = accounting_unseen(&session->accounting, busy_events(session)),
		.unseen_error = event_is_clock(&session->event)
					? accounting_samples_of(&session->accounting,
								absence_error_ns(&session->absence))
					: 0,
		.sampling_cpu_ns = session->sampling_cpu_ns,
		.sampled_ns = session->stopped_ns - session->started_ns,
		.first_sample_ns = totals->first_ns,
		.throttled_ns = session->absence.throttled_ns,
		.stolen_ns = session->absence.stolen_ns,
		.running_share = session->reading.enabled_ns
					 ? (double)session->reading.running_ns /
						   (double)session->reading.enabled_ns
					 : 1,
		.nr_lost_events = session->nr_lost_events,
		.nr_mismatches =
			(sum->recorded > totals->records ? sum->recorded - totals->records
							 : totals->records - sum->recorded) +
			(sum->counted > totals->counted ? sum->counted - totals->counted
							: totals->counted - sum->counted),
		.ring_bytes = session->options.ring_bytes,
		.nr_processes = process_table_nr(session->processes),
		.profile_bytes = profile_bytes(session->profile),
	};
	summarize_files(session, ret);
	sampler_read_cost(session->sampler, &ret->cost);
	if (session->unwinder)
		unwinder_read_cost(session->unwinder, &ret->unwinding);
}
