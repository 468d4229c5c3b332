# shellcheck shell=sh disable=SC2154
# Functions of a program and of the kernel are symbolized.

start spin 100000
profile -f -e cpu-clock -F 199 -d 1 -a
spin=$(sum_matching '^spin;.*;main;spin_outer;spin_inner( |;)')
check "user functions" test "$(percent "$spin" "$(sum_matching '^spin;')")" -ge 90 -a "$spin" -ge 10
stop "$PID"

start dd if=/dev/zero of=/dev/null bs=1M
profile -f -e cpu-clock -F 199 -d 1 --annotate -p "$PID"
all=$(sum_matching .)
check "kernel functions" \
	test "$(percent "$(sum_matching ';(ksys_read|vfs_read)[^;]*_[[]k]')" "$all")" -ge 50
check "kernel functions: none without a name" \
	test "$(percent "$(sum_matching '[[]unknown]_[[]k]')" "$all")" -le 1
profile -e cpu-clock -F 199 -d 1 -p "$PID"
check "kernel functions in the report" grep -q '\[kernel\]' out
stop "$PID"
