package seal

import (
	"bytes"
	"errors"
	"testing"
)

func newKey(t *testing.T) Key {
	t.Helper()
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A secret is opened by those it was sealed to, and by those that one of them gave it to; nobody else.
func TestSealOpenAgain(t *testing.T) {
	a, b, c, stranger := newKey(t), newKey(t), newKey(t), newKey(t)
	secret := []byte("hunter2")
	sealed, err := Seal(secret, "job", [][]byte{a.Public(), b.Public()})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed.Text, secret) || len(sealed.Boxes) != 2 {
		t.Fatalf("sealed: %q, %d boxes", sealed.Text, len(sealed.Boxes))
	}
	again, err := b.Again(sealed.Boxes[1], "job", [][]byte{c.Public()})
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]struct {
		key   Key
		box   []byte
		about string
		opens bool
	}{
		"first": {a, sealed.Boxes[0], "job", true}, "second": {b, sealed.Boxes[1], "job", true}, "given on": {c, again[0], "job", true},
		"stranger": {stranger, sealed.Boxes[0], "job", false}, "another's box": {a, sealed.Boxes[1], "job", false},
		"about something else": {a, sealed.Boxes[0], "another job", false}, "cut": {a, sealed.Boxes[0][:40], "job", false}, "none": {a, nil, "job", false},
	} {
		got, err := try.key.Open(sealed.Text, try.box, try.about)
		if try.opens && (err != nil || !bytes.Equal(got, secret)) || !try.opens && !errors.Is(err, ErrSealed) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	sealed.Text[0] ^= 1
	if _, err := a.Open(sealed.Text, sealed.Boxes[0], "job"); !errors.Is(err, ErrSealed) {
		t.Errorf("a changed secret: %v", err)
	}
	if _, err := Seal(secret, "job", [][]byte{make([]byte, PublicSize)}); err == nil {
		t.Error("sealed to a key that everybody knows the other half of")
	}
}

// A key is the same after it was on disk; what is no key is refused.
func TestKeyOnDisk(t *testing.T) {
	k := newKey(t)
	text, err := k.PEM()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseKey(text)
	if err != nil || !bytes.Equal(again.Public(), k.Public()) {
		t.Errorf("%v", err)
	}
	for _, text := range []string{"", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := ParseKey([]byte(text)); err == nil {
			t.Errorf("%q is taken for a key", text)
		}
	}
}
