/* profile/quality: which stacks are complete, and which files truncate the others. */
#include "unit/test.h"

#include <errno.h>
#include <string.h>

#include "profile/quality.h"
#include "unit/make_profile.h"
#include "view/named_stacks.h"

static struct quality judge(const struct profile *profile)
{
	struct quality quality;

	memset(&quality, 0x55, sizeof(quality));
	CHECK_EQ(quality_judge(profile, &quality), 0);
	CHECK_EQ(quality.complete + quality.truncated + quality.missed + quality.broken,
		 quality.user);
	return quality;
}

static const char *blamed(const struct profile *profile, const struct quality *quality, size_t i)
{
	return profile_module_name(profile, quality->blamed[i].module);
}

TEST(quality_of_nothing)
{
	struct profile *profile = profile_new();
	struct quality quality = judge(profile);

	CHECK_EQ(quality.user + quality.unnamed, 0);
	CHECK_EQ(quality.blamed[0].samples, 0);
	profile_free(profile);
}

TEST(quality_of_whole_stacks)
{
	struct profile *profile = profile_new();
	struct quality quality;

	(void)make_sample(profile, "a;_start;main;work 1");
	(void)make_sample(profile, "a;libc.so!clone3;libc.so!start_thread;work 2");
	(void)make_sample(profile, "a;libc.so!__libc_start_main;main;read_[k] 4");
	(void)make_sample(profile, "go;runtime.goexit.abi0;main.main 8");
	(void)make_sample(profile, "kworker;worker_thread_[k];work_[k] 16"); /* no user stack */
	quality = judge(profile);
	CHECK_EQ(quality.user, 15);
	CHECK_EQ(quality.complete, 15);
	CHECK_EQ(quality.unnamed, 0);
	CHECK_EQ(quality.blamed[0].samples, 0);
	profile_free(profile);
}

TEST(quality_blames_the_file_of_the_root)
{
	struct profile *profile = profile_new();
	struct quality quality;

	(void)make_sample(profile, "a;libbad.so!deep;app!work 10");
	(void)make_sample(profile, "a;libbad.so!other;app!work 10");
	(void)make_sample(profile, "a;libworse.so!x 30");
	(void)make_sample(profile, "a;lib1.so!x 1");
	(void)make_sample(profile, "a;lib2.so!x 2");
	(void)make_sample(profile, "a;lib3.so!x 3");
	(void)make_sample(profile, "a;_start;main 99");
	quality = judge(profile);
	CHECK_EQ(quality.broken, 56);
	CHECK_STR(blamed(profile, &quality, 0), "libworse.so");
	CHECK_EQ(quality.blamed[0].samples, 30);
	CHECK_STR(blamed(profile, &quality, 1), "libbad.so");
	CHECK_EQ(quality.blamed[1].samples, 20);
	CHECK_STR(blamed(profile, &quality, 2), "lib3.so");
	CHECK_EQ(quality.blamed[2].samples, 3);
	profile_free(profile);
}

/* Frames past the last file are not code: [unknown] is blamed only if there is no file. */
TEST(quality_blames_the_last_file)
{
	struct profile *profile = profile_new();
	struct quality quality;

	(void)make_sample(profile, "a;!;!;libbad.so!deep;app!work 10");
	(void)make_sample(profile, "a;!;! 3");
	quality = judge(profile);
	CHECK_EQ(quality.broken, 13);
	CHECK_STR(blamed(profile, &quality, 0), "libbad.so");
	CHECK_EQ(quality.blamed[0].samples, 10);
	CHECK_EQ(quality.blamed[1].module, MODULE_NR_UNKNOWN);
	CHECK_EQ(quality.blamed[1].samples, 3);
	profile_free(profile);
}

TEST(quality_of_missed_stacks)
{
	struct profile *profile = profile_new();
	struct quality quality;

	(void)make_sample(profile, "a;[missed];page_fault_[k] 3");
	quality = judge(profile);
	CHECK_EQ(quality.user, 3);
	CHECK_EQ(quality.missed, 3);
	CHECK_EQ(quality.blamed[0].samples, 0);
	profile_free(profile);
}

/* A stack that reached the frame limit but shows its first function counts as complete. */
TEST(quality_of_truncated_stacks)
{
	struct profile *profile = profile_new();
	struct sample_labels labels = {.user_end = WALK_TRUNCATED};
	uint32_t whole[2], cut[2];
	struct quality quality;

	whole[0] = cut[0] = (uint32_t)profile_add_frame(profile, FRAME_USER, 0, 1);
	whole[1] = (uint32_t)profile_add_frame(profile, FRAME_USER, 0, 2);
	cut[1] = (uint32_t)profile_add_frame(profile, FRAME_USER, 0, 3);
	CHECK_EQ(profile_set_function(profile, whole[1], "_start"), 0);
	CHECK(profile_add_sample(profile, &labels, whole, 2, 0, 5) >= 0);
	CHECK(profile_add_sample(profile, &labels, cut, 2, 0, 7) >= 0);
	quality = judge(profile);
	CHECK_EQ(quality.complete, 5);
	CHECK_EQ(quality.truncated, 7);
	CHECK_EQ(quality.broken, 0);
	CHECK_EQ(quality.unnamed, 12); /* the leaf frames */
	profile_free(profile);
}

