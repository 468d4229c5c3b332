// go_stacks SECONDS: stacks that Go's frame pointers do not show: functions without a frame,
// functions that the runtime runs on another stack (newproc), and stacks that have to grow.
package main

import (
	"os"
	"runtime"
	"strconv"
	"time"
)

var sink uint64

//go:noinline
func leaf(n uint64) (sum uint64) {
	for i := uint64(0); i < n; i++ {
		sum += i * sum
	}
	return sum
}

//go:noinline
func callsLeaf(n uint64) uint64 {
	return leaf(n) + leaf(n+1)
}

//go:noinline
func starts(n int) {
	for i := 0; i < n; i++ {
		go func() { sink++ }()
	}
	runtime.Gosched()
}

//go:noinline
func deep(n int) byte {
	var room [200]byte
	if n == 0 {
		return room[sink&127]
	}
	return deep(n-1) + room[n&127]
}

func grows(done chan byte) {
	done <- deep(100)
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	end := time.Now().Add(time.Duration(seconds * 1e9))
	done := make(chan byte)
	for time.Now().Before(end) {
		sink += callsLeaf(20000)
		starts(50)
		for i := 0; i < 4; i++ {
			go grows(done)
			sink += uint64(<-done)
		}
	}
}
