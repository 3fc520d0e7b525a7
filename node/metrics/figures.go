package metrics

import (
	"maps"
	"slices"
	"time"
)

// Node is what the node is.
type Node struct {
	Name, Replica, Kind, Place string
	Version, Go                string
	Started                    time.Time
	Ready                      bool
}

func (n Node) samples() []sample {
	return []sample{
		one("holdfast_build_info", 1, n.Version, n.Go),
		one("holdfast_node_info", 1, n.Name, n.Replica, n.Kind, n.Place),
		one("holdfast_node_start_time_seconds", seconds(n.Started)),
		fact("holdfast_node_ready", n.Ready),
	}
}

// seconds is a time as Prometheus has it.
func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// Consensus is how the node takes part in Raft.
type Consensus struct {
	Role         string
	Roles        []string // all that there are
	Quorum       bool
	Contact      time.Duration // since a leader was heard
	Term         uint64        // 0: Raft does not run here yet
	Applied      uint64
	Commit       uint64
	Voters       int
	LogBytes     int64 // 0: not known
	ClusterLevel int   // 0: not known
}

func (c Consensus) samples() []sample {
	out := counts("holdfast_raft_role", c.Roles, map[string]int{c.Role: 1})
	out = append(out, fact("holdfast_raft_quorum", c.Quorum), one("holdfast_raft_applied_index", c.Applied),
		one("holdfast_raft_leader_contact_seconds", c.Contact.Seconds()))
	if c.Term > 0 {
		behind := uint64(0)
		if c.Commit > c.Applied {
			behind = c.Commit - c.Applied
		}
		out = append(out, one("holdfast_raft_term", c.Term), one("holdfast_raft_commit_index", c.Commit),
			one("holdfast_raft_unapplied_entries", behind), one("holdfast_raft_voters", c.Voters))
	}
	if c.LogBytes > 0 {
		out = append(out, one("holdfast_raft_log_bytes", c.LogBytes))
	}
	if c.ClusterLevel > 0 {
		out = append(out, one("holdfast_cluster_level", c.ClusterLevel))
	}
	return out
}

// counts has a series for each of the values of a metric's only label: 0 for what is not counted.
func counts[N ~int | ~int64](metric string, values []string, counted map[string]N) (out []sample) {
	for _, v := range values {
		out = append(out, one(metric, counted[v], v))
	}
	return out
}

// Members is how this node sees the others.
type Members struct {
	States                  []string // all that there are
	ByState                 map[string]int
	Skew                    time.Duration
	Others                  int // members that are not this node
	Compared                int // of which the clock is known
	Connected               int
	Dials, DialFailures     uint64
	Refusals                map[string]uint64 // by reason, each reason that there is
	Sent, Received, Dropped uint64            // packets
}

func (m Members) samples() []sample {
	const packets = "holdfast_peer_packets_total"
	out := append(counts("holdfast_cluster_members", m.States, m.ByState),
		one("holdfast_clock_compared_members", m.Compared), one("holdfast_peer_connections", m.Connected),
		one("holdfast_peer_dials_total", m.Dials), one("holdfast_peer_dial_failures_total", m.DialFailures),
		one(packets, m.Sent, "sent"), one(packets, m.Received, "received"), one(packets, m.Dropped, "dropped"))
	if m.Compared > 0 || m.Others == 0 {
		out = append(out, one("holdfast_clock_skew_seconds", m.Skew.Seconds()))
	}
	for _, reason := range slices.Sorted(maps.Keys(m.Refusals)) {
		out = append(out, one("holdfast_peer_refusals_total", m.Refusals[reason], reason))
	}
	return out
}

// Alert is a kind of alert, and its severity.
type Alert struct{ Kind, Severity string }

// Alerts is how many alerts of each kind there are.
type Alerts map[Alert]int

func (a Alerts) samples() (out []sample) {
	for of, n := range a {
		out = append(out, one("holdfast_alerts", n, of.Kind, of.Severity))
	}
	return out
}

// Replica counts what a replica holds.
type Replica struct {
	Name                                   string
	Files, Bytes, Verified, Owed, Disputed int64
}

// Copies are the replicas.
type Copies []Replica

func (c Copies) samples() (out []sample) {
	for _, r := range c {
		out = append(out,
			one("holdfast_replica_files", r.Files, r.Name), one("holdfast_replica_bytes", r.Bytes, r.Name),
			one("holdfast_replica_copies", r.Verified, r.Name, "verified"),
			one("holdfast_replica_copies", r.Owed, r.Name, "owed"),
			one("holdfast_replica_disputed_copies", r.Disputed, r.Name))
	}
	return out
}

// Jobs counts jobs by state.
type Jobs struct {
	States  []string // all that there are
	ByState map[string]int
}

func (j Jobs) samples() []sample { return counts("holdfast_jobs", j.States, j.ByState) }

// Audits are the node's audits.
type Audits struct {
	Running int
	Last    Audit // that ended, and was not stopped
}

// Audit is an audit that has ended; none if it has no end.
type Audit struct {
	Ended                                time.Time
	Complete                             bool
	Files                                int64
	Missing, Corrupt, Relisted, Unknowns int
}

func (a Audits) samples() []sample {
	const findings = "holdfast_audit_last_findings"
	out := []sample{one("holdfast_audits_running", a.Running)}
	if a.Last.Ended.IsZero() {
		return out
	}
	return append(out, one("holdfast_audit_last_end_timestamp_seconds", seconds(a.Last.Ended)),
		fact("holdfast_audit_last_complete", a.Last.Complete), one("holdfast_audit_last_files", a.Last.Files),
		one(findings, a.Last.Missing, "missing"), one(findings, a.Last.Corrupt, "corrupt"),
		one(findings, a.Last.Relisted, "relisted"), one(findings, a.Last.Unknowns, "unknown"))
}

// Disk is the room on a disk of files.
type Disk struct {
	Root                string // empty: the folder was taken out
	Size, Free, Reserve int64
}

func (d Disk) samples() []sample {
	if d.Root == "" {
		return nil
	}
	return []sample{one("holdfast_disk_size_bytes", d.Size, d.Root), one("holdfast_disk_free_bytes", d.Free, d.Root),
		one("holdfast_disk_reserve_bytes", d.Reserve, d.Root)}
}

// Outbox is what waits to enter the archive.
type Outbox struct{ Files int }

func (o Outbox) samples() []sample { return []sample{one("holdfast_outbox_files", o.Files)} }

// Index is the state of the node's index.
type Index struct {
	Files, Captures          int64
	Waiting, Failed, Damaged int
	Rebuilding               bool
}

func (x Index) samples() []sample {
	return []sample{
		one("holdfast_index_files", x.Files), one("holdfast_index_captures", x.Captures),
		one("holdfast_index_waiting_files", x.Waiting), one("holdfast_index_failed_files", x.Failed),
		one("holdfast_index_damaged_files", x.Damaged), fact("holdfast_index_rebuilding", x.Rebuilding),
	}
}

// Crawls is what crawls on the node.
type Crawls struct {
	Running, Slots                        int
	Succeeded, Failed, Disregarded, Bytes int64 // since the node started
}

func (c Crawls) samples() []sample {
	const uris = "holdfast_crawl_uris_total"
	return []sample{
		one("holdfast_crawls_running", c.Running), one("holdfast_crawl_slots", c.Slots),
		one(uris, c.Succeeded, "succeeded"), one(uris, c.Failed, "failed"), one(uris, c.Disregarded, "disregarded"),
		one("holdfast_crawl_bytes_total", c.Bytes),
	}
}
