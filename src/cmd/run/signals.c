/* See signals.h. */
#include "cmd/run/signals.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

int signals_listen(struct error *error)
{
	sigset_t signals;
	int fd;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? error_set_errno(error, "cannot listen to signals") : fd;
}

void signals_stop_listening(int signal_fd, const struct child *child)
{
	struct signalfd_siginfo info;
	sigset_t none;

	if (read(signal_fd, &info, sizeof(info)) == sizeof(info) && child->pid &&
	    (info.ssi_signo != SIGINT || info.ssi_code == SI_USER))
		(void)kill(child->pid, (int)info.ssi_signo);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}
