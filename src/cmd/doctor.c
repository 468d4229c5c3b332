/*
 * stook doctor: finds out what works on this host, what does not, what is lost without it, and what to do.
 *
 *	$ stook doctor
 *	Profiling works.
 *
 *	limited  hardware counters     cannot sample 'cycles' on CPU 0: event not supported (ENOENT)
 *	         without: samples are taken by a timer, which cannot interrupt code that has interrupts disabled
 *	         remedy:  this machine exposes no hardware counters (a virtual machine?); …
 *	ok       profile               works
 *	…
 *
 * Commands are judged by running them for some milliseconds, in a child process whose messages are read: the
 * first rows are true by construction. The other rows are what a command would meet: each calls the function of
 * the module that the commands call, and has its message. Files below /proc/sys are read only where they explain
 * a result, or make runs costlier.
 *
 * Nothing stays: probes are attached to a function of our own, to one of the kernel that is hardly ever called,
 * and to a rare tracepoint, for as long as a run of 20 ms has them.
 */
#include "cmd/commands.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file/fd_io.h"
#include "base/isolated.h"
#include "cmd/options/option_table.h"
#include "cmd/outputs.h"
#include "collect/sampler.h"
#include "collect/sideband.h"
#include "event/event.h"
#include "event/models.h"
#include "kernel/cpus.h"
#include "kernel/kernel_ask.h"
#include "kernel/load.h"
#include "kernel/perf_open.h"
#include "kernel/preflight.h"
#include "probe/attach/probe_features.h"
#include "proc/cgroup.h"
#include "proc/process_info.h"
#include "proc/tracefs.h"
#include "run/complain.h"
#include "sym/debug_files.h"
#include "sym/kallsyms.h"
#include "view/table.h"
#include "worker/sandbox.h"

/* In order of importance. */
enum state {
	STATE_FAILS,   /* nothing can be profiled */
	STATE_LIMITED, /* something is lost */
	STATE_OK,
	NR_STATES,
};

struct finding {
	const char *group, *name;
	enum state state;
	char found[400], remedy[400];
	const char *without; /* what is lost; NULL: nothing */
};

struct doctor {
	struct row_output_options output;
	struct finding *findings;
	size_t nr, cap;
	const char *group; /* of findings that are added */
	struct cpus online;
	bool can_profile, has_counters, failed;
	bool counts_locked; /* the kernel counts BPF maps as locked memory */
};

/* --- findings ---------------------------------------------------------------------------------- */

/* Adds a finding. The remedy is added by advise(). */
__attribute__((format(printf, 5, 6))) static void find(struct doctor *doctor, const char *name,
						       enum state state, const char *without,
						       const char *format, ...)
{
	struct finding finding = {
		.group = doctor->group,
		.name = name,
		.state = state,
		.without = state == STATE_OK ? NULL : without,
	};
	va_list args;

	va_start(args, format);
	(void)vsnprintf(finding.found, sizeof(finding.found), format, args);
	va_end(args);
	if (ARRAY_ADD(doctor->findings, doctor->nr, doctor->cap, finding) < 0)
		doctor->failed = true;
}

/* Adds what to do about the last finding. */
__attribute__((format(printf, 2, 3))) static void advise(struct doctor *doctor, const char *format,
							 ...)
{
	struct finding *last = doctor->nr ? &doctor->findings[doctor->nr - 1] : NULL;
	va_list args;

	if (!last || last->state == STATE_OK)
		return;
	va_start(args, format);
	(void)vsnprintf(last->remedy, sizeof(last->remedy), format, args);
	va_end(args);
}

/* Adds the result of an attempt: `found` if it succeeded, else its error. */
static void judge(struct doctor *doctor, const char *name, int err, const struct error *error,
		  enum state state, const char *without, const char *found)
{
	find(doctor, name, err < 0 ? state : STATE_OK, without, "%s",
	     err < 0 ? error->text : found);
	if (err < 0 && *error->hint)
		advise(doctor, "%s", error->hint);
}

/* --- commands ---------------------------------------------------------------------------------- */

