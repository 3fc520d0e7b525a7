//go:build nemesis

package nemesis

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/systemtest"
)

// How long the cluster has to mend by itself.
const (
	settleTime = 100 * time.Second
	auditTime  = 60 * time.Second
	sweepTime  = 60 * time.Second // for what is left over to go
	sameTime   = 20 * time.Second
)

// final waits until the cluster is at rest, has it audited, and looks at everything.
func (h *trial) final(ctx context.Context) Final {
	var f Final
	for _, step := range []func() error{
		func() error { return systemtest.Eventually(ctx, settleTime, func() error { return h.settled(ctx) }) },
		func() error { return h.audit(ctx) },
		func() error { return systemtest.Eventually(ctx, settleTime, func() error { return h.settled(ctx) }) },
	} {
		if err := step(); err != nil {
			f.Unsettled = err.Error()
			break
		}
	}
	for _, node := range Nodes() {
		h.died(node)
	}
	limit := sweepTime
	if f.Unsettled != "" {
		limit = time.Second // it had its time
	}
	_ = systemtest.Eventually(ctx, limit, func() error {
		f.Views, f.Disks = h.views(ctx), h.disks(ctx)
		if bad := disksDiffer(f); len(bad) > 0 {
			return errors.New(bad[0].String())
		}
		return nil
	})
	h.finalReads(ctx, &f)
	h.logged = h.logs()
	if f.Unsettled != "" && os.Getenv("KEEP") != "" {
		h.dump()
	}
	for _, node := range Nodes() {
		if h.c.PID(node) != 0 {
			h.ended(node, "stopped", h.c.Halt(node, 30*time.Second))
		}
	}
	f.Ends, f.Logs = h.ends, h.logs()
	if len(h.dumped) > 0 {
		f.Logs = h.logged
	}
	return f
}

// dump has every node print what all its goroutines do, which ends it.
func (h *trial) dump() {
	for _, node := range Nodes() {
		if pid := h.c.PID(node); pid != 0 && syscall.Kill(pid, syscall.SIGQUIT) == nil {
			_ = h.c.Halt(node, 10*time.Second)
			h.dumped = append(h.dumped, node)
		}
	}
}

// disks reads the folders for files of all nodes.
func (h *trial) disks(ctx context.Context) map[string]Disk {
	all := map[string]Disk{}
	for _, node := range Nodes() {
		all[node] = h.disk(ctx, node)
	}
	return all
}

// logs returns what the nodes wrote.
func (h *trial) logs() map[string]string {
	all := map[string]string{}
	for _, node := range Nodes() {
		text, err := os.ReadFile(filepath.Join(h.c.Dir, node+".log"))
		if err != nil {
			h.t.Error(err)
		}
		all[node] = string(text)
	}
	return all
}

// settled reports what is not at rest yet, as every node sees it.
func (h *trial) settled(ctx context.Context) error {
	for _, node := range Nodes() {
		if !h.c.Running(node) {
			return fmt.Errorf("%s does not run", node)
		}
		var st wire.Status
		if _, err := h.call(ctx, node, "GET", "/status", nil, &st); err != nil {
			return err
		}
		if !st.Node.Ready || !st.Node.Quorum || len(st.Nodes) != len(Nodes()) {
			return fmt.Errorf("%s: ready %v, quorum %v, %d nodes", node, st.Node.Ready, st.Node.Quorum, len(st.Nodes))
		}
		for _, n := range st.Nodes {
			if n.Presence.State != "alive" {
				return fmt.Errorf("%s says that %s is %s", node, n.Name, n.Presence.State)
			}
		}
		for _, r := range st.Replicas {
			if r.Held < catalog.Shards || r.Moving > 0 || r.Owed > 0 || r.Disputed > 0 || r.Good != r.Files {
				return fmt.Errorf("%s: replica %s holds %d shards, %d move; %d of %d files are good, %d owed, %d disputed (%s)%s", node, r.Name, r.Held, r.Moving,
					r.Good, r.Files, r.Owed, r.Disputed, strings.Join(st.Problems, "; "), h.owed(ctx, node))
			}
		}
	}
	return errors.Join(h.jobsEnded(ctx), h.indexed(ctx))
}

// owed shows the first files that are not complete.
func (h *trial) owed(ctx context.Context, node string) string {
	var out strings.Builder
	files, err := list[wire.File](ctx, h, node, "/files")
	if err != nil {
		return err.Error()
	}
	n := 0
	for _, f := range files {
		if n == 3 {
			break
		}
		if !f.Complete {
			n++
			fmt.Fprintf(&out, "\n      %s, shard %s, source %s, released %v:", f.Name, f.Shard, f.Source, f.Released)
			for _, c := range f.Copies {
				fmt.Fprintf(&out, " %s %s since %v, %d tries, %s %s;", c.Replica, c.State, c.Since, c.Tries, c.Node, c.Reason)
			}
		}
	}
	return out.String()
}

