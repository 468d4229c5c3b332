#!/bin/sh
# The first process of the machine whose power tests/vm/power cuts. With LOOK in its environment it says what the store
# has, and switches the machine off; else it runs an agent for ever, and says what can be read of its store. Lines:
#
#   KEPT NUMBER    epochs that were there at the boot       UNTIL NS   end of the last of them
#   BEGUN NUMBER   the same, when the agent has begun       DAMAGED    the store was refused, and why
#   STORED NUMBER  epochs that are there now                END        the disk is unmounted
PATH=/bin
export PATH

epochs() { print_store /disk/store comm 2>/dev/null | awk '$1 == "epochs" { nr = $2 } END { print nr + 0 }'; }

/bin/busybox mkdir -p /proc /sys /tmp /disk /dev
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent # as in guest.sh
mount -t ext4 /dev/nvme0n1 /disk || echo "DAMAGED the disk"

echo # the firmware's last line lacks a newline
if [ "$LOOK" ]; then
	print_store /disk/store comm >/tmp/out 2>/tmp/err || echo "DAMAGED $(cat /tmp/err)"
	awk '$1 == "epochs" { print "KEPT", $2 } $1 == "range" { print "UNTIL", $3 }' /tmp/out
	umount /disk
	echo END
	poweroff -f
fi
spin 1000000 >/dev/null 2>&1 &
stook agent --store /disk/store --epoch 1 --budget off >/dev/null 2>/tmp/err &
until grep 'sampling at' /tmp/err; do sleep 0.2; done
grep 'damaged' /tmp/err && echo DAMAGED
echo "BEGUN $(epochs)"
while sleep 0.1; do echo "STORED $(epochs)"; done
