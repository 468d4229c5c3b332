/*
 * Answers: which blocks a range of time consists of, their sum, and the profile of that.
 *
 * The sum has a row for each combination of labels that stay, slice and stack. Only then the stacks are read, each
 * once: a week has hundreds of thousands of entries, and far fewer stacks.
 */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "store/store_state.h"
#include "store/unnamed.h"
#include "store/where.h"

/* No block is longer, unless an epoch was: so far before a range its first block can begin. */
#define LONGEST_NS 7200000000000LL

#define BEGIN_NAP_NS (10 * NS_PER_MS)
#define BEGIN_TRIES  200

/* --- which blocks ----------------------------------------------------------------------------- */

struct chosen_block {
	int64_t id;
	enum block_level level;
	uint64_t start_ns, end_ns, nr_epochs, measured_ns, lost, period_ns;
	int64_t sum; /* as `summed` in the store */
	bool is_chosen, is_unnamed;
};

struct choice {
	struct chosen_block *blocks; /* the longest first */
	size_t nr, capacity;
	struct u64_map by_id; /* → index in blocks, of those that have names */
	uint64_t from_ns, to_ns, most_ns;
};

/* Adds the rows of a statement that selects blocks of a level. */
static int list_level(struct store *store, struct choice *choice, const char *text,
		      enum block_level level, bool is_unnamed)
{
	cleanup(store_finalize) sqlite3_stmt *select = store_prepare(store, text);
	int step;

	if (!select)
		return objects_errno(store->db);
	sqlite3_bind_int64(select, 1, (int64_t)choice->to_ns);
	sqlite3_bind_int64(select, 2, (int64_t)choice->from_ns - LONGEST_NS);
	sqlite3_bind_int64(select, 3, (int64_t)choice->from_ns);
	if (!is_unnamed)
		sqlite3_bind_int64(select, 4, level);
	while ((step = sqlite3_step(select)) == SQLITE_ROW) {
		struct chosen_block block = {
			.id = sqlite3_column_int64(select, 0),
			.level = level,
			.start_ns = (uint64_t)sqlite3_column_int64(select, 1),
			.end_ns = (uint64_t)sqlite3_column_int64(select, 2),
			.sum = sqlite3_column_int64(select, 3),
			.is_unnamed = is_unnamed,
			.nr_epochs = (uint64_t)sqlite3_column_int64(select, 4),
			.measured_ns = (uint64_t)sqlite3_column_int64(select, 5),
			.lost = (uint64_t)sqlite3_column_int64(select, 6),
			.period_ns = (uint64_t)sqlite3_column_int64(select, 7),
		};

		if ((!is_unnamed &&
		     u64_map_set(&choice->by_id, (uint64_t)block.id, choice->nr) < 0) ||
		    ARRAY_ADD(choice->blocks, choice->nr, choice->capacity, block) < 0)
			return -ENOMEM;
	}
	return step == SQLITE_DONE ? 0 : objects_errno(store->db);
}

#define IN_RANGE " start_ns < ?1 AND start_ns > ?2 AND end_ns > ?3 ORDER BY start_ns, id"

static int list_blocks(struct store *store, struct choice *choice)
{
	int level, result = 0;

	for (level = LEVEL_HOUR; level >= LEVEL_EPOCH && !result; level--)
		result = list_level(
			store, choice,
			"SELECT id, start_ns, end_ns, summed, nr_epochs, measured_ns, lost,"
			" period_ns FROM block WHERE level = ?4 AND" IN_RANGE,
			(enum block_level)level, false);
	if (!result)
		result = list_level(store, choice,
				    "SELECT id, start_ns, end_ns, 0, nr_epochs, measured_ns, lost,"
				    " period_ns FROM unnamed WHERE" IN_RANGE,
				    LEVEL_EPOCH, true);
	return result;
}

/* The block that a block is summed up in; NULL: there is none, or it is not known. */
static struct chosen_block *sum_of(const struct choice *choice, const struct chosen_block *block)
{
	const uint64_t *number = block->sum > BLOCK_SUM_UNKNOWN
					 ? u64_map_find(&choice->by_id, (uint64_t)block->sum)
					 : NULL;

	return number ? &choice->blocks[*number] : NULL;
}

/* Where it is not known what a block is summed up in, its times decide. */
static bool spans(const struct chosen_block *longer, const struct chosen_block *block)
{
	return longer->level > block->level && longer->start_ns <= block->start_ns &&
	       longer->end_ns >= block->end_ns;
}

/* True if a longer block has the content of another one. */
static bool has_content_of(const struct choice *choice, const struct chosen_block *longer,
			   const struct chosen_block *block)
{
	const struct chosen_block *sum;

	for (; (sum = sum_of(choice, block)); block = sum)
		if (sum == longer)
			return true;
	return block->sum && spans(longer, block);
}

