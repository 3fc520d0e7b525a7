package catalog

import "holdfast/catalog/jobs"

// The names of catalog/jobs, by which other rooms know them. What a name means is said there.
type (
	JobCreation = jobs.JobCreation
	JobRef      = jobs.JobRef
	JobEnd      = jobs.JobEnd
	JobWishing  = jobs.JobWishing
	SealStep    = jobs.SealStep
	SealedJob   = jobs.SealedJob
	SealAgain   = jobs.SealAgain
	Sealing     = jobs.Sealing
	Secret      = jobs.Secret
	Box         = jobs.Box
	JobState    = jobs.JobState
	JobWish     = jobs.JobWish
	JobStats    = jobs.JobStats
	Job         = jobs.Job
)

// Constants of catalog/jobs.
const (
	CreateJob         = jobs.CreateJob
	SubmitJob         = jobs.SubmitJob
	ClaimJob          = jobs.ClaimJob
	StartJob          = jobs.StartJob
	FinishJob         = jobs.FinishJob
	LoseJob           = jobs.LoseJob
	WishJob           = jobs.WishJob
	ResubmitJob       = jobs.ResubmitJob
	RejectJob         = jobs.RejectJob
	SealOldJobs       = jobs.SealOldJobs
	SealToNodes       = jobs.SealToNodes
	PrefixJobs        = jobs.PrefixJobs
	PrefixSecrets     = jobs.PrefixSecrets
	PrefixSealing     = jobs.PrefixSealing
	JobNew            = jobs.JobNew
	JobSubmitted      = jobs.JobSubmitted
	JobStarted        = jobs.JobStarted
	JobDone           = jobs.JobDone
	JobFailed         = jobs.JobFailed
	JobResubmitted    = jobs.JobResubmitted
	JobFailedRejected = jobs.JobFailedRejected
	WishRun           = jobs.WishRun
	WishPause         = jobs.WishPause
	WishStop          = jobs.WishStop
)
