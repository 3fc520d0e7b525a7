package duty_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/duty"
)

// file enters a file, new or known, and brings its copies to the states: OK, FAILED, CORRUPT (disputed, with
// other bytes found; CORRUPT:x for the bytes x), UNREADABLE, MISSING (disputed), BAD (after the verdict).
func (s *script) file(name catalog.FileName, settings map[string]string) {
	if _, err := s.view().File(name); err != nil {
		source := settings["source"]
		if source == "" {
			source = s.names[0]
		}
		size := 100
		if text, ok := settings["size"]; ok {
			n, err := strconv.Atoi(text)
			s.check(err)
			size = n
		}
		s.apply(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: int64(size), SHA256: digest(string(name)), Collection: "web", Source: id(source)}}})
	}
	replicas, err := s.view().Replicas()
	s.check(err)
	for _, good := range []bool{true, false} { // good copies first, so that a verdict has something to go by
		for _, r := range replicas {
			if state := settings[string(r.Name)]; state != "" && (state == "OK") == good {
				s.bring(name, r.Name, state)
			}
		}
	}
	if _, ok := settings["released"]; ok {
		f, err := s.view().File(name)
		s.check(err)
		s.apply(catalog.ReleaseFiles, catalog.Releases{Node: f.Source, Files: []catalog.FileName{name}})
	}
}

func (s *script) bring(name catalog.FileName, replica catalog.ReplicaName, state string) {
	p, err := s.view().Placement(replica, name.Shard())
	s.check(err)
	f, err := s.view().File(name)
	s.check(err)
	report := func(state catalog.StoreState) {
		s.apply(catalog.ReportCopies, catalog.CopyReports{Node: p.Holder, Copies: []catalog.CopyReport{{Name: name, State: state, SHA256: digest(string(name))}}})
	}
	if state == "FAILED" {
		report(catalog.UploadFailed)
		return
	}
	if f.Copy(replica).State != catalog.UploadCompleted {
		report(catalog.UploadCompleted)
	}
	word, bytes, _ := strings.Cut(state, ":")
	finding := catalog.Finding{Name: name, FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: digest("corrupt " + bytes + string(replica))}
	switch word {
	case "OK":
		return
	case "MISSING":
		finding = catalog.Finding{Name: name, FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}
	case "UNREADABLE":
		finding.Found = catalog.Digest{}
	case "CORRUPT":
		if bytes != "" {
			finding.Found = digest(bytes)
		}
	}
	s.apply(catalog.FindCopies, catalog.Findings{Node: p.Holder, Files: []catalog.Finding{finding}})
	if word == "BAD" {
		s.apply(catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: name, Replica: replica, Bad: true, Votes: "votes"}}})
	}
}

// job makes a job: channel=C node=N started wish=W.
func (s *script) job(settings map[string]string) {
	s.apply(catalog.CreateJob, catalog.JobCreation{Harvest: "h", Collection: "web", Channel: settings["channel"], Submit: true,
		Spec: json.RawMessage(`{"name":"j","seeds":["http://localhost/"]}`)})
	jobs, err := s.view().Jobs("", 0, 0)
	s.check(err)
	ref := catalog.JobRef{ID: jobs[len(jobs)-1].ID, Node: id(settings["node"]), Attempt: 1}
	if settings["node"] != "" {
		s.apply(catalog.ClaimJob, ref)
	}
	if _, ok := settings["started"]; ok {
		s.apply(catalog.StartJob, ref)
	}
	if wish := settings["wish"]; wish != "" {
		s.apply(catalog.WishJob, catalog.JobWishing{ID: ref.ID, Wish: catalog.JobWish(wish)})
	}
}

