/* Tokens, host names and origins. */
#include "serve/guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/text.h"

#define COOKIE_NAME_BYTES 16

int guard_set_token(struct guard *guard, const char *text, size_t nr, struct error *error)
{
	size_t i;

	while (nr && strchr(" \t\r\n", text[nr - 1]))
		nr--;
	if (nr < GUARD_LEAST_TOKEN_BYTES || nr > GUARD_MAX_TOKEN_BYTES)
		return error_set(error, -EINVAL, "the token has %zu bytes, not %d to %d", nr,
				 GUARD_LEAST_TOKEN_BYTES, GUARD_MAX_TOKEN_BYTES);
	for (i = 0; i < nr; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return error_set(error, -EINVAL,
					 "the token has characters other than visible ASCII");
	memcpy(guard->token, text, nr);
	guard->token[nr] = '\0';
	return 0;
}

static int make_secret(char ret[GUARD_SECRET_BYTES])
{
	uint8_t bytes[(GUARD_SECRET_BYTES - 1) / 2];
	size_t i;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (i = 0; i < sizeof(bytes); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

int guard_make_secrets(struct guard *guard, bool makes_token)
{
	int err = make_secret(guard->secret);

	return err || !makes_token ? err : make_secret(guard->token);
}

/* Takes the same time for all texts of the same length. */
static bool is_same(const char *secret, const char *text, size_t nr)
{
	const size_t nr_secret = strlen(secret);
	unsigned char difference = 0;
	size_t i;

	if (!nr_secret || nr != nr_secret)
		return false;
	for (i = 0; i < nr; i++)
		difference |= (unsigned char)(secret[i] ^ text[i]);
	return !difference;
}

/* --- names of hosts --------------------------------------------------------------------------- */

/*
 * True for an address, or localhost, with any port: what reaches us by another name comes from somebody who chose that
 * name. A proxy may forward its own name only if it is told to.
 */
static bool is_host(const char *host)
{
	const char *end = strrchr(host, ':'), *bracket = strchr(host, ']');
	const bool has_port = end && (!bracket || end > bracket);
	size_t nr = has_port ? (size_t)(end - host) : strlen(host);
	char name[INET6_ADDRSTRLEN + 2];
	struct in6_addr address;

	if (has_port && (!end[1] || end[1 + strspn(end + 1, "0123456789")]))
		return false;
	if (!nr || nr >= sizeof(name))
		return false;
	memcpy(name, host, nr);
	name[nr] = '\0';
	if (name[0] == '[' && name[nr - 1] == ']') {
		name[nr - 1] = '\0';
		return inet_pton(AF_INET6, name + 1, &address) == 1;
	}
	return !strcasecmp(name, "localhost") || inet_pton(AF_INET, name, &address) == 1;
}

/* --- sites ------------------------------------------------------------------------------------ */

static bool is_own_origin(const char *origin, const char *host)
{
	static const char *const schemes[] = {"http://", "https://"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(schemes); i++)
		if (text_starts_with(origin, schemes[i]) &&
		    !strcasecmp(origin + strlen(schemes[i]), host))
			return true;
	return false;
}

/* A link on another site may lead to the page, which has no data, and not to data. */
static bool is_cross_site(const struct http_request *request, bool is_public)
{
	const char *site = request->fetch_site;

	if (site && is_public && request->fetch_mode && !strcmp(request->fetch_mode, "navigate"))
		return false;
	if (site)
		return strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
	return request->origin &&
	       (!request->host || !is_own_origin(request->origin, request->host));
}

/* --- tokens ----------------------------------------------------------------------------------- */

static bool has_bearer(const struct guard *guard, const char *authorization)
{
	static const char scheme[] = "Bearer ";
	const size_t nr = sizeof(scheme) - 1;

	return authorization && !strncasecmp(authorization, scheme, nr) &&
	       is_same(guard->token, authorization + nr, strlen(authorization + nr));
}

static const char *cookie_name(const struct guard *guard, char name[COOKIE_NAME_BYTES])
{
	(void)snprintf(name, COOKIE_NAME_BYTES, "stook-%u", guard->port);
	return name;
}

static bool has_cookie(const struct guard *guard, const char *cookies)
{
	char name[COOKIE_NAME_BYTES];
	const size_t nr = strlen(cookie_name(guard, name));

	while (cookies) {
		const char *end;

		cookies += strspn(cookies, " ;");
		end = strchr(cookies, ';');
		if (!strncmp(cookies, name, nr) && cookies[nr] == '=' &&
		    is_same(guard->secret, cookies + nr + 1, strcspn(cookies + nr + 1, ";")))
			return true;
		cookies = end;
	}
	return false;
}

int guard_check(const struct guard *guard, const struct http_request *request, bool is_public)
{
	/* Without a host name, the request is not a browser's. */
	if (request->host ? !is_host(request->host) : *guard->token != '\0')
		return 421;
	if (is_cross_site(request, is_public))
		return 403;
	if (is_public || !*guard->token || has_bearer(guard, request->authorization) ||
	    has_cookie(guard, request->cookie) || guard_is_link(guard, request))
		return 0;
	return 401;
}

bool guard_is_link(const struct guard *guard, const struct http_request *request)
{
	const char *token = http_request_get(request, "token");

	return token && is_same(guard->token, token, strlen(token));
}

void guard_set_cookie(const struct guard *guard, struct http_response *response)
{
	char name[COOKIE_NAME_BYTES];

	if (*guard->token)
		(void)snprintf(response->cookie, sizeof(response->cookie),
			       "%s=%s; Path=/; HttpOnly; SameSite=Strict", cookie_name(guard, name),
			       guard->secret);
}
