package replica

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// TestACopyIsReadFromItsNodeAlone reads the copy of one node, on this node and another. When it is wrong, gone or not
// reached, no other copy stands in for it, though there is a good one.
func TestACopyIsReadFromItsNodeAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1")
		name := fileName(1)
		body := c.node("north-1").put(name, 1, 400_000)
		c.complete(name)
		sleep(t.Context(), time.Minute)
		read := func(from, copy string) ([]byte, error) {
			in, err := c.node(from).r.OpenCopy(t.Context(), name, nodeID(copy), 0, -1)
			if err != nil {
				return nil, err
			}
			got, err := io.ReadAll(in)
			return got, errors.Join(err, in.Close())
		}
		for _, from := range []string{"north-1", "south-1"} {
			if got, err := read(from, "south-1"); err != nil || !bytes.Equal(got, body) {
				t.Errorf("from %s: %d bytes, %v", from, len(got), err)
			}
		}
		c.node("south-1").setDown(true)
		if _, err := read("north-1", "south-1"); !errors.Is(err, ErrNoCopy) {
			t.Errorf("not reached: %v", err)
		}
		c.node("south-1").setDown(false)
		flip(t, c.node("south-1").r.store.Path(name))
		for _, from := range []string{"north-1", "south-1"} {
			if got, err := read(from, "south-1"); err == nil {
				t.Errorf("wrong bytes, from %s: %d", from, len(got))
			}
		}
		if got, err := read("south-1", "north-1"); err != nil || !bytes.Equal(got, body) {
			t.Errorf("the other copy: %d bytes, %v", len(got), err)
		}
		c.until("the wrong copy is found", func(v catalog.View) bool { f, err := v.File(name); return err == nil && f.Copy("south").Disputed })
	})
}
