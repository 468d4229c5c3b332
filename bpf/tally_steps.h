/*
 * Evaluates the steps of a plan: --where, --by and --value, computed from a hit's operands. Plain
 * C, compiled for BPF and for the tests. In BPF the plan is constant, so the verifier follows no
 * branch that is not taken, and each step is one path.
 *
 * BPF before version 4 has no signed division. Cases that C leaves undefined have a defined result:
 * dividing by 0 gives 0, and dividing the least number by -1 gives that number.
 */
#ifndef STOOK_BPF_TALLY_STEPS_H
#define STOOK_BPF_TALLY_STEPS_H

#include "tally_wire.h"

/* The words of a hit. */
struct tally_values {
	__u64 unknown;	     /* a bit for each number */
	__u64 unknown_texts; /* a bit for each text */
	__s64 words[TALLY_MAX_WORDS];
};

static inline void tally_set_unknown(struct tally_values *values, __u32 word)
{
	values->unknown |= 1ULL << (word % TALLY_MAX_NUMBERS);
}

static inline int tally_is_unknown(const struct tally_values *values, __u32 word)
{
	return values->unknown >> (word % TALLY_MAX_NUMBERS) & 1;
}

static inline __u64 tally_magnitude(__s64 number)
{
	return number < 0 ? -(__u64)number : (__u64)number;
}

static inline __s64 tally_divide(__s64 left, __s64 right)
{
	__u64 quotient = right ? tally_magnitude(left) / tally_magnitude(right) : 0;

	return (left < 0) != (right < 0) ? -quotient : quotient;
}

/* The result has the left operand's sign, as in C. */
static inline __s64 tally_remainder(__s64 left, __s64 right)
{
	__u64 rest = right ? tally_magnitude(left) % tally_magnitude(right) : 0;

	return left < 0 ? -rest : rest;
}

static inline bool tally_is_same_text(const struct tally_values *values,
				      const volatile __u64 *literal, __u32 text)
{
	__u32 at = TALLY_MAX_NUMBERS + text * TALLY_TEXT_WORDS, i;

	for (i = 0; i < TALLY_TEXT_WORDS; i++)
		if ((__u64)values->words[(at + i) % TALLY_MAX_WORDS] != literal[i])
			return false;
	return true;
}

static inline __s64 tally_calculate(__u32 operation, __s64 left, __s64 right, __s64 number)
{
	switch (operation) {
	case TALLY_CONSTANT:
		return number;
	case TALLY_ADD:
		return (__u64)left + right;
	case TALLY_SUBTRACT:
		return (__u64)left - right;
	case TALLY_MULTIPLY:
		return (__u64)left * right;
	case TALLY_DIVIDE:
		return tally_divide(left, right);
	case TALLY_DIVIDE_UNSIGNED:
		return right ? (__u64)left / (__u64)right : 0;
	case TALLY_REMAINDER:
		return tally_remainder(left, right);
	case TALLY_REMAINDER_UNSIGNED:
		return right ? (__u64)left % (__u64)right : 0;
	case TALLY_BIT_AND:
		return left & right;
	case TALLY_BIT_OR:
		return left | right;
	case TALLY_BIT_XOR:
		return left ^ right;
	case TALLY_LEFT:
		return (__u64)left << (right & 63);
	case TALLY_RIGHT:
		return left >> (right & 63);
	case TALLY_RIGHT_UNSIGNED:
		return (__u64)left >> (right & 63);
	case TALLY_EQUAL:
		return left == right;
	case TALLY_LESS:
		return left < right;
	case TALLY_LESS_UNSIGNED:
		return (__u64)left < (__u64)right;
	case TALLY_NOT:
		return !left;
	case TALLY_BOTH:
		return left && right;
	case TALLY_EITHER:
		return left || right;
	case TALLY_SIGNED:
		return (__s64)((__u64)left << (number & 63)) >> (number & 63);
	case TALLY_UNSIGNED:
		return (__u64)left << (number & 63) >> (number & 63);
	}
	return 0;
}

/* True if the step's result is unknown. With BOTH and EITHER one known side can suffice. */
static inline bool tally_is_undecided(const struct tally_values *values,
				      const volatile struct tally_step *step)
{
	__u32 left = step->left, right = step->right;
	bool no_left = tally_is_unknown(values, left), no_right = tally_is_unknown(values, right);
	bool left_is = values->words[left % TALLY_MAX_NUMBERS];
	bool right_is = values->words[right % TALLY_MAX_NUMBERS];

	switch (step->operation) {
	case TALLY_CONSTANT:
		return false;
	case TALLY_SAME_TEXT:
		return values->unknown_texts >> (left % TALLY_MAX_TEXTS) & 1;
	case TALLY_BOTH:
		return (no_left || no_right) && (no_left || left_is) && (no_right || right_is);
	case TALLY_EITHER:
		return (no_left || no_right) && (no_left || !left_is) && (no_right || !right_is);
	case TALLY_NOT:
	case TALLY_SIGNED:
	case TALLY_UNSIGNED:
		return no_left;
	default:
		return no_left || no_right;
	}
}

static inline void tally_run_step(struct tally_values *values,
				  const volatile struct tally_plan *plan,
				  const volatile struct tally_step *step)
{
	__s64 left = values->words[step->left % TALLY_MAX_NUMBERS];
	__s64 right = values->words[step->right % TALLY_MAX_NUMBERS];
	__s64 *to = &values->words[step->to % TALLY_MAX_NUMBERS];

	if (tally_is_undecided(values, step)) {
		tally_set_unknown(values, step->to);
		*to = 0;
	} else if (step->operation == TALLY_SAME_TEXT) {
		*to = tally_is_same_text(values,
					 plan->literals[(__u64)step->number % TALLY_MAX_LITERALS],
					 step->left);
	} else {
		*to = tally_calculate(step->operation, left, right, step->number);
	}
}

static inline void tally_run_steps(struct tally_values *values,
				   const volatile struct tally_plan *plan)
{
	__u32 i;

	for (i = 0; i < TALLY_MAX_STEPS; i++) {
		if (i >= plan->nr_steps)
			break;
		tally_run_step(values, plan, &plan->steps[i]);
	}
}

#endif
