package memory

import "testing"

func TestTx(t *testing.T) { Contract(t, func() Transaction { return new(Tx) }) }

func TestClone(t *testing.T) {
	var a Tx
	must(t, a.Set([]byte("k"), []byte("1")))
	b := a.Clone()
	must(t, a.Set([]byte("k"), []byte("2")))
	must(t, a.Set([]byte("l"), []byte("3")))
	for key, value := range b.All() {
		if key != "k" || string(value) != "1" {
			t.Errorf("%s is %s in the copy", key, value)
		}
	}
}

// What a visit keeps without a copy does not stay: as with a database, its slices are valid during the call alone.
func TestScannedSlicesDoNotLast(t *testing.T) {
	var m Tx
	must(t, m.Set([]byte("k1"), []byte("one")))
	must(t, m.Set([]byte("k2"), []byte("two")))
	var kept []byte
	must(t, m.Scan(nil, nil, func(_, value []byte) bool {
		if kept == nil {
			kept = value
		}
		return true
	}))
	if string(kept) == "one" {
		t.Error("a value that was kept stays")
	}
}

// What was made of a prefix's keys is made again when one of them is written or deleted.
func TestRemember(t *testing.T) {
	t.Parallel()
	var m Tx
	made := 0
	for i, change := range []func() error{
		func() error { return nil },
		func() error { return m.Set([]byte("b"), nil) },
		func() error { return m.Set([]byte("a1"), nil) },
		func() error { return m.Delete([]byte("a1")) },
	} {
		must(t, change())
		for range 2 {
			if _, err := m.Remember("a", func() (any, error) { made++; return made, nil }); err != nil {
				t.Fatal(err)
			}
		}
		if want := max(1, i); made != want {
			t.Errorf("made %d times after change %d, want %d", made, i, want)
		}
	}
}
