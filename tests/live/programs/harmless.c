/*
 * harmless [PART…]: does things that a breakpoint or a changed return address could break, and
 * prints the results, which are the same in every run. Runs all parts if none is named.
 *
 *	math		libm over many arguments, as a digest
 *	text		string functions of all lengths and alignments, and formatted output
 *	jumps		setjmp and longjmp, out of functions and out of signal handlers
 *	contexts	switching between two stacks
 *	signals		handlers on their own stack, nested, and system calls that they interrupt
 *	threads		locks, conditions, cancelling, thread-local values, exits
 *	children	fork, vfork, posix_spawn, and their exit statuses
 *	loader		dlopen, dlsym and results that depend on the caller
 *	caller		what a function can find out about its caller
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <wchar.h>

static uint64_t digest;

static void add(const void *bytes, size_t nr)
{
	const uint8_t *at = bytes;
	size_t i;

	for (i = 0; i < nr; i++)
		digest = (digest ^ at[i]) * 0x100000001b3ULL;
}

static void print_digest(const char *part)
{
	printf("%s %016llx\n", part, (unsigned long long)digest);
	digest = 0xcbf29ce484222325ULL;
}

/* --- math and text ------------------------------------------------------------------------------- */

static void add_double(double value)
{
	add(&value, sizeof(value));
}

static void math(void)
{
	static double (*const of_one[])(double) = {
		sin,  cos,  tan,   asin,  acos,	 atan,	sinh,  cosh, tanh,	asinh, acosh,
		exp,  exp2, expm1, log,	  log2,	 log10, log1p, sqrt, cbrt,	erf,   tgamma,
		ceil, rint, floor, trunc, round, fabs,	j0,    y1,   nearbyint,
	};
	static float (*const of_float[])(float) = {sinf, cosf,	tanf,  expf,
						   logf, sqrtf, exp2f, log2f};
	size_t i;
	double x;

	for (x = -3; x < 3; x += 0.37) {
		for (i = 0; i < sizeof(of_one) / sizeof(of_one[0]); i++)
			add_double(of_one[i](x));
		for (i = 0; i < sizeof(of_float) / sizeof(of_float[0]); i++)
			add_double((double)of_float[i]((float)x));
		add_double(pow(fabs(x), x));
		add_double(atan2(x, 0.7));
		add_double(fmod(x, 0.7));
		add_double(hypot(x, 2));
		add_double(fma(x, x, x));
		add_double((double)lrint(x) + (double)llround(x));
		add_double((double)powl((long double)fabs(x), 1.5L));
	}
	print_digest("math");
}

static void add_text(char *text, const char *other, size_t nr)
{
	const size_t found[] = {
		strlen(text),
		strnlen(text, nr / 2),
		strspn(text, "abc"),
		strcspn(text, "xyz"),
		(size_t)(strchrnul(text, 'q') - text),
		(size_t)(strrchr(text, 'a') ? 1 : 0),
		(size_t)((char *)memchr(text, 0, nr + 1) - text),
		(size_t)((char *)memrchr(text, text[0], nr + 1) - text),
		(size_t)((char *)rawmemchr(text, 0) - text),
		(size_t)(strcmp(text, other) > 0),
		(size_t)(strncmp(text, other, nr / 2) > 0),
		(size_t)(strcasecmp(text, other) > 0),
		(size_t)(memcmp(text, other, nr) > 0),
		(size_t)(strstr(text, "ab") ? strstr(text, "ab") - text : 0),
		(size_t)(strpbrk(text, "gh") ? 1 : 0),
		(size_t)memmem(text, nr, other, 1) != 0,
	};

	add(found, sizeof(found));
}

static void text(void)
{
	static char one[700], two[700], formatted[2000];
	static wchar_t wide[200];
	size_t nr, shift, i;

	for (nr = 1; nr < 600; nr += 1 + nr / 7)
		for (shift = 0; shift < 64; shift += 13) {
			memset(one, 0, sizeof(one));
			memset(two + shift, 'b', nr);
			for (i = 0; i < nr; i++)
				one[shift + i] = (char)('a' + i * i % 17);
			two[shift + nr] = '\0';
			add_text(one + shift, two + shift, nr);
			memmove(one + shift + 1, one + shift, nr);
			strcpy(two + shift, one + shift);
			strncat(two + shift, "tail", sizeof(two) - shift - nr - 2);
			add(one, sizeof(one));
			add(two + shift, strlen(two + shift));
		}
	for (i = 0; i < 100; i++)
		wide[i] = (wchar_t)(L'a' + i % 26);
	nr = wcslen(wide) + (size_t)(wcschr(wide, L'k') - wide) +
	     (size_t)wmemcmp(wide, wide + 26, 9);
	snprintf(formatted, sizeof(formatted), "%zu %.17g %a %Lf %-20s|%+d %#llx %5.3s %ls\n", nr,
		 0.1, 1.7, 3.25L, "left", 42, 0xfeedfaceULL, "cut off", wide);
	add(formatted, strlen(formatted));
	add_double(strtod("3.14159e-7", NULL) + atof("1e300") + (double)strtoull("0xff", NULL, 0));
	print_digest("text");
}

/* --- jumps and stacks ---------------------------------------------------------------------------- */

static sigjmp_buf out;
static volatile int nr_handled;

__attribute__((noinline)) static void jump_from(int depth)
{
	if (depth)
		jump_from(depth - 1);
	else
		siglongjmp(out, 7);
	nr_handled = -1000;
}

static void jump_out(int signal)
{
	nr_handled++;
	siglongjmp(out, signal);
}

