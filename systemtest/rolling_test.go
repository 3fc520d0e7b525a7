//go:build e2e

package systemtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
)

// The commits whose clusters must roll to this program, each the last one that knew no level above its own.
const (
	lastRelease     = "7371ff868b4892106f4c5e0a4147850b627cb7aa" // level 1
	releaseOfLevel2 = "57f740d"
	releaseOfLevel3 = "e540ca1"
	releaseOfLevel4 = "cfb97b5"
)

// newLevel is what this program brings.
const newLevel = 5

// buildAt returns the program as it was at a commit of this clone's own history. It is built once, beside the program of now.
func buildAt(t *testing.T, commit string) string {
	t.Helper()
	root, err := filepath.Abs("..")
	check(t, err)
	program := filepath.Join(root, "bin", "holdfast-"+commit[:7])
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if out, err := exec.CommandContext(t.Context(), "git", "-C", root, "cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
		t.Fatalf("commit %s is not in this clone, so that there is no old program to upgrade from: %v %s\n"+
			"a shallow clone gets its history with: git fetch --unshallow", commit, err, out)
	}
	dir := t.TempDir()
	archived, err := exec.CommandContext(t.Context(), "git", "-C", root, "archive", commit).Output()
	check(t, err)
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", dir)
	unpack.Stdin = bytes.NewReader(archived)
	out, err := unpack.CombinedOutput()
	check(t, because(err, out))
	check(t, os.MkdirAll(filepath.Dir(program), 0o755))
	made := filepath.Join(filepath.Dir(program), filepath.Base(dir)+"-"+commit[:7]) // another test may build it, too
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", made, ".")
	build.Dir = dir
	out, err = build.CombinedOutput()
	check(t, because(err, out))
	check(t, os.Rename(made, program))
	return program
}

func because(err error, out []byte) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", err, lastLines(out, 20))
}

// upgrade is a cluster that rolls from one program to the next under traffic.
type upgrade struct {
	t     *testing.T
	c     *Cluster
	site  *chain
	base  string
	from  int // the level of the old cluster
	mu    sync.Mutex
	acked map[string][]byte
}

var threeNodes = []string{"north-1", "south-1", "third-1"}

// password is of a site's login that a job had before passwords were sealed.
const password = "kept-in-clear-by-old-programs"

// TestRollingUpgrade takes clusters of earlier releases to this program, node by node, while files are put and got and
// a job runs. Nothing is lost, the catalogs agree, and what is new is refused until the operator raises the level.
func TestRollingUpgrade(t *testing.T) {
	for level, commit := range map[int]string{1: lastRelease, 2: releaseOfLevel2, 3: releaseOfLevel3,
		4: releaseOfLevel4} {
		t.Run(fmt.Sprintf("from level %d", level), func(t *testing.T) { roll(t, level, buildAt(t, commit)) })
	}
}

// roll takes a cluster of the old program to this one.
func roll(t *testing.T, level int, old string) {
	specs := Three(func(i int) string { return fmt.Sprintf("127.0.%d.%d", 22+level, i) })
	for i := range specs {
		if specs[i].Program = old; specs[i].Name != "south-1" {
			specs[i].Extra = "crawls = 0"
		}
	}
	u := &upgrade{t: t, from: level, c: trialOf(t, "", specs), site: &chain{pages: 2000}, acked: map[string][]byte{}}
	check(t, u.c.Found(t.Context()))
	check(t, u.c.Settled(t.Context(), "north-1", 2*time.Minute))
	u.base = serve(t, u.site)
	long := u.fillOld()
	before := u.summary("north-1")

	calm, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { u.traffic(calm) })
	defer work.Wait()
	defer stop()
	for i, node := range threeNodes {
		u.refusesLevel("raising the level while some nodes run the old program", threeNodes[(i+2)%3])
		if err := u.c.Halt(node, time.Minute); err != nil {
			t.Errorf("stop %s: %v", node, err)
		}
		u.c.SetProgram(node, "")
		check(t, u.c.Start(node))
		check(t, u.c.Settled(t.Context(), node, 2*time.Minute))
		u.same(before, node)
		u.noHarvests(node, false)
	}
	for _, node := range threeNodes {
		u.noHarvests(node, true)
		u.noPages(node)
	}
	u.oldMeanings()
	u.alike()
	if found := u.inClear(password) != nil; found != (level < 2) {
		t.Errorf("a password in clear at level %d is found: %t", level, found)
	}
	u.raise()
	u.works(long)
	u.harvests()
	u.pages()
	stop()
	work.Wait()
	u.alike()
	u.verify(before)
}

