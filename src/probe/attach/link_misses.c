/*
 * What the kernel tells of missed hits; see link_misses.h.
 *
 * A program that is hit inside itself is skipped, and so is a function that is hit inside the code
 * that handles probes. Links of fentry tell it from Linux 5.12 on, those of kprobe_multi from 6.7.
 * The programs of kprobes are skipped without being counted before 6.7, and nothing says which it
 * is: what they tell is added, but a zero is no news. Nobody counts for user code.
 */
#include "probe/attach/link_misses.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stddef.h>

#include "base/cleanup.h"

/* Of struct bpf_link_info in Linux 6.7: Debian 12's header ends before it. */
struct multi_info {
	uint32_t type, id, program_id, padding;
	uint64_t addresses;
	uint32_t nr, flags;
	uint64_t missed;
};

static int of_program(int fd, uint64_t *ret)
{
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &bytes) < 0 ||
	    bytes < offsetof(struct bpf_prog_info, recursion_misses) +
			    sizeof(info.recursion_misses))
		return -ENOTSUP;
	*ret = info.recursion_misses;
	return 0;
}

/* A kernel that does not tell leaves what we have put there, or refuses it. */
static int of_multi(int fd, uint64_t *ret)
{
	struct multi_info info = {.missed = UINT64_MAX};
	uint32_t bytes = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &bytes) < 0 || info.missed == UINT64_MAX)
		return -ENOTSUP;
	*ret = info.missed;
	return 0;
}

static int of_copy(int fd, uint64_t *ret)
{
	struct multi_info info = {0};
	uint32_t bytes = offsetof(struct multi_info, addresses);
	cleanup_fd int program_fd = -1;

	if (bpf_obj_get_info_by_fd(fd, &info, &bytes) < 0)
		return -ENOTSUP;
	program_fd = bpf_prog_get_fd_by_id(info.program_id);
	return program_fd < 0 ? -ENOTSUP : of_program(program_fd, ret);
}

static int of_link(const struct link_fd *link, uint64_t *ret)
{
	switch (link->hook) {
	case HOOK_KPROBE_MULTI:
		return of_multi(link->fd, ret);
	case HOOK_FENTRY:
	case HOOK_FEXIT:
		return of_copy(link->fd, ret);
	default:
		return -ENOTSUP;
	}
}

void link_misses_add_group(struct link_misses *misses, const struct link_group *group)
{
	uint64_t nr;
	size_t i;

	for (i = 0; i < group->nr_fds; i++) {
		if (of_link(&group->fds[i], &nr) < 0)
			continue;
		misses->nr += nr;
		misses->is_told = true;
	}
}

void link_misses_add_programs(struct link_misses *misses, const struct probe_programs *programs)
{
	uint64_t nr;
	int hook;

	for (hook = 0; hook < NR_PROBE_HOOKS; hook++) {
		const struct bpf_program *program = programs->by_hook[hook];

		if (!program || of_program(bpf_program__fd(program), &nr) < 0 || !nr)
			continue;
		misses->nr += nr;
		misses->is_told = true;
	}
}
