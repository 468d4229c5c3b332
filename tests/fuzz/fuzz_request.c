/*
 * Requests to the server: a target, and lines of headers, arbitrary bytes each. Without a token, nothing but the page
 * may be let through; all that is parsed must stay inside the request.
 *
 *	make fuzz && build/fuzz/fuzz_request CORPUS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "fuzz/fuzz.h"
#include "serve/api.h"
#include "serve/guard.h"
#include "serve/http.h"

static void answer(const struct http_request *request)
{
	const struct api_route *route = api_find(request->path);
	/* No such store: the parameters are parsed before it is opened. */
	const struct api api = {.path = "/nonexistent/store", .wall_ns = 1700000000000000000};
	struct http_response response = {0};
	char *body = NULL;
	size_t nr = 0;
	FILE *out;

	if (!route || !route->answer)
		return;
	out = open_memstream(&body, &nr);
	if (!out)
		abort();
	if (api_answer(route, &api, request, &response, out) < 0 || response.status < 200)
		abort();
	(void)fclose(out);
	free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	const struct guard guard = {.token = "a token that is not in the corpus",
				    .secret = "nor is this secret of 32 bytes..",
				    .port = 1};
	const struct guard local = {.port = 0};
	struct http_request request = {.host = NULL};
	const char **const headers[] = {&request.host,		&request.origin,
					&request.fetch_site,	&request.fetch_mode,
					&request.authorization, &request.cookie};
	char *text = malloc(nr + 1), *rest = text, *line;
	const char *target;
	size_t i;

	if (!text)
		return 0;
	memcpy(text, bytes, nr);
	text[nr] = '\0';
	target = strsep(&rest, "\n");
	for (i = 0; i < ARRAY_SIZE(headers) && (line = strsep(&rest, "\n")); i++)
		*headers[i] = *line ? line : NULL;
	if (http_request_parse(&request, target) == 0) {
		if (guard_check(&guard, &request, false) == 0 || guard_is_link(&guard, &request))
			abort();
		(void)guard_check(&guard, &request, true);
		if (guard_check(&local, &request, false) == 0)
			answer(&request);
	}
	free(text);
	return 0;
}
