/* Trees of PMUs for tests, made of tests/unit/pmu_trees.txt; and a tracefs with a few events. */
#ifndef STOOK_TESTS_UNIT_EVENT_FIXTURE_H
#define STOOK_TESTS_UNIT_EVENT_FIXTURE_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "unit/test.h"

#define TREES	    "tests/unit/pmu_trees.txt"
#define TREE_FOLDER "/tmp/stook-pmus-XXXXXX"

/* Writes a file below a folder, with the folders that it needs. */
static inline void tree_write(const char *folder, const char *path, const char *text)
{
	char full[512], *slash;
	FILE *file;

	(void)snprintf(full, sizeof(full), "%s/%s", folder, path);
	for (slash = full + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(full, 0700);
		*slash = '/';
	}
	file = fopen(full, "w");
	CHECK(file);
	(void)fprintf(file, "%s\n", text);
	CHECK_EQ(fclose(file), 0);
}

/* folder: TREE_FOLDER, which becomes the root of the tree. */
static inline void tree_make(const char *name, char folder[])
{
	FILE *trees = fopen(TREES, "r");
	char line[512], *path, *text;
	size_t nr = 0;

	CHECK(trees && mkdtemp(folder));
	while (fgets(line, sizeof(line), trees)) {
		line[strcspn(line, "\n")] = '\0';
		path = strchr(line, '/');
		text = strchr(line, ' ');
		if (line[0] == '#' || !path || !text ||
		    strncmp(line, name, (size_t)(path - line)) != 0 || name[path - line])
			continue;
		*text++ = '\0';
		tree_write(folder, path + 1, text);
		nr++;
	}
	(void)fclose(trees);
	CHECK(nr);
}

static inline int tree_remove_one(const char *path, const struct stat *status, int flag,
				  struct FTW *ftw)
{
	return remove(path);
}

static inline void tree_remove(const char *folder)
{
	(void)nftw(folder, tree_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
