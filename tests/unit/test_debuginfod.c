/*
 * sym/debug_files: with the real client library and a folder as the server (file://), which the
 * library allows. The folder serves files by name only.
 */
#include "sym/debug_files.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
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

/* Builds the code; the environment sets a server and a cache in the test's folder. */
static struct debuginfod *start(struct made_code *code)
{
	struct debuginfod *client;
	char url[128];

	need_library();
	make_code("sha1");
	open_code(code, "stripped", "");
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

static int ask(struct debuginfod *client, const struct made_code *code)
{
	return debuginfod_open(client, code->file.build_id, code->file.build_id_bytes, NULL);
}

TEST(debuginfod_brings_the_debug_file)
{
	struct made_code code;
	struct debuginfod *client = start(&code);
	struct elf_image image;
	int fd;

	serve("code.debug", build_id_of(&code));
	fd = ask(client, &code);
	CHECK(fd >= 0);
	CHECK_EQ(elf_image_open(&image, fd, NULL), 0);
	CHECK(elf_image_has_section(&image, SHT_SYMTAB));
	elf_image_close(&image);
	CHECK_EQ(close(fd), 0);
	CHECK(debuginfod_trouble(client) == NULL);
	finish(&code, client);
}

TEST(debuginfod_refuses_another_build_id)
{
	struct made_code code;
	struct debuginfod *client = start(&code);

	CHECK(run_in_folder("cc -g -shared -fPIC -Wl,--build-id=0x0123456789 -o other code.c"));
	serve("other", build_id_of(&code));
	CHECK_EQ(ask(client, &code), -ENOENT);
	CHECK(run_in_folder("test -s cache/*/debuginfo")); /* was downloaded */
	CHECK(debuginfod_trouble(client) == NULL);
	finish(&code, client);
}

TEST(debuginfod_refuses_what_is_no_elf_file)
{
	struct made_code code;
	struct debuginfod *client = start(&code);

	serve("code.c", build_id_of(&code));
	CHECK_EQ(ask(client, &code), -ENOENT);
	CHECK(debuginfod_trouble(client) == NULL);
	finish(&code, client);
}

TEST(debuginfod_without_the_file)
{
	struct made_code code;
	struct debuginfod *client = start(&code);

	CHECK_EQ(ask(client, &code), -ENOENT);
	CHECK_EQ(debuginfod_open(client, code.file.build_id, 0, NULL), -ENOENT);
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
