/*
 * stubs SECONDS: calls a function of a shared library through its PLT stub, with a page fault in
 * the stub each time, because the program drops that page before the call. A timer would hardly hit
 * these two instructions. Built twice: with -DLIBRARY it is the library.
 *
 * Without -fPIE, the program uses the stub's address as the function's address.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "../burn.h"

#define PAGE_BYTES 65536 /* at least the largest page size */

void called_by_stub(void);

#ifdef LIBRARY
void called_by_stub(void)
{
}
#else
/* Not on the stub's page. */
__attribute__((aligned(PAGE_BYTES))) int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	uint64_t end_ns = monotonic_ns() + (uint64_t)(seconds * 1e9);
	char *stub = (char *)called_by_stub;
	char *page = stub - (uintptr_t)stub % PAGE_BYTES;

	while (monotonic_ns() < end_ns) {
		for (char *at = page; at < (char *)main && at <= stub; at += 4096)
			madvise(at, 4096, MADV_DONTNEED);
		called_by_stub();
	}
	return 0;
}
#endif