// indexed reports files that cannot be found by their captures yet.
func (h *trial) indexed(ctx context.Context) error {
	var all wire.Page[wire.IndexStatus]
	if _, err := h.call(ctx, "north-1", "GET", "/index", nil, &all); err != nil {
		return err
	}
	for _, x := range all.Items {
		if !strings.HasPrefix(x.Name, "third") && (x.Pending > 0 || x.Rebuilding) {
			return fmt.Errorf("index of %s: %d files wait, %s", x.Name, x.Pending, x.Detail)
		}
	}
	return nil
}

// jobsEnded reports jobs that are not done. None of them was stopped.
func (h *trial) jobsEnded(ctx context.Context) error {
	jobs, err := list[wire.Job](ctx, h, "south-1", "/jobs")
	for _, j := range jobs {
		if j.State != wire.JobDone {
			return fmt.Errorf("job %d is %s: %s", j.ID, j.State, j.Reason)
		}
	}
	return err
}

// audit has all copies read again.
func (h *trial) audit(ctx context.Context) error {
	var made wire.Audit
	if err := h.administer(ctx, "audit", func(by string) error {
		_, err := h.call(ctx, by, "POST", "/audits", wire.AuditRequest{}, &made)
		return err
	}); err != nil {
		return err
	}
	return systemtest.Eventually(ctx, auditTime, func() error {
		var now wire.Audit
		if _, err := h.call(ctx, "north-1", "GET", "/audits/"+made.ID, nil, &now); err != nil {
			return err
		}
		if now.State != "done" {
			return fmt.Errorf("audit %s is %s: %+v", now.ID, now.State, now.Nodes)
		}
		return nil
	})
}

// leftover lists files that are where they only pass through.
func (h *trial) leftover(node string) (left []string) {
	for _, room := range []string{"incoming", "outbox"} {
		_ = filepath.WalkDir(filepath.Join(h.c.Dir, node, room), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				left = append(left, filepath.Join(room, d.Name()))
			}
			return nil
		})
	}
	return left
}

// list returns all pages of a list.
func list[T any](ctx context.Context, h *trial, node, path string) (all []T, err error) {
	query := url.Values{"limit": {"1000"}}
	for {
		var page wire.Page[T]
		if _, err := h.call(ctx, node, "GET", path+"?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.Next == "" {
			return all, nil
		}
		query.Set("after", page.Next)
	}
}

// views returns every node's catalog; they have some time to say the same, since a node learns a little later.
func (h *trial) views(ctx context.Context) (views []View) {
	_ = systemtest.Eventually(ctx, sameTime, func() error {
		views = nil
		for _, node := range Nodes() {
			v, err := h.view(ctx, node)
			if err != nil {
				v.Parts = map[string]string{"error": err.Error()}
			}
			views = append(views, v)
		}
		if bad := catalogsDiffer(views); len(bad) > 0 {
			return errors.New(bad[0].String())
		}
		return nil
	})
	return views
}

// view reads a node's catalog through its API.
func (h *trial) view(ctx context.Context, node string) (View, error) {
	v := View{Node: node, Parts: map[string]string{}}
	files, err := list[wire.File](ctx, h, node, "/files")
	if err != nil {
		return v, err
	}
	var nodes wire.Page[wire.Node]
	if _, err := h.call(ctx, node, "GET", "/nodes", nil, &nodes); err != nil {
		return v, err
	}
	names := map[string]string{}
	for i, n := range nodes.Items {
		names[n.ID] = n.Name
		nodes.Items[i].Presence = wire.Presence{}
	}
	v.Parts["files"], v.Parts["nodes"] = text(files), text(nodes)
	shards := map[string]map[string]string{}
	for _, replica := range []string{"north", "south", "third"} {
		all, err := list[wire.Shard](ctx, h, node, "/replicas/"+replica+"/shards")
		if err != nil {
			return v, err
		}
		v.Parts["shards of "+replica] = text(all)
		shards[replica] = map[string]string{}
		for _, s := range all {
			shards[replica][s.Shard] = names[s.Holder]
		}
	}
	for _, f := range files {
		one := File{Name: string(f.Name), SHA256: f.SHA256, Removed: !f.Removed.IsZero(), Holders: map[string]string{}}
		for _, c := range f.Copies {
			if c.State == wire.UploadCompleted && c.Replica != "third" {
				one.Holders[string(c.Replica)] = shards[string(c.Replica)][f.Shard]
			}
		}
		v.Files = append(v.Files, one)
	}
	return v, h.viewRest(ctx, &v)
}

// viewRest reads what is short of a node's catalog, and the trail.
func (h *trial) viewRest(ctx context.Context, v *View) error {
	for part, path := range map[string]string{"replicas": "/replicas", "collections": "/collections", "join tokens": "/join-tokens", "access tokens": "/access-tokens"} {
		a, err := h.call(ctx, v.Node, "GET", path, nil, nil)
		if err != nil {
			return err
		}
		v.Parts[part] = string(a.body)
	}
	jobs, err := list[wire.Job](ctx, h, v.Node, "/jobs")
	if err != nil {
		return err
	}
	v.Parts["jobs"] = text(jobs)
	trail, err := list[wire.Event](ctx, h, v.Node, "/trail")
	if err != nil {
		return err
	}
	v.Parts["trail"] = text(trail)
	for _, e := range trail {
		event := catalog.Event{Seq: e.Seq, Index: e.Index, At: catalog.At(e.At), Actor: e.Actor, Act: e.Act, Subject: e.Subject, Detail: e.Detail}
		if err := errors.Join(event.Previous.UnmarshalText([]byte(e.Previous)), event.Hash.UnmarshalText([]byte(e.Hash))); err != nil {
			return err
		}
		v.Trail = append(v.Trail, event)
	}
	return nil
}

