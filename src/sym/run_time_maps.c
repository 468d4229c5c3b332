/*
 * The maps of processes, one entry per process, and the conversion to readable names. Each
 * form of a name has a function that first checks the form and only then writes; other names are
 * copied. These functions use only the text, so a process' perf map and jitdump give the same
 * names.
 */
#include "sym/run_time_maps.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/text.h"

/* A file that was read last; inode 0: none. */
struct file_read {
	dev_t device;
	ino_t inode;
};

struct entry {
	uint32_t number;      /* of the process */
	uint64_t asked;	      /* sequence number of the latest request */
	struct code_map *map; /* NULL: nothing read yet */
	struct file_read perf_map, jitdump;
	uint64_t perf_at, jitdump_at; /* offsets where reading continues */
	bool is_too_large;	      /* its map is no longer read */
};

struct run_time_maps {
	struct entry *entries;
	size_t nr, capacity;
	size_t max_bytes;
	uint64_t nr_asked;
};

struct run_time_maps *run_time_maps_new(size_t max_bytes)
{
	struct run_time_maps *maps = calloc(1, sizeof(*maps));

	if (!maps)
		return NULL;
	maps->max_bytes = max_bytes;
	return maps;
}

void run_time_maps_limit(struct run_time_maps *maps, size_t max_bytes)
{
	maps->max_bytes = max_bytes;
}

/* Forgets what was read. */
static void forget(struct entry *entry)
{
	code_map_free(entry->map);
	*entry = (struct entry){.number = entry->number, .asked = entry->asked};
}

void run_time_maps_free(struct run_time_maps *maps)
{
	size_t i;

	if (!maps)
		return;
	for (i = 0; i < maps->nr; i++)
		forget(&maps->entries[i]);
	free(maps->entries);
	free(maps);
}

/* --- memory -------------------------------------------------------------------------------- */

static size_t bytes_of_all(const struct run_time_maps *maps)
{
	size_t i, bytes = 0;

	for (i = 0; i < maps->nr; i++)
		if (maps->entries[i].map)
			bytes += code_map_bytes(maps->entries[i].map);
	return bytes;
}

/*
 * Frees maps, except the map of an entry, until all together use at most max_bytes.
 * Processes are requested in the same order again and again, so the map before this one is needed
 * last, and is freed first.
 */
static void give_up(struct run_time_maps *maps, const struct entry *kept, size_t max_bytes)
{
	size_t at = (size_t)(kept - maps->entries), bytes = bytes_of_all(maps), i;

	for (i = 1; i < maps->nr && bytes > max_bytes; i++) {
		struct entry *entry = &maps->entries[(at + maps->nr - i) % maps->nr];

		if (!entry->map)
			continue;
		bytes -= code_map_bytes(entry->map);
		forget(entry);
	}
}

/* Enforces max_bytes: first frees the names of overwritten code, then whole maps. */
static void make_room(struct run_time_maps *maps, const struct entry *kept)
{
	size_t i;

	if (bytes_of_all(maps) <= maps->max_bytes)
		return;
	for (i = 0; i < maps->nr; i++)
		if (maps->entries[i].map)
			(void)code_map_compact(maps->entries[i].map);
	give_up(maps, kept, maps->max_bytes);
}

/* Returns the memory that one process' map may use while the others keep theirs. */
static size_t share_of(const struct run_time_maps *maps, const struct entry *entry)
{
	size_t others = bytes_of_all(maps) - code_map_bytes(entry->map);

	return others < maps->max_bytes ? maps->max_bytes - others : 0;
}

/* --- reading ------------------------------------------------------------------------------- */

/* Returns the entry of a process; a new one takes the place of the one that was not asked for longest, if there are many. */
static struct entry *entry_of(struct run_time_maps *maps, uint32_t number)
{
	struct entry *oldest = maps->entries;
	size_t i;

