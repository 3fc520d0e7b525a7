package scope

import (
	"encoding/binary"
	"errors"
	"fmt"

	"holdfast/harvest"
)

// ErrQuota reports bytes that are no state of a quota.
var ErrQuota = errors.New("not a state of a quota")

// Limits of a domain, by their names. In crawl.log they are written as Q:name, with status -5003.
const (
	ConfigObjects  = "config-object"
	ConfigBytes    = "config-size"
	HarvestObjects = "harvest-object"
	HarvestBytes   = "harvest-size"
)

// quotaNames are the limits in the order in which they are looked at, and numbered in the state.
func quotaNames() [quotaLimits]string {
	return [4]string{ConfigObjects, ConfigBytes, HarvestObjects, HarvestBytes}
}

// Quota counts the documents that count for one registered domain, and remembers the limit that stopped it first. It
// is a plain value, not safe for concurrent use.
type Quota struct {
	Objects int64
	Bytes   int64
	stopped byte // number of the limit, from 1
}

// Add counts a document of that many bytes.
func (q *Quota) Add(bytes int64) {
	q.Objects++
	q.Bytes += max(bytes, 0)
}

// Limits are the limits of a domain, in the order of their names.
type Limits [quotaLimits]harvest.Limit

// LimitsOf are those of settings, where 0 is no limit.
func LimitsOf(s *harvest.Settings) (l Limits) {
	for i, most := range [quotaLimits]int64{s.MaxDomainObjects, s.MaxDomainBytes, s.HarvestDomainObjects,
		s.HarvestDomainBytes} {
		if most > 0 {
			l[i] = harvest.AtMost(most)
		}
	}
	return l
}

// Stop returns the limit that the domain has reached, "" if there is none, and remembers it. A domain whose limit
// was raised since then continues.
func (q *Quota) Stop(limits Limits) string {
	used := [quotaLimits]int64{q.Objects, q.Bytes, q.Objects, q.Bytes}
	reached := func(i int) bool {
		most, given := limits[i].Given()
		return given && used[i] >= most
	}
	names := quotaNames()
	if q.stopped > 0 {
		if reached(int(q.stopped) - 1) {
			return names[q.stopped-1]
		}
		q.stopped = 0
	}
	for i := range limits {
		if reached(i) {
			q.stopped = byte(i + 1)
			return names[i]
		}
	}
	return ""
}

// Stopped is the limit that stopped the domain, "" where none did.
func (q *Quota) Stopped() string {
	if q.stopped == 0 {
		return ""
	}
	return quotaNames()[q.stopped-1]
}

// Verdict turns a URI of the domain away where it is at a limit.
func (q *Quota) Verdict(limits Limits) Verdict {
	if name := q.Stop(limits); name != "" {
		return Verdict{Status: codeQuota, Rule: name, Note: "Q:" + name}
	}
	return Verdict{}
}

const (
	quotaVersion = 1
	quotaLimits  = 4
)

// Append appends the state, for Parse to read: a byte 1, the number of the limit that stopped the domain (0: none),
// and objects and bytes as unsigned varints.
func (q *Quota) Append(b []byte) []byte {
	b = append(b, quotaVersion, q.stopped)
	b = binary.AppendUvarint(b, uint64(q.Objects))
	return binary.AppendUvarint(b, uint64(q.Bytes))
}

// ParseQuota reads a state. The error wraps ErrQuota.
func ParseQuota(b []byte) (Quota, error) {
	if len(b) < 2 || b[0] != quotaVersion || b[1] > quotaLimits {
		return Quota{}, fmt.Errorf("%w: % .20x", ErrQuota, b)
	}
	objects, n := binary.Uvarint(b[2:])
	if n <= 0 {
		return Quota{}, fmt.Errorf("%w: % .20x", ErrQuota, b)
	}
	bytes, m := binary.Uvarint(b[2+n:])
	if m <= 0 || 2+n+m != len(b) || int64(objects) < 0 || int64(bytes) < 0 {
		return Quota{}, fmt.Errorf("%w: % .20x", ErrQuota, b)
	}
	return Quota{Objects: int64(objects), Bytes: int64(bytes), stopped: b[1]}, nil
}