#define TRIAL_MS	 30000 /* after that, it hangs */
#define TRIAL_ARGS	 10
#define OWN_FUNCTION	 "OWN_FUNCTION" /* is replaced by the place of a function that is not called */
#define NEW_STORE	 "NEW_STORE" /* is replaced by a path in a folder that exists during the trial */
#define STORE_FOLDER	 "/var/lib/stook" /* of the service stook-agent */
#define RARE_FUNCTION	 "vfs_mknod"
#define RARE_TRACEPOINT	 "t:sched:sched_process_exec"
#define BRIEFLY		 "-q", "-d", "20ms"
#define BRIEFLY_SAMPLING BRIEFLY, "--no-symbols", "-f"
#define BRIEFLY_PROBING	 BRIEFLY, "--budget", "off"

static const struct trial {
	const char *name, *without;
	enum state state; /* if it fails */
	const char *argv[TRIAL_ARGS];
} trials[] = {
	{"profile", "nothing can be profiled", STATE_FAILS, {"profile", BRIEFLY_SAMPLING}},
	{"profile --unwind cfi",
	 "user stacks are walked by frame pointers: callers are missing where code has none",
	 STATE_LIMITED,
	 {"profile", BRIEFLY_SAMPLING, "--unwind", "cfi"}},
	{"profile --off-cpu",
	 "no time off CPU (--off-cpu, --wall)",
	 STATE_LIMITED,
	 {"profile", BRIEFLY_SAMPLING, "--off-cpu"}},
	{"profile --locks",
	 "no waits for locks (--locks)",
	 STATE_LIMITED,
	 {"profile", BRIEFLY_SAMPLING, "--locks"}},
	{"agent",
	 "the host cannot be sampled all the time",
	 STATE_LIMITED,
	 {"agent", BRIEFLY, "--store", NEW_STORE}},
	{"sched", "no run times and delays of tasks", STATE_LIMITED, {"sched", BRIEFLY}},
	{"stat", "no counts of events of the host", STATE_LIMITED, {"stat", BRIEFLY}},
	{"funccount, user functions",
	 "funccount, stackcount and tally have no functions and static probes of programs",
	 STATE_LIMITED,
	 {"funccount", BRIEFLY_PROBING, OWN_FUNCTION}},
	{"funccount, kernel functions",
	 "funccount, stackcount and tally have no functions of the kernel",
	 STATE_LIMITED,
	 {"funccount", BRIEFLY_PROBING, RARE_FUNCTION}},
	{"funccount, tracepoints",
	 "funccount, stackcount, tally and 'profile -e' have no tracepoints",
	 STATE_LIMITED,
	 {"funccount", BRIEFLY_PROBING, RARE_TRACEPOINT}},
};

static int take_base(struct dl_phdr_info *info, size_t bytes, void *context)
{
	*(uintptr_t *)context = info->dlpi_addr;
	return 1; /* the first one is the program */
}

/* Where the service keeps its store, if possible: SQLite needs more of a file system than a file does. */
static bool make_folder(char *ret, size_t nr)
{
	static const char *const folders[] = {STORE_FOLDER, P_tmpdir};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(folders); i++) {
		(void)snprintf(ret, nr, "%s/doctor-XXXXXX", folders[i]);
		if (mkdtemp(ret))
			return true;
	}
	return false;
}

static void remove_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		(void)unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		(void)closedir(folder);
	(void)rmdir(path);
}

/* Runs a command, which writes its messages to a file. Does not return. */
__attribute__((noreturn)) static void run_trial(const struct trial *trial, pid_t parent,
						int messages)
{
	const struct command *command = command_find(trial->argv[0]);
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	char *argv[TRIAL_ARGS + 1] = {NULL};
	char place[64], folder[64], store[80];
	bool has_folder = false;
	uintptr_t base = 0;
	int argc = 0, status;

	/* As Ctrl-C would. */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(messages, STDERR_FILENO) < 0)
		_exit(EXIT_FAILED);
	isolated_close_from(STDERR_FILENO + 1); /* as many as the command has */
	(void)dl_iterate_phdr(take_base, &base);
	(void)snprintf(place, sizeof(place), PROCESS_OWN_PROGRAM "+0x%" PRIxPTR,
		       (uintptr_t)cmd_doctor - base);
	for (; argc < TRIAL_ARGS && trial->argv[argc]; argc++) {
		argv[argc] = (char *)trial->argv[argc];
		if (!strcmp(trial->argv[argc], OWN_FUNCTION)) {
			argv[argc] = place;
		} else if (!strcmp(trial->argv[argc], NEW_STORE)) {
			has_folder = make_folder(folder, sizeof(folder));
			(void)snprintf(store, sizeof(store), "%s/store", folder);
			argv[argc] = store;
		}
	}
	status = command->run(argc, argv);
	if (has_folder)
		remove_folder(folder);
	(void)fflush(NULL);
	_exit(status);
}