	for (i = 0; i < maps->nr && maps->entries[i].number != number; i++)
		if (maps->entries[i].asked < oldest->asked)
			oldest = &maps->entries[i];
	if (i < maps->nr)
		return &maps->entries[i];
	if (maps->nr == RUN_TIME_MAPS_MAX) {
		oldest->number = number;
		forget(oldest);
		return oldest;
	}
	if (ARRAY_ADD(maps->entries, maps->nr, maps->capacity, (struct entry){.number = number}) <
	    0)
		return NULL;
	return &maps->entries[maps->nr - 1];
}

static bool is_same(const struct file_read *file, const struct stat *st)
{
	return file->device == st->st_dev && file->inode == st->st_ino;
}

/*
 * True if the perf map is another file than before, or was rewritten from its beginning, as JVMs do
 * at each request (jcmd). A map that was too large is read again only if the file is now shorter
 * than the part already read.
 */
static bool is_another(const struct entry *entry, const struct stat *st, bool is_java)
{
	return entry->perf_map.inode &&
	       ((is_java && !entry->is_too_large) || !is_same(&entry->perf_map, st) ||
		(uint64_t)st->st_size < entry->perf_at);
}

/* Notes which perf map is read, and drops the names of an earlier one. */
static void note_perf_map(struct entry *entry, const struct run_time_files *files)
{
	struct stat st;

	if (files->perf_map < 0 || fstat(files->perf_map, &st) < 0)
		return;
	if (is_another(entry, &st, files->is_java))
		forget(entry);
	entry->perf_map = (struct file_read){st.st_dev, st.st_ino};
}

/*
 * Notes which jitdump is read. Another one, which a forked process has created in place of its parent's, is read from
 * its beginning; the earlier names stay, since the process has inherited their code.
 */
static void note_jitdump(struct entry *entry, const struct run_time_files *files)
{
	struct stat st;

	if (files->jitdump < 0 || fstat(files->jitdump, &st) < 0)
		return;
	if (!is_same(&entry->jitdump, &st))
		entry->jitdump_at = 0;
	entry->jitdump = (struct file_read){st.st_dev, st.st_ino};
}

static bool is_full(int err)
{
	return err == -ENOSPC || err == -EFBIG;
}

/* Continues reading both files, and settles the map. */
static int read_on(struct entry *entry, const struct run_time_files *files,
		   struct read_budget *budget)
{
	int perf_err = 0, err = 0, settle_err;
	size_t nr_bad = 0;

	if (files->perf_map >= 0)
		perf_err = perf_map_read(files->perf_map, entry->map, &entry->perf_at, &nr_bad,
					 budget);
	if (is_full(perf_err) || perf_err == -ENOMEM)
		return perf_err;
	if (files->jitdump >= 0)
		err = jitdump_read(files->jitdump, entry->map, &entry->jitdump_at, budget);
	if (is_full(err) || err == -ENOMEM)
		return err;
	settle_err = code_map_settle(entry->map);
	if (settle_err < 0)
		return settle_err;
	return perf_err < 0 ? perf_err : err;
}

/* As read_on(), within the memory limit; frees the maps of other processes if needed. */
static int read_within_limits(struct run_time_maps *maps, struct entry *entry,
			      const struct run_time_files *files, struct read_budget *budget)
{
	int err;

	code_map_limit(entry->map, share_of(maps, entry));
	err = read_on(entry, files, budget);
	if (err != -ENOSPC)
		return err;
	give_up(maps, entry, 0);
	code_map_limit(entry->map,
		       maps->max_bytes > RUN_TIME_MAP_BYTES ? maps->max_bytes : RUN_TIME_MAP_BYTES);
	return read_on(entry, files, budget);
}

static int update(struct run_time_maps *maps, struct entry *entry,
		  const struct run_time_files *files, struct read_budget *budget)
{
	int err;

	note_perf_map(entry, files);
	note_jitdump(entry, files);
	if (entry->is_too_large)
		return 0;
	if (!entry->map && !(entry->map = code_map_new()))
		return -ENOMEM;
	err = read_within_limits(maps, entry, files, budget);
	if (err == -ENOMEM)
		forget(entry);
	if (!is_full(err))
		return err;
	code_map_free(entry->map);
	entry->map = NULL;
	entry->is_too_large = true;
	return -EFBIG;
}

