package replica

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// TestASlowReaderHoldsNothing reads a part of a file, waits, and reads on: here, and from another node. Meanwhile no file
// is open for it and no place taken at the node that serves it; the bytes are the right ones.
func TestASlowReaderHoldsNothing(t *testing.T) {
	for _, where := range []string{"north-1", "sums-1"} {
		for _, size := range []int{3_000_000, 200_000} {
			synctest.Test(t, func(t *testing.T) {
				c := runCluster(t, "north-1", "south-1", "sums-1")
				name := fileName(1)
				body := c.node("north-1").put(name, 1, size)
				c.complete(name)
				sleep(t.Context(), time.Minute)
				rd, err := c.node(where).r.OpenRange(t.Context(), name, 0, -1)
				if err != nil {
					t.Fatal(err)
				}
				defer rd.Close()
				var got []byte
				for part := range 3 {
					some := make([]byte, size/4)
					n, err := io.ReadFull(rd, some)
					got = append(got, some[:n]...)
					if err != nil {
						t.Fatalf("%s, part %d: %v", where, part, err)
					}
					sleep(t.Context(), 2*restAfter)
					synctest.Wait()
					if rd.in != nil {
						t.Errorf("%s, part %d: something is open while nobody reads", where, part)
					}
					for _, n := range []string{"north-1", "south-1"} {
						if taken := len(c.node(n).r.reads); taken != 0 {
							t.Errorf("%s, part %d: %d places are taken at %s", where, part, taken, n)
						}
					}
				}
				last, err := io.ReadAll(rd)
				if got = append(got, last...); err != nil || !bytes.Equal(got, body) {
					t.Errorf("%s: %d bytes, right: %t, %v", where, len(got), bytes.Equal(got, body), err)
				}
			})
		}
	}
}

// TestASlowReaderIsGivenNothingWrong flips a bit of the only other copy while a reader rests who read the file as a whole:
// nothing wrong is given with a clean end.
func TestASlowReaderIsGivenNothingWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 3_000_000
		c := runCluster(t, "north-1", "sums-1")
		name := fileName(1)
		body := c.node("north-1").put(name, 1, size)
		c.complete(name)
		sleep(t.Context(), time.Minute)
		rd, err := c.node("sums-1").r.OpenRange(t.Context(), name, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		defer rd.Close()
		got := make([]byte, 1000)
		if _, err := io.ReadFull(rd, got); err != nil {
			t.Fatal(err)
		}
		sleep(t.Context(), 2*restAfter)
		c.node("north-1").twist = twisted(size - 1000)
		last, err := io.ReadAll(rd)
		if err == nil {
			t.Errorf("%d bytes with a clean end, right: %t", len(got)+len(last), bytes.Equal(append(got, last...), body))
		}
	})
}