/* True if a longer chosen block has the content of this one. */
static bool is_covered(const struct choice *choice, const struct chosen_block *block)
{
	const struct chosen_block *sum;
	size_t i;

	for (; (sum = sum_of(choice, block)); block = sum)
		if (sum->is_chosen)
			return true;
	for (i = 0; block->sum && i < choice->nr && choice->blocks[i].level > block->level; i++)
		if (choice->blocks[i].is_chosen && spans(&choice->blocks[i], block))
			return true;
	return false;
}

/* 1: shorter blocks have what a block has from a time on; 0: some of them were removed; or a negative errno. */
static int has_shorter(struct store *store, const struct chosen_block *block, uint64_t from_ns)
{
	cleanup(store_finalize) sqlite3_stmt *select = store_prepare(
		store,
		"SELECT total(nr_epochs), min(start_ns) FROM block"
		" WHERE level = ?1 AND start_ns >= ?2 AND start_ns < ?3 AND summed IN (?4, ?5)");

	if (!select)
		return objects_errno(store->db);
	sqlite3_bind_int64(select, 1, block->level - 1);
	sqlite3_bind_int64(select, 2, (int64_t)block->start_ns);
	sqlite3_bind_int64(select, 3, (int64_t)block->end_ns);
	sqlite3_bind_int64(select, 4, block->id);
	sqlite3_bind_int64(select, 5, BLOCK_SUM_UNKNOWN);
	if (sqlite3_step(select) != SQLITE_ROW)
		return objects_errno(store->db);
	/* The oldest are removed first. Before the first one there may also have been nothing. */
	return (uint64_t)sqlite3_column_double(select, 0) >= block->nr_epochs ||
	       (sqlite3_column_type(select, 1) != SQLITE_NULL &&
		(uint64_t)sqlite3_column_int64(select, 1) <= from_ns);
}

/* A block that does not fit is taken whole, instead of shorter ones, if some of these were removed. 0 or a negative errno. */
static int choose_cut_block(struct store *store, struct choice *choice, struct chosen_block *block)
{
	const uint64_t from_ns =
		block->start_ns > choice->from_ns ? block->start_ns : choice->from_ns;
	const int result = block->level > LEVEL_EPOCH ? has_shorter(store, block, from_ns) : 0;
	size_t i;

	if (result)
		return result < 0 ? result : 0;
	for (i = 0; i < choice->nr; i++)
		if (choice->blocks[i].is_chosen &&
		    has_content_of(choice, block, &choice->blocks[i]))
			choice->blocks[i].is_chosen = false;
	block->is_chosen = true;
	return 0;
}

/* False: a block that the range cuts, or is longer than wanted. */
static bool fits(const struct choice *choice, const struct chosen_block *block)
{
	return block->start_ns >= choice->from_ns && block->end_ns <= choice->to_ns &&
	       (!choice->most_ns || block->level == LEVEL_EPOCH ||
		block->end_ns - block->start_ns <= choice->most_ns);
}

/* The longest blocks that fit, shorter ones for the rest, and cut ones at the ends. */
static int choose_blocks(struct store *store, struct choice *choice)
{
	int level, result = list_blocks(store, choice);
	size_t i;

	for (i = 0; i < choice->nr && !result; i++) {
		struct chosen_block *block = &choice->blocks[i];

		if (fits(choice, block))
			block->is_chosen = !is_covered(choice, block);
	}
	for (level = LEVEL_EPOCH; level < NR_LEVELS && !result; level++)
		for (i = 0; i < choice->nr && !result; i++) {
			struct chosen_block *block = &choice->blocks[i];

			if (block->level == (enum block_level)level && !block->is_chosen &&
			    !fits(choice, block) && !is_covered(choice, block))
				result = choose_cut_block(store, choice, block);
		}
	return result;
}

static void choice_clear(struct choice *choice)
{
	free(choice->blocks);
	u64_map_clear(&choice->by_id);
}

/* --- the sum ---------------------------------------------------------------------------------- */

struct row {
	struct sample_labels labels;
	int64_t stack;
};

struct sum {
	struct store *store;
	const struct store_query *query;
	struct profile *profile;
	struct row *rows;
	size_t nr, capacity;
	struct number_index index;
	struct block_value values[PROFILE_MAX_VALUES];
	uint64_t *amounts[PROFILE_MAX_VALUES]; /* of each row */
	size_t cap_amounts[PROFILE_MAX_VALUES];
	size_t nr_values;
	/* Labels that were met, by the store's number: the index of what stays of them + 1; 0: not wanted. */
	struct u64_map wanted;
	struct sample_labels *labels;
	size_t nr_labels, cap_labels;
	struct u64_map strings; /* of the store: number in the profile */
	uint32_t slice;
	struct profile *unnamed; /* the sum of epochs without names; NULL: there is none */
};

static void sum_clear(struct sum *sum)
{
	size_t i;

	free(sum->rows);
	number_index_clear(&sum->index);
	for (i = 0; i < sum->nr_values; i++)
		free(sum->amounts[i]);
	u64_map_clear(&sum->wanted);
	free(sum->labels);
	u64_map_clear(&sum->strings);
	profile_free(sum->unnamed);
}

