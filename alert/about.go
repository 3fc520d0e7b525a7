package alert

// About says what the subject of an alert is.
type About int

// What subjects are.
const (
	Nothing   About = iota // none, or nothing that the catalog has
	OfNode                 // the name of a node
	OfReplica              // the name of a replica
	OfPlace                // a place
	OfJob                  // the number of a job
	OfHarvest              // the number of a harvest
	OfRun                  // the numbers of a harvest and a run, 3/7
)

// About returns what the subject of such alerts is.
func (k Kind) About() About {
	switch k {
	case NodeAway, DrainAlone, DrainOthersAway, VersionBehind:
		return OfNode
	case CopiesDisputed, CopiesAway, ReplicaWithoutNode, ShardsWithoutHolder, LedgerOld, LedgerNone:
		return OfReplica
	case PlaceMajority:
		return OfPlace
	case JobSecretsLost, JobHeld, JobPaused, JobNotClaimed:
		return OfJob
	case HarvestUnserved, HarvestWaits, HarvestDeactivated, HarvestLate:
		return OfHarvest
	case RunNotSplit, RunUnusual, RunLimited, RunSilent:
		return OfRun
	}
	return Nothing
}

// Archivists reports whether such alerts are about harvests, and so for those who define them; all others are about
// nodes and copies.
func (k Kind) Archivists() bool {
	switch k {
	case ChannelUnserved, JobsFailed, MoreUnserved, NoticeUndelivered, NoticeUnserved, AliasesLapse,
		MoreRunsUnusual:
		return true
	}
	switch k.About() {
	case OfJob, OfHarvest, OfRun:
		return true
	}
	return false
}

// Find returns the severity of a kind, and whether only a node sees such alerts; false if this program does not know
// it.
func (k Kind) Find() (severity Severity, local, known bool) {
	s := shapeOf(k)
	return s.severity, s.local, s.text != ""
}
