/*
 * Compiles the options of `stook tally`: the plan for the BPF side, the operands that it needs, and
 * how the words of a key are displayed. Pure.
 */
#ifndef STOOK_PROBE_EXPRESSION_TALLY_QUERY_H
#define STOOK_PROBE_EXPRESSION_TALLY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/expression/expression.h"

#define TALLY_KEYS_MAX	     8
#define TALLY_KEY_NAME_BYTES 64

struct tally_query_options {
	const char *by;	   /* "func,comm,arg1 >> 12"; NULL: func */
	const char *value; /* NULL: only count hits */
	const char *where; /* NULL: all hits */
	bool log2;
	const char *linear;				   /* "MIN,MAX,STEP"; NULL: none */
	bool (*is_text)(void *context, const char *field); /* NULL: see struct program */
	void *context;
};

enum tally_key_kind {
	TALLY_KEY_FUNCTION, /* a probe's number */
	TALLY_KEY_NUMBER,
	TALLY_KEY_UNSIGNED,
	TALLY_KEY_HEX,
	TALLY_KEY_TIME, /* nanoseconds */
	TALLY_KEY_TEXT,
	TALLY_KEY_CGROUP,
};

struct tally_key {
	enum tally_key_kind kind;
	uint8_t first, nr;		 /* range of words in the key */
	char name[TALLY_KEY_NAME_BYTES]; /* as given by the user, truncated */
};

struct tally_query {
	struct program program;
	struct tally_key keys[TALLY_KEYS_MAX];
	size_t nr_keys;
	char value[TALLY_KEY_NAME_BYTES]; /* "": none */
	bool value_is_time;
	/* Operands are read at calls (arguments, fields); at returns. */
	bool needs_call, needs_return;
};

/* Returns 0; or -EINVAL or -E2BIG, with the mistake in *error. */
int tally_query_compile(const struct tally_query_options *options, struct tally_query *ret,
			struct error *error);

/* Makes the query pair calls with their returns. */
void tally_query_pair(struct tally_query *query);

/*
 * Returns the range of values of a histogram bucket, both ends included. False: unbounded on one
 * side.
 */
bool tally_bucket_range(const struct tally_plan *plan, uint32_t bucket, int64_t *ret_from,
			int64_t *ret_to);

#endif
