package raft

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"holdfast/catalog/agree"
)

// listing returns the keys with a prefix and their values, as a reader sees them and as it remembers them.
func listing(r reader, prefix string) (there, remembered string, err error) {
	list := func() (string, error) {
		var text strings.Builder
		err := r.Scan([]byte(prefix), nil, func(key, value []byte) bool {
			_, _ = fmt.Fprintf(&text, "%s=%s;", key, value)
			return true
		})
		return text.String(), err
	}
	if remembered, err = agree.Remember(r, prefix, list); err == nil {
		there, err = list()
	}
	return there, remembered, err
}

// Readers of old and new versions, beside a writer, remember what is there in their version.
func TestWhatIsRememberedIsThere(t *testing.T) {
	t.Parallel()
	s := filled(t)
	st := s.store()
	var readers sync.WaitGroup
	done := make(chan struct{})
	for n := range 4 {
		readers.Go(func() {
			some := rand.New(rand.NewPCG(uint64(n), 1))
			for turn := 0; ; turn++ {
				select {
				case <-done:
					return
				default:
				}
				version := st.pin()
				for range 1 + some.IntN(4) { // later ones of an old version
					err := st.viewAt(version, func(r reader) error {
						prefix := fmt.Sprintf("p%d/", some.IntN(3))
						there, kept, err := listing(r, prefix)
						if there != kept {
							t.Errorf("version %d of %s is remembered as %q, and is %q", version, prefix, kept, there)
						}
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
				st.unpin(version)
			}
		})
	}
	some := rand.New(rand.NewPCG(7, 2))
	for index := uint64(3); index < 600; index++ {
		write(t, s, index, index-1, fmt.Sprintf("p%d/%d", some.IntN(5), some.IntN(4)))
	}
	close(done)
	readers.Wait()
}

// A value is made once for as long as no key of its prefix is written; more prefixes than are kept are read each time.
func TestWhatIsRememberedIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := filled(t)
	made := 0
	ask := func(prefix string) {
		err := s.view(func(r reader) error {
			_, err := agree.Remember(r, prefix, func() (int, error) { made++; return made, nil })
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	ask("one")
	write(t, s, 3, 2, "two")
	ask("one")
	if made != 1 {
		t.Errorf("made %d times though only another key was written", made)
	}
	write(t, s, 4, 3, "one/more")
	ask("one")
	ask("one")
	if made != 2 {
		t.Errorf("made %d times, once before its key was written and once after", made)
	}
	for n := range 2 * rememberedPrefixes {
		ask(fmt.Sprintf("prefix %d", n))
	}
	if kept := len(s.store().memory.made); kept > rememberedPrefixes {
		t.Errorf("%d prefixes are kept, at most %d are to be", kept, rememberedPrefixes)
	}
}
