package systemtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// Status returns how the cluster stands as the node sees it, healthy or not.
func (c *Cluster) Status(ctx context.Context, node string) (wire.Status, error) {
	var st wire.Status
	out, err := c.Do(ctx, node, "status", "--json")
	if bad := json.Unmarshal(out, &st); bad != nil {
		return st, errors.Join(err, bad)
	}
	return st, nil
}

// Settled returns when every node is alive and every shard of every replica has its holder, and, in clusters of three
// and more, when three nodes vote.
func (c *Cluster) Settled(ctx context.Context, node string, limit time.Duration) error {
	return Eventually(ctx, limit, func() error {
		st, err := c.Status(ctx, node)
		if err != nil {
			return err
		}
		voters := 0
		for _, n := range st.Nodes {
			if n.Presence.Voter {
				voters++
			}
			if n.Presence.State != "alive" {
				return fmt.Errorf("%s is %s", n.Name, n.Presence.State)
			}
		}
		for _, r := range st.Replicas {
			if r.Held < catalog.Shards || r.Moving > 0 {
				return fmt.Errorf("replica %s: %d shards held, %d moving", r.Name, r.Held, r.Moving)
			}
		}
		if len(st.Nodes) < len(c.specs) || !st.Cluster.Quorum || voters < min(len(c.specs), 3) {
			return fmt.Errorf("%d nodes, %d voters, quorum %v", len(st.Nodes), voters, st.Cluster.Quorum)
		}
		return nil
	})
}

// Stored returns when every file is complete in every replica, none is owed or disputed, and every index has all that
// lies on its node.
func (c *Cluster) Stored(ctx context.Context, node string, limit time.Duration) ([]wire.File, error) {
	var files []wire.File
	err := Eventually(ctx, limit, func() error {
		st, err := c.Status(ctx, node)
		if err != nil {
			return err
		}
		for _, r := range st.Replicas {
			if r.Owed > 0 || r.Disputed > 0 || r.Good != r.Files {
				return fmt.Errorf("replica %s: %d of %d files good, %d owed, %d disputed", r.Name, r.Good, r.Files,
					r.Owed, r.Disputed)
			}
		}
		if files, err = c.Files(ctx, node, ""); err != nil {
			return err
		}
		for _, f := range files {
			if !f.Complete || !f.Released {
				return fmt.Errorf("%s: complete %v, released %v", f.Name, f.Complete, f.Released)
			}
		}
		var indexes wire.Page[wire.IndexStatus]
		if err := c.JSON(ctx, &indexes, node, "index", "status"); err != nil {
			return err
		}
		for _, x := range indexes.Items {
			indexed := !slices.ContainsFunc(c.specs,
				func(s Spec) bool { return s.Name == x.Name && s.Kind == "checksum" })
			if indexed && (x.Pending > 0 || x.Rebuilding || x.Files == 0 && len(files) > 0) {
				return fmt.Errorf("index of %s: %d files wait, %s", x.Name, x.Pending, x.Detail)
			}
		}
		return nil
	})
	return files, err
}

// Files lists the archive's files by prefix.
func (c *Cluster) Files(ctx context.Context, node, prefix string) ([]wire.File, error) {
	args := []string{"file", "list"}
	if prefix != "" {
		args = append(args, prefix)
	}
	var files wire.Page[wire.File]
	err := c.JSON(ctx, &files, node, args...)
	return files.Items, err
}

// Job returns a job as the node sees it.
func (c *Cluster) Job(ctx context.Context, node string, id uint64) (wire.Job, error) {
	var job wire.Job
	err := c.JSON(ctx, &job, node, "job", "show", fmt.Sprint(id))
	return job, err
}

// Done returns when the job is DONE, and fails at once when it ended otherwise.
func (c *Cluster) Done(ctx context.Context, node string, id uint64, limit time.Duration) (job wire.Job, err error) {
	var lost error
	err = Eventually(ctx, limit, func() error {
		if job, err = c.Job(ctx, node, id); err != nil {
			return err
		}
		switch job.State {
		case wire.JobDone:
			return nil
		case wire.JobFailed, wire.JobFailedRejected, wire.JobResubmitted:
			lost = fmt.Errorf("job %d is %s: %s", id, job.State, job.Reason)
			return nil
		}
		return fmt.Errorf("job %d is %s on %s: %+v", id, job.State, job.NodeName, job.Progress)
	})
	return job, errors.Join(err, lost)
}

// Captures asks a node for all captures of a URL pattern, as capture list has it.
func (c *Cluster) Captures(ctx context.Context, node, pattern string) ([]wire.Capture, error) {
	out, err := c.Do(ctx, node, "capture", "list", pattern, "--json")
	if err != nil {
		return nil, err
	}
	var all []wire.Capture
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one wire.Capture
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("capture list on %s: %q: %w", node, lines.Text(), err)
		}
		all = append(all, one)
	}
	return all, lines.Err()
}

