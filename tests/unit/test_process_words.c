/* proc/process_words: command lines and variables of processes, and what is a secret in them. */
#include "proc/process_words.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "unit/test.h"

/* Joins words that are given with '|' between them. */
static const char *joined(const char *words, const struct name_filter *secrets)
{
	static char text[PROCESS_WORDS_TEXT_BYTES];
	char bytes[PROCESS_WORDS_BYTES];
	const size_t nr = strlen(words) + 1;
	size_t i;

	memset(text, 'x', sizeof(text));
	for (i = 0; i < nr; i++)
		bytes[i] = (char)(words[i] == '|' ? '\0' : words[i]);
	process_words_join(bytes_of(bytes, nr), secrets, text);
	CHECK(memchr(text, '\0', sizeof(text)));
	return text;
}

TEST(process_words_are_joined)
{
	CHECK_STR(joined("ls", NULL), "ls");
	CHECK_STR(joined("/usr/bin/java|-Xmx2g|-jar|shop.jar", NULL),
		  "/usr/bin/java -Xmx2g -jar shop.jar");
	CHECK_STR(joined("sh|-c|echo a b", NULL), "sh -c echo a b");
	CHECK_STR(joined("printf||x", NULL), "printf  x");
	process_words_join((struct bytes){0}, NULL, (char[PROCESS_WORDS_TEXT_BYTES]){"x"});
}

