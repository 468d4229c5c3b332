/*
 * A process may exit during its inspection, and its pid be reused. So a pidfd is opened first and
 * checked last, when the opener has looked: if its process still exists then, the pid referred to it all the time.
 * The start time shows that the pidfd refers to the right process.
 *
 * Runtimes are recognised by the caller's list of mapped files, which requires no running process.
 * A runtime may map these files after its first sample, so a process whose runtime is not fully
 * known is inspected again when the number of its mappings has changed.
 */
#include "proc/runtime_table.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "proc/file_open.h"
#include "proc/look.h"
#include "proc/process_info.h"

#define MAX_PATTERNS 4

/* How often the mappings of one process are searched, and how many file names each time. */
#define MAX_LOOKS 16
#define MAX_NAMES 4096

/* Jitdumps of one process: its own, and those of its ancestors. */
#define MAX_DUMPS 4

/* Tolerance for coarse timestamps, when a file's time is compared with ours. */
#define FILE_TIME_SLACK_NS NS_PER_SEC

#define PHP_FILES "php", "php[0-9]*", "php-fpm*", "libphp*.so"

/* The first row that matches any mapped file is used: runtimes that embed others come first. */
static const struct runtime_row {
	struct runtime runtime;
	const char *files[MAX_PATTERNS]; /* globs for the last component of a path */
	bool in_shared_memory;		 /* JIT code is in shared memory: match only if mapped */
} rows[] = {
	/*
	 * OpenJ9 has a libjvm.so too, but no attach socket, and SIGQUIT makes it write a large dump
	 * file.
	 */
	{{"Java (OpenJ9)", false, "start it with -Xjit:perfTool", NULL}, {"libj9vm*.so"}},
	{{"Java", true, "use --java (needs JDK 17 or newer)",
	  "start it with -XX:+PreserveFramePointer"},
	 {"libjvm.so"}},
	{{".NET", false, "start it with DOTNET_PerfMapEnabled=1 in its environment", NULL},
	 {"libcoreclr.so"}},
	{{"PostgreSQL", false, "set jit_profiling_support=on when connecting", NULL},
	 {"llvmjit.so"}},
	{{"Erlang", false, "start it with +JPperf true", "start it with +JPperf true"},
	 {"beam.smp"}},
	{{"Julia", false, "start it with ENABLE_JITPROFILING=1 in its environment", NULL},
	 {"libjulia.so*", "libjulia-internal.so*"}},
	{{"PHP", false, "set opcache.jit_debug=0x10 in php.ini", NULL},
	 {PHP_FILES},
	 .in_shared_memory = true},
	{{"PHP", false,
	  "its own JIT is off, and PCRE2 has no symbols for regular expressions that it "
	  "compiles",
	  NULL},
	 {PHP_FILES}},
	{{"Ruby", false, "start it with --yjit-perf (3.3 or newer)",
	  "start it with --yjit-perf (3.3 or newer)"},
	 {"ruby", "ruby[0-9]*", "libruby*.so*"}},
	{{"Deno", false,
	  "start it with --v8-flags=--perf-basic-prof,--interpreted-frames-native-stack", NULL},
	 {"deno"}},
	{{"Node.js", false, "start it with --perf-basic-prof --interpreted-frames-native-stack",
	  NULL,
	  "the newest names are not in its jitdump yet; --perf-basic-prof writes them at once"},
	 {"node", "nodejs", "libnode.so*"}},
	{{"Wasmtime", false, "start it with --profile=perfmap", NULL}, {"wasmtime"}},
	/* Its interpreter is a file's code, and its functions have names with -X perf. */
	{{"Python", false,
	  "it is code of a library (numba, ctypes, …) that has written no perf map "
	  "(/tmp/perf-PID.map)",
	  NULL, "the newest names are not in its jitdump yet; -X perf writes them at once"},
	 {"python3.1[2-9]*", "libpython3.1[2-9]*", "python3.[2-9][0-9]*"}},
	{{"QEMU", false, "start it with -perfmap (8.0 or newer)", NULL},
	 {"qemu-system-*", "qemu-*-static"}},
	/* Many libraries load PCRE2 (GLib does), so the code may as well be another compiler's. */
	{{"with PCRE2", false,
	  "it wrote no perf map (/tmp/perf-PID.map); PCRE2, which it has loaded, never does", NULL},
	 {"libpcre2-*.so*"}},
};

