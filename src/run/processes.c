/*
 * Signals, the program after `--`, and targets.
 *
 * Targets are watched by pidfd: no polling, and a reused pid is never mistaken for the target.
 */
#include "run/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/process_info.h"
#include "run/complain.h"

/* --- signals --------------------------------------------------------------------------------- */

/*
 * A handler instead of signalfd(): a signal must end the program even while nobody polls
 * descriptors, for example during a search for symbols or a write to a full pipe. The handler makes
 * an eventfd readable and gives all three signals their default effect. Interrupted system calls
 * are restarted.
 *
 * timeout(1) sends its signal twice in a row: to its child, and to its process group. The second
 * signal does not come from the user: the handler waits for it briefly and discards it.
 *
 * SIGHUP stays ignored if it was ignored at the start (nohup). SIGINT does not: shells start all
 * background jobs of scripts with SIGINT ignored, and `kill -INT` is how a script ends a run.
 */

#define TWIN_NS (20 * NS_PER_MS) /* how long the handler waits for a repeated signal */

static const int signal_numbers[] = {SIGINT, SIGTERM, SIGHUP};

/* State of the signal handler. */
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
		return error_set_errno(error, "cannot install signal handlers");
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

void signals_leave(void)
{
	sigset_t all;
	size_t i;

	(void)sigemptyset(&all);
	for (i = 0; i < ARRAY_SIZE(signal_numbers); i++)
		(void)sigaddset(&all, signal_numbers[i]);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
}

bool signals_consume(int signal_fd, const struct child *child)
{
	uint64_t nr;

	if (signal_fd < 0 || read(signal_fd, &nr, sizeof(nr)) != sizeof(nr))
		return false;
	if (child && child->pid && !heard.is_from_terminal)
		(void)kill(child->pid, heard.number);
	return true;
}

void signals_stop_listening(int signal_fd, const struct child *child)
{
	if (signal_fd < 0)
		return;
	set_all(SIG_DFL);
	(void)signals_consume(signal_fd, child);
}

/* Restores the original signal dispositions in a process that is about to exec. */
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

/* --- the program after `--` ----------------------------------------------------------------- */

/*
 * The child waits on a pipe for one byte, so that its very first instruction is sampled. It reports
 * a failed exec through a second pipe, which a successful exec closes.
 */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/*
 * Ambient capabilities were given to us for profiling, and execve() would pass them on. A command
 * run by root keeps root's capabilities, as without us. Kernels without ambient capabilities return
 * EINVAL.
 */
static bool drop_ambient_capabilities(void)
{
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 || errno == EINVAL;
}

__attribute__((noreturn)) static void become(char **argv, int start_fd, int exec_fd)
{
	char go;

	signals_give_back(); /* ignored signals would stay ignored in the program */
	if (read(start_fd, &go, 1) == 1) {
		if (drop_ambient_capabilities())
			(void)execvp(argv[0], argv);
		if (write(exec_fd, &errno, sizeof(errno)) < 0)
			_exit(126);
	}
	_exit(127);
}

bool child_times(pid_t pid, double *ret_user_seconds, double *ret_system_seconds)
{
	struct rusage usage;
	siginfo_t info = {0};

	/* glibc's waitid() lacks the last argument. */
	if (syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOWAIT | WNOHANG, &usage) < 0 ||
	    !info.si_pid)
		return false;
	*ret_user_seconds = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
	*ret_system_seconds = (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
	return true;
}

int child_wait(struct child *child)
{
	int status;

	while (waitpid(child->pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	child->pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void child_clear(struct child *child)
{
	bool waits = child->pid && child->start_fd >= 0;

	if (!child->pid && !child->start_fd)
		return; /* {0}: no child */
	close_fd(&child->start_fd);
	close_fd(&child->exec_fd);
	close_fd(&child->pidfd);
	if (waits)
		(void)child_wait(child);
}

int child_prepare(struct child *child, char **argv, struct error *error)
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
		(void)close(start[1]); /* so that closing the parent's end is end of file */
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

int child_start(struct child *child, char **argv, struct error *error)
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

int targets_open(struct targets *targets, const struct run_config *config, struct error *error)
{
	size_t i;
	int err = 0;

	*targets = (struct targets){0};
	if (!process_proc_is_ours())
		return error_set(error, -EINVAL,
				 "/proc belongs to a different pid namespace: mount the right one "
				 "(unshare --mount-proc)");
	targets->fds = calloc(config->nr_pids + config->nr_tids + 1, sizeof(*targets->fds));
	if (!targets->fds)
		return error_set(error, -ENOMEM, "out of memory");
	for (i = 0; i < config->nr_pids && !err; i++)
		err = watch(targets, config->pids[i], "process", config->pids[i], error);
	if (err == -ESRCH && config->nr_pids == 1 && !config->duration_ns)
		error_hint(error, "if it is the duration: $(pidof NAME) found nothing, and -p took "
				  "the next argument");
	for (i = 0; i < config->nr_tids && !err; i++) {
		int64_t pid = process_of_thread((int32_t)config->tids[i]);

		if (pid < 0)
			return error_set(error, -ESRCH, "no such thread: %u", config->tids[i]);
		err = watch(targets, (uint32_t)pid, "thread", config->tids[i], error);
	}
	return err;
}

#define MAX_TOLD 8

/* "1234 (redis-server), 1240 (redis-server)" */
static void list_targets(const uint32_t *numbers, size_t nr, FILE *out)
{
	struct process_status status;
	size_t i;

	for (i = 0; i < nr && i < MAX_TOLD; i++) {
		fprintf(out, "%s%u", i ? ", " : "", numbers[i]);
		if (process_status_read((int32_t)numbers[i], &status) == 0)
			fprintf(out, " (%s)", status.comm);
	}
	if (nr > MAX_TOLD)
		fprintf(out, " and %zu more", nr - MAX_TOLD);
}

void targets_print(const struct run_config *config)
{
	cleanup_free char *text = NULL;
	size_t bytes;
	FILE *out;

	if (!config->nr_pids && !config->nr_tids)
		return;
	out = open_memstream(&text, &bytes);
	if (!out)
		return;
	list_targets(config->pids, config->nr_pids, out);
	if (config->nr_tids)
		fprintf(out, "%sthread%s ", config->nr_pids ? ", and " : "",
			config->nr_tids == 1 ? "" : "s");
	list_targets(config->tids, config->nr_tids, out);
	if (config->duration_ns)
		fprintf(out, " for %g s", (double)config->duration_ns / (double)NS_PER_SEC);
	else
		fputs(" until Ctrl-C", out);
	if (fclose(out) == 0)
		complain("profiling %s", text);
}

bool targets_all_ended(struct targets *targets)
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

void targets_clear(struct targets *targets)
{
	size_t i;

	for (i = 0; i < targets->nr; i++)
		close_fd(&targets->fds[i].fd);
	free(targets->fds);
	*targets = (struct targets){0};
}
