/*
 * Overlapping named ranges; the latest one wins.
 *
 * One array holds the settled pieces, sorted and without overlaps, followed by the ranges added
 * since. Settling sorts only the added ranges, then sweeps over both parts from low to high
 * addresses. A heap holds the ranges that contain the sweep's position, the latest on top: the top
 * range owns the addresses up to its own end or to the start of the next range, whichever comes
 * first. Each range enters and leaves the heap once, hence O(n log n), and n ranges leave at most
 * 2n - 1 pieces.
 *
 * Settling writes to a new array, so that running out of memory loses nothing.
 *
 * A piece takes 24 bytes; all names are in one block. A name equal to the previously added name is
 * shared: some runtimes write one function several times in a row. Names that no piece uses any
 * more are freed only when a limit is hit. Then the pieces are sorted by the offsets of their
 * names, and in that order the names are moved down in place.
 */
#include "sym/code_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct range {
	uint64_t start;
	uint32_t bytes;
	uint32_t name;	   /* offset in names */
	uint32_t behind;   /* distance from the start of the original range to `start` */
	uint32_t sequence; /* grows in the order of adding; 0: settled */
};

struct code_map {
	struct range *ranges;
	size_t nr, capacity;
	size_t nr_settled; /* they come first */
	char *names;
	size_t nr_name_bytes, cap_name_bytes;
	size_t last_name, nr_last_name; /* offset and length of the last name */
	size_t max_bytes;
	bool is_compact; /* nothing was added since the last compacting */
};

/* The state of settling. */
struct sweep {
	const struct code_map *map;
	size_t next_settled, next_added; /* first ranges that start at or after the position */
	uint32_t *heap;			 /* indexes of ranges */
	size_t nr_heap, cap_heap;
	struct range *pieces;
	size_t nr_pieces, cap_pieces;
	const struct range *last_owner; /* owner of the last piece */
	uint64_t position;
};

struct code_map *code_map_new(void)
{
	struct code_map *map = calloc(1, sizeof(*map));

	if (map)
		map->max_bytes = SIZE_MAX;
	return map;
}

void code_map_limit(struct code_map *map, size_t max_bytes)
{
	map->max_bytes = max_bytes;
}

void code_map_free(struct code_map *map)
{
	if (!map)
		return;
	free(map->ranges);
	free(map->names);
	free(map);
}

/* --- adding -------------------------------------------------------------------------------- */

/* After compacting, 1/8 of each limit must be free; see code_map_add(). */
#define SPARE_PARTS 8

static size_t leave(size_t limit, size_t nr_spare)
{
	return limit - limit / SPARE_PARTS * nr_spare;
}

/*
 * True if a range can be added with nr_spare / SPARE_PARTS of the limits left. Ranges count twice:
 * sorting and sweeping need a second copy.
 */
static bool has_room(const struct code_map *map, size_t name_bytes, size_t nr_spare)
{
	size_t nr = map->nr + 1, nr_names = map->nr_name_bytes + 1;

	return name_bytes < CODE_MAP_MAX_NAME_BYTES && nr <= leave(CODE_MAP_MAX_RANGES, nr_spare) &&
	       nr_names + name_bytes <= leave(CODE_MAP_MAX_NAME_BYTES, nr_spare) &&
	       nr * 2 * sizeof(*map->ranges) + nr_names + name_bytes <=
		       leave(map->max_bytes, nr_spare);
}

/* Compacts the map if it is full. 0 if a range can be added, -ENOSPC or -ENOMEM. */
static int make_room(struct code_map *map, size_t name_bytes)
{
	int err;

	if (has_room(map, name_bytes, 0))
		return 0;
	err = code_map_compact(map);
	if (err < 0)
		return err;
	return has_room(map, name_bytes, 1) ? 0 : -ENOSPC;
}

static bool is_last_name(const struct code_map *map, const char *name, size_t nr)
{
	return map->nr_name_bytes && nr == map->nr_last_name &&
	       !memcmp(map->names + map->last_name, name, nr);
}

/* Appends a name unless it equals the last one. 0 or -ENOMEM. */
static int keep_name(struct code_map *map, const char *name, size_t nr)
{
	char *to, *end;

	if (is_last_name(map, name, nr))
		return 0;
	if (ARRAY_RESERVE(map->names, map->cap_name_bytes, map->nr_name_bytes + nr + 1) < 0)
		return -ENOMEM;
	to = map->names + map->nr_name_bytes;
	end = to + nr;
	memcpy(to, name, nr);
	*end = '\0';
	while ((to = memchr(to, '\0', (size_t)(end - to))))
		*to++ = '?';
	map->last_name = map->nr_name_bytes;
	map->nr_last_name = nr;
	map->nr_name_bytes += nr + 1;
	return 0;
}

