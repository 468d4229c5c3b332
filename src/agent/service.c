/*
 * The protocol is a datagram of lines NAME=VALUE to the socket that NOTIFY_SOCKET names. The socket does not block, so
 * that a manager which does not read cannot stop the agent.
 */
#include "agent/service.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const size_t nr = strlen(path);
	cleanup_fd int fd = -1;

	if ((path[0] != '/' && path[0] != '@') || nr >= sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path, path, nr);
	if (path[0] == '@') /* an abstract name */
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + nr)) < 0)
		return -1;
	return take_fd(&fd);
}

/* Half of the time after which the manager gives us up, as it recommends. */
static uint64_t watchdog_ns(void)
{
	const char *limit = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t limit_us, number;

	if (!limit || number_parse(limit, UINT64_MAX / NS_PER_US, &limit_us) < 0)
		return 0;
	if (pid && (number_parse(pid, INT32_MAX, &number) < 0 || (pid_t)number != getpid()))
		return 0;
	return limit_us * NS_PER_US / 2;
}

void service_open(struct service *service)
{
	const char *path = getenv("NOTIFY_SOCKET");

	*service = (struct service){.fd = path ? connect_to(path) : -1};
	if (service->fd >= 0)
		service->watchdog_ns = watchdog_ns();
}

void service_close(struct service *service)
{
	cleanup_close_fd(&service->fd);
	service->fd = -1;
}

void service_notify(const struct service *service, const char *message)
{
	if (service->fd >= 0)
		(void)!send(service->fd, message, strlen(message), MSG_NOSIGNAL);
}

void service_tell_alive(struct service *service, uint64_t now_ns)
{
	if (!service->watchdog_ns || now_ns < service->alive_next_ns)
		return;
	service->alive_next_ns = now_ns + service->watchdog_ns;
	service_notify(service, "WATCHDOG=1");
}