/* A mapped jitdump: the pid in its name, and its number in the file table. */
struct dump {
	int32_t pid;
	uint32_t file;
};

struct item {
	struct runtime_process process;
	uint32_t number;
	uint64_t key; /* in by_identity; 0: a copy */
	struct dump dumps[MAX_DUMPS];
	size_t nr_dumps;
	size_t nr_mappings; /* at the last search */
	size_t nr_looks;
	/* Held until the process is inspected; -1: none. */
	int pidfd, root_fd;
	bool is_copy; /* see runtime_table_copy() */
	bool is_marked;
	int perf_map; /* see runtime_table_set_perf_map() */
};

struct runtime_table {
	struct u64_map by_number;   /* → struct item * */
	struct u64_map by_identity; /* a hash of pid, start time and exec id → struct item * */
	uint32_t next_number, next_asked; /* numbers from next_asked on are still to be looked at */
	size_t nr_holders;
	uint64_t nr_refused, nr_unheld;
};

struct runtime_table *runtime_table_new(void)
{
	return calloc(1, sizeof(struct runtime_table));
}

void runtime_table_begin_at(struct runtime_table *table, uint32_t number)
{
	table->next_number = table->next_asked = number;
}

uint32_t runtime_table_next_number(const struct runtime_table *table)
{
	return table->next_number;
}

static void close_descriptors(struct runtime_process *process)
{
	cleanup_close_fd(&process->root_fd);
	cleanup_close_fd(&process->pidfd);
	process->root_fd = process->pidfd = -1;
}

static void close_waiting(struct item *item)
{
	cleanup_close_fd(&item->root_fd);
	cleanup_close_fd(&item->pidfd);
	item->root_fd = item->pidfd = -1;
}

static struct item *item_in(const struct u64_map *map, uint64_t key)
{
	const uint64_t *value = u64_map_find(map, key);

	return value ? (struct item *)(uintptr_t)*value : NULL;
}

static struct item *find(const struct runtime_table *table, uint32_t number)
{
	return item_in(&table->by_number, number);
}

/* Iterates over all items. */
static struct item *next_item(const struct runtime_table *table, size_t *position)
{
	const struct u64_map_slot *slot = u64_map_next(&table->by_number, position);

	return slot ? (struct item *)(uintptr_t)slot->value : NULL;
}

static void item_free(struct item *item)
{
	close_descriptors(&item->process);
	close_waiting(item);
	free(item);
}

void runtime_table_free(struct runtime_table *table)
{
	struct item *item;
	size_t position = 0;

	if (!table)
		return;
	while ((item = next_item(table, &position)))
		item_free(item);
	u64_map_clear(&table->by_number);
	u64_map_clear(&table->by_identity);
	free(table);
}

size_t runtime_table_nr(const struct runtime_table *table)
{
	return table->by_number.nr;
}

uint64_t runtime_table_nr_refused(const struct runtime_table *table)
{
	return table->nr_refused;
}

uint64_t runtime_table_nr_unheld(const struct runtime_table *table)
{
	return table->nr_unheld;
}

const struct runtime_process *runtime_table_get(const struct runtime_table *table, uint32_t number)
{
	const struct item *item = find(table, number);

	return item ? &item->process : NULL;
}

/* --- the process itself -------------------------------------------------------------------- */

static bool is_gone(int pidfd)
{
	return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) < 0 && errno == ESRCH;
}

static void add_users(struct file_owners *users, const struct process_status *status)
{
	size_t i;

	for (i = 0; i < PROCESS_NR_UIDS; i++)
		file_owners_add(users, status->uids[i]);
}

