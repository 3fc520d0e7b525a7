package agree

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"time"
)

// LevelOfGuards is the level from which on a command may be guarded.
const LevelOfGuards = 5

// Guarded is the kind of a command that carries another one, which is carried out only if a condition holds: that what
// it changes is as whoever asks has seen it, or that the request was not carried out before. Its body is a Guard.
const Guarded Kind = "guarded"

const (
	// maxGuarded bounds the keys of one condition, maxGuardedKey the bytes of one of them.
	maxGuarded    = 8
	maxGuardedKey = 2 << 10
	// onceFor is how long it is remembered that a request was carried out.
	onceFor = 24 * time.Hour
	// maxKept bounds the value that is remembered of a request.
	maxKept = 4 << 10
	// forgetOnce bounds how many remembered requests one command drops: more than it adds.
	forgetOnce = 4
)

// Guard is the body of a guarded command.
type Guard struct {
	// Keys are the keys whose values Version tells, as VersionOf does. The command is refused with Stale if they are
	// not what they were then. No keys: no such condition.
	Keys    []string `json:"keys,omitempty"`
	Version string   `json:"version,omitempty"`
	// Once names the request, in 32 hexadecimal digits: if it was carried out within the last day, it is not carried
	// out again, and gets the answer that it got. Digest, of 32 digits too, tells the request from another one that is
	// given the same name by mistake, which is refused. Empty: no such condition.
	Once   string `json:"once,omitempty"`
	Digest string `json:"digest,omitempty"`
	// The command that is guarded.
	Kind Kind            `json:"k"`
	Body json.RawMessage `json:"body"`
}

// VersionOf returns what tells the values of the keys from any others that they had or will have, in 32 hexadecimal
// digits: the beginning of a SHA-256. A key that is not there counts, too.
func VersionOf(r Reader, keys ...string) (string, error) {
	sum := sha256.New()
	var size [8]byte
	add := func(b []byte) {
		binary.BigEndian.PutUint64(size[:], uint64(len(b)))
		sum.Write(size[:])
		sum.Write(b)
	}
	for _, key := range keys {
		value, err := r.Get([]byte(key))
		if err != nil {
			return "", err
		}
		add([]byte(key))
		add(value) // a value begins with its version: one that is there is never empty
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// Unguarded returns the command that a guarded one carries, with whose name and node is on it, or c itself if it is
// not guarded. A body that cannot be read gives c: it is refused when it is applied.
func Unguarded(c *Command) *Command {
	if c.Kind != Guarded {
		return c
	}
	var g Guard
	if DecodeStrict(c.Body, &g) != nil {
		return c
	}
	inner := *c
	inner.Kind, inner.Body = g.Kind, g.Body
	return &inner
}

// done is the record of a request that was carried out.
type done struct {
	Digest string          `json:"digest"`
	Value  json.RawMessage `json:"value,omitempty"`
	Number uint64          `json:"number,omitempty"` // of a value that changes later, see Recalled
	Large  bool            `json:"large,omitempty"`  // the value was too large to be kept
}

// again is the value of a request that was carried out before: the JSON that it got, if any.
type again json.RawMessage

// guarded carries out a command under its conditions.
func (t *Table) guarded(s *State, g *Guard) (any, error) {
	rule := t.rules[g.Kind]
	if rule == nil || rule.Level > s.Cluster.Level {
		return nil, Refuse(Unsupported, "command %q is not known at level %d", Clip(string(g.Kind), 40),
			s.Cluster.Level)
	}
	if rule.Founds || rule.Joins || g.Kind == Guarded {
		return nil, Refuse(Invalid, "command %q cannot be guarded", Clip(string(g.Kind), 40))
	}
	if len(g.Keys) == 0 && g.Once == "" {
		return nil, Refuse(Invalid, "a guarded command needs a condition")
	}
	if old, err := t.carriedOut(s, g); old != nil || err != nil {
		return old, err
	}
	if err := s.unchanged(g); err != nil {
		return nil, err
	}
	if g.Once != "" {
		s.reserved = 2 + 2*forgetOnce
	}
	value, err := rule.Do.run(s, g.Body)
	if err != nil || g.Once == "" {
		return value, err
	}
	return value, s.keep(g, value)
}

// unchanged refuses a command if what it changes is not as it was seen.
func (s *State) unchanged(g *Guard) error {
	if len(g.Keys) == 0 {
		return nil
	}
	if len(g.Keys) > maxGuarded {
		return Refuse(Invalid, "a condition on %d keys: at most %d", len(g.Keys), maxGuarded)
	}
	for _, key := range g.Keys {
		if key == "" || len(key) > maxGuardedKey {
			return Refuse(Invalid, "a condition on a key of %d bytes: want 1 to %d", len(key), maxGuardedKey)
		}
	}
	now, err := VersionOf(s, g.Keys...)
	if err != nil {
		return err
	}
	if now != g.Version {
		return Refuse(Stale, "it was changed meanwhile: look at it again")
	}
	return nil
}

// carriedOut returns an again if the request was carried out before.
func (t *Table) carriedOut(s *State, g *Guard) (any, error) {
	if g.Once == "" {
		return nil, nil
	}
	if !hexDigits(g.Once, 32) || !hexDigits(g.Digest, 32) {
		return nil, Refuse(Invalid, "the name and the digest of a request have 32 hexadecimal digits each")
	}
	d, known, err := Get[done](s, keyOnce(g.Once))
	if err != nil || !known {
		return nil, err
	}
	switch {
	case d.Digest != g.Digest:
		return nil, Refuse(Conflict, "another request has this key already")
	case d.Large:
		return nil, Refuse(Conflict, "the request was carried out already; its answer was too long to be kept")
	case d.Number == 0:
		return again(d.Value), nil
	}
	now, err := t.recall(s, d.Number)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(now)
	return again(text), err
}

// keep stages that the request was carried out, with its value, and drops some of what was kept for long enough.
func (s *State) keep(g *Guard, value any) error {
	d := done{Digest: g.Digest}
	if later, ok := value.(Recalled); ok {
		d.Number = later.RecallNumber()
	}
	if value != nil && d.Number == 0 {
		text, err := AppendJSON(nil, value)
		if err != nil {
			return err
		}
		d.Value, d.Large = text, len(text) > maxKept
		if d.Large {
			d.Value = nil
		}
	}
	old, err := Tails(s, prefixOnceAt, "", forgetOnce)
	if err != nil {
		return err
	}
	for _, tail := range old {
		if len(tail) != 16+1+32 || tail[:16] >= Hex(uint64(max(0, s.At-Time(onceFor.Milliseconds())))) {
			break
		}
		s.Delete(prefixOnceAt + tail)
		s.Delete(keyOnce(tail[17:]))
	}
	s.Mark(keyOnceAt(s.At, g.Once))
	return s.Set(keyOnce(g.Once), d)
}

func hexDigits(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
