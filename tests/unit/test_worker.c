/*
 * worker: the tasks below misbehave in every way that a compromised parser could. Each such question fails within
 * its time, and the next question is answered.
 */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd_io.h"
#include "base/isolated.h"
#include "proc/process_info.h"
#include "run/run.h"
#include "unit/test.h"
#include "worker/message.h"

enum {
	TASK_ECHO = NR_TASKS,
	TASK_READ,
	TASK_WANT,
	TASK_COUNT,
	TASK_CRASH,
	TASK_HANG,
	TASK_WAIT,
	TASK_WORK,
	TASK_EXIT,
	TASK_EAT,
	TASK_KEEP,
	TASK_FLOOD,
	TASK_WANT_ENDLESSLY,
	TASK_LIE,
	TASK_GIVE_UP,
	TASK_SYSTEM_CALL,
	TASK_CODE,
	TASK_OPEN,
	TASK_FAIL,
	NR_TEST_TASKS,
};

/* --- in the parser ---------------------------------------------------------------------------- */

static int give(struct worker_job *job, const void *bytes, size_t nr)
{
	job->answer_bytes = nr;
	return fd_write_at(job->answer_fd, 0, bytes, nr);
}

static int echo(struct worker_job *job, void **state)
{
	return give(job, job->question.at, job->question.nr);
}

static int read_file(struct worker_job *job, void **state)
{
	char bytes[64];
	ssize_t nr = job->fd < 0 ? job->fd : fd_read_up_to(job->fd, 0, bytes, sizeof(bytes));

	return nr < 0 ? (int)nr : give(job, bytes, (size_t)nr);
}

/* Requests all places, and gives the content of every file that can be opened. */
static int want_files(struct worker_job *job, void **state)
{
	struct worker_want want = {.kind = WANT_DEBUG_FILE, .name = "abc"};
	char bytes[64];
	size_t nr = 0;
	int last = -ENODATA;

	for (;;) {
		cleanup_fd int fd = worker_want(job, &want);
		ssize_t more;

		if (fd == -ENODATA)
			return nr ? give(job, bytes, nr) : last;
		if (fd >= 0) {
			more = fd_read_up_to(fd, 0, bytes + nr, sizeof(bytes) - nr);
			nr += more < 0 ? 0 : (size_t)more;
			continue;
		}
		last = fd;
		want.place++;
		want.first = 0;
	}
}

static int count(struct worker_job *job, void **state)
{
	char number = (char)++*(size_t *)(*state = *state ?: calloc(1, sizeof(size_t)));

	return give(job, &number, 1);
}

static int crash(struct worker_job *job, void **state)
{
	abort();
}

__attribute__((noreturn)) static int hang(struct worker_job *job, void **state)
{
	for (;;)
		(void)clock_now_ns();
}

static int wait_in_kernel(struct worker_job *job, void **state)
{
	(void)sleep(60);
	return 0;
}

/* Uses a second of CPU time. */
static int work(struct worker_job *job, void **state)
{
	while (clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < NS_PER_SEC)
		;
	return give(job, "done", 4);
}

static int end_early(struct worker_job *job, void **state)
{
	_exit(0);
}

static int eat(struct worker_job *job, void **state)
{
	size_t nr = 0;

	while (nr < 1ULL << 40) {
		char *bytes = malloc(64u << 20);

		if (!bytes)
			return -ENOMEM;
		bytes[0] = 1;
		nr += 64u << 20;
	}
	return 0;
}

/* Keeps as many MiB as the question has bytes. */
static int keep(struct worker_job *job, void **state)
{
	const size_t nr = job->question.nr << 20;

	free(*state);
	*state = malloc(nr + 1);
	if (!*state)
		return -ENOMEM;
	memset(*state, 1, nr);
	return give(job, "kept", 4);
}

static int flood(struct worker_job *job, void **state)
{
	char byte = 1;

	job->answer_bytes = 1 << 20;
	return fd_write_at(job->answer_fd, (1 << 20) - 1, &byte, 1);
}

__attribute__((noreturn)) static int want_endlessly(struct worker_job *job, void **state)
{
	struct worker_want want = {.kind = WANT_WORK};

	for (;;)
		(void)worker_want(job, &want);
}

static int lie(struct worker_job *job, void **state)
{
	job->answer_bytes = 1000; /* but nothing was written */
	return 0;
}

/* Says that it could not drop its rights, after it has read a file. */
static int give_up(struct worker_job *job, void **state)
{
	const struct parser_reply message = {.kind = PARSER_UNCONFINED, .want.name = "no rights"};

	(void)message_send(WORKER_CONTROL_FD, &message, sizeof(message), NULL, 0);
	return 0;
}

static int call_system(struct worker_job *job, void **state)
{
	long number = (long)bytes_u64(&job->question);

	(void)syscall(number, 0, 0, 0, 0, 0, 0);
	return give(job, "back", 4);
}