/* Returns the profile's number of a string of the store. */
static int64_t take_string(struct sum *sum, int64_t number)
{
	const uint64_t *known = u64_map_find(&sum->strings, (uint64_t)number);
	struct bytes bytes;
	int64_t string;
	int result;

	if (!number)
		return 0;
	if (known)
		return (int64_t)*known;
	result = objects_get(&sum->store->objects, OBJECT_STRING, number, &bytes);
	if (result < 0)
		return result;
	string = profile_add_foreign_string(sum->profile, (const char *)bytes.at, bytes.nr);
	if (string >= 0 && u64_map_set(&sum->strings, (uint64_t)number, (uint64_t)string) < 0)
		return -ENOMEM;
	return string;
}

static bool stays(const struct sum *sum, const char *key)
{
	size_t i;

	if (sum->query->all_labels)
		return true;
	for (i = 0; i < sum->query->nr_labels; i++)
		if (!strcmp(sum->query->labels[i], key))
			return true;
	return false;
}

/* A set of labels with the strings of the profile, for a condition. */
struct seen_labels {
	const struct profile *profile;
	struct sample_labels labels;
	struct set_label others[LABEL_SET_MAX];
	size_t nr_others;
	char number[LABEL_NUMBER_BYTES];
};

static const char *label_text(void *context, const char *key)
{
	struct seen_labels *seen = context;

	return profile_label_text(seen->profile, &seen->labels, seen->others, seen->nr_others, key,
				  seen->number);
}

static int read_labels(struct sum *sum, int64_t number, struct seen_labels *seen)
{
	struct stored_labels stored;
	int result = store_get_labels(sum->store, number, &stored);
	int64_t strings[3];
	size_t i;

	if (result < 0)
		return result;
	strings[0] = take_string(sum, stored.comm);
	strings[1] = take_string(sum, stored.cgroup);
	strings[2] = take_string(sum, stored.probe);
	for (i = 0; i < ARRAY_SIZE(strings); i++)
		if (strings[i] < 0)
			return (int)strings[i];
	*seen = (struct seen_labels){.profile = sum->profile, .nr_others = stored.nr_others};
	seen->labels = (struct sample_labels){
		.comm = (uint32_t)strings[0],
		.cgroup = (uint32_t)strings[1],
		.probe = (uint32_t)strings[2],
		.pid = stored.pid,
		.tid = stored.tid,
		.cpu = stored.cpu,
		.user_end = stored.user_end,
		.kernel_end = stored.kernel_end,
	};
	for (i = 0; i < stored.nr_others; i++) {
		int64_t key = take_string(sum, stored.others[i].key);
		int64_t text = take_string(sum, stored.others[i].text);
		int64_t unit = take_string(sum, stored.others[i].unit);

		if (key < 0 || text < 0 || unit < 0)
			return key < 0 ? (int)key : text < 0 ? (int)text : (int)unit;
		seen->others[i] = (struct set_label){
			.key = (uint32_t)key,
			.text = (uint32_t)text,
			.unit = (uint32_t)unit,
			.number = stored.others[i].number,
		};
	}
	return 0;
}

/* Drops all labels that do not stay. 0 or a negative errno. */
static int drop_labels(const struct sum *sum, struct profile *profile, struct seen_labels *seen)
{
	struct sample_labels *labels = &seen->labels;
	size_t nr = 0, i;
	int64_t set;

	for (i = 0; i < seen->nr_others; i++)
		if (stays(sum, profile_string(profile, seen->others[i].key)))
			seen->others[nr++] = seen->others[i];
	set = nr ? profile_add_label_set(profile, seen->others, nr) : 0;
	if (set < 0)
		return (int)set;
	labels->set = (uint32_t)set;
	labels->comm = stays(sum, "comm") ? labels->comm : 0;
	labels->cgroup = stays(sum, "cgroup") ? labels->cgroup : 0;
	labels->probe = stays(sum, "probe") || stays(sum, "state") ? labels->probe : 0;
	labels->pid = stays(sum, "pid") ? labels->pid : 0;
	labels->tid = stays(sum, "tid") ? labels->tid : 0;
	labels->cpu = stays(sum, "cpu") ? labels->cpu : 0;
	return 0;
}

static bool is_wanted(const struct sum *sum, struct seen_labels *seen)
{
	return !sum->query->where || store_where_matches(sum->query->where, label_text, seen);
}

/* Returns the index + 1 of what stays of a set of labels, 0 if the query does not want it, or a negative errno. */
static int64_t take_labels(struct sum *sum, int64_t number)
{
	const uint64_t *known = u64_map_find(&sum->wanted, (uint64_t)number);
	struct seen_labels seen;
	int64_t kept = 0;
	int result;

	if (known)
		return (int64_t)*known;
	result = read_labels(sum, number, &seen);
	if (result < 0)
		return result;
	if (is_wanted(sum, &seen)) {
		result = drop_labels(sum, sum->profile, &seen);
		if (!result)
			result = ARRAY_ADD(sum->labels, sum->nr_labels, sum->cap_labels,
					   seen.labels);
		kept = result < 0 ? result : (int64_t)sum->nr_labels;
	}
	if (kept >= 0 && u64_map_set(&sum->wanted, (uint64_t)number, (uint64_t)kept) < 0)
		return -ENOMEM;
	return kept;
}

