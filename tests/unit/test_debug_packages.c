/* sym/debug_packages on package databases made by dpkg and rpm. */
#include "sym/debug_packages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unit/folder.h"
#include "unit/test.h"

#define INFO "var/lib/dpkg/info/"

static void make_dpkg(void)
{
	enter_folder();
	CHECK(run_in_folder("mkdir -p " INFO));
	make_file(in_folder(INFO "zlib1g:amd64.list"),
		  "/.\n/lib\n/lib/x86_64-linux-gnu/libz.so.1.2.13\n/usr/share/doc/zlib1g\n");
	make_file(in_folder(INFO "libc6:amd64.list"), "/usr/lib/x86_64-linux-gnu/libc.so.6\n");
	make_file(in_folder(INFO "redis-tools.list"), "/.\n/usr/bin/redis-check-rdb\n");
	make_file(in_folder(INFO "redis-tools.md5sums"), "/usr/bin/other\n");
	make_file(in_folder(INFO "wrong.list"), "/opt/usr/bin/other\n/usr/bin/other/file\n");
}

static void check(const char *path, const char *expected)
{
	const char *paths[] = {"/nowhere", path};
	char *found[DEBUG_PACKAGES_MAX_PATHS];

	CHECK_EQ(debug_packages_find(folder, paths, 2, found), 0);
	CHECK(!found[0]);
	CHECK_STR(found[1] ? found[1] : "", expected);
	free(found[1]);
}

TEST(debug_packages_of_dpkg)
{
	make_dpkg();
	check("/usr/lib/x86_64-linux-gnu/libz.so.1.2.13", "install zlib1g-dbgsym");
	check("/lib/x86_64-linux-gnu/libz.so.1.2.13", "install zlib1g-dbgsym");
	check("/lib/x86_64-linux-gnu/libc.so.6", "install libc6-dbg");
	check("/usr/bin/redis-check-rdb", "install redis-tools-dbgsym");
	check("/usr/bin/redis-check", "");
	check("/usr/bin/other", "");
	check("/bin/other", "");
	leave_folder();
}

TEST(debug_packages_of_odd_lists)
{
	make_dpkg();
	CHECK(run_in_folder("mkdir " INFO "folder.list; mkfifo " INFO "fifo.list;"
			    "ln -s redis-tools.list " INFO "link.list; : >" INFO "empty.list;"
			    "printf '/usr/bin/last' >" INFO "end.list"));
	check("/usr/bin/redis-check-rdb", "install redis-tools-dbgsym");
	check("/usr/bin/last", "install end-dbgsym");
	leave_folder();
}

TEST(debug_packages_of_rpm)
{
	const char *const paths[] = {"/usr/lib64/libz.so.1.2.13", "/opt/it's"};
	char *found[DEBUG_PACKAGES_MAX_PATHS];

	enter_folder();
	CHECK_EQ(debug_packages_find(folder, paths, 2, found), 0);
	CHECK(!found[0] && !found[1]);
	CHECK(run_in_folder("mkdir -p usr/lib/sysimage/rpm"));
	CHECK_EQ(debug_packages_find(folder, paths, 2, found), 0);
	CHECK_STR(found[0], "dnf debuginfo-install $(rpm -qf /usr/lib64/libz.so.1.2.13)");
	CHECK(!found[1]);
	free(found[0]);
	leave_folder();
}

TEST(debug_packages_without_memory)
{
	const char *const paths[] = {"/usr/bin/redis-check-rdb", "/usr/lib/libz"};
	char *found[DEBUG_PACKAGES_MAX_PATHS];
	size_t nth, nr = SIZE_MAX;
	int err;

	make_dpkg();
	for (nth = 1; nr >= nth - 1; nth++) {
		(void)test_fail_allocation(nth);
		err = debug_packages_find(folder, paths, ARRAY_SIZE(paths), found);
		nr = test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
		CHECK(err == 0 || !found[0]);
		free(found[0]);
	}
	leave_folder();
}