static int end_with_error(struct worker_job *job, void **state)
{
	return -(int)bytes_u32(&job->question);
}

static int make_code(struct worker_job *job, void **state)
{
	(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return give(job, "back", 4);
}

/* --- in the opener ---------------------------------------------------------------------------- */

/* Each letter of the question is one thing to do. */
static int open_files(struct worker_job *job, void **state)
{
	static const int none[WORKER_HANDLES_MAX] = {-1, -1};
	int handles[WORKER_HANDLES_MAX] = {open("/", O_PATH), open("/dev/null", O_PATH)};
	size_t i;
	int err = 0;

	for (i = 0; i < job->question.nr && err == 0; i++) {
		worker_begins(job, "thing %zu", i);
		switch (job->question.at[i]) {
		case 'h':
			err = worker_send_part(job, "handles", 7, handles);
			break;
		case 'p':
			err = worker_send_part(job, "part", 4, none);
			break;
		case 's':
			(void)usleep(300000);
			break;
		case 'w':
			(void)pause();
			break;
		case 'd':
			_exit(3);
		default:
			err = -EXDEV;
		}
	}
	for (i = 0; i < WORKER_HANDLES_MAX; i++)
		(void)close(handles[i]);
	return err;
}

const struct worker_task *test_tasks(size_t *ret_nr)
{
	static struct worker_task tasks[NR_TEST_TASKS] = {
		[TASK_ECHO] = {"echo", echo},
		[TASK_READ] = {"read", read_file},
		[TASK_WANT] = {"want", want_files},
		[TASK_COUNT] = {"count", count},
		[TASK_CRASH] = {"crash", crash},
		[TASK_HANG] = {"hang", hang},
		[TASK_WAIT] = {"wait", wait_in_kernel},
		[TASK_WORK] = {"work", work},
		[TASK_EXIT] = {"exit", end_early},
		[TASK_EAT] = {"eat", eat},
		[TASK_KEEP] = {"keep", keep},
		[TASK_FLOOD] = {"flood", flood},
		[TASK_WANT_ENDLESSLY] = {"want endlessly", want_endlessly},
		[TASK_LIE] = {"lie", lie},
		[TASK_GIVE_UP] = {"give up", give_up},
		[TASK_SYSTEM_CALL] = {"system call", call_system},
		[TASK_CODE] = {"code", make_code},
		[TASK_OPEN] = {"open", open_files},
		[TASK_FAIL] = {"fail", end_with_error},
	};
	size_t i;

	for (i = 0; i < NR_TASKS; i++)
		tasks[i] = run_tasks[i];
	*ret_nr = NR_TEST_TASKS;
	return tasks;
}

/* --- asking ----------------------------------------------------------------------------------- */

static struct worker *open_worker(void)
{
	struct error error = {0};
	struct worker *worker = worker_new(&error);

	CHECK_STR(error.text, "");
	CHECK(worker != NULL);
	return worker;
}

static struct worker_question question_of(uint32_t task)
{
	return (struct worker_question){
		.task = task, .handle = -1, .most_ns = 30 * NS_PER_SEC, .most_bytes = 4096};
}

/* Asks, again during the pause after a failure, and waits. Returns the answer as a text to free, or NULL. */
static char *ask(struct worker *worker, const struct worker_question *question, int *ret_err)
{
	void *bytes = NULL;
	char *text;
	size_t nr = 0;

	*ret_err = worker_call(worker, PARSER_OTHER_FILES, question, -1, &bytes, &nr);
	if (*ret_err < 0)
		return NULL;
	text = malloc(nr + 1);
	memcpy(text, bytes, nr);
	text[nr] = '\0';
	free(bytes);
	return text;
}

static void check_answer(struct worker *worker, const struct worker_question *question,
			 const char *expected)
{
	int err;
	cleanup_free char *text = ask(worker, question, &err);

	CHECK_EQ(err, 0);
	CHECK_STR(text, expected);
}

static void check_failure(struct worker *worker, const struct worker_question *question,
			  int expected)
{
	int err;
	cleanup_free char *text = ask(worker, question, &err);

	CHECK(!text);
	CHECK_EQ(err, expected);
}

static void check_goes_on(struct worker *worker)
{
	struct worker_question question = question_of(TASK_ECHO);

	question.bytes = "again";
	question.nr = 5;
	check_answer(worker, &question, "again");
}

static struct worker_troubles troubles_of(const struct worker *worker)
{
	struct worker_troubles troubles = {0};

	worker_troubles_add(worker, &troubles);
	CHECK_STR(troubles.cannot_start, "");
	return troubles;
}

/* Replaces a descriptor by an O_PATH handle, as stook holds them. */
static int handle_of(int fd)
{
	char path[64];
	int handle;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	handle = open(path, O_PATH | O_CLOEXEC);
	CHECK(handle >= 0);
	(void)close(fd);
	return handle;
}

static int file_with(const char *text)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	CHECK_EQ(fd_write_at(fd, 0, text, strlen(text)), 0);
	return handle_of(fd);
}