static bool same_labels(const struct sample_labels *a, const struct sample_labels *b)
{
	return a->comm == b->comm && a->cgroup == b->cgroup && a->probe == b->probe &&
	       a->pid == b->pid && a->tid == b->tid && a->cpu == b->cpu && a->set == b->set &&
	       a->slice == b->slice && a->user_end == b->user_end && a->kernel_end == b->kernel_end;
}

static uint64_t hash_row(const struct row *row)
{
	const struct sample_labels *labels = &row->labels;
	uint64_t hash = hash_add((uint64_t)row->stack, labels->slice);

	hash = hash_add(hash, (uint64_t)labels->comm << 32 | labels->cgroup);
	hash = hash_add(hash, (uint64_t)(uint32_t)labels->pid << 32 | (uint32_t)labels->tid);
	hash = hash_add(hash, (uint64_t)labels->set << 32 | labels->probe);
	return hash_add(hash, (uint64_t)(uint32_t)labels->cpu << 16 |
				      (uint64_t)labels->user_end << 8 | labels->kernel_end);
}

/* Returns the number of the row, which is added if needed; or -ENOMEM. */
static int64_t find_row(struct sum *sum, const struct row *row)
{
	uint64_t hash = hash_row(row);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&sum->index, hash, &probe, &number))
		if (sum->rows[number].stack == row->stack &&
		    same_labels(&sum->rows[number].labels, &row->labels))
			return number;
	if (number_index_reserve(&sum->index) < 0 ||
	    ARRAY_ADD(sum->rows, sum->nr, sum->capacity, *row) < 0)
		return -ENOMEM;
	number_index_add(&sum->index, hash, (uint32_t)(sum->nr - 1));
	return (int64_t)sum->nr - 1;
}

/* Returns the number of a value; -E2BIG. */
static int take_value(struct sum *sum, struct block_value value)
{
	size_t i;

	for (i = 0; i < sum->nr_values; i++)
		if (sum->values[i].type == value.type && sum->values[i].unit == value.unit)
			return (int)i;
	if (sum->nr_values == PROFILE_MAX_VALUES)
		return -E2BIG;
	sum->values[sum->nr_values] = value;
	return (int)sum->nr_values++;
}

static int add_amount(struct sum *sum, int value, size_t row, uint64_t amount)
{
	size_t capacity = sum->cap_amounts[value];

	if (row >= capacity) {
		if (ARRAY_RESERVE(sum->amounts[value], sum->cap_amounts[value], row + 1) < 0)
			return -ENOMEM;
		memset(sum->amounts[value] + capacity, 0,
		       (sum->cap_amounts[value] - capacity) * sizeof(uint64_t));
	}
	sum->amounts[value][row] += amount;
	return 0;
}

static int add_entries(struct sum *sum, struct block_reader *reader)
{
	int values[PROFILE_MAX_VALUES], result = 0;
	int64_t kept = 0, row_number, labels = -1;
	struct row row = {0};
	size_t i;

	for (i = 0; i < reader->nr_values; i++) {
		values[i] = take_value(sum, reader->values[i]);
		if (values[i] < 0)
			return values[i];
	}
	while (!result && (result = block_reader_next(reader)) > 0) {
		result = 0;
		if (reader->at.labels != labels)
			kept = take_labels(sum, reader->at.labels);
		labels = reader->at.labels;
		if (kept < 0)
			return (int)kept;
		if (!kept)
			continue;
		row.labels = sum->labels[kept - 1];
		row.labels.slice = sum->slice;
		row.stack = sum->query->no_stacks ? 0 : reader->at.stack;
		row_number = find_row(sum, &row);
		if (row_number < 0)
			return (int)row_number;
		for (i = 0; i < reader->nr_values && !result; i++)
			result = add_amount(sum, values[i], (size_t)row_number, reader->amounts[i]);
	}
	return result;
}

static int choose_slice(struct sum *sum, const struct chosen_block *block)
{
	uint64_t step_ns = sum->query->step_ns, number;
	int64_t slice;

	if (!step_ns)
		return 0;
	number = block->start_ns > sum->query->from_ns
			 ? (block->start_ns - sum->query->from_ns) / step_ns
			 : 0;
	if (number < sum->query->nr_slices)
		sum->query->slices_measured_ns[number] += block->measured_ns;
	slice = profile_add_slice(sum->profile,
				  &(struct time_slice){
					  .start_ns = sum->query->from_ns + number * step_ns,
					  .end_ns = sum->query->from_ns + (number + 1) * step_ns,
				  });
	sum->slice = slice < 0 ? 0 : (uint32_t)slice;
	return slice < 0 ? (int)slice : 0;
}

