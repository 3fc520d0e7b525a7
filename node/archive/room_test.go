package archive

import (
	"bytes"
	"errors"
	"testing"

	"holdfast/internal/disk"
)

func TestWritingEndsBeforeTheReserve(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	left := int64(100 << 20)
	w := &roomWriter{to: &out, free: func() (int64, error) { return left, nil }}
	if err := w.need(101 << 20); !errors.Is(err, disk.ErrFull) {
		t.Errorf("more than there is room for: %v", err)
	}
	if err := w.need(-1); err != nil {
		t.Errorf("of unknown size: %v", err)
	}
	block := make([]byte, 1<<20)
	for range 2 * roomEvery / len(block) {
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	left = 0
	var err error
	for i := 0; i <= roomEvery/len(block) && err == nil; i++ {
		_, err = w.Write(block)
	}
	if !errors.Is(err, disk.ErrFull) {
		t.Errorf("with no room left: %v", err)
	}
}
