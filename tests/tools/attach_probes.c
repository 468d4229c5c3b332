/*
 * Attaches probes to many functions, runs a command, detaches, and prints the hits and the time
 * taken:
 *
 *	$ attach_probes -n 141 /usr/bin/redis-server
 *	has uprobe_multi uprobe_pid fentry uprobe_event
 *	attach 4.1 ms, detach 9.3 ms: 141 attached, 0 refused, 0 hits
 *
 * attach_probes [OPTION]… FILE|-k|-t [COMMAND…]: probes all functions of a FILE, or the ones named
 * on stdin: kernel functions (-k), or tracepoints as category/event (-t).
 *
 *	-r		returns instead of calls; -b: both
 *	-n NR		the first NR of them
 *	-s NAME		only this function of FILE (may be repeated)
 *	-p PID		only in this process
 *	-w FEATURE	pretend that the kernel lacks this feature (may be repeated)
 *	-v		print each probe's count and each refusal
 */
#include <bpf/libbpf.h>
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "collect/counter.h"
#include "probe/attach/link.h"
#include "probe/attach/probe_features.h"
#include "probe/attach/probe_links.h"
#include "probe/expression/probe_list.h"
#include "proc/tracefs.h"

#define MAX_NAMES 64

static struct {
	size_t max;
	const char *names[MAX_NAMES];
	size_t nr_names;
	unsigned without;
	int32_t pid;
	bool calls, returns, verbose;
} options = {.max = SIZE_MAX, .calls = true};

static size_t nr_refused;

static void fail(const char *what, const struct error *error)
{
	(void)fprintf(stderr, "attach_probes: %s: %s\n%s\n", what, error->text, error->hint);
	exit(1);
}

/* --- choosing probes -------------------------------------------------------------------------- */

static void add(struct probe_list *list, struct probe probe)
{
	if (options.calls && list->nr_probes < options.max)
		(void)probe_list_add(list, &probe);
	probe.is_return = true;
	if (options.returns && list->nr_probes < options.max)
		(void)probe_list_add(list, &probe);
}

static bool is_named(const char *name)
{
	size_t i;

	for (i = 0; i < options.nr_names; i++)
		if (!strcmp(name, options.names[i]))
			return true;
	return !options.nr_names;
}

static uint64_t file_offset(Elf *elf, uint64_t vaddr)
{
	GElf_Phdr segment;
	size_t nr = 0, i;

	(void)elf_getphdrnum(elf, &nr);
	for (i = 0; i < nr; i++)
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
		    segment.p_flags & PF_X && vaddr - segment.p_vaddr < segment.p_filesz)
			return vaddr - segment.p_vaddr + segment.p_offset;
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct probe *left = a, *right = b;

	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static void add_section(struct probe_list *list, Elf *elf, Elf_Scn *section, uint32_t file)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Shdr header;
	GElf_Sym symbol;
	size_t nr, nr_found = 0, i;
	struct probe *found;

	(void)gelf_getshdr(section, &header);
	nr = header.sh_size / header.sh_entsize;
	found = calloc(nr + 1, sizeof(*found));
	for (i = 0; found && i < nr; i++) {
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol) ||
		    GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !symbol.st_shndx)
			continue;
		name = elf_strptr(elf, header.sh_link, symbol.st_name);
		found[nr_found] = (struct probe){.kind = PROBE_USER,
						 .file = file,
						 .offset = file_offset(elf, symbol.st_value),
						 .name = name};
		nr_found += name && is_named(name) && found[nr_found].offset;
	}
	qsort(found, nr_found, sizeof(*found), by_offset);
	for (i = 0; i < nr_found; i++)
		if (!i || found[i].offset != found[i - 1].offset)
			add(list, found[i]);
	free(found);
}

static void add_file(struct probe_list *list, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct probe_file added = {.handle = fd, .path = path};
	int64_t file;
	unsigned wanted = SHT_DYNSYM;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	struct stat st;
	Elf *elf;

	if (fstat(fd, &st) == 0) {
		added.device = st.st_dev;
		added.inode = st.st_ino;
		/* Otherwise the kernel would not check the instructions of a file that nobody runs. */
		(void)mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	file = probe_list_add_file(list, &added);
	(void)elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			wanted = SHT_SYMTAB;
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == wanted)
			add_section(list, elf, section, (uint32_t)file);
	(void)elf_end(elf);
}

/* Finds the addresses of the whole list in one pass through the kernel's symbols. */
static void find_addresses(struct probe_list *list)
{
	cleanup_file FILE *symbols = fopen("/proc/kallsyms", "re");
	cleanup(symbol_index_clear) struct symbol_index index = {0};
	uint32_t *numbers = calloc(list->nr_probes + 1, sizeof(*numbers)), i;
	char line[600], type, symbol[512];
	const uint32_t *found;
	uint64_t address;
	size_t nr, j;

	for (i = 0; i < list->nr_probes; i++)
		numbers[i] = i;
	(void)symbol_index_init(&index, list, numbers, list->nr_probes);
	while (symbols && fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%" SCNx64 " %c %511s", &address, &type, symbol) != 3)
			continue;
		found = symbol_index_find(&index, symbol, strlen(symbol), &nr);
		for (j = 0; j < nr && (type | 32) == 't'; j++)
			list->probes[found[j]].address = address;
	}
	free(numbers);
}