static int add_block(struct sum *sum, struct bytes bytes)
{
	cleanup(block_reader_clear) struct block_reader reader = {0};
	const int result = block_reader_open(&reader, bytes);

	return result < 0 ? result : add_entries(sum, &reader);
}

/* Chooses samples without names as take_labels() does others. */
static int choose_unnamed(void *context, struct profile *profile, struct sample_labels *labels)
{
	struct sum *sum = context;
	struct seen_labels seen = {.profile = profile, .labels = *labels};
	struct time_slice slice;
	int64_t number = 0;
	int result;

	seen.nr_others = profile_label_set(profile, labels->set, seen.others);
	if (!is_wanted(sum, &seen))
		return 0;
	result = drop_labels(sum, profile, &seen);
	if (!result && sum->slice) {
		slice = profile_slice(sum->profile, sum->slice);
		number = profile_add_slice(profile, &slice);
	}
	if (result < 0 || number < 0)
		return result < 0 ? result : (int)number;
	seen.labels.slice = (uint32_t)number;
	*labels = seen.labels;
	return 1;
}

static int add_unnamed(struct sum *sum, struct bytes bytes)
{
	const struct unnamed_choice choice = {choose_unnamed, sum, sum->query->no_stacks};
	struct profile *profile = NULL;
	int result = unnamed_read(bytes, &choice, &profile);

	if (result < 0)
		return result;
	if (!sum->unnamed) {
		sum->unnamed = profile;
		return 0;
	}
	result = profile_merge(sum->unnamed, profile, 0);
	profile_free(profile);
	return result;
}

static int add_blocks(struct sum *sum, const struct choice *choice)
{
	cleanup(store_finalize) sqlite3_stmt *named =
		store_prepare(sum->store, "SELECT content FROM block WHERE id = ?");
	cleanup(store_finalize) sqlite3_stmt *unnamed =
		store_prepare(sum->store, "SELECT content FROM unnamed WHERE id = ?");
	int result = 0;
	size_t i;

	if (!named || !unnamed)
		return objects_errno(sum->store->db);
	for (i = 0; i < choice->nr && !result; i++) {
		const bool is_unnamed = choice->blocks[i].is_unnamed;
		sqlite3_stmt *select = is_unnamed ? unnamed : named;
		struct bytes bytes;

		if (!choice->blocks[i].is_chosen)
			continue;
		sqlite3_reset(select);
		sqlite3_bind_int64(select, 1, choice->blocks[i].id);
		if (sqlite3_step(select) != SQLITE_ROW)
			return objects_errno(sum->store->db) ?: -EBADMSG;
		bytes = bytes_of(sqlite3_column_blob(select, 0),
				 (size_t)sqlite3_column_bytes(select, 0));
		result = choose_slice(sum, &choice->blocks[i]);
		if (!result)
			result = is_unnamed ? add_unnamed(sum, bytes) : add_block(sum, bytes);
	}
	return result;
}

/* --- the profile ------------------------------------------------------------------------------ */

/* Modules, frames and stacks of the store, as they are in the profile. */
struct export
{
	struct sum *sum;
	struct u64_map modules, frames; /* number in the store: number in the profile */
	struct u64_map stacks;		/* number in the store: index of its length in `all` */
	uint32_t *all;
	size_t nr, capacity;
};

static void export_clear(struct export *export)
{
	u64_map_clear(&export->modules);
	u64_map_clear(&export->frames);
	u64_map_clear(&export->stacks);
	free(export->all);
}

int store_parse_code(struct bytes *bytes, struct module_code *code)
{
	uint64_t flags = bytes_uleb(bytes);
	uint64_t nr = bytes_uleb(bytes);
	const uint8_t *build_id;

	*code = (struct module_code){.is_gone = flags & 1, .is_unread = flags & 2};
	build_id = nr <= sizeof(code->build_id) ? bytes_skip(bytes, nr) : NULL;
	if (!build_id)
		return -EBADMSG;
	memcpy(code->build_id, build_id, nr);
	code->build_id_bytes = (uint8_t)nr;
	while (bytes->nr && !bytes->failed && code->nr_segments < PROFILE_MAX_SEGMENTS)
		code->segments[code->nr_segments++] = (struct module_segment){
			bytes_uleb(bytes), bytes_uleb(bytes), bytes_uleb(bytes)};
	return bytes->failed ? -EBADMSG : 0;
}

int64_t store_add_module(struct profile *profile, const struct module *module)
{
	if (module->kind == MODULE_UNKNOWN)
		return MODULE_NR_UNKNOWN;
	if (module->kind == MODULE_KERNEL)
		return MODULE_NR_KERNEL;
	return profile_add_module(profile, module);
}

