/* A secret is known by its name, so what is none may be taken out, too: --author=… has "auth" in it. */
#include "proc/process_words.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "base/text.h"

/* An environment is searched so far. The kernel's limit for one with its command line is 6 MB by default. */
#define ENVIRONMENT_BYTES (128U << 10)

#define REDACTED "[redacted]"
#define ELLIPSIS "…"

/* --- reading ---------------------------------------------------------------------------------- */

static int open_words(int32_t pid, const char *what)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	return open(path, O_RDONLY | O_CLOEXEC);
}

size_t process_command_read(int32_t pid, char ret[PROCESS_WORDS_BYTES])
{
	cleanup_fd int fd = open_words(pid, "cmdline");
	const ssize_t nr = fd < 0 ? 0 : fd_read_up_to(fd, 0, ret, PROCESS_WORDS_BYTES);

	return nr > 0 ? (size_t)nr : 0;
}

bool process_words_next(struct bytes *words, const char **ret, size_t *ret_nr)
{
	if (!words->nr)
		return false;
	*ret = (const char *)words->at;
	*ret_nr = strnlen(*ret, words->nr);
	(void)bytes_skip(words, *ret_nr < words->nr ? *ret_nr + 1 : words->nr);
	return true;
}

static bool is_wanted(const char *variable, size_t nr, struct bytes names)
{
	const char *name;
	size_t nr_name;

	while (process_words_next(&names, &name, &nr_name))
		if (nr > nr_name && variable[nr_name] == '=' && !memcmp(variable, name, nr_name))
			return true;
	return false;
}

size_t process_variables_read(int32_t pid, struct bytes names, char ret[PROCESS_WORDS_BYTES])
{
	cleanup_fd int fd = names.nr ? open_words(pid, "environ") : -1;
	cleanup_free char *environment = fd < 0 ? NULL : malloc(ENVIRONMENT_BYTES);
	const ssize_t read = environment ? fd_read_up_to(fd, 0, environment, ENVIRONMENT_BYTES) : 0;
	struct bytes rest = bytes_of(environment, read > 0 ? (size_t)read : 0);
	const char *variable;
	size_t nr, nr_kept = 0;

	while (process_words_next(&rest, &variable, &nr))
		if (is_wanted(variable, nr, names) && nr < PROCESS_WORDS_BYTES - nr_kept) {
			memcpy(ret + nr_kept, variable, nr);
			ret[nr_kept + nr] = '\0';
			nr_kept += nr + 1;
		}
	return nr_kept;
}

/* --- secrets ---------------------------------------------------------------------------------- */

/* The length of a text up to its first name of a secret, with that; SIZE_MAX: it has none. */
static size_t nr_with_name(const char *text, size_t nr)
{
	static const char *const names[] = {"passw",	  "passphrase", "pwd",	   "secret",
					    "token",	  "apikey",	"api-key", "api_key",
					    "accesskey",  "access-key", "private", "access_key",
					    "credential", "auth",	"cookie",  "signature"};
	size_t least = SIZE_MAX, i, k;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		const size_t nr_name = strlen(names[i]);

		for (k = 0; k + nr_name <= nr && k + nr_name < least; k++)
			if (!strncasecmp(text + k, names[i], nr_name))
				least = k + nr_name;
	}
	return least;
}

static bool ends_with_pass(const char *text, size_t nr)
{
	return nr >= 4 && !strncasecmp(text + nr - 4, "pass", 4);
}

static bool names_a_secret(const char *name, size_t nr)
{
	return nr_with_name(name, nr) <= nr || ends_with_pass(name, nr);
}

/* Finds where the value of a secret begins, after its name and '=' or ':'. That may be a later value of the word. */
static bool find_value(const char *text, size_t nr, size_t *ret)
{
	const size_t nr_named = nr_with_name(text, nr);
	size_t i;

	for (i = 0; i < nr; i++)
		if ((text[i] == '=' || text[i] == ':') &&
		    (i >= nr_named || ends_with_pass(text, i))) {
			*ret = i + 1;
			return true;
		}
	return false;
}

/* Options that do not say that they have a secret, of programs whose names begin like this. */
static const struct {
	const char *program, *option;
} short_options[] = {
	{"mysql", "-p"},      {"mariadb", "-p"},   {"mongo", "-p"}, {"sshpass", "-p"},
	{"redis-cli", "-a"},  {"redis-be", "-a"},  {"curl", "-u"},  {"ldap", "-w"},
	{"valkey-cli", "-a"}, {"valkey-be", "-a"},
};

/* The state of a command line: what the words so far say about the next one. */
struct joining {
	const struct name_filter *secrets;
	const char *short_option; /* of the latest word that is such a program; "": none */
	bool is_secret_next;
	char *to;
	size_t left; /* without the room for an ellipsis and a NUL */
	bool is_cut;
};

static void put(struct joining *joining, const char *text, size_t nr)
{
	if (joining->is_cut)
		return;
	if (nr > joining->left) {
		joining->is_cut = true;
		nr = joining->left;
		while (nr && ((unsigned char)text[nr] & 0xc0) == 0x80) /* not within a character */
			nr--;
	}
	memcpy(joining->to, text, nr);
	joining->to += nr;
	joining->left -= nr;
}

static void put_redacted(struct joining *joining)
{
	put(joining, REDACTED, strlen(REDACTED));
}

