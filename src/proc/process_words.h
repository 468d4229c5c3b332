/*
 * The words that a process was started with, its command line and variables of its environment, without the secrets
 * that are often among them.
 *
 * Reading them may block, so the opener does it. Secrets are taken out before a text is made.
 */
#ifndef STOOK_PROC_PROCESS_WORDS_H
#define STOOK_PROC_PROCESS_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/matcher.h"

/* Limits: what is read of a command line, and kept of variables together; and of a text, with its NUL. */
#define PROCESS_WORDS_BYTES	 4096
#define PROCESS_WORDS_TEXT_BYTES 1024

/*
 * Read the beginning of the command line; or the variables with these names, each with its NUL, as NAME=VALUE. Return
 * the number of bytes; the last word may be cut, and has no NUL then. 0: there are none, or they may not be read.
 */
size_t process_command_read(int32_t pid, char ret[PROCESS_WORDS_BYTES]);
size_t process_variables_read(int32_t pid, struct bytes names, char ret[PROCESS_WORDS_BYTES]);

/* The next word, without its NUL; false at the end. */
bool process_words_next(struct bytes *words, const char **ret, size_t *ret_nr);

/*
 * Writes the words of a command line with spaces between them. What looks like a secret becomes [redacted]: the value
 * after a name such as --password=…, -DauthToken=… or API_KEY=…, and the word after --password; the password in a URL;
 * known options of some programs, like -p… of mysql; and each word that one of the expressions matches. In a word with
 * spaces, like a shell's script, a value is taken out to the end of the word. What is too long ends with an ellipsis.
 */
void process_words_join(struct bytes words, const struct name_filter *secrets,
			char ret[PROCESS_WORDS_TEXT_BYTES]);

#endif
