package raft

import (
	"log/slog"
	"sync/atomic"

	hraft "github.com/hashicorp/raft"
)

// trail is how much of the Raft log stays behind a marker: as many entries as fill a number of MiB, or none while the
// log is being cut.
type trail struct {
	mib  int
	mean func() uint64 // the present mean size of an entry
	raft *consensus
	log  *slog.Logger

	told    atomic.Uint64 // how many entries Raft was told to keep
	cutting atomic.Bool   // nothing stays
}

// begin sets how much log stays before Raft is started.
func (t *trail) begin(conf *hraft.Config) {
	conf.TrailingLogs = t.entries()
	t.told.Store(conf.TrailingLogs)
}

// tell tells Raft how many entries make up the log that is to stay behind a marker.
func (t *trail) tell() {
	r := t.raft.now()
	if r == nil {
		return
	}
	entries := t.entries()
	if t.told.Swap(entries) == entries {
		return
	}
	conf := r.ReloadableConfig()
	conf.TrailingLogs = entries
	if err := r.ReloadConfig(conf); err != nil {
		t.log.Error("the length of the raft log could not be set", "entries", entries, "error", err)
	}
}

// cut has markers leave no log behind them until the function that it returns is called.
func (t *trail) cut() (done func()) {
	t.cutting.Store(true)
	return func() {
		t.cutting.Store(false)
		t.tell()
	}
}

// entries returns how many entries are to stay.
func (t *trail) entries() uint64 {
	if t.cutting.Load() {
		return 0
	}
	return max(1, uint64(t.mib)<<20/t.mean())
}