static bool holds_descriptors(const struct runtime_process *process)
{
	return process->pidfd >= 0;
}

static void stop_holding(struct runtime_table *table, struct runtime_process *process)
{
	close_descriptors(process);
	table->nr_holders--;
	table->nr_unheld++;
}

/* If too many processes hold descriptors, the ones of exited processes are closed. */
static void limit_holders(struct runtime_table *table, struct runtime_process *newest)
{
	struct item *item;
	size_t position = 0;

	while (table->nr_holders > RUNTIME_TABLE_HOLDERS && (item = next_item(table, &position))) {
		struct runtime_process *process = &item->process;

		if (process != newest && holds_descriptors(process) && is_gone(process->pidfd))
			stop_holding(table, process);
	}
	if (table->nr_holders > RUNTIME_TABLE_HOLDERS)
		stop_holding(table, newest);
}

/* --- mapped files -------------------------------------------------------------------------- */

/* Copies the last component of a path, without the kernel's " (deleted)". */
static void copy_name(const char *path, char *to, size_t room)
{
	static const char deleted[] = " (deleted)";
	size_t nr;

	(void)snprintf(to, room, "%s", text_file_name(path));
	nr = strlen(to);
	if (nr >= sizeof(deleted) && !strcmp(to + nr - strlen(deleted), deleted))
		to[nr - strlen(deleted)] = '\0';
}

/* The first row before `last` that matches the file name; `last` if there is none. */
static size_t find_row(const char *name, size_t last, bool has_shared)
{
	size_t i, k;

	for (i = 0; i < last; i++) {
		if (rows[i].in_shared_memory && !has_shared)
			continue;
		for (k = 0; k < MAX_PATTERNS && rows[i].files[k]; k++)
			if (!fnmatch(rows[i].files[k], name, 0))
				return i;
	}
	return last;
}

static bool has_shared_code(const struct mappings *mappings)
{
	size_t i;

	for (i = 0; i < mappings_nr(mappings); i++)
		if (mappings_get(mappings, i)->kind == MAPPING_SHARED)
			return true;
	return false;
}

/*
 * A jitdump is called jit-PID.dump, as perf requires. A forked process has its parent's dump mapped
 * too, until it creates its own: its own is preferred, but the parent's is better than none.
 */
static void choose_jitdump(struct item *item)
{
	size_t i;

	for (i = 0; i < item->nr_dumps; i++)
		if (!i || item->dumps[i].pid == item->process.inner_pid)
			item->process.jitdump = item->dumps[i].file;
}

static void take_jitdump(struct item *item, const char *name, uint32_t file)
{
	int length = 0;
	int32_t pid;

	if (sscanf(name, "jit-%d.dump%n", &pid, &length) != 1 || !length || name[length] || pid < 0)
		return;
	if (item->nr_dumps < MAX_DUMPS)
		item->dumps[item->nr_dumps++] = (struct dump){pid, file};
}

static void look_at_mappings(struct item *item, const struct mappings *mappings,
			     const struct file_table *files)
{
	struct runtime_process *process = &item->process;
	bool has_shared = has_shared_code(mappings);
	size_t i, nr_names = 0, row = ARRAY_SIZE(rows);
	uint32_t last_file = UINT32_MAX;
	char name[256];

	item->nr_looks++;
	item->nr_dumps = 0;
	item->nr_mappings = mappings_nr(mappings);
	for (i = 0; i < item->nr_mappings && nr_names < MAX_NAMES; i++) {
		const struct mapping *mapping = mappings_get(mappings, i);

		if (mapping->kind != MAPPING_FILE || mapping->file == last_file)
			continue;
		last_file = mapping->file;
		nr_names++;
		copy_name(file_table_get(files, last_file)->path, name, sizeof(name));
		row = find_row(name, row, has_shared);
		take_jitdump(item, name, last_file);
	}
	choose_jitdump(item);
	if (row < ARRAY_SIZE(rows))
		process->runtime = &rows[row].runtime;
}

