/* A library for `counted`: libcounted.so; with -DPREFIX=late, the one loaded at run time. */
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

/* Exported: the library's own call to it goes through its PLT, too. */
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
