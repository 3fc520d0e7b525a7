package catalog_test

import (
	"fmt"
	"strconv"
	"strings"

	"holdfast/catalog"
)

// show answers the scripts' questions.
func (p *player) show(word string, args []string) []string {
	v := p.view()
	switch word {
	case "show": // show FILE...
		var out []string
		for _, name := range args {
			f, err := v.File(catalog.FileName(name))
			if err != nil {
				out = append(out, fmt.Sprintf("%s: %v", name, err))
				continue
			}
			out = append(out, showFile(f))
		}
		return out
	case "owed": // owed REPLICA
		files, _, err := v.Owed(catalog.ReplicaName(args[0]), nil, catalog.Cursor{}, 100)
		p.check(err)
		return []string{"owed by " + args[0] + ":" + fileNames(files)}
	case "releases": // releases NODE
		files, err := v.Releases(id(args[0]), "", 100)
		p.check(err)
		left, err := v.Left(id(args[0]))
		p.check(err)
		out := "to be released by " + args[0] + ":" + fileNames(files)
		for _, l := range left {
			out += fmt.Sprintf(" shard=%s/%s", l.Replica, l.Shard)
		}
		return []string{out}
	case "disputed":
		files, err := v.Disputed("", 100)
		p.check(err)
		return []string{"disputed:" + fileNames(files)}
	case "totals": // totals REPLICA
		t, err := v.Totals(catalog.ReplicaName(args[0]))
		p.check(err)
		return []string{fmt.Sprintf("%s: %+v", args[0], t)}
	case "covering": // covering FILE
		f, err := v.File(catalog.FileName(args[0]))
		p.check(err)
		holdings, err := v.CoveringFile(&f)
		p.check(err)
		out := "covering " + args[0] + ":"
		for _, h := range holdings {
			out += " " + string(h.Node)
			if h.Source {
				out += "(source)"
			}
		}
		return []string{out}
	case "place": // place FILE REPLICA
		at, err := v.Placement(catalog.ReplicaName(args[1]), catalog.FileName(args[0]).Shard())
		p.check(err)
		return []string{fmt.Sprintf("%s in %s: holder=%s next=%s", args[0], args[1], at.Holder, at.Next)}
	case "job": // job ID
		n, err := strconv.ParseUint(args[0], 10, 64)
		p.check(err)
		j, err := v.Job(n)
		p.check(err)
		return []string{fmt.Sprintf("job %d: %s attempt=%d node=%s wish=%q reason=%q next=%d", j.ID, j.State, j.Attempt, j.Node, j.Wish, j.Reason, j.Next)}
	case "members":
		members, err := v.Members()
		p.check(err)
		out := "members:"
		for _, m := range members {
			out += " " + m.Name
		}
		return []string{out}
	case "trail": // trail: acts since the founding
		events, err := v.Trail(0, 0)
		p.check(err)
		var out []string
		for _, e := range events {
			if e.Act != string(catalog.AssignShards) && !strings.HasPrefix(e.Act, "cluster") && !strings.HasPrefix(e.Act, "token") {
				out = append(out, strings.TrimSpace(e.Act+" "+e.Subject+" "+e.Detail))
			}
		}
		_, err = catalog.VerifyTrail(p)
		p.check(err)
		return out
	}
	p.t.Fatalf("script: unknown word %q", word)
	return nil
}

func showFile(f catalog.File) string {
	out := fmt.Sprintf("%s source=%s released=%t", f.Name, f.Source, f.Released)
	if f.Removed != 0 {
		out += " removed"
	}
	for _, c := range f.Copies {
		out += fmt.Sprintf("\n  %s %s", c.Replica, c.State)
		if c.FileList != catalog.NoFileListStatus || c.Checksum != catalog.ChecksumUnknown {
			out += fmt.Sprintf(" %s/%s", c.FileList, c.Checksum)
		}
		if c.Tries > 0 {
			out += fmt.Sprintf(" tries=%d", c.Tries)
		}
		if c.Reason != "" {
			out += fmt.Sprintf(" reason=%q", c.Reason)
		}
		if c.Disputed {
			out += " disputed"
		}
		if c.Surplus {
			out += " surplus at " + string(c.Node)
		}
	}
	return out
}

func fileNames(files []catalog.File) string {
	out := ""
	for _, f := range files {
		out += " " + string(f.Name)
	}
	return out
}
