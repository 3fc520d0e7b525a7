package seal

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// sealedStream encrypts the text for the key, written in pieces.
func sealedStream(t *testing.T, text []byte, to Key, about, head string) (stream, box []byte) {
	t.Helper()
	s, box, err := NewStream(about, to.Public())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := s.Writer(&out, []byte(head))
	for rest := text; len(rest) > 0; rest = rest[min(len(rest), 50_001):] {
		if _, err := w.Write(rest[:min(len(rest), 50_001)]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), box
}

func openStream(stream, box []byte, with Key, about, head string) ([]byte, error) {
	s, err := with.OpenStream(box, about)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(s.Reader(bytes.NewReader(stream), []byte(head)))
}

// A stream of any length opens to what was written, with its own key, head and subject alone.
func TestStream(t *testing.T) {
	k, stranger := newKey(t), newKey(t)
	for _, size := range []int{0, 1, chunkSize - 1, chunkSize, chunkSize + 1, 3 * chunkSize} {
		text := bytes.Repeat([]byte{7}, size)
		stream, box := sealedStream(t, text, k, "backup", "head")
		if int64(len(stream)) != Encrypted(int64(size)) {
			t.Errorf("%d bytes become %d, said are %d", size, len(stream), Encrypted(int64(size)))
		}
		if got, err := openStream(stream, box, k, "backup", "head"); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes: %d, %v", size, len(got), err)
		}
		for what, try := range map[string]func() ([]byte, error){
			"stranger":      func() ([]byte, error) { return openStream(stream, box, stranger, "backup", "head") },
			"another head":  func() ([]byte, error) { return openStream(stream, box, k, "backup", "Head") },
			"another about": func() ([]byte, error) { return openStream(stream, box, k, "secret", "head") },
			"more":          func() ([]byte, error) { return openStream(append(bytes.Clone(stream), 0), box, k, "backup", "head") },
		} {
			if got, err := try(); !errors.Is(err, ErrSealed) {
				t.Errorf("%d bytes, %s: %d bytes, %v", size, what, len(got), err)
			}
		}
	}
}

// Chunks that were changed, cut off, left out, put in another order, or mixed with another stream's do not open.
func TestStreamShowsTampering(t *testing.T) {
	k := newKey(t)
	text := bytes.Repeat([]byte("0123456789abcdef"), 3*chunkSize/16)
	one, box := sealedStream(t, append(text, "the end"...), k, "backup", "head")
	other, _ := sealedStream(t, append(text, "the END"...), k, "backup", "head")
	const chunk = chunkSize + 16
	swapped := bytes.Join([][]byte{one[chunk : 2*chunk], one[:chunk], one[2*chunk:]}, nil)
	for what, stream := range map[string][]byte{
		"nothing": {}, "cut behind 1": one[:chunk], "cut behind 2": one[:2*chunk], "cut behind 3": one[:3*chunk],
		"cut in one": one[:chunk+99], "without the last byte": one[:len(one)-1], "without the first chunk": one[chunk:],
		"without the second": append(bytes.Clone(one[:chunk]), one[2*chunk:]...), "swapped": swapped,
		"one twice":          append(bytes.Clone(one[:chunk]), one...),
		"mixed with another": append(bytes.Clone(one[:chunk]), other[chunk:]...),
	} {
		if got, err := openStream(stream, box, k, "backup", "head"); !errors.Is(err, ErrSealed) {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
	}
	for at := 0; at < len(one); at += 4099 {
		changed := bytes.Clone(one)
		changed[at] ^= 0x10
		if _, err := openStream(changed, box, k, "backup", "head"); !errors.Is(err, ErrSealed) {
			t.Fatalf("a bit at %d: %v", at, err)
		}
	}
}
