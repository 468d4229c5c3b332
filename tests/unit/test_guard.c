/* Who may look: tokens, cookies, names of hosts, sites; and the targets of requests. */
#include "serve/guard.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "serve/http.h"
#include "unit/test.h"

#define TOKEN  "0123456789abcdef"
#define SECRET "fedcba98765432100123456789abcdef"

static const struct guard tcp = {.token = TOKEN, .secret = SECRET, .port = 8080};
static const struct guard local = {.secret = SECRET};

static struct http_request from_curl(void)
{
	return (struct http_request){.host = "127.0.0.1:8080", .authorization = "Bearer " TOKEN};
}

static struct http_request from_browser(void)
{
	return (struct http_request){
		.host = "127.0.0.1:8080",
		.cookie = "stook-8080=" SECRET,
		.fetch_site = "same-origin",
		.fetch_mode = "cors",
	};
}

TEST(a_token_is_needed_over_tcp)
{
	static const char *const wrong[] = {
		"Bearer 0123456789abcdeF",
		"Bearer " TOKEN "x",
		"Bearer 0123456789abcde",
		"Bearer ",
		"Bearer",
		TOKEN,
		"Basic " TOKEN,
		"",
		"Bearer  " TOKEN,
	};
	struct http_request request = from_curl();
	size_t i;

	CHECK_EQ(guard_check(&tcp, &request, false), 0);
	request.authorization = "bearer " TOKEN;
	CHECK_EQ(guard_check(&tcp, &request, false), 0);
	request.authorization = NULL;
	CHECK_EQ(guard_check(&tcp, &request, false), 401);
	CHECK_EQ(guard_check(&tcp, &request, true), 0);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		request.authorization = wrong[i];
		CHECK_EQ(guard_check(&tcp, &request, false), 401);
	}
}

TEST(a_cookie_is_as_good_but_is_not_the_token)
{
	static const char *const wrong[] = {
		"stook-8080=" TOKEN,
		"stook-8081=" SECRET,
		"stook-8080",
		"stook-8080=",
		"=" SECRET,
		"xstook-8080=" SECRET,
		"stook-8080=" SECRET "0",
		";;;",
		"",
	};
	struct http_response response = {0};
	struct http_request request = from_browser();
	size_t i;

	CHECK_EQ(guard_check(&tcp, &request, false), 0);
	request.cookie = "theme=dark; stook-8080=" SECRET "; other=1";
	CHECK_EQ(guard_check(&tcp, &request, false), 0);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		request.cookie = wrong[i];
		CHECK_EQ(guard_check(&tcp, &request, false), 401);
	}
	guard_set_cookie(&tcp, &response);
	CHECK_STR(response.cookie, "stook-8080=" SECRET "; Path=/; HttpOnly; SameSite=Strict");
}

TEST(an_empty_token_lets_nobody_in_by_it)
{
	struct http_request request = {.host = "localhost", .authorization = "Bearer "};

	CHECK(!guard_is_link(&local, &request));
	CHECK_EQ(http_request_parse(&request, "/?token="), 0);
	CHECK(!guard_is_link(&local, &request));
}

TEST(other_names_of_this_host_are_refused)
{
	static const char *const ours[] = {"127.0.0.1",	 "127.0.0.1:8080", "localhost:1",
					   "LOCALHOST",	 "[::1]:8080",	   "[::1]",
					   "10.0.0.7:80"};
	static const char *const others[] = {
		"evil.example",
		"evil.example:8080",
		"127.0.0.1.evil.example",
		"localhost.evil.example",
		"",
		":8080",
		"127.0.0.1:",
		"127.0.0.1:x",
		"[::1",
		"::1",
		"[evil]",
		"[]",
		"[]:1",
		"localhost:8080@evil.example",
		"localhost/",
		" localhost",
		"127.1",
	};
	struct http_request request = from_curl();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ours); i++) {
		request.host = ours[i];
		CHECK_EQ(guard_check(&tcp, &request, false), 0);
		CHECK_EQ(guard_check(&local, &request, false), 0);
	}
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		request.host = others[i];
		CHECK_EQ(guard_check(&tcp, &request, false), 421);
		CHECK_EQ(guard_check(&local, &request, false), 421);
		CHECK_EQ(guard_check(&tcp, &request, true), 421);
	}
	request.host = NULL;
	CHECK_EQ(guard_check(&tcp, &request, false), 421);
	CHECK_EQ(guard_check(&local, &request, false), 0);
}

