/* The symbolizer is given its sources here, since it knows neither sessions nor JVMs. */
#include "cmd/session_names.h"

#include <errno.h>

#include "base/clock.h"
#include "cmd/complain.h"
#include "proc/java_attach.h"
#include "session/kernel_ask.h"

/* A JVM answers within milliseconds, unless it is stopped or swapped out. */
#define JVM_NS	    (3 * NS_PER_SEC)
#define ALL_JVMS_NS (10 * NS_PER_SEC)

int session_names_init(struct session_names *names, struct session *session,
		       const struct session_names_options *options, struct error *error)
{
	struct symbolizer_options symbolizer = naming_options_symbolizer(options->naming);

	*names = (struct session_names){
		.session = session, .java = options->java, .is_quiet = options->is_quiet};
	symbolizer.files = session_files(session);
	symbolizer.runtimes = session_runtimes(session);
	symbolizer.kernel = (struct kernel_names){.name = kernel_ask};
	symbolizer.kernel_fallback = kallsyms_names(&names->kallsyms);
	symbolizer.leave_files = options->leave_files;
	names->symbolizer = symbolizer_new(&symbolizer);
	return names->symbolizer ? 0 : error_set(error, -ENOMEM, "out of memory");
}

void session_names_clear(struct session_names *names)
{
	symbolizer_free(names->symbolizer);
	kallsyms_free(names->kallsyms);
	*names = (struct session_names){0};
}

/* Those whose compiled code was sampled. */
static void ask_jvms(const struct session_names *names)
{
	const struct runtime_table *runtimes = session_runtimes(names->session);
	uint64_t deadline_ns = clock_now_ns() + ALL_JVMS_NS;
	size_t i;

	for (i = 0; i < runtime_table_nr(runtimes); i++) {
		const struct runtime_process *process = runtime_table_get(runtimes, (uint32_t)i);
		uint64_t now_ns = clock_now_ns();
		struct error error = {0};

		if (!process->runtime || !process->runtime->is_java || now_ns >= deadline_ns)
			continue;
		if (java_attach_write_map(process, JVM_NS, &error) < 0 && !names->is_quiet)
			complain_error(&error);
	}
}

int session_names_apply(struct session_names *names, struct error *error)
{
	if (names->java)
		ask_jvms(names);
	if (symbolizer_name(names->symbolizer, session_profile(names->session)) < 0)
		return error_set(error, -ENOMEM, "out of memory while naming functions");
	return 0;
}
