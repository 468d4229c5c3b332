/* kernel/preflight: the kernels on which user stacks, or programs in the scheduler, are disabled. */
#include "kernel/preflight.h"

#include "unit/test.h"

static bool is_dangerous(const char *release, const char *version, const char *signature)
{
	return kernel_danger_of(release, version, signature) != NULL;
}

TEST(kernels_that_freeze)
{
	CHECK(!is_dangerous("5.18.19", "#1 SMP", ""));
	CHECK(is_dangerous("5.19.0", "#1 SMP", ""));
	CHECK(is_dangerous("6.0.19-arch1-1", "#1 SMP", ""));
	CHECK(is_dangerous("6.1.8", "#1 SMP", ""));
	CHECK(!is_dangerous("6.1.37", "#1 SMP", ""));
	CHECK(!is_dangerous("6.1.300", "#1 SMP", ""));
	CHECK(is_dangerous("6.2.16", "#1 SMP", ""));
	CHECK(is_dangerous("6.3.1", "#1 SMP", ""));
	CHECK(!is_dangerous("6.3.12", "#1 SMP", ""));
	CHECK(!is_dangerous("6.4.0", "#1 SMP", ""));
	CHECK(!is_dangerous("5.10.0-32-amd64", "#1 SMP Debian 5.10.223-1 (2024-08-10)", ""));
	CHECK(!is_dangerous("6.18.44", "#1 SMP", ""));
}

TEST(debian_says_its_true_version_elsewhere)
{
	CHECK(is_dangerous("6.1.0-9-amd64", "#1 SMP Debian 6.1.27-1 (2023-05-08)", ""));
	CHECK(!is_dangerous("6.1.0-50-amd64", "#1 SMP Debian 6.1.176-1 (2026-01-01)", ""));
}

TEST(ubuntu_says_its_true_version_elsewhere)
{
	CHECK(is_dangerous("5.19.0-45-generic", "#46-Ubuntu SMP",
			   "Ubuntu 5.19.0-45.46-generic 5.19.17"));
	CHECK(!is_dangerous("6.8.0-31-generic", "#31-Ubuntu SMP",
			    "Ubuntu 6.8.0-31.31-generic 6.8.1"));
	CHECK(is_dangerous("6.11.0-19-generic", "#19-Ubuntu SMP",
			   "Ubuntu 6.11.0-19.19-generic 6.11.11"));
	CHECK(!is_dangerous("6.11.0-21-generic", "#21-Ubuntu SMP",
			    "Ubuntu 6.11.0-21.21-generic 6.11.11"));
}

TEST(what_is_no_version_is_no_danger)
{
	CHECK(!is_dangerous("", "", ""));
	CHECK(!is_dangerous("six", "Debian", "Ubuntu "));
}

#define RT "#1 SMP PREEMPT_RT"

static bool sleeps(const char *release, const char *version)
{
	return kernel_send_danger_of(release, version, "") != NULL;
}

TEST(real_time_kernels_whose_ring_sleeps)
{
	CHECK(sleeps("5.10.0-32-rt-amd64", RT " Debian 5.10.223-1 (2024-08-10)"));
	CHECK(sleeps("5.15.1-rt1", RT));
	CHECK(sleeps("6.1.0-26-rt-amd64", RT " Debian 6.1.112-1 (2024-09-30)"));
	CHECK(!sleeps("6.1.0-27-rt-amd64", RT " Debian 6.1.115-1 (2024-11-01)"));
	CHECK(sleeps("6.6.83-rt1", RT));
	CHECK(!sleeps("6.6.84-rt1", RT));
	CHECK(sleeps("6.8.1-1000-realtime", RT));
	CHECK(sleeps("6.11.5", RT));
	CHECK(!sleeps("6.11.6", RT));
	CHECK(!sleeps("6.12.0", RT));
	CHECK(!sleeps("6.1.8", "#1 SMP PREEMPT_DYNAMIC"));
	CHECK(!sleeps("six", RT));
}