static int64_t take_module(struct export *export, int64_t number)
{
	const uint64_t *known = u64_map_find(&export->modules, (uint64_t)number);
	struct profile *profile = export->sum->profile;
	struct module module = {0};
	struct module_code code;
	int64_t name, added;
	struct bytes bytes;
	int result;

	if (known)
		return (int64_t)*known;
	result = objects_get(&export->sum->store->objects, OBJECT_MODULE, number, &bytes);
	if (result < 0)
		return result;
	module.kind = (enum module_kind)bytes_uleb(&bytes);
	name = (int64_t)bytes_uleb(&bytes);
	if (bytes.failed || module.kind > MODULE_RUN_TIME)
		return -EBADMSG;
	name = take_string(export->sum, name);
	if (name < 0)
		return name;
	module.name = (uint32_t)name;
	module.file = (uint32_t)number;
	added = store_add_module(profile, &module);
	if (added >= 0 && bytes.nr) {
		result = store_parse_code(&bytes, &code);
		if (!result)
			result = profile_set_code(profile, (uint32_t)added, &code);
	}
	if (!result && added >= 0 &&
	    u64_map_set(&export->modules, (uint64_t)number, (uint64_t)added) < 0)
		result = -ENOMEM;
	return result < 0 ? result : added;
}

/*
 * Adds a function without a symbol, that has its start for a name. Its frame gets the address of the start, so that
 * a debug file that was found since can name it.
 */
static int64_t add_start(struct profile *profile, enum frame_kind kind, uint32_t module,
			 const struct code_line *line)
{
	const struct module_code *code = profile_code(profile, module);
	uint64_t offset;
	int64_t frame;

	if (!code || module_code_offset(code, profile_start(profile, line->function), &offset) < 0)
		return profile_add_named_frame(profile, kind, module, line, 1);
	frame = profile_add_frame(profile, kind, module, offset);
	if (frame >= 0)
		profile_set_name(profile, (uint32_t)frame, line->function);
	return frame;
}

/* A line without a function and file is code without a name. */
int64_t store_add_lines(struct profile *profile, enum frame_kind kind, uint32_t module,
			const struct code_line *lines, size_t nr)
{
	const bool is_alone = nr == 1 && !lines[0].file;

	if (is_alone && profile_is_start(profile, lines[0].function, module))
		return add_start(profile, kind, module, &lines[0]);
	return profile_add_named_frame(profile, kind, module, lines,
				       is_alone && !lines[0].function ? 0 : nr);
}

static int64_t add_frame(struct export *export, const struct stored_frame *frame)
{
	enum frame_kind kind = frame->is_kernel ? FRAME_KERNEL : FRAME_USER;
	struct code_line lines[STORED_MAX_LINES];
	int64_t module = take_module(export, frame->module);
	size_t i;

	if (module < 0)
		return module;
	if (frame->has_address)
		return profile_add_frame(export->sum->profile, kind, (uint32_t)module,
					 frame->address);
	for (i = 0; i < frame->nr_lines; i++) {
		int64_t function = take_string(export->sum, frame->lines[i].function);
		int64_t file = take_string(export->sum, frame->lines[i].file);

		if (function < 0 || file < 0)
			return function < 0 ? function : file;
		lines[i] = (struct code_line){(uint32_t)function, (uint32_t)file,
					      frame->lines[i].line};
	}
	return store_add_lines(export->sum->profile, kind, (uint32_t)module, lines,
			       frame->nr_lines);
}

static int64_t take_frame(struct export *export, int64_t number)
{
	const uint64_t *known = u64_map_find(&export->frames, (uint64_t)number);
	struct stored_frame frame;
	struct bytes bytes;
	int64_t added;
	int result;

	if (known)
		return (int64_t)*known;
	result = objects_get(&export->sum->store->objects, OBJECT_FRAME, number, &bytes);
	if (!result)
		result = stored_frame_parse(&frame, bytes);
	if (result < 0)
		return result;
	added = add_frame(export, &frame);
	if (added >= 0 && u64_map_set(&export->frames, (uint64_t)number, (uint64_t)added) < 0)
		return -ENOMEM;
	return added;
}

/*
 * Returns the index of a stack in export->all: its length, its number of kernel frames, its frames.
 */
static int64_t take_stack(struct export *export, int64_t number)
{
	const uint64_t *known = u64_map_find(&export->stacks, (uint64_t)number);
	size_t start = export->nr;
	int64_t frame = 0;
	struct bytes bytes;
	uint32_t *head;
	int result;

	if (known)
		return (int64_t)*known;
	result = objects_get(&export->sum->store->objects, OBJECT_STACK, number, &bytes);
	if (result < 0)
		return result;
	/* A frame takes at least one byte. */
	if (ARRAY_RESERVE(export->all, export->capacity, export->nr + bytes.nr + 2) < 0 ||
	    u64_map_set(&export->stacks, (uint64_t)number, start) < 0)
		return -ENOMEM;
	head = export->all + start;
	head[1] = (uint32_t)bytes_uleb(&bytes);
	export->nr += 2;
	while (bytes.nr && !bytes.failed && frame >= 0) {
		frame = take_frame(export, (int64_t)bytes_uleb(&bytes));
		export->all[export->nr++] = (uint32_t)frame;
	}
	head[0] = (uint32_t)(export->nr - start - 2);
	if (frame < 0 || bytes.failed)
		return frame < 0 ? frame : -EBADMSG;
	return (int64_t)start;
}

