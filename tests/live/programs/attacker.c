/*
 * attacker KIND …: attacks that an ordinary user can make on a profiler of that user's processes.
 *
 *	code FILE OFFSET	runs code in a page of a prepared file. The code is written there
 *				first, unless the file is not writable
 *	jvm KIND FOLDER		looks like a JVM: compiled code, a file libjvm.so (in FOLDER), a
 *				thread and a handler of SIGQUIT like a JVM's; its socket is KIND:
 *				silent (accepts connections, never answers), garbage, flood, none
 *				(no socket)
 *	maps			maps and unmaps executable pages as fast as it can
 *	heirs NR CHILDREN	maps and unmaps NR executable pages, then forks CHILDREN, each of
 *				which maps one more
 *	paths FOLDER		has 60,000 mappings of a file with a path of 4,000 bytes below FOLDER
 *	names			changes its name all the time; many names are control characters
 *	stacks			has more different stacks than a profiler can count
 *
 * All run until they are killed, burning CPU in attack(). "ready" is printed after the set-up.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "burn.h"

#define PAGE_BYTES 65536 /* at least the largest page size */

#define TURN 20000

#define MAP_PLACES (16ul << 20) /* pages */

/* Position-independent without calls or data, so that it runs at any address. */
__attribute__((used, noinline, section("movable"))) static void movable_code(void)
{
	BURN_TURNS(TURN);
}

extern const unsigned char __start_movable[], __stop_movable[];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

NAMED void attack(void)
{
	BURN_TURNS(TURN);
}

static void run_forever(void (*code)(void))
{
	ready();
	for (;;)
		code();
}

static void *make_code(void)
{
	void *page =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		die("mmap");
	memcpy(page, __start_movable, (size_t)(__stop_movable - __start_movable));
	if (mprotect(page, PAGE_BYTES, PROT_READ | PROT_EXEC))
		die("mprotect");
	return page;
}

/* --- code FILE OFFSET ------------------------------------------------------------------------ */

static void run_code(char **argv)
{
	off_t offset = strtoll(argv[1], NULL, 0);
	int fd = open(argv[0], O_RDWR);
	void *page;

	if (fd >= 0 &&
	    pwrite(fd, __start_movable, (size_t)(__stop_movable - __start_movable), offset) < 0)
		die("pwrite");
	if (fd < 0)
		fd = open(argv[0], O_RDONLY);
	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, offset);
	if (page == MAP_FAILED)
		die(argv[0]);
	run_forever((void (*)(void))page);
}

/* --- jvm KIND FOLDER -------------------------------------------------------------------------- */

static int listener = -1;
static volatile sig_atomic_t nr_quits;

static void on_quit(int number)
{
	(void)number;
	nr_quits++;
}

/* Answers as the kind says. The thread has the name of a JVM's. */
static void *answer(void *kind)
{
	static char flood[65536];

	prctl(PR_SET_NAME, "Signal Dispatch");
	memset(flood, '7', sizeof(flood));
	for (;;) {
		int peer = listener < 0 ? -1 : accept(listener, NULL, NULL);

		if (peer < 0) {
			sleep(1);
			continue;
		}
		if (!strcmp(kind, "garbage")) {
			static const char garbage[] = "0\n\033]0;owned\007\xff\xfe\x9b"
						      "31m\n0\n";

			(void)!write(peer, garbage, sizeof(garbage));
			close(peer);
		}
		while (!strcmp(kind, "flood") && send(peer, flood, sizeof(flood), MSG_NOSIGNAL) > 0)
			;
	}
	return NULL;
}

static void run_jvm(char **argv)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct sigaction action = {.sa_handler = on_quit, .sa_flags = SA_RESTART};
	char path[4096];
	pthread_t thread;
	int fd;

	snprintf(path, sizeof(path), "%s/libjvm.so", argv[1]);
	fd = open(path, O_RDWR | O_CREAT, 0644);
	if (fd < 0 || ftruncate(fd, PAGE_BYTES) < 0 ||
	    mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		die(path);
	if (strcmp(argv[0], "none") != 0) {
		snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/.java_pid%d",
			 (int)getpid());
		listener = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		    listen(listener, 8) < 0)
			die(address.sun_path);
	}
	sigaction(SIGQUIT, &action, NULL);
	if (pthread_create(&thread, NULL, answer, argv[0]))
		die("pthread_create");
	run_forever((void (*)(void))make_code());
}

