/*
 * A store in SQLite: WAL mode with a sync at each commit, so that an appended epoch survives a power loss, and readers
 * never wait for the writer.
 *
 * Blocks come in three lengths. An epoch is appended as it is. When the first epoch of another minute comes, the
 * minute's epochs are summed up in one more block, and when the first minute of another hour comes, that hour's
 * minutes. So a query over a week reads 168 hours and a few minutes and epochs at its ends, and old epochs can go
 * while their sums stay. Each block says which longer one has its content too (`summed`: its id; 1 if an earlier version
 * has written it, which did not tell; 0: none).
 *
 * Names come late, and an epoch must not be lost until then: it is first stored in a row of its own, with all that it
 * refers to (store/unnamed). The transaction that appends the named epoch deletes that row. A writer that was killed in
 * between leaves rows, of which the next one makes ordinary epochs, whose code goes without names.
 *
 * Two things are dropped to keep the store small. Named code has no address: nearly each sample has an address of its
 * own, so with addresses each stack would occur once. Hours have no pids, tids and CPU numbers. Code without a name
 * keeps its address, and its module the build id, so that a debug file that is found later can still name it.
 */
#include "store/store.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/out_file.h"
#include "base/text.h"
#include "profile/profile.h"
#include "store/read_vfs.h"
#include "store/store_state.h"
#include "store/unnamed.h"

#define CACHE_BYTES (2000 << 10) /* SQLite's, of a connection */

#define NS_PER_MINUTE 60000000000ULL
#define NS_PER_HOUR   (60 * NS_PER_MINUTE)

/* Marks the file as ours: "Stok". */
#define APPLICATION_ID "1400139627"

/*
 * Later versions append what they add to the schema; what is here never changes. A store's user_version is the number
 * of these that it has.
 */
