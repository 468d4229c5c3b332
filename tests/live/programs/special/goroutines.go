// goroutines SECONDS: runs one goroutine and the main one, each in a chain of three functions.
package main

import (
	"os"
	"strconv"
	"time"
)

var sink uint64

//go:noinline
func hot() {
	var sum uint64
	for i := uint64(0); i < 20000; i++ {
		sum += i * sum
	}
	sink += sum
}

//go:noinline
func inner(end time.Time) {
	for time.Now().Before(end) {
		hot()
	}
}

//go:noinline
func outer(end time.Time) {
	var room [64]byte
	inner(end)
	sink += uint64(room[int(sink)&63])
}

//go:noinline
func worker(end time.Time, done chan bool) {
	outer(end)
	done <- true
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	end := time.Now().Add(time.Duration(seconds * 1e9))
	done := make(chan bool)
	go worker(end, done)
	outer(end)
	<-done
}
