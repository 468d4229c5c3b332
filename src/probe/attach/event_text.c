/* The texts of tracefs events; see event_text.h. */
#include "probe/attach/event_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

const char *event_text_file(bool is_kernel)
{
	return is_kernel ? "kprobe_events" : "uprobe_events";
}

void event_text_name(char name[EVENT_NAME_BYTES], const struct event_owner *owner, uint32_t serial)
{
	(void)snprintf(name, EVENT_NAME_BYTES, "s%" PRId32 "_%" PRIx64 "_%" PRIu32, owner->pid,
		       owner->start_ns, serial);
}

/* The file by our own descriptor: the very inode, and a path without blanks and colons. */
static void define_user(char text[EVENT_TEXT_BYTES], const char *name, const struct probe *probe,
			int fd)
{
	int length = snprintf(text, EVENT_TEXT_BYTES,
			      "%c:" EVENT_GROUP "/%s /proc/self/fd/%d:0x%" PRIx64,
			      probe->is_return ? 'r' : 'p', name, fd, probe->offset);

	if (probe->semaphore)
		(void)snprintf(text + length, EVENT_TEXT_BYTES - (size_t)length, "(0x%" PRIx64 ")",
			       probe->semaphore);
}

/*
 * The kernel's by its symbol: places told by address alone are all one to it ("unknown+0"), and it
 * refuses the second.
 */
void event_text_define(char text[EVENT_TEXT_BYTES], const char *name, const struct probe *probe,
		       int fd)
{
	if (probe->kind == PROBE_KERNEL)
		(void)snprintf(text, EVENT_TEXT_BYTES, "p:" EVENT_GROUP "/%s %s+0x%" PRIx64, name,
			       probe->symbol, probe->offset);
	else
		define_user(text, name, probe, fd);
}

void event_text_remove(char text[EVENT_TEXT_BYTES], const char *name)
{
	(void)snprintf(text, EVENT_TEXT_BYTES, "-:" EVENT_GROUP "/%s", name);
}

static bool parse_line(const char *line, char ret_name[EVENT_NAME_BYTES],
		       struct event_owner *ret_owner)
{
	static const char group[] = ":" EVENT_GROUP "/";
	const char *name = line + strcspn(line, ":\n");
	size_t length;
	uint32_t serial;

	if (!text_starts_with(name, group))
		return false;
	name += sizeof(group) - 1;
	length = strcspn(name, " \n");
	if (length >= EVENT_NAME_BYTES)
		return false;
	(void)snprintf(ret_name, EVENT_NAME_BYTES, "%.*s", (int)length, name);
	return sscanf(ret_name, "s%" SCNd32 "_%" SCNx64 "_%" SCNu32, &ret_owner->pid,
		      &ret_owner->start_ns, &serial) == 3;
}

bool event_text_next(const char **text, char ret_name[EVENT_NAME_BYTES],
		     struct event_owner *ret_owner)
{
	const char *line;

	while (**text) {
		line = *text;
		*text += strcspn(line, "\n");
		*text += **text == '\n';
		if (parse_line(line, ret_name, ret_owner))
			return true;
	}
	return false;
}
