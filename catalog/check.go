package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/files"
)

// Checked is what a check of a whole catalog looked at.
type Checked struct {
	files.Checked
	Keys   int64
	Events int64
	Digest Digest // of all keys and values: equal catalogs have equal digests
}

// Check reads a whole catalog and calls found for each key that is not as it should be: a value that cannot be read,
// marks, roots and totals that do not follow from the entries of files, an audit trail that does not hang together,
// members that do not fit their names, keys or replicas. Placements are only read: that of a lost node stands until its
// shards are given up. Of domains, jobs and what else there is, only the form is looked at. It calls pace for each key,
// whose error ends the check. An error is that of pace, or the Reader's.
func Check(v View, pace func() error, found func(key, what string)) (out Checked, err error) {
	if out.Keys, out.Digest, err = checkValues(v.ofFiles.Reader, pace, found); err != nil {
		return out, err
	}
	if out.Events, err = checkTrail(v.ofFiles.Reader, pace, found); err != nil {
		return out, err
	}
	if err = cluster.NewView(v.ofFiles.Reader).Check(found); err != nil {
		return out, err
	}
	out.Checked, err = v.ofFiles.Check(pace, found)
	return out, err
}

// DigestOf returns the digest of all keys and values, and the number of keys.
func DigestOf(v View, pace func() error) (digest Digest, keys int64, err error) {
	keys, digest, err = checkValues(v.ofFiles.Reader, pace, func(string, string) {})
	return digest, keys, err
}

// checkValues reads all keys and values.
func checkValues(r Reader, pace func() error, found func(key, what string)) (keys int64, digest Digest, err error) {
	sum := sha256.New()
	var failed error
	err = r.Scan(nil, nil, func(key, value []byte) bool {
		keys++
		write(sum, key)
		write(sum, value)
		if why := form(string(key), value); why != "" {
			found(string(key), why)
		}
		failed = pace()
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	return keys, Digest(sum.Sum(nil)), err
}

// write adds a text and its length to the digest.
func write(sum hash.Hash, text []byte) {
	var size [binary.MaxVarintLen64]byte
	sum.Write(size[:binary.PutUvarint(size[:], uint64(len(text)))])
	sum.Write(text)
}

// form says what is wrong with how a value is written, or nothing. What most values say is for their subjects to read.
func form(key string, value []byte) string {
	if len(value) == 0 || value[0] != agree.ValueVersion {
		return fmt.Sprintf("the value of %d bytes is not of version %d", len(value), agree.ValueVersion)
	}
	rest := value[1:]
	prefix, _, _ := strings.Cut(key, "/")
	switch prefix {
	case "layout", "jobpart", "templatetext", "scheduletext", "traptext", "domaintext":
		return "" // texts, and placements
	case "file":
		if len(rest) > 0 && rest[0] != '{' {
			return "" // compact; it is read with the entries
		}
	}
	if len(rest) > 0 && !json.Valid(rest) {
		return "the value is no JSON"
	}
	return ""
}

// checkTrail follows the chain of hashes of the audit trail.
func checkTrail(r Reader, pace func() error, found func(key, what string)) (events int64, err error) {
	var last Event
	var failed error
	err = r.Scan([]byte(PrefixTrail), nil, func(key, value []byte) bool {
		if failed = pace(); failed != nil {
			return false
		}
		var e Event
		if err := agree.DecodeValue(key, value, &e); err != nil {
			found(string(key), err.Error())
			return true
		}
		if e.Seq != last.Seq+1 { // the first is number 1: none are dropped yet
			found(string(key), fmt.Sprintf("event %d follows event %d", e.Seq, last.Seq))
		}
		if string(key) != PrefixTrail+agree.Hex(e.Seq) {
			found(string(key), fmt.Sprintf("the event is number %d", e.Seq))
		}
		if err := VerifyEvents([]Event{e}, last.Hash); err != nil {
			found(string(key), err.Error())
		}
		events, last = events+1, e
		return true
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return events, err
	}
	seq, hash, err := agree.TrailEnd(r)
	if err != nil {
		found("trailhead", err.Error())
	} else if seq != last.Seq || hash != last.Hash {
		found("trailhead", fmt.Sprintf("the last event is %d, and should be %d, or one with another "+
			"hash", last.Seq, seq))
	}
	return events, nil
}

// ErrNewer reports a catalog of a level that this program does not know.
var ErrNewer = errors.New("this program is too old for the catalog's level")

// Known returns the cluster of a catalog; ErrNewer if the program does not know its level.
func Known(v View) (Cluster, error) {
	c, err := v.Cluster()
	if err == nil && c.Level > Level {
		err = fmt.Errorf("%w: cluster %s is at level %d, this program knows levels up to %d", ErrNewer, c.Name, c.Level,
			Level)
	}
	return c, err
}
