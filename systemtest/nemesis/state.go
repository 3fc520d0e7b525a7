package nemesis

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"holdfast/catalog"
)

// Final is what was found after all faults had ended and the cluster had time to mend.
type Final struct {
	Unsettled string            // why the cluster did not come to rest, "" if it did
	Views     []View            // what each node's catalog says
	Reads     []Op              // of every acknowledged file, whole, from every node
	Disks     map[string]Disk   // by node
	Ends      []End             // how each process ended
	Logs      map[string]string // what each node's processes wrote
}

// View is one node's catalog.
type View struct {
	Node  string
	Parts map[string]string // a list as JSON, by what is listed
	Files []File
	Trail []catalog.Event
}

// File is a file as a catalog has it.
type File struct {
	Name, SHA256 string
	Removed      bool
	Holders      map[string]string // of verified copies of bytes: the node by the replica
}

// Disk is what lies in a node's folders for files.
type Disk struct {
	Files    map[string]string // SHA-256 by name, of the bytes as they lie there
	Listed   map[string]string // SHA-256 by name, as the manifests have it
	Sums     []string          // what sha256sum -c complains about
	Leftover []string          // what is left where files only pass through
}

// End is how a process ended.
type End struct {
	Node    string
	Meant   string // killed, stopped, refused (to start), or "" when it ended by itself
	Code    int    // -1 for a signal
	Problem string
}

// CheckFinal checks what must be true when all is over. Damage says what may be missed.
func CheckFinal(ops []Op, damage []Damage, f Final) []Violation {
	var all []Violation
	if f.Unsettled != "" {
		all = append(all, Violation{Kind: "does not settle", Detail: f.Unsettled})
	}
	all = append(all, lostFiles(ops, f)...)
	all = append(all, lostPages(f)...)
	all = append(all, catalogsDiffer(f.Views)...)
	all = append(all, brokenTrails(f.Views)...)
	all = append(all, lostCopies(damage, f.Views)...)
	all = append(all, disksDiffer(f)...)
	all = append(all, badEnds(f)...)
	return all
}

// lostFiles finds acknowledged files that not every node gives out, whole and right.
func lostFiles(ops []Op, f Final) (bad []Violation) {
	for _, o := range ops {
		if o.Act != Put || !o.OK() || o.Lie {
			continue
		}
		for _, v := range f.Views {
			i := slices.IndexFunc(f.Reads,
				func(r Op) bool { return r.Node == v.Node && r.Subject == o.Subject && r.Act == Get })
			switch {
			case i < 0:
				bad = append(bad, violation("acknowledged file not read", o, "nobody read it from %s", v.Node))
			case !f.Reads[i].OK() || f.Reads[i].Sum != o.Digest:
				bad = append(bad, violation("acknowledged file lost", o, "%s answers %v", v.Node, f.Reads[i]))
			}
		}
	}
	return bad
}

// lostPages finds pages of acknowledged files that not every node shows.
func lostPages(f Final) (bad []Violation) {
	for _, r := range f.Reads {
		if r.Act == Replay && !r.OK() {
			bad = append(bad, violation("acknowledged page lost", r, "it is in the archive"))
		}
	}
	return bad
}

// catalogsDiffer finds nodes whose catalogs do not say the same.
func catalogsDiffer(views []View) (bad []Violation) {
	parts := map[string]bool{}
	for _, v := range views {
		for part := range v.Parts {
			parts[part] = true
		}
	}
	for _, v := range views {
		for _, part := range slices.Sorted(maps.Keys(parts)) {
			if other := views[0].Parts[part]; v.Parts[part] != other {
				bad = append(bad, Violation{Kind: "catalogs differ", About: part,
					Detail: fmt.Sprintf("%s and %s: %s", views[0].Node, v.Node, firstDifference(other, v.Parts[part]))})
			}
		}
	}
	return bad
}

// firstDifference shows where two texts begin to differ.
func firstDifference(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from := max(0, i-80)
	return fmt.Sprintf("…%.160s… and …%.160s…", a[min(from, len(a)):], b[min(from, len(b)):])
}

