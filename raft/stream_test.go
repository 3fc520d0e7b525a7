package raft

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"holdfast/internal/disk"
)

// filled returns a state with some keys, at index 2.
func filled(t testing.TB) *state {
	t.Helper()
	s, err := openState(t.TempDir(), disk.New(), 4, true, func(string) error { return nil }, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	write(t, s, 2, 0, "one", "two", "three")
	return s
}

func write(t testing.TB, s *state, index, previous uint64, keys ...string) {
	t.Helper()
	st := s.store()
	txn := st.db.NewTransactionAt(st.applied.Load(), false)
	defer txn.Discard()
	w := newOverlay(txn)
	for _, k := range keys {
		if err := w.Set([]byte(k), fmt.Appendf(nil, "%s at %d", k, index)); err != nil {
			t.Fatal(err)
		}
	}
	conf := configuration{Index: index, Servers: []server{{ID: "a", Voter: true}}}
	if err := st.commit(w, position{Index: index, Term: 1, Previous: previous}, &conf); err != nil {
		t.Fatal(err)
	}
}

func streamed(t testing.TB, s *state, index uint64) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := writeStream(&out, s.store(), streamHead{Index: index, Term: 1}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func anyHead(streamHead) error { return nil }

func TestStreamIsTheStateAtItsVersion(t *testing.T) {
	t.Parallel()
	from := filled(t)
	first := streamed(t, from, 3)
	from.store().pin()
	write(t, from, 9, 2, "two", "four")
	if !bytes.Equal(first, streamed(t, from, 3)) {
		t.Error("the same version streams differently after a later write")
	}
	from.store().unpin(2)
	to := filled(t)
	next, err := to.install(bytes.NewReader(first), anyHead)
	if err != nil {
		t.Fatal(err)
	}
	reading := make(chan struct{})
	finish := make(chan error)
	go func() {
		finish <- to.view(func(r reader) error {
			reading <- struct{}{}
			<-reading
			value, err := r.Get([]byte("one")) // the old state, in the middle of a swap
			if err == nil && string(value) != "one at 2" {
				err = fmt.Errorf("a view of the old state reads %q", value)
			}
			return err
		})
	}()
	<-reading
	to.adopt(next)
	reading <- struct{}{}
	if err := <-finish; err != nil {
		t.Error(err)
	}
	if got := to.store(); got.position.Index != 2 || got.marked() != 3 || !got.configuration.raftHas("a") {
		t.Errorf("installed at %+v with marker %d and %+v", got.position, got.marked(), got.configuration)
	}
	if !bytes.Equal(first, streamed(t, to, 3)) {
		t.Error("an installed state streams differently")
	}
}

func (c configuration) raftHas(id string) bool {
	for _, s := range c.raft().Servers {
		if string(s.ID) == id {
			return true
		}
	}
	return false
}

func TestDamagedStreamChangesNothing(t *testing.T) {
	t.Parallel()
	whole := streamed(t, filled(t), 2)
	to := filled(t)
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 0x41
		for name, content := range map[string][]byte{"changed": bad, "cut": whole[:i]} {
			if i%7 != 0 {
				continue // an install makes a folder: a sample will do
			}
			if _, err := to.install(bytes.NewReader(content), anyHead); !errors.Is(err, ErrDamaged) {
				t.Fatalf("byte %d %s: %v", i, name, err)
			}
		}
	}
	if n, err := to.pointer(); err != nil || n != 1 {
		t.Errorf("the pointer says %d, %v", n, err)
	}
	if _, err := to.install(bytes.NewReader(append(bytes.Clone(whole), 0)), anyHead); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte too many: %v", err)
	}
}

func FuzzStreamReader(f *testing.F) {
	f.Add(streamed(f, filled(f), 2))
	f.Add([]byte(streamMagic))
	f.Fuzz(func(t *testing.T, content []byte) {
		s, err := newStreamReader(bytes.NewReader(content))
		for err == nil {
			_, _, err = s.next()
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, ErrDamaged) {
			t.Errorf("%v", err)
		}
	})
}

func FuzzMessages(f *testing.F) {
	f.Add(encodeProposal([][]byte{[]byte(`{"v":1,"k":"x","body":{}}`)})[2:])
	f.Add(encodeIndex(7))
	f.Add(encodeUnable(errAgain))
	f.Add(encodeUnable(errors.New("no")))
	answers, err := encodeAnswers([]answer{{}, {err: errAgain}, {err: errors.New("no")}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(answers)
	f.Fuzz(func(t *testing.T, b []byte) {
		if commands, err := decodeProposal(b); err == nil && len(commands) > maxCommands {
			t.Errorf("%d commands", len(commands))
		}
		decodeIndex(b)
		if answers, err := decodeAnswers(b, 3); err == nil && len(answers) != 3 {
			t.Errorf("%d answers", len(answers))
		}
		decodePosition(b)
		decodeConfiguration(b)
	})
}

func TestAnswersRoundTrip(t *testing.T) {
	t.Parallel()
	text, err := encodeAnswers([]answer{{}, {err: errAgain}, {err: errors.New("broken")}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeAnswers(text, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got[0].err != nil || !errors.Is(got[1].err, errAgain) || got[2].err == nil || errors.Is(got[2].err, errAgain) {
		t.Errorf("%+v", got)
	}
	if _, err := decodeAnswers(text, 4); !errors.Is(err, errWire) {
		t.Errorf("an answer too few: %v", err)
	}
}