/* Returns the exit status, or a negative errno: -ETIME if it was too late, and killed. */
static int await(pid_t pid)
{
	cleanup_fd int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	int status, nr = TEMP_FAILURE_RETRY(poll(&ended, 1, pidfd < 0 ? 0 : TRIAL_MS));

	if (nr == 0 && pidfd >= 0)
		(void)kill(pid, SIGKILL);
	if (TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)) < 0)
		return -errno;
	if (nr == 0 && pidfd >= 0)
		return -ETIME;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

/* Reads the last message, as complain_error() writes it. */
static void read_message(int messages, struct error *ret)
{
	static const char head[] = "stook: ", hint[] = "  hint: ";
	cleanup_file FILE *file = NULL;
	char line[1024];

	if (lseek(messages, 0, SEEK_SET) < 0)
		return;
	file = fdopen(dup(messages), "r");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, head, strlen(head)))
			(void)error_set(ret, -EIO, "%s", line + strlen(head));
		else if (!strncmp(line, hint, strlen(hint)))
			error_hint(ret, "%s", line + strlen(hint));
	}
}

static int try_command(const struct trial *trial, struct error *error)
{
	cleanup_fd int messages = memfd_create("messages", MFD_CLOEXEC);
	const pid_t parent = getpid();
	pid_t pid = messages < 0 ? -1 : fork();
	int status;

	if (pid < 0)
		return error_set_errno(error, "cannot run it");
	if (pid == 0)
		run_trial(trial, parent, messages);
	status = await(pid);
	if (!status)
		return 0;
	*error = (struct error){0};
	read_message(messages, error);
	if (status < 0)
		return error_set(error, status, "it %s",
				 status == -ETIME ? "did not end in time" : "was killed");
	return *error->text ? -EIO : error_set(error, -EIO, "it failed with status %d", status);
}

static void try_commands(struct doctor *doctor)
{
	size_t i;

	doctor->group = "commands";
	for (i = 0; i < ARRAY_SIZE(trials); i++) {
		struct error error;
		int err = try_command(&trials[i], &error);

		judge(doctor, trials[i].name, err, &error, trials[i].state, trials[i].without,
		      "works");
		if (!strcmp(trials[i].name, "profile"))
			doctor->can_profile = !err;
	}
}

/* --- privileges -------------------------------------------------------------------------------- */

static void check_privileges(struct doctor *doctor)
{
	const bool is_nested = process_own_userns();
	const struct privilege *privilege;
	size_t i;

	doctor->group = "privileges";
	find(doctor, "user namespace", is_nested ? STATE_FAILS : STATE_OK,
	     "its capabilities do not count for BPF and perf events: nothing can be profiled",
	     is_nested ? "not the host's" : "the host's");
	advise(doctor, "run on the host, or in a container without a user namespace of its own");
	for (i = 0; (privilege = privilege_get(i)); i++) {
		bool is_held = privilege_is_held(privilege);

		if (privilege->use == PRIVILEGE_ROOT && geteuid() != 0)
			continue; /* its absence is no loss for other users */
		find(doctor, privilege->name,
		     is_held				  ? STATE_OK
		     : privilege->use == PRIVILEGE_NEEDED ? STATE_FAILS
							  : STATE_LIMITED,
		     privilege->without, "%s, to %s", is_held ? "held" : "missing",
		     privilege->what_for);
		advise(doctor, "run as root, or give it to this process: 'setpriv --ambient-caps', "
			       "'setcap', or the container's options");
	}
}

/* --- the kernel -------------------------------------------------------------------------------- */

static void check_version(struct doctor *doctor)
{
	const char *danger = kernel_danger();
	unsigned major = 0, minor = 0;
	struct utsname name = {0};
	bool is_known, is_old;

	(void)uname(&name);
	is_known = sscanf(name.release, "%u.%u", &major, &minor) == 2;
	is_old = is_known && (major < 5 || (major == 5 && minor < 10));
	doctor->counts_locked = is_known && (major < 5 || (major == 5 && minor < 11));
	find(doctor, "kernel",
	     is_old   ? STATE_FAILS
	     : danger ? STATE_LIMITED
		      : STATE_OK,
	     is_old ? "it is too old" : "no user stacks, unless --force is given",
	     "Linux %s, %s%s%s", name.release, name.machine, danger ? ": " : "",
	     danger ? danger : "");
	advise(doctor, is_old ? "Linux 5.10 or newer is needed" : "install a newer kernel");
}

