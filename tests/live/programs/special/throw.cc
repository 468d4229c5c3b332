/*
 * throw MS: throws C++ exceptions, one after the other, for MS of CPU time. Each passes eight
 * frames with an object to destroy, so most of the time is spent in libgcc's unwinder, on top of
 * these frames.
 */
#include <cstdlib>
#include <ctime>

struct guard {
	volatile int *count;
	~guard() { ++*count; }
};

static volatile int count;

template <int depth> static __attribute__((noinline)) int thrower(int value)
{
	guard on_the_way{&count};

	return thrower<depth - 1>(value + 1) + 1;
}

template <> __attribute__((noinline)) int thrower<0>(int value)
{
	throw value;
}

static __attribute__((noinline)) void catcher()
{
	try {
		thrower<8>(count);
	} catch (int) {
		++*&count;
	}
}

static double cpu_seconds()
{
	timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return double(now.tv_sec) + double(now.tv_nsec) / 1e9;
}

int main(int argc, char **argv)
{
	double end = cpu_seconds() + (argc > 1 ? std::atof(argv[1]) : 100) / 1e3;

	while (cpu_seconds() < end)
		for (int i = 0; i < 10; i++)
			catcher();
}