/*
 * Makes a value of epochs without names the main one, if no block has the wanted one. 1; 0: they do not have it either;
 * or -ENOMEM.
 */
static int choose_unnamed_value(struct sum *sum, const char *wanted)
{
	const int number = sum->unnamed ? profile_find_value(sum->unnamed, wanted) : -ENOENT;
	struct value_type type;

	if (number < 0)
		return 0;
	if (profile_make_value_type(sum->profile, wanted,
				    profile_value_unit(sum->unnamed, (size_t)number), &type) < 0)
		return -ENOMEM;
	profile_set_main_type(sum->profile, type);
	return 1;
}

/* Adds the types of the values, the wanted one as the main value. */
static int add_value_types(struct sum *sum, int numbers[PROFILE_MAX_VALUES])
{
	const char *wanted = sum->query->value ? sum->query->value : PROFILE_CPU_TIME;
	struct value_type types[PROFILE_MAX_VALUES];
	size_t main_value = sum->nr_values, i;
	int chosen = 0;

	for (i = 0; i < sum->nr_values; i++) {
		int64_t type = take_string(sum, sum->values[i].type);
		int64_t unit = take_string(sum, sum->values[i].unit);

		if (type < 0 || unit < 0)
			return type < 0 ? (int)type : (int)unit;
		types[i] = (struct value_type){(uint32_t)type, (uint32_t)unit};
		if (main_value == sum->nr_values &&
		    !strcmp(profile_string(sum->profile, types[i].type), wanted))
			main_value = i;
	}
	if (main_value == sum->nr_values) {
		chosen = choose_unnamed_value(sum, wanted);
		if (chosen < 0)
			return chosen;
		if (!chosen && sum->query->value && (sum->nr_values || sum->unnamed))
			return -EINVAL;
		main_value = 0;
	}
	if (sum->nr_values && !chosen)
		profile_set_main_type(sum->profile, types[main_value]);
	for (i = 0; i < sum->nr_values; i++) {
		numbers[i] = profile_add_value_type(sum->profile, &types[i]);
		if (numbers[i] < 0)
			return numbers[i];
	}
	return 0;
}

/* Adds the samples of epochs without names, whose main value becomes that of the others, if these have one. */
static int merge_unnamed(struct sum *sum)
{
	struct profile *unnamed = sum->unnamed;
	const char *wanted = profile_value_name(sum->profile, 0);
	struct value_type type;
	int number = 0;

	if (!unnamed)
		return 0;
	if (sum->nr_values || profile_find_value(unnamed, wanted) >= 0) {
		if (profile_make_value_type(unnamed, wanted, profile_value_unit(sum->profile, 0),
					    &type) < 0)
			return -ENOMEM;
		number = profile_add_value_type(unnamed, &type);
	}
	if (number >= 0)
		number = profile_choose_value(unnamed, (size_t)number);
	return number < 0 ? number : profile_merge(sum->profile, unnamed, 0);
}

static int make_profile(struct sum *sum)
{
	cleanup(export_clear) struct export export = {.sum = sum};
	int numbers[PROFILE_MAX_VALUES], result = add_value_types(sum, numbers);
	size_t i, k;

	for (i = 0; i < sum->nr && !result; i++) {
		const uint32_t none[2] = {0}, *frames = none;
		int64_t stack = 0, sample;

		if (!sum->query->no_stacks) {
			stack = take_stack(&export, sum->rows[i].stack);
			if (stack < 0)
				return (int)stack;
			frames = export.all + stack;
		}
		sample = profile_add_sample(sum->profile, &sum->rows[i].labels, frames + 2,
					    frames[0], frames[1], 0);
		if (sample < 0)
			return sample == -EINVAL ? -EBADMSG : (int)sample;
		for (k = 0; k < sum->nr_values && !result; k++) {
			uint64_t amount = i < sum->cap_amounts[k] ? sum->amounts[k][i] : 0;

			if (!profile_value_has_room(sum->profile, (size_t)numbers[k], amount))
				return -EOVERFLOW;
			if (amount)
				result = profile_add_value(sum->profile, (uint32_t)sample,
							   (size_t)numbers[k], amount);
		}
	}
	return result < 0 ? result : merge_unnamed(sum);
}

/* --- queries ---------------------------------------------------------------------------------- */

static void add_period(struct store_answer *answer, uint64_t period_ns)
{
	if (!period_ns)
		answer->has_mixed_periods = true;
	else if (!answer->least_period_ns || period_ns < answer->least_period_ns)
		answer->least_period_ns = period_ns;
	if (period_ns > answer->most_period_ns)
		answer->most_period_ns = period_ns;
}

