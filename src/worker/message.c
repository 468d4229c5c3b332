/* Sends and receives datagrams with at most one descriptor. */
#include "worker/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

int message_send(int socket, const void *message, size_t nr, int fd)
{
	struct iovec part = {(void *)(uintptr_t)message, nr};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd >= 0) {
		header.msg_control = &control;
		header.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
						  .cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	for (;;) {
		if (sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

ssize_t message_receive(int socket, void *message, size_t nr, int flags, int *ret_fd)
{
	struct iovec part = {message, nr};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	const struct cmsghdr *first;
	ssize_t received;

	if (ret_fd) {
		*ret_fd = -1;
		header.msg_control = &control;
		header.msg_controllen = sizeof(control);
	}
	do {
		received = recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
	} while (received < 0 && errno == EINTR);
	if (received < 0)
		return -errno;
	first = ret_fd ? CMSG_FIRSTHDR(&header) : NULL;
	if (first && first->cmsg_level == SOL_SOCKET && first->cmsg_type == SCM_RIGHTS &&
	    first->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(first), sizeof(*ret_fd));
	if (received == 0)
		return -ECONNRESET; /* no message is empty */
	return header.msg_flags & MSG_TRUNC ? -EPROTO : received;
}
