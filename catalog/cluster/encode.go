package cluster

import (
	"fmt"
	"strings"

	"holdfast/catalog/agree"
)

// ParseJSON reads the replica as the programs write it.
func (r *Replica) ParseJSON(text []byte) bool {
	c, out := agree.NewScanner(text), Replica{}
	c.Must(`{"name":`)
	out.Name = ReplicaName(c.Text())
	c.Must(`,"kind":`)
	out.Kind = scanKind(&c)
	c.Must(`,"place":`)
	out.Place = c.Text()
	if c.Skip(`,"collections":`) {
		c.Each(func() { out.Collections = append(out.Collections, CollectionName(c.Text())) })
	}
	c.Must(`,"created":`)
	out.Created = c.Time()
	c.Must(`}`)
	if c.Done() {
		*r = out
	}
	return c.Done()
}

// ParseJSON reads the member as the programs write it.
func (m *Member) ParseJSON(text []byte) bool {
	c, out := agree.NewScanner(text), Member{}
	c.Must(`{"id":`)
	out.ID = agree.NodeID(c.Text())
	c.Must(`,"name":`)
	out.Name = c.Text()
	c.Must(`,"key":`)
	out.Key = c.Base64()
	c.Must(`,"replica":`)
	out.Replica = ReplicaName(c.Text())
	if c.Skip(`,"addresses":`) {
		c.Each(func() { out.Addresses = append(out.Addresses, c.Text()) })
	}
	out.OutOnly = c.Skip(`,"outOnly":true`)
	if c.Skip(`,"weight":`) {
		out.Weight = c.Number()
	}
	out.Draining = c.Skip(`,"draining":true`)
	c.Must(`,"level":`)
	out.Level = c.Number()
	c.Must(`,"joined":`)
	out.Joined = c.Time()
	c.Must(`}`)
	if c.Done() {
		*m = out
	}
	return c.Done()
}

func scanKind(c *agree.Scanner) ReplicaKind {
	switch text := c.Quoted(); string(text) {
	case string(Bitarchive):
		return Bitarchive
	case string(Checksum):
		return Checksum
	default:
		return ReplicaKind(text)
	}
}

// encodePlacement writes the version, the holder, a slash and the next node: layouts are read whole and often.
func encodePlacement(p Placement) []byte {
	out := make([]byte, 0, 2+len(p.Holder)+len(p.Next))
	out = append(append(out, agree.ValueVersion), p.Holder...)
	return append(append(out, '/'), p.Next...)
}

func decodePlacement(value []byte) (Placement, error) {
	if len(value) == 0 || value[0] != agree.ValueVersion {
		return Placement{}, fmt.Errorf("placement of %d bytes is not of version %d", len(value), agree.ValueVersion)
	}
	holder, next, ok := strings.Cut(string(value[1:]), "/")
	if !ok {
		return Placement{}, fmt.Errorf("placement %q lacks its slash", value[1:])
	}
	return Placement{Holder: agree.NodeID(holder), Next: agree.NodeID(next)}, nil
}
