/* Requests: the target of a GET is split, and decoded in place. */
#include "serve/http.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* Decodes %XX, and in parameters also `+`, in place. 0 or -EINVAL. */
static int decode(char *text, bool is_parameter)
{
	char *to = text;

	for (; *text; text++, to++) {
		int high, low;

		*to = *text == '+' && is_parameter ? ' ' : *text;
		if (*text != '%')
			continue;
		high = text_hex_digit(text[1]);
		low = high < 0 ? -1 : text_hex_digit(text[2]);
		if (low < 0 || !(high | low))
			return -EINVAL;
		*to = (char)(high << 4 | low);
		text += 2;
	}
	*to = '\0';
	return 0;
}

static int add_parameter(struct http_request *request, char *text)
{
	char *equals = strchr(text, '=');

	if (!*text)
		return 0;
	if (request->nr_parameters == HTTP_MAX_PARAMETERS)
		return -E2BIG;
	if (equals)
		*equals = '\0';
	request->parameters[request->nr_parameters++] =
		(struct http_parameter){text, equals ? equals + 1 : ""};
	return decode(text, true) ?: equals ? decode(equals + 1, true) : 0;
}

int http_request_parse(struct http_request *request, const char *target)
{
	const size_t nr = strlen(target);
	char *rest = request->text, *text;
	int err;

	request->path = "";
	request->nr_parameters = 0;
	if (nr >= sizeof(request->text))
		return -E2BIG;
	if (*target != '/')
		return -EINVAL;
	memcpy(request->text, target, nr + 1);
	request->text[strcspn(request->text, "#")] = '\0';
	request->path = strsep(&rest, "?");
	err = decode(request->text, false);
	while (!err && (text = strsep(&rest, "&")))
		err = add_parameter(request, text);
	return err;
}

const char *http_request_get(const struct http_request *request, const char *name)
{
	size_t i;

	for (i = 0; i < request->nr_parameters; i++)
		if (!strcmp(request->parameters[i].name, name))
			return *request->parameters[i].value ? request->parameters[i].value : NULL;
	return NULL;
}

const char *http_reason(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
		{200, "OK"},
		{204, "No Content"},
		{303, "See Other"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{414, "URI Too Long"},
		{421, "Misdirected Request"},
		{500, "Internal Server Error"},
		{503, "Service Unavailable"},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Error";
}
