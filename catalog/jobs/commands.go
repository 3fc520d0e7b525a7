package jobs

import (
	"encoding/json"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// Rules are the subject's commands.
var Rules = []agree.Rule{
	{Kind: CreateJob, Level: 1, Do: agree.Widened[jobCreationUncounted](LevelOfParts, agree.With(createJob))},
	{Kind: SubmitJob, Level: 1, Do: agree.With(submitJob)},
	{Kind: ClaimJob, Level: 1, Do: agree.With(claimJob)},
	{Kind: StartJob, Level: 1, Do: agree.With(startJob)},
	{Kind: FinishJob, Level: 1, Do: agree.Widened[jobEndJoined](LevelOfParts, agree.With(finishJob))},
	{Kind: LoseJob, Level: 1, Do: agree.Widened[jobEndJoined](LevelOfParts, agree.With(loseJob))},
	{Kind: WishJob, Level: 1, Do: agree.Widened[jobWishingSoon](LevelOfParts, agree.With(wishJob))},
	{Kind: ResubmitJob, Level: 1, Do: agree.With(resubmitJob)},
	{Kind: RejectJob, Level: 1, Do: agree.With(rejectJob)},
	{Kind: SealOldJobs, Level: 2, Do: agree.With(sealStep)},
	{Kind: SealToNodes, Level: 2, Do: agree.With(sealAgain)},
	{Kind: OpenJob, Level: LevelOfParts, Do: agree.With(openJob)},
	{Kind: AddPart, Level: LevelOfParts, Do: agree.With(addPart)},
	{Kind: CloseJob, Level: LevelOfParts, Do: agree.With(closeJob)},
	{Kind: DropJob, Level: LevelOfParts, Do: agree.With(dropJob)},
	{Kind: MakeJob, Level: LevelOfParts, Do: agree.With(makeJob)},
	{Kind: WalkJobs, Level: LevelOfParts, Do: agree.With(walkStep)},
	{Kind: AddStatistics, Level: LevelOfParts, Do: agree.With(addStatistics)},
	{Kind: DropStatistics, Level: LevelOfParts, Do: agree.With(dropStatistics)},
	{Kind: RecallPart, Level: agree.LevelOfRebuilding, Do: agree.With(recallPart)},
	{Kind: RecallJob, Level: agree.LevelOfRebuilding, Do: agree.With(recallJob)},
}

// The kinds of commands and their bodies.
const (
	CreateJob   agree.Kind = "job.create"   // JobCreation
	SubmitJob   agree.Kind = "job.submit"   // JobRef
	ClaimJob    agree.Kind = "job.claim"    // JobRef: exactly one node wins
	StartJob    agree.Kind = "job.start"    // JobRef
	FinishJob   agree.Kind = "job.finish"   // JobEnd: DONE or FAILED, fenced by attempt
	LoseJob     agree.Kind = "job.lose"     // JobEnd: its node was not heard from for lease and margin: SUBMITTED again
	WishJob     agree.Kind = "job.wish"     // JobWishing
	ResubmitJob agree.Kind = "job.resubmit" // JobRef: a FAILED job becomes RESUBMITTED, a new one takes over
	RejectJob   agree.Kind = "job.reject"   // JobRef: a FAILED job becomes FAILED_REJECTED
	SealOldJobs agree.Kind = "secret.walk"  // SealStep
	SealToNodes agree.Kind = "secret.again" // SealAgain
	OpenJob     agree.Kind = "job.open"     // JobOpening: a job to which parts are added
	AddPart     agree.Kind = "job.part"     // JobAddition
	CloseJob    agree.Kind = "job.close"    // JobClosing: the job is whole, NEW or SUBMITTED
	DropJob     agree.Kind = "job.drop"     // JobRef: a job that is not whole goes, some of its parts with each command
	MakeJob     agree.Kind = "job.make"     // JobMaking: a small job of a harvest, whole at once
	WalkJobs    agree.Kind = "job.walk"     // WalkStep: jobs from before level 4 are given parts

	AddStatistics  agree.Kind = "job.statistics"   // JobStatistics, of an attempt that ends
	DropStatistics agree.Kind = "job.unstatistics" // JobRef: of an attempt whose statistics count for nothing

	RecallPart agree.Kind = "rebuild.part" // JobAddition: a part of a job that is brought back behind its parts
	RecallJob  agree.Kind = "rebuild.job"  // Job: one that had ended, without secrets, and with parts that are there
)

// JobCreation asks for a job; its state becomes NEW.
type JobCreation struct {
	Harvest    string                 `json:"harvest"`
	Collection cluster.CollectionName `json:"collection"`
	Channel    string                 `json:"channel,omitempty"`
	Spec       json.RawMessage        `json:"spec"` // harvest.Job; from level 4 on, the catalog does not read it
	Submit     bool                   `json:"submit,omitempty"`
	Secret     *Secret                `json:"secret,omitempty"` // the secret that the spec refers to; since level 2
	Seeds      int                    `json:"seeds,omitempty"`  // how many it has; since level 4
	// Domains are those of its seeds; since level 4.
	Domains []string `json:"domains,omitempty"`
}

// jobCreationUncounted is JobCreation as it was before it said how many seeds there are.
type jobCreationUncounted struct {
	Harvest    string                 `json:"harvest"`
	Collection cluster.CollectionName `json:"collection"`
	Channel    string                 `json:"channel,omitempty"`
	Spec       json.RawMessage        `json:"spec"`
	Submit     bool                   `json:"submit,omitempty"`
	Secret     *Secret                `json:"secret,omitempty"`
}

// JobRef names a job, and for a claim or start the node and attempt.
type JobRef struct {
	ID      uint64       `json:"id"`
	Node    agree.NodeID `json:"node,omitempty"`
	Attempt int          `json:"attempt,omitempty"`
}

// JobEnd ends an attempt. It is refused when the job has moved on to another attempt.
type JobEnd struct {
	ID      uint64       `json:"id"`
	Node    agree.NodeID `json:"node"`
	Attempt int          `json:"attempt"`
	Failed  bool         `json:"failed,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Stats   JobStats     `json:"stats"`

	// Since level 4; Reason then stands for a HarvestError when neither is given.
	HarvestError *Fault `json:"harvestError,omitempty"`
	UploadError  *Fault `json:"uploadError,omitempty"`
	Statistics   int    `json:"statistics,omitempty"` // how many chunks of the attempt's statistics count: all
}

// JobStatistics adds a chunk to the statistics of an attempt. Every chunk but the last has StatisticsInChunk of them.
type JobStatistics struct {
	ID         uint64       `json:"id"`
	Node       agree.NodeID `json:"node"`
	Attempt    int          `json:"attempt"`
	Number     int          `json:"number"` // from 1
	Last       bool         `json:"last,omitempty"`
	Statistics []Statistic  `json:"statistics"`
}

// jobEndJoined is JobEnd as it was before its errors were two.
type jobEndJoined struct {
	ID      uint64       `json:"id"`
	Node    agree.NodeID `json:"node"`
	Attempt int          `json:"attempt"`
	Failed  bool         `json:"failed,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Stats   JobStats     `json:"stats"`
}

// JobWishing asks for a change of a job's state.
type JobWishing struct {
	ID     uint64  `json:"id"`
	Wish   JobWish `json:"wish"`
	Reason string  `json:"reason,omitempty"`
	// Within says in how many milliseconds a job that is to stop is cut off; 0: ten minutes; since level 4.
	Within int64 `json:"within,omitempty"`
}

// jobWishingSoon is JobWishing as it was before it had a deadline.
type jobWishingSoon struct {
	ID     uint64  `json:"id"`
	Wish   JobWish `json:"wish"`
	Reason string  `json:"reason,omitempty"`
}

// SealStep takes the walk on to job To. When that job has secrets, Job holds it without them.
type SealStep struct {
	After uint64     `json:"after"` // where the walk is
	To    uint64     `json:"to"`
	Job   *SealedJob `json:"job,omitempty"`
}

// SealedJob is a job's spec with references for its secrets. Without a Secret they are dropped: the job has ended for
// good.
type SealedJob struct {
	Spec   json.RawMessage `json:"spec"` // harvest.Job
	Secret *Secret         `json:"secret,omitempty"`
}

// SealAgain adds boxes to a secret for further nodes that may open it. Boxes of nodes that no longer may are removed.
type SealAgain struct {
	ID    string `json:"id"`
	Boxes []Box  `json:"boxes"`
}

// JobOpening begins a job to which parts are added. The answer is the job, with its number.
type JobOpening struct {
	Harvest    string                 `json:"harvest"`
	Number     uint64                 `json:"harvestid,omitempty"` // of the harvest; 0: made by hand
	Run        uint64                 `json:"run,omitempty"`
	After      uint64                 `json:"after,omitempty"` // the run's last job, as far as is known; 0: none
	Collection cluster.CollectionName `json:"collection"`
	Channel    string                 `json:"channel,omitempty"`
	Template   string                 `json:"template,omitempty"` // and its version, as default@3
	Secret     *Secret                `json:"secret,omitempty"`
	Uses       []string               `json:"uses,omitempty"` // ids of secrets of others that the job's text refers to
}

// JobMaking makes a small job of a harvest at once. The answer is the job, with its number.
type JobMaking struct {
	Opening JobOpening `json:"opening"`
	Parts   []Part     `json:"parts"`
}

// JobAddition adds a part to a job that is not whole.
type JobAddition struct {
	ID     uint64   `json:"id"`
	Number int      `json:"number"` // of the part, from 1
	Part   Part     `json:"part"`
	Secret *Secret  `json:"secret,omitempty"` // that the part refers to
	Uses   []string `json:"uses,omitempty"`   // ids of secrets of others that the part refers to
}

// JobClosing makes a job whole. Parts and Sum say which parts it is to have.
type JobClosing struct {
	ID     uint64       `json:"id"`
	Parts  int          `json:"parts"`
	Sum    agree.Digest `json:"sum"`
	Submit bool         `json:"submit,omitempty"`
}

// WalkStep takes the walk over the jobs from before level 4 one step on from where it is.
type WalkStep struct {
	After uint64 `json:"after"`
	Piece int    `json:"piece,omitempty"`
}
