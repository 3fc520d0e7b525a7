package membership

import (
	"slices"
	"testing"

	"holdfast/catalog"
	"holdfast/node/config"
)

// configured returns the configuration of a node alone.
func configured(t *testing.T) config.Config {
	t.Helper()
	cfg, err := config.Single(t.TempDir(), config.Listen{Peer: "127.0.0.1:7480", API: "127.0.0.1:0", Access: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestTheMemberListFollowsTheConfiguration(t *testing.T) {
	cfg := Folder{Config: configured(t)}
	same := catalog.Member{ID: "south", Name: cfg.Name, Addresses: []string{cfg.Listen.Peer}, Weight: 50, Level: catalog.Level}
	if change, due := cfg.differs("south", same); due {
		t.Errorf("nothing differs, yet %+v", change)
	}
	moved := same
	moved.Addresses, moved.Level = []string{"old.example.org:7480"}, 0
	change, due := cfg.differs("south", moved)
	if !due || change.Level == nil || change.Weight != nil || change.Addresses == nil || (*change.Addresses)[0] != cfg.Listen.Peer {
		t.Errorf("change %+v, due %v", change, due)
	}
}

// A node's channels are told once the cluster has the level; both defaults need not be told.
func TestTheMemberListFollowsTheChannels(t *testing.T) {
	cfg := Folder{Config: configured(t)}
	for _, tt := range []struct {
		name           string
		wanted, listed []string
		due            bool
	}{
		{"defaults, nothing listed", []string{"FOCUSED", "SNAPSHOT"}, nil, false},
		{"another, nothing listed", []string{"EVENTS"}, nil, true},
		{"another, listed", []string{"EVENTS"}, []string{"EVENTS"}, false},
		{"defaults again", []string{"FOCUSED", "SNAPSHOT"}, []string{"EVENTS"}, true},
	} {
		cfg.Channels = tt.wanted
		change, due := cfg.serves(catalog.Member{ID: "south", Channels: tt.listed})
		if due != tt.due || due && !slices.Equal(*change.Channels, tt.wanted) {
			t.Errorf("%s: %+v, due %t", tt.name, change, due)
		}
	}
}