// fillOld gives the old cluster files, pages, tokens, a job that is done and one that runs, whose number it returns.
func (u *upgrade) fillOld() uint64 {
	t, ctx := u.t, u.t.Context()
	for i := range 12 {
		u.put(threeNodes[i%3], fmt.Sprintf("before-%d.bin", i), rand.IntN(300_000))
	}
	u.mu.Lock()
	n := len(u.acked)
	u.mu.Unlock()
	if n != 12 {
		t.Fatalf("%d of 12 files were put", n)
	}
	for _, name := range []string{"reader", "curator"} {
		words := []string{"user", "create", name, "--role", name}
		if u.from >= 3 { // where people are invited
			words = []string{"user", "invite", name, "--mail", name + "@demo.test"}
		}
		_, err := u.c.Do(ctx, "north-1", words...)
		check(t, err)
	}
	_, err := u.c.Do(ctx, "south-1", "collection", "add", "maps")
	check(t, err)
	done := u.job("north-1", "short", fmt.Sprintf("%s/page/%d", u.base, u.site.pages-2), map[string]any{
		"credentials": []map[string]any{{"domain": "login.test", "kind": "basic", "user": "reader", "password": password}}})
	_, err = u.c.Done(ctx, "north-1", done, time.Minute)
	check(t, err)
	long := u.job("south-1", "long", u.base+"/page/1", nil)
	must(t, time.Minute, "the long job runs", func() error {
		if n := u.site.asked.Load(); n < 10 {
			return fmt.Errorf("%d pages", n)
		}
		return nil
	})
	_, err = u.c.Stored(ctx, "north-1", 2*time.Minute)
	check(t, err)
	return long
}

// ask sends a request with a body of JSON to a node's API.
func (u *upgrade) ask(node, method, path string, in any) (int, []byte) {
	u.t.Helper()
	token, err := os.ReadFile(filepath.Join(u.c.Dir, node, "identity", "api-token"))
	check(u.t, err)
	body, err := json.Marshal(in)
	check(u.t, err)
	r, err := http.NewRequestWithContext(u.t.Context(), method, "http://"+u.c.Address(node, "api")+"/api/v1"+path, bytes.NewReader(body))
	check(u.t, err)
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	check(u.t, err)
	return answer.StatusCode, text
}

func (u *upgrade) request(name, seed string, settings map[string]any) map[string]any {
	all := map[string]any{"operator_contact": "http://test.invalid/", "allow_private": true, "robots": "ignore", "min_delay": "100ms", "max_hops": 5000, "min_free_disk": 0}
	for k, v := range settings {
		all[k] = v
	}
	return map[string]any{"name": name, "seeds": []string{seed}, "settings": all}
}

func (u *upgrade) job(node, name, seed string, settings map[string]any) uint64 {
	u.t.Helper()
	status, text := u.ask(node, "POST", "/jobs", u.request(name, seed, settings))
	var made wire.Job
	if status != http.StatusCreated || json.Unmarshal(text, &made) != nil {
		u.t.Fatalf("create job %s at %s: %d %s", name, node, status, text)
	}
	return made.ID
}

// put puts a file of random bytes; what is acknowledged is remembered.
func (u *upgrade) put(node, name string, size int) {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte(name))).Read(content)
	archive, err := local(u.c, node)
	check(u.t, err)
	defer archive.Close()
	ctx, cancel := context.WithTimeout(u.t.Context(), 20*time.Second)
	defer cancel()
	_, err = archive.Files().Put(ctx, client.Upload{Name: name, Size: int64(size), SHA256: fmt.Sprintf("%x", sha256.Sum256(content)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }})
	if err == nil {
		u.mu.Lock()
		u.acked[name] = content
		u.mu.Unlock()
	}
}

// traffic puts and gets files at all nodes until calm ends. A node that is down is no fault; wrong bytes are.
func (u *upgrade) traffic(calm context.Context) {
	for n := 0; calm.Err() == nil; n++ {
		u.put(threeNodes[n%3], fmt.Sprintf("rolling-%d.bin", n), rand.IntN(200_000))
		name := fmt.Sprintf("before-%d.bin", n%12)
		var got bytes.Buffer
		if client, err := local(u.c, threeNodes[(n+1)%3]); err == nil {
			ctx, cancel := context.WithTimeout(u.t.Context(), 20*time.Second)
			_, err = client.Files().Get(ctx, name, 0, &got)
			cancel()
			client.Close()
			u.mu.Lock()
			if err == nil && !bytes.Equal(got.Bytes(), u.acked[name]) {
				u.t.Errorf("%s is given out with other bytes", name)
			}
			u.mu.Unlock()
		}
		pause(calm, rand.New(rand.NewPCG(7, uint64(n))), 400*time.Millisecond)
	}
}

