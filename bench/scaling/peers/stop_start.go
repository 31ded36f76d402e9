// Go's timers: stop_start THREADS SECONDS TIMERS prints how many pairs of a stop and a start so many threads
// make in a second, in millions. Each has its share of the timers, 10 to 20 s ahead, and picks one at random.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

func never() { panic("a timer fired that is not due") }

// The generator of bench/inputs.h, so that all programs pay as little for it.
type random uint64

func (r *random) below(n uint32) uint32 {
	*r = *r*6364136223846793005 + 1442695040888963407
	return uint32(uint64(uint32(*r>>32)) * uint64(n) >> 32)
}

func delay(r *random) time.Duration { return time.Duration(10000+r.below(10000)) * time.Millisecond }

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	threads, seconds, timers := number(os.Args[1]), number(os.Args[2]), number(os.Args[3])
	var over atomic.Bool
	var pairs atomic.Int64
	var ready, ended sync.WaitGroup
	ready.Add(threads)
	ended.Add(threads)
	start := make(chan bool)
	for thread := 0; thread < threads; thread++ {
		go func(seed int) {
			runtime.LockOSThread()
			r := random(seed)
			own := make([]*time.Timer, timers/threads)
			for i := range own {
				own[i] = time.AfterFunc(delay(&r), never)
			}
			ready.Done()
			<-start
			count := int64(0)
			for ; !over.Load(); count++ {
				any := &own[r.below(uint32(len(own)))]
				(*any).Stop()
				*any = time.AfterFunc(delay(&r), never)
			}
			pairs.Add(count)
			ended.Done()
		}(thread + 1)
	}
	ready.Wait()
	begin := time.Now()
	close(start)
	time.Sleep(time.Duration(seconds) * time.Second)
	over.Store(true)
	lasted := time.Since(begin)
	ended.Wait()
	fmt.Printf("%g\n", float64(pairs.Load())/lasted.Seconds()/1e6)
}
