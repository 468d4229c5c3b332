#!/bin/sh
# Makes seeds for fuzz_event: tests/fuzz/seeds_events.sh FOLDER
#
# One file per line of the table below: a description of events. Each has the same PMU behind it.
set -eu
folder=${1:?usage: tests/fuzz/seeds_events.sh FOLDER}
mkdir -p "$folder"

nr=0
while read -r description; do
	nr=$((nr + 1))
	cat >"$folder/$nr" <<-END
		$description
		type 78
		cpus 0-3,8
		format/x config:0-7,32-35
		format/y config1:0-63
		format/z config2:1,3
		events/a x=0x3c,y=1
		events/a.unit MiB
		events/a.scale 6.1e-5
		events/b x=?,z
		events/c c,x=1
	END
done <<'END'
cycles:u,L1-dcache-load-misses:kh,page-faults,r1c2
{cycles:p,instructions}:SD,{cs,mem:0x4040a0/8:rw}:uW
fuzz/x=0x3c,y=0xff,z/uppp
fuzz/a,x=2,name='q,/r',period=1000/u
a/x=3/P,b/x=7/,fuzz/c/
cpu/event=0x3c,umask=0x1,freq=99/:GH
uncore_imc/event=4/,imc_1//,uncore_*/umask=3/
mem-loads/ldlat=30/I,msr/tsc/,power/energy-pkg/e
config1:0-15,32-35
config:0-63
sched:sched_switch:k
fuzz/config=1,config1=2,config2=3,r1c2,xx=1/
END