// brokenTrails finds audit trails that do not hang together.
func brokenTrails(views []View) (bad []Violation) {
	for _, v := range views {
		if err := catalog.VerifyEvents(v.Trail, catalog.Digest{}); err != nil {
			bad = append(bad, Violation{Kind: "trail broken", About: v.Node, Detail: err.Error()})
		}
	}
	return bad
}

// lostCopies finds verdicts that a copy was bad or missing where no fault had touched it.
func lostCopies(damage []Damage, views []View) (bad []Violation) {
	if len(views) == 0 {
		return nil
	}
	for _, e := range views[0].Trail {
		if e.Act != string(catalog.JudgeCopies) || !strings.HasPrefix(e.Detail, "bad") {
			continue
		}
		name, replica, _ := strings.Cut(e.Subject, "/")
		if !slices.ContainsFunc(damage, func(d Damage) bool {
			return d.Replica == replica &&
				(d.File == name || d.File == "")
		}) {
			bad = append(bad, Violation{Kind: "copy lost without a fault", About: name,
				Detail: fmt.Sprintf("%s: %s", replica, e.Detail)})
		}
	}
	return bad
}

// disksDiffer finds copies that are not where the catalog has them, or not as it has them, and files that lie where it
// has none.
func disksDiffer(f Final) (bad []Violation) {
	if len(f.Views) == 0 {
		return nil
	}
	meant := map[string]map[string]string{} // SHA-256 by node and name
	for _, file := range f.Views[0].Files {
		for _, node := range file.Holders {
			if meant[node] == nil {
				meant[node] = map[string]string{}
			}
			if !file.Removed {
				meant[node][file.Name] = file.SHA256
			}
		}
	}
	for _, node := range slices.Sorted(maps.Keys(f.Disks)) {
		d := f.Disks[node]
		say := func(kind, name, format string, args ...any) {
			bad = append(bad, Violation{Kind: kind, About: name, Detail: node + ": " + fmt.Sprintf(format, args...)})
		}
		for _, name := range slices.Sorted(maps.Keys(meant[node])) {
			if sum := d.Files[name]; sum != meant[node][name] {
				say("copy counted, not there", name, "the catalog counts SHA-256 %s, the disk has %s",
					meant[node][name], cmp.Or(sum, "no such file"))
			}
			if sum := d.Listed[name]; sum != meant[node][name] {
				say("manifest wrong", name, "it should list SHA-256 %s, it has %s", meant[node][name],
					cmp.Or(sum, "no line"))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(d.Files)) {
			if meant[node][name] == "" {
				say("bytes nobody asks about", name, "%.12s lies there, the catalog counts on no copy", d.Files[name])
			}
		}
		for _, complaint := range d.Sums {
			say("sha256sum", "", "%s", complaint)
		}
		for _, left := range d.Leftover {
			say("left over", "", "%s", left)
		}
	}
	return bad
}

// crash is what a Go program or its libraries print when something broke inside.
var crash = regexp.MustCompile(`(?m)^.*(panic:|fatal error:|SIGBUS|SIGSEGV|DATA RACE|unexpected fault address|` +
	`goroutine \d+ \[running\]).*$`)

// badEnds finds processes that nobody killed, stops that were not clean, and signs of a crash.
func badEnds(f Final) (bad []Violation) {
	for _, e := range f.Ends {
		switch {
		case e.Meant == "":
			bad = append(bad, Violation{Kind: "process died", About: e.Node,
				Detail: fmt.Sprintf("exit code %d %s", e.Code, e.Problem)})
		case e.Meant == "refused" && e.Code <= 0:
			bad = append(bad, Violation{Kind: "unclean refusal", About: e.Node,
				Detail: fmt.Sprintf("exit code %d %s", e.Code, e.Problem)})
		case e.Meant == "stopped" && (e.Code != 0 || e.Problem != ""):
			bad = append(bad, Violation{Kind: "unclean stop", About: e.Node,
				Detail: fmt.Sprintf("exit code %d %s", e.Code, e.Problem)})
		}
	}
	for _, node := range slices.Sorted(maps.Keys(f.Logs)) {
		if at := crash.FindStringIndex(f.Logs[node]); at != nil {
			bad = append(bad, Violation{Kind: "crash in the log", About: node,
				Detail: fmt.Sprintf("%.1500s", f.Logs[node][at[0]:])})
		}
	}
	return bad
}