TEST(other_sites_are_refused)
{
	struct http_request request = from_browser();

	request.fetch_site = "none";
	CHECK_EQ(guard_check(&tcp, &request, false), 0);
	request.fetch_site = "same-site"; /* another port of this host */
	CHECK_EQ(guard_check(&tcp, &request, false), 403);
	request.fetch_site = "cross-site";
	CHECK_EQ(guard_check(&tcp, &request, false), 403);
	CHECK_EQ(guard_check(&tcp, &request, true), 403);
	/* A link leads to the page, but not to data. */
	request.fetch_mode = "navigate";
	CHECK_EQ(guard_check(&tcp, &request, true), 0);
	CHECK_EQ(guard_check(&tcp, &request, false), 403);
	CHECK_EQ(guard_check(&local, &request, false), 403);
	/* Browsers without these headers. */
	request.fetch_site = request.fetch_mode = NULL;
	request.origin = "http://127.0.0.1:8080";
	CHECK_EQ(guard_check(&tcp, &request, false), 0);
	request.origin = "http://127.0.0.1:8081";
	CHECK_EQ(guard_check(&tcp, &request, false), 403);
	request.origin = "null";
	CHECK_EQ(guard_check(&tcp, &request, false), 403);
}

static int try_token(const char *text)
{
	struct guard guard = {.port = 1};
	struct error error;

	return guard_set_token(&guard, text, strlen(text), &error);
}

TEST(tokens_are_long_and_plain)
{
	struct guard guard = {.port = 1};
	char text[GUARD_MAX_TOKEN_BYTES + 2];

	CHECK_EQ(try_token(TOKEN), 0);
	CHECK_EQ(try_token(TOKEN "\n"), 0);
	CHECK_EQ(try_token(TOKEN " \r\n"), 0);
	CHECK_EQ(try_token(""), -EINVAL);
	CHECK_EQ(try_token("short"), -EINVAL);
	CHECK_EQ(try_token("0123456789 abcdef"), -EINVAL);
	CHECK_EQ(try_token(TOKEN "\n" TOKEN), -EINVAL);
	memset(text, 'x', sizeof(text));
	text[GUARD_MAX_TOKEN_BYTES + 1] = '\0';
	CHECK_EQ(try_token(text), -EINVAL);
	text[GUARD_MAX_TOKEN_BYTES] = '\0';
	CHECK_EQ(try_token(text), 0);
	CHECK_EQ(guard_make_secrets(&guard, true), 0);
	CHECK_EQ(strlen(guard.token), 32);
	CHECK_EQ(strlen(guard.secret), 32);
	CHECK(strcmp(guard.token, guard.secret) != 0);
}

/* --- targets ---------------------------------------------------------------------------------- */

static int parse(struct http_request *request, const char *target)
{
	int err = http_request_parse(request, test_guarded(target, strlen(target) + 1));

	CHECK(request->path != NULL);
	return err;
}

TEST(targets_are_split_and_decoded)
{
	struct http_request request = {.host = "x"};

	CHECK_EQ(parse(&request, "/api/profile?from=-1h&by=comm%2Cpid&where=a+b%26c&x&=y#z"), 0);
	CHECK_STR(request.path, "/api/profile");
	CHECK_STR(http_request_get(&request, "from"), "-1h");
	CHECK_STR(http_request_get(&request, "by"), "comm,pid");
	CHECK_STR(http_request_get(&request, "where"), "a b&c");
	CHECK(!http_request_get(&request, "x"));
	CHECK(!http_request_get(&request, "fr"));
	CHECK_EQ(request.nr_parameters, 5);
	CHECK_EQ(parse(&request, "/a%20b+c"), 0);
	CHECK_STR(request.path, "/a b+c");
	CHECK_EQ(parse(&request, "/"), 0);
	CHECK_EQ(parse(&request, "/?"), 0);
	CHECK_EQ(parse(&request, "/??&&&"), 0);
}

TEST(malformed_targets_are_refused)
{
	char text[HTTP_MAX_TARGET_BYTES + 2], many[HTTP_MAX_PARAMETERS * 2 + 8] = "/?";
	struct http_request request;
	size_t i;

	CHECK_EQ(parse(&request, ""), -EINVAL);
	CHECK_EQ(parse(&request, "*"), -EINVAL);
	CHECK_EQ(parse(&request, "http://localhost/"), -EINVAL);
	CHECK_EQ(parse(&request, "/%"), -EINVAL);
	CHECK_EQ(parse(&request, "/%4"), -EINVAL);
	CHECK_EQ(parse(&request, "/%zz"), -EINVAL);
	CHECK_EQ(parse(&request, "/%00"), -EINVAL);
	CHECK_EQ(parse(&request, "/?a=%0"), -EINVAL);
	memset(text, 'x', sizeof(text));
	text[0] = '/';
	text[HTTP_MAX_TARGET_BYTES] = '\0';
	CHECK_EQ(parse(&request, text), -E2BIG);
	text[HTTP_MAX_TARGET_BYTES - 1] = '\0';
	CHECK_EQ(parse(&request, text), 0);
	for (i = 0; i <= HTTP_MAX_PARAMETERS; i++)
		(void)strcat(many, "a&");
	CHECK_EQ(parse(&request, many), -E2BIG);
}