int run_time_maps_get(struct run_time_maps *maps, uint32_t number,
		      const struct run_time_files *files, struct read_budget *budget,
		      const struct code_map **ret)
{
	struct entry *entry = entry_of(maps, number);
	int err = 0;

	if (!entry)
		return -ENOMEM;
	entry->asked = ++maps->nr_asked;
	make_room(maps, entry);
	if (!files->is_superseded)
		err = update(maps, entry, files, budget);
	if (err != -ENOMEM)
		*ret = entry->map && code_map_nr(entry->map) ? entry->map : NULL;
	return err;
}

/* --- readable names --------------------------------------------------------------------------- */

struct output {
	char *to;
	size_t nr, room; /* room includes the NUL */
};

static void put(struct output *output, const char *text, size_t nr)
{
	size_t room = output->room - output->nr - 1;

	if (nr > room)
		nr = room;
	memcpy(output->to + output->nr, text, nr);
	output->nr += nr;
	output->to[output->nr] = '\0';
}

static void put_text(struct output *output, const char *text)
{
	put(output, text, strlen(text));
}

/* --- Java ---------------------------------------------------------------------------------- */

/* `Lpackage/Class;` and the method after it, the format of JVMTI. */
struct descriptor {
	const char *class, *method;
	size_t nr_class, nr_method;
	const char *next; /* "->…", or the end */
};

static bool parse_descriptor(const char *text, struct descriptor *ret)
{
	const char *semicolon = text + strcspn(text, ";: ()");
	const char *method, *next;

	if (text[0] != 'L' || semicolon == text + 1 || *semicolon != ';')
		return false;
	method = semicolon + 1;
	if (text_starts_with(method, "::"))
		method += 2;
	next = strstr(method, "->");
	*ret = (struct descriptor){
		.class = text + 1,
		.nr_class = (size_t)(semicolon - text) - 1,
		.method = method,
		.nr_method = strcspn(method, "("),
		.next = next ? next : method + strlen(method),
	};
	if (ret->nr_method > (size_t)(ret->next - method))
		ret->nr_method = (size_t)(ret->next - method);
	return ret->nr_method > 0;
}

/* A method, perhaps followed by the methods inlined into it: `Lroot;::f->Linlined;::g`. */
static bool put_descriptors(struct output *output, const char *name)
{
	struct descriptor descriptor;

	if (!parse_descriptor(name, &descriptor))
		return false;
	for (;;) {
		put(output, descriptor.class, descriptor.nr_class);
		put_text(output, ".");
		put(output, descriptor.method, descriptor.nr_method);
		if (!*descriptor.next)
			return true;
		put_text(output, "->");
		name = descriptor.next + strlen("->");
		if (!parse_descriptor(name, &descriptor)) {
			put_text(output, name);
			return true;
		}
	}
}

/* Writes a class name with slashes instead of dots. */
static void put_slashed(struct output *output, const char *class, size_t nr)
{
	size_t at = output->nr;

	put(output, class, nr);
	for (; at < output->nr; at++)
		if (output->to[at] == '.')
			output->to[at] = '/';
}

/* `TYPE package.Class.method(TYPES)`. A method's name may have blanks in it, but no dot. */
static bool put_declaration(struct output *output, const char *name)
{
	const char *type_end = name + strcspn(name, " (");
	const char *parameters = strrchr(name, '(');
	const char *class = type_end + 1, *dot;

	if (*type_end != ' ' || type_end == name || !parameters || parameters < class ||
	    !text_ends_with(name, strlen(name), ")"))
		return false;
	dot = memrchr(class, '.', (size_t)(parameters - class));
	if (!dot || dot == class || dot + 1 == parameters)
		return false;
	put_slashed(output, class, (size_t)(dot - class));
	put(output, dot, (size_t)(parameters - dot));
	return true;
}