// summary is what a node's catalog says of what was there before the upgrade, as far as it may not change.
func (u *upgrade) summary(node string) []string {
	u.t.Helper()
	client, err := local(u.c, node)
	check(u.t, err)
	defer client.Close()
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	files, err := u.c.Files(u.t.Context(), node, "before-")
	check(u.t, err)
	for _, f := range files {
		say("file %s %d %s %s source %s", f.Name, f.Size, f.SHA256, f.Collection, f.Source)
	}
	tokens, err := client.Tokens().List(u.t.Context())
	check(u.t, err)
	for _, one := range tokens {
		say("token %s %s %s %s", one.ID, one.Name, one.Role, one.State)
	}
	collections, err := client.Collections().List(u.t.Context())
	check(u.t, err)
	for _, one := range collections {
		say("collection %s", one.Name)
	}
	nodes, err := client.Nodes().List(u.t.Context())
	check(u.t, err)
	for _, n := range nodes {
		say("node %s %s %s weight %d, %d shards", n.ID, n.Name, n.Replica, n.Weight, n.Shards)
	}
	var jobs wire.Page[wire.Job]
	check(u.t, u.c.JSON(u.t.Context(), &jobs, node, "job", "list", "--limit", "0"))
	for _, j := range jobs.Items { // a list does not say the seeds
		check(u.t, u.c.JSON(u.t.Context(), &j, node, "job", "show", strconv.FormatUint(j.ID, 10)))
		say("job %d %s %s %s %v", j.ID, j.Harvest, j.Collection, map[bool]string{true: "DONE", false: "not done"}[j.State == wire.JobDone], j.Seeds)
	}
	slices.Sort(all)
	return all
}

// same checks that a node knows what was known before the upgrade, and nothing of it otherwise.
func (u *upgrade) same(before []string, node string) {
	u.t.Helper()
	now := u.summary(node)
	for _, line := range before {
		if !slices.Contains(now, line) {
			u.t.Errorf("%s does not know: %s\nit has:\n%s", node, line, strings.Join(now, "\n"))
		}
	}
}

// refusesLevel tries to raise the level where that must be refused.
func (u *upgrade) refusesLevel(what, by string) {
	u.t.Helper()
	status, text := u.ask(by, "PUT", "/cluster/level", wire.LevelRequest{Level: newLevel})
	if status >= 200 && status < 300 {
		u.t.Errorf("%s was allowed at %s: %s", what, by, text)
	}
	st, err := u.c.Status(u.t.Context(), by)
	check(u.t, err)
	if st.Cluster.Level != u.from {
		u.t.Errorf("%s is at level %d", by, st.Cluster.Level)
	}
}

// oldMeanings checks that nothing is new yet though all nodes run the new program: commands of the new level are
// refused, with what to do about it.
func (u *upgrade) oldMeanings() {
	if u.from >= 4 { // what came with level 5 is in noPages
		return
	}
	for _, node := range threeNodes {
		status, text := u.ask(node, "POST", "/jobs", u.large())
		if status != http.StatusNotImplemented || !strings.Contains(string(text), fmt.Sprint("holdfast cluster level ", newLevel)) {
			u.t.Errorf("a large job at level %d on %s: %d %s", u.from, node, status, text)
		}
	}
	if u.from >= 2 { // what came with level 3 is not asked for through the API: TestStoredBytesOfLevel2 has its refusals
		return
	}
	for _, node := range threeNodes {
		status, text := u.ask(node, "POST", "/jobs", u.request("secret", u.base+"/page/1999", map[string]any{
			"credentials": []map[string]any{{"domain": "login.test", "kind": "basic", "user": "reader",
				"password": "never-stored"}}}))
		if status < 400 || !strings.Contains(string(text), "holdfast cluster level ") {
			u.t.Errorf("a job with a password at level %d on %s: %d %s", u.from, node, status, text)
		}
	}
}

// large is a request for a job that needs more than one command. Nobody answers at its seeds.
func (u *upgrade) large() map[string]any {
	request := u.request("large", "", nil)
	var seeds []string
	for i := range 9_000 {
		seeds = append(seeds, fmt.Sprintf("http://127.0.0.1:9/a/%s/page-%d", strings.Repeat("long/", 10), i))
	}
	request["seeds"] = seeds
	return request
}

// raise raises the level, as an operator does.
func (u *upgrade) raise() {
	must(u.t, time.Minute, "the level is raised", func() error {
		_, err := u.c.Do(u.t.Context(), "third-1", "cluster", "level", fmt.Sprint(newLevel))
		return err
	})
	for _, node := range threeNodes {
		must(u.t, time.Minute, node+" is at the new level", func() error {
			st, err := u.c.Status(u.t.Context(), node)
			if err == nil && st.Cluster.Level != newLevel {
				err = fmt.Errorf("it is at level %d", st.Cluster.Level)
			}
			return err
		})
	}
}