static void add_stdin(struct probe_list *list, bool is_tracepoint)
{
	cleanup_fd int tracefs_fd = is_tracepoint ? tracefs_open(NULL) : -1;
	char name[256];

	while (scanf("%255s", name) == 1) {
		struct probe probe = {.kind = is_tracepoint ? PROBE_TRACEPOINT : PROBE_KERNEL,
				      .name = name,
				      .symbol = name};

		if (is_tracepoint)
			probe.tracepoint = (uint32_t)tracefs_event_id(tracefs_fd, name);
		add(list, probe);
	}
	if (!is_tracepoint)
		find_addresses(list);
}

/* --- output ----------------------------------------------------------------------------------- */

static void refuse(void *context, uint32_t number, const char *why)
{
	const struct probe_list *list = context;

	if (nr_refused++ < 5 || options.verbose)
		printf("refused %s: %s\n", list->probes[number].name, why);
}

static void run(char *const *command)
{
	pid_t child = *command ? fork() : -1;

	if (child == 0) {
		(void)execvp(*command, command);
		_exit(127);
	}
	if (child > 0)
		(void)waitpid(child, NULL, 0);
}

static uint64_t print_hits(const struct probe_list *list, const struct hits *hits)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < list->nr_probes; i++) {
		uint64_t counted = hits_of_probe(hits, i).counted;

		sum += counted;
		if (options.verbose && counted)
			printf("%10" PRIu64 " %s%s\n", counted,
			       list->probes[i].is_return ? "r:" : "", list->probes[i].name);
	}
	return sum;
}

static void attach(struct probe_list *list, const struct probe_features *features,
		   const struct counter *counter, char *const *command)
{
	struct error error = {0};
	struct probe_links *links =
		probe_links_new(&(struct probe_links_options){.list = list,
							      .features = features,
							      .programs = counter_programs(counter),
							      .pid = options.pid,
							      .refuse = refuse,
							      .context = list},
				&error);
	uint32_t *numbers = calloc(list->nr_probes + 1, sizeof(*numbers)), i;
	uint64_t times[4], missed;
	int64_t group;

	for (i = 0; i < list->nr_probes; i++)
		numbers[i] = i;
	times[0] = clock_now_ns();
	group = probe_links_attach(links, numbers, list->nr_probes, &error);
	times[1] = clock_now_ns();
	if (group < 0)
		fail("attach", &error);
	run(command);
	missed = probe_links_missed(links);
	times[2] = clock_now_ns();
	probe_links_detach(links, (uint32_t)group);
	times[3] = clock_now_ns();
	printf("attach %.1f ms, detach %.1f ms: %zu attached, %zu refused, %" PRIu64 " hits, "
	       "missed %" PRId64 "\n",
	       (double)(times[1] - times[0]) / 1e6, (double)(times[3] - times[2]) / 1e6,
	       list->nr_probes - nr_refused, nr_refused, print_hits(list, counter_hits(counter)),
	       (int64_t)missed);
	probe_links_free(links);
	free(numbers);
}

static void find_features(struct probe_features *features)
{
	uint64_t start = clock_now_ns();
	int feature;

	probe_features_find(features, options.without);
	printf("has");
	for (feature = 0; feature < NR_PROBE_FEATURES; feature++)
		if (features->has[feature])
			printf(" %s", probe_feature_name((enum probe_feature)feature));
	printf(" (%.1f ms)\n", (double)(clock_now_ns() - start) / 1e6);
}

static void leave_out(const char *name)
{
	int feature;

	for (feature = 0; feature < NR_PROBE_FEATURES; feature++)
		if (!strcmp(name, probe_feature_name((enum probe_feature)feature)))
			options.without |= 1u << feature;
}

int main(int argc, char **argv)
{
	struct probe_features features;
	struct probe_list list;
	struct counter *counter;
	struct error error = {0};
	char from = 0;
	int option;

	while ((option = getopt(argc, argv, "+rbn:s:p:w:vkt")) >= 0) {
		if (option == 'r' || option == 'b')
			options.returns = true;
		if (option == 'r')
			options.calls = false;
		else if (option == 'n')
			options.max = strtoul(optarg, NULL, 10);
		else if (option == 's' && options.nr_names < MAX_NAMES)
			options.names[options.nr_names++] = optarg;
		else if (option == 'p')
			options.pid = (int32_t)strtol(optarg, NULL, 10);
		else if (option == 'w')
			leave_out(optarg);
		else if (option == 'v')
			options.verbose = true;
		else if (option == 'k' || option == 't')
			from = (char)option;
	}
	if (options.verbose)
		log_to(stderr);
	probe_list_init(&list);
	if (from)
		add_stdin(&list, from == 't');
	else if (optind < argc)
		add_file(&list, argv[optind++]);
	find_features(&features);
	counter = counter_load(&list, &features, &(struct wanted_tasks){.cgroup_fd = -1}, false,
			       &error);
	if (!counter)
		fail("load", &error);
	attach(&list, &features, counter, argv + optind);
	counter_free(counter);
	probe_list_clear(&list);
	return 0;
}
