package front

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(10, 5, 2*time.Second)
		for i := range 5 {
			if wait, ok := r.take("a", 1); wait != 0 || !ok {
				t.Fatalf("%d of the burst: %v %v", i, wait, ok)
			}
		}
		for i := range 20 { // ten a second, for two seconds ahead
			want := time.Duration(i+1) * 100 * time.Millisecond
			if wait, ok := r.take("a", 1); wait.Round(time.Millisecond) != want || !ok {
				t.Fatalf("%d behind the burst: %v %v, want %v", i, wait, ok, want)
			}
		}
		for range 3 { // refusals take nothing
			if wait, ok := r.take("a", 1); ok {
				t.Fatalf("a wait of %v is promised", wait)
			}
		}
		if wait, ok := r.take("b", 1); wait != 0 || !ok {
			t.Errorf("another address waits: %v %v", wait, ok)
		}
		time.Sleep(time.Second)
		if wait, ok := r.take("a", 1); wait.Round(time.Millisecond) != 1100*time.Millisecond || !ok {
			t.Errorf("after a second: %v %v", wait, ok)
		}
		time.Sleep(time.Hour)
		for i := range 5 {
			if wait, ok := r.take("a", 1); wait != 0 || !ok {
				t.Fatalf("%d after an hour: %v %v", i, wait, ok)
			}
		}
		if wait, _ := r.take("a", 1); wait == 0 {
			t.Error("the burst grew in an hour")
		}
	})
}

// TestRatesAreForgottenOnlyWhenFull goes over the moment at which buckets are forgotten, with one in use all the time.
func TestRatesAreForgottenOnlyWhenFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(10, 5, 0)
		taken := 0
		const seconds = 60
		for range seconds * 100 {
			if _, ok := r.take("a", 1); ok {
				taken++
			}
			time.Sleep(10 * time.Millisecond)
		}
		if most := 5 + seconds*10 + 1; taken > most || taken < most-20 {
			t.Errorf("%d in a minute, want about %d", taken, most)
		}
	})
}

func TestRatesRememberABoundedNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(10, 5, 0)
		for i := range 3 * maxBuckets {
			r.take(fmt.Sprint(i), 1)
		}
		if n := len(r.new) + len(r.old); n > maxBuckets {
			t.Errorf("%d addresses are remembered", n)
		}
	})
}