int code_map_add(struct code_map *map, uint64_t start, uint64_t bytes, const char *name,
		 size_t name_bytes)
{
	int err;

	if (bytes > UINT64_MAX - start)
		bytes = UINT64_MAX - start;
	if (bytes > UINT32_MAX)
		bytes = UINT32_MAX;
	if (!bytes)
		return 0;
	err = make_room(map, name_bytes);
	if (err < 0)
		return err;
	if (ARRAY_RESERVE(map->ranges, map->capacity, map->nr + 1) < 0 ||
	    keep_name(map, name, name_bytes) < 0)
		return -ENOMEM;
	map->ranges[map->nr] = (struct range){
		.start = start,
		.bytes = (uint32_t)bytes,
		.name = (uint32_t)map->last_name,
		.sequence = (uint32_t)map->nr + 1,
	};
	map->nr++;
	map->is_compact = false;
	return 0;
}

/* --- settling ------------------------------------------------------------------------------ */

static int compare_starts(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return COMPARE(a->start, b->start) ?: COMPARE(a->sequence, b->sequence);
}

/* Sorts only if needed: runtimes that write a whole map at once often write it in address order. */
static void sort_added(struct code_map *map)
{
	struct range *added = map->ranges + map->nr_settled;
	size_t nr = map->nr - map->nr_settled, i;

	for (i = 1; i < nr; i++)
		if (compare_starts(&added[i - 1], &added[i]) > 0)
			break;
	if (i < nr)
		qsort(added, nr, sizeof(*added), compare_starts);
}

static uint64_t end_of(const struct range *range)
{
	return range->start + range->bytes;
}

static const struct range *in_heap(const struct sweep *sweep, size_t at)
{
	return &sweep->map->ranges[sweep->heap[at]];
}

