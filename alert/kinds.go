package alert

import "strings"

// Kind is one sort of alert. Its name is on the wire, in pages' messages and in filters, and keeps its meaning.
type Kind string

// What all nodes read in the agreed state, or hear of each other.
const (
	NoQuorum            Kind = "no-quorum"
	NodeAway            Kind = "node-away"
	PlaceMajority       Kind = "place-majority"
	CopiesDisputed      Kind = "copies-disputed"
	CopiesAway          Kind = "copies-away"
	ReplicaWithoutNode  Kind = "replica-without-node"
	ShardsWithoutHolder Kind = "shards-without-holder"
	ChannelUnserved     Kind = "channel-unserved"
	JobsFailed          Kind = "jobs-failed"
	JobSecretsLost      Kind = "job-secrets-lost"
	HarvestUnserved     Kind = "harvest-unserved"
	MoreUnserved        Kind = "more-harvests-unserved"
	HarvestWaits        Kind = "harvest-waits"
	HarvestDeactivated  Kind = "harvest-deactivated"
	DisputesUndecided   Kind = "disputes-undecided"
	DrainAlone          Kind = "drain-alone"
	DrainOthersAway     Kind = "drain-others-away"
	NoticeUndelivered   Kind = "notice-undelivered"
	NoticeUnserved      Kind = "notice-unserved"
	VersionBehind       Kind = "version-behind"
	HarvestLate         Kind = "harvest-late"
	TokenLapses         Kind = "token-lapses"
	RunUnusual          Kind = "run-unusual"
	RunLimited          Kind = "run-limited"
	RunSilent           Kind = "run-silent"
	AliasesLapse        Kind = "aliases-lapse"
	ApprovalWaits       Kind = "approval-waits"
	MoreRunsUnusual     Kind = "more-runs-unusual"
	LedgerOld           Kind = "ledger-old"
	LedgerNone          Kind = "ledger-none"
)

// What a node alone sees.
const (
	CatalogMissing     Kind = "catalog-missing"
	CatalogUnreadable  Kind = "catalog-unreadable"
	DiskUnreadable     Kind = "disk-unreadable"
	DiskLow            Kind = "disk-low"
	DiskNotEmptied     Kind = "disk-not-emptied"
	DiskAiling         Kind = "disk-ailing"
	DisksUnknown       Kind = "disks-unknown"
	FolderGone         Kind = "folder-gone"
	NoRoom             Kind = "no-room"
	ClockOff           Kind = "clock-off"
	FilesNotIndexed    Kind = "files-not-indexed"
	Refused            Kind = "refused"
	ReplicaUnlisted    Kind = "replica-unlisted"
	CollectionUnlisted Kind = "collection-unlisted"
	NodeDormant        Kind = "node-dormant"
	JobHeld            Kind = "job-held"
	JobPaused          Kind = "job-paused"
	JobNotClaimed      Kind = "job-not-claimed"
	NotArchived        Kind = "not-archived"
	RunNotSplit        Kind = "run-not-split"
	HarvestsUnread     Kind = "harvests-unread"
	SecretsUnsealed    Kind = "secrets-unsealed"
	SecretsUnread      Kind = "secrets-unread"
	OutboxLate         Kind = "outbox-late"
	ShardsUnaudited    Kind = "shards-unaudited"
	StrayFiles         Kind = "stray-files"
	UnknownFiles       Kind = "unknown-files"
	CopiesFailed       Kind = "copies-failed"
	CopiesStuck        Kind = "copies-stuck"
	MoreAlerts         Kind = "more-alerts"
	CopiesUnproved     Kind = "copies-unproved"
	SharedHost         Kind = "shared-host"
	CertificateLapses  Kind = "certificate-lapses"
	AuditOld           Kind = "audit-old"
	BackupOld          Kind = "backup-old"
	ChallengesFailed   Kind = "challenges-failed"
	LogUnwritten       Kind = "log-unwritten"
)

// shape is what is common to the alerts of a kind.
type shape struct {
	local    bool // only a node sees it
	severity Severity
	text     string // in English; {subject} and {parameter} stand for values
}

// entry is a kind with what is common to its alerts.
type entry struct {
	kind Kind
	shape
}

// Who sees an alert.
const (
	every = false
	one   = true
)