// ask returns a duty's answer.
func (s *script) ask(args []string) []string {
	v := s.view()
	switch args[0] {
	case "fetches": // fetches NODE [n]
		page, err := duty.Fetches(v, id(args[1]), s.alive, duty.Clock{Now: s.stamp(), Seen: s.seen}, catalog.Cursor{}, count(args, 2))
		return s.page(page, err)
	case "records":
		page, err := duty.ChecksumFetches(v, id(args[1]), duty.Clock{Now: s.stamp(), Seen: s.seen}, catalog.Cursor{}, 100)
		return s.page(page, err)
	case "needed":
		page, err := duty.Needed(v, id(args[1]), s.alive, duty.Clock{Now: s.stamp(), Seen: s.seen}, "", 100)
		return s.page(page.Page, err)
	case "neededof": // neededof NODE FILE...
		var names []catalog.FileName
		for _, name := range args[2:] {
			names = append(names, catalog.FileName(name))
		}
		page, err := duty.NeededOf(v, id(args[1]), s.alive, duty.Clock{Now: s.stamp(), Seen: s.seen}, names)
		page.Done = true
		return append(s.page(page.Page, err), fmt.Sprint("idle ", page.Idle))
	case "releases":
		names, _, err := duty.ReleasesDue(v, id(args[1]), "", 100)
		s.check(err)
		return []string{fmt.Sprint("release ", names)}
	case "claims": // claims NODE FREE CHANNEL...
		refs, err := duty.Claims(v, duty.Claimant{Self: id(args[1]), Free: count(args, 2), Channels: args[3:]})
		s.check(err)
		out := "claim"
		for _, r := range refs {
			out += fmt.Sprint(" ", r.ID)
		}
		return []string{out}
	case "running":
		jobs, err := duty.Running(v, id(args[1]))
		s.check(err)
		out := "running"
		for _, j := range jobs {
			out += fmt.Sprint(" ", j.ID)
		}
		return []string{out}
	case "lost":
		ends, err := duty.LostJobs(v, duty.Contacts{Since: time.UnixMilli(1_000_000), Heard: s.heard}, s.now, 6*time.Hour, 10*time.Minute)
		s.check(err)
		out := []string{fmt.Sprintf("%d lost", len(ends))}
		for _, e := range ends {
			out = append(out, fmt.Sprintf("lost %d attempt=%d node=%s: %s", e.ID, e.Attempt, e.Node, e.Reason))
		}
		return out
	case "audits": // audits NODE
		shards, err := duty.AuditsDue(v, id(args[1]), s.stamp(), 24*time.Hour, 10)
		s.check(err)
		return []string{fmt.Sprint("audit ", shards)}
	case "verdicts":
		return s.verdicts()
	case "place": // place REPLICA MAX
		return s.place(catalog.ReplicaName(args[1]), count(args, 2))
	case "fill":
		return s.fill()
	}
	s.t.Fatalf("script: unknown word %q", args[0])
	return nil
}

func count(args []string, i int) int {
	if i >= len(args) {
		return 100
	}
	n, err := strconv.Atoi(args[i])
	if err != nil {
		panic(err)
	}
	return n
}

func from(all []catalog.Holding) string {
	out := ""
	for _, h := range all {
		out += " " + string(h.Node)
		if h.Source {
			out += "(source)"
		}
	}
	return out
}

func (s *script) page(page duty.Page, err error) []string {
	s.check(err)
	var out []string
	for _, f := range page.Fetches {
		if f.Record {
			out = append(out, "record "+string(f.File.Name))
		} else {
			out = append(out, "fetch "+string(f.File.Name)+" from="+strings.TrimSpace(from(f.Sources)))
		}
	}
	if page.Wake != 0 {
		out = append(out, "more in "+since(s.now, page.Wake))
	}
	if page.Stuck > 0 {
		out = append(out, fmt.Sprintf("%d stuck", page.Stuck))
	}
	if !page.Done {
		out = append(out, "and more behind "+string(page.Next.After))
	}
	if len(out) == 0 {
		out = []string{"nothing"}
	}
	return out
}

// verdicts asks for the verdicts and carries them out.
func (s *script) verdicts() []string {
	j, err := duty.Verdicts(s.view(), s.stamp(), "", 100)
	s.check(err)
	var out []string
	for _, v := range j.Verdicts {
		out = append(out, fmt.Sprintf("%s in %s is bad: %s", v.Name, v.Replica, v.Votes))
	}
	for _, u := range j.Undecided {
		out = append(out, fmt.Sprintf("%s in %s: %s", u.Name, u.Replica, u.Why))
	}
	if len(j.Verdicts) > 0 {
		s.apply(catalog.JudgeCopies, catalog.Verdicts{Copies: j.Verdicts})
	}
	return out
}

// place asks for the assignments, carries them out, and says where the shards are then.
func (s *script) place(replica catalog.ReplicaName, max int) []string {
	assignments, err := duty.Place(s.view(), replica, s.rooms(), max)
	s.check(err)
	for _, a := range assignments {
		if len(a.Shards) > 512 {
			s.t.Errorf("assignment of %d shards", len(a.Shards))
		}
		s.apply(catalog.AssignShards, a)
	}
	layout, err := s.view().Layout(replica)
	s.check(err)
	holds, gets := map[string]int{}, map[string]int{}
	for _, p := range layout {
		holds[string(p.Holder)]++
		gets[string(p.Next)]++
	}
	out := []string{fmt.Sprintf("%d assignments", len(assignments))}
	names := slices.Clone(s.names)
	slices.Sort(names)
	for _, name := range names {
		if n := string(id(name)); holds[n]+gets[n] > 0 {
			out = append(out, fmt.Sprintf("%s holds %d gets %d", name, holds[n], gets[n]))
		}
	}
	return out
}

// fill takes the walks over replicas to their ends.
func (s *script) fill() []string {
	for n := 0; ; n++ {
		steps, err := duty.Fill(s.view())
		s.check(err)
		if len(steps) == 0 {
			return []string{fmt.Sprintf("%d steps", n)}
		}
		s.apply(catalog.FillReplica, steps[0])
	}
}
