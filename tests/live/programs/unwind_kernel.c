/*
 * unwind_kernel MS [SHAPE…]: samples in the kernel, where the user registers must be found on the
 * kernel stack; see shapes.h. Each shape does little but repeat its call until its time is up.
 *
 *	zeros		read() of /dev/zero
 *	faults		page faults on new memory
 *	getpid		the shortest system call, through syscall()
 *	naps		nanosleep() of a few microseconds
 *	clock		clock_gettime(): the vdso
 *	vfork, spawn	vfork() and an immediate exit; posix_spawn() of this program, which exits at
 *			once
 */
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "shapes.h"

#define FRESH_BYTES (2UL << 20)
#define PATIENCE    8

static int zero_fd;

NAMED void zeros_once(void)
{
	static char zeros[1 << 16];

	if (read(zero_fd, zeros, sizeof(zeros)) < 0)
		_exit(1);
}

NAMED void faults_once(void)
{
	volatile char *fresh =
		mmap(NULL, FRESH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t at = 0; at < FRESH_BYTES; at += 4096)
		fresh[at] = 1;
	munmap((void *)fresh, FRESH_BYTES);
}

NAMED void getpid_once(void)
{
	for (int i = 0; i < 1000; i++)
		syscall(SYS_getppid);
}

NAMED void naps_once(void)
{
	for (int i = 0; i < 20; i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
}

NAMED void clock_once(void)
{
	for (int i = 0; i < 1000; i++)
		monotonic_ns();
}

NAMED void vfork_once(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
}

NAMED void spawn_once(void)
{
	char *const arguments[] = {(char *)"child", (char *)"end", NULL};
	char *const environment[] = {NULL};
	pid_t pid;

	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environment))
		_exit(1);
	waitpid(pid, NULL, 0);
}

/* Some shapes hardly use the CPU: they are limited by a multiple of wall time. */
NAMED void repeat(void (*once)(void))
{
	uint64_t end_ns = monotonic_ns() + PATIENCE * work_ns,
		 cpu_end_ns = thread_cpu_ns() + work_ns;

	while (monotonic_ns() < end_ns && thread_cpu_ns() < cpu_end_ns)
		once();
}

#define SHAPE(name, function)        \
	static void function(void)   \
	{                            \
		repeat(name##_once); \
		NO_TAIL_CALL();      \
	}

SHAPE(zeros, run_zeros)
SHAPE(faults, run_faults)
SHAPE(getpid, run_getpid)
SHAPE(naps, run_naps)
SHAPE(clock, run_clock)
SHAPE(vfork, run_vfork)
SHAPE(spawn, run_spawn)

static const struct shape shapes[] = {
	{"zeros", run_zeros}, {"faults", run_faults}, {"getpid", run_getpid}, {"naps", run_naps},
	{"clock", run_clock}, {"vfork", run_vfork},   {"spawn", run_spawn},
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "end"))
		return 0;
	zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	return run_shapes(shapes, sizeof(shapes) / sizeof(shapes[0]), argc, argv);
}
