package raft

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// position is the log entry up to which the state is applied. It is written with every batch, in the batch's own
// transaction; Previous chains the batches, so that a lost one is noticed.
type position struct {
	Index    uint64
	Term     uint64
	Previous uint64 // Index of the batch before
}

const positionVersion, positionSize = 1, 25

func (p position) encode() []byte {
	b := make([]byte, 0, positionSize)
	b = append(b, positionVersion)
	b = binary.BigEndian.AppendUint64(b, p.Index)
	b = binary.BigEndian.AppendUint64(b, p.Term)
	return binary.BigEndian.AppendUint64(b, p.Previous)
}

func decodePosition(b []byte) (position, error) {
	if len(b) != positionSize || b[0] != positionVersion {
		return position{}, fmt.Errorf("%w: position of %d bytes", ErrDamaged, len(b))
	}
	return position{
		Index:    binary.BigEndian.Uint64(b[1:]),
		Term:     binary.BigEndian.Uint64(b[9:]),
		Previous: binary.BigEndian.Uint64(b[17:]),
	}, nil
}

// configuration is the committed Raft configuration and the index of the entry that set it.
type configuration struct {
	Version int      `json:"v"`
	Index   uint64   `json:"index"`
	Servers []server `json:"servers"`
}

type server struct {
	ID    catalog.NodeID `json:"id"`
	Voter bool           `json:"voter,omitempty"`
}

func (c configuration) encode() []byte {
	c.Version = 1
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // plain fields always marshal
	}
	return b
}

func decodeConfiguration(b []byte) (configuration, error) {
	var c configuration
	if err := json.Unmarshal(b, &c); err != nil || c.Version != 1 {
		return configuration{}, fmt.Errorf("%w: configuration %.80q", ErrDamaged, b)
	}
	return c, nil
}

// has reports whether the node is in the configuration.
func (c configuration) has(id catalog.NodeID) (member, voter bool) {
	for _, s := range c.Servers {
		if s.ID == id {
			return true, s.Voter
		}
	}
	return false, false
}

func (c configuration) raft() hraft.Configuration {
	var out hraft.Configuration
	for _, s := range c.Servers {
		suffrage := hraft.Nonvoter
		if s.Voter {
			suffrage = hraft.Voter
		}
		out.Servers = append(out.Servers, hraft.Server{
			Suffrage: suffrage, ID: hraft.ServerID(s.ID), Address: hraft.ServerAddress(s.ID),
		})
	}
	return out
}

func configurationOf(index uint64, in hraft.Configuration) configuration {
	out := configuration{Version: 1, Index: index}
	for _, s := range in.Servers {
		out.Servers = append(out.Servers, server{ID: catalog.NodeID(s.ID), Voter: s.Suffrage == hraft.Voter})
	}
	return out
}
