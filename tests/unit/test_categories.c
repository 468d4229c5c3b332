/*
 * view/categories: tables, patterns, samples, and the built-in kernel table on real names.
 */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unit/make_profile.h"
#include "view/categories.h"

static struct categories *parse(const char *text)
{
	struct error error = {0};
	struct categories *categories = categories_parse(text, strlen(text), &error);

	if (!categories)
		fprintf(stderr, "%s\n", error.text);
	CHECK(categories != NULL);
	return categories;
}

static const char *name_of(const struct categories *categories, const char *function,
			   const char *module, enum frame_kind kind)
{
	return categories_name(categories,
			       categories_of_function(categories, function, module, kind));
}

/* Matches against a table with the single row `x: PATTERN`. */
static bool fits(const char *pattern, const char *function, const char *module)
{
	char text[256];
	struct categories *categories;
	bool result;

	(void)snprintf(text, sizeof(text), "x: %s", pattern);
	categories = parse(text);
	result = categories_of_function(categories, function, module,
					module[0] == '[' ? FRAME_KERNEL : FRAME_USER) != 0;
	categories_free(categories);
	return result;
}

TEST(categories_patterns)
{
	CHECK(fits("mem*", "memcpy", "libc.so.6"));
	CHECK(!fits("mem", "memcpy", "libc.so.6"));
	CHECK(fits("*_avx?_*", "__memmove_avx2_unaligned", "libc.so.6"));
	CHECK(fits("m[a-e]m*", "memcpy", "app") && !fits("m[!a-e]m*", "memcpy", "app"));
	CHECK(fits("a[]b]c", "a]c", "app") && fits("a[", "a[", "app"));
	CHECK(fits("a\\*", "a*", "app") && !fits("a\\*", "ab", "app"));
	CHECK(fits("/^(parse|lex)_/", "lex_word", "app"));
	CHECK(fits("/a\\/b/", "a/b", "app"));
	CHECK(fits("\"operator new\"", "operator new", "app"));
	CHECK(fits("\"vector<int *\"", "vector<int (*)()>::at", "app"));
	CHECK(fits("*", "", "app") && fits("\\[unknown\\]", "", "app"));
	CHECK(fits("a*b*c*d", "aXbXcXbXcXd", "app") && !fits("a*b*c*d", "aXbXdXc", "app"));
}

TEST(categories_modules)
{
	CHECK(fits("*@libjson*", "f", "libjson-c.so.5") && !fits("*@libjson*", "f", "libc.so.6"));
	CHECK(fits("@libc.so*", "f", "libc.so.6"));
	CHECK(fits("f@kernel", "f", "[ext4]") && !fits("f@kernel", "f", "app"));
	CHECK(fits("f@user", "f", "app") && !fits("f@user", "f", "[kernel]"));
	CHECK(fits("*@ext4", "f", "[ext4]") && !fits("*@ext4", "f", "[kernel]"));
	CHECK(fits("/f/@app", "xfx", "app") && !fits("/f/@app", "xfx", "lib"));
	CHECK(fits("\"f@plt\"@app", "f@plt", "app") && !fits("f@plt", "f@plt", "app"));
}

TEST(categories_fit_without_arguments)
{
	CHECK(fits("ns::parse", "ns::parse(char const*)", "app"));
	CHECK(fits("f", "f(std::vector<int (*)(int)>) const", "app"));
	CHECK(fits("*::operator()", "a::operator()(int) const", "app"));
	CHECK(fits("*::run", "(anonymous namespace)::run(int)", "app"));
	CHECK(fits("main.(*Server).Serve", "main.(*Server).Serve", "app"));
	CHECK(fits("tcp_ack", "tcp_ack.part.0", "[kernel]"));
	CHECK(!fits("tcp_ack", "tcp_ack.part.0", "app"));
	CHECK(!fits("f", "f<int>(int)", "app"));
}

