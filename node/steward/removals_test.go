package steward

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/files"
	"holdfast/internal/kv/memory"
)

// oneFile is an agreed state in which a removed file waits until a time. Nothing becomes of what is proposed.
type oneFile struct {
	state    *memory.Tx
	proposed []catalog.FileName
}

func (o *oneFile) View(see func(catalog.View) error) error { return see(catalog.NewView(o.state)) }

func (o *oneFile) Propose(_ context.Context, kind catalog.Kind, body any, _ string) (catalog.Result, error) {
	if kind == files.ExpireFiles {
		o.proposed = append(o.proposed, body.(files.Expiry).Files...)
	}
	return catalog.Result{}, nil
}

func (o *oneFile) IsLeader() bool { return true }

func (o *oneFile) Leading() <-chan bool { return nil }

// TestAClockThatJumpsReleasesNothing lets the leader's clock jump ahead and back, with and without other members that
// notice, and lets the time pass evenly in the end.
func TestAClockThatJumpsReleasesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ahead, unsure := time.Duration(0), false
		o := &oneFile{state: new(memory.Tx)}
		until := catalog.At(time.Now().Add(30 * 24 * time.Hour))
		key := []byte(files.PrefixDue + agree.Hex(uint64(until)) + "/f1")
		if err := o.state.Set(key, []byte{1}); err != nil {
			t.Fatal(err)
		}
		s := New(Config{Agreement: o, Now: func() time.Time { return time.Now().Add(ahead) },
			Unsure: func() bool { return unsure }, Log: slog.New(slog.DiscardHandler)})
		rounds := func(what string, long time.Duration, want ...catalog.FileName) {
			t.Helper()
			o.proposed = nil
			for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(leaderEvery) {
				if err := s.expireFiles(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if slices.Sort(o.proposed); !slices.Equal(slices.Compact(o.proposed), want) {
				t.Errorf("%s: %v is released, want %v", what, o.proposed, want)
			}
		}
		rounds("before it is due", time.Hour)
		ahead = 365 * 24 * time.Hour
		rounds("a jump", trustAfter-time.Minute)
		ahead = 0
		rounds("back", time.Hour)
		ahead, unsure = 365*24*time.Hour, true
		rounds("a jump that the others notice", 24*time.Hour)
		ahead, unsure = 0, false
		rounds("right again", time.Hour)
		time.Sleep(31 * 24 * time.Hour)
		rounds("due, after a night of sleep", trustAfter+time.Minute, "f1")
		s.steady = steadiness{}
		rounds("a new leader", trustAfter-time.Minute)
	})
}