static const char *const migrations[] = {
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE string (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, content BLOB NOT "
	"NULL);"
	"CREATE TABLE module (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, content BLOB NOT "
	"NULL);"
	"CREATE TABLE frame (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, content BLOB NOT NULL);"
	"CREATE TABLE stack (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, content BLOB NOT NULL);"
	"CREATE TABLE labels (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, content BLOB NOT "
	"NULL);"
	"CREATE INDEX string_hash ON string (hash);"
	"CREATE INDEX module_hash ON module (hash);"
	"CREATE INDEX frame_hash ON frame (hash);"
	"CREATE INDEX stack_hash ON stack (hash);"
	"CREATE INDEX labels_hash ON labels (hash);"
	"CREATE TABLE block (id INTEGER PRIMARY KEY, level INTEGER NOT NULL,"
	" start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, summed INTEGER NOT NULL,"
	" nr_epochs INTEGER NOT NULL, measured_ns INTEGER NOT NULL, period_ns INTEGER NOT NULL,"
	" lost INTEGER NOT NULL, content BLOB NOT NULL);"
	"CREATE INDEX block_time ON block (level, start_ns);"
	"CREATE INDEX block_unsummed ON block (level, start_ns) WHERE NOT summed;",
	"CREATE TABLE unnamed (id INTEGER PRIMARY KEY, start_ns INTEGER NOT NULL,"
	" end_ns INTEGER NOT NULL, nr_epochs INTEGER NOT NULL, period_ns INTEGER NOT NULL,"
	" lost INTEGER NOT NULL, content BLOB NOT NULL);",
	"ALTER TABLE unnamed ADD COLUMN measured_ns INTEGER NOT NULL DEFAULT 0;"
	"UPDATE unnamed SET measured_ns = max(end_ns - start_ns, 0);",
};

const char *const store_files[STORE_NR_FILES] = {"", "-wal", "-shm"};

static const uint64_t level_ns[NR_LEVELS] = {0, NS_PER_MINUTE, NS_PER_HOUR};

/* --- errors and statements -------------------------------------------------------------------- */

int store_error(const struct store *store, struct error *error, const char *what)
{
	int code = objects_errno(store->db) ?: -EIO;

	return error_set(error, code, "cannot %s store '%s': %s", what, store->path,
			 sqlite3_errmsg(store->db));
}

int store_content_error(const struct store *store, int code, struct error *error, const char *what)
{
	if (code == -ENOMEM)
		return error_no_memory(error, "for the store");
	if (code == -EBADMSG)
		return error_set(error, code, "cannot %s store '%s': it is damaged", what,
				 store->path);
	return error_set(error, code, "cannot %s store '%s': %s", what, store->path,
			 strerror(-code));
}

sqlite3_stmt *store_prepare(const struct store *store, const char *text)
{
	sqlite3_stmt *statement = NULL;

	return sqlite3_prepare_v2(store->db, text, -1, &statement, NULL) == SQLITE_OK ? statement
										      : NULL;
}

void store_finalize(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

bool store_execute(const struct store *store, const char *text)
{
	return sqlite3_exec(store->db, text, NULL, NULL, NULL) == SQLITE_OK;
}

int64_t store_number(const struct store *store, const char *text, int64_t otherwise)
{
	cleanup(store_finalize) sqlite3_stmt *statement = store_prepare(store, text);

	return statement && sqlite3_step(statement) == SQLITE_ROW
		       ? sqlite3_column_int64(statement, 0)
		       : otherwise;
}

int store_ask(const struct store *store, const char *text, int64_t *ret)
{
	cleanup(store_finalize) sqlite3_stmt *statement = store_prepare(store, text);
	const int step = statement ? sqlite3_step(statement) : SQLITE_ERROR;

	*ret = step == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
	return step == SQLITE_ROW || step == SQLITE_DONE ? 0 : objects_errno(store->db) ?: -EIO;
}

/*
 * After an I/O error or on a full disk SQLite can take a transaction back by itself: then what came before is gone, and
 * what followed was a transaction of its own.
 */
int store_end(struct store *store, int result, struct error *error, const char *what)
{
	objects_release(&store->objects);
	if (!result && sqlite3_get_autocommit(store->db))
		result = store_content_error(store, -EIO, error, what);
	if (!result && store_execute(store, "COMMIT"))
		return 0;
	if (!result)
		result = store_error(store, error, what);
	(void)store_execute(store, "ROLLBACK");
	objects_forget(&store->objects);
	return result;
}

/* --- opening ---------------------------------------------------------------------------------- */

static int make_secret(const struct store *store)
{
	char text[96];
	uint64_t secret;

	if (getrandom(&secret, sizeof(secret), 0) != sizeof(secret))
		return -errno;
	(void)snprintf(text, sizeof(text), "INSERT OR IGNORE INTO meta VALUES ('secret', %lld)",
		       (long long)(secret >> 1));
	return store_execute(store, text) ? 0 : -EIO;
}

int store_migrate(struct store *store, const char *const *steps, size_t nr, struct error *error)
{
	int64_t version;
	char text[64];
	int result = 0;

	if (!store_execute(store, "BEGIN IMMEDIATE"))
		return store_error(store, error, "open");
	version = store_number(store, "PRAGMA user_version", -1);
	if (version < 0)
		result = store_error(store, error, "read");
	for (; !result && (size_t)version < nr; version++)
		if (!store_execute(store, steps[version]))
			result = store_error(store, error, "update");
	(void)snprintf(text, sizeof(text), "PRAGMA user_version = %d", (int)nr);
	if (!result && (!store_execute(store, text) || make_secret(store) < 0))
		result = store_error(store, error, "update");
	return store_end(store, result, error, "update");
}

/* Only a writer can bring a store of an earlier version up to date. */
static int check_version(const struct store *store, bool writes, struct error *error)
{
	int64_t version = store_number(store, "PRAGMA user_version", -1);
	int64_t application = store_number(store, "PRAGMA application_id", -1);
	int64_t nr_tables = store_number(store, "SELECT count(*) FROM sqlite_master", -1);

	if (version < 0 || application < 0 || nr_tables < 0)
		return store_error(store, error, "read");
	if (nr_tables ? application != strtoll(APPLICATION_ID, NULL, 10) : !writes)
		return error_set(error, -EBADMSG, "'%s' is not a store of stook", store->path);
	if (version > (int64_t)ARRAY_SIZE(migrations))
		return error_set(error, -EPROTO,
				 "store '%s' was written by a later version of stook", store->path);
	if (!writes && version < (int64_t)ARRAY_SIZE(migrations))
		return error_set(error, -EPROTO,
				 "store '%s' was written by an earlier version of stook, and no "
				 "'stook agent' of this one has opened it since",
				 store->path);
	return 0;
}

/*
 * Refuses files that another user has put into a shared directory (base/file/out_file.h): their owner could read or change
 * what is stored. Checked before anything is read, and again when SQLite has made its files.
 */
static int check_owners(const struct store *store, struct error *error)
{
	static const char *const endings[] = {"", "-wal", "-shm", "-journal", "-lock"};
	const char *slash = strrchr(store->path, '/');
	const int nr = slash ? (int)(slash - store->path) + 1 : 0;
	cleanup_free char *path = text_printf("%.*s.", nr, store->path);
	struct stat folder, status;
	size_t i;

	if (!path)
		return error_no_memory(error, "for the store");
	if (stat(path, &folder) < 0)
		return error_set_errno(error, "cannot open store '%s'", store->path);
	for (i = 0; i < ARRAY_SIZE(endings); i++) {
		free(path);
		path = text_printf("%s%s", store->path, endings[i]);
		if (!path)
			return error_no_memory(error, "for the store");
		if (lstat(path, &status) == 0 && !out_file_is_trusted(&folder, &status)) {
			(void)error_set(error, -EACCES,
					"cannot write to store '%s': '%s' belongs to user %u, in a "
					"directory that others may write to",
					store->path, path, status.st_uid);
			error_hint(error, "choose a file in a directory of your own");
			return -EACCES;
		}
	}
	return 0;
}

/* One process at a time writes. SQLite's own locks last for a transaction only. */
static int lock_for_writing(struct store *store, struct error *error)
{
	cleanup(cleanup_free_pointer) char *path = text_printf("%s-lock", store->path);

	if (!path)
		return error_no_memory(error, "for the store");
	store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (store->lock_fd < 0)
		return error_set_errno(error, "cannot create '%s'", path);
	if (flock(store->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return error_set(error, errno == EWOULDBLOCK ? -EBUSY : -errno,
				 "another process writes to store '%s'", store->path);
	return 0;
}

/* Creates the file with its mode, which SQLite gives to the files beside it too. */
static int create_file(struct store *store, struct error *error)
{
	cleanup_fd int fd = open(store->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return error_set_errno(error, "cannot open store '%s'", store->path);
	store->device = status.st_dev;
	store->inode = status.st_ino;
	return 0;
}

bool store_is_there(const struct store *store)
{
	struct stat status;

	if (lstat(store->path, &status) < 0)
		return errno != ENOENT;
	return status.st_dev == store->device && status.st_ino == store->inode;
}

static bool limit_cache(struct store *store, size_t bytes)
{
	char pragma[64];

	(void)snprintf(pragma, sizeof(pragma), "PRAGMA cache_size = -%zu", bytes >> 10);
	return store_execute(store, pragma);
}

static int open_database(struct store *store, bool writes, struct error *error)
{
	int flags = SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX |
		    (writes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
	const char *vfs = store->vfs ? read_vfs_name(store->vfs) : NULL;
	int result;

	if (sqlite3_open_v2(store->path, &store->db, flags, vfs) != SQLITE_OK)
		return store->db ? store_error(store, error, "open")
				 : error_no_memory(error, "for the store");
	(void)sqlite3_busy_timeout(store->db, STORE_BUSY_MS);
	if (!store_execute(store, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
				  "PRAGMA temp_store = MEMORY") ||
	    !limit_cache(store, CACHE_BYTES))
		return store_error(store, error, "open");
	result = check_version(store, writes, error);
	if (result < 0 || !writes)
		return result;
	/* With secure_delete, a default of some distributions, each page that becomes free would go through the log. */
	if (!store_execute(store, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA secure_delete = FAST;"
				  "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
				  "PRAGMA journal_size_limit = 4194304;"
				  "PRAGMA application_id = " APPLICATION_ID))
		return store_error(store, error, "open");
	return store_migrate(store, migrations, ARRAY_SIZE(migrations), error);
}

int store_open_file(void *context, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

/* opener: of a reader; NULL: a writer. */
static int open_store(const char *path, store_open_fn *opener, void *context, struct store **ret,
		      struct error *error)
{
	struct store *store = calloc(1, sizeof(*store));
	struct error why = {0};
	int64_t secret;
	int result = 0;

	if (!store)
		return error_no_memory(error, "for the store");
	store->lock_fd = -1;
	store->upkeep.slice_bytes = SLICE_BYTES;
	store->path = strdup(path);
	if (!store->path) {
		store_close(store);
		return error_no_memory(error, "for the store");
	}
	if (!opener) {
		result = check_owners(store, error)
				 ?: lock_for_writing(store, error) ?: create_file(store, error);
	} else {
		store->vfs = read_vfs_new(store->path, opener, context, &why);
		if (!store->vfs)
			result = error_set(error, why.code, "%s", why.text);
	}
	if (!result)
		result = open_database(store, !opener, error);
	if (!result && !opener)
		result = check_owners(store, error);
	if (!result) {
		secret = store_number(store, "SELECT value FROM meta WHERE key = 'secret'", -1);
		objects_init(&store->objects, store->db, (uint64_t)secret);
		if (secret < 0)
			result = store_error(store, error, "read");
	}
	if (result < 0)
		store_close(store);
	else
		*ret = store;
	return result;
}

int store_open_writer(const char *path, struct store **ret, struct error *error)
{
	return open_store(path, NULL, NULL, ret, error);
}

int store_open_reader(const char *path, store_open_fn *open, void *context, struct store **ret,
		      struct error *error)
{
	return open_store(path, open ? open : store_open_file, context, ret, error);
}

void store_limit_memory(struct store *store, size_t bytes)
{
	const size_t cache_bytes = bytes / 2 < CACHE_BYTES ? bytes / 2 : CACHE_BYTES;

	(void)limit_cache(store, cache_bytes); /* a failure shows when the store is written */
	objects_limit(&store->objects, bytes - cache_bytes);
}

void store_close(struct store *store)
{
	if (!store)
		return;
	store_end_sweep(store);
	objects_clear(&store->objects);
	sqlite3_close(store->db);
	read_vfs_free(store->vfs);
	cleanup_close_fd(&store->lock_fd);
	free(store->path);
	free(store);
}

/* SQLite's magic number at the beginning, and the application's as a big-endian number. */
#define HEADER_MAGIC	   "SQLite format 3"
#define HEADER_BYTES	   72
#define HEADER_APPLICATION 68

static bool is_store(const char *path)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	uint8_t header[HEADER_BYTES];
	uint32_t application;

	if (fd < 0 || pread(fd, header, sizeof(header), 0) != sizeof(header))
		return false;
	memcpy(&application, header + HEADER_APPLICATION, sizeof(application));
	return !memcmp(header, HEADER_MAGIC, sizeof(HEADER_MAGIC)) &&
	       be32toh(application) == strtoul(APPLICATION_ID, NULL, 10);
}

int store_put_aside(const char *path, char *ret, size_t nr)
{
	char from[4096], to[4096];
	size_t i;

	if (!is_store(path))
		return -EINVAL;
	(void)snprintf(ret, nr, "%s.damaged", path);
	for (i = 0; i < STORE_NR_FILES; i++) {
		(void)snprintf(from, sizeof(from), "%s%s", path, store_files[i]);
		(void)snprintf(to, sizeof(to), "%s%s", ret, store_files[i]);
		if (rename(from, to) < 0) {
			if (errno != ENOENT || !i)
				return -errno;
			(void)unlink(to); /* that of an older one */
		}
	}
	return 0;
}

/* --- labels ----------------------------------------------------------------------------------- */

int64_t store_add_labels(struct store *store, const struct stored_labels *labels)
{
	cleanup(content_clear) struct content content = {0};
	size_t i;

	content_put_uleb(&content, (uint64_t)labels->comm);
	content_put_uleb(&content, (uint64_t)labels->cgroup);
	content_put_uleb(&content, (uint64_t)labels->probe);
	content_put_uleb(&content, (uint32_t)labels->pid);
	content_put_uleb(&content, (uint32_t)labels->tid);
	content_put_uleb(&content, (uint32_t)labels->cpu);
	content_put_uleb(&content, labels->user_end);
	content_put_uleb(&content, labels->kernel_end);
	for (i = 0; i < labels->nr_others; i++) {
		content_put_uleb(&content, (uint64_t)labels->others[i].key);
		content_put_uleb(&content, (uint64_t)labels->others[i].text);
		content_put_uleb(&content, (uint64_t)labels->others[i].unit);
		content_put_uleb(&content, (uint64_t)labels->others[i].number);
	}
	if (content.failed)
		return -ENOMEM;
	return objects_add(&store->objects, OBJECT_LABELS, content.bytes, content.nr);
}

int store_get_labels(struct store *store, int64_t number, struct stored_labels *ret)
{
	struct bytes bytes;
	int result = objects_get(&store->objects, OBJECT_LABELS, number, &bytes);

	if (result < 0)
		return result;
	ret->comm = (int64_t)bytes_uleb(&bytes);
	ret->cgroup = (int64_t)bytes_uleb(&bytes);
	ret->probe = (int64_t)bytes_uleb(&bytes);
	ret->pid = (int32_t)bytes_uleb(&bytes);
	ret->tid = (int32_t)bytes_uleb(&bytes);
	ret->cpu = (int32_t)bytes_uleb(&bytes);
	ret->user_end = (uint8_t)bytes_uleb(&bytes);
	ret->kernel_end = (uint8_t)bytes_uleb(&bytes);
	for (ret->nr_others = 0; bytes.nr && !bytes.failed; ret->nr_others++) {
		struct stored_label *label = &ret->others[ret->nr_others];

		if (ret->nr_others == LABEL_SET_MAX)
			return -EBADMSG;
		label->key = (int64_t)bytes_uleb(&bytes);
		label->text = (int64_t)bytes_uleb(&bytes);
		label->unit = (int64_t)bytes_uleb(&bytes);
		label->number = (int64_t)bytes_uleb(&bytes);
	}
	return bytes.failed ? -EBADMSG : 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

/*
 * Named code has no address, but a line at least. JIT-compiled code is somewhere else in each process, and so is the
 * kernel after each boot. The outermost functions are kept if very many are inlined.
 */
void frame_lines_init(struct frame_lines *lines, const struct profile *profile,
		      const struct frame *frame)
{
	*lines = (struct frame_lines){.name = {.function = frame->function}};
	if (!frame->function && frame->address < PROFILE_NOWHERE)
		return;
	lines->nr = frame->nr_lines ? frame->nr_lines : 1;
	lines->at = frame->nr_lines ? profile_lines(profile, frame) : &lines->name;
	if (lines->nr > STORED_MAX_LINES) {
		lines->at += lines->nr - STORED_MAX_LINES;
		lines->nr = STORED_MAX_LINES;
	}
}

static void put_frame_head(struct content *content, const struct frame *frame, int64_t module,
			   bool has_address)
{
	content->nr = 0;
	content_put_uleb(content, (frame->kind == FRAME_KERNEL ? FRAME_IS_KERNEL : 0) |
					  (has_address ? FRAME_HAS_ADDRESS : 0));
	content_put_uleb(content, (uint64_t)module);
	if (has_address)
		content_put_uleb(content, frame->address);
}

int stored_frame_parse(struct stored_frame *frame, struct bytes bytes)
{
	uint64_t flags = bytes_uleb(&bytes);

	frame->is_kernel = flags & FRAME_IS_KERNEL;
	frame->has_address = flags & FRAME_HAS_ADDRESS;
	frame->module = (int64_t)bytes_uleb(&bytes);
	frame->address = frame->has_address ? bytes_uleb(&bytes) : 0;
	for (frame->nr_lines = 0; bytes.nr && !bytes.failed; frame->nr_lines++) {
		struct stored_line *line = &frame->lines[frame->nr_lines];

		if (frame->nr_lines == STORED_MAX_LINES)
			return -EBADMSG;
		line->function = (int64_t)bytes_uleb(&bytes);
		line->file = (int64_t)bytes_uleb(&bytes);
		line->line = (uint32_t)bytes_uleb(&bytes);
	}
	return bytes.failed ? -EBADMSG : 0;
}

/* --- from a profile --------------------------------------------------------------------------- */

/* The profile's numbers mapped to the store's: 0 is "not yet". */
struct import {
	struct store *store;
	const struct profile *profile;
	int64_t *strings, *modules, *frames;
	struct content content;
	int failure; /* a negative errno: a string could not be added */
};

static int64_t import_string(struct import *import, uint32_t string)
{
	const char *text;

	if (!string)
		return 0;
	if (!import->strings[string]) {
		text = profile_string(import->profile, string);
		import->strings[string] =
			objects_add(&import->store->objects, OBJECT_STRING, text, strlen(text));
	}
	if (import->strings[string] < 0)
		import->failure = (int)import->strings[string];
	return import->strings[string];
}

static void put_string(struct import *import, struct content *content, uint32_t string)
{
	content_put_uleb(content, (uint64_t)import_string(import, string));
}

/* 0 or a negative errno: why the content is not complete. */
static int failure_of(const struct import *import)
{
	return import->failure ? import->failure : import->content.failed ? -ENOMEM : 0;
}

void store_put_code(struct content *content, const struct module_code *code)
{
	size_t i;

	content_put_uleb(content, (uint64_t)code->is_gone | (uint64_t)code->is_unread << 1);
	content_put_uleb(content, code->build_id_bytes);
	content_put(content, code->build_id, code->build_id_bytes);
	for (i = 0; i < code->nr_segments; i++) {
		content_put_uleb(content, code->segments[i].offset);
		content_put_uleb(content, code->segments[i].vaddr);
		content_put_uleb(content, code->segments[i].bytes);
	}
}

static int64_t import_module(struct import *import, uint32_t number)
{
	const struct module *module = profile_module(import->profile, number);
	const struct module_code *code = profile_code(import->profile, number);
	struct content *content = &import->content;

	if (import->modules[number])
		return import->modules[number];
	content->nr = 0;
	content_put_uleb(content, module->kind);
	put_string(import, content, module->name);
	if (code)
		store_put_code(content, code);
	import->modules[number] = failure_of(import)
					  ?: objects_add(&import->store->objects, OBJECT_MODULE,
							 content->bytes, content->nr);
	return import->modules[number];
}

static int64_t import_frame(struct import *import, uint32_t number)
{
	const struct frame *frame = profile_frame(import->profile, number);
	struct content *content = &import->content;
	struct frame_lines lines;
	int64_t module;
	size_t i;

	if (import->frames[number])
		return import->frames[number];
	module = import_module(import, frame->module);
	if (module < 0)
		return module;
	frame_lines_init(&lines, import->profile, frame);
	put_frame_head(content, frame, module, !lines.nr);
	for (i = 0; i < lines.nr; i++) {
		put_string(import, content, lines.at[i].function);
		put_string(import, content, lines.at[i].file);
		content_put_uleb(content, lines.at[i].line);
	}
	import->frames[number] = failure_of(import)
					 ?: objects_add(&import->store->objects, OBJECT_FRAME,
							content->bytes, content->nr);
	return import->frames[number];
}

static int64_t import_stack(struct import *import, const struct sample *sample)
{
	const uint32_t *frames = profile_sample_frames(import->profile, sample);
	cleanup(content_clear) struct content content = {0};
	size_t i;

	content_put_uleb(&content, sample->nr_kernel_frames);
	for (i = 0; i < sample->nr_frames; i++) {
		int64_t frame = import_frame(import, frames[i]);

		if (frame < 0)
			return frame;
		content_put_uleb(&content, (uint64_t)frame);
	}
	if (content.failed)
		return -ENOMEM;
	return objects_add(&import->store->objects, OBJECT_STACK, content.bytes, content.nr);
}

static int64_t import_labels(struct import *import, const struct sample_labels *labels)
{
	struct set_label others[LABEL_SET_MAX];
	struct stored_labels stored = {
		.comm = import_string(import, labels->comm),
		.cgroup = import_string(import, labels->cgroup),
		.probe = import_string(import, labels->probe),
		.pid = labels->pid,
		.tid = labels->tid,
		.cpu = labels->cpu,
		.user_end = labels->user_end,
		.kernel_end = labels->kernel_end,
	};
	size_t i;

	stored.nr_others = profile_label_set(import->profile, labels->set, others);
	for (i = 0; i < stored.nr_others; i++) {
		struct stored_label *label = &stored.others[i];

		label->key = import_string(import, others[i].key);
		label->text = import_string(import, others[i].text);
		label->unit = import_string(import, others[i].unit);
		label->number = others[i].number;
	}
	return import->failure ? import->failure : store_add_labels(import->store, &stored);
}

/* Time on a CPU has one name, whichever clock measured it. */
const char *store_value_type(const struct profile *profile, const struct profile_value *value)
{
	return value->is_event && profile_has_clock_event(profile) ? PROFILE_CPU_TIME : value->type;
}

static int import_values(struct import *import, const struct profile_value *values, size_t nr,
			 struct block *block)
{
	struct objects *objects = &import->store->objects;
	size_t i;

	for (i = 0; i < nr; i++) {
		const char *type = store_value_type(import->profile, &values[i]);
		struct block_value value = {
			.type = objects_add(objects, OBJECT_STRING, type, strlen(type)),
			.unit = objects_add(objects, OBJECT_STRING, values[i].unit,
					    strlen(values[i].unit)),
		};

		if (value.type < 0 || value.unit < 0)
			return (int)(value.type < 0 ? value.type : value.unit);
		if (block_add_value(block, value) != (int)i)
			return -E2BIG;
	}
	return 0;
}

static int import_samples(struct import *import, struct block *block)
{
	struct profile_value values[PROFILE_MAX_VALUES];
	size_t nr_values = profile_values(import->profile, values), k;
	int result = import_values(import, values, nr_values, block);
	int64_t labels, stack;
	uint64_t *amounts;
	uint32_t i;

	if (result < 0)
		return result;
	for (i = 0; i < profile_nr_samples(import->profile); i++) {
		const struct sample *sample = profile_sample(import->profile, i);

		if (!profile_has_value(import->profile, i))
			continue;
		labels = import_labels(import, &sample->labels);
		stack = labels < 0 ? labels : import_stack(import, sample);
		if (stack < 0)
			return (int)stack;
		amounts = block_add_entry(block, labels, stack);
		if (!amounts)
			return -ENOMEM;
		for (k = 0; k < nr_values; k++)
			amounts[k] = profile_value(import->profile, i, values[k].number) *
				     values[k].factor;
	}
	return 0;
}

static void import_clear(struct import *import)
{
	free(import->strings);
	free(import->modules);
	free(import->frames);
	content_clear(&import->content);
}

static int import_profile(struct store *store, const struct profile *profile, struct block *block)
{
	cleanup(import_clear) struct import import = {.store = store, .profile = profile};

	import.strings = calloc((size_t)profile_nr_strings(profile) + 1, sizeof(*import.strings));
	import.modules = calloc(profile_nr_modules(profile) + 1, sizeof(*import.modules));
	import.frames = calloc(profile_nr_frames(profile) + 1, sizeof(*import.frames));
	if (!import.strings || !import.modules || !import.frames)
		return -ENOMEM;
	return import_samples(&import, block);
}

/* --- blocks ----------------------------------------------------------------------------------- */

struct block_head {
	enum block_level level;
	struct store_epoch epoch; /* lost and measured: of all; period: 0 if they differ */
	uint64_t nr_epochs;
};

static int write_block(struct store *store, const struct block_head *head, struct block *block,
		       struct error *error)
{
	cleanup(store_finalize) sqlite3_stmt *add = store_prepare(
		store, "INSERT INTO block (level, start_ns, end_ns, summed, nr_epochs, measured_ns,"
		       " period_ns, lost, content) VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?)");
	cleanup(content_clear) struct content content = {0};

	if (block_write(block, &content) < 0)
		return error_no_memory(error, "for the store");
	if (!add)
		return store_error(store, error, "write to");
	sqlite3_bind_int64(add, 1, head->level);
	sqlite3_bind_int64(add, 2, (int64_t)head->epoch.start_ns);
	sqlite3_bind_int64(add, 3, (int64_t)head->epoch.end_ns);
	sqlite3_bind_int64(add, 4, (int64_t)head->nr_epochs);
	sqlite3_bind_int64(add, 5, (int64_t)head->epoch.measured_ns);
	sqlite3_bind_int64(add, 6, (int64_t)head->epoch.period_ns);
	sqlite3_bind_int64(add, 7, (int64_t)head->epoch.lost);
	sqlite3_bind_blob64(add, 8, content.bytes, content.nr, SQLITE_STATIC);
	return sqlite3_step(add) == SQLITE_DONE ? 0 : store_error(store, error, "write to");
}

/* Hours have no labels that many processes would differ in. */
static int64_t labels_of_hour(void *context, int64_t number)
{
	struct store *store = context;
	struct stored_labels labels;
	int result = store_get_labels(store, number, &labels);

	if (result < 0)
		return result;
	if (!labels.pid && !labels.tid && !labels.cpu)
		return number;
	labels.pid = labels.tid = labels.cpu = 0;
	return store_add_labels(store, &labels);
}

static void add_head(struct block_head *sum, sqlite3_stmt *row)
{
	uint64_t start_ns = (uint64_t)sqlite3_column_int64(row, 1);
	uint64_t end_ns = (uint64_t)sqlite3_column_int64(row, 2);
	uint64_t period_ns = (uint64_t)sqlite3_column_int64(row, 5);

	if (!sum->nr_epochs) {
		sum->epoch.start_ns = start_ns;
		sum->epoch.period_ns = period_ns;
	}
	if (start_ns < sum->epoch.start_ns)
		sum->epoch.start_ns = start_ns;
	if (end_ns > sum->epoch.end_ns)
		sum->epoch.end_ns = end_ns;
	if (period_ns != sum->epoch.period_ns)
		sum->epoch.period_ns = 0;
	sum->nr_epochs += (uint64_t)sqlite3_column_int64(row, 3);
	sum->epoch.measured_ns += (uint64_t)sqlite3_column_int64(row, 4);
	sum->epoch.lost += (uint64_t)sqlite3_column_int64(row, 6);
}

/* Adds the present row of a statement that selects blocks; with only_values, its values only. */
static int add_row(struct store *store, sqlite3_stmt *row, bool only_values, bool is_hour,
		   struct block *block)
{
	cleanup(block_reader_clear) struct block_reader reader;
	struct bytes bytes =
		bytes_of(sqlite3_column_blob(row, 7), (size_t)sqlite3_column_bytes(row, 7));
	int result = block_reader_open(&reader, bytes);
	size_t i;

	for (i = 0; !result && only_values && i < reader.nr_values; i++)
		if (block_add_value(block, reader.values[i]) < 0)
			result = -E2BIG;
	if (!result && !only_values)
		result = block_add_all(block, &reader, is_hour ? labels_of_hour : NULL, store);
	return result;
}

/* Sums up the blocks of a level that are in none of the next level, from start_ns to end_ns. */
static int sum_up(struct store *store, enum block_level level, uint64_t start_ns, uint64_t end_ns,
		  struct error *error)
{
	cleanup(store_finalize) sqlite3_stmt *select = store_prepare(
		store,
		"SELECT id, start_ns, end_ns, nr_epochs, measured_ns, period_ns, lost, content"
		" FROM block WHERE level = ? AND start_ns >= ? AND start_ns < ? AND NOT summed");
	cleanup(store_finalize) sqlite3_stmt *mark = store_prepare(
		store, "UPDATE block SET summed = ?4"
		       " WHERE level = ?1 AND start_ns >= ?2 AND start_ns < ?3 AND NOT summed");
	cleanup(block_clear) struct block block = {0};
	struct block_head sum = {.level = level + 1};
	sqlite3_stmt *const both[] = {select, mark};
	int step = SQLITE_DONE, result = 0;
	size_t i;
	bool only_values;

	if (!select || !mark)
		return store_error(store, error, "write to");
	for (i = 0; i < ARRAY_SIZE(both); i++) {
		sqlite3_bind_int64(both[i], 1, level);
		sqlite3_bind_int64(both[i], 2, (int64_t)start_ns);
		sqlite3_bind_int64(both[i], 3, (int64_t)end_ns);
	}
	/* The values of all blocks first: an entry has an amount of each. */
	for (i = 0; i < 2 && !result; i++) {
		only_values = i == 0;
		sqlite3_reset(select);
		while (!result && (step = sqlite3_step(select)) == SQLITE_ROW) {
			if (only_values)
				add_head(&sum, select);
			result = add_row(store, select, only_values, sum.level == LEVEL_HOUR,
					 &block);
		}
	}
	if (result < 0)
		return store_content_error(store, result, error, "write to");
	sqlite3_reset(select);
	if (step != SQLITE_DONE)
		return store_error(store, error, "write to");
	result = write_block(store, &sum, &block, error);
	if (result)
		return result;
	sqlite3_bind_int64(mark, 4, sqlite3_last_insert_rowid(store->db));
	return sqlite3_step(mark) == SQLITE_DONE ? 0 : store_error(store, error, "write to");
}

/* Sums up all minutes, or hours, except the one that contains now_ns. */
static int sum_up_others(struct store *store, enum block_level level, uint64_t now_ns,
			 struct error *error)
{
	cleanup(store_finalize) sqlite3_stmt *select =
		store_prepare(store, "SELECT DISTINCT start_ns / ?1 FROM block"
				     " WHERE level = ?2 AND NOT summed AND start_ns / ?1 <> ?3");
	uint64_t length_ns = level_ns[level + 1];
	int64_t *spans = NULL;
	size_t nr = 0, capacity = 0, i;
	int step = SQLITE_DONE, result = 0;

	if (!select)
		return store_error(store, error, "write to");
	sqlite3_bind_int64(select, 1, (int64_t)length_ns);
	sqlite3_bind_int64(select, 2, level);
	sqlite3_bind_int64(select, 3, (int64_t)(now_ns / length_ns));
	while (!result && (step = sqlite3_step(select)) == SQLITE_ROW)
		result = ARRAY_ADD(spans, nr, capacity, sqlite3_column_int64(select, 0));
	if (result < 0)
		result = error_no_memory(error, "for the store");
	else if (step != SQLITE_DONE)
		result = store_error(store, error, "write to");
	for (i = 0; i < nr && !result; i++)
		result = sum_up(store, level, (uint64_t)spans[i] * length_ns,
				((uint64_t)spans[i] + 1) * length_ns, error);
	free(spans);
	return result;
}

static uint64_t nr_epochs_of(const struct store_epoch *epoch)
{
	return epoch->last ? epoch->last - epoch->first + 1 : 1;
}

/* Adds an epoch, and sums up minutes and hours that are over, in the caller's transaction. */
static int add_epoch(struct store *store, const struct store_epoch *epoch,
		     const struct profile *profile, struct error *error)
{
	cleanup(block_clear) struct block block = {0};
	struct block_head head = {
		.level = LEVEL_EPOCH,
		.epoch = *epoch,
		.nr_epochs = nr_epochs_of(epoch),
	};
	int result = import_profile(store, profile, &block);

	if (result < 0)
		return store_content_error(store, result, error, "write to");
	result = write_block(store, &head, &block, error);
	if (!result)
		result = sum_up_others(store, LEVEL_EPOCH, epoch->start_ns, error);
	if (!result)
		result = sum_up_others(store, LEVEL_MINUTE, epoch->start_ns, error);
	return result;
}

/* --- epochs without names --------------------------------------------------------------------- */

static int delete_unnamed(struct store *store, uint64_t first, uint64_t last, struct error *error)
{
	cleanup(store_finalize) sqlite3_stmt *remove =
		store_prepare(store, "DELETE FROM unnamed WHERE id BETWEEN ? AND ?");

	if (!remove)
		return store_error(store, error, "write to");
	sqlite3_bind_int64(remove, 1, (int64_t)first);
	sqlite3_bind_int64(remove, 2, (int64_t)last);
	return sqlite3_step(remove) == SQLITE_DONE ? 0 : store_error(store, error, "write to");
}

/* Adds the epoch of the present row, which goes without names. */
static int add_row_without_names(struct store *store, sqlite3_stmt *row, struct error *error)
{
	const struct store_epoch epoch = {
		.start_ns = (uint64_t)sqlite3_column_int64(row, 0),
		.end_ns = (uint64_t)sqlite3_column_int64(row, 1),
		.period_ns = (uint64_t)sqlite3_column_int64(row, 3),
		.lost = (uint64_t)sqlite3_column_int64(row, 4),
		.first = 1,
		.last = (uint64_t)sqlite3_column_int64(row, 2),
		.measured_ns = (uint64_t)sqlite3_column_int64(row, 6),
	};
	const struct bytes bytes =
		bytes_of(sqlite3_column_blob(row, 5), (size_t)sqlite3_column_bytes(row, 5));
	const struct unnamed_choice all = {0};
	struct profile *profile = NULL;
	int result = unnamed_read(bytes, &all, &profile);

	if (result < 0)
		return store_content_error(store, result, error, "write to");
	result = add_epoch(store, &epoch, profile, error);
	profile_free(profile);
	return result;
}

/* Gives up waiting for the names of all epochs up to one, in the caller's transaction. */
static int settle_unnamed(struct store *store, uint64_t last, uint64_t *ret_nr, struct error *error)
{
	cleanup(store_finalize) sqlite3_stmt *select = store_prepare(
		store, "SELECT start_ns, end_ns, nr_epochs, period_ns, lost, content, measured_ns"
		       " FROM unnamed WHERE id <= ? ORDER BY id");
	int step = SQLITE_DONE, result = 0;

	*ret_nr = 0;
	if (!select)
		return store_error(store, error, "write to");
	sqlite3_bind_int64(select, 1, (int64_t)last);
	while (!result && (step = sqlite3_step(select)) == SQLITE_ROW) {
		result = add_row_without_names(store, select, error);
		++*ret_nr;
	}
	if (!result && step != SQLITE_DONE)
		result = store_error(store, error, "write to");
	sqlite3_reset(select);
	return result || !*ret_nr ? result : delete_unnamed(store, 0, last, error);
}

int store_append_unnamed(struct store *store, const struct store_epoch *epoch,
			 const struct profile *profile, struct error *error)
{
	cleanup(store_finalize) sqlite3_stmt *add = NULL;
	cleanup(content_clear) struct content content = {0};

	if (unnamed_write(profile, &content) < 0)
		return error_no_memory(error, "for the store");
	add = store_prepare(store, "INSERT INTO unnamed VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
	if (!add)
		return store_error(store, error, "write to");
	sqlite3_bind_int64(add, 1, (int64_t)epoch->last);
	sqlite3_bind_int64(add, 2, (int64_t)epoch->start_ns);
	sqlite3_bind_int64(add, 3, (int64_t)epoch->end_ns);
	sqlite3_bind_int64(add, 4, (int64_t)nr_epochs_of(epoch));
	sqlite3_bind_int64(add, 5, (int64_t)epoch->period_ns);
	sqlite3_bind_int64(add, 6, (int64_t)epoch->lost);
	sqlite3_bind_blob64(add, 7, content.bytes, content.nr, SQLITE_STATIC);
	sqlite3_bind_int64(add, 8, (int64_t)epoch->measured_ns);
	return sqlite3_step(add) == SQLITE_DONE ? 0 : store_error(store, error, "write to");
}

int store_settle(struct store *store, uint64_t *ret_nr, struct error *error)
{
	int result;

	if (!store_execute(store, "BEGIN IMMEDIATE"))
		return store_error(store, error, "write to");
	result = settle_unnamed(store, INT64_MAX, ret_nr, error);
	return store_end(store, result, error, "write to");
}

int store_append(struct store *store, const struct store_epoch *epoch,
		 const struct profile *profile, struct error *error)
{
	uint64_t nr;
	int result = 0;

	if (!store_execute(store, "BEGIN IMMEDIATE"))
		return store_error(store, error, "write to");
	if (epoch->last)
		result = delete_unnamed(store, epoch->first, epoch->last, error)
				 ?: settle_unnamed(store, epoch->first - 1, &nr, error);
	if (!result)
		result = add_epoch(store, epoch, profile, error);
	return store_end(store, result, error, "write to");
}
