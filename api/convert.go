package api

import (
	"cmp"
	"time"

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
func fileOf(f catalog.File, verified func(catalog.ReplicaName) catalog.Time) File {
	out := File{
		Name: f.Name, Size: f.Size, SHA256: hexOf(f.SHA256), Shard: f.Name.Shard().String(), Collection: f.Collection,
		Added: std(f.Added), Job: f.Job, Attempt: f.Attempt, Source: f.Source, Released: f.Released, Complete: f.Complete(),
		Removed: std(f.Removed), Reason: f.Reason, Lost: std(f.Lost), LostWhy: f.LostWhy, Version: f.Version, Copies: make([]Copy, 0, len(f.Copies)),
	}
	for _, c := range f.Copies {
		shown := Copy{
			Replica: c.Replica, State: c.State, Node: c.Node, Since: std(c.Since), FileList: c.FileList, Checksum: c.Checksum,
			Found: hexOf(c.Found), Reason: c.Reason, Tries: c.Tries, Disputed: c.Disputed,
		}
		shown.FileList = cmp.Or(shown.FileList, catalog.NoFileListStatus)
		shown.Checksum = cmp.Or(shown.Checksum, catalog.ChecksumUnknown)
		if c.Good() && shown.FileList == catalog.NoFileListStatus && shown.Checksum == catalog.ChecksumUnknown {
			// Completed means that the bytes were stored, read, and had the file's digest.
			shown.FileList, shown.Checksum = catalog.FileListOK, catalog.ChecksumOK
		}
		if at := verified(c.Replica); c.Good() && shown.FileList == catalog.FileListOK && shown.Checksum == catalog.ChecksumOK {
			shown.Verified = std(max(c.Since, at))
		}
		out.Copies = append(out.Copies, shown)
	}
	return out
}

// jobOf is how the API shows a job; its node's name is looked up in names.
func jobOf(j catalog.Job, names map[catalog.NodeID]string) Job {
	return Job{
		ID: j.ID, Harvest: j.Harvest, Collection: j.Collection, Channel: j.Channel, State: j.State, Wish: j.Wish,
		WishReason: j.WishReason, Attempt: j.Attempt, Node: j.Node, NodeName: names[j.Node], Created: std(j.Created),
		Submitted: std(j.Submitted), Started: std(j.Started), Ended: std(j.Ended), Stats: j.Stats, Reason: j.Reason,
		Next: j.Next, Seeds: append([]string{}, j.Spec.Seeds...),
	}
}

func eventOf(e catalog.Event) Event {
	return Event{
		Seq: e.Seq, Index: e.Index, At: std(e.At), Actor: e.Actor, Act: e.Act, Subject: e.Subject, Detail: e.Detail,
		Previous: hexOf(e.Previous), Hash: hexOf(e.Hash),
	}
}

func joinTokenOf(t catalog.JoinToken, now catalog.Time) JoinToken {
	out := JoinToken{ID: t.ID, Replica: t.Replica, Created: std(t.Created), Expires: std(t.Expires), State: "open", UsedBy: t.UsedBy}
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