TEST(messages_of_a_peer_that_ended_before_it_read_ours)
{
	int pair[2];
	char last = 0;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	CHECK_EQ(message_send(pair[0], "q", 1, NULL, 0), 0);
	CHECK_EQ(message_send(pair[1], "a", 1, NULL, 0), 0);
	(void)close(pair[1]);
	CHECK_EQ(message_receive(pair[0], &last, 1, MSG_DONTWAIT, NULL, 0), 1);
	CHECK_EQ(last, 'a');
	CHECK_EQ(message_receive(pair[0], &last, 1, MSG_DONTWAIT, NULL, 0), -ECONNRESET);
	(void)close(pair[0]);
}

TEST(worker_answers)
{
	size_t nr = test_nr_open();
	struct worker *worker = open_worker();
	struct worker_question question = question_of(TASK_ECHO);
	int i;

	check_answer(worker, &question, "");
	for (i = 0; i < 50; i++)
		check_goes_on(worker);
	question.task = TASK_COUNT; /* keeps its state */
	check_answer(worker, &question, "\1");
	check_answer(worker, &question, "\2");
	CHECK_EQ(troubles_of(worker).nr_parsers_died, 0);
	worker_free(worker);
	CHECK_EQ(test_nr_open(), nr);
	worker_free(NULL);
}

/* On Linux a limit of 2^64 ns, in seconds, would be one of 0.3 s. */
TEST(worker_parser_has_no_limit_of_cpu_time)
{
	struct worker *worker = open_worker();
	struct worker_question question = question_of(TASK_WORK);

	check_answer(worker, &question, "done");
	worker_free(worker);
}

/* A second of work, at half of a CPU after a tenth of a second; its time limit is that of the work alone. */
TEST(worker_parser_has_a_pace)
{
	struct worker *worker = open_worker();
	struct worker_question question = question_of(TASK_WORK);
	const uint64_t began_ns = clock_now_ns();

	worker_pace(worker, NS_PER_SEC / 10, 0.5);
	check_answer(worker, &question, "done");
	CHECK(clock_now_ns() - began_ns >= 15 * NS_PER_SEC / 10);
	worker_pace(worker, 0, 0); /* no limit */
	question.task = TASK_ECHO;
	check_answer(worker, &question, "");
	worker_free(worker);
}

TEST(worker_gets_the_file_of_a_handle)
{
	struct worker *worker = open_worker();
	struct worker_question question = question_of(TASK_READ);
	cleanup_fd int one = file_with("one"), other = file_with("other");
	cleanup_fd int folder = open("/", O_PATH), kernel = open("/proc/version", O_PATH);
	cleanup_fd int device = open("/dev/zero", O_PATH);

	question.handle = one;
	check_answer(worker, &question, "one");
	question.handle = other;
	check_answer(worker, &question, "other");
	question.handle = folder; /* only regular files with content of their own */
	check_failure(worker, &question, -EINVAL);
	question.handle = device;
	check_failure(worker, &question, -EINVAL);
	question.handle = kernel;
	check_failure(worker, &question, -EACCES);
	question.handle = -1;
	check_failure(worker, &question, -ENOENT);
	worker_free(worker);
}

/* --- requests for other files ----------------------------------------------------------------- */

struct places {
	struct worker_place places[4];
	size_t nr;
};

/* Makes a file whose content is its name. */
static void make_file(const char *folder, const char *name)
{
	char path[64];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	CHECK(file && fputs(name, file) >= 0 && fclose(file) == 0);
}

static int find_place(void *context, const struct worker_want *want, struct worker_place *ret)
{
	struct places *places = context;

	CHECK_EQ(want->kind, WANT_DEBUG_FILE);
	CHECK_STR(want->name, "abc");
	if (want->place == places->nr)
		return -ENODATA;
	*ret = places->places[want->place];
	return ret->nr ? 0 : -ENXIO;
}

TEST(worker_gets_further_files_of_a_task)
{
	char folder[] = "/tmp/stook-test-XXXXXX", command[64];
	struct worker *worker = open_worker();
	struct worker_question question = question_of(TASK_WANT);
	struct places places = {.nr = 3};
	cleanup_fd int root = -1;

	CHECK(mkdtemp(folder) != NULL);
	make_file(folder, "one");
	make_file(folder, "two");
	make_file(folder, "three");
	root = open(folder, O_PATH | O_DIRECTORY);
	question.place = find_place;
	question.context = &places;
	places.places[1].root_fd = places.places[2].root_fd = root;
	worker_place_add(&places.places[1], "/none");
	check_failure(worker, &question, -ENXIO); /* the third place is empty */
	worker_place_add(&places.places[1], "/two");
	worker_place_add(&places.places[1], "/none");
	worker_place_add(&places.places[1], "/one");
	worker_place_add(&places.places[2], "/three");
	check_answer(worker, &question, "twoonethree");

	places.nr = 2;
	places.places[1].is_owned = true;
	file_owners_add(&places.places[1].owners, 4711);
	check_failure(worker, &question, -EACCES);
	file_owners_add(&places.places[1].owners, getuid());
	check_answer(worker, &question, "twoone");

	places.nr = 0;
	check_failure(worker, &question, -ENODATA);
	question.place = NULL;
	check_failure(worker, &question, -ENODATA);
	worker_free(worker);
	(void)snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK_EQ(system(command), 0);
}