/* "[none] integrity confidentiality": the level is in brackets. */
static void check_lockdown(struct doctor *doctor)
{
	cleanup_file FILE *file = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "", level[32] = "";
	const char *bracket;

	if (file && fgets(line, sizeof(line), file) && (bracket = strchr(line, '[')))
		(void)sscanf(bracket, "[%31[a-z]]", level);
	find(doctor, "lockdown", !strcmp(level, "confidentiality") ? STATE_LIMITED : STATE_OK,
	     "BPF programs must not read kernel memory, and tracefs is closed", "%s",
	     *level ? level : "not known, since securityfs is not mounted, or none");
	advise(doctor, "boot with lockdown=integrity or without lockdown");
}

/* The table of their module says what each of the features is for. */
static void check_features(struct doctor *doctor)
{
	static const char *const descriptions[NR_PROBE_FEATURES][2] = {
#define X(id, name, what, without) [PROBE_FEATURE_##id] = {what, without},
		PROBE_FEATURES(X)
#undef X
	};
	struct probe_features features;
	int i;

	probe_features_find(&features, 0);
	for (i = 0; i < NR_PROBE_FEATURES; i++)
		find(doctor, probe_feature_name(i), features.has[i] ? STATE_OK : STATE_LIMITED,
		     descriptions[i][1], "%s%s%s", descriptions[i][0], features.has[i] ? "" : ": ",
		     features.has[i] ? "" : strerror(-features.why[i]));
}

static void check_tracefs(struct doctor *doctor)
{
	struct error error = {0};
	cleanup_fd int fd = tracefs_open(&error);
	int64_t id = fd < 0 ? fd : tracefs_event_id(fd, "sched/sched_switch");

	if (fd >= 0 && id < 0)
		(void)error_set(&error, (int)id, "it cannot be read: %s", strerror((int)-id));
	judge(doctor, "tracefs", id < 0 ? (int)id : 0, &error, STATE_LIMITED,
	      "no tracepoints, and no probes by tracefs events", "readable");
}

static void check_cgroups(struct doctor *doctor)
{
	struct error error = {0};
	cleanup_fd int fd = cgroup_open_root(&error);

	judge(doctor, "cgroup version 2", fd, &error, STATE_LIMITED, "no --cgroup and --by cgroup",
	      "mounted");
}

static void check_kernel(struct doctor *doctor)
{
	struct error error = {0};
	int err;

	doctor->group = "kernel";
	check_version(doctor);
	err = load_try_types(&error);
	judge(doctor, "BTF", err, &error, STATE_FAILS, "no BPF program can be loaded", "readable");
	if (err)
		advise(doctor,
		       "a kernel built with CONFIG_DEBUG_INFO_BTF is needed, and /sys mounted");
	judge(doctor, "BPF programs", load_try(&error), &error, STATE_FAILS,
	      "nothing can be profiled", "can be loaded");
	check_lockdown(doctor);
	check_tracefs(doctor);
	check_features(doctor);
	check_cgroups(doctor);
}

/* --- events ------------------------------------------------------------------------------------ */

static void check_counters(struct doctor *doctor)
{
	struct error error = {0};
	struct event cycles;
	char counted[200];
	int err = event_parse("cycles", &cycles, &error);

	if (!err && doctor->online.nr)
		err = sampling_try(&cycles, doctor->online.numbers[0], &error);
	perf_list_hardware(counted, sizeof(counted));
	doctor->has_counters = *counted;
	judge(doctor, "hardware counters", err, &error, STATE_LIMITED,
	      "samples are taken by a timer, which cannot interrupt code that has interrupts "
	      "disabled",
	      counted);
}

/* Nothing is lost without them: no command uses them yet. */
static void check_branches(struct doctor *doctor)
{
	struct error error = {0};
	int err = sampling_try_branches(doctor->online.nr ? doctor->online.numbers[0] : 0, &error);

	find(doctor, "branch records", STATE_OK, NULL, "%s%s", err ? "none: " : "can be read",
	     err ? error.text : "");
}

