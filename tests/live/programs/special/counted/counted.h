/*
 * What the files of `counted` share. Functions that are counted have names in hit_…, and each is
 * called a number of times that is known beforehand, but for the one whose caller counts.
 */
#ifndef STOOK_TESTS_LIVE_COUNTED_H
#define STOOK_TESTS_LIVE_COUNTED_H

#include <stdbool.h>

/* Called as it is written, however little it does. */
#define HIT __attribute__((noinline, noclone, no_icf, used))

#define REPEAT(n) for (long left_ = (n); left_ > 0; left_--)

/* Keeps a body from being empty, and the call before it from becoming a jump. */
#define BODY __asm__ volatile("" ::: "memory")

/* Notes that name is called so often. Several notes of a name are several functions, or places. */
void truth(const char *name, long count);

/* Notes what nr calls of become_another(n) do. */
void truth_of_images(long nr, long n);

/* Ends the program: what follows would not be true. */
void must(bool well, const char *what);

/* Starts this program anew: hit_before_main, n times hit_after_exec, hit_after_main. */
_Noreturn void become_another(long n);

/* Each does all that it says, n times or a known multiple, and notes it. */
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
