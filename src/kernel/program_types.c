/* The types of a program's functions; see program_types.h. */
#include "kernel/program_types.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int program_types_keep(struct program_types *types, const struct bpf_prog_load_opts *options)
{
	size_t bytes = (size_t)options->func_info_cnt * options->func_info_rec_size;

	if (!bytes)
		return 0;
	*types = (struct program_types){
		.btf_fd = fcntl((int)options->prog_btf_fd, F_DUPFD_CLOEXEC, 0),
		.functions = malloc(bytes),
		.nr = options->func_info_cnt,
		.function_bytes = options->func_info_rec_size,
	};
	if (types->btf_fd < 0 || !types->functions) {
		program_types_clear(types);
		return -ENOMEM;
	}
	memcpy(types->functions, options->func_info, bytes);
	return 0;
}

void program_types_set(const struct program_types *types, struct bpf_prog_load_opts *options)
{
	if (!types->nr)
		return;
	options->prog_btf_fd = (uint32_t)types->btf_fd;
	options->func_info = types->functions;
	options->func_info_cnt = types->nr;
	options->func_info_rec_size = types->function_bytes;
}

void program_types_clear(struct program_types *types)
{
	if (types->nr && types->btf_fd >= 0)
		(void)close(types->btf_fd);
	free(types->functions);
	*types = (struct program_types){0};
}