static void check_models(struct doctor *doctor)
{
	const char *model = models_describe(NULL);

	find(doctor, "libpfm4", model || !doctor->has_counters ? STATE_OK : STATE_LIMITED,
	     "-e has no events by the CPU vendor's names (uops_executed.core)", "%s",
	     model		    ? model
	     : doctor->has_counters ? "not installed, or it does not know this CPU"
				    : "not needed: no hardware counters");
	advise(doctor, "install it: package libpfm4");
}

/* The events and buffers of a run, which take the most from the limits. */
static void check_buffers(struct doctor *doctor)
{
	struct error error = {0};
	struct sideband *sideband = sideband_open(&doctor->online, 0, &error);
	const int64_t paranoid = (int64_t)process_sysctl("kernel/perf_event_paranoid", 0);
	const bool is_forbidden = error.code == -EACCES || error.code == -EPERM;
	struct rlimit locked = {0};
	char found[100], limit[32] = "unlimited";

	(void)getrlimit(RLIMIT_MEMLOCK, &locked);
	if (locked.rlim_cur != RLIM_INFINITY)
		(void)snprintf(limit, sizeof(limit), "%ju KB", (uintmax_t)locked.rlim_cur / 1024);
	(void)snprintf(found, sizeof(found),
		       "can be opened (kernel.perf_event_mlock_kb %" PRIu64 ", ulimit -l %s)",
		       process_sysctl("kernel/perf_event_mlock_kb", 0), limit);
	judge(doctor, "event buffers", sideband ? 0 : error.code, &error, STATE_FAILS,
	      "nothing can be sampled", found);
	sideband_close(sideband);
	find(doctor, "kernel.perf_event_paranoid",
	     is_forbidden && paranoid > 2 ? STATE_FAILS : STATE_OK,
	     "some kernels then open events with CAP_SYS_ADMIN only", "%" PRId64 "%s", paranoid,
	     paranoid <= 2 ? ": does not matter, CAP_PERFMON is needed in any case" : "");
	advise(doctor, "sysctl -w kernel.perf_event_paranoid=2");
}

static void check_events(struct doctor *doctor)
{
	doctor->group = "events";
	check_counters(doctor);
	check_branches(doctor);
	check_models(doctor);
	check_buffers(doctor);
}

/* --- settings ---------------------------------------------------------------------------------- */

/* Settings that no attempt shows, since they make runs costlier or poorer. 0 is always right if has_zero. */
static const struct setting {
	const char *name;
	int64_t least, most; /* without a loss */
	bool has_zero, is_of_counters;
	const char *without, *why_not; /* the latter: why it does not matter, if it never does */
} settings[] = {
	{"kernel.perf_event_max_sample_rate", 999, INT64_MAX, false, false,
	 "the kernel refuses higher frequencies (-F); it lowers the limit if samples take too long",
	 NULL},
	{"kernel.perf_cpu_time_max_percent", 10, INT64_MAX, true, false,
	 "the kernel lowers the highest frequency if samples take more of a CPU than this", NULL},
	{"kernel.perf_event_max_stack", 127, INT64_MAX, false, false,
	 "kernel stacks, and user stacks by frame pointers, are cut at this depth", NULL},
	{"kernel.nmi_watchdog", 0, 0, false, true, "it has one of the hardware counters", NULL},
	{"kernel.unprivileged_bpf_disabled", 0, INT64_MAX, false, false, NULL,
	 "CAP_BPF is needed in any case"},
	{"kernel.bpf_stats_enabled", 0, 0, false, false,
	 "the kernel times each run of a BPF program: samples and hits are costlier", NULL},
	{"net.core.bpf_jit_enable", 1, INT64_MAX, false, false,
	 "BPF programs are interpreted: samples and hits are several times costlier", NULL},
	{"net.core.bpf_jit_harden", 0, 1, false, false,
	 "constants in BPF programs are blinded: samples and hits are costlier", NULL},
	{"kernel.yama.ptrace_scope", 0, INT64_MAX, false, false, NULL, "no process is traced"},
};