TEST(quality_counts_leaves_without_a_name)
{
	struct profile *profile = profile_new();
	struct quality quality;

	(void)make_sample(profile, "a;_start;libx.so! 2");
	(void)make_sample(profile, "a;_start;main 3");
	(void)make_sample(profile, "a;libx.so!;work 5");
	quality = judge(profile);
	CHECK_EQ(quality.unnamed, 2);
	CHECK_EQ(quality.complete, 5);
	CHECK_EQ(quality.broken, 5);
	profile_free(profile);
}

/* A function's start address is not a name. */
TEST(quality_counts_starts_as_nameless)
{
	struct profile *profile = profile_new();
	struct quality quality;

	(void)make_sample(profile, "a;_start;libx.so!libx.so+0x1a0 2");
	(void)make_sample(profile, "a;_start;libx.so!liby.so+0x1a0 3");
	quality = judge(profile);
	CHECK_EQ(quality.unnamed, 2);
	CHECK_EQ(quality.stripped[0].samples, 2);
	CHECK_EQ(quality.stripped[0].module, make_module(profile, "libx.so"));
	CHECK_EQ(quality.stripped[1].samples, 0);
	profile_free(profile);
}

TEST(quality_tells_why_leaves_have_no_name)
{
	const struct module_code unread = {.is_unread = true};
	struct profile *profile = profile_new();
	struct quality quality;

	(void)make_sample(profile, "a;_start;stripped.so! 2");
	(void)make_sample(profile, "a;_start;~gone.so! 3");
	(void)make_sample(profile, "a;_start;unread.so! 5");
	(void)make_sample(profile, "a;_start;work_[j] 7");
	CHECK_EQ(profile_set_code(profile, make_module(profile, "unread.so"), &unread), 0);
	quality = judge(profile);
	CHECK_EQ(quality.unnamed, 10);
	CHECK_EQ(quality.gone, 3);
	CHECK_EQ(quality.unread, 5);
	CHECK_EQ(quality.unmapped, 0);
	CHECK_EQ(quality.stripped[0].samples, 2);
	CHECK_EQ(quality.stripped[1].samples, 0);
	CHECK_STR(named_stacks_no_name(profile, make_module(profile, "unread.so")), "[unreadable]");
	CHECK_STR(named_stacks_no_name(profile, make_module(profile, "~gone.so")), "[deleted]");
	profile_free(profile);
}

/* libc's start code mostly has no frame pointers: stacks are complete from main on. */
TEST(quality_takes_main_for_a_beginning)
{
	struct profile *profile = profile_new();
	struct quality quality;

	(void)make_sample(profile, "a;libc.so!;main;work 5");
	(void)make_sample(profile, "a;libc.so!;libc.so!;libc.so!;main;work 7");
	(void)make_sample(profile, "a;b;c;d;e;main;work 9"); /* a main deep inside the stack */
	quality = judge(profile);
	CHECK_EQ(quality.complete, 12);
	CHECK_EQ(quality.broken, 9);
	profile_free(profile);
}

TEST(quality_without_memory)
{
	struct profile *profile = profile_new();
	struct quality quality = {.user = 77};

	(void)make_sample(profile, "a;main 2");
	(void)test_fail_allocation(1);
	CHECK_EQ(quality_judge(profile, &quality), -ENOMEM);
	(void)test_fail_allocation(0);
	CHECK_EQ(quality.user, 77);
	profile_free(profile);
}

/* Only Python code that runs between the interpreter's start and finish could have names. */
TEST(quality_counts_python_that_is_only_interpreted)
{
	struct profile *profile = profile_new();
	struct quality quality;
	uint32_t frames[2];

	(void)make_sample(profile, "a;_start;libpython3.11.so!_PyEval_EvalFrameDefault 5");
	(void)make_sample(profile, "a;_start;python3.12!_PyEval_EvalFrameDefault;python3.12!x 7");
	(void)make_sample(profile, "a;_start;py::main:a.py;python3.12!_PyEval_EvalFrameDefault 90");
	(void)make_sample(profile, "a;_start;python3.12!Py_InitializeFromConfig;"
				   "python3.12!_PyEval_EvalFrameDefault 80");
	(void)make_sample(profile, "a;_start;python3.12!Py_FinalizeEx;"
				   "python3.12!_PyEval_EvalFrameDefault 70");
	(void)make_sample(profile, "a;_start;python3.12!_Py_Finalize.part.0.constprop.0;"
				   "python3.12!_PyEval_EvalFrameDefault 60");
	/* Called by JIT-compiled code without a name yet, so the interpreter has -X perf. */
	frames[0] = (uint32_t)profile_add_frame(profile, FRAME_USER,
						make_module(profile, "python3.12"), 1);
	frames[1] =
		(uint32_t)profile_add_frame(profile, FRAME_USER, make_run_time_module(profile), 2);
	CHECK_EQ(profile_set_function(profile, frames[0], "_PyEval_EvalFrameDefault"), 0);
	CHECK(profile_add_sample(profile, &(struct sample_labels){0}, frames, 2, 0, 50) >= 0);
	quality = judge(profile);
	CHECK_EQ(quality.interpreted[0].samples, 7);
	CHECK_STR(profile_module_name(profile, quality.interpreted[0].module), "python3.12");
	CHECK_EQ(quality.interpreted[1].samples, 5);
	CHECK_EQ(quality.interpreted[2].samples, 0);
	profile_free(profile);
}
