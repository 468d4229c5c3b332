/*
 * From targets to the end of a run, with what a run needs of the system: signals, the program behind
 * `--`, the processes that were named.
 *
 * Targets are watched by pidfd: no polling, and no mistaking a new process for an old one.
 */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "run/complain.h"
#include "proc/cgroup.h"
#include "proc/process_info.h"

/* --- signals --------------------------------------------------------------------------------- */

/*
 * A handler, and not signalfd(): a signal must end the program also while nobody reads descriptors,
 * in the middle of a search of symbols or of a write to a full pipe. The handler makes an eventfd
 * readable and gives all three signals their default effect; system calls that were interrupted go on.
 *
 * timeout(1) sends its signal twice at once, to its child and to its group. The second one is no word
 * of the user's: for a moment the handler waits for it and takes it away.
 *
 * SIGHUP stays ignored for a program that was started so (nohup). SIGINT does not: shells start all
 * background jobs of scripts with SIGINT ignored, and `kill -INT` is how a script ends a run.
 */

#define TWIN_NS (20 * NS_PER_MS) /* how long the handler waits for the same signal once more */

static const int signal_numbers[] = {SIGINT, SIGTERM, SIGHUP};

/* The handler's own. */
static struct {
	int fd;
	struct sigaction before[ARRAY_SIZE(signal_numbers)];
	volatile sig_atomic_t number;
	volatile sig_atomic_t is_from_terminal;
} heard = {.fd = -1};

static void set_all(void (*handler)(int))
{
	const struct sigaction action = {.sa_handler = handler};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signal_numbers); i++)
		if (signal_numbers[i] != SIGHUP || heard.before[i].sa_handler != SIG_IGN)
			(void)sigaction(signal_numbers[i], &action, NULL);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	const struct timespec twin = {.tv_nsec = TWIN_NS};
	const uint64_t one = 1;
	int before = errno;
	sigset_t same;

	heard.is_from_terminal = number == SIGINT && info->si_code != SI_USER;
	heard.number = number;
	(void)!write(heard.fd, &one, sizeof(one));
	(void)sigemptyset(&same);
	(void)sigaddset(&same, number);
	(void)sigtimedwait(&same, NULL, &twin);
	set_all(SIG_DFL);
	errno = before;
}

int signals_listen(struct error *error)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
	sigset_t all;
	size_t i;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return error_set_errno(error, "cannot listen to signals");
	action.sa_sigaction = on_signal;
	(void)sigemptyset(&all);
	for (i = 0; i < ARRAY_SIZE(signal_numbers); i++) {
		(void)sigaddset(&all, signal_numbers[i]);
		(void)sigaction(signal_numbers[i], NULL, &heard.before[i]);
	}
	action.sa_mask = all;
	heard.fd = fd;
	heard.number = 0;
	for (i = 0; i < ARRAY_SIZE(signal_numbers); i++)
		if (signal_numbers[i] != SIGHUP || heard.before[i].sa_handler != SIG_IGN)
			(void)sigaction(signal_numbers[i], &action, NULL);
	(void)sigprocmask(SIG_UNBLOCK, &all, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	return fd;
}

/*
 * Takes a signal that has come as seen: what follows goes on as if there had been none. It is passed
 * on to the child (NULL: none), but for the terminal's Ctrl-C, which the child has got itself.
 */
static void signals_take(int signal_fd, const struct child *child)
{
	uint64_t nr;

	if (signal_fd < 0 || read(signal_fd, &nr, sizeof(nr)) != sizeof(nr))
		return;
	if (child && child->pid && !heard.is_from_terminal)
		(void)kill(child->pid, heard.number);
}

void signals_stop_listening(int signal_fd, const struct child *child)
{
	if (signal_fd < 0)
		return;
	set_all(SIG_DFL);
	signals_take(signal_fd, child);
}