// works checks that what was refused works now, that old secrets are sealed, and that the running job ran on.
func (u *upgrade) works(long uint64) {
	t := u.t
	made := u.job("north-1", "secret", u.base+"/page/1999", map[string]any{
		"credentials": []map[string]any{{"domain": "login.test", "kind": "basic", "user": "reader", "password": "sealed-from-the-start"}}})
	_, err := u.c.Done(t.Context(), "north-1", made, 3*time.Minute)
	check(t, err)
	must(t, 2*time.Minute, "no password lies in clear", func() error {
		return errors.Join(u.inClear(password), u.inClear("sealed-from-the-start"), u.inClear("never-stored"))
	})
	status, text := u.ask("north-1", "POST", "/jobs", u.large())
	var large wire.Job
	if status != http.StatusCreated || json.Unmarshal(text, &large) != nil || large.ID == 0 {
		t.Fatalf("a large job at level %d: %d %.300s", newLevel, status, text)
	}
	_, err = u.c.Do(t.Context(), "third-1", "job", "stop", fmt.Sprint(large.ID), "--reason", "nobody answers")
	check(t, err)
	job, err := u.c.Job(t.Context(), "third-1", long)
	check(t, err)
	if job.State != wire.JobStarted || job.Attempt != 1 {
		t.Errorf("the job that ran through the upgrade is %s, attempt %d: %s", job.State, job.Attempt, job.Reason)
	}
	asked := u.site.asked.Load()
	must(t, time.Minute, "it goes on", func() error {
		if u.site.asked.Load() < asked+10 {
			return errors.New("it asks for nothing")
		}
		return nil
	})
	_, err = u.c.Do(t.Context(), "north-1", "job", "stop", fmt.Sprint(long), "--reason", "enough")
	check(t, err)
	_, err = u.c.Done(t.Context(), "north-1", long, 2*time.Minute)
	check(t, err)
}

// inClear reports files of the agreed state, on any node, that have the words.
func (u *upgrade) inClear(words string) (err error) {
	for _, node := range threeNodes {
		for _, room := range []string{"raft", "catalog"} {
			bad := filepath.WalkDir(filepath.Join(u.c.Dir, node, room), func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return nil // it was removed meanwhile
				}
				text, err := os.ReadFile(path)
				if err == nil && bytes.Contains(text, []byte(words)) {
					return fmt.Errorf("%s has %q", path, words)
				}
				return nil
			})
			err = errors.Join(err, bad)
		}
	}
	return err
}

// verify reads all that was acknowledged from every node, compares the catalogs and the disks, and stops the nodes.
func (u *upgrade) verify(before []string) {
	t, ctx := u.t, u.t.Context()
	files, err := u.c.Stored(ctx, "south-1", 3*time.Minute)
	check(t, err)
	catalogs := make([][]wire.File, len(threeNodes))
	for _, node := range threeNodes {
		u.same(slices.DeleteFunc(slices.Clone(before), func(line string) bool { return strings.HasPrefix(line, "job") && strings.Contains(line, "not done") }), node)
		client, err := local(u.c, node)
		check(t, err)
		for name, content := range u.acked {
			var got bytes.Buffer
			if _, err := client.Files().Get(ctx, name, 0, &got); err != nil || !bytes.Equal(got.Bytes(), content) {
				t.Errorf("%s from %s: %d bytes of %d, %v", name, node, got.Len(), len(content), err)
			}
		}
		client.Close()
		_, err = u.c.Do(ctx, node, "catalog", "check")
		check(t, err)
	}
	must(t, time.Minute, "all nodes list the same files", func() error { // audits write on meanwhile
		for i, node := range threeNodes {
			listed, err := u.c.Files(ctx, node, "")
			if err != nil {
				return err
			}
			if catalogs[i] = listed; fmt.Sprintf("%+v", listed) != fmt.Sprintf("%+v", catalogs[0]) {
				return fmt.Errorf("%s and %s list other files:\n%+v\n%+v", node, threeNodes[0], listed, catalogs[0])
			}
		}
		return nil
	})
	for _, node := range []string{"north-1", "south-1"} {
		n, err := u.c.Manifests(ctx, node)
		if err != nil || n != len(files) {
			t.Errorf("%s has %d files of %d: %v", node, n, len(files), err)
		}
	}
	for _, node := range threeNodes {
		if err := u.c.Halt(node, time.Minute); err != nil {
			t.Errorf("stop %s: %v", node, err)
		}
	}
	t.Logf("%d files were acknowledged, %d are in the archive", len(u.acked), len(files))
}