TEST(process_words_without_secrets)
{
	static const struct {
		const char *words, *text;
	} cases[] = {
		{"a|--password=hunter2|b", "a --password=[redacted] b"},
		{"a|--password|hunter2|b", "a --password [redacted] b"},
		{"a|--password|--user|b", "a --password --user b"},
		{"a|--PassWord:hunter2", "a --PassWord:[redacted]"},
		{"java|-Djavax.net.ssl.keyStorePassword=hunter2|Main",
		 "java -Djavax.net.ssl.keyStorePassword=[redacted] Main"},
		{"env|API_KEY=hunter2|GITHUB_TOKEN=hunter2|A=1|run",
		 "env API_KEY=[redacted] GITHUB_TOKEN=[redacted] A=1 run"},
		{"psql|postgres://app:hunter2@db:5432/shop",
		 "psql postgres://app:[redacted]@db:5432/shop"},
		{"psql|postgres://app:hun@ter2@db/shop", "psql postgres://app:[redacted]@db/shop"},
		{"run|--url=amqp://u:hunter2@mq|x", "run --url=amqp://u:[redacted]@mq x"},
		{"git|clone|https://hunter2@host/a", "git clone https://[redacted]@host/a"},
		{"git|clone|ssh://git@host/a", "git clone ssh://git@host/a"},
		{"wget|http://host/@a", "wget http://host/@a"},
		{"wget|http://host:80/a", "wget http://host:80/a"},
		{"curl|-H|Authorization: Bearer hunter2|http://h/",
		 "curl -H Authorization:[redacted] http://h/"},
		{"curl|-u|me:hunter2|http://h/", "curl -u [redacted] http://h/"},
		{"/usr/bin/mysql|-u|root|-phunter2|shop",
		 "/usr/bin/mysql -u root -p[redacted] shop"},
		{"server|-p8080", "server -p8080"},
		{"redis-cli|-p|6380|-a|hunter2|get|x", "redis-cli -p 6380 -a [redacted] get x"},
		{"sh|-c|mysql -phunter2 shop", "sh -c mysql -p[redacted] shop"},
		{"sh|-c|A=1 TOKEN=hunter2 run", "sh -c A=1 TOKEN=[redacted]"},
		{"sh|-c|A=1 TOKEN='hunter2 hunter3' run", "sh -c A=1 TOKEN=[redacted]"},
		{"sh|-c|A=1 curl -H 'Authorization: Bearer hunter2'",
		 "sh -c A=1 curl -H 'Authorization:[redacted]"},
		{"sh|-c|mysql -phunter2 shop --token=hunter2",
		 "sh -c mysql -p[redacted] shop --token=[redacted]"},
		{"sh|-c|run --password 'hunter2 hunter3'", "sh -c run --password [redacted]"},
		{"sh|-c|set -e\nmysql\t-phunter2 shop", "sh -c set -e\nmysql\t-p[redacted] shop"},
		{"curl|-H|Authorization: Basic aHVudGVyMg==|http://h/",
		 "curl -H Authorization:[redacted] http://h/"},
		{"docker|run|--env=PGPASSWORD=hunter2|db",
		 "docker run --env=PGPASSWORD=[redacted] db"},
		{"java|-Durl=jdbc:postgresql://db/shop?user=me&password=hunter2",
		 "java -Durl=jdbc:postgresql://db/shop?user=me&password=[redacted]"},
		{"run|{\"user\":\"me\",\"password\":\"hunter2\"}",
		 "run {\"user\":\"me\",\"password\":[redacted]"},
		{"run|mongodb://me:hunter2@db/?authSource=admin",
		 "run mongodb://me:[redacted]@db/?authSource=[redacted]"},
		{"run|http://me:token:hunter2@db/", "run http://me:[redacted]"},
		{"sh|-c|export TOKEN=\"hunter2 hunter3\"; run", "sh -c export TOKEN=[redacted]"},
		{"a|--pass|hunter2", "a --pass [redacted]"},
		{"a|--compass=north", "a --compass=[redacted]"}, /* rather too much */
		{"a|--bypass-cache", "a --bypass-cache"},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_STR(joined(cases[i].words, NULL), cases[i].text);
}

TEST(process_words_that_the_user_takes_out)
{
	struct matcher_error fault;
	struct name_filter secrets = {
		.excluded = {matcher_new("^--license", 10, MATCHER_SEARCH, &fault),
			     matcher_new("[0-9]{16}", 9, MATCHER_SEARCH, &fault)},
		.nr_excluded = 2,
	};

	CHECK_STR(joined("pay|--license=abc|1234567812345678|12", &secrets),
		  "pay [redacted] [redacted] 12");
	name_filter_clear(&secrets);
}

/* Too long: cut at a character, and nothing of a secret shows. */
TEST(process_words_that_are_long)
{
	char words[PROCESS_WORDS_BYTES] = "a|";
	const char *text;
	size_t i;

	for (i = 0; i < 700; i++)
		strcat(words, "é");
	text = joined(words, NULL);
	CHECK(strlen(text) < PROCESS_WORDS_TEXT_BYTES);
	CHECK(strlen(text) > PROCESS_WORDS_TEXT_BYTES - 8);
	CHECK_STR(text + strlen(text) - 5, "é…");
	for (i = PROCESS_WORDS_TEXT_BYTES - 30; i < PROCESS_WORDS_TEXT_BYTES + 2; i++) {
		memset(words, 'x', i);
		strcpy(words + i, "|--password=hunter2|TOKEN=hunter2");
		text = joined(words, NULL);
		CHECK(strlen(text) < PROCESS_WORDS_TEXT_BYTES);
		CHECK(!strstr(text, "hunter"));
	}
}

/* Whatever a process has for its words, they are read in no time. */
TEST(process_words_of_signs_only)
{
	const uint64_t began_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	char words[PROCESS_WORDS_BYTES];

	memset(words, ':', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	CHECK_EQ(strlen(joined(words, NULL)), PROCESS_WORDS_TEXT_BYTES - 1);
	CHECK(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns < NS_PER_SEC / 2);
}

/* The last word that was read may have no NUL. */
TEST(process_words_that_are_cut)
{
	struct bytes words = bytes_of("one\0two", 7);
	const char *word;
	size_t nr;

	CHECK(process_words_next(&words, &word, &nr));
	CHECK(nr == 3 && !memcmp(word, "one", 3));
	CHECK(process_words_next(&words, &word, &nr));
	CHECK(nr == 3 && !memcmp(word, "two", 3));
	CHECK(!process_words_next(&words, &word, &nr));
}

TEST(process_words_of_a_process)
{
	static char *argv[] = {(char *)"sleep", (char *)"100", NULL};
	static char *variables[] = {(char *)"ZONE=north", (char *)"ZONES=all",
				    (char *)"ROLE=", (char *)"ZONE2=x", NULL};
	const struct bytes names = bytes_of("ROLE\0ZONE\0NONE", 15);
	char bytes[PROCESS_WORDS_BYTES];
	size_t nr = 0, tries;
	pid_t pid = fork();

	if (!pid) {
		execve("/bin/sleep", argv, variables);
		_exit(127);
	}
	for (tries = 0; tries < 1000 && nr != 10; tries++) { /* until it has executed */
		usleep(10000);
		nr = process_command_read(pid, bytes);
	}
	CHECK_EQ(nr, 10);
	CHECK(!memcmp(bytes, "sleep\000100", 10));
	nr = process_variables_read(pid, names, bytes);
	CHECK_EQ(nr, 17);
	CHECK(!memcmp(bytes, "ZONE=north\0ROLE=", 17));
	CHECK_EQ(process_variables_read(pid, (struct bytes){0}, bytes), 0);
	(void)kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(process_command_read(pid, bytes), 0);
	CHECK_EQ(process_variables_read(pid, names, bytes), 0);
}