/* --- failures --------------------------------------------------------------------------------- */

TEST(worker_parser_that_dies)
{
	static const uint32_t tasks[] = {TASK_CRASH, TASK_EXIT, TASK_CODE};
	struct worker *worker = open_worker();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tasks); i++) {
		struct worker_question question = question_of(tasks[i]);

		check_failure(worker, &question, -EFAULT);
		check_goes_on(worker);
	}
	CHECK_EQ(troubles_of(worker).nr_parsers_died, ARRAY_SIZE(tasks));
	worker_free(worker);
}

/* No process can be started: the program could not be opened, or there are too many processes. */
TEST(worker_that_cannot_start)
{
	struct rlimit before, few;
	const size_t nr = test_nr_open();
	struct worker_question question = question_of(TASK_ECHO);
	struct worker *worker;
	int i, last;

	last = dup(STDERR_FILENO); /* the lowest free one: the worker's epoll gets it */
	(void)close(last);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = (rlim_t)last + 1;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	worker = open_worker();
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_EQ(test_nr_open(), nr + 1);
	for (i = 0; i < 3; i++)
		CHECK_EQ(worker_ask(worker, PARSER_OTHER_FILES, &question), -ENOENT);
	CHECK_EQ(test_nr_open(), nr + 1);
	worker_free(worker);
	CHECK_EQ(test_nr_open(), nr);
}

/* Processes that take long to start, which wait in the kernel meanwhile, are not late with a file. */
TEST(worker_starts_late)
{
	struct worker_question question = question_of(TASK_READ);
	cleanup_fd int file = file_with("contents");
	struct worker *worker;

	CHECK_EQ(setenv("LD_LIBRARY_PATH", TEST_STARTS_LATE, 1), 0);
	worker = open_worker();
	CHECK_EQ(unsetenv("LD_LIBRARY_PATH"), 0);
	question.handle = file;
	question.file = (struct worker_file){250, 1, 4711};
	question.most_ns = NS_PER_SEC;
	check_answer(worker, &question, "contents");
	CHECK_EQ(troubles_of(worker).nr_parsers_late, 0);
	CHECK_EQ(troubles_of(worker).nr_openers_late, 0);
	worker_free(worker);
}

TEST(worker_parser_that_is_late)
{
	struct worker *worker = open_worker();
	struct worker_question question = question_of(TASK_HANG);
	uint64_t began_ns;

	check_goes_on(worker);
	question.most_ns = NS_PER_SEC / 5;
	began_ns = clock_now_ns();
	check_failure(worker, &question, -ETIME);
	CHECK(clock_now_ns() - began_ns < 5 * NS_PER_SEC);
	check_goes_on(worker);
	CHECK_EQ(troubles_of(worker).nr_parsers_late, 1);
	worker_free(worker);
}

/* The parser at work is killed, an idle one goes on as it is. */
TEST(worker_taken_over)
{
	struct worker *worker = open_worker();
	struct worker_question question = question_of(TASK_COUNT);

	check_answer(worker, &question, "\1");
	worker_take_over(worker);
	check_answer(worker, &question, "\2");
	CHECK_EQ(worker_ask(worker, PARSER_OTHER_FILES, &question), 0);
	worker_take_over(worker);
	question.task = TASK_HANG;
	CHECK_EQ(worker_ask(worker, PARSER_OTHER_FILES, &question), 0);
	worker_take_over(worker);
	CHECK(!worker_is_busy(worker, PARSER_OTHER_FILES));
	question.task = TASK_COUNT;
	check_answer(worker, &question, "\1");
	worker_free(worker);
}

TEST(worker_answer_that_is_not_sound)
{
	struct worker *worker = open_worker();
	struct worker_question question = question_of(TASK_FLOOD);

	check_failure(worker, &question, -EMSGSIZE);
	check_goes_on(worker);
	question.task = TASK_LIE;
	check_failure(worker, &question, -EPROTO);
	check_goes_on(worker);
	question.task = TASK_WANT_ENDLESSLY;
	check_failure(worker, &question, -EPROTO);
	check_goes_on(worker);
	question.task = TASK_GIVE_UP;
	check_failure(worker, &question, -EPROTO);
	check_goes_on(worker);
	question.task = NR_TEST_TASKS;
	check_failure(worker, &question, -EFAULT);
	check_goes_on(worker);
	worker_free(worker);
}

