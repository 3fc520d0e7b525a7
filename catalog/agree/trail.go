package agree

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrTrail reports that the audit trail does not hang together: an event was changed, removed or put in.
var ErrTrail = errors.New("audit trail is broken")

// Event is one entry of the hash-chained audit trail of decisions.
type Event struct {
	Seq      uint64 `json:"seq"`
	Index    uint64 `json:"index"` // of its command in the log
	At       Time   `json:"at"`
	Actor    string `json:"actor"` // a node's id, or a person or program by its token's name
	Act      string `json:"act"`
	Subject  string `json:"subject"`
	Detail   string `json:"detail,omitempty"`
	Previous Digest `json:"previous"`
	Hash     Digest `json:"hash"` // SHA-256 of this event's JSON with hash empty
}

// head is the trail's last event.
type head struct {
	Seq  uint64 `json:"seq"`
	Hash Digest `json:"hash"`
}

// Event adds a decision to the trail.
func (s *State) Event(act Kind, subject, format string, args ...any) error {
	h, _, err := Get[head](s, keyTrail)
	if err != nil {
		return err
	}
	e := Event{Seq: h.Seq + 1, Index: s.Index, At: s.At, Actor: s.Actor, Act: string(act), Subject: subject,
		Detail: fmt.Sprintf(format, args...), Previous: h.Hash}
	if e.Hash, err = hashEvent(e); err != nil {
		return err
	}
	if err := s.Set(keyEvent(e.Seq), e); err != nil {
		return err
	}
	return s.Set(keyTrail, head{Seq: e.Seq, Hash: e.Hash})
}

// TrailHead returns the hash of the trail's last event. All who decide or change anything have a part in it.
func (s *State) TrailHead() (Digest, error) {
	h, _, err := Get[head](s, keyTrail)
	return h.Hash, err
}

// TrailEnd returns the number and the hash of the trail's last event, as they are kept beside it.
func TrailEnd(r Reader) (seq uint64, hash Digest, err error) {
	h, _, err := Get[head](r, keyTrail)
	return h.Seq, h.Hash, err
}

func hashEvent(e Event) (Digest, error) {
	e.Hash = Digest{}
	text, err := json.Marshal(e)
	if err != nil {
		return Digest{}, err
	}
	return sha256.Sum256(text), nil
}

// VerifyEvents checks that the events follow each other and the event whose hash is previous, which is not
// checked when zero and the first event is not number 1. The error wraps ErrTrail.
func VerifyEvents(events []Event, previous Digest) error {
	for i, e := range events {
		if i > 0 && e.Seq != events[i-1].Seq+1 {
			return fmt.Errorf("event %d follows event %d: %w", e.Seq, events[i-1].Seq, ErrTrail)
		}
		if first := i == 0 && previous.IsZero() && e.Seq > 1; !first && e.Previous != previous {
			return fmt.Errorf("event %d does not carry the hash of the event before it: %w", e.Seq, ErrTrail)
		}
		hash, err := hashEvent(e)
		if err != nil {
			return err
		}
		if hash != e.Hash {
			return fmt.Errorf("event %d does not match its hash: %w", e.Seq, ErrTrail)
		}
		previous = e.Hash
	}
	return nil
}