static void check_setting(struct doctor *doctor, const struct setting *setting)
{
	cleanup_free char *path = strdup(setting->name);
	char *dot = path;
	int64_t value = INT64_MIN;
	bool is_right;

	while (dot && (dot = strchr(dot, '.')))
		*dot = '/';
	if (path)
		value = (int64_t)process_sysctl(path, (uint64_t)INT64_MIN);
	is_right = (value >= setting->least && value <= setting->most) ||
		   (setting->has_zero && !value);

	if (value == INT64_MIN || (setting->is_of_counters && !doctor->has_counters))
		return;
	find(doctor, setting->name, is_right ? STATE_OK : STATE_LIMITED, setting->without,
	     "%" PRId64 "%s%s", value, setting->why_not ? ": does not matter, " : "",
	     setting->why_not ? setting->why_not : "");
	advise(doctor, "sysctl -w %s=%" PRId64, setting->name,
	       value < setting->least ? setting->least : setting->most);
}

/* Before Linux 5.11, memory of BPF maps counts against the limit, which libbpf raises if it may. */
static void check_locked_memory(struct doctor *doctor)
{
	const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	const bool is_raised = setrlimit(RLIMIT_MEMLOCK, &unlimited) == 0;
	struct rlimit limit = unlimited;

	(void)getrlimit(RLIMIT_MEMLOCK, &limit);
	if (is_raised || limit.rlim_cur == RLIM_INFINITY)
		find(doctor, "locked memory", STATE_OK, NULL, "unlimited, or can be raised");
	else
		find(doctor, "locked memory",
		     doctor->counts_locked && !doctor->can_profile ? STATE_FAILS : STATE_OK,
		     "BPF maps count against it before Linux 5.11, and cannot be created",
		     "%ju KB (ulimit -l)%s", (uintmax_t)limit.rlim_cur / 1024,
		     doctor->counts_locked ? "" : ": BPF maps do not count against it");
	advise(doctor, "raise the limit: ulimit -l unlimited");
}

static void check_settings(struct doctor *doctor)
{
	const uint64_t files = fd_raise_limit();
	size_t i;

	doctor->group = "settings";
	for (i = 0; i < ARRAY_SIZE(settings); i++)
		check_setting(doctor, &settings[i]);
	find(doctor, "open files", files < 1024 ? STATE_LIMITED : STATE_OK,
	     "files are closed before their names are read: deleted ones have none",
	     "up to %" PRIu64 " (ulimit -Hn)", files);
	advise(doctor, "raise the limit: ulimit -n");
	check_locked_memory(doctor);
}

/* --- names ------------------------------------------------------------------------------------- */

static int ignore_name(void *context, size_t i, const char *name, const char *module)
{
	return 0;
}

static void check_kernel_names(struct doctor *doctor)
{
	cleanup_file FILE *file = fopen("/proc/kallsyms", "re");
	struct error unknown = {0}, hidden = {0};
	const uint64_t address = 1;
	struct kallsyms *kallsyms = file ? kallsyms_read(file, &hidden) : NULL;
	int err = kernel_ask(NULL, &address, 1, ignore_name, NULL, &unknown);

	if (!file)
		(void)error_set_errno(&hidden, "cannot read /proc/kallsyms");
	judge(doctor, "kernel names", kallsyms ? 0 : err, &hidden, STATE_LIMITED,
	      "functions of the kernel have no names",
	      err ? "from /proc/kallsyms" : "the kernel is asked");
	judge(doctor, "kernel addresses", kallsyms ? 0 : -EPERM, &hidden, STATE_LIMITED,
	      "no kprobes by tracefs events, and none inside functions", "in /proc/kallsyms");
	kallsyms_free(kallsyms);
}

static int do_nothing(void *context, struct sandbox *sandbox, struct error *error)
{
	return 0;
}

