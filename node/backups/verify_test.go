package backups

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"holdfast/catalog"
	"holdfast/internal/kv/memory"
)

// What is in a backup has to be what its head says, and is looked through to the end however much is wrong with it.
func TestWhatIsInABackupIsChecked(t *testing.T) {
	t.Parallel()
	k := newKey(t)
	file := backupOf(t, text("state"), k)
	verified := func(index uint64, cluster string, bad int) (Head, Content, error) {
		return Verify(t.Context(), bytes.NewReader(file), k, func(plain io.Reader, see func(uint64, catalog.View) error) error {
			if got, err := io.ReadAll(plain); err != nil || string(got) != "state" {
				t.Errorf("given %q, %v", got, err)
			}
			state := memory.Tx{}
			if err := state.Set([]byte("cluster"), []byte("\x01"+cluster)); err != nil {
				return err
			}
			for i := range bad {
				if err := state.Set(fmt.Appendf(nil, "note/%03d", i), []byte("\x01{")); err != nil {
					return err
				}
			}
			return see(index, catalog.NewView(&state))
		})
	}
	const same = `{"id":"c1","name":"Test","epoch":2,"level":5}`
	head, is, err := verified(7, same, 0)
	if err != nil || is.Err() != nil || is.Index != 7 || is.Cluster.Name != "Test" || is.Keys != 1 || head.Member != "north-1" {
		t.Errorf("a sound one: %+v, %+v, %v, %v", head, is, err, is.Err())
	}
	for what, is := range map[string]struct {
		index   uint64
		cluster string
	}{
		"another index":   {8, same},
		"another cluster": {7, `{"id":"c2","name":"Test","epoch":2,"level":5}`},
		"another epoch":   {7, `{"id":"c1","name":"Test","epoch":3,"level":5}`},
		"another level":   {7, `{"id":"c1","name":"Test","epoch":2,"level":4}`},
	} {
		if _, _, err := verified(is.index, is.cluster, 0); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, _, err := verified(7, `{"id":"c1","name":"Test","epoch":2,"level":99}`, 0); !errors.Is(err, catalog.ErrNewer) {
		t.Errorf("of a newer program: %v", err)
	}
	const bad = mostProblems + 5
	if _, is, err = verified(7, same, bad); err != nil || is.Found != bad || len(is.Problems) != mostProblems || !errors.Is(is.Err(), ErrUnsound) {
		t.Errorf("%d found, %d kept, %v, %v", is.Found, len(is.Problems), err, is.Err())
	}
}
