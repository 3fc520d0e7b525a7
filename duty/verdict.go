package duty

import (
	"fmt"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// Undecided is a disputed copy that is left to an operator.
type Undecided struct {
	Name    catalog.FileName
	Replica catalog.ReplicaName
	Why     string
}

// Judgement is the result of the votes on a page of disputed files.
type Judgement struct {
	Verdicts  []catalog.Verdict // at most catalog.MaxItems of them fit into one command
	Undecided []Undecided
	Next      catalog.FileName // the last file looked at
	Done      bool             // no disputed file is behind Next
}

// WitnessesFor is how long a verdict on bytes waits for the other copies to be read. After that, it goes by those that
// were read.
const WitnessesFor = 2 * time.Minute

// Verdicts judges the disputed copies of the next n files behind after, at the time now. For each digest vote the
// catalog's entry, every replica with a good copy or record, and every disputed copy whose bytes could be read; a copy
// that is missing or unreadable has no vote. Neither has a copy in which an audit found the digest that the entry has
// only since the catalog was corrected: its node reads it again. A copy is bad when more than half of the votes are for
// the entry's digest and a node has good bytes to repair it from. A tie, a majority against the catalog, and a file
// without good bytes are left to an operator.
//
// From level 5 on, no copy is judged bad for wrong or unreadable bytes while other copies have bytes and none of them
// was read since: their votes would rest on an audit long ago. The verdict waits up to WitnessesFor until all were
// read. Those that were not read by then have no vote; if none was, an operator is told.
func Verdicts(view catalog.View, now catalog.Time, after catalog.FileName, n int) (Judgement, error) {
	cluster, err := view.Cluster()
	if err != nil {
		return Judgement{}, err
	}
	bytes := map[catalog.ReplicaName]bool{} // replicas whose copies have to be read to vote
	if cluster.Level >= files.LevelOfWitnesses {
		replicas, err := view.Replicas()
		if err != nil {
			return Judgement{}, err
		}
		for _, r := range replicas {
			bytes[r.Name] = r.Kind == catalog.Bitarchive
		}
	}
	disputed, err := view.Disputed(after, n)
	out := Judgement{Next: after, Done: len(disputed) < n}
	for i := range disputed {
		if err != nil {
			break
		}
		err = out.judge(view, now, &disputed[i], bytes)
		out.Next = disputed[i].Name
	}
	return out, err
}

// unread returns which replicas' good copies of the file have no vote, since nobody has read them since wrong bytes
// were found elsewhere; whether another one was read; and whether the verdict waits for those that were not.
func unread(f *catalog.File, now catalog.Time, bytes map[catalog.ReplicaName]bool) (
	silent map[catalog.ReplicaName]bool, read, waits bool) {
	silent = map[catalog.ReplicaName]bool{}
	for i := range f.Copies {
		c := &f.Copies[i]
		switch {
		case !bytes[c.Replica] || !c.Good() || c.Surplus:
		case f.Unread(c):
			silent[c.Replica] = true
		default:
			read = true
		}
	}
	since := f.Doubted()
	asked := time.Duration(now-since) * time.Millisecond // a stamp of the future is of a clock that was wrong
	return silent, read, len(silent) > 0 && since <= now && asked < WitnessesFor
}

func (j *Judgement) judge(view catalog.View, now catalog.Time, f *catalog.File,
	bytes map[catalog.ReplicaName]bool) error {
	silent, witnessed, waits := unread(f, now, bytes)
	if waits {
		return nil
	}
	sources, err := view.CoveringFile(f)
	if err != nil {
		return err
	}
	count := map[catalog.Digest]int{f.SHA256: 1}
	total, read := 1, 0 // read: copies of which an audit found the bytes
	words := []string{"catalog=" + short(f.SHA256)}
	for i := range f.Copies {
		c := &f.Copies[i]
		vote, word := f.SHA256, short(f.SHA256)
		switch {
		case c.State != catalog.UploadCompleted:
			continue
		case !c.Disputed && silent[c.Replica]:
			words = append(words, string(c.Replica)+"=unread")
			continue
		case !c.Disputed:
		case c.FileList == catalog.FileListMissing || c.Found.IsZero():
			words = append(words, string(c.Replica)+"=-")
			continue
		case c.Found == f.SHA256: // the catalog was corrected since: its node reads it again
			continue
		default:
			vote, word = c.Found, short(c.Found)
			read++
		}
		count[vote]++
		total++
		words = append(words, string(c.Replica)+"="+word)
	}
	votes := fmt.Sprintf("%d of %d for the catalog's digest (%s)", count[f.SHA256], total, strings.Join(words, " "))
	why := ""
	switch {
	case len(silent) > 0 && !witnessed:
		why = "no other copy could be read since: " + votes
	case 2*count[f.SHA256] <= total:
		why = "no majority: " + votes
		for i := range f.Copies { // the same digest everywhere but in the catalog?
			switch d := f.Copies[i].Found; {
			case d.IsZero() || 2*count[d] <= total:
			case count[d] == total-1 && read >= 2:
				why = "catalog wrong: all copies that were read are the same, and not what the catalog has: " + votes
			default:
				why = "the replicas outvote the catalog: " + votes
			}
		}
	case len(sources) == 0:
		why = "no node has good bytes to repair it from: " + votes
	}
	for i := range f.Copies {
		c := &f.Copies[i]
		switch {
		case !c.Disputed, c.Found == f.SHA256:
		case why != "":
			j.Undecided = append(j.Undecided, Undecided{Name: f.Name, Replica: c.Replica, Why: why})
		default:
			j.Verdicts = append(j.Verdicts, catalog.Verdict{Name: f.Name, Replica: c.Replica, Bad: true, Votes: votes})
		}
	}
	return nil
}

// short returns the digest's first digits, enough to tell digests apart by eye.
func short(d catalog.Digest) string { return d.String()[:8] }