/* No error of a task is taken for "not there yet", "stopped", or a lack of memory here. */
TEST(worker_task_that_fails)
{
	static const struct {
		uint32_t number;
		int err;
	} rows[] = {{EAGAIN, -EIO}, {ECANCELED, -EIO}, {ENOMEM, -ENOBUFS}, {EBADMSG, -EBADMSG}};
	struct worker *worker = open_worker();
	struct worker_question question = question_of(TASK_FAIL);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		question.bytes = &rows[i].number;
		question.nr = sizeof(rows[i].number);
		check_failure(worker, &question, rows[i].err);
		check_goes_on(worker);
	}
	CHECK_EQ(troubles_of(worker).nr_parsers_died, 0);
	worker_free(worker);
}

TEST(worker_parser_has_a_limit_of_memory)
{
	struct worker *worker = open_worker();
	struct worker_question question = question_of(TASK_EAT);
	int err;

	if (ISOLATED_HAS_SHADOW)
		SKIP("AddressSanitizer's shadow memory rules out a limit of address space");
	free(ask(worker, &question, &err));
	CHECK(err == -ENOBUFS || err == -EFAULT);
	check_goes_on(worker);
	worker_free(worker);
}

static int keep_megabytes(struct worker *worker, enum parser parser, size_t nr)
{
	static const char text[64] = "";
	struct worker_question question = question_of(TASK_KEEP);
	void *bytes = NULL;
	size_t nr_bytes = 0;
	int err;

	question.bytes = text;
	question.nr = nr;
	err = worker_call_twice(worker, parser, &question, -1, &bytes, &nr_bytes);
	free(bytes);
	return err;
}

static uint64_t helpers_bytes(void)
{
	struct process_usage usage;
	cleanup_file FILE *own = fopen("/proc/self/smaps", "r");
	uint64_t own_bytes;

	CHECK(own != NULL);
	own_bytes = process_sum_pss(own);
	process_own_usage(true, 0, &usage);
	return usage.pss_bytes > own_bytes ? usage.pss_bytes - own_bytes : 0;
}

/* Little first, then much; one parser has much at a time, and another one's question ends it. */
TEST(worker_memory_is_limited)
{
	const struct worker_memory memory = {.little_bytes = 24 << 20, .much_bytes = 64 << 20};
	struct worker *worker;
	struct worker_question question = question_of(TASK_EAT);
	int err;

	if (ISOLATED_HAS_SHADOW)
		SKIP("AddressSanitizer's shadow memory rules out a limit of memory");
	worker = open_worker();
	worker_limit_memory(worker, &memory);
	CHECK_EQ(keep_megabytes(worker, PARSER_OTHER_FILES, 8), 0);
	free(ask(worker, &question, &err));
	CHECK_EQ(err, -ENOBUFS);
	CHECK_EQ(keep_megabytes(worker, PARSER_OTHER_FILES, 40), 0);
	CHECK_EQ(keep_megabytes(worker, PARSER_OTHER_FILES, 63), -ENOBUFS);
	CHECK_EQ(keep_megabytes(worker, PARSER_OTHER_FILES, 40), 0);
	CHECK(helpers_bytes() > 40 << 20);
	CHECK_EQ(keep_megabytes(worker, PARSER_ROOT_FILES, 8), 0);
	CHECK_EQ(keep_megabytes(worker, PARSER_ROOT_FILES, 40), 0);
	CHECK(helpers_bytes() < 60 << 20);
	CHECK_EQ(troubles_of(worker).nr_parsers_died, 0);
	worker_free(worker);
}

/* A file is given up after three failures. Other files are not affected. */
TEST(worker_gives_up_a_file)
{
	struct worker *worker = open_worker();
	struct worker_question question = question_of(TASK_CRASH);
	int i;

	question.file = (struct worker_file){8, 1, 4711};
	question.handle = open("/etc/passwd", O_PATH | O_CLOEXEC);
	for (i = 0; i < 3; i++)
		check_failure(worker, &question, -EFAULT);
	check_failure(worker, &question, -EOWNERDEAD);
	question.task = TASK_ECHO;
	check_failure(worker, &question, -EOWNERDEAD);
	question.file.inode++;
	check_answer(worker, &question, "");
	CHECK_EQ(troubles_of(worker).nr_files_given_up, 1);
	CHECK_STR(troubles_of(worker).given_up, "/etc/passwd");
	CHECK_EQ(close(question.handle), 0);
	worker_free(worker);
}

/* Signals one of our child processes that has not exited yet, if there is any. */
static void signal_a_child(unsigned number, int signal_number)
{
	cleanup_file FILE *file = fopen("/proc/thread-self/children", "re");
	pid_t pids[8];
	size_t nr = 0;

	if (!file)
		SKIP("needs CONFIG_PROC_CHILDREN");
	while (nr < ARRAY_SIZE(pids) && fscanf(file, "%d", &pids[nr]) == 1)
		nr++;
	if (nr)
		(void)kill(pids[number % nr], signal_number);
}

/*
 * Kills parsers and openers at random moments. Only the current question may fail, or the next one if the process
 * was killed after its answer.
 */