/* --- maps, heirs, paths ----------------------------------------------------------------------------------- */

static void map_page(void *at, int fd)
{
	if (mmap(at, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
		 fd, 0) == MAP_FAILED)
		die("mmap");
}

/* Maps at a new address each time: unmapping is not reported to profilers. */
static void run_maps(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = (char *)(1ul << 44); /* an unused range */
	uint64_t state = 88172645463325252ull;

	ready();
	for (;;) {
		char *at = area + random_between(&state, 0, MAP_PLACES - 1) * page;

		map_page(at, fd);
		munmap(at, page);
	}
}

/*
 * munmap() is not reported, so a profiler must keep all mappings and give them to each child; a
 * child that adds one needs a copy of them all. The attacker pays almost nothing: it has unmapped
 * them.
 */
static void run_heirs(char **argv)
{
	long page = sysconf(_SC_PAGESIZE), nr = strtol(argv[0], NULL, 0);
	long nr_children = strtol(argv[1], NULL, 0);
	int fd = open("/proc/self/exe", O_RDONLY);
	char *area = (char *)(1ul << 44);

	for (int i = 0; i < 500; i++)
		attack(); /* gets sampled, so that the profiler reads the maps before they grow */
	for (long i = 0; i < nr; i++) {
		map_page(area + 2 * i * page, fd);
		munmap(area + 2 * i * page, (size_t)page);
		if (i % 100 == 0)
			usleep(2000); /* slow enough that no event is lost */
	}
	for (long i = 0; i < nr_children; i++) {
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			map_page(area + page, fd);
			attack();
			for (;;)
				pause();
		}
		usleep(500);
	}
	run_forever(attack);
}

static void run_paths(char **argv)
{
	long page = sysconf(_SC_PAGESIZE);
	char *area = (char *)(1ul << 44), name[251] = {0};
	int fd;

	memset(name, 'd', sizeof(name) - 1);
	if (chdir(argv[0]) < 0)
		die(argv[0]);
	for (int i = 0; i < 15; i++)
		if ((mkdir(name, 0755) < 0 && errno != EEXIST) || chdir(name) < 0)
			die("mkdir");
	fd = open("file", O_RDWR | O_CREAT, 0644);
	if (fd < 0 || ftruncate(fd, page) < 0)
		die("file");
	for (long i = 0; i < 60000; i++)
		if (mmap(area + 2 * i * page, (size_t)page, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
			 0) == MAP_FAILED)
			die("mmap");
	run_forever(attack);
}

/* --- names, stacks ---------------------------------------------------------------------------- */

static void run_names(void)
{
	uint64_t state = 88172645463325252ull;

	ready();
	for (;;) {
		char name[16];

		for (size_t i = 0; i < sizeof(name) - 1; i++)
			name[i] = (char)random_between(&state, 1, 255);
		name[sizeof(name) - 1] = '\0';
		prctl(PR_SET_NAME, name);
		attack();
	}
}

#define DEPTH 40

static void left(uint64_t way, int depth);

__attribute__((noinline, noclone, no_icf)) static void right(uint64_t way, int depth)
{
	if (!depth)
		attack();
	else if (way & 1)
		left(way >> 1, depth - 1);
	else
		right(way >> 1, depth - 1);
	__asm__ volatile("" ::: "memory"); /* prevents tail calls */
}

__attribute__((noinline, noclone, no_icf)) static void left(uint64_t way, int depth)
{
	if (!depth)
		attack();
	else if (way & 1)
		left(way >> 1, depth - 1);
	else
		right(way >> 1, depth - 1);
	__asm__ volatile("" ::: "memory");
}

static void run_stacks(void)
{
	uint64_t state = 88172645463325252ull;

	ready();
	for (;;)
		left(random_next(&state), DEPTH);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "code"))
		run_code(argv + 2);
	else if (argc == 4 && !strcmp(argv[1], "jvm"))
		run_jvm(argv + 2);
	else if (argc == 2 && !strcmp(argv[1], "maps"))
		run_maps();
	else if (argc == 4 && !strcmp(argv[1], "heirs"))
		run_heirs(argv + 2);
	else if (argc == 3 && !strcmp(argv[1], "paths"))
		run_paths(argv + 2);
	else if (argc == 2 && !strcmp(argv[1], "names"))
		run_names();
	else if (argc == 2 && !strcmp(argv[1], "stacks"))
		run_stacks();
	fprintf(stderr, "usage: attacker KIND …\n");
	return 2;
}