TEST(categories_rows_come_in_order)
{
	struct categories *categories = parse("# first what is special\r\n"
					      "\n"
					      "copies : memcpy* \t memmove*\r\n"
					      "rest: *@user\n"
					      "copies: *copy*");

	CHECK_EQ(categories_nr(categories), 3);
	CHECK_STR(categories_name(categories, CATEGORY_OTHER), "other");
	CHECK_STR(name_of(categories, "memmove", "app", FRAME_USER), "copies");
	CHECK_STR(name_of(categories, "strcopy", "app", FRAME_USER), "rest");
	CHECK_STR(name_of(categories, "strcopy", "[kernel]", FRAME_KERNEL), "copies");
	CHECK_STR(name_of(categories, "f", "[kernel]", FRAME_KERNEL), "other");
	categories_free(categories);
}

TEST(categories_tell_what_is_wrong)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{"", "no row 'category: pattern …'"},
		{"# a\nx:\n", "no row 'category: pattern …'"},
		{"a: b\nmemcpy", "line 2: no 'category:' before 'memcpy'"},
		{": b", "line 1: no 'category:' before ': b'"},
		{"other: b", "line 1: name reserved for functions that no row matches: 'other'"},
		{"a: \"b", "line 1: no closing quotation mark in '\"b'"},
		{"a: /b", "line 1: no closing slash in '/b'"},
		{"a: \"b\"c", "line 1: missing blank after the pattern 'b\"c'"},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct error error = {0};

		CHECK(!categories_parse(wrong[i].text, strlen(wrong[i].text), &error));
		CHECK_STR(error.text, wrong[i].why);
	}
	CHECK(!categories_parse("a: /(/", 6, NULL));
	CHECK(!categories_parse("a: b\0c", 6, NULL));
}

TEST(categories_are_limited)
{
	char text[64 * 8], *at = text;
	struct error error = {0};
	int i;

	for (i = 1; i < CATEGORIES_MAX; i++)
		at += sprintf(at, "c%d: a\n", i);
	categories_free(parse(text));
	(void)sprintf(at, "one: a");
	CHECK(!categories_parse(text, strlen(text), &error));
	CHECK(strstr(error.text, "line 64: too many categories") != NULL);
}

/* Takes ownership of categories. */
static void check_counts_of(struct categories *categories, struct profile *profile,
			    const char *expected)
{
	uint32_t *of_sample;
	uint64_t *counts;
	char text[512] = "";
	size_t i, nr = 0;

	CHECK_EQ(categories_count(categories, profile, &of_sample, &counts), 0);
	for (i = 0; i < categories_nr(categories); i++)
		if (counts[i])
			nr += (size_t)snprintf(text + nr, sizeof(text) - nr, "%s %d;",
					       categories_name(categories, (uint32_t)i),
					       (int)counts[i]);
	CHECK_STR(text, expected);
	free(of_sample);
	free(counts);
	categories_free(categories);
}

static struct categories *built_in(const char *name)
{
	struct categories *categories = NULL;

	CHECK_EQ(categories_built_in(name, &categories, NULL), 0);
	return categories;
}

/* table: NULL: the kernel's. */
static void check_counts(const char *table, struct profile *profile, const char *expected)
{
	check_counts_of(table ? parse(table) : built_in("kernel"), profile, expected);
}

static struct profile *some_profile(void)
{
	struct profile *profile = profile_new();

	(void)make_sample(profile, "a;main;libjson.so!parse;memcpy 7");
	(void)make_sample(profile, "a;main;libjson.so!parse;grow;find_[i] 5");
	(void)make_sample(profile, "a;main;libjson.so!parse;do_syscall_64_[k];strange_[k] 3");
	(void)make_sample(profile, "a;main;strange_[k] 2");
	(void)make_sample(profile, "a;main;wait 11");
	(void)make_sample(profile, "a 1");
	return profile;
}

TEST(categories_count_for_the_nearest_caller)
{
	struct profile *profile = some_profile();

	check_counts("copies: memcpy\nsearch: find\njson: *@libjson*", profile,
		     "other 14;copies 7;search 5;json 3;");
	profile_free(profile);
}

TEST(categories_of_the_kernel_end_at_its_border)
{
	struct profile *profile = some_profile();

	check_counts(NULL, profile, "other 3;system calls 3;user 23;");
	profile_free(profile);
}

