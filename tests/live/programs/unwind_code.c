/*
 * unwind_code MS [SHAPE…]: code that is loaded and unloaded, or has no information about its
 * frames; see shapes.h. LIBRARY and SECOND_LIBRARY in the environment are two builds of
 * special/library.c.
 *
 *	jit		JIT-compiled code with frame pointers, between functions without
 *	trampoline	the same without a frame pointer, as in CPython 3.12 (-X perf); its caller
 *			has a number in the frame pointer register
 *	trampoline_zero	the same with a zero in the register
 *	trampoline_push	with a frame pointer, as in CPython 3.14 if branches need a landing pad
 *	trampoline_leaf	the first one, around an empty function
 *	jit_unknown	the same with an instruction that the walk does not know
 *	noinfo		a function in assembly without CFI; its caller has a number in the frame
 *			pointer register
 *	noinfo_zero	the same with a zero in the register
 *	noinfo_frame	one without CFI that keeps a frame pointer
 *	plt		calls through the PLT
 *	lazy		binding of functions by their first calls
 *	dlopen		a new copy of a library every 30 ms
 *	remap_old	a library's code …
 *	remap_new	… and then another library's, mapped over it
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

#include "shapes.h"

typedef void call_function(void (*call)(void));

/* --- JIT-compiled code ----------------------------------------------------------------------- */

NAMED void called_by_jit(void)
{
	work();
	NO_TAIL_CALL();
}

NAMED void calls_jit(call_function *jitted)
{
	char room[100];

	__asm__ volatile("" ::"r"(room) : "memory");
	jitted(called_by_jit);
	NO_TAIL_CALL();
}

static call_function *make_code(const unsigned char *code, size_t bytes)
{
	void *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(place, code, bytes);
	mprotect(place, 4096, PROT_READ | PROT_EXEC);
	return (call_function *)place;
}

static void jit(void)
{
	/* push %rbp; mov %rsp, %rbp; sub $32, %rsp; call *%rdi; leave; ret */
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83,
					     0xec, 0x20, 0xff, 0xd7, 0xc9, 0xc3};

	calls_jit(make_code(code, sizeof(code)));
	NO_TAIL_CALL();
}

/* sub $8, %rsp; call *%rdi; add $8, %rsp; ret */
static const unsigned char trampoline_code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
						0x48, 0x83, 0xc4, 0x08, 0xc3};

