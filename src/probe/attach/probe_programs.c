/* The programs of probes before they are loaded; see probe_programs.h. */
#include "probe/attach/probe_programs.h"

#include <errno.h>
#include <string.h>

#include "probe/attach/link_event.h"
#include "probe/attach/link_multi.h"

/* Any that fentry can be at home in: copies are loaded with targets of their own. */
#define SOME_FUNCTION "vfs_read"

static void find_needed(const struct probe_list *list, const struct probe_features *features,
			bool needed[NR_PROBE_HOOKS])
{
	const char *why;
	size_t i;
	int hook;

	for (i = 0; i < list->nr_probes; i++) {
		hook = probe_hook_choose(&list->probes[i], features, &why);
		if (hook >= 0)
			needed[hook] = true;
	}
}

static int prepare(struct bpf_program *program, enum probe_hook hook)
{
	switch (hook) {
	case HOOK_UPROBE_MULTI:
		return bpf_program__set_expected_attach_type(program, LINK_UPROBE_MULTI);
	case HOOK_KPROBE_MULTI:
		return bpf_program__set_expected_attach_type(program, LINK_KPROBE_MULTI);
	case HOOK_FENTRY:
	case HOOK_FEXIT:
		return bpf_program__set_attach_target(program, 0, SOME_FUNCTION);
	default:
		return 0;
	}
}

int probe_programs_prepare(struct probe_programs *programs, const struct probe_list *list,
			   const struct probe_features *features, struct error *error)
{
	bool needed[NR_PROBE_HOOKS] = {false};
	int hook, err;

	find_needed(list, features, needed);
	for (hook = 0; hook < NR_PROBE_HOOKS; hook++) {
		struct bpf_program **program = &programs->by_hook[hook];

		if (!*program)
			continue;
		(void)bpf_program__set_autoload(*program, needed[hook]);
		if (!needed[hook]) {
			*program = NULL;
			continue;
		}
		err = prepare(*program, (enum probe_hook)hook);
		if (err < 0)
			return error_set(error, err, "cannot prepare the program '%s': %s",
					 bpf_program__name(*program), strerror(-err));
	}
	return 0;
}

size_t probe_programs_nr_places(const struct probe_list *list,
				const struct probe_features *features)
{
	const char *why;
	size_t nr = 0, i;
	int hook;

	for (i = 0; i < list->nr_probes; i++) {
		hook = probe_hook_choose(&list->probes[i], features, &why);
		if (hook == HOOK_UPROBE_EVENT || hook == HOOK_KPROBE_EVENT)
			nr += LINK_EVENT_PLACES;
	}
	return nr;
}
