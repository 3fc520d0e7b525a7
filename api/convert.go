package api

import (
	"cmp"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// std is the time in RFC 3339's terms; the catalog's zero is no time.
func std(t catalog.Time) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return t.Std()
}

func hexOf(d catalog.Digest) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// fileOf is how the API shows a file of the catalog; verified tells when a replica's audit last passed its copy.
func fileOf(f catalog.File, verified func(catalog.ReplicaName) catalog.Time) wire.File {
	out := wire.File{
		Name: string(f.Name), Size: f.Size, SHA256: hexOf(f.SHA256), Shard: f.Name.Shard().String(),
		Collection: string(f.Collection),
		Added:      std(f.Added), Job: f.Job, Attempt: f.Attempt, Source: string(f.Source), Released: f.Released,
		Complete: f.Complete(),
		Removed:  std(f.RemovedAt()), RemovedBy: f.RemovedBy, Until: std(f.Until), Reason: f.Reason,
		Lost: std(f.Lost), LostWhy: f.LostWhy, Version: f.Version,
		Copies: make([]wire.Copy, 0, len(f.Copies)),
	}
	for _, c := range f.Copies {
		shown := wire.Copy{
			Replica: string(c.Replica), State: wire.StoreState(c.State), Node: string(c.Node), Since: std(c.Since),
			FileList: wire.FileListStatus(c.FileList), Checksum: wire.ChecksumStatus(c.Checksum),
			Found: hexOf(c.Found), Reason: c.Reason, Tries: c.Tries, Disputed: c.Disputed,
		}
		if c.State == catalog.DataUploaded { // of a program that said so below level 5; its digest was never agreed
			shown.State = wire.UploadStarted
		}
		shown.FileList = cmp.Or(shown.FileList, wire.NoFileListStatus)
		shown.Checksum = cmp.Or(shown.Checksum, wire.ChecksumUnknown)
		if c.Good() && shown.FileList == wire.NoFileListStatus && shown.Checksum == wire.ChecksumUnknown {
			// Completed means that the bytes were stored, read, and had the file's digest.
			shown.FileList, shown.Checksum = wire.FileListOK, wire.ChecksumOK
		}
		if at := verified(c.Replica); c.Good() && shown.FileList == wire.FileListOK &&
			shown.Checksum == wire.ChecksumOK {
			shown.Verified = std(max(c.Since, at))
		}
		out.Copies = append(out.Copies, shown)
	}
	return out
}

// jobOf is how the API shows a job; its node's name is looked up in names.
func jobOf(j catalog.Job, names map[catalog.NodeID]string) wire.Job {
	return wire.Job{
		ID: j.ID, Harvest: j.Harvest, JobOrigin: wire.JobOrigin{HarvestID: j.Number, Run: j.Run},
		Collection: string(j.Collection),
		Channel:    j.Channel,
		State:      wire.JobState(j.State), Wish: wire.Wish(j.Wish),
		WishReason: j.WishReason, Attempt: j.Attempt, Node: string(j.Node), NodeName: names[j.Node],
		Created:   std(j.Created),
		Submitted: std(j.Submitted), Started: std(j.Started), Ended: std(j.Ended), Stats: wire.JobStats(j.Stats),
		Reason: j.Why(), HarvestErr: (*wire.JobError)(j.HarvestError), UploadErr: (*wire.JobError)(j.UploadError),
		WishBy: std(j.WishBy),
		Next:   j.Next, Seeds: []string{},
	}
}

func eventOf(e catalog.Event) wire.Event {
	return wire.Event{
		Seq: e.Seq, Index: e.Index, At: std(e.At), Actor: e.Actor, Act: e.Act, Subject: e.Subject, Detail: e.Detail,
		Previous: hexOf(e.Previous), Hash: hexOf(e.Hash),
	}
}

func joinTokenOf(t catalog.JoinToken, now catalog.Time) wire.JoinToken {
	out := wire.JoinToken{ID: t.ID, Replica: string(t.Replica), Created: std(t.Created), Expires: std(t.Expires),
		State: "open", UsedBy: string(t.UsedBy)}
	switch {
	case t.Revoked != 0:
		out.State = "revoked"
	case t.UsedBy != "":
		out.State = "used"
	case now >= t.Expires:
		out.State = "expired"
	}
	return out
}

// wishOf is what the catalog calls a wish.
func wishOf(w wire.Wish) catalog.JobWish {
	if w == wire.WishRun {
		return catalog.WishRun
	}
	return catalog.JobWish(w)
}

// kindOf gives names of one kind the type of another, such as the text of a request that of the catalog.
func kindOf[T, F ~string](names []F) []T {
	var out []T
	for _, name := range names {
		out = append(out, T(name))
	}
	return out
}
