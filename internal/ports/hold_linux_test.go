package ports

import (
	"runtime"
	"testing"
)

// TestNothingRefersToAHeldPort collects garbage while nothing refers to what Hold returned: the port stays held.
func TestNothingRefersToAHeldPort(t *testing.T) {
	const port = 2 // not that of TestHold, which gives it back
	held, err := Hold(port)
	if held == nil || err != nil {
		t.Fatalf("the port was not given: %v", err)
	}
	number := held.(socket)
	t.Cleanup(func() { _ = number.Close() })
	for range 5 { // what has a finalizer is closed by a goroutine of its own
		runtime.GC()
		runtime.Gosched()
	}
	if again, err := Hold(port); again != nil || err != nil {
		t.Errorf("the port was given twice (%v)", err)
	}
}