TEST(worker_survives_kills)
{
	struct worker *worker = open_worker();
	cleanup_fd int file = file_with("one");
	unsigned seed = 1, i, nr_failed = 0;

	for (i = 0; i < 100; i++) {
		struct worker_question question = question_of(TASK_READ);
		void *bytes = NULL;
		size_t nr = 0;
		int err;

		question.handle = file;
		while ((err = worker_ask(worker, PARSER_OTHER_FILES, &question)) == -EAGAIN)
			(void)usleep(1000);
		CHECK_EQ(err, 0);
		(void)usleep((unsigned)rand_r(&seed) % 2000);
		signal_a_child((unsigned)rand_r(&seed), SIGKILL);
		do {
			(void)usleep(100);
			worker_step(worker);
			err = worker_fetch(worker, PARSER_OTHER_FILES, &bytes, &nr);
		} while (err == -EAGAIN);
		CHECK(err == -EFAULT || err == -EIO || (err == 0 && nr == 3));
		nr_failed += err < 0;
		free(bytes);
		if (i % 10 == 0) { /* the pause after failures in a row would take long */
			worker_free(worker);
			worker = open_worker();
		}
	}
	worker_free(worker);
	worker = open_worker();
	CHECK(nr_failed >= 5 && nr_failed < 100);
	check_goes_on(worker);
	worker_free(worker);
}

/* --- looks ------------------------------------------------------------------------------------ */

struct looking {
	struct worker *worker;
	struct file_table *files;
	struct process_table *processes;
};

static void open_looking(struct looking *looking)
{
	looking->worker = open_worker();
	looking->files = file_table_new(100);
	looking->processes = process_table_new(looking->files);
	CHECK(looking->processes != NULL);
	worker_set_tables(looking->worker, looking->files, looking->processes, NULL);
}

static void close_looking(struct looking *looking)
{
	worker_free(looking->worker);
	process_table_free(looking->processes);
	file_table_free(looking->files);
}

static void wait_for_looks(struct looking *looking)
{
	CHECK_EQ(worker_wait_for_looks(looking->worker, clock_now_ns() + 20 * NS_PER_SEC, -1), 0);
	CHECK(!worker_is_looking(looking->worker));
}

TEST(worker_looks_at_processes_and_files)
{
	const struct mapping *mapping;
	const struct file *file;
	struct looking looking;

	open_looking(&looking);
	CHECK(process_table_ensure(looking.processes, getpid(), NULL, clock_now_ns()) >= 0);
	wait_for_looks(&looking);
	CHECK(worker_has_looked(looking.worker));
	CHECK(!worker_has_looked(looking.worker));
	mapping = mappings_find(
		process_table_mappings(looking.processes, getpid(), NULL, clock_now_ns()),
		(uintptr_t)open_looking);
	CHECK(mapping && mapping->kind == MAPPING_FILE);
	file = file_table_get(looking.files, mapping->file);
	CHECK_EQ(file->state, FILE_OPEN);
	CHECK(file->is_elf && file->handle >= 0);
	CHECK(fcntl(file->handle, F_GETFL) & O_PATH);
	CHECK_EQ(file->uid, geteuid());
	close_looking(&looking);
}

/* More mappings than fit into a message. */
TEST(worker_looks_at_a_large_process)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), nr = 2000;
	char *many = mmap(NULL, nr * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct mappings *mappings;
	struct looking looking;
	size_t i;

	CHECK(many != MAP_FAILED);
	for (i = 0; i < nr; i += 2)
		CHECK_EQ(mprotect(many + i * page, page, PROT_READ | PROT_EXEC), 0);
	open_looking(&looking);
	CHECK(process_table_ensure(looking.processes, getpid(), NULL, clock_now_ns()) >= 0);
	wait_for_looks(&looking);
	mappings = process_table_mappings(looking.processes, getpid(), NULL, clock_now_ns());
	for (i = 0; i < nr; i++)
		CHECK_EQ(mappings_find(mappings, (uintptr_t)many + i * page) != NULL, i % 2 == 0);
	CHECK_EQ(munmap(many, nr * page), 0);
	close_looking(&looking);
}

/* The opener hangs: what it was looking at is given up, and the others get their answers from the next one. */
TEST(worker_looks_past_what_does_not_answer)
{
	struct looking looking;
	uint64_t began_ns;
	int32_t pid = getpid(), parent = getppid();

	open_looking(&looking);
	CHECK(process_table_ensure(looking.processes, 1, NULL, clock_now_ns()) >= 0);
	wait_for_looks(&looking);
	signal_a_child(0, SIGSTOP);
	began_ns = clock_now_ns();
	CHECK(process_table_ensure(looking.processes, pid, NULL, clock_now_ns()) >= 0);
	CHECK(process_table_ensure(looking.processes, parent, NULL, clock_now_ns()) >= 0);
	worker_step(looking.worker);
	CHECK(clock_now_ns() - began_ns < NS_PER_SEC / 2);
	CHECK(worker_is_looking(looking.worker));
	CHECK(process_table_awaits(looking.processes, pid, NULL, 0));
	wait_for_looks(&looking);
	CHECK(clock_now_ns() - began_ns > NS_PER_SEC / 2);
	CHECK_EQ(process_table_nr_silent(looking.processes), 1);
	CHECK(!process_table_awaits(looking.processes, parent, NULL, 0));
	CHECK_EQ(troubles_of(looking.worker).nr_openers_late, 1);
	CHECK(strstr(troubles_of(looking.worker).silent, "process ") != NULL);
	close_looking(&looking);
}