static void add_length(struct store_answer *answer, const struct chosen_block *block)
{
	/* An epoch has at most a minute, unless the host slept or its clock was set. */
	const uint64_t most_ns = (block->level == LEVEL_HOUR ? 3600 : 60) * NS_PER_SEC;
	uint64_t length_ns = block->end_ns > block->start_ns ? block->end_ns - block->start_ns : 0;

	if (length_ns > most_ns)
		length_ns = most_ns;
	if (length_ns > answer->longest_ns)
		answer->longest_ns = length_ns;
}

static void add_to_answer(struct store_answer *answer, const struct choice *choice)
{
	size_t i;

	for (i = 0; i < choice->nr; i++) {
		const struct chosen_block *block = &choice->blocks[i];

		if (!block->is_chosen)
			continue;
		if (!answer->nr_epochs || block->start_ns < answer->from_ns)
			answer->from_ns = block->start_ns;
		if (block->end_ns > answer->to_ns)
			answer->to_ns = block->end_ns;
		answer->nr_epochs += block->nr_epochs;
		answer->measured_ns += block->measured_ns;
		answer->lost += block->lost;
		answer->nr_blocks[block->level]++;
		add_length(answer, block);
		add_period(answer, block->period_ns);
	}
}

/*
 * Begins one state of the store, whatever is written meanwhile. A reader that meets a writer which is making the index
 * of the log is told that the file is read-only: it tries again for a while.
 */
static bool begin(struct store *store)
{
	const struct timespec nap = {.tv_nsec = BEGIN_NAP_NS};
	unsigned tries;

	for (tries = 0; store_execute(store, "BEGIN"); tries++) {
		if (store_execute(store, "SELECT 1 FROM block LIMIT 1") || !store->vfs ||
		    objects_errno(store->db) != -EROFS || tries == BEGIN_TRIES)
			return true; /* an error is reported by who reads on */
		(void)store_execute(store, "ROLLBACK");
		(void)nanosleep(&nap, NULL);
	}
	return false;
}

int store_query(struct store *store, const struct store_query *query, struct profile **ret,
		struct store_answer *ret_answer, struct error *error)
{
	cleanup(choice_clear) struct choice choice = {
		.from_ns = query->from_ns, .to_ns = query->to_ns, .most_ns = query->most_ns};
	cleanup(sum_clear) struct sum sum = {.store = store, .query = query};
	struct store_answer answer = {0};
	int result;

	if (!begin(store))
		return store_error(store, error, "read");
	sum.profile = profile_new();
	result = sum.profile ? choose_blocks(store, &choice) : -ENOMEM;
	if (!result)
		result = add_blocks(&sum, &choice);
	if (!result)
		result = make_profile(&sum);
	objects_release(&store->objects);
	(void)store_execute(store, "ROLLBACK");
	if (result < 0) {
		profile_free(sum.profile);
		if (result == -EINVAL)
			return error_set(error, result, "no value '%s' in store '%s'", query->value,
					 store->path);
		return store_content_error(store, result, error, "read");
	}
	add_to_answer(&answer, &choice);
	profile_set_origin(sum.profile, &(struct profile_origin){
						.time_ns = answer.from_ns,
						.duration_ns = answer.measured_ns,
					});
	*ret = sum.profile;
	*ret_answer = answer;
	return 0;
}

/* Epochs without names are the latest. */
#define LAST_EPOCH(column)                                                           \
	"SELECT coalesce((SELECT " column " FROM unnamed ORDER BY id DESC LIMIT 1)," \
	" (SELECT " column " FROM block WHERE level = 0 ORDER BY id DESC LIMIT 1))"

/* A sum's least or greatest number of both tables; NULL is passed over. */
#define EITHER(of, column)                                              \
	"SELECT " of "(x) FROM (SELECT " of "(" column ") x FROM block" \
	" UNION ALL SELECT " of "(" column ") FROM unnamed)"

int store_extent(struct store *store, struct store_extent *ret, struct error *error)
{
	*ret = (struct store_extent){
		.from_ns = (uint64_t)store_number(store, EITHER("min", "start_ns"), 0),
		.to_ns = (uint64_t)store_number(store, EITHER("max", "end_ns"), 0),
		.nr_epochs =
			(uint64_t)store_number(store,
					       "SELECT (SELECT count(*) FROM block WHERE level = 0)"
					       " + (SELECT count(*) FROM unnamed)",
					       -1),
		.nr_minutes = (uint64_t)store_number(
			store, "SELECT count(*) FROM block WHERE level = 1", -1),
		.nr_hours = (uint64_t)store_number(
			store, "SELECT count(*) FROM block WHERE level = 2", -1),
	};
	ret->last_from_ns = (uint64_t)store_number(store, LAST_EPOCH("start_ns"), 0);
	ret->last_to_ns = (uint64_t)store_number(store, LAST_EPOCH("end_ns"), 0);
	ret->expired_ns =
		(uint64_t)store_number(store, "SELECT value FROM meta WHERE key = 'expired_ns'", 0);
	return ret->nr_epochs == UINT64_MAX ? store_error(store, error, "read") : 0;
}
