package replica

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
)

// Bytes that somebody compares with what the catalog said before are not wrong for who wants what it says now, in
// whichever order the two come. Bytes that were set aside are wrong for everybody until they are read and right.
func TestWrongIsWrongForWhatWasWanted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before, now := Held{Name: "x", SHA256: sha256.Sum256([]byte("before"))}, Held{Name: "x", SHA256: sha256.Sum256([]byte("bytes"))}
	any := Held{Name: "x"}
	for name, tt := range map[string]struct {
		steps             func(s *spoilt)
		before, now, some bool
	}{
		"nothing known":           {func(*spoilt) {}, false, false, false},
		"wrong before, right now": {func(s *spoilt) { s.set(before, f, true); s.set(now, f, false) }, true, false, true},
		"the other way around":    {func(s *spoilt) { s.set(now, f, false); s.set(before, f, true) }, true, false, true},
		"wrong, then right":       {func(s *spoilt) { s.set(now, f, true); s.set(now, f, true); s.set(now, f, false) }, false, false, false},
		"set aside":               {func(s *spoilt) { s.note("x", path) }, true, true, true},
		"set aside, then wrong":   {func(s *spoilt) { s.note("x", path); s.set(before, f, true) }, true, true, true},
		"set aside, then right":   {func(s *spoilt) { s.note("x", path); s.set(now, f, false) }, false, false, false},
		"cleared":                 {func(s *spoilt) { s.set(before, f, true); s.set(now, f, true); s.set(any, f, false) }, false, false, false},
	} {
		var s spoilt
		tt.steps(&s)
		if s.has(before, f) != tt.before || s.has(now, f) != tt.now || s.has(any, f) != tt.some {
			t.Errorf("%s: wrong for before %t, for now %t, for anybody %t", name, s.has(before, f), s.has(now, f), s.has(any, f))
		}
		if len(s.files["x"]) > 2 {
			t.Errorf("%s: %d notes", name, len(s.files["x"]))
		}
	}
}
