/*
 * Runs a BPF program that prints symbols, a batch of addresses at a time, and parses its output:
 * "name", "name [module]", or the address itself if there is no symbol.
 */
#include "kernel/kernel_ask.h"

#include <errno.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "base/array.h"
#include "skel/kernel_ask.skel.h"

static int hand_over(char *text, size_t i,
		     int (*add)(void *context, size_t i, const char *name, const char *module),
		     void *context)
{
	char *module = strstr(text, " [");
	size_t length;

	if (!strncmp(text, "0x", 2))
		return 0;
	if (!module)
		return add(context, i, text, "");
	*module = '\0';
	module += 2;
	length = strlen(module);
	if (length && module[length - 1] == ']')
		module[length - 1] = '\0';
	return add(context, i, text, module);
}

int kernel_ask(void *self, const uint64_t *addresses, size_t nr,
	       int (*add)(void *context, size_t i, const char *name, const char *module),
	       void *context, struct error *error)
{
	struct kernel_ask_bpf *bpf = kernel_ask_bpf__open_and_load();
	LIBBPF_OPTS(bpf_test_run_opts, run);
	size_t first, batch, i;
	int err = 0;

	if (!bpf)
		return error_set_errno(error, "this kernel cannot look up single symbols");
	for (first = 0; first < nr && err >= 0; first += batch) {
		batch = nr - first;
		if (batch > ARRAY_SIZE(bpf->bss->addresses))
			batch = ARRAY_SIZE(bpf->bss->addresses);
		memcpy(bpf->bss->addresses, addresses + first, batch * sizeof(*addresses));
		if (bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.kernel_ask), &run) < 0)
			err = -errno;
		for (i = 0; i < batch && err >= 0; i++) {
			char *text = bpf->bss->names[i];

			text[sizeof(bpf->bss->names[i]) - 1] = '\0';
			err = hand_over(text, first + i, add, context);
		}
	}
	kernel_ask_bpf__destroy(bpf);
	return err < 0 ? error_set(error, err, "cannot look up kernel symbols: %s", strerror(-err))
		       : 0;
}
