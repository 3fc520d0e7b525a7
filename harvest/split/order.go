package split

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"strings"

	"holdfast/harvest"
)

// ErrKey reports bytes that are no key of a configuration.
var ErrKey = errors.New("not the key of a configuration")

// Configuration is a configuration of a domain as it is put into a job.
type Configuration struct {
	Domain   string
	Name     string
	Template string        // with its version
	Overlay  string        // stands for the settings laid over it, but for the domain's limits, traps and logins
	Bytes    harvest.Limit // the smaller of the configuration's and the harvest's
	Expected int64         // objects; see Settings.Expected
}

// Compare puts configurations in the order in which they are made into jobs: by template, settings laid over it and
// byte limit, the largest expectation first; of equals by the configuration's name, so that those of one domain are
// apart.
func Compare(a, b Configuration) int {
	return cmp.Or(strings.Compare(a.Template, b.Template), strings.Compare(a.Overlay, b.Overlay),
		cmp.Compare(bytesRank(a.Bytes), bytesRank(b.Bytes)), cmp.Compare(b.Expected, a.Expected),
		strings.Compare(a.Name, b.Name), strings.Compare(a.Domain, b.Domain))
}

// bytesRank orders byte limits, the largest first.
func bytesRank(l harvest.Limit) uint64 {
	most, given := l.Given()
	if !given {
		return 0
	}
	return math.MaxUint64 - uint64(most)
}

// AppendKey appends the key of a configuration, which holds all of it. Keys sort as Compare does.
func (c Configuration) AppendKey(b []byte) []byte {
	b = appendText(appendText(b, c.Template), c.Overlay)
	b = binary.BigEndian.AppendUint64(b, bytesRank(c.Bytes))
	b = binary.BigEndian.AppendUint64(b, uint64(math.MaxInt64-c.Expected))
	return appendText(appendText(b, c.Name), c.Domain)
}

// appendText appends text so that it ends before all that is longer: with 0 1, a 0 within it being 0 2.
func appendText(b []byte, text string) []byte {
	for {
		before, after, found := strings.Cut(text, "\x00")
		b = append(b, before...)
		if !found {
			return append(b, 0, 1)
		}
		b, text = append(b, 0, 2), after
	}
}

// ParseKey reads what AppendKey wrote. The error is ErrKey.
func ParseKey(key []byte) (c Configuration, err error) {
	r := keyReader{rest: key}
	c.Template, c.Overlay = r.text(), r.text()
	if rank := r.number(); rank > 0 {
		c.Bytes = harvest.AtMost(int64(min(math.MaxUint64-rank, math.MaxInt64)))
	}
	c.Expected = math.MaxInt64 - int64(min(r.number(), math.MaxInt64))
	c.Name, c.Domain = r.text(), r.text()
	if r.wrong || len(r.rest) > 0 || !bytes.Equal(c.AppendKey(nil), key) {
		return Configuration{}, ErrKey
	}
	return c, nil
}

type keyReader struct {
	rest  []byte
	wrong bool
}

func (r *keyReader) text() string {
	var out []byte
	for {
		at := bytes.IndexByte(r.rest, 0)
		if at < 0 || at+1 >= len(r.rest) {
			r.wrong = true
			return ""
		}
		out = append(out, r.rest[:at]...)
		kind := r.rest[at+1]
		r.rest = r.rest[at+2:]
		if kind == 1 {
			return string(out)
		}
		out = append(out, 0)
	}
}

func (r *keyReader) number() uint64 {
	if len(r.rest) < 8 {
		r.wrong, r.rest = true, nil
		return 0
	}
	n := binary.BigEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return n
}