/* Kernel names of 5.10 to 7.x, including the differences; a function for each important row. */
TEST(categories_of_the_kernel_know_it)
{
	static const char *const known[][2] = {
		{"copy_user_enhanced_fast_string", "copies"},
		{"rep_movs_alternative", "copies"},
		{"copyout", "copies"},
		{"_copy_to_iter", "copies"},
		{"native_queued_spin_lock_slowpath", "locks"},
		{"mutex_lock", "locks"},
		{"tcp_sendmsg_locked", "network"},
		{"__netif_receive_skb_core", "network"},
		{"skb_release_data", "network"},
		{"virtnet_poll", "network"},
		{"blk_mq_submit_bio", "storage"},
		{"nvme_irq", "storage"},
		{"ext4_file_read_iter", "filesystem"},
		{"link_path_walk.part.0", "filesystem"},
		{"__fget_files", "filesystem"},
		{"vfs_read", "filesystem"},
		{"clear_page_erms", "memory"},
		{"__alloc_pages_nodemask", "memory"},
		{"__alloc_frozen_pages_noprof", "memory"},
		{"kmem_cache_alloc_noprof", "memory"},
		{"mas_walk", "memory"},
		{"shrink_folio_list", "reclaim"},
		{"shrink_page_list", "reclaim"},
		{"handle_mm_fault", "page faults"},
		{"asm_exc_page_fault", "page faults"},
		{"do_mem_abort", "page faults"},
		{"pick_next_task_fair", "scheduler"},
		{"try_to_wake_up", "scheduler"},
		{"finish_task_switch.isra.0", "scheduler"},
		{"__schedule", "scheduler"},
		{"hrtimer_interrupt", "timers"},
		{"read_tsc", "timers"},
		{"enqueue_hrtimer", "timers"},
		{"futex_wait", "ipc"},
		{"ep_poll", "ipc"},
		{"pipe_read", "ipc"},
		{"anon_pipe_write", "ipc"},
		{"get_signal", "signals"},
		{"do_syscall_64", "system calls"},
		{"el0_svc", "system calls"},
		{"exit_to_user_mode_loop", "system calls"},
		{"__do_softirq", "interrupts"},
		{"handle_softirqs", "interrupts"},
		{"asm_common_interrupt", "interrupts"},
		{"aesni_xts_encrypt", "crypto"},
		{"crc32c_pcl_intel_update", "crypto"},
		{"bpf_prog_run_array_cg", "bpf"},
		{"perf_event_overflow", "tracing"},
		{"selinux_file_permission", "security"},
		{"apparmor_file_open", "security"},
		{"process_one_work", "deferred work"},
		{"rcu_do_batch", "deferred work"},
		{"copy_process", "processes"},
		{"load_elf_binary", "processes"},
		{"pv_native_safe_halt", "idle"},
		{"mwait_idle", "idle"},
		{"cpu_do_idle", "idle"},
		{"io_submit_sqes", "io_uring"},
		{"kvm_arch_vcpu_ioctl_run", "virtual machines"},
		{"n_tty_write", "devices"},
		{"rb_insert_color", "other"},
		{"xas_load", "other"},
		{"_raw_spin_unlock_irqrestore", "other"},
	};
	struct categories *categories = built_in("kernel");
	size_t i;

	CHECK(categories != NULL);
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		const char *name = name_of(categories, known[i][0], "[kernel]", FRAME_KERNEL);

		if (strcmp(name, known[i][1]) != 0)
			fprintf(stderr, "%s: %s\n", known[i][0], name);
		CHECK_STR(name, known[i][1]);
	}
	CHECK_STR(name_of(categories, "memcpy", "libc.so.6", FRAME_USER), "user");
	categories_free(categories);
}

