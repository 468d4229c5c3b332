/* A library for `counted`: libcounted.so, and with -DPREFIX=late the one that is loaded late. */
#include "counted.h"

#ifndef PREFIX
#define PREFIX library
#endif
#define NAME_(prefix, name) hit_##prefix##_##name
#define NAME(prefix, name)  NAME_(prefix, name)

void NAME(PREFIX, outer)(void);
void NAME(PREFIX, inner)(void);

HIT static void NAME(PREFIX, hidden)(void)
{
	BODY;
}

/* Visible from outside: the library's own call of it goes through its linkage table, too. */
HIT void NAME(PREFIX, inner)(void)
{
	BODY;
}

HIT void NAME(PREFIX, outer)(void)
{
	NAME(PREFIX, inner)();
	NAME(PREFIX, inner)();
	NAME(PREFIX, hidden)();
	BODY;
}
