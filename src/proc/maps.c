/* Reading /proc/PID/maps; see maps.h. Parsing is pure, for tests and fuzzing. */
#include "proc/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int maps_open(struct maps *maps, int32_t pid)
{
	char path[64];

	*maps = (struct maps){0};
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps->file = fopen(path, "re");
	return maps->file ? 0 : -errno;
}

void maps_close(struct maps *maps)
{
	if (maps->file)
		(void)fclose(maps->file);
	free(maps->line);
	*maps = (struct maps){0};
}

/* A hexadecimal number and the separator that must follow it. */
static bool take_hex(char **at, char separator, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(*at, &end, 16);
	if (end == *at || *end != separator || errno)
		return false;
	*at = end + 1;
	return true;
}

/* start-end perms offset major:minor inode   path */
bool maps_parse_line(char *line, struct maps_entry *ret)
{
	uint64_t major, minor;
	char *end;

	if (!take_hex(&line, '-', &ret->start) || !take_hex(&line, ' ', &ret->end) ||
	    ret->end <= ret->start || strlen(line) < 5 || line[4] != ' ')
		return false;
	ret->executable = line[2] == 'x';
	line += 5;
	if (!take_hex(&line, ' ', &ret->offset) || !take_hex(&line, ':', &major) ||
	    !take_hex(&line, ' ', &minor))
		return false;
	ret->id = (struct file_id){.major = (uint32_t)major, .minor = (uint32_t)minor};
	ret->id.inode = strtoull(line, &end, 10);
	if (end == line || (*end && *end != ' '))
		return false;
	ret->path = end + strspn(end, " ");
	return true;
}

bool maps_next(struct maps *maps, struct maps_entry *ret)
{
	ssize_t length;

	while ((length = getline(&maps->line, &maps->line_bytes, maps->file)) > 0) {
		if (maps->line[length - 1] == '\n')
			maps->line[length - 1] = '\0';
		if (maps_parse_line(maps->line, ret))
			return true;
	}
	return false;
}
