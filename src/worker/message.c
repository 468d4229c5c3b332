/* Sends and receives datagrams with a few descriptors. */
#include "worker/message.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Room for the descriptors of one datagram. */
union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(MESSAGE_FDS_MAX * sizeof(int))];
};

int message_send(int socket, const void *message, size_t nr, const int *fds, size_t nr_fds)
{
	struct iovec part = {(void *)(uintptr_t)message, nr};
	union control control = {0};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

	if (nr_fds > MESSAGE_FDS_MAX)
		return -EINVAL;
	if (nr_fds) {
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(nr_fds * sizeof(*fds));
		control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(nr_fds * sizeof(*fds)),
						  .cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), fds, nr_fds * sizeof(*fds));
	}
	for (;;) {
		if (sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

/* Fills in the received descriptors; padding may have left room for one more than was asked for. */
static void take_fds(struct msghdr *header, int *fds, size_t nr_fds)
{
	const struct cmsghdr *first = CMSG_FIRSTHDR(header);
	size_t i, nr;

	if (!first || first->cmsg_level != SOL_SOCKET || first->cmsg_type != SCM_RIGHTS ||
	    first->cmsg_len < CMSG_LEN(0))
		return;
	nr = (first->cmsg_len - CMSG_LEN(0)) / sizeof(*fds);
	memcpy(fds, CMSG_DATA(first), (nr < nr_fds ? nr : nr_fds) * sizeof(*fds));
	for (i = nr_fds; i < nr; i++) {
		int more;

		memcpy(&more, CMSG_DATA(first) + i * sizeof(more), sizeof(more));
		(void)close(more);
	}
}

ssize_t message_receive(int socket, void *message, size_t nr, int flags, int *fds, size_t nr_fds)
{
	struct iovec part = {message, nr};
	union control control;
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	bool was_reset = false;
	ssize_t received;
	size_t i;

	for (i = 0; i < nr_fds; i++)
		fds[i] = -1;
	if (nr_fds) {
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(nr_fds * sizeof(*fds));
	}
	/*
	 * If the peer ended with a message of ours unread, the kernel first reports that, once, and then the peer's last
	 * messages.
	 */
	do {
		received = recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
		if (received < 0 && errno == ECONNRESET && !was_reset) {
			was_reset = true;
			errno = EINTR;
		}
	} while (received < 0 && errno == EINTR);
	if (received < 0)
		return -errno;
	take_fds(&header, fds, nr_fds);
	if (received == 0)
		return -ECONNRESET; /* no message is empty */
	return header.msg_flags & MSG_TRUNC ? -EPROTO : received;
}
