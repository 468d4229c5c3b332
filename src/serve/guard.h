/*
 * Decides who may look. Pure functions over a request.
 *
 * Behind a Unix socket, the file's mode has decided. Over TCP, loopback included, a request needs the token: as
 * `Authorization: Bearer TOKEN`, as a parameter for programs that cannot send headers, or as the cookie that a browser
 * gets for it. The cookie has a secret of this server, not the token. Everywhere, a browser must not be made to ask by
 * another site: neither by a name that suddenly means this host (DNS rebinding), nor by a page of another origin.
 */
#ifndef STOOK_SERVE_GUARD_H
#define STOOK_SERVE_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/http.h"

#define GUARD_LEAST_TOKEN_BYTES 16
#define GUARD_MAX_TOKEN_BYTES	256
#define GUARD_SECRET_BYTES	33 /* with its NUL */

struct guard {
	char token[GUARD_MAX_TOKEN_BYTES + 1]; /* empty: a Unix socket */
	char secret[GUARD_SECRET_BYTES];       /* the value of the cookie */
	uint16_t port;			       /* in the cookie's name: ports share cookies */
};

/* Takes the token from the content of a file: without the white space at its end. 0 or -EINVAL. */
int guard_set_token(struct guard *guard, const char *text, size_t nr, struct error *error);

/* Makes the secret; without a token in `token`, also one. 0 or a negative errno. */
int guard_make_secrets(struct guard *guard, bool makes_token);

/*
 * Returns 0 or the status of the refusal: 421 (a host name that is not ours), 403 (from another site), 401 (without the
 * token). is_public: the answer is a part of the program, without data.
 */
int guard_check(const struct guard *guard, const struct http_request *request, bool is_public);

/* True if the request has the token in the parameter `token`, as in the link that opens the page. */
bool guard_is_link(const struct guard *guard, const struct http_request *request);

/* The header that gives a browser the cookie. */
void guard_set_cookie(const struct guard *guard, struct http_response *response);

#endif
