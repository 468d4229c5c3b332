/*
 * otel_context MODE [PROGRAM]: publishes an OpenTelemetry process context as SDKs do (OTEP 4719), and spins for a tenth of
 * the time. At SIGUSR1 it executes the program, with mode none.
 *
 * The resource is service.name = MODE, service.version = 1.2, and attributes that Stook does not read. Prints "published"
 * when it is there. Modes:
 *
 *	memfd		in a memfd
 *	anon		in anonymous memory with a name; prints "unnamed" and ends if the kernel knows none
 *	late		a second after the start
 *	writing		the context is being written, without end
 *	huge		of 4 GiB
 *	garbage		random bytes instead of a message
 *	terminal	service.name has an escape sequence and invalid UTF-8
 *	silent		the message is in a page that is never there: reading it does not return
 *	none		nothing
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "burn.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA	     0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

#define PAGE 4096

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published;
	const void *message;
};

static unsigned char message[PAGE];

/* A field of bytes; its length is below 128. */
static size_t put(unsigned char *to, int field, const void *bytes, size_t nr)
{
	to[0] = (unsigned char)(field << 3 | 2);
	to[1] = (unsigned char)nr;
	memcpy(to + 2, bytes, nr);
	return nr + 2;
}

static size_t put_attribute(unsigned char *to, const char *key, const char *text)
{
	unsigned char value[128], pair[256];
	size_t nr = put(pair, 1, key, strlen(key));

	nr += put(pair + nr, 2, value, put(value, 1, text, strlen(text)));
	return put(to, 1, pair, nr);
}

static size_t put_resource(unsigned char *to, const char *name)
{
	size_t nr = put_attribute(to, "telemetry.sdk.language", "c");

	nr += put_attribute(to + nr, "service.name", name);
	nr += put_attribute(to + nr, "process", "forged");
	return nr + put_attribute(to + nr, "service.version", "1.2");
}

/* Memory that nobody fills: who reads it waits. */
static const void *silent_page(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	range.range.start = (uintptr_t)page;
	range.range.len = PAGE;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &range) < 0)
		return NULL;
	return page;
}

static struct header *make_mapping(int is_anonymous)
{
	int fd = is_anonymous ? -1 : memfd_create("OTEL_CTX", MFD_CLOEXEC);
	void *page;

	if (!is_anonymous && (fd < 0 || ftruncate(fd, PAGE) < 0))
		exit(1);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		    is_anonymous ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		exit(1);
	(void)madvise(page, PAGE, MADV_DONTFORK);
	if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, page, PAGE, "OTEL_CTX") < 0 && is_anonymous) {
		puts("unnamed");
		exit(0);
	}
	return page;
}

static void publish(struct header *header, const char *mode)
{
	const char *name = !strcmp(mode, "terminal") ? "a\033[31mb\xff" : mode;
	struct header next = {.version = 2, .published = monotonic_ns(), .message = message};

	next.size = (uint32_t)put_resource(message, name);
	if (!strcmp(mode, "huge"))
		next.size = UINT32_MAX;
	if (!strcmp(mode, "writing"))
		next.published = 0;
	if (!strcmp(mode, "garbage"))
		memset(message, 0xa7, sizeof(message));
	if (!strcmp(mode, "silent"))
		next.message = silent_page();
	*header = next;
	__sync_synchronize();
	memcpy(header->signature, "OTEL_CTX", sizeof(header->signature));
}

NAMED void spin_context(void)
{
	BURN_TURNS(100000);
}

static volatile sig_atomic_t is_told;

static void be_told(int number)
{
	is_told = number;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "memfd";
	struct header *header = NULL;

	if (!strcmp(mode, "late"))
		sleep(1);
	if (strcmp(mode, "none") != 0) {
		header = make_mapping(!strcmp(mode, "anon"));
		publish(header, mode);
	}
	if (!strcmp(mode, "silent") && !header->message) {
		puts("unsupported");
		return 0;
	}
	(void)signal(SIGUSR1, be_told);
	puts("published");
	fflush(stdout);
	while (!is_told) {
		spin_context();
		(void)usleep(10 * 1000);
	}
	execl(argv[2], argv[2], "none", (char *)NULL);
	return 1;
}
