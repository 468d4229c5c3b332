/*
 * The protocol is that of the JDK's own tools. A JVM listens on /tmp/.java_pidN, where N is its pid
 * as it sees it. It opens that socket when it gets SIGQUIT while there is a file /tmp/.attach_pidN
 * of its own user (with -Xrs it has it from the start, and does not catch the signal). A client
 * says
 *
 *	1 NUL jcmd NUL Compiler.perfmap NUL NUL NUL
 *
 * and gets a line with a status, then text until the JVM closes the connection: 0 and nothing for
 * a map that was written, else what went wrong.
 *
 * The signal is the only thing here that can do harm. It is sent only to a process that has a
 * handler for it, through a pidfd, and only while the file is there: without it a JVM writes all
 * its threads' stacks to its output. That the handler is the JVM's, and not that of a program that
 * has loaded one with -Xrs or of what the process has become by an exec, shows in the thread that
 * JVMs start for their handlers. The same happens if the mechanism is off, so that is looked
 * for where it is mostly said; @argfiles are not followed.
 */
#include "proc/java_attach.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
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
#include "proc/java_socket.h"

#define OPTIONS_BYTES (256u << 10)

/* "Signal Dispatcher", as the kernel cuts it. It is among the first threads of a JVM. */
#define DISPATCHER	"Signal Dispatch"
#define DISPATCHER_NEAR 1024

static int explain(const struct java_socket *jvm, int err, struct error *error)
{
	int pid = jvm->process->pid;

	switch (err) {
	case -ETIME:
		return error_set(error, err, "JVM %d did not answer in time", pid);
	case -ESRCH:
		return error_set(error, err, "JVM %d ended before it could give its names", pid);
	case -EADDRINUSE:
		return error_set(error, err,
				 "cannot ask JVM %d for its names: another process has its socket, "
				 "/tmp/.java_pid%d",
				 pid, jvm->status.inner_pid);
	default:
		errno = -err;
		return error_set_errno(error, "cannot ask JVM %d for its names", pid);
	}
}

/* 0; or -ENOENT without words: it does not listen. */
static int talk(struct java_socket *jvm, bool is_awaited, struct error *error)
{
	struct error own = {0};
	int err = java_socket_talk(jvm, is_awaited, &own);

	if (err == 0 || (err == -ENOENT && !is_awaited))
		return err;
	if (!own.code || err == -ETIME)
		return explain(jvm, err, error);
	return error_set(error, err, "%s", own.text);
}

/* --- waking it ------------------------------------------------------------------------------ */

/* Whether options that a JVM takes from a variable of its environment switch attaching off. */
static bool variable_forbids(const char *text)
{
	static const char *const variables[] = {
		"JAVA_TOOL_OPTIONS=", "JDK_JAVA_OPTIONS=", "_JAVA_OPTIONS="};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(variables); i++)
		if (!strncmp(text, variables[i], strlen(variables[i])))
			return strstr(text, "-XX:+DisableAttachMechanism") != NULL;
	return false;
}

static bool argument_forbids(const char *text)
{
	return !strcmp(text, "-XX:+DisableAttachMechanism");
}

/* Asks for each of the texts, ended by NUL, that a file of /proc/PID is made of. 1, 0 or -errno. */
static int any_text(int32_t pid, const char *what, bool (*forbids)(const char *text))
{
	cleanup_free char *texts = malloc(OPTIONS_BYTES);
	cleanup_file FILE *file = NULL;
	const char *at;
	char path[64];
	size_t nr;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	file = fopen(path, "re");
	if (!texts || !file)
		return file ? -ENOMEM : -errno;
	nr = fread(texts, 1, OPTIONS_BYTES - 1, file);
	texts[nr] = '\0';
	for (at = texts; at < texts + nr; at += strlen(at) + 1)
		if (forbids(at))
			return 1;
	return 0;
}

