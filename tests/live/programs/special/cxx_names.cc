/*
 * cxx_names SECONDS: names of C++ functions. Every sample is in one of three places, each below
 * main: load::Box<unsigned long>::burn, whose parameters have nested brackets; a function cloned by
 * the compiler for a constant; and holder, into which inlined_outer is inlined with inlined_inner
 * in it.
 */
#include <cstdlib>
#include <functional>

#include "../burn.h"

namespace load
{

template <typename T> struct Box {
	__attribute__((noinline)) void burn(const std::function<void(int)> &done, T turns)
	{
		BURN_TURNS(turns);
		done(1);
	}
};

} // namespace load

static volatile uint64_t burnt;

__attribute__((noinline)) static void cloned(uint64_t turns, uint64_t step)
{
	for (uint64_t i = 0; i < turns; i += step)
		burnt = burnt + i % step;
}

__attribute__((always_inline)) static inline void inlined_inner(uint64_t turns)
{
	BURN_TURNS(turns);
}

__attribute__((always_inline)) static inline void inlined_outer(uint64_t turns)
{
	inlined_inner(turns);
	burnt = burnt + 1;
}

extern "C" __attribute__((noinline)) void holder(uint64_t turns)
{
	inlined_outer(turns);
	burnt = burnt + 1;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	uint64_t end_ns = monotonic_ns() + (uint64_t)(seconds * 1e9);
	load::Box<unsigned long> box;

	while (monotonic_ns() < end_ns) {
		box.burn([](int nr) { burnt = burnt + (uint64_t)nr; }, 20000);
		cloned(20000, 3);
		holder(20000);
	}
	return 0;
}
