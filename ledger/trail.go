package ledger

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxEvent bounds one event of the trail.
const maxEvent = 1 << 20

// CheckTrail reads a trail file, one event as JSON a line, and compares it with its span and digest: the events follow
// one another, each carries the hash of the one before, and the last one's hash is the head.
func CheckTrail(want File, span Span, in io.Reader) error {
	sum := sha256.New()
	scan := bufio.NewScanner(io.TeeReader(in, sum))
	scan.Buffer(make([]byte, 64<<10), maxEvent)
	previous, next := span.Before, span.First
	for scan.Scan() {
		hash, err := checkEvent(scan.Bytes(), next, previous)
		if err != nil {
			return wrong(want.Name, "event %d: %v", next, err)
		}
		previous = hash
		next++
	}
	if err := scan.Err(); errors.Is(err, bufio.ErrTooLong) {
		return wrong(want.Name, "event %d is longer than %d bytes", next, maxEvent)
	} else if err != nil {
		return fmt.Errorf("read %s: %w", want.Name, err)
	}
	if next != span.Last+1 || previous != span.Head {
		return wrong(want.Name, "it ends with event %d (%s), the ledger says %d (%s): the trail is cut", next-1,
			previous,
			span.Last, span.Head)
	}
	if got := Digest(sum.Sum(nil)); got != want.SHA256 {
		return wrong(want.Name, "it has SHA-256 %s, the ledger says %s", got, want.SHA256)
	}
	return nil
}

// checkEvent checks one event against its number and the hash of the one before, and returns its hash: the SHA-256 of
// its line with nothing between the quotes of the hash, which stands last.
func checkEvent(line []byte, number uint64, previous Digest) (Digest, error) {
	var e struct {
		Seq      uint64 `json:"seq"`
		Previous string `json:"previous"`
		Hash     string `json:"hash"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return Digest{}, err
	}
	hash, err := ParseDigest(e.Hash)
	if err != nil {
		return hash, err
	}
	if e.Seq != number {
		return hash, fmt.Errorf("it has number %d", e.Seq)
	}
	if e.Previous != hashText(previous) {
		return hash, errors.New("it does not carry the hash of the event before it")
	}
	end := []byte(`"hash":"` + e.Hash + `"}`)
	if !bytes.HasSuffix(line, end) {
		return hash, errors.New("its hash is not its last field")
	}
	blank := append(bytes.Clone(line[:len(line)-len(end)]), `"hash":"`+hashText(Digest{})+`"}`...)
	if got := Digest(sha256.Sum256(blank)); got != hash {
		return hash, errors.New("it does not match its hash")
	}
	return hash, nil
}

// hashText is a hash as the catalog's events write it: none is an empty text.
func hashText(d Digest) string {
	if d == (Digest{}) {
		return ""
	}
	return d.String()
}
