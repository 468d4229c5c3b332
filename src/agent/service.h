/* The service manager that has started us: systemd's notification protocol, without its library. */
#ifndef STOOK_AGENT_SERVICE_H
#define STOOK_AGENT_SERVICE_H

#include <stdint.h>

struct service {
	int fd;			/* of the socket; -1: nobody wants to know */
	uint64_t watchdog_ns;	/* how often to say that we are alive; 0: never */
	uint64_t alive_next_ns; /* when to say so next, CLOCK_MONOTONIC */
};

/* From the environment. Best effort: without a manager, or if it does not listen, nothing is sent. */
void service_open(struct service *service);
void service_close(struct service *service);

/* Sends a message such as "READY=1". */
void service_notify(const struct service *service, const char *message);

/* Call it at least once a second. */
void service_tell_alive(struct service *service, uint64_t now_ns);

#endif
