/* The steps of the plan, as a function of their own: see tally_steps.h. */
#include "tally.bpf.h"

__hidden int tally_evaluate(struct tally_hit *hit)
{
	tally_take_steps(&hit->values, &plan);
	return 0;
}
