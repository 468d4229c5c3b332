/*
 * Reads one number of a hit from the location that user space gives for the probe: a register,
 * memory addressed by registers, a field of the context, or the result of a function.
 *
 * Contexts are read with bpf_probe_read_kernel() because the offset is a variable: verifiers accept
 * direct reads at constant offsets only.
 */
#include "fetch.bpf.h"

const volatile bool has_func_ret; /* bpf_get_func_ret(), Linux 5.17 */

static __s64 narrow(__u64 value, __u32 bytes, bool is_signed)
{
	__u32 unused = 64 - 8 * bytes;

	if (bytes >= 8)
		return value;
	if (is_signed)
		return (__s64)(value << unused) >> unused;
	return value << unused >> unused;
}

static bool read_register(void *ctx, __u32 at, __u64 *ret)
{
	return bpf_probe_read_kernel(ret, sizeof(*ret), ctx + at) == 0;
}

/*
 * The size is checked last: verifiers before about Linux 5.13 forget the bounds of values spilled
 * to the stack.
 */
static bool read_memory(void *ctx, const struct tally_fetch *fetch, __u64 *ret)
{
	__u64 base = 0, index = 0;
	__u32 bytes;

	if (!read_register(ctx, fetch->base, &base))
		return false;
	if (fetch->index != TALLY_NO_INDEX && !read_register(ctx, fetch->index, &index))
		return false;
	base += (index << (fetch->shift & 3)) + fetch->add;
	bytes = *(const volatile __u8 *)&fetch->bytes;
	return bytes <= 8 && bpf_probe_read_user(ret, bytes, (void *)base) == 0;
}

__hidden bool fetch_field(void *ctx, __u32 at, __u32 bytes, __u64 *ret)
{
	return bytes <= 8 && bpf_probe_read_kernel(ret, bytes, ctx + at) == 0;
}

__hidden bool fetch_number(void *ctx, const struct tally_fetch *fetch, enum probe_way way,
			   __s64 *ret)
{
	__u64 value = 0;
	bool known = false;

	switch (fetch->kind) {
	case TALLY_FETCH_CONSTANT:
		value = fetch->add;
		known = true;
		break;
	case TALLY_FETCH_REGISTER:
		known = read_register(ctx, fetch->base, &value);
		break;
	case TALLY_FETCH_MEMORY:
		known = read_memory(ctx, fetch, &value);
		break;
	case TALLY_FETCH_FIELD:
		known = fetch_field(ctx, fetch->base, fetch->bytes, &value);
		break;
	case TALLY_FETCH_RESULT:
		if (way == WAY_FUNCTION_EXIT && has_func_ret)
			known = bpf_get_func_ret(ctx, &value) == 0;
		break;
	}
	*ret = narrow(value, fetch->bytes, fetch->is_signed);
	return known;
}