static bool is_dispatcher(int32_t pid, const char *tid)
{
	cleanup_file FILE *file = NULL;
	char path[64], comm[32] = "";

	if (snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", pid, tid) >= (int)sizeof(path))
		return false;
	file = fopen(path, "re");
	return file && fgets(comm, sizeof(comm), file) && !strcmp(comm, DISPATCHER "\n");
}

static bool has_dispatcher(int32_t pid)
{
	const struct dirent *entry;
	bool found = false;
	char path[64];
	unsigned nr;
	DIR *tasks;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	for (nr = 0; tasks && !found && nr < DISPATCHER_NEAR && (entry = readdir(tasks)); nr++)
		found = is_dispatcher(pid, entry->d_name);
	if (tasks)
		(void)closedir(tasks);
	return found;
}

/* Reads the status anew, as close to the signal as can be: an exec takes handlers away. */
static int check_ready(struct java_socket *jvm, struct error *error)
{
	int32_t pid = jvm->process->pid;

	if (process_status_read(pid, &jvm->status) < 0)
		return explain(jvm, -ESRCH, error);
	if (jvm->status.state == 'T' || jvm->status.state == 't')
		return error_set(error, -EAGAIN, "cannot ask JVM %d for its names: it is stopped",
				 pid);
	if (!process_status_catches(&jvm->status, SIGQUIT) || !has_dispatcher(pid)) {
		error_set(error, -EAGAIN,
			  "cannot ask JVM %d for its names: it does not catch SIGQUIT", pid);
		error_hint(error, "it is still starting, or was started with -Xrs: signals are "
				  "left alone");
		return -EAGAIN;
	}
	return 0;
}

static int check_allowed(struct java_socket *jvm, struct error *error)
{
	int32_t pid = jvm->process->pid;
	int found = any_text(pid, "cmdline", argument_forbids);

	if (found == 0)
		found = any_text(pid, "environ", variable_forbids);
	if (found <= 0)
		return found ? explain(jvm, found, error) : 0;
	return error_set(error, -EPERM,
			 "cannot ask JVM %d for its names: it runs with "
			 "-XX:+DisableAttachMechanism",
			 pid);
}

/* If the pid was given to another process meanwhile, the pidfd's own is gone: nobody is hit. */
static int send_quit(struct java_socket *jvm, struct error *error)
{
	int err = check_ready(jvm, error);

	if (err < 0)
		return err;
	if (syscall(SYS_pidfd_send_signal, jvm->process->pidfd, SIGQUIT, NULL, 0) < 0)
		return explain(jvm, -errno, error);
	return 0;
}

static int wake_and_talk(struct java_socket *jvm, struct error *error)
{
	struct error own = {0};
	int err = check_allowed(jvm, error);

	if (err == 0)
		err = check_ready(jvm, error);
	if (err < 0)
		return err;
	err = java_socket_make_trigger(jvm, &own);
	if (err < 0)
		return error_set(error, err,
				 "cannot ask JVM %d for its names: no file '/tmp/.attach_pid%d' to "
				 "be made below its root: %s",
				 jvm->process->pid, jvm->status.inner_pid,
				 own.code ? own.text : strerror(-err));
	err = send_quit(jvm, error);
	if (err == 0)
		err = talk(jvm, true, error);
	java_socket_remove_trigger(jvm);
	return err;
}

/* --- its answer ----------------------------------------------------------------------------- */

/* The first line of what it said after the status; its own words: no control characters. */
static void copy_words(const char *text, char *to, size_t room)
{
	size_t i, nr = strcspn(text, "\n");

	for (i = 0; i < nr && i + 1 < room; i++)
		to[i] = (char)(isprint((unsigned char)text[i]) ? text[i] : '?');
	to[i] = '\0';
}

static int judge_refusal(const struct java_socket *jvm, const char *text, struct error *error)
{
	int pid = jvm->process->pid;
	char words[200];

	if (strstr(text, "Unknown diagnostic command")) {
		error_set(error, -EOPNOTSUPP, "JVM %d has no command that writes its perf map",
			  pid);
		error_hint(error, "Java 17 or newer has it");
		return -EOPNOTSUPP;
	}
	copy_words(text, words, sizeof(words));
	return error_set(error, -EREMOTEIO, "JVM %d refused to write its perf map%s%s", pid,
			 *words ? ": " : "", words);
}

static int judge_reply(struct java_socket *jvm, struct error *error)
{
	int pid = jvm->process->pid;
	char text[JAVA_REPLY_BYTES + 1];
	char *end;
	long status;

	memcpy(text, jvm->reply, jvm->nr_reply);
	text[jvm->nr_reply] = '\0';
	if (!jvm->nr_reply)
		return error_set(error, -EPROTO, "JVM %d closed the connection without an answer",
				 pid);
	status = strtol(text, &end, 10);
	if (end == text || isspace((unsigned char)*text) || *end != '\n')
		return error_set(error, -EPROTO,
				 "JVM %d gave an answer that is none of its protocol", pid);
	if (status != 0 || strstr(end, "Unknown diagnostic command"))
		return judge_refusal(jvm, end + 1, error);
	return 0;
}

/*
 * When its map was written; {0} if there is none. A JVM that can't open the file says so in its
 * own output, and answers 0 all the same: so one that is not its own is found beforehand.
 */
static int find_map(const struct java_socket *jvm, struct timespec *ret, struct error *error)
{
	cleanup_fd int fd = runtime_process_open_map(jvm->process);
	struct stat st = {0};

	if (fd == -EACCES || (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != jvm->status.uid)))
		return error_set(error, -EACCES,
				 "cannot ask JVM %d for its names: /tmp/perf-%d.map belongs to "
				 "another user, or is no file",
				 jvm->process->pid, jvm->status.inner_pid);
	*ret = st.st_mtim;
	return 0;
}

static int check_written(const struct java_socket *jvm, const struct timespec *before,
			 struct error *error)
{
	struct timespec now;
	int err = find_map(jvm, &now, error);

	if (err < 0)
		return err;
	if (now.tv_sec != before->tv_sec || now.tv_nsec != before->tv_nsec)
		return 0;
	error_set(error, -ENOENT, "JVM %d says that it wrote its perf map, but it did not",
		  jvm->process->pid);
	error_hint(error, "is its file system full? The file is /tmp/perf-%d.map below its root",
		   jvm->status.inner_pid);
	return -ENOENT;
}

int java_attach_write_map(const struct runtime_process *process, uint64_t timeout_ns,
			  struct error *error)
{
	struct java_socket jvm = {.process = process, .deadline_ns = clock_now_ns() + timeout_ns};
	struct timespec before;
	int err;

	if (!process->runtime || !process->runtime->is_java)
		return error_set(error, -EINVAL, "process %d is not a JVM that can be asked",
				 process->pid);
	if (process->pidfd < 0 || process->root_fd < 0 ||
	    process_status_read(process->pid, &jvm.status) < 0)
		return explain(&jvm, -ESRCH, error);
	err = find_map(&jvm, &before, error);
	if (err < 0)
		return err;
	err = talk(&jvm, false, error);
	if (err == -ENOENT)
		err = wake_and_talk(&jvm, error);
	if (err == 0)
		err = judge_reply(&jvm, error);
	return err < 0 ? err : check_written(&jvm, &before, error);
}