/* False also for a forked process that has only its parent's. */
static bool has_own_jitdump(const struct item *item)
{
	size_t i;

	for (i = 0; i < item->nr_dumps; i++)
		if (item->dumps[i].pid == item->process.inner_pid)
			return true;
	return false;
}

/* True if searching the mappings again may find more. */
static bool may_find_more(const struct item *item, const struct mappings *mappings)
{
	return (!item->process.runtime || !has_own_jitdump(item)) && mappings &&
	       item->nr_looks < MAX_LOOKS && mappings_nr(mappings) != item->nr_mappings;
}

/* --- the table ----------------------------------------------------------------------------- */

/* Returns a new item, which no identity leads to; NULL when out of memory. */
static struct item *add_item(struct runtime_table *table, uint32_t number)
{
	struct item *item = calloc(1, sizeof(*item));

	if (!item || u64_map_set(&table->by_number, number, (uintptr_t)item) < 0) {
		free(item);
		return NULL;
	}
	item->number = number;
	item->process = (struct runtime_process){
		.uid = (uid_t)-1, .gid = (gid_t)-1, .root_fd = -1, .pidfd = -1, .jitdump = -1};
	item->pidfd = item->root_fd = -1;
	item->perf_map = -ENOENT;
	return item;
}

static void forget(struct runtime_table *table, struct item *item)
{
	table->nr_holders -= table->nr_holders > 0 && holds_descriptors(&item->process);
	(void)u64_map_remove(&table->by_number, item->number);
	if (item_in(&table->by_identity, item->key) == item)
		(void)u64_map_remove(&table->by_identity, item->key);
	item_free(item);
}

/* 0 and the new item, -ENOMEM or -ENOSPC. */
static int add_new(struct runtime_table *table, uint64_t key, const struct runtime_process *process,
		   struct item **ret)
{
	struct item *item;

	if (table->by_number.nr >= RUNTIME_TABLE_MAX) {
		table->nr_refused++;
		return -ENOSPC;
	}
	item = add_item(table, table->next_number);
	if (!item)
		return -ENOMEM;
	item->key = key;
	if (u64_map_set(&table->by_identity, key, (uintptr_t)item) < 0) {
		forget(table, item);
		return -ENOMEM;
	}
	table->next_number++;
	item->process.pid = process->pid;
	item->process.start_time_ns = process->start_time_ns;
	item->process.exec_id = process->exec_id;
	if (process->pid > 0)
		item->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (item->pidfd >= 0)
		item->root_fd = file_open_root(process->pid);
	*ret = item;
	return 0;
}

/*
 * True if two processes have the same path of their perf maps; compares pids if too little is
 * known.
 */
static bool share_map(const struct runtime_process *a, const struct runtime_process *b)
{
	if (!a->inner_pid || !b->inner_pid || a->root_fd < 0 || b->root_fd < 0)
		return a->pid == b->pid;
	return a->inner_pid == b->inner_pid && file_is_same(a->root_fd, b->root_fd);
}

static bool is_before(const struct runtime_process *a, const struct runtime_process *b)
{
	if (a->start_time_ns != b->start_time_ns)
		return a->start_time_ns < b->start_time_ns;
	return a->exec_id < b->exec_id;
}

/*
 * Compares both ways: the last sample of a program may arrive after the first one of its successor.
 */
static void supersede(struct runtime_table *table, struct runtime_process *newest)
{
	struct item *item;
	size_t position = 0;

	while ((item = next_item(table, &position))) {
		struct runtime_process *other = &item->process;

		if (other == newest || !share_map(other, newest))
			continue;
		if (is_before(newest, other))
			newest->is_superseded = true;
		else
			other->is_superseded = true;
	}
}

