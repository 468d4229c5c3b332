/*
 * as_user MASK COMMAND [ARG]…   runs a command as user 65534, with the capabilities of a mask of bits (0xc000000000:
 * CAP_PERFMON and CAP_BPF) and no others
 */
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534

int main(int argc, char **argv)
{
	const unsigned long long mask = argc > 2 ? strtoull(argv[1], NULL, 0) : 0;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	int i;

	if (argc < 3)
		return 2;
	for (i = 0; i < 2; i++)
		data[i].effective = data[i].permitted = data[i].inheritable =
			(unsigned)(mask >> (32 * i));
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
	    setresuid(NOBODY, NOBODY, NOBODY) < 0 || syscall(SYS_capset, &header, data) < 0) {
		perror("as_user");
		return 126;
	}
	for (i = 0; i < 64; i++)
		if (mask >> i & 1 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0) < 0) {
			perror("as_user: ambient");
			return 126;
		}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