// table returns all kinds.
func table() []entry {
	return []entry{
		{NoQuorum, shape{every, Bad, "no quorum: nothing can be decided until most of the cluster's voters can " +
			"reach each other; reading and crawls under lease go on"}},
		{NodeAway, shape{every, Bad, "node {subject} is {state}"}},
		{PlaceMajority, shape{every, Look, "place {subject} has most of the voters: without it nothing can be " +
			"decided, although there are three places"}},
		{CopiesAway, shape{every, Look, "replica {subject}: {copies} copies lie on a disk that is away: they count, " +
			"and nobody can read them"}},
		{CopiesDisputed, shape{every, Look, "replica {subject}: {copies} copies are disputed and wait for a verdict"}},
		{ReplicaWithoutNode, shape{every, Bad, "replica {subject} has no node: nothing keeps its copies"}},
		{ShardsWithoutHolder, shape{every, Bad, "replica {subject}: {shards} shards have no holder"}},
		{ChannelUnserved, shape{every, Bad, "channel {subject} has {jobs} jobs that wait, and no node that crawls " +
			"serves it: name it in channels in the cluster.toml of one"}},
		{LedgerOld, shape{every, Bad, "replica {subject}: its newest ledger is {days} days old; see holdfast " +
			"ledger make"}},
		{LedgerNone, shape{every, Look, "replica {subject} has no ledger yet: nobody could prove what it holds; see " +
			"holdfast ledger make"}},
		{JobsFailed, shape{every, Bad, "{jobs} jobs failed in the last day, the last of them job {job}: {reason}; " +
			"resubmit or reject them"}},
		{JobSecretsLost, shape{every, Bad, "job {subject} waits: no node that crawls can open its secrets any " +
			"more; stop it and create it again"}},
		{HarvestUnserved, shape{every, Bad, "harvest {subject} ({name}) waits: no node that crawls serves channel " +
			"{channel}; name it in channels in the cluster.toml of one"}},
		{MoreUnserved, shape{every, Bad, "{harvests} more harvests wait for a channel"}},
		{HarvestWaits, shape{every, Look, "harvest {subject} ({name}) waits until all jobs of snapshot {snapshot}, " +
			"which it continues, have ended"}},
		{HarvestDeactivated, shape{every, Bad, "harvest {subject} ({name}) was deactivated because of an error: " +
			"{reason}"}},
		{DisputesUndecided, shape{every, Bad, "{copies} disputed copies need an operator, among them {file} in " +
			"{replica}: {reason}"}},
		{DrainAlone, shape{one, Bad, "the drain of {subject} cannot end: replica {replica} has no other node " +
			"that is not draining. Let one join or start it, or run `holdfast node undrain {subject}`"}},
		{DrainOthersAway, shape{one, Bad, "the drain of {subject} cannot end: replica {replica} has no other " +
			"node that is alive and not draining. Let one join or start it, or run `holdfast node undrain {subject}`"}},
		{NoticeUndelivered, shape{every, Bad, "notices to {subject} were not accepted for three days and were given " +
			"up: {reason}. `holdfast notice test {subject}` tells when it works again"}},
		{NoticeUnserved, shape{every, Bad, "notices to {subject} wait: no node that is alive delivers {way}. Mail " +
			"needs smtp in the cluster.toml of one"}},
		{VersionBehind, shape{every, Look, "node {subject} runs version {version}, others {newest}"}},
		{HarvestLate, shape{every, Look, "harvest {subject} ({name}) was to begin at {date} and has not: jobs of its " +
			"last run are still being made"}},
		{TokenLapses, shape{every, Look, "access token {subject} ({name}) lapses at {date}"}},
		{RunUnusual, shape{every, Look, "run {run} of harvest {harvest} ({name}) brought {objects} objects and " +
			"{bytes} bytes; usual are {usual-objects} and {usual-bytes}"}},
		{RunLimited, shape{every, Look, "run {run} of harvest {harvest} ({name}) met a limit in {configurations} " +
			"configurations that were harvested completely before"}},
		{RunSilent, shape{every, Look, "run {run} of harvest {harvest} ({name}) brought nothing of " +
			"{configurations} configurations that brought something before"}},
		{MoreRunsUnusual, shape{every, Look, "at least {runs} more runs that ended within the last day differ from " +
			"what is usual, or were not compared"}},
		{ApprovalWaits, shape{every, Look, "proposal {subject} waits for a second person until {date}: {act} of " +
			"{of}, {files} files of {bytes} bytes; see `holdfast approval show {subject}`"}},
		{AliasesLapse, shape{every, Look, "{aliases} aliases lapse within two weeks, the first of them {alias} at " +
			"{date}: renew them, or they are harvested as domains of their own"}},

		{MoreAlerts, shape{one, Bad, "{alerts} more alerts of this node are not listed"}},
		{CatalogMissing, shape{one, Bad, "this node has not received the catalog yet"}},
		{CatalogUnreadable, shape{one, Bad, "the catalog cannot be read: {reason}"}},
		{DiskUnreadable, shape{one, Bad, "disk {subject}: {reason}"}},
		{DiskLow, shape{one, Bad, "disk {subject} has {bytes} bytes left, less than the reserve"}},
		{DiskNotEmptied, shape{one, Look, "disk {subject} is not emptied: {reason}"}},
		{DiskAiling, shape{one, Bad, "disk {subject}: {reason}"}},
		{DisksUnknown, shape{one, Bad, "{reason}"}},
		{FolderGone, shape{one, Bad, "{reason}"}},
		{NoRoom, shape{one, Bad, "{reason}"}},
		{ClockOff, shape{one, Bad, "the clock is {ahead} ahead of the members' median: this node does not lead " +
			"until it is set"}},
		{FilesNotIndexed, shape{one, Bad, "{files} files could not be indexed: see index status"}},
		{Refused, shape{one, Bad, "refused by {subject}: {reason}"}},
		{ReplicaUnlisted, shape{one, Look, "replica {subject} of cluster.toml is not the cluster's yet: {command}"}},
		{CollectionUnlisted, shape{one, Look, "collection {subject} of cluster.toml is not the cluster's yet: " +
			"holdfast collection add {subject}"}},
		{NodeDormant, shape{one, Bad, "this node is dormant and claims no jobs: {reason}"}},
		{JobHeld, shape{one, Look, "job {subject} waits: {reason}"}},
		{JobPaused, shape{one, Look, "job {subject} is paused: {reason}"}},
		{JobNotClaimed, shape{one, Bad, "job {subject} is not claimed by this node: {reason}"}},
		{NotArchived, shape{one, Bad, "not all of {subject} is in the archive: {reason}"}},
		{RunNotSplit, shape{one, Bad, "the jobs of run {run} of harvest {harvest} could not be made here, and are " +
			"tried again: {reason}"}},
		{HarvestsUnread, shape{one, Bad, "harvests: {reason}"}},
		{SecretsUnsealed, shape{one, Bad, "{reason}"}},
		{SecretsUnread, shape{one, Bad, "secrets cannot be looked at: {reason}"}},
		{OutboxLate, shape{one, Look, "{files} files wait in the outbox to enter the archive"}},
		{ShardsUnaudited, shape{one, Bad, "{shards} shards here could not be audited, among them {shard}: {reason}"}},
		{ChallengesFailed, shape{one, Bad, "{copies} challenges by this node were not answered rightly, among them " +
			"that for {file} in {replica}: {outcome}: {reason}"}},
		{StrayFiles, shape{one, Look, "{files} files ({bytes} bytes) lie here that the archive does not count on, " +
			"among them {path}: {state}"}},
		{UnknownFiles, shape{one, Look, "{files} files that the archive does not know lie in its folders, among " +
			"them {file}: move them away, and put those that belong to it with holdfast file put"}},
		{CopiesFailed, shape{one, Bad, "{copies} copies owed here have failed and are tried again, among them " +
			"{file}: {reason}"}},
		{CopiesStuck, shape{one, Bad, "{copies} copies owed here are stuck: no node that is alive has good bytes " +
			"of them"}},
		{CopiesUnproved, shape{one, Look, "this node compares what it has with the catalog, since the cluster was " +
			"recovered: until that is done, no copy is released that counts on it"}},
		{SharedHost, shape{one, Look, "the archivists' pages ({pages}) and the captures ({access}) have one host " +
			"name, {subject}: an archived page can plant cookies for the archivists' pages. Give them two names in " +
			"cluster.toml, as in pages-url = \"https://archive.example.org\" and access-url = " +
			"\"https://captures.example.org\""}},
		{CertificateLapses, shape{one, Bad, "the certificate {subject} is good until {date}: put a new one in its " +
			"place, it is read when it changes"}},
		{AuditOld, shape{one, Bad, "{shards} shards here were not read by an audit for {days} days, more than " +
			"audit-age allows"}},
		{BackupOld, shape{one, Bad, "the catalog was not backed up to {subject} for {hours} hours: {reason}; see " +
			"holdfast catalog backups"}},
		{LogUnwritten, shape{one, Bad, "the log is not written to {subject}: {reason}"}},
	}
}

// shapeOf returns that of a kind; the zero shape for one that this program does not know.
func shapeOf(k Kind) shape {
	for _, e := range table() {
		if e.kind == k {
			return e.shape
		}
	}
	return shape{}
}

// Kinds returns all kinds, with the names of the parameters of each.
func Kinds() map[Kind][]string {
	out := map[Kind][]string{}
	for _, e := range table() {
		out[e.kind] = names(e.text)
	}
	return out
}

// names returns the names in braces, but for the subject's.
func names(text string) (out []string) {
	for {
		_, rest, found := strings.Cut(text, "{")
		if !found {
			return out
		}
		name, after, found := strings.Cut(rest, "}")
		if !found {
			return out
		}
		if text = after; name != "subject" {
			out = append(out, name)
		}
	}
}
