/* Names are interned, colours stand by their numbers. What is written is in the order of adding. */
#include "format/flame/palette_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd_io.h"

static bool is_black(struct color color)
{
	return !color.red && !color.green && !color.blue;
}

/* The name's number, with a colour to it; or -ENOMEM. */
static int64_t add_name(struct palette_map *map, const char *name)
{
	int64_t number;

	if (!map->names)
		map->names = strings_new();
	number = map->names ? strings_add(map->names, name) : -ENOMEM;
	if (number < 0 || array_reserve(&map->colors, &map->cap_colors, (size_t)number + 1,
					sizeof(*map->colors)) < 0)
		return -ENOMEM;
	for (; map->nr_colors <= (size_t)number; map->nr_colors++)
		map->colors[map->nr_colors] = (struct color){0};
	return number;
}

const struct color *palette_map_find(struct palette_map *map, const char *name)
{
	int64_t number = add_name(map, name);

	return number < 0 || is_black(map->colors[number]) ? NULL : &map->colors[number];
}

int palette_map_add(struct palette_map *map, const char *name, struct color color)
{
	int64_t number = add_name(map, name);

	if (number < 0)
		return -ENOMEM;
	map->colors[number] = color;
	return 0;
}

static int add_line(struct palette_map *map, char *line)
{
	char *arrow = NULL, *at;
	unsigned red, green, blue;

	for (at = line; (at = strstr(at, "->rgb(")); at++)
		arrow = at; /* the last one: a name may have such a thing in it */
	if (!arrow || sscanf(arrow, "->rgb(%3u,%3u,%3u)", &red, &green, &blue) != 3 || red > 255 ||
	    green > 255 || blue > 255)
		return 0;
	*arrow = '\0';
	return palette_map_add(map, line,
			       (struct color){(uint8_t)red, (uint8_t)green, (uint8_t)blue});
}

int palette_map_read(struct palette_map *map, FILE *in)
{
	cleanup_free char *line = NULL;
	size_t cap = 0;
	int err = 0;

	errno = 0;
	while (!err && getline(&line, &cap, in) >= 0)
		err = add_line(map, line);
	if (!err && !feof(in))
		err = errno ? -errno : -EIO;
	return err;
}

int palette_map_write(const struct palette_map *map, FILE *out)
{
	size_t i;

	errno = 0;
	for (i = 0; i < map->nr_colors; i++) {
		struct color color = map->colors[i];

		if (!is_black(color))
			(void)fprintf(out, "%s->rgb(%u,%u,%u)\n",
				      strings_get(map->names, (uint32_t)i), color.red, color.green,
				      color.blue);
	}
	return stream_finish(out);
}

void palette_map_clear(struct palette_map *map)
{
	strings_free(map->names);
	free(map->colors);
	*map = (struct palette_map){0};
}