/* Stacks as profile --off-cpu has them; the kernel's functions of 5.10 to 7.x. */
TEST(categories_of_waits_know_them)
{
	static const char *const stacks[] = {
		"a;[running];main;compute 1",
		"a;[runnable];main;nanosleep;do_nanosleep_[k];schedule_[k] 2",
		"a;[stopped];main;do_signal_stop_[k] 4",
		"k;[idle];kthread_[k];worker_thread_[k] 8",
		/* With --locks, the kernel says so, whatever it is for. */
		"a;[mutex];main;pwrite;ext4_sync_file_[k];io_schedule_timeout_[k] 512",
		"a;[rwsem:W];main;mmap;vm_mmap_pgoff_[k] 1024",
		"a;[futex];main;pthread_mutex_lock;__lll_lock_wait;do_futex_[k];futex_wait_[k] 64",
		/* A futex is what the library does with it. */
		"a;[sleeping];main;pthread_mutex_lock;__lll_lock_wait;do_futex_[k];futex_wait_[k] "
		"16",
		"a;[sleeping];main;libc.so.6!___pthread_mutex_lock;futex_wait_[k] 1",
		"a;[sleeping];main;pthread_cond_wait@@GLIBC_2.3.2;do_futex_[k];futex_do_wait_[k] "
		"32",
		"a;[sleeping];main;pthread_mutex_unlock;do_futex_[k];futex_wait_[k] 64",
		"a;[sleeping];[since before the run];do_futex_[k];futex_wait_queue_me_[k] 64",
		/* A page fault inside of pthread_mutex_lock(); a lock that sleeps in epoll_wait(). */
		"a;[blocked];main;pthread_mutex_lock;filemap_fault_[k];folio_wait_bit_common_[k] "
		"128",
		"a;[blocked];main;pwrite;ext4_sync_file_[k];io_schedule_timeout_[k];schedule_[k] "
		"128",
		"postgres;[sleeping];ProcSleep;WaitLatch;epoll_wait;ep_poll_[k] 16",
		"a;[blocked];main;mmap;rwsem_down_write_slowpath_[k];schedule_[k] 256",
		"a;[blocked];main;mount;synchronize_rcu_normal.part.0_[k] 512",
		"redis;[sleeping];main;epoll_wait;do_epoll_wait_[k];ep_poll_[k];schedule_[k] 32",
		"a;[sleeping];main;wait4;kernel_wait4_[k];do_wait_[k] 1024",
		"a;[blocked];main;vfork;__do_sys_vfork_[k];kernel_clone_[k];wait_for_completion_[k]"
		" 1024",
		"a;[sleeping];main;read;unix_stream_read_generic_[k] 2048",
		"a;[sleeping];main;read;anon_pipe_read_[k] 4096",
		"a;[sleeping];main;read;pipe_read_[k] 4096",
		"a;[sleeping];main;usleep;hrtimer_nanosleep_[k];do_nanosleep_[k] 8192",
		"k;[sleeping];kthread_[k];kswapd_[k] 16384",
		"a;[sleeping];main;read;strange_read_[k] 32768",
		/* The waker's stack does not count. */
		"a;[sleeping];main;usleep;--;pthread_mutex_lock;main;b 8192",
	};
	struct profile *profile = profile_new();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(stacks); i++)
		(void)make_sample(profile, stacks[i]);
	check_counts_of(
		built_in("waits"), profile,
		"other 32768;running 1;run queue 2;stopped 4;kernel idle 8;"
		"kernel locks 1792;disk 256;rcu 512;locks 97;processes 2048;work 64;network 2048;"
		"pipes 8192;timers 16384;futex 128;kernel threads 16384;");
	check_counts("timers: usleep\nlocks: pthread_mutex_lock", profile,
		     "other 64096;timers 16384;locks 208;");
	profile_free(profile);
}

TEST(categories_without_memory)
{
	static const char text[] = "copies: memcpy /x/@libc*\njson: *@libjson*";
	struct profile *profile = some_profile();
	struct categories *categories;
	uint32_t *of_sample = NULL;
	uint64_t *counts = NULL;
	struct error error;
	size_t nth = 1;
	int result;

	do {
		error = (struct error){0};
		(void)test_fail_allocation(nth++);
		categories = categories_parse(text, strlen(text), &error);
		(void)test_fail_allocation(0);
	} while (!categories);
	CHECK(nth > 5);
	nth = 1;
	do {
		(void)test_fail_allocation(nth++);
		result = categories_count(categories, profile, &of_sample, &counts);
		(void)test_fail_allocation(0);
		CHECK(result == 0 || result == -ENOMEM);
	} while (result < 0);
	CHECK(nth > 3);
	free(of_sample);
	free(counts);
	categories_free(categories);
	profile_free(profile);
}
