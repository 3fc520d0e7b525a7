package memory

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Transaction is what the catalog needs of its store.
type Transaction interface {
	Get(key []byte) ([]byte, error)
	Scan(prefix, from []byte, visit func(key, value []byte) bool) error
	Set(key, value []byte) error
	Delete(key []byte) error
}

// Contract tests what the catalog relies on, with empty transactions that open returns: reads and scans see the
// transaction's own writes in the order of a sorted map, an empty value is a value, and the database's own keys are
// out of reach.
func Contract(t *testing.T, open func() Transaction) {
	t.Run("a sorted map", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			tx, model := open(), map[string]string{}
			for range rapid.IntRange(0, 20).Draw(t, "steps") {
				step(t, tx, model)
			}
		})
	})
	t.Run("empty values", func(t *testing.T) {
		tx := open()
		for _, empty := range [][]byte{nil, {}} {
			must(t, tx.Set([]byte("key"), empty))
			if value, err := tx.Get([]byte("key")); value == nil || len(value) > 0 || err != nil {
				t.Errorf("an empty value reads %v, %v", value, err)
			}
			scanned := 0
			must(t, tx.Scan([]byte("k"), nil, func(_, value []byte) bool {
				if scanned++; value == nil || len(value) > 0 {
					t.Errorf("an empty value is scanned as %v", value)
				}
				return true
			}))
			if scanned != 1 {
				t.Errorf("a key of an empty value was scanned %d times", scanned)
			}
		}
		must(t, tx.Delete([]byte("key")))
		must(t, tx.Delete([]byte("key")))
		if value, err := tx.Get([]byte("key")); value != nil || err != nil {
			t.Errorf("a deleted key reads %v, %v", value, err)
		}
	})
	t.Run("reserved keys", func(t *testing.T) {
		tx := open()
		for _, key := range [][]byte{nil, {}, {0}, []byte("\x00own")} {
			if tx.Set(key, []byte("x")) == nil || tx.Delete(key) == nil {
				t.Errorf("key %q can be written", key)
			}
			if value, err := tx.Get(key); value != nil || err != nil {
				t.Errorf("key %q reads %q, %v", key, value, err)
			}
		}
		must(t, tx.Scan(nil, nil, func(key, _ []byte) bool {
			t.Errorf("a scan shows %q", key)
			return true
		}))
	})
	t.Run("changes during a scan", func(t *testing.T) {
		tx := open()
		for _, key := range []string{"a1", "a3", "a5", "b1"} {
			must(t, tx.Set([]byte(key), []byte(key)))
		}
		var seen []string
		must(t, tx.Scan([]byte("a"), nil, func(key, value []byte) bool {
			seen = append(seen, string(key)+"="+string(value))
			if string(key) == "a3" {
				must(t, tx.Set([]byte("a0"), []byte("behind")))
				must(t, tx.Delete([]byte("a1")))
				must(t, tx.Delete([]byte("a3")))
				must(t, tx.Set([]byte("a4"), []byte("ahead")))
				must(t, tx.Delete([]byte("a5")))
			}
			return true
		}))
		if want := "a1=a1 a3=a3 a4=ahead"; strings.Join(seen, " ") != want {
			t.Errorf("seen %v, want %s", seen, want)
		}
	})
}

// step changes the transaction and the model alike, and compares a read and a scan of them.
func step(t *rapid.T, tx Transaction, model map[string]string) {
	keys := rapid.SampledFrom([]string{"a", "o", "on", "one", "one/x", "t", "three", "two", "two\xff", "z", "\xff"})
	key := keys.Draw(t, "key")
	if rapid.Bool().Draw(t, "delete") {
		delete(model, key)
		must(t, tx.Delete([]byte(key)))
	} else {
		model[key] = rapid.String().Draw(t, "value")
		must(t, tx.Set([]byte(key), []byte(model[key])))
	}
	key = keys.Draw(t, "read")
	value, err := tx.Get([]byte(key))
	if want, there := model[key]; err != nil || there != (value != nil) || string(value) != want {
		t.Fatalf("%q is %q, %v; want %q %t", key, value, err, want, there)
	}
	prefix := rapid.SampledFrom([]string{"", "o", "one", "t", "q", "\xff"}).Draw(t, "prefix")
	from := rapid.SampledFrom([]string{"", "a", "on", "one/", "tx", "\xff\xff"}).Draw(t, "from")
	most := rapid.IntRange(1, 5).Draw(t, "most")
	var want, got []string
	for _, key := range slices.Sorted(maps.Keys(model)) {
		if strings.HasPrefix(key, prefix) && key >= from && len(want) < most {
			want = append(want, key+"="+model[key])
		}
	}
	must(t, tx.Scan([]byte(prefix), []byte(from), func(key, value []byte) bool {
		got = append(got, fmt.Sprintf("%s=%s", bytes.Clone(key), value))
		return len(got) < most
	}))
	if !slices.Equal(got, want) {
		t.Fatalf("scan of %q from %q: %q; want %q", prefix, from, got, want)
	}
}

func must(t interface{ Fatal(...any) }, err error) {
	if err != nil {
		t.Fatal(err)
	}
}