int64_t runtime_table_add(struct runtime_table *table, int32_t pid, uint64_t start_time_ns,
			  uint64_t exec_id, const struct mappings *mappings,
			  const struct file_table *files)
{
	uint64_t key = hash_add(hash_add(hash_u64((uint32_t)pid), start_time_ns), exec_id);
	const struct runtime_process process = {
		.pid = pid, .start_time_ns = start_time_ns, .exec_id = exec_id};
	struct item *item = item_in(&table->by_identity, key);
	int err = item ? 0 : add_new(table, key, &process, &item);

	if (err < 0)
		return err;
	if (may_find_more(item, mappings))
		look_at_mappings(item, mappings, files);
	return item->number;
}

bool runtime_table_next_look(struct runtime_table *table, uint32_t *ret_number, int32_t *ret_pid)
{
	const struct item *item = NULL;

	while (!item && table->next_asked != table->next_number)
		item = find(table, table->next_asked++);
	if (!item)
		return false;
	*ret_number = item->number;
	*ret_pid = item->process.pid;
	return true;
}

void runtime_table_looked(struct runtime_table *table, uint32_t number,
			  const struct process_looked *looked)
{
	struct item *item = find(table, number);
	struct runtime_process *process = item ? &item->process : NULL;

	if (!item)
		return;
	if (looked->err == 0 && item->pidfd >= 0 && !is_gone(item->pidfd) &&
	    process_start_can_be(process->start_time_ns, looked->start_boot_ns)) {
		memcpy(process->comm, looked->status.comm, sizeof(process->comm));
		process->inner_pid = looked->status.inner_pid;
		process->uid = looked->status.uid;
		process->gid = looked->status.gid;
		add_users(&process->users, &looked->status);
		process->root_fd = take_fd(&item->root_fd);
		process->pidfd = take_fd(&item->pidfd);
		process->has_mounts_of_root = process->root_fd >= 0 && looked->root_uid == 0;
		table->nr_holders++;
	}
	close_waiting(item);
	choose_jitdump(item);
	supersede(table, process);
	limit_holders(table, process);
}

/* --- lifetimes ----------------------------------------------------------------------------- */

void runtime_table_mark_used(struct runtime_table *table, uint32_t number)
{
	struct item *item = find(table, number);

	if (item)
		item->is_marked = true;
}

void runtime_table_mark_files(const struct runtime_table *table, struct file_table *files)
{
	const struct item *item;
	size_t position = 0, i;

	while ((item = next_item(table, &position)))
		for (i = 0; i < item->nr_dumps; i++)
			file_table_mark_used(files, item->dumps[i].file);
}

/* True if the process has ended, or executed another program. */
static bool is_over(const struct item *item)
{
	const int pidfd = item->process.pidfd >= 0 ? item->process.pidfd : item->pidfd;

	if (item->process.is_superseded)
		return true;
	return pidfd >= 0 ? is_gone(pidfd) : kill(item->process.pid, 0) < 0 && errno == ESRCH;
}

void runtime_table_sweep(struct runtime_table *table)
{
	struct item *item;
	size_t position = 0;

	while ((item = next_item(table, &position))) {
		if (item->is_marked || !is_over(item))
			continue;
		forget(table, item);
		position--; /* removing may have moved another item to this slot */
	}
	/* Not before: an item that was moved from the first slot to the last one is met twice. */
	position = 0;
	while ((item = next_item(table, &position)))
		item->is_marked = false;
}

void runtime_table_close_gone(struct runtime_table *table)
{
	struct item *item;
	size_t position = 0;

	while ((item = next_item(table, &position)))
		if (holds_descriptors(&item->process) && is_gone(item->process.pidfd))
			close_descriptors(&item->process);
}

/* --- copies -------------------------------------------------------------------------------- */

static void replace(struct item *item, const struct runtime_process *with)
{
	close_descriptors(&item->process);
	item->process = *with;
	item->is_copy = item->is_marked = true;
}