/* Each look has a result, whatever happens to the opener. */
TEST(worker_looks_survive_kills)
{
	struct looking looking;
	unsigned seed = 1, i;
	int64_t number;

	open_looking(&looking);
	for (i = 0; i < 100; i++) {
		struct file_id id = {250, 1, i + 1, 0};

		number = file_table_add(looking.files, &id, "/gone", getpid(), 0, 0);
		CHECK(number >= 0);
		process_table_distrust(looking.processes, clock_now_ns());
		CHECK(process_table_ensure(looking.processes, getpid(), NULL, clock_now_ns()) >= 0);
		worker_step(looking.worker);
		(void)usleep((unsigned)rand_r(&seed) % 2000);
		signal_a_child(0, SIGKILL);
		(void)usleep((unsigned)rand_r(&seed) % 2000);
		wait_for_looks(&looking);
		CHECK(file_table_get(looking.files, (uint32_t)number)->state != FILE_ASKED);
		CHECK(!process_table_awaits(looking.processes, getpid(), NULL, 0));
	}
	close_looking(&looking);
}

/* A parser that waits for the bytes of a file has less time than one that works. */
TEST(worker_parser_that_waits)
{
	struct worker *worker = open_worker();
	struct worker_question question = question_of(TASK_WAIT);
	cleanup_fd int handle = open("/etc/passwd", O_PATH | O_CLOEXEC);
	uint64_t began_ns = clock_now_ns(), first_ns;

	question.handle = handle;
	question.file = (struct worker_file){250, 1, 4711};
	check_failure(worker, &question, -ETIME);
	first_ns = clock_now_ns() - began_ns;
	CHECK(first_ns >= NS_PER_SEC);
	CHECK_STR(troubles_of(worker).silent, "file '/etc/passwd'");
	CHECK_STR(troubles_of(worker).silent_device, "");
	began_ns = clock_now_ns();
	question.file.inode++;
	check_failure(worker, &question, -ETIME); /* of the same device, and a parser's start */
	CHECK(clock_now_ns() - began_ns < first_ns);
	question.file.inode++;
	check_failure(worker, &question, -EHOSTDOWN);
	CHECK_EQ(troubles_of(worker).nr_devices_given_up, 1);
	CHECK_STR(troubles_of(worker).silent_device, "file '/etc/passwd'");
	question.task = TASK_ECHO;
	question.file.arranger = 1000; /* his mounts may be others, whatever numbers they show */
	check_answer(worker, &question, "");
	question.file.arranger = 0;
	check_failure(worker, &question, -EHOSTDOWN);
	question.file.minor++;
	check_answer(worker, &question, "");
	worker_free(worker);
}

/* If one user's file systems do not answer, the files of others keep all of their time. */
TEST(worker_has_less_time_only_for_who_was_late)
{
	struct worker *worker = open_worker();
	struct worker_question question = question_of(TASK_WAIT);
	uint64_t began_ns;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		question.file = (struct worker_file){250, i, 4711, 1000};
		check_failure(worker, &question, -ETIME);
	}
	question.file = (struct worker_file){250, i, 4711, 0};
	began_ns = clock_now_ns();
	check_failure(worker, &question, -ETIME);
	CHECK(clock_now_ns() - began_ns >= NS_PER_SEC);
	CHECK_EQ(troubles_of(worker).nr_devices_given_up, 0);
	worker_free(worker);
}