/* --- JavaScript ---------------------------------------------------------------------------- */

/* V8's words for the kinds of code from a source file. */
static const struct kind {
	const char *word;
	bool is_function;
	const char *mark; /* the tier's mark, if the name has none */
} kinds[] = {
	{"JS:", true, ""},	 {"LazyCompile:", true, ""},
	{"Function:", true, ""}, {"InterpretedFunction:", true, "~"},
	{"Script:", false, ""},	 {"Eval:", false, ""},
};

static const struct kind *kind_of(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (text_starts_with(name, kinds[i].word))
			return &kinds[i];
	return NULL;
}

/* Returns the length of a tier's mark. A `'` in it means that the code is for one closure only. */
static size_t mark_length(const char *text)
{
	size_t nr = *text && strchr("~^+*", *text) ? 1 : 0;

	return nr && text[1] == '\'' ? 2 : nr;
}

/* Returns where a number at the end of the text begins, with the character before it; 0 if none. */
static size_t before_number(const char *text, size_t nr, char before)
{
	size_t at = nr;

	while (at && isdigit((unsigned char)text[at - 1]))
		at--;
	return at && at < nr && text[at - 1] == before ? at - 1 : 0;
}

/* Returns the length of a WebAssembly function's name without its tier: `NAME-INDEX[-liftoff]`. */
static size_t length_without_tier(const char *text)
{
	static const char *const tiers[] = {"-liftoff", "-turbofan"};
	size_t i, nr = strlen(text);

	for (i = 0; i < ARRAY_SIZE(tiers); i++)
		if (text_ends_with(text, nr, tiers[i]) &&
		    before_number(text, nr - strlen(tiers[i]), '-'))
			return nr - strlen(tiers[i]);
	return nr;
}

static bool put_javascript(struct output *output, const char *name, bool cut_tiers)
{
	const struct kind *kind = kind_of(name);
	const char *mark, *rest;
	size_t nr_mark;

	if (!kind)
		return false;
	mark = name + strlen(kind->word);
	nr_mark = mark_length(mark);
	rest = mark + nr_mark;
	/* Without `:LINE` or `:LINE:COLUMN` at the end it is WebAssembly. */
	if (kind->is_function && !nr_mark && !*kind->mark &&
	    !before_number(rest, strlen(rest), ':')) {
		put(output, name, cut_tiers ? length_without_tier(name) : strlen(name));
		return true;
	}
	if (!kind->is_function)
		put_text(output, kind->word);
	if (!cut_tiers)
		put(output, nr_mark ? mark : kind->mark, nr_mark ? nr_mark : strlen(kind->mark));
	if (kind->is_function && (!*rest || *rest == ' '))
		put_text(output, "(anonymous)");
	put_text(output, rest);
	return true;
}

/* --- .NET ---------------------------------------------------------------------------------- */

/* Writes `TYPE [assembly] Class::Method(TYPES)[Tier]` without the tier. */
static bool put_dotnet(struct output *output, const char *name)
{
	const char *tier = strrchr(name, '[');

	if (!strstr(name, "::") || !tier || tier == name || tier[-1] != ')' ||
	    strcspn(tier, "]") < 2 || strcspn(tier, "]") + 1 != strlen(tier))
		return false;
	put(output, name, (size_t)(tier - name));
	return true;
}

void runtime_name(const char *name, bool is_java, const struct runtime_names_style *style, char *to,
		  size_t nr)
{
	struct output output = {.to = to, .room = nr};

	if (!nr)
		return;
	to[0] = '\0';
	if (is_java && (put_descriptors(&output, name) || put_declaration(&output, name)))
		return;
	if (!is_java && (put_javascript(&output, name, style->cut_tiers) ||
			 (style->cut_tiers && put_dotnet(&output, name))))
		return;
	put_text(&output, name);
}
