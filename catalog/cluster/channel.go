package cluster

import (
	"slices"
	"strings"

	"holdfast/catalog/agree"
)

// LevelOfChannels is the level from which on the member list says which channels a node serves, and only such a node
// gets the jobs of a channel.
const LevelOfChannels = 4

// The channels that come with the system: the defaults of their kinds.
const (
	Focused  = "FOCUSED"  // jobs of selective and event harvests, and those made by hand
	Snapshot = "SNAPSHOT" // jobs of snapshot harvests
)

// maxChannels bounds the channels that a member serves.
const maxChannels = 100

// CheckChannel refuses what cannot be a channel's name: 1 to 64 letters, digits and underscores.
func CheckChannel(name string) error {
	ok := name != "" && len(name) <= 64
	for i := range len(name) {
		c := name[i]
		ok = ok && (c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z')
	}
	if !ok {
		return agree.Refuse(agree.Invalid, "channel %q: want 1 to 64 letters, digits and underscores",
			agree.Clip(name, 64))
	}
	return nil
}

// checkChannels refuses a list of channels that a member cannot serve.
func checkChannels(names []string) error {
	if len(names) > maxChannels {
		return agree.Refuse(agree.Invalid, "%d channels: at most %d", len(names), maxChannels)
	}
	for i, name := range names {
		if err := CheckChannel(name); err != nil {
			return err
		}
		if slices.Contains(names[:i], name) {
			return agree.Refuse(agree.Invalid, "channel %s is named twice", name)
		}
	}
	return nil
}

// Served returns the channels whose jobs the member takes if it crawls: both defaults until it says something else.
func (m *Member) Served() []string {
	if len(m.Channels) == 0 {
		return []string{Focused, Snapshot}
	}
	return m.Channels
}

// Serves reports whether the member takes the jobs of the channel if it crawls. Every member takes jobs without one.
func (m *Member) Serves(channel string) bool {
	return channel == "" || slices.Contains(m.Served(), channel)
}

// changeChannels changes the channels that a member serves, which only the member itself may.
func changeChannels(s *agree.State, m *Member, channels *[]string) error {
	if channels == nil {
		return nil
	}
	if s.Node != m.ID {
		return agree.Refuse(agree.Denied, "only node %s itself says which channels it serves", m.Name)
	}
	m.Channels = *channels
	return nil
}

// channelsText is the channels as the trail has them.
func channelsText(m *Member) string { return " channels=" + strings.Join(m.Served(), ",") }

// What stands below is what bodies were before members had channels.

type memberUnchanneled struct {
	ID        agree.NodeID `json:"id"`
	Name      string       `json:"name"`
	Key       []byte       `json:"key"`
	Replica   ReplicaName  `json:"replica"`
	Addresses []string     `json:"addresses,omitempty"`
	OutOnly   bool         `json:"outOnly,omitempty"`
	Weight    int          `json:"weight,omitempty"`
	Draining  bool         `json:"draining,omitempty"`
	Level     int          `json:"level"`
	Joined    agree.Time   `json:"joined"`
	Crawls    bool         `json:"crawls,omitempty"`
	Seal      *SealKey     `json:"seal,omitempty"`
	Local     agree.Digest `json:"local,omitzero"`
}

type joiningUnchanneled struct {
	Token  string            `json:"token"`
	Secret []byte            `json:"secret"`
	Member memberUnchanneled `json:"member"`
}

type changeUnchanneled struct {
	ID        agree.NodeID  `json:"id"`
	Name      *string       `json:"name,omitempty"`
	Addresses *[]string     `json:"addresses,omitempty"`
	OutOnly   *bool         `json:"outOnly,omitempty"`
	Weight    *int          `json:"weight,omitempty"`
	Draining  *bool         `json:"draining,omitempty"`
	Level     *int          `json:"level,omitempty"`
	Crawls    *bool         `json:"crawls,omitempty"`
	Seal      *SealKey      `json:"seal,omitempty"`
	Local     *agree.Digest `json:"local,omitempty"`
}