static void check_names(struct doctor *doctor)
{
	const struct sandbox_host host = {.work = do_nothing};
	struct error error = {0};
	const char *servers = getenv("DEBUGINFOD_URLS");
	const bool asks = servers && *servers;
	const bool has_files = access(DEBUG_FILE_FOLDER "/.build-id", R_OK) == 0;
	const char *trouble;

	doctor->group = "names";
	judge(doctor, "helper processes", sandbox_run(&host, &error), &error, STATE_LIMITED,
	      "files are not parsed: no names, no unwind tables, and root cannot read profiles",
	      "can give up all rights, and have a filter of system calls (seccomp)");
	advise(doctor, "a kernel with CONFIG_SECCOMP_FILTER is needed; root in a container also "
		       "needs CAP_SETUID and CAP_SETGID");
	check_kernel_names(doctor);
	find(doctor, "debug files", STATE_OK, NULL, "%s",
	     has_files ? "in " DEBUG_FILE_FOLDER
		       : "none in " DEBUG_FILE_FOLDER
			 ": stripped programs have the names that they "
			 "export");
	trouble = asks ? debuginfod_check() : NULL;
	find(doctor, "debuginfod", trouble ? STATE_LIMITED : STATE_OK,
	     "servers are not asked for debug files", "DEBUGINFOD_URLS is %s%s%s",
	     asks ? servers : "not set: no server is asked", trouble ? ": " : "",
	     trouble ? trouble : "");
	advise(doctor,
	       "install its client library (libdebuginfod.so.1), which the static program cannot "
	       "use; root in a container also needs CAP_SETUID and CAP_SETGID");
}

/* --- the agent --------------------------------------------------------------------------------- */

static void check_store_folder(struct doctor *doctor)
{
	const bool is_there = access(STORE_FOLDER, F_OK) == 0;
	const char *folder = is_there ? STORE_FOLDER : "/var/lib";
	struct statvfs disk = {0};
	uint64_t free_bytes;

	if (access(folder, W_OK) < 0) {
		find(doctor, "store folder", STATE_LIMITED, "the agent cannot keep its store there",
		     "cannot write to '%s': %s", folder, strerror(errno));
		advise(doctor, "run as root, or choose another path with --store");
		return;
	}
	(void)statvfs(folder, &disk);
	free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	find(doctor, "store folder", free_bytes < AGENT_DEFAULT_MAX_DISK ? STATE_LIMITED : STATE_OK,
	     "the store may fill the disk: then epochs are dropped",
	     "'" STORE_FOLDER "' can be %s, %.1f GB are free", is_there ? "written" : "made",
	     (double)free_bytes / 1e9);
	advise(doctor, "choose another path with --store, or less than the default of 2G with "
		       "--max-disk");
}

static void check_agent(struct doctor *doctor)
{
	const bool has_systemd = access("/run/systemd/system", F_OK) == 0; /* as sd_booted() */
	const unsigned nr = (unsigned)doctor->online.nr;

	doctor->group = "agent";
	check_store_folder(doctor);
	find(doctor, "service manager", has_systemd ? STATE_OK : STATE_LIMITED,
	     "the unit stook-agent.service cannot be used: nothing restarts an agent that fails",
	     "%s", has_systemd ? "systemd" : "not systemd");
	advise(doctor, "start 'stook agent' from the host's service manager");
	find(doctor, "budget", STATE_OK, NULL,
	     "%.3g %% of %u CPU%s: the agent may use %.3g ms a second", 100 * AGENT_DEFAULT_BUDGET,
	     nr, nr == 1 ? "" : "s", 1000 * AGENT_DEFAULT_BUDGET * nr);
}

/* --- output ------------------------------------------------------------------------------------ */

static const char *const states[NR_STATES] = {
	[STATE_FAILS] = "fails",
	[STATE_LIMITED] = "limited",
	[STATE_OK] = "ok",
};

enum { GROUP, NAME, STATE, FOUND, WITHOUT, REMEDY, NR_COLUMNS };

static const struct column columns[NR_COLUMNS] = {
	[GROUP] = {"group", "GROUP"},	    [NAME] = {"name", "NAME"},
	[STATE] = {"state", "STATE"},	    [FOUND] = {"found", "FOUND"},
	[WITHOUT] = {"without", "WITHOUT"}, [REMEDY] = {"remedy", "REMEDY"},
};

static const struct column can_profile = {"can_profile", NULL};

static struct cell text_or_none(const char *text)
{
	return cell_text(text && *text ? text : NULL);
}

static void read_row(const void *context, size_t number, struct row *row)
{
	const struct finding *finding = &((const struct doctor *)context)->findings[number];

	row->cells[GROUP] = cell_text(finding->group);
	row->cells[NAME] = cell_text(finding->name);
	row->cells[STATE] = cell_text(states[finding->state]);
	row->cells[FOUND] = cell_text(finding->found);
	row->cells[WITHOUT] = text_or_none(finding->without);
	row->cells[REMEDY] = text_or_none(finding->remedy);
}

