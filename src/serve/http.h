/*
 * A request and its answer, without sockets: the server fills in the one and sends the other; what is between them
 * (serve/guard.h, serve/api.h) can be tested and fuzzed.
 */
#ifndef STOOK_SERVE_HTTP_H
#define STOOK_SERVE_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_MAX_TARGET_BYTES 4096
#define HTTP_MAX_PARAMETERS   24

struct http_parameter {
	const char *name, *value;
};

/* GET or HEAD. The headers are the caller's; NULL: missing. */
struct http_request {
	const char *host, *origin, *fetch_site, *fetch_mode, *authorization, *cookie;
	/* Set by http_request_parse(), decoded. */
	const char *path;
	struct http_parameter parameters[HTTP_MAX_PARAMETERS];
	size_t nr_parameters;
	char text[HTTP_MAX_TARGET_BYTES]; /* of these */
};

/*
 * Parses a target: "/api/profile?from=-1h&by=comm". 0; -EINVAL: malformed, or with a NUL byte; -E2BIG: too long, or too
 * many parameters.
 */
int http_request_parse(struct http_request *request, const char *target);

/* Returns the value of a parameter; NULL if it is missing or empty. */
const char *http_request_get(const struct http_request *request, const char *name);

/* The head of an answer; its texts are constants or fields of it. */
struct http_response {
	int status;
	const char *type;      /* of the body; NULL: there is none */
	char file[64];	       /* to be saved under this name; empty: shown */
	char cookie[160];      /* Set-Cookie; empty: none */
	const char *location;  /* of a redirection; NULL: none */
	const char *challenge; /* WWW-Authenticate; NULL: none */
};

const char *http_reason(int status);

#endif
