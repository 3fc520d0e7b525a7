package chain

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Workers that found nothing to do for an instant are there again as soon as another has a URI.
func TestWorkersThatEndedAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crew := NewCrew()
		var started [4]atomic.Int64
		second := make(chan struct{})
		crew.Run(t.Context(), 3, func(ctx context.Context, number int) {
			again := started[number].Add(1) > 1
			if number != 1 {
				if again {
					second <- struct{}{}
				}
				return // as if there was nothing to do
			}
			synctest.Wait() // the others have ended
			_, cancel := context.WithCancelCause(ctx)
			crew.begin(number, "http://example.org/", cancel)
			<-second
			<-second
			crew.end(number)
			cancel(nil)
		})
		if a, b, c := started[1].Load(), started[2].Load(), started[3].Load(); a != 1 || b != 2 || c != 2 {
			t.Errorf("the workers began %d, %d and %d times", a, b, c)
		}
	})
}
