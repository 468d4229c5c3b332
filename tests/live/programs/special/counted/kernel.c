/* System calls and static probes: counted in the kernel, or through a note in the file. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "counted.h"

#if __has_include(<sys/sdt.h>)
#define HAS_STATIC_PROBES   1
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
#else
#define HAS_STATIC_PROBES 0
#endif

/* The C library and the dynamic loader make none of these calls for themselves. */
void kernel_calls(long n)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	REPEAT(n)
	{
		(void)getppid();
		(void)umask(022);
		(void)umask(022);
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
	}
	close(fd);
	truth("sys_getppid", n);
	truth("sys_umask", 2 * n);
	truth("sys_fadvise64", n);
}

#if HAS_STATIC_PROBES

/* Incremented by the tracer. A program with costly arguments tests it first. */
__extension__ unsigned short counted_guarded_semaphore __attribute__((section(".probes")));
__extension__ unsigned short counted_unguarded_semaphore __attribute__((section(".probes")));

static volatile unsigned short *const guard = &counted_guarded_semaphore;

void static_probes(long n)
{
	long nr_guarded = 0;

	for (long i = 0; i < n; i++) {
		DTRACE_PROBE2(counted, unguarded, i, n);
		if (*guard) {
			DTRACE_PROBE1(counted, guarded, i);
			nr_guarded++;
		}
	}
	truth("probe_unguarded", n);
	truth("probe_guarded", n);
	must(!nr_guarded || nr_guarded == n, "the semaphore changed during the calls");
}

#else

void static_probes(long n)
{
	(void)n;
	must(false, "built without static probes: no sys/sdt.h");
}

#endif