static void add_lines(struct sheet *sheet, const struct finding *finding, int width)
{
	sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
	sheet_add_words(sheet, "%-8s %-*s  %s", states[finding->state], width, finding->name,
			finding->found);
	if (finding->without) {
		sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
		sheet_add_words(sheet, "         without: %s", finding->without);
	}
	if (*finding->remedy) {
		sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
		sheet_add_words(sheet, "         remedy:  %s", finding->remedy);
	}
}

static int print(const struct doctor *doctor, struct error *error)
{
	const struct table table = {
		.name = "findings",
		.columns = columns,
		.nr_columns = NR_COLUMNS,
		.nr_rows = doctor->nr,
		.read_row = read_row,
		.context = doctor,
		.never_cut = true,
	};
	cleanup(sheet_clear) struct sheet sheet = {0};
	size_t i;
	int width = 0;

	for (i = 0; i < doctor->nr; i++)
		if ((int)strlen(doctor->findings[i].name) > width)
			width = (int)strlen(doctor->findings[i].name);
	sheet_add_line(&sheet, MEDIA_PEOPLE, LINE_PLAIN);
	sheet_add_words(&sheet,
			doctor->can_profile ? "Profiling works." : "Profiling does not work.");
	sheet_add_line(&sheet, MEDIA_PEOPLE, LINE_PLAIN);
	for (i = 0; i < doctor->nr; i++)
		add_lines(&sheet, &doctor->findings[i], width);
	sheet_add_figure(&sheet, MEDIA_JSON, &can_profile, cell_bool(doctor->can_profile));
	sheet_add_table(&sheet, MEDIA_MARKDOWN | MEDIA_PROGRAMS, &table);
	return row_outputs_write_once(&doctor->output, &sheet, error);
}

/* --- the command ------------------------------------------------------------------------------- */

#define USAGE                                                                                    \
	"usage: stook doctor [OPTIONS]\n"                                                        \
	"\n"                                                                                     \
	"Finds out what works on this host, by trying: commands, privileges, kernel features,\n" \
	"events, settings, names, what the agent needs; and says what is lost without it, and\n" \
	"what to do.\n"                                                                          \
	"The exit status is 1 if profiling does not work.\n"

#define EXAMPLES           \
	"\nexamples:\n"    \
	"  stook doctor\n" \
	"  stook doctor --json | jq '.findings[] | select(.state != \"ok\")'"

static int refuse_word(void *context, const char *word, struct error *error)
{
	return error_set(error, -EINVAL, "unexpected argument '%s'", word);
}

static int parse(struct doctor *doctor, int argc, char **argv, struct error *error)
{
	const struct option_group groups[] = {row_output_options_group(&doctor->output)};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = refuse_word,
		.context = doctor,
		.usage = USAGE,
		.examples = EXAMPLES,
	};
	int err = option_table_parse(&table, argc, argv, error);

	return err ? err : row_output_options_check(&doctor->output, false, error);
}

/* Worst first, otherwise in the order in which they were found. */
static void sort_findings(struct doctor *doctor, struct finding *ret)
{
	size_t nr = 0, i;
	int state;

	for (state = 0; state < NR_STATES; state++)
		for (i = 0; i < doctor->nr; i++)
			if ((int)doctor->findings[i].state == state)
				ret[nr++] = doctor->findings[i];
}

static int examine(struct doctor *doctor, struct error *error)
{
	struct finding *sorted;
	int err = cpus_read(&doctor->online, "online", error);

	if (err)
		return err;
	try_commands(doctor);
	check_privileges(doctor);
	check_kernel(doctor);
	check_events(doctor);
	check_settings(doctor);
	check_names(doctor);
	check_agent(doctor);
	sorted = calloc(doctor->nr + 1, sizeof(*sorted));
	if (doctor->failed || !sorted) {
		free(sorted);
		return error_no_memory(error, "");
	}
	sort_findings(doctor, sorted);
	free(doctor->findings);
	doctor->findings = sorted;
	return print(doctor, error);
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor doctor = {0};
	struct error error = {0};
	int err = parse(&doctor, argc, argv, &error);

	if (err) {
		if (err < 0)
			complain_error(&error);
		return err < 0 ? EXIT_USAGE : 0;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	err = examine(&doctor, &error);
	free(doctor.findings);
	cpus_clear(&doctor.online);
	return complain_on_error(err, &error) && doctor.can_profile ? 0 : EXIT_FAILED;
}
