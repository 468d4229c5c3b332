/* What an expression is written with: numbers, names, texts in quotes, signs. */
#ifndef STOOK_PROBE_EXPRESSION_EXPRESSION_TOKEN_H
#define STOOK_PROBE_EXPRESSION_EXPRESSION_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum token_kind {
	TOKEN_END,
	TOKEN_NUMBER, /* also a character in quotes */
	TOKEN_NAME,
	TOKEN_TEXT,
	TOKEN_SIGN,
};

struct token {
	enum token_kind kind;
	size_t at, nr; /* bytes of the whole text */
	const char *text;
	uint64_t number;
};

/* From one token (at first zeros) to the next. What is wrong at token->at; NULL: nothing. */
const char *token_next(const char *text, size_t nr, struct token *token);

bool token_is(const struct token *token, const char *word);

/* What a text in quotes says, without the quotes; false if it is longer than max. */
bool token_text(const struct token *token, char *ret, size_t max, size_t *ret_nr);

#endif
