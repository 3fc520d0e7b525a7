package metrics

import "strings"

// The kinds of metrics.
const (
	gauge     = "gauge"
	counter   = "counter"
	histogram = "histogram"
)

// Metrics that are named more than once.
const (
	requestsTotal  = "holdfast_http_requests_total"
	requestSeconds = "holdfast_http_request_duration_seconds"
	partSuccess    = "holdfast_scrape_part_success"
	partSeconds    = "holdfast_scrape_part_duration_seconds"
)

// entry describes a metric.
type entry struct {
	name, kind, unit string // a unit that is empty: 1, 0 or a number without one
	labels           []string
	help             string
}

// words splits a list of labels.
func words(text string) []string { return strings.Fields(text) }

// table returns all metrics but those of the Go runtime and the process. doc/metrics.md is made of it.
func table() []entry {
	return []entry{
		{"holdfast_build_info", gauge, "", words("version goversion"), "1; the program and the Go that built it."},
		{"holdfast_node_info", gauge, "", words("node replica kind place"),
			"1; the node's name, its replica, the replica's kind, and the place."},
		{"holdfast_node_ready", gauge, "", nil, "1 if all parts of the node run."},
		{"holdfast_node_start_time_seconds", gauge, "seconds since 1970", nil, "When the node started."},
		{"holdfast_cluster_level", gauge, "", nil, "The level that the cluster's members have agreed to use."},

		{"holdfast_raft_role", gauge, "", words("role"),
			"1 for the node's role in consensus: leader, follower, candidate, non-voter or outside; 0 for the others."},
		{"holdfast_raft_quorum", gauge, "", nil,
			"1 if this node recently heard a leader that has most of the voters behind it."},
		{"holdfast_raft_leader_contact_seconds", gauge, "seconds", nil,
			"Since this node heard a leader; 0 on the leader. If it heard none, since it started."},
		{"holdfast_raft_term", gauge, "", nil, "Raft's term."},
		{"holdfast_raft_applied_index", gauge, "entries", nil, "The last log entry that this node's catalog has."},
		{"holdfast_raft_commit_index", gauge, "entries", nil, "The last log entry that this node knows to be decided."},
		{"holdfast_raft_unapplied_entries", gauge, "entries", nil,
			"Decided entries that this node's catalog does not have yet."},
		{"holdfast_raft_voters", gauge, "nodes", nil, "Nodes with a vote."},
		{"holdfast_raft_log_bytes", gauge, "bytes", nil, "About the size of the Raft log."},

		{"holdfast_cluster_members", gauge, "nodes", words("state"),
			"Members by what gossip says of them: alive, suspected, failed, left or unknown. This node is alive."},
		{"holdfast_clock_skew_seconds", gauge, "seconds", nil,
			"How far this machine's clock is ahead of the members' median. Absent while no other clock is known."},
		{"holdfast_clock_compared_members", gauge, "nodes", nil, "Other members whose clocks are known."},
		{"holdfast_peer_connections", gauge, "connections", nil, "Connections with other members."},
		{"holdfast_peer_dials_total", counter, "dials", nil, "Connections that this node tried to open."},
		{"holdfast_peer_dial_failures_total", counter, "dials", nil, "Of these, those that failed."},
		{"holdfast_peer_refusals_total", counter, "connections", words("reason"),
			"Connections that this node refused, by reason."},
		{"holdfast_peer_packets_total", counter, "packets", words("direction"),
			"Packets of gossip: sent, received, or dropped because too many waited."},

		{"holdfast_alerts", gauge, "alerts", words("kind severity"),
			"What this node says a person should know of (see alerts.md). Kinds of which there are none are absent. " +
				"What concerns the whole cluster has metrics of its own."},

		{"holdfast_replica_files", gauge, "files", words("replica"), "Files that the replica is meant to hold."},
		{"holdfast_replica_bytes", gauge, "bytes", words("replica"), "The size of these files."},
		{"holdfast_replica_copies", gauge, "copies", words("replica state"),
			"Copies of these files: verified, or owed. Missing and corrupt copies are owed."},
		{"holdfast_replica_disputed_copies", gauge, "copies", words("replica"),
			"Copies that an audit found wrong, and of which no verdict says yet which one is right."},

		{"holdfast_audits_running", gauge, "audits", nil, "Audits of this node under way."},
		{"holdfast_audit_last_end_timestamp_seconds", gauge, "seconds since 1970", nil,
			"When this node's last audit ended, unless it was stopped. Absent if there was none."},
		{"holdfast_audit_last_complete", gauge, "", nil, "1 if that audit read all that it was to read."},
		{"holdfast_audit_last_files", gauge, "files", nil, "Files that it read."},
		{"holdfast_audit_last_findings", gauge, "findings", words("kind"),
			"What it found wrong: missing and corrupt copies, relisted lines of manifests, unknown files."},

		{"holdfast_disk_size_bytes", gauge, "bytes", words("root"), "The size of the disk under a folder of files."},
		{"holdfast_disk_free_bytes", gauge, "bytes", words("root"), "What is free on it, with the reserve."},
		{"holdfast_disk_reserve_bytes", gauge, "bytes", words("root"), "What the node leaves free on it."},
		{"holdfast_outbox_files", gauge, "files", nil, "Files that wait in the outbox until the archive has copies."},

		{"holdfast_index_files", gauge, "files", nil, "Files whose captures are in the index."},
		{"holdfast_index_captures", gauge, "captures", nil, "Captures in the index."},
		{"holdfast_index_waiting_files", gauge, "files", nil, "Files that wait to be indexed."},
		{"holdfast_index_failed_files", gauge, "files", nil, "Files that could not be indexed."},
		{"holdfast_index_damaged_files", gauge, "files", nil, "Files that are indexed as far as they can be read."},
		{"holdfast_index_rebuilding", gauge, "", nil, "1 while files that were indexed are read again."},

		{"holdfast_jobs", gauge, "jobs", words("state"), "Jobs of the cluster by state."},
		{"holdfast_crawls_running", gauge, "jobs", nil, "Jobs that crawl on this node."},
		{"holdfast_crawl_slots", gauge, "jobs", nil, "Jobs that may crawl on this node at once."},
		{"holdfast_crawl_uris_total", counter, "URIs", words("outcome"),
			"URIs that crawls on this node finished since it started: succeeded, failed or disregarded."},
		{"holdfast_crawl_bytes_total", counter, "bytes", nil,
			"Content that crawls on this node fetched since it started."},

		{requestsTotal, counter, "requests", words("port code"),
			"Requests at the ports api and access by class of status: 1xx to 5xx. Those that the port itself turned " +
				"away do not count."},
		{requestSeconds, histogram, "seconds", words("port"), "How long requests took, streams to their end."},

		{partSuccess, gauge, "", words("part"),
			"1 if the part of the figures is in this answer, 0 if it could not be read, or not in time: then its " +
				"metrics are absent."},
		{partSeconds, gauge, "seconds", words("part"), "How long the part took to be read."},
	}
}

// entryOf returns the description of a metric that is in the table.
func entryOf(name string) (found entry) {
	for _, e := range table() {
		if e.name == name {
			found = e
		}
	}
	return found
}