func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// finalReads reads every acknowledged file whole from every node, and what the administrator's acts came to.
func (h *trial) finalReads(ctx context.Context, f *Final) {
	done := map[string]bool{}
	for _, o := range h.history.Ops() {
		if done[o.Subject] {
			continue
		}
		done[o.Subject] = true
		for i, node := range Nodes() {
			switch o.Act {
			case Put:
				h.finalFile(ctx, node, o.Subject, f.Views[i])
				if !slices.Contains(h.acked, o.Subject) {
					continue
				}
				f.Reads = append(f.Reads, h.finalGet(ctx, node, o.Subject))
				if IsPages(o.Subject) {
					f.Reads = append(f.Reads, h.page(ctx, Op{Node: node, Subject: o.Subject, From: int64(o.ID % pagesPerFile)}))
				}
			case Weight, Collect, Revoke:
				h.finalAdmin(ctx, node, o)
			}
		}
	}
}

func (h *trial) finalGet(ctx context.Context, node, name string) Op {
	o := Op{Node: node, Act: Get, Subject: name, Begin: h.history.Now()}
	a := h.ask(ctx, node, "api", "GET", "/api/v1/files/"+name+"/content", nil, nil)
	return h.record(readAnswer(o, a), a)
}

func (h *trial) finalFile(_ context.Context, node, name string, v View) {
	o := Op{Node: node, Act: FinalRead, Subject: name, Begin: h.history.Now()}
	if i := slices.IndexFunc(v.Files, func(f File) bool { return f.Name == name }); i >= 0 {
		o.Digest = v.Files[i].SHA256
	}
	h.record(o, answer{status: 200, clean: v.Parts["error"] == ""})
}

// finalAdmin reads what an administrator has set: -1 for what is not there.
func (h *trial) finalAdmin(ctx context.Context, node string, of Op) {
	o := Op{Node: node, Act: FinalRead, Subject: of.Subject, Begin: h.history.Now(), Value: -1}
	_, name, _ := strings.Cut(of.Subject, " ")
	var a answer
	switch of.Act {
	case Weight:
		var n wire.Node
		a, _ = h.call(ctx, node, "GET", "/nodes/"+name, nil, &n)
		o.Value = int64(n.Weight)
	case Collect:
		var all wire.Page[wire.Collection]
		a, _ = h.call(ctx, node, "GET", "/collections", nil, &all)
		if slices.ContainsFunc(all.Items, func(c wire.Collection) bool { return string(c.Name) == name }) {
			o.Value = 1
		}
	case Revoke:
		var all wire.Page[wire.JoinToken]
		a, _ = h.call(ctx, node, "GET", "/join-tokens", nil, &all)
		if slices.ContainsFunc(all.Items, func(t wire.JoinToken) bool { return t.ID == name && t.State == "revoked" }) {
			o.Value = 1
		}
	}
	h.record(o, a)
}

// disk reads what lies in a node's folders for files, and asks sha256sum.
func (h *trial) disk(ctx context.Context, node string) Disk {
	d := Disk{Files: map[string]string{}, Listed: map[string]string{}, Leftover: h.leftover(node)}
	root := filepath.Join(h.c.Dir, node, "files")
	paths, err := stored(root)
	if err != nil {
		d.Sums = append(d.Sums, err.Error())
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			d.Sums = append(d.Sums, err.Error())
		}
		d.Files[filepath.Base(path)] = Sum(content)
	}
	manifests, err := filepath.Glob(filepath.Join(root, "*", "manifest-sha256.txt"))
	if err != nil {
		d.Sums = append(d.Sums, err.Error())
	}
	for _, m := range manifests {
		listed, err := os.ReadFile(m)
		if err != nil {
			d.Sums = append(d.Sums, err.Error())
		}
		for lines := bufio.NewScanner(bytes.NewReader(listed)); lines.Scan(); {
			if sum, name, ok := strings.Cut(lines.Text(), "  "); ok {
				d.Listed[name] = sum
			}
		}
		if len(listed) == 0 {
			continue
		}
		sums := exec.CommandContext(ctx, "sha256sum", "-c", "--strict", "--quiet", filepath.Base(m))
		sums.Dir = filepath.Dir(m)
		if out, err := sums.CombinedOutput(); err != nil {
			d.Sums = append(d.Sums, fmt.Sprintf("%s: %v: %s", filepath.Base(filepath.Dir(m)), err, bytes.TrimSpace(out)))
		}
	}
	return d
}