static void note_program(struct joining *joining, const char *word, size_t nr)
{
	const char *slash = memrchr(word, '/', nr);
	const char *name = slash ? slash + 1 : word;
	const size_t nr_name = (size_t)(word + nr - name);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(short_options); i++)
		if (nr_name >= strlen(short_options[i].program) &&
		    !strncmp(name, short_options[i].program, strlen(short_options[i].program)))
			joining->short_option = short_options[i].option;
}

/* The length of a short option that has a secret; 0: the word is none. */
static size_t nr_short_option(const struct joining *joining, const char *word, size_t nr)
{
	const size_t nr_option = strlen(joining->short_option);

	return nr_option && nr >= nr_option && !strncmp(word, joining->short_option, nr_option)
		       ? nr_option
		       : 0;
}

/* Where the password, or the token, of the first URL in a word is; false: nowhere. */
static bool find_password(const char *word, size_t nr, size_t *ret_from, size_t *ret_to)
{
	const char *scheme_end = memmem(word, nr, "://", 3), *user, *at, *colon;
	bool is_web;

	if (!scheme_end)
		return false;
	is_web = text_ends_with(word, (size_t)(scheme_end - word), "http") ||
		 text_ends_with(word, (size_t)(scheme_end - word), "https");
	user = scheme_end + 3;
	at = memrchr(user, '@', (size_t)(word + nr - user));
	if (!at)
		return false;
	colon = memchr(user, ':', (size_t)(at - user));
	/* In a web address, a user without a password is most often a token. */
	if (!colon && (!is_web || memchr(user, '/', (size_t)(at - user))))
		return false;
	*ret_from = (size_t)((colon ? colon + 1 : user) - word);
	*ret_to = (size_t)(at - word);
	return true;
}

static bool matches(const struct name_filter *secrets, const char *word, size_t nr)
{
	char text[PROCESS_WORDS_BYTES + 1];

	if (!secrets || !secrets->nr_excluded)
		return false;
	memcpy(text, word, nr);
	text[nr] = '\0';
	return !name_filter_wants(secrets, text);
}

/* Puts a part without the password of a URL and the value of a secret. False: it has neither. */
static bool put_without_secrets(struct joining *joining, const char *part, size_t nr)
{
	size_t value = nr, from, to;
	const bool has_value = find_value(part, nr, &value);
	const bool has_password = find_password(part, nr, &from, &to) && from < value;

	if (!has_value && !has_password)
		return false;
	put(joining, part, has_password ? from : value);
	put_redacted(joining);
	if (!has_password || to >= value)
		return true;
	put(joining, part + to, value - to);
	if (has_value)
		put_redacted(joining);
	return true;
}

/* A word, or a part of one that has spaces. */
static void join_part(struct joining *joining, const char *part, size_t nr)
{
	const bool is_secret = joining->is_secret_next && nr && *part != '-';
	const size_t nr_short = nr_short_option(joining, part, nr);

	joining->is_secret_next = false;
	if (is_secret) {
		put_redacted(joining);
	} else if (nr_short) {
		put(joining, part, nr_short);
		joining->is_secret_next = nr == nr_short;
		if (nr > nr_short)
			put_redacted(joining);
	} else if (!put_without_secrets(joining, part, nr)) {
		joining->is_secret_next = nr && *part == '-' && names_a_secret(part, nr);
		if (nr && *part != '-')
			note_program(joining, part, nr);
		put(joining, part, nr);
	}
}

static size_t nr_to_space(const char *text, size_t nr)
{
	size_t i = 0;

	while (i < nr && !isspace((unsigned char)text[i]))
		i++;
	return i;
}

/* True if a part has the value of a secret that may have spaces: after its name, or in quotes. */
static bool begins_secret(const struct joining *joining, const char *part, size_t nr)
{
	size_t value;

	return find_value(part, nr, &value) ||
	       (joining->is_secret_next && nr && (*part == '"' || *part == '\''));
}

/* A header or a shell's script is one word: a secret in it may have spaces, and reaches to its end. */
static void join_word(struct joining *joining, const char *word, size_t nr)
{
	size_t nr_part;

	if (matches(joining->secrets, word, nr) ||
	    (joining->is_secret_next && nr && *word != '-')) {
		joining->is_secret_next = false;
		put_redacted(joining);
		return;
	}
	while ((nr_part = nr_to_space(word, nr)) < nr && !begins_secret(joining, word, nr_part)) {
		join_part(joining, word, nr_part);
		put(joining, word + nr_part, 1);
		word += nr_part + 1;
		nr -= nr_part + 1;
	}
	join_part(joining, word, nr);
}

void process_words_join(struct bytes words, const struct name_filter *secrets,
			char ret[PROCESS_WORDS_TEXT_BYTES])
{
	struct joining joining = {
		.secrets = secrets,
		.short_option = "",
		.to = ret,
		.left = PROCESS_WORDS_TEXT_BYTES - sizeof(ELLIPSIS),
	};
	const char *word;
	size_t nr;

	while (process_words_next(&words, &word, &nr)) {
		if (joining.to != ret)
			put(&joining, " ", 1);
		join_word(&joining, word, nr);
	}
	(void)strcpy(joining.to, joining.is_cut ? ELLIPSIS : "");
}