/* Calls the function `turns` times, with a number in the frame pointer register. */
#define CALL_TRAMPOLINE(code, number, function, turns)                                         \
	__asm__ volatile("mov $" number ", %%rbp\n"                                            \
			 "1:	mov %1, %%rdi\n\tcall *%0\n\tdec %2\n\tjnz 1b" ::"b"(code),    \
			 "r"((void (*)(void))(function)), "r"((uint64_t)(turns))               \
			 : "rbp", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", \
			   "memory", "cc")

NAMED void calls_trampoline(call_function *code)
{
	CALL_TRAMPOLINE(code, "0x123456789", called_by_jit, 1);
	NO_TAIL_CALL();
}

NAMED void calls_trampoline_zero(call_function *code)
{
	CALL_TRAMPOLINE(code, "0", called_by_jit, 1);
	NO_TAIL_CALL();
}

static void trampoline(void)
{
	calls_trampoline(make_code(trampoline_code, sizeof(trampoline_code)));
	NO_TAIL_CALL();
}

static void trampoline_zero(void)
{
	calls_trampoline_zero(make_code(trampoline_code, sizeof(trampoline_code)));
	NO_TAIL_CALL();
}

static void trampoline_push(void)
{
	/* endbr64; push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
	static const unsigned char code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48,
					     0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

	calls_trampoline(make_code(code, sizeof(code)));
	NO_TAIL_CALL();
}

static void jit_unknown(void)
{
	/* sub $24, %rsp; call *%rdi; mov %rax, %rax; add $24, %rsp; ret */
	static const unsigned char code[] = {0x48, 0x83, 0xec, 0x18, 0xff, 0xd7, 0x48,
					     0x89, 0xc0, 0x48, 0x83, 0xc4, 0x18, 0xc3};

	calls_trampoline(make_code(code, sizeof(code)));
	NO_TAIL_CALL();
}

NAMED void returns(void)
{
	NO_TAIL_CALL();
}

NAMED void calls_trampoline_often(call_function *code)
{
	uint64_t end_ns = thread_cpu_ns() + work_ns;

	while (thread_cpu_ns() < end_ns)
		CALL_TRAMPOLINE(code, "0x123456789", returns, 100000);
}

static void trampoline_leaf(void)
{
	calls_trampoline_often(make_code(trampoline_code, sizeof(trampoline_code)));
	NO_TAIL_CALL();
}

/* --- assembly without CFI -------------------------------------------------------------------- */

/* void noinfo_loop(uint64_t turns), void noinfo_frame_loop(uint64_t turns) */
__asm__(".text\n"
	".type noinfo_loop, @function\n"
	"noinfo_loop:\n"
	"	push %rbx\n"
	"	sub $56, %rsp\n"
	"1:	dec %rdi\n"
	"	jnz 1b\n"
	"	add $56, %rsp\n"
	"	pop %rbx\n"
	"	ret\n"
	".size noinfo_loop, . - noinfo_loop\n"
	".type noinfo_frame_loop, @function\n"
	"noinfo_frame_loop:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"1:	dec %rdi\n"
	"	jnz 1b\n"
	"	pop %rbp\n"
	"	ret\n"
	".size noinfo_frame_loop, . - noinfo_frame_loop\n");

void noinfo_loop(uint64_t turns);
void noinfo_frame_loop(uint64_t turns);

#define LOOP_TURNS 1000000

/* Calls the function with a number in the frame pointer register, which points to no frame. */
#define CALL_NOINFO(number)                                                             \
	__asm__ volatile("mov $" number ", %%rbp\n\tcall noinfo_loop" ::"D"(LOOP_TURNS) \
			 : "rbp", "memory", "cc")

NAMED void noinfo(void)
{
	uint64_t end_ns = thread_cpu_ns() + work_ns;

	while (thread_cpu_ns() < end_ns)
		CALL_NOINFO("0x123456789");
}

NAMED void noinfo_zero(void)
{
	uint64_t end_ns = thread_cpu_ns() + work_ns;

	while (thread_cpu_ns() < end_ns)
		CALL_NOINFO("0");
}

NAMED void noinfo_frame(void)
{
	uint64_t end_ns = thread_cpu_ns() + work_ns;

	while (thread_cpu_ns() < end_ns)
		noinfo_frame_loop(LOOP_TURNS);
}

/* --- calls through the PLT -------------------------------------------------------------------- */

NAMED void plt(void)
{
	uint64_t end_ns = thread_cpu_ns() + work_ns;
	unsigned seed = 1;

	while (thread_cpu_ns() < end_ns)
		for (int i = 0; i < 10000; i++)
			rand_r(&seed);
}

/* Returns a library and one of its symbols; exits if it cannot be loaded. */
static void *open_library(const char *path, int flags, const char *symbol, void **ret_handle)
{
	void *handle = path ? dlopen(path, flags) : NULL;
	void *found = handle ? dlsym(handle, symbol) : NULL;

	if (!found) {
		fprintf(stderr, "no library '%s' with '%s'\n", path ? path : "", symbol);
		_exit(1);
	}
	*ret_handle = handle;
	return found;
}

NAMED void bind_all(void (*bind)(void))
{
	bind();
	NO_TAIL_CALL();
}

static void lazy(void)
{
	uint64_t end_ns = thread_cpu_ns() + work_ns;

	while (thread_cpu_ns() < end_ns) {
		void *handle;

		bind_all((void (*)(void))open_library(getenv("LIBRARY"), RTLD_LAZY, "library_bind",
						      &handle));
		dlclose(handle);
	}
}

/* --- loading and unloading ------------------------------------------------------------------- */

static void copy_file(const char *from, const char *to)
{
	static char bytes[1 << 18];
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	ssize_t got = read(in, bytes, sizeof(bytes));

	if (got <= 0 || write(out, bytes, (size_t)got) != got)
		_exit(1);
	close(in);
	close(out);
}

NAMED void calls_library(call_function *library_call)
{
	library_call(work);
	NO_TAIL_CALL();
}

static void run_dlopen(void)
{
	uint64_t end_ns = thread_cpu_ns() + work_ns;
	int number = 0;
	char path[512];
	void *handle;

	work_ns = 30000000;
	do {
		snprintf(path, sizeof(path), "%s.%d", getenv("LIBRARY"), number++);
		copy_file(getenv("LIBRARY"), path);
		calls_library(
			(call_function *)open_library(path, RTLD_NOW, "library_call", &handle));
		dlclose(handle);
	} while (thread_cpu_ns() < end_ns);
	/* The files are kept, as for real libraries: deleting them would lose their symbols. */
}

struct code {
	const char *path; /* in: the library's path */
	uintptr_t start;
	size_t bytes;
	off_t offset;
};

static int find_code(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct code *code = argument;

	if (strcmp(info->dlpi_name, code->path))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		code->start = info->dlpi_addr + header->p_vaddr;
		code->bytes = header->p_memsz;
		code->offset = (off_t)header->p_offset;
	}
	return 1;
}

/* The same addresses and the same kind of call; then the code is another file's. */
static void remap(void)
{
	struct code code = {.path = getenv("LIBRARY")};
	call_function *call;
	void *handle;
	int fd = open(getenv("SECOND_LIBRARY"), O_RDONLY | O_CLOEXEC);

	call = (call_function *)open_library(code.path, RTLD_NOW, "library_call", &handle);
	dl_iterate_phdr(find_code, &code);
	calls_library(call);
	prctl(PR_SET_NAME, "remap_new");
	if (mmap((void *)code.start, code.bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		 code.offset) == MAP_FAILED)
		_exit(1);
	calls_library(call);
	_exit(0); /* the library's destructors were overwritten */
}

static const struct shape shapes[] = {
	{"jit", jit},
	{"trampoline", trampoline},
	{"trampoline_zero", trampoline_zero},
	{"trampoline_push", trampoline_push},
	{"trampoline_leaf", trampoline_leaf},
	{"jit_unknown", jit_unknown},
	{"noinfo", noinfo},
	{"noinfo_zero", noinfo_zero},
	{"noinfo_frame", noinfo_frame},
	{"plt", plt},
	{"lazy", lazy},
	{"dlopen", run_dlopen},
	{"remap_old", remap},
};

SHAPES_MAIN(shapes)
