package jobs

import (
	"encoding/json"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// Rules are the subject's commands.
var Rules = []agree.Rule{
	{Kind: CreateJob, Level: 1, Do: agree.With(createJob)},
	{Kind: SubmitJob, Level: 1, Do: agree.With(submitJob)},
	{Kind: ClaimJob, Level: 1, Do: agree.With(claimJob)},
	{Kind: StartJob, Level: 1, Do: agree.With(startJob)},
	{Kind: FinishJob, Level: 1, Do: agree.With(finishJob)},
	{Kind: LoseJob, Level: 1, Do: agree.With(loseJob)},
	{Kind: WishJob, Level: 1, Do: agree.With(wishJob)},
	{Kind: ResubmitJob, Level: 1, Do: agree.With(resubmitJob)},
	{Kind: RejectJob, Level: 1, Do: agree.With(rejectJob)},
	{Kind: SealOldJobs, Level: 2, Do: agree.With(sealStep)},
	{Kind: SealToNodes, Level: 2, Do: agree.With(sealAgain)},
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
)

// JobCreation asks for a job; its state becomes NEW.
type JobCreation struct {
	Harvest    string                 `json:"harvest"`
	Collection cluster.CollectionName `json:"collection"`
	Channel    string                 `json:"channel,omitempty"`
	Spec       json.RawMessage        `json:"spec"` // harvest.Job
	Submit     bool                   `json:"submit,omitempty"`
	Secret     *Secret                `json:"secret,omitempty"` // the secret that the spec refers to; since level 2
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
}

// JobWishing asks for a change of a job's state.
type JobWishing struct {
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
