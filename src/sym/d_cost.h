/*
 * Whether libiberty can be trusted with a name in D.
 *
 * Its demangler has no limits, and names can be made that keep it busy for years: a reference back
 * to a type is read again each time, and a function type that turns out not to be one, too; both
 * nest. So an upper bound of its steps, and of the depth of its recursion, is worked out from the
 * text beforehand. Within it a name took 30 ms at most, measured on names made for that, and some
 * megabytes; that matters, as libiberty ends the program when memory is out. The bound is a rough
 * one: of the functions in Phobos one in twenty is refused.
 */
#ifndef STOOK_SYM_D_COST_H
#define STOOK_SYM_D_COST_H

#include <stdbool.h>

bool d_cost_is_low(const char *name);

#endif