// Paths returns where the archive's files lie on a node of a bitarchive replica, by their names.
func (c *Cluster) Paths(node string) (map[string]string, error) {
	paths := map[string]string{}
	err := filepath.WalkDir(filepath.Join(c.Dir, node, "files"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != manifest && d.Name() != rootMark &&
			!strings.HasPrefix(d.Name(), blocksMark) {
			paths[d.Name()] = path
		}
		return err
	})
	return paths, err
}

// The files in the folders for files that are none of the archive's.
const (
	manifest = "manifest-sha256.txt"
	rootMark = ".holdfast-root"

	blocksMark = ".blocks-" // begins the name of a file's block digests
)

// Manifests checks every shard folder of a node with sha256sum, and that its manifest lists every file in it. It
// returns how many files were checked.
func (c *Cluster) Manifests(ctx context.Context, node string) (int, error) {
	paths, err := c.Paths(node)
	if err != nil {
		return 0, err
	}
	folders := map[string][]string{}
	for name, path := range paths {
		folders[filepath.Dir(path)] = append(folders[filepath.Dir(path)], name)
	}
	for dir, names := range folders {
		listed, err := os.ReadFile(filepath.Join(dir, manifest))
		if err != nil {
			return 0, err
		}
		if n := bytes.Count(listed, []byte("\n")); n != len(names) {
			return 0, fmt.Errorf("%s: %d files, the manifest lists %d", dir, len(names), n)
		}
		cmd := exec.CommandContext(ctx, "sha256sum", "-c", "--strict", "--quiet", manifest)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("sha256sum -c in %s: %w: %s", dir, err, lastLines(out, 3))
		}
	}
	return len(paths), nil
}

// Complete checks that a file of a cluster of three has two verified copies and a verified checksum, and that an audit
// has found the same since.
func Complete(f wire.File) error {
	if len(f.Copies) != 3 || !f.Complete {
		return fmt.Errorf("%s has %d copies, complete %v", f.Name, len(f.Copies), f.Complete)
	}
	for _, copied := range f.Copies {
		if copied.State != wire.UploadCompleted || copied.Checksum != wire.ChecksumOK {
			return fmt.Errorf("%s: the copy of %s is %s, its checksum %s", f.Name, copied.Replica, copied.State,
				copied.Checksum)
		}
	}
	return nil
}

// Valid checks WARC files with the program, and with an independent validator (warccheck.py): no errors, and no
// warnings either.
func (c *Cluster) Valid(ctx context.Context, validator string, paths []string) error {
	out, err := exec.CommandContext(ctx, c.Program, append([]string{"warc", "check", "--json"}, paths...)...).Output()
	if err != nil {
		return fmt.Errorf("warc check: %w: %s", err, lastLines(out, 20))
	}
	var own struct {
		Items []struct {
			File     string            `json:"file"`
			Findings []json.RawMessage `json:"findings"`
		} `json:"items"`
	}
	if err := json.Unmarshal(out, &own); err != nil {
		return fmt.Errorf("warc check: %w", err)
	}
	for _, f := range own.Items {
		if len(f.Findings) > 0 {
			return fmt.Errorf("warc check of %s: %d findings: %s", f.File, len(f.Findings), f.Findings[0])
		}
	}
	out, err = exec.CommandContext(ctx, "python3", append([]string{validator, "--json"}, paths...)...).Output()
	if err != nil {
		return fmt.Errorf("warccheck: %w: %s", err, lastLines(out, 3))
	}
	checked := 0
	for answers := json.NewDecoder(bytes.NewReader(out)); answers.More(); checked++ {
		var f struct {
			File     string            `json:"file"`
			Errors   int               `json:"errors"`
			Warnings int               `json:"warnings"`
			Messages []json.RawMessage `json:"messages"`
		}
		if err := answers.Decode(&f); err != nil {
			return fmt.Errorf("warccheck: %w", err)
		}
		if f.Errors+f.Warnings > 0 {
			return fmt.Errorf("warccheck of %s: %d errors, %d warnings: %.500s", f.File, f.Errors, f.Warnings,
				f.Messages)
		}
	}
	if len(own.Items) != len(paths) || checked != len(paths) {
		return fmt.Errorf("%d files, warc check saw %d, warccheck %d", len(paths), len(own.Items), checked)
	}
	return nil
}

// IsWARC reports whether a file's name is that of a WARC file.
func IsWARC(name string) bool {
	return strings.HasSuffix(name, ".warc.gz") || strings.HasSuffix(name, ".warc")
}
