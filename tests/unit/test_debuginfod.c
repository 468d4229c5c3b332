/*
 * sym/debuginfod: with the real client library and a folder as the server (file://), which the
 * library allows. The folder serves files by name only.
 */
#include "sym/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "sym/names_task.h"
#include "unit/made_code.h"
#include "unit/test.h"

/* Skips the test unless the library loads with its dependencies, as in the child process. */
static void need_library(void)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (!library)
		SKIP("needs libdebuginfod.so.1");
	(void)dlclose(library);
}

/*
 * Builds the code; the environment sets a server and a cache in the test's folder. Root's client is another user.
 */
static struct debuginfod *start(struct made_code *code)
{
	struct debuginfod *client;
	char url[128];

	need_library();
	make_code("sha1");
	open_code(code, "stripped", "");
	CHECK_EQ(chmod(folder, 0755), 0);
	(void)snprintf(url, sizeof(url), "file://%s/server", folder);
	CHECK_EQ(setenv("DEBUGINFOD_URLS", url, 1), 0);
	CHECK_EQ(setenv("DEBUGINFOD_CACHE_PATH", in_folder("cache"), 1), 0);
	client = debuginfod_new();
	CHECK(client != NULL);
	return client;
}

static void finish(struct made_code *code, struct debuginfod *client)
{
	debuginfod_free(client);
	close_code(code);
	leave_folder();
}

/* Copies a file of the folder to where the server expects the debug file of that build id. */
static void serve(const char *name, const char *build_id)
{
	char command[512];

	(void)snprintf(command, sizeof(command),
		       "mkdir -p server/buildid/%s && cp %s server/buildid/%s/debuginfo", build_id,
		       name, build_id);
	CHECK(run_in_folder(command));
}

static int find_place(void *context, const struct worker_want *want, struct worker_place *ret)
{
	return want->kind == WANT_FROM_SERVER ? debuginfod_place(context, want, NULL, ret)
					      : -ENODATA;
}

/* Has a parser look up the function that only the debug file names. True if it has the name. */
static bool finds_name(struct debuginfod *client, const struct made_code *code)
{
	const struct elf_segment *segment = code->image.segments;
	const struct {
		struct names_question head;
		uint64_t offset;
	} asked = {
		.head = {.max_bytes = 1 << 20, .nr = 1},
		.offset = address_in_code("hidden") - segment->vaddr + segment->offset,
	};
	const struct worker_question question = {
		.task = TASK_NAMES,
		.bytes = &asked,
		.nr = sizeof(asked),
		.handle = code->file.fd,
		.most_ns = 60 * NS_PER_SEC,
		.most_bytes = 1 << 20,
		.place = find_place,
		.context = client,
	};
	struct worker *worker = worker_new(NULL);
	struct names_answer answer;
	const char *name;
	bool has_name;
	void *bytes;
	size_t nr;

	CHECK(worker);
	CHECK_EQ(worker_call(worker, PARSER_OTHER_FILES, &question, -1, &bytes, &nr), 0);
	CHECK_EQ(names_answer_parse(bytes, nr, 1, &answer), 0);
	name = names_answer_name(&answer, 0);
	has_name = name && !strcmp(name, "hidden");
	names_answer_clear(&answer);
	worker_free(worker);
	return has_name;
}

TEST(debuginfod_brings_the_debug_file)
{
	struct made_code code;
	struct debuginfod *client = start(&code);

	serve("code.debug", build_id_of(&code));
	CHECK(finds_name(client, &code));
	CHECK(debuginfod_trouble(client) == NULL);
	finish(&code, client);
}

TEST(debuginfod_of_root_has_another_user)
{
	struct made_code code;
	struct debuginfod *client;
	struct stat status;

	if (geteuid() != 0)
		SKIP("needs root, whose client has another user");
	client = start(&code);
	serve("code.debug", build_id_of(&code));
	CHECK(finds_name(client, &code));
	CHECK_EQ(stat(in_folder("cache"), &status), 0);
	CHECK_EQ(status.st_uid, DEBUGINFOD_USER);
	CHECK_EQ(status.st_gid, DEBUGINFOD_USER);
	CHECK_EQ(status.st_mode, S_IFDIR | 0700);
	/* Its files are used, in its folder, and no others. */
	CHECK(run_in_folder("chmod -R a+rX cache && rm -r server"));
	CHECK(finds_name(client, &code));
	CHECK(run_in_folder("chown 0 cache/*/debuginfo"));
	CHECK(!finds_name(client, &code));
	CHECK(run_in_folder("chown 65523 cache/*/debuginfo && mv cache/*/debuginfo . && "
			    "ln -s \"$PWD/debuginfo\" cache/*/"));
	CHECK(!finds_name(client, &code));
	CHECK(debuginfod_trouble(client) == NULL);
	finish(&code, client);
}

TEST(debuginfod_of_root_without_a_folder_of_its_own)
{
	struct made_code code;
	struct debuginfod *client;

	if (geteuid() != 0)
		SKIP("needs root, whose client has another user");
	client = start(&code);
	make_folder("cache");
	serve("code.debug", build_id_of(&code));
	CHECK(!finds_name(client, &code));
	CHECK(debuginfod_trouble(client) != NULL);
	CHECK(strstr(debuginfod_trouble(client), "cache': it is not owned by user 65523"));
	finish(&code, client);
}

TEST(debuginfod_refuses_another_build_id)
{
	struct made_code code;
	struct debuginfod *client = start(&code);

	CHECK(run_in_folder("cc -g -shared -fPIC -Wl,--build-id=0x0123456789 -o other code.c"));
	serve("other", build_id_of(&code));
	CHECK(!finds_name(client, &code));
	CHECK(run_in_folder("test -s cache/*/debuginfo")); /* was downloaded */
	CHECK(debuginfod_trouble(client) == NULL);
	finish(&code, client);
}

TEST(debuginfod_refuses_what_is_no_elf_file)
{
	struct made_code code;
	struct debuginfod *client = start(&code);

	serve("code.c", build_id_of(&code));
	CHECK(!finds_name(client, &code));
	CHECK(debuginfod_trouble(client) == NULL);
	finish(&code, client);
}

TEST(debuginfod_without_the_file)
{
	struct worker_place place;
	struct made_code code;
	struct debuginfod *client = start(&code);

	CHECK(!finds_name(client, &code));
	CHECK_EQ(debuginfod_place(client, &(struct worker_want){0}, NULL, &place), -ENODATA);
	CHECK(debuginfod_trouble(client) == NULL);
	finish(&code, client);
}

TEST(debuginfod_only_where_it_is_asked_for)
{
	CHECK_EQ(unsetenv("DEBUGINFOD_URLS"), 0);
	CHECK(debuginfod_new() == NULL);
	CHECK_EQ(setenv("DEBUGINFOD_URLS", "", 1), 0);
	CHECK(debuginfod_new() == NULL);
	debuginfod_free(NULL);
	CHECK(debuginfod_trouble(NULL) == NULL);
}