static int heap_push(struct sweep *sweep, const struct range *range)
{
	size_t at = sweep->nr_heap;

	if (ARRAY_RESERVE(sweep->heap, sweep->cap_heap, at + 1) < 0)
		return -ENOMEM;
	while (at && in_heap(sweep, (at - 1) / 2)->sequence < range->sequence) {
		sweep->heap[at] = sweep->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	sweep->heap[at] = (uint32_t)(range - sweep->map->ranges);
	sweep->nr_heap++;
	return 0;
}

static void heap_pop(struct sweep *sweep)
{
	size_t nr = --sweep->nr_heap, at = 0, child;
	const struct range *last = in_heap(sweep, nr);

	for (; (child = 2 * at + 1) < nr; at = child) {
		if (child + 1 < nr &&
		    in_heap(sweep, child + 1)->sequence > in_heap(sweep, child)->sequence)
			child++;
		if (in_heap(sweep, child)->sequence <= last->sequence)
			break;
		sweep->heap[at] = sweep->heap[child];
	}
	sweep->heap[at] = sweep->heap[nr];
}

/* Returns the next range to start, settled or added; NULL at the end. */
static const struct range *next_start(const struct sweep *sweep)
{
	const struct code_map *map = sweep->map;
	const struct range *settled = NULL, *added = NULL;

	if (sweep->next_settled < map->nr_settled)
		settled = &map->ranges[sweep->next_settled];
	if (sweep->next_added < map->nr)
		added = &map->ranges[sweep->next_added];
	if (settled && added)
		return settled->start <= added->start ? settled : added;
	return settled ? settled : added;
}

static void step_over(struct sweep *sweep, const struct range *range)
{
	if (range->sequence)
		sweep->next_added++;
	else
		sweep->next_settled++;
}

/* True if `top` covers the rest of a range that starts inside it, and wins. */
static bool hides(const struct range *top, const struct range *range)
{
	return top->sequence > range->sequence && end_of(top) >= end_of(range);
}

/* Moves to the next position that is in a range, and pushes all ranges that start there. */
static int enter_starting(struct sweep *sweep)
{
	const struct range *next = next_start(sweep);

	while (sweep->nr_heap && end_of(in_heap(sweep, 0)) <= sweep->position)
		heap_pop(sweep);
	if (!sweep->nr_heap && next)
		sweep->position = next->start;
	for (; next && next->start == sweep->position; next = next_start(sweep)) {
		step_over(sweep, next);
		if (sweep->nr_heap && hides(in_heap(sweep, 0), next))
			continue;
		if (heap_push(sweep, next) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Adds the piece from the sweep's position to `end` for its owner, and moves the position to `end`.
 */
static int add_piece(struct sweep *sweep, const struct range *owner, uint64_t end)
{
	uint32_t cut = (uint32_t)(sweep->position - owner->start);
	uint32_t bytes = (uint32_t)(end - sweep->position);

	if (sweep->last_owner == owner &&
	    end_of(&sweep->pieces[sweep->nr_pieces - 1]) == sweep->position) {
		sweep->pieces[sweep->nr_pieces - 1].bytes += bytes;
		sweep->position = end;
		return 0;
	}
	if (ARRAY_ADD(sweep->pieces, sweep->nr_pieces, sweep->cap_pieces,
		      (struct range){
			      .start = sweep->position,
			      .bytes = bytes,
			      .name = owner->name,
			      .behind = owner->behind + cut,
		      }) < 0)
		return -ENOMEM;
	sweep->last_owner = owner;
	sweep->position = end;
	return 0;
}

static int run_sweep(struct sweep *sweep)
{
	for (;;) {
		int err = enter_starting(sweep);
		const struct range *next, *owner;
		uint64_t end;

		if (err < 0 || !sweep->nr_heap)
			return err;
		owner = in_heap(sweep, 0);
		next = next_start(sweep);
		end = end_of(owner);
		if (next && next->start < end)
			end = next->start;
		if (add_piece(sweep, owner, end) < 0)
			return -ENOMEM;
	}
}

int code_map_settle(struct code_map *map)
{
	struct sweep sweep = {.map = map, .next_added = map->nr_settled};
	int err;

	if (map->nr_settled == map->nr)
		return 0;
	sort_added(map);
	err = run_sweep(&sweep);
	free(sweep.heap);
	if (err < 0) {
		free(sweep.pieces);
		return err;
	}
	free(map->ranges);
	map->ranges = sweep.pieces;
	map->capacity = sweep.cap_pieces;
	map->nr = map->nr_settled = sweep.nr_pieces;
	array_shrink(&map->ranges, &map->capacity, map->nr, sizeof(*map->ranges));
	array_shrink(&map->names, &map->cap_name_bytes, map->nr_name_bytes, 1);
	return 0;
}

/* --- compacting ---------------------------------------------------------------------------- */

static int compare_names(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return COMPARE(a->name, b->name);
}

/* Moves the name at offset `from` down, to the end of the names kept so far. */
static void move_name(struct code_map *map, size_t from)
{
	map->last_name = map->nr_name_bytes;
	map->nr_last_name = strlen(map->names + from);
	memmove(map->names + map->last_name, map->names + from, map->nr_last_name + 1);
	map->nr_name_bytes += map->nr_last_name + 1;
}

int code_map_compact(struct code_map *map)
{
	size_t i, from = SIZE_MAX;
	int err = code_map_settle(map);

	if (err < 0 || map->is_compact)
		return err;
	if (map->nr)
		qsort(map->ranges, map->nr, sizeof(*map->ranges), compare_names);
	map->nr_name_bytes = 0;
	for (i = 0; i < map->nr; i++) {
		struct range *range = &map->ranges[i];

		if (range->name != from) {
			from = range->name;
			move_name(map, from);
		}
		range->name = (uint32_t)map->last_name;
	}
	if (map->nr)
		qsort(map->ranges, map->nr, sizeof(*map->ranges), compare_starts);
	array_shrink(&map->names, &map->cap_name_bytes, map->nr_name_bytes, 1);
	map->is_compact = true;
	return 0;
}

/* --- looking up ---------------------------------------------------------------------------- */

const char *code_map_find(const struct code_map *map, uint64_t address, uint64_t *ret_start)
{
	size_t next = array_first(map->nr_settled, i, map->ranges[i].start > address);
	const struct range *range;

	if (!next)
		return NULL;
	range = &map->ranges[next - 1];
	if (address - range->start >= range->bytes || !map->names[range->name])
		return NULL;
	if (ret_start)
		*ret_start = range->start - range->behind;
	return map->names + range->name;
}

size_t code_map_nr(const struct code_map *map)
{
	return map->nr;
}

size_t code_map_bytes(const struct code_map *map)
{
	return sizeof(*map) + map->capacity * sizeof(*map->ranges) + map->cap_name_bytes;
}