static void jumps(void)
{
	volatile int rounds = 0, sum = 0;
	jmp_buf plain;

	signal(SIGUSR1, jump_out);
	signal(SIGSEGV, jump_out);
	while (rounds < 20) {
		int came = sigsetjmp(out, 1);

		sum += came;
		if (came)
			continue;
		rounds++;
		if (rounds % 3 == 0)
			jump_from(rounds);
		else if (rounds % 3 == 1)
			raise(SIGUSR1);
		else
			*(volatile int *)(uintptr_t)rounds = 1;
	}
	if (!setjmp(plain))
		longjmp(plain, 1);
	if (!_setjmp(plain))
		_longjmp(plain, 1);
	printf("jumps %d %d %d\n", rounds, sum, nr_handled);
}

static ucontext_t here, there;
static volatile int nr_turns;

static void other_stack(void)
{
	for (;;) {
		nr_turns++;
		swapcontext(&there, &here);
	}
}

static void contexts(void)
{
	static char stack[65536];
	volatile int again = 0;
	int i;

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	makecontext(&there, other_stack, 0);
	for (i = 0; i < 10; i++)
		swapcontext(&here, &there);
	getcontext(&here);
	if (again++ < 3)
		setcontext(&here);
	printf("contexts %d %d\n", nr_turns, again);
}

/* --- signals ------------------------------------------------------------------------------------- */

static volatile int nr_signals;

static void on_signal(int signal)
{
	char text[64];

	nr_signals += snprintf(text, sizeof(text), "%d %f", signal, 1.5) > 0;
	if (signal == SIGUSR1 && nr_signals < 40)
		raise(SIGUSR2);
}

static void signals(void)
{
	static char stack[65536];
	const stack_t alternative = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	int ends[2], i, interrupted;
	char byte;

	sigaltstack(&alternative, NULL);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	for (i = 0; i < 30; i++)
		raise(SIGUSR1);
	if (pipe(ends) < 0)
		exit(1);
	ualarm(50000, 0);
	interrupted = read(ends[0], &byte, 1) < 0 ? errno : 0;
	printf("signals %d %d\n", nr_signals, interrupted == EINTR);
}

/* --- threads and children ------------------------------------------------------------------------ */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static int turn, nr_cleaned;
static __thread int own;

static void clean(void *argument)
{
	(void)argument;
	__atomic_fetch_add(&nr_cleaned, 1, __ATOMIC_SEQ_CST);
}

static void *take_turns(void *argument)
{
	int me = (int)(intptr_t)argument, i;

	pthread_setspecific(key, argument);
	for (i = 0; i < 50; i++) {
		pthread_mutex_lock(&lock);
		while (turn % 4 != me)
			pthread_cond_wait(&changed, &lock);
		turn++;
		own += me;
		free(malloc((size_t)(i * 100 + 1)));
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	if (me == 3)
		pthread_exit((void *)(intptr_t)(own + 1));
	return (void *)(intptr_t)own;
}

static void *wait_for_ever(void *argument)
{
	pthread_cleanup_push(clean, NULL);
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return argument;
}

static void threads(void)
{
	pthread_t ids[4], endless;
	intptr_t sum = 0;
	void *ended;
	int i;

	pthread_key_create(&key, clean);
	for (i = 0; i < 4; i++)
		pthread_create(&ids[i], NULL, take_turns, (void *)(intptr_t)i);
	for (i = 0; i < 4; i++) {
		pthread_join(ids[i], &ended);
		sum += (intptr_t)ended;
	}
	pthread_create(&endless, NULL, wait_for_ever, NULL);
	pthread_cancel(endless);
	pthread_join(endless, &ended);
	printf("threads %d %ld %d %d\n", turn, (long)sum, ended == PTHREAD_CANCELED, nr_cleaned);
}

static int status_of(pid_t pid)
{
	int status = -1;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static void children(void)
{
	static char shell[] = "sh", flag[] = "-c", line[] = "exit 5";
	char *const command[] = {shell, flag, line, NULL};
	int statuses[5];
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		exit(3);
	statuses[0] = status_of(pid);
	pid = vfork();
	if (!pid) {
		execv("/bin/sh", command);
		_exit(127);
	}
	statuses[1] = status_of(pid);
	pid = vfork();
	if (!pid)
		_exit(4);
	statuses[2] = status_of(pid);
	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, command, environ) != 0)
		pid = -1;
	statuses[3] = status_of(pid);
	statuses[4] = system("kill -TERM $$");
	printf("children %x %x %x %x %x\n", statuses[0], statuses[1], statuses[2], statuses[3],
	       statuses[4]);
}

/* --- callers ---------------------------------------------------------------------------------- */

static void loader(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);
	double (*cosine)(double) = library ? (double (*)(double))dlsym(library, "cos") : NULL;
	void *next = dlsym(RTLD_NEXT, "malloc"), *first = dlsym(RTLD_DEFAULT, "malloc");
	Dl_info info = {0};

	printf("loader %d %d %d %s\n", cosine && cosine(0) == 1, next && next == first,
	       first && dladdr(first, &info), info.dli_sname ? info.dli_sname : "nothing");
	if (library)
		dlclose(library);
}

__attribute__((noinline)) static int depth_here(void)
{
	void *frames[32];

	return backtrace(frames, 32);
}

static void caller(void)
{
	printf("caller %d\n", depth_here());
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = {
		{"math", math},		{"text", text},	      {"jumps", jumps},
		{"contexts", contexts}, {"signals", signals}, {"threads", threads},
		{"children", children}, {"loader", loader},   {"caller", caller},
	};
	size_t i;
	int j;

	digest = 0xcbf29ce484222325ULL;
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		bool wanted = argc == 1;

		for (j = 1; j < argc; j++)
			wanted |= !strcmp(argv[j], parts[i].name);
		if (wanted)
			parts[i].run();
	}
	fflush(stdout);
	return 9;
}