int runtime_table_copy(struct runtime_table *table, const struct runtime_table *from,
		       uint32_t number)
{
	const struct item *known = find(from, number);
	struct item *item = find(table, number);
	struct runtime_process process;

	if (!known)
		return 0;
	if (!item)
		item = add_item(table, number);
	if (!item)
		return -ENOMEM;
	process = known->process;
	if (process.root_fd >= 0)
		process.root_fd = fcntl(process.root_fd, F_DUPFD_CLOEXEC, 0);
	if (process.pidfd >= 0)
		process.pidfd = fcntl(process.pidfd, F_DUPFD_CLOEXEC, 0);
	replace(item, &process);
	return 0;
}

int runtime_table_move(struct runtime_table *table, struct runtime_table *from)
{
	struct item *moved;
	size_t position = 0;

	while ((moved = next_item(from, &position))) {
		struct item *item;

		if (!moved->is_copy)
			continue;
		item = find(table, moved->number) ?: add_item(table, moved->number);
		if (!item)
			return -ENOMEM;
		replace(item, &moved->process);
		moved->process.root_fd = moved->process.pidfd = -1;
		moved->is_copy = false;
	}
	return 0;
}

/* --- perf maps ----------------------------------------------------------------------------- */

/*
 * The time (CLOCK_REALTIME) since when the process exists. Suspend time counts for the age of files but not for the
 * process' start time, so it is allowed as tolerance.
 */
static uint64_t exists_since_ns(const struct runtime_process *process)
{
	uint64_t age_ns = clock_read_ns(CLOCK_BOOTTIME) - process->start_time_ns;

	return clock_read_ns(CLOCK_REALTIME) - age_ns - FILE_TIME_SLACK_NS;
}

/*
 * Users who may own the process' files: its users when it was first seen and its current ones; if
 * it was never seen, ours. A daemon that changed its user earlier was root before, and so were
 * tools that write the map of another process (perf-map-agent): root's files are accepted where no
 * other user can have put one there.
 */
static void owners_of(const struct runtime_process *process, struct file_owners *ret)
{
	bool is_known = process->uid != (uid_t)-1;
	struct process_status now;

	*ret = process->users;
	file_owners_add(ret, process->uid);
	if (process->pidfd >= 0 && process_status_read(process->pid, &now) == 0 &&
	    !is_gone(process->pidfd))
		add_users(ret, &now);
	if (!is_known)
		file_owners_add(ret, geteuid());
	if (!is_known || process->has_mounts_of_root)
		file_owners_add(ret, 0);
}

int runtime_process_jitdump(const struct runtime_process *process, const struct file_table *files)
{
	struct file_owners owners;
	const struct file *file;

	if (process->jitdump < 0)
		return -ENOENT;
	file = file_table_get(files, (uint32_t)process->jitdump);
	if (file->handle < 0)
		return -ENOENT;
	owners_of(process, &owners);
	return !file->is_on_server && file_owners_include(&owners, file->uid) ? file->handle
									      : -EACCES;
}

/*
 * True unless the map is certainly not below our own root: the fallback if the process' root is
 * unknown does not find a container's map.
 */
static bool may_be_here(const struct runtime_process *process)
{
	return process->root_fd >= 0 || !process->inner_pid || process->inner_pid == process->pid;
}

int runtime_table_perf_map(const struct runtime_table *table, uint32_t number)
{
	const struct item *item = find(table, number);

	return item ? item->perf_map : -ENOENT;
}

void runtime_table_set_perf_map(struct runtime_table *table, uint32_t number, int err)
{
	struct item *item = find(table, number);

	if (item && item->perf_map < 0)
		item->perf_map = err == 0 || err == -EACCES ? err : -ENOENT;
}

int runtime_process_map(const struct runtime_process *process, struct perf_map_file *ret)
{
	int32_t pid = process->inner_pid ? process->inner_pid : process->pid;

	if (!may_be_here(process))
		return -ENOENT;
	*ret = (struct perf_map_file){.root_fd = process->root_fd,
				      .written_since_ns = exists_since_ns(process)};
	(void)snprintf(ret->path, sizeof(ret->path), "/tmp/perf-%d.map", pid);
	owners_of(process, &ret->owners);
	return 0;
}