/* Tries system calls by number with arguments of 0, except the ones that exit or block. */
TEST(worker_parser_makes_few_system_calls)
{
	static const long odd[] = {
		SYS_read,
		SYS_exit,
		SYS_exit_group,
		SYS_pause,
		SYS_rt_sigreturn,
		SYS_recvmsg,
		SYS_ppoll,
		SYS_futex,
		SYS_restart_syscall,
		SYS_close,
		SYS_clock_nanosleep,
		SYS_brk,
		SYS_munmap,
#ifdef SYS_poll
		SYS_poll,
#endif
	};
	struct worker *worker = open_worker();
	struct worker_question question = question_of(TASK_SYSTEM_CALL);
	size_t nr_allowed = 0, i;
	uint64_t number;

	if (ISOLATED_HAS_SHADOW)
		SKIP("AddressSanitizer needs further system calls");
	question.bytes = &number;
	question.nr = sizeof(number);
	for (number = 0; number<470; number += number> 60 ? 13 : 1) {
		int err;

		for (i = 0; i < ARRAY_SIZE(odd) && odd[i] != (long)number; i++)
			;
		if (i < ARRAY_SIZE(odd))
			continue;
		free(ask(worker, &question, &err));
		CHECK(err == 0 || err == -EFAULT);
		nr_allowed += err == 0;
		if (err == 0)
			check_goes_on(worker);
		/* A new worker, since the pause after a failure would take most of the time. */
		worker_free(worker);
		worker = open_worker();
	}
	CHECK(nr_allowed >= 3 && nr_allowed < 20);
	for (i = 0; i < 5; i++) {
		static const long never[] = {SYS_openat, SYS_socket, SYS_execve, SYS_ptrace,
					     SYS_kill};
		int err;

		number = (uint64_t)never[i];
		free(ask(worker, &question, &err));
		CHECK_EQ(err, -EFAULT);
		worker_free(worker);
		worker = open_worker();
	}
	worker_free(worker);
}

/* --- tasks of the opener ---------------------------------------------------------------------- */

struct parts {
	char text[64];
	int nr_handles;
	int err; /* to return */
};

static int take_part(void *context, const void *bytes, size_t nr, int handles[WORKER_HANDLES_MAX])
{
	struct parts *parts = context;
	size_t i;

	(void)strncat(parts->text, bytes, nr);
	for (i = 0; i < WORKER_HANDLES_MAX; i++)
		if (handles[i] >= 0) {
			CHECK(fcntl(handles[i], F_GETFL) & O_PATH);
			parts->nr_handles++;
		}
	return parts->err;
}

static int call_opener(struct worker *worker, const char *text, uint64_t most_ns,
		       struct parts *parts, char doing[WORKER_DOING_BYTES])
{
	const struct opener_question question = {.task = TASK_OPEN,
						 .bytes = text,
						 .nr = strlen(text),
						 .most_ns = most_ns,
						 .take = take_part,
						 .context = parts};

	parts->text[0] = '\0';
	parts->nr_handles = 0;
	return worker_call_opener(worker, &question, doing);
}

TEST(worker_opener_answers)
{
	struct worker *worker = open_worker();
	char doing[WORKER_DOING_BYTES];
	struct parts parts = {0};

	CHECK_EQ(call_opener(worker, "", 20 * NS_PER_SEC, &parts, doing), 0);
	CHECK_STR(parts.text, "");
	CHECK_EQ(call_opener(worker, "php", 20 * NS_PER_SEC, &parts, doing), 0);
	CHECK_STR(parts.text, "parthandlespart");
	CHECK_EQ(parts.nr_handles, 2);
	CHECK_EQ(call_opener(worker, "p?p", 20 * NS_PER_SEC, &parts, doing), -EXDEV);
	CHECK_STR(parts.text, "part");
	check_goes_on(worker); /* a parser beside it */
	CHECK_EQ(call_opener(worker, "p", 20 * NS_PER_SEC, &parts, doing), 0);
	CHECK_STR(doing, "");
	worker_free(worker);
}

/* An opener that dies, or whose answer is not accepted, is replaced. */
TEST(worker_opener_fails)
{
	struct worker *worker = open_worker();
	char doing[WORKER_DOING_BYTES];
	struct parts parts = {0};

	CHECK_EQ(call_opener(worker, "pd", 10 * NS_PER_SEC, &parts, doing), -EIO);
	CHECK_STR(parts.text, "part");
	parts.err = -EPROTO;
	CHECK_EQ(call_opener(worker, "pp", 10 * NS_PER_SEC, &parts, doing), -EPROTO);
	CHECK_STR(parts.text, "part");
	parts.err = 0;
	CHECK_EQ(call_opener(worker, "p", 10 * NS_PER_SEC, &parts, doing), 0);
	worker_free(worker);
}

/* Each thing has its time, as long as the task goes on. */
TEST(worker_opener_is_late)
{
	struct worker *worker = open_worker();
	char doing[WORKER_DOING_BYTES];
	struct parts parts = {0};

	CHECK_EQ(call_opener(worker, "sssssp", 20 * NS_PER_SEC, &parts, doing), 0);
	CHECK_STR(parts.text, "part");
	CHECK_EQ(troubles_of(worker).nr_openers_late, 0);
	CHECK_EQ(call_opener(worker, "psw", 20 * NS_PER_SEC, &parts, doing), -ETIME);
	CHECK_STR(doing, "thing 2");
	CHECK_STR(troubles_of(worker).silent, "thing 2");
	CHECK_EQ(call_opener(worker, "ssssssss", NS_PER_SEC, &parts, doing), -ETIME);
	CHECK_EQ(troubles_of(worker).nr_openers_late, 2);
	CHECK_EQ(call_opener(worker, "p", 20 * NS_PER_SEC, &parts, doing), 0);
	worker_free(worker);
}
