/*
 * Shared by the files of `counted`. Counted functions have names hit_…, and each is called a number
 * of times known beforehand, except the one whose caller counts.
 */
#ifndef STOOK_TESTS_LIVE_COUNTED_H
#define STOOK_TESTS_LIVE_COUNTED_H

#include <stdbool.h>

/* Keeps every call: never inlined, cloned, merged or removed. */
#define HIT __attribute__((noinline, noclone, no_icf, used))

#define REPEAT(n) for (long left_ = (n); left_ > 0; left_--)

/* Keeps a body from being empty, and the call before it from becoming a tail call. */
#define BODY __asm__ volatile("" ::: "memory")

/* Records `count` calls of `name`. Equal names are different functions or places. */
void truth(const char *name, long count);

/* Records the calls of nr calls of become_another(n). */
void truth_of_images(long nr, long n);

/* Prints `what` and exits if !well, because the counts would be wrong. */
void must(bool well, const char *what);

/* Executes this program again: hit_before_main, n times hit_after_exec, hit_after_main. */
_Noreturn void become_another(long n);

/* Each makes its calls n times, or a known multiple, and records them. */
void calls_simple(long n);
void calls_starts(long n);
void calls_library(long n);
void calls_late_library(long n);
void tasks_threads(long n);
void tasks_processes(long n);
void tasks_signals(long n);
void kernel_calls(long n);
void static_probes(long n);

#endif