/* In a process that is to become another program: signals are as we were given them. */
static void signals_give_back(void)
{
	sigset_t none;
	size_t i;

	for (i = 0; heard.fd >= 0 && i < ARRAY_SIZE(signal_numbers); i++)
		(void)sigaction(signal_numbers[i], &heard.before[i], NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* --- the program behind `--` ----------------------------------------------------------------- */

/*
 * The child waits on a pipe for one byte, so that its very first instruction is sampled, and reports
 * a failed exec through a second pipe, which a successful exec closes.
 */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/*
 * Ambient capabilities were given to us to profile with, and execve() would hand them down. Root's
 * command is root's, as without us. Kernels without ambient capabilities have none to hand down.
 */
static bool drop_ambient_capabilities(void)
{
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 || errno == EINVAL;
}

__attribute__((noreturn)) static void become(char **argv, int start_fd, int exec_fd)
{
	char go;

	signals_give_back(); /* what we ignore would be ignored by the program, too */
	if (read(start_fd, &go, 1) == 1) {
		if (drop_ambient_capabilities())
			(void)execvp(argv[0], argv);
		if (write(exec_fd, &errno, sizeof(errno)) < 0)
			_exit(126);
	}
	_exit(127);
}

/* Waits for its end; its status as a shell has it: 128 + the signal for one that was killed. */
static int child_wait(struct child *child)
{
	int status;

	while (waitpid(child->pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	child->pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Closes what is open; a child that was never started ends. Also for {0}. */
static void child_clear(struct child *child)
{
	bool waits = child->pid && child->start_fd >= 0;

	if (!child->pid && !child->start_fd)
		return; /* {0}: there never was one */
	close_fd(&child->start_fd);
	close_fd(&child->exec_fd);
	close_fd(&child->pidfd);
	if (waits)
		(void)child_wait(child);
}

/* A process that is ready to become argv, without our ambient capabilities. 0 or a negative errno. */
static int child_prepare(struct child *child, char **argv, struct error *error)
{
	int start[2], result[2];

	*child = (struct child){.pidfd = -1, .start_fd = -1, .exec_fd = -1};
	if (pipe2(start, O_CLOEXEC) < 0)
		return error_set_errno(error, "cannot start '%s'", argv[0]);
	if (pipe2(result, O_CLOEXEC) < 0) {
		(void)close(start[0]);
		(void)close(start[1]);
		return error_set_errno(error, "cannot start '%s'", argv[0]);
	}
	child->start_fd = start[1];
	child->exec_fd = result[0];
	child->pid = fork();
	if (child->pid == 0) {
		(void)close(start[1]); /* so that our end closing is the end of file */
		become(argv, start[0], result[1]);
	}
	(void)close(start[0]);
	(void)close(result[1]);
	if (child->pid < 0) {
		int err = error_set_errno(error, "cannot start '%s'", argv[0]);

		child->pid = 0;
		child_clear(child);
		return err;
	}
	child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	if (child->pidfd < 0) {
		int err = error_set_errno(error, "cannot watch '%s'", argv[0]);

		child_clear(child);
		return err;
	}
	return 0;
}

/* Lets it execute. 0; or what execvp() failed with: -ENOENT, -EACCES, … */
static int child_start(struct child *child, char **argv, struct error *error)
{
	int why = 0;

	if (write(child->start_fd, "", 1) != 1)
		return error_set_errno(error, "cannot start '%s'", argv[0]);
	close_fd(&child->start_fd);
	if (read(child->exec_fd, &why, sizeof(why)) == sizeof(why))
		return error_set(error, -why, "cannot execute '%s': %s", argv[0], strerror(why));
	close_fd(&child->exec_fd);
	return 0;
}

/* --- targets --------------------------------------------------------------------------------- */

static int watch(struct targets *targets, uint32_t pid, const char *what, uint32_t number,
		 struct error *error)
{
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);

	if (fd < 0) {
		if (errno == ESRCH || errno == EINVAL || errno == ENOENT)
			return error_set(error, -ESRCH, "no such %s: %u", what, number);
		return error_set_errno(error, "cannot watch %s %u", what, number);
	}
	targets->fds[targets->nr++] = (struct pollfd){.fd = fd, .events = POLLIN};
	targets->nr_alive++;
	return 0;
}

/*
 * 0; -ESRCH, with the number in *error, if there is no such process or thread; -EINVAL if /proc
 * shows another pid namespace, which is checked without targets too.
 */
static int targets_open(struct targets *targets, const uint32_t *pids, size_t nr_pids,
			const uint32_t *tids, size_t nr_tids, struct error *error)
{
	size_t i;
	int err = 0;

	*targets = (struct targets){0};
	if (!process_proc_is_ours())
		return error_set(error, -EINVAL,
				 "/proc is of another pid namespace than ours: mount our own "
				 "(unshare --mount-proc)");
	targets->fds = calloc(nr_pids + nr_tids + 1, sizeof(*targets->fds));
	if (!targets->fds)
		return error_set(error, -ENOMEM, "out of memory");
	for (i = 0; i < nr_pids && !err; i++)
		err = watch(targets, pids[i], "process", pids[i], error);
	for (i = 0; i < nr_tids && !err; i++) {
		int64_t pid = process_of_thread((int32_t)tids[i]);

		if (pid < 0)
			return error_set(error, -ESRCH, "no such thread: %u", tids[i]);
		err = watch(targets, (uint32_t)pid, "thread", tids[i], error);
	}
	return err;
}

/* Notes the targets that have ended (revents of fds); true if none is left that was. */
static bool targets_all_ended(struct targets *targets)
{
	size_t i;

	for (i = 0; i < targets->nr; i++) {
		if (targets->fds[i].fd < 0 || !targets->fds[i].revents)
			continue;
		close_fd(&targets->fds[i].fd);
		targets->nr_alive--;
	}
	return targets->nr && !targets->nr_alive;
}

static void targets_clear(struct targets *targets)
{
	size_t i;

	for (i = 0; i < targets->nr; i++)
		close_fd(&targets->fds[i].fd);
	free(targets->fds);
	*targets = (struct targets){0};
}

/* --- the beginning --------------------------------------------------------------------------- */

#define TICK_NS NS_PER_SEC /* how often the progress line moves */

enum { SIGNAL_FD, CHILD_FD, FIRST_TARGET_FD };

/* child_pid: of the command behind `--`, 0 if there is none; it must outlive what is returned. */
static struct wanted_tasks wanted(const struct run_config *config, int cgroup_fd,
				  const uint32_t *child_pid)
{
	bool only_child = *child_pid && !config->everything;

	return (struct wanted_tasks){
		.pids = only_child ? child_pid : config->pids,
		.nr_pids = only_child ? 1 : config->nr_pids,
		.tids = config->tids,
		.nr_tids = config->nr_tids,
		.follow = !config->no_follow,
		.cgroup_fd = cgroup_fd,
	};
}

int run_open_targets(struct run *run, const struct run_config *options, struct error *error)
{
	int err;

	*run = (struct run){.options = options, .cgroup_fd = -1, .signal_fd = -1};
	err = targets_open(&run->targets, options->pids, options->nr_pids, options->tids,
			   options->nr_tids, error);
	if (!err && options->cgroup) {
		run->cgroup_fd = cgroup_open(options->cgroup, error);
		err = run->cgroup_fd < 0 ? run->cgroup_fd : 0;
	}
	run->tasks = wanted(options, run->cgroup_fd, &run->child_pid);
	return err;
}

int run_prepare_child(struct run *run, struct error *error)
{
	int err = 0;

	run->signal_fd = signals_listen(error);
	if (run->signal_fd < 0)
		return run->signal_fd;
	if (run->options->command)
		err = child_prepare(&run->child, run->options->command, error);
	if (err)
		return err;
	run->child_pid = (uint32_t)run->child.pid;
	run->tasks = wanted(run->options, run->cgroup_fd, &run->child_pid);
	run->fds = calloc(FIRST_TARGET_FD + run->targets.nr, sizeof(*run->fds));
	return run->fds ? 0 : error_set(error, -ENOMEM, "out of memory");
}

void run_start_clock(struct run *run)
{
	run->began_ns = clock_now_ns();
	run->deadline_ns = run->interval_end_ns = UINT64_MAX;
	if (run->options->duration_ns)
		run->deadline_ns = run->began_ns + run->options->duration_ns;
	if (run->options->interval_ns)
		run->interval_end_ns = run->began_ns + run->options->interval_ns;
}

/* --- waiting --------------------------------------------------------------------------------- */

static void clear_progress(const struct run *run)
{
	if (run->shows_progress)
		fputs("\r\033[K", stderr);
}

static void show_progress(const struct run *run, const struct run_work *work)
{
	if (!run->shows_progress || !work->print_progress)
		return;
	clear_progress(run);
	fprintf(stderr, "%5.0f s", (double)(clock_now_ns() - run->began_ns) / 1e9);
	if (run->options->duration_ns)
		fprintf(stderr, " of %g", (double)run->options->duration_ns / 1e9);
	work->print_progress(work->context);
	fputs("  (Ctrl-C ends and prints)", stderr);
}

static void list_fds(struct run *run)
{
	run->fds[SIGNAL_FD] = (struct pollfd){.fd = run->signal_fd, .events = POLLIN};
	run->fds[CHILD_FD] =
		(struct pollfd){.fd = run->child.pid ? run->child.pidfd : -1, .events = POLLIN};
	memcpy(&run->fds[FIRST_TARGET_FD], run->targets.fds, run->targets.nr * sizeof(*run->fds));
}

/* Lets the child execute its program, if there is one and it has not begun. */
static int start_child(struct run *run, const struct run_work *work, struct error *error)
{
	int err;

	if (!run->child.pid || run->child_started ||
	    (work->is_ready && !work->is_ready(work->context)))
		return 0;
	err = child_start(&run->child, run->options->command, error);
	run->child_started = !err;
	run->child_failed = err;
	run_start_clock(run);
	return err;
}

/* The interval that ends with the run is shown like any run. */
static int pass_interval(struct run *run, const struct run_work *work, struct error *error)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns < run->interval_end_ns || now_ns >= run->deadline_ns)
		return 0;
	do {
		run->interval_end_ns += run->options->interval_ns;
	} while (run->interval_end_ns <= now_ns); /* after a SIGSTOP, say */
	clear_progress(run);
	return work->end_interval(work->context, error);
}

/* Reads what the descriptors say; true when the run is to end. */
static bool is_over(struct run *run)
{
	memcpy(run->targets.fds, &run->fds[FIRST_TARGET_FD], run->targets.nr * sizeof(*run->fds));
	run->child_ended = run->fds[CHILD_FD].revents;
	if (run->fds[SIGNAL_FD].revents || run->child_ended)
		return true;
	if (targets_all_ended(&run->targets)) {
		clear_progress(run);
		if (!run->options->quiet)
			complain("the target has ended");
		return true;
	}
	return clock_now_ns() >= run->deadline_ns;
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void run_take_signal(struct run *run)
{
	signals_take(run->signal_fd, &run->child);
}

int run_wait(struct run *run, const struct run_work *work, struct error *error)
{
	uint64_t tick_ns = run->began_ns;
	int err;

	do {
		tick_ns = run->shows_progress ? tick_ns + TICK_NS : UINT64_MAX;
		err = start_child(run, work, error);
		if (err)
			break;
		list_fds(run);
		err = work->wait(
			work->context,
			earliest(tick_ns, earliest(run->deadline_ns, run->interval_end_ns)),
			run->fds, FIRST_TARGET_FD + run->targets.nr, error);
		if (!err)
			err = pass_interval(run, work, error);
		show_progress(run, work);
	} while (!err && !is_over(run));
	clear_progress(run);
	run_take_signal(run);
	return err;
}

/* --- the end --------------------------------------------------------------------------------- */

int run_usage_status(char **argv)
{
	for (; *argv; argv++)
		if (!strcmp(*argv, "--"))
			return EXIT_OWN_FAILURE;
	return EXIT_USAGE;
}

/* With `-- CMD` a failure must not look like a status of CMD's. */
static int status_of_failure(const struct run *run, int err)
{
	if (!run->options->command)
		return EXIT_FAILED;
	if (run->child_failed && err == -ENOENT)
		return 127;
	return run->child_failed && err == -EACCES ? 126 : EXIT_OWN_FAILURE;
}

int run_status(struct run *run, int err)
{
	const struct run_config *options = run->options;
	int status = 0, child_status;

	signals_stop_listening(run->signal_fd, &run->child);
	if (err)
		status = status_of_failure(run, err);
	if (!run->child_started)
		return status;
	if (!run->child_ended && !options->quiet)
		complain("the run has ended, '%s' goes on: waiting for it", options->command[0]);
	child_status = child_wait(&run->child);
	return err ? status : child_status;
}

void run_clear(struct run *run)
{
	child_clear(&run->child);
	targets_clear(&run->targets);
	free(run->fds);
	close_fd(&run->cgroup_fd);
	close_fd(&run->signal_fd);
}
