/* The part of a command that has no rights: prepares it, and does in the host what it cannot do. */
#include "cmd/confined.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "worker/sandbox.h"

static int work(void *context, struct sandbox *sandbox, struct error *error)
{
	struct confined *confined = context;
	int err;

	confined->input->sandbox = sandbox;
	outputs_confine(confined->outputs, sandbox);
	err = confined->run(confined->context, error);
	(void)fflush(stdout);
	return err;
}

static int finish(void *context, uint32_t number, struct error *error)
{
	struct confined *confined = context;

	return outputs_commit(confined->outputs, number, error);
}

static int answer(void *context, const void *question, size_t nr, void **ret, size_t *ret_nr,
		  struct error *error)
{
	struct confined *confined = context;

	return confined->answer(confined->context, question, nr, ret, ret_nr, error);
}

/* Lists the paths of all parts. Returns NULL when out of memory. */
static const char **list_paths(const struct confined *confined, size_t *ret_nr)
{
	const char **paths;
	size_t part, i, nr = 0;

	for (part = 0; part < ARRAY_SIZE(confined->paths); part++)
		nr += confined->nr[part];
	paths = calloc(nr + 1, sizeof(*paths));
	nr = 0;
	for (part = 0; paths && part < ARRAY_SIZE(confined->paths); part++)
		for (i = 0; i < confined->nr[part]; i++)
			paths[nr++] = confined->paths[part][i];
	*ret_nr = nr;
	return paths;
}

struct confined confined_request(struct input_request *request, struct outputs *outputs)
{
	return (struct confined){
		.paths = {request->paths.paths, &request->categories},
		.nr = {request->paths.nr, request->categories != NULL},
		.input = &request->options,
		.outputs = outputs,
	};
}

int confined_run(struct confined *confined, struct error *error)
{
	int fds[OUTPUTS_MAX];
	cleanup_free const char **paths = NULL;
	struct sandbox_host host = {
		.fds = fds,
		.finish = finish,
		.answer = confined->answer ? answer : NULL,
		.work = work,
		.context = confined,
	};

	if (!sandbox_is_needed())
		return confined->run(confined->context, error);
	paths = list_paths(confined, &host.nr_paths);
	if (!paths)
		return error_no_memory(error, "");
	host.paths = paths;
	for (host.nr_fds = 0; host.nr_fds < confined->outputs->nr_files; host.nr_fds++)
		fds[host.nr_fds] = fileno(confined->outputs->files[host.nr_fds].stream);
	(void)fflush(stdout); /* or both processes would write what is buffered */
	return sandbox_run(&host, error);
}
