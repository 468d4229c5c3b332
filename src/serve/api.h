/*
 * The answers: what is served under which path. The page and its parts are texts of the program; all else is asked of
 * the store, in a process of its own (serve/server.h), by functions from a request to bytes.
 *
 * docs/api.yaml describes the paths for users.
 */
#ifndef STOOK_SERVE_API_H
#define STOOK_SERVE_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "serve/http.h"
#include "serve/status.h"
#include "store/store.h"

/* What answers are made from. */
struct api {
	const char *path; /* of the store */
	store_open_fn *open;
	void *context;
	uint64_t store_bytes;
	uint64_t wall_ns, now_ns;    /* the time, by CLOCK_REALTIME and CLOCK_MONOTONIC */
	const struct status *status; /* NULL: no agent */
};

struct asking;

struct api_route {
	const char *path;
	const char *type;	 /* of the text */
	const char *asset;	 /* a text of the program */
	int (*write)(FILE *out); /* of the page: writes what is always the same. 0 or an error */
	int (*answer)(struct asking *asking); /* for api_answer(), if there is no text */
	bool is_public;			      /* has no data: for everybody */
};

/* Returns NULL if there is nothing at this path. */
const struct api_route *api_find(const char *path);

/* Fills in the head and writes the body. 0; or a negative errno: what was written is of no use. */
int api_answer(const struct api_route *route, const struct api *api,
	       const struct http_request *request, struct http_response *response, FILE *body);

/* Gives a browser the cookie; needs no store. */
#define API_SESSION "/api/session"

#endif
