//go:build nemesis

package nemesis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/api/wire"
	"holdfast/systemtest"
)

// pause waits for the time, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// carryOut waits for a fault's time, does it, and ends it. What happens to a process has it alone meanwhile.
func (h *trial) carryOut(ctx context.Context, f Fault) error {
	pause(ctx, f.At-h.history.Now())
	switch f.Kind {
	case Kill, Stop, Pause, LoseState, Lose, Full:
		h.nodes[f.Node].Lock()
		defer h.nodes[f.Node].Unlock()
		h.died(f.Node)
	default: // another fault may be at work on the node's process
		if h.nodes[f.Node].TryLock() {
			h.died(f.Node)
			h.nodes[f.Node].Unlock()
		}
	}
	h.say(f, "begins")
	defer h.say(f, "is over")
	switch f.Kind {
	case Kill:
		h.kill(f.Node)
		pause(ctx, f.For)
		return h.c.Start(f.Node)
	case LoseState:
		return h.loseState(ctx, f)
	case Stop:
		if h.c.PID(f.Node) != 0 {
			h.stop(f.Node)
		}
		pause(ctx, f.For)
		return h.c.Start(f.Node)
	case Pause:
		pid := h.c.PID(f.Node)
		if pid == 0 {
			return nil
		}
		err := syscall.Kill(pid, syscall.SIGSTOP)
		pause(ctx, f.For)
		return errors.Join(err, syscall.Kill(pid, syscall.SIGCONT))
	case Cut, OneWay, Isolate:
		return h.cut(ctx, f)
	case Full:
		return h.fill(ctx, f)
	case Clock:
		step := filepath.Join(h.c.Dir, f.Node+".clock")
		err := setStep(step, f.Amount)
		pause(ctx, f.For)
		return errors.Join(err, setStep(step, 0))
	case Lose:
		return h.lose(ctx, f)
	case Drain:
		err := h.administer(ctx, "draining", func(by string) error { return h.drain(ctx, by, f.Node, true) })
		pause(ctx, f.For)
		return errors.Join(err, h.administer(ctx, "not draining", func(by string) error { return h.drain(ctx, by, f.Node, false) }))
	}
	return h.spoil(ctx, f)
}

func (h *trial) kill(node string) {
	if h.c.PID(node) == 0 {
		return
	}
	h.c.Kill(node)
	h.ended(node, "killed", nil)
}

// stop ends a process in order. One that has only just begun may not listen to signals yet: then SIGTERM kills it, and that is
// as good, for it has done nothing.
func (h *trial) stop(node string) {
	meant, age := "stopped", h.c.Age(node)
	err := h.c.Halt(node, 30*time.Second)
	if age < time.Second && err != nil && err.Error() == "signal: terminated" {
		meant = "killed"
	}
	h.ended(node, meant, err)
}

func (h *trial) cut(ctx context.Context, f Fault) error {
	a, b := host(f.Node), host(f.Peer)
	var err error
	switch f.Kind {
	case Isolate:
		err = h.network.Cut(ctx, a)
	case Cut:
		err = errors.Join(h.network.Deafen(ctx, a, b), h.network.Deafen(ctx, b, a))
	case OneWay:
		err = h.network.Deafen(ctx, a, b)
	}
	pause(ctx, f.For)
	switch f.Kind {
	case Isolate:
		return errors.Join(err, h.network.Heal(ctx, a))
	case Cut:
		return errors.Join(err, h.network.Hear(ctx, a, b), h.network.Hear(ctx, b, a))
	}
	return errors.Join(err, h.network.Hear(ctx, a, b))
}

// fill takes the room of a node's disk but for the amount, and gives it back.
func (h *trial) fill(ctx context.Context, f Fault) error {
	var room unix.Statfs_t
	if err := unix.Statfs(filepath.Join(h.c.Dir, f.Node), &room); err != nil {
		return err
	}
	ballast, err := os.Create(h.ballast(f.Node))
	if err != nil {
		return err
	}
	want := int64(room.Bavail)*room.Bsize - f.Amount
	err = unix.Fallocate(int(ballast.Fd()), 0, 0, max(want, 1))
	h.say(f, "%d MiB of ballast: %v", want>>20, err)
	if f.Amount == 0 {
		block := make([]byte, 4096)
		for n := 0; n < 100_000; n++ { // what was freed meanwhile
			if _, err := ballast.WriteAt(block, max(want, 1)+int64(n)*4096); err != nil {
				break
			}
		}
	}
	pause(ctx, f.For)
	return errors.Join(ballast.Close(), os.Remove(h.ballast(f.Node)))
}

// administer tries an act of an administrator at one node after another until it succeeds or is refused for good.
func (h *trial) administer(ctx context.Context, what string, do func(by string) error) error {
	nodes := Nodes()
	i := 0
	return systemtest.Eventually(ctx, 60*time.Second, func() error {
		i++
		if err := do(nodes[i%len(nodes)]); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	})
}

func (h *trial) drain(ctx context.Context, by, node string, yes bool) error {
	_, err := h.call(ctx, by, "PATCH", "/nodes/"+node, wire.NodeChange{Draining: &yes}, nil)
	return err
}

// loseState deletes a part of what a node has agreed on. A node that starts nevertheless could undo decisions; it must
// say that it cannot start. Then it does what the message says: it is removed as lost, and joins again with its old folder.
func (h *trial) loseState(ctx context.Context, f Fault) error {
	h.kill(f.Node)
	if err := os.Remove(filepath.Join(h.c.Dir, f.Node, "raft", "wal-meta.db")); err != nil {
		return errors.Join(err, h.c.Start(f.Node))
	}
	if err := h.c.Start(f.Node); err != nil {
		return err
	}
	refused := systemtest.Eventually(ctx, 20*time.Second, func() error {
		if h.c.Running(f.Node) {
			return errors.New("it runs though a part of its Raft state is gone")
		}
		return nil
	})
	if refused != nil {
		h.mu.Lock()
		h.ends = append(h.ends, End{Node: f.Node, Problem: refused.Error()})
		h.mu.Unlock()
		return nil
	}
	h.ended(f.Node, "refused", h.c.Halt(f.Node, time.Second))
	return h.lose(ctx, f)
}

// lose takes a node for lost, and lets it join again with the folder that it had.
func (h *trial) lose(ctx context.Context, f Fault) error {
	h.kill(f.Node)
	h.damaged(f, "", "it was removed as lost, with all it had")
	err := h.administer(ctx, "remove", func(by string) error {
		if by == f.Node {
			return errors.New("it is down")
		}
		return h.remove(ctx, by, f.Node)
	})
	if err != nil {
		return errors.Join(err, h.c.Start(f.Node))
	}
	pause(ctx, f.For)
	return h.administer(ctx, "join again", func(by string) error {
		if by == f.Node {
			return errors.New("it is down")
		}
		replica, _, _ := strings.Cut(f.Node, "-")
		var made wire.JoinToken
		if _, err := h.call(ctx, by, "POST", "/join-tokens", wire.JoinTokenRequest{Replica: replica}, &made); err != nil {
			return err
		}
		if _, err := h.c.Do(ctx, f.Node, "join", made.Text); err != nil && !strings.Contains(err.Error(), "is a member still") {
			return err
		}
		return h.c.Start(f.Node)
	})
}

// remove removes a lost node. The first request is told what it would do, and the second confirms that.
func (h *trial) remove(ctx context.Context, by, node string) error {
	request := map[string]any{"lost": true, "reason": "nemesis"}
	a, err := h.call(ctx, by, "POST", "/nodes/"+node+"/remove", request, nil)
	if a.status == http.StatusPreconditionRequired {
		var told struct {
			Errors []struct {
				Location string
				Value    any
			}
		}
		if err := json.Unmarshal(a.body, &told); err != nil {
			return err
		}
		for _, e := range told.Errors {
			if e.Location == "body.confirm" {
				request["confirm"] = e.Value
			}
		}
		a, err = h.call(ctx, by, "POST", "/nodes/"+node+"/remove", request, nil)
	}
	if a.status == http.StatusNotFound {
		return nil // an earlier try did it
	}
	return err
}

// spoil damages stored bytes: always only what other replicas have verified copies of.
func (h *trial) spoil(ctx context.Context, f Fault) error {
	paths, err := stored(filepath.Join(h.c.Dir, f.Node, "files"))
	if f.Kind == FlipOut {
		paths, err = stored(filepath.Join(h.c.Dir, f.Node, "outbox"))
	}
	if err != nil {
		return err
	}
	for i := range paths {
		path := paths[(f.Pick+uint64(i))%uint64(len(paths))]
		name := filepath.Base(path)
		if !h.safeElsewhere(ctx, name) {
			continue
		}
		what, err := spoil(f, path)
		if err == nil {
			h.damaged(f, name, what)
		}
		h.say(f, "%s: %s %v", name, what, err)
		return nil
	}
	h.say(f, "found nothing to damage among %d files", len(paths))
	return nil
}

// stored lists the files below a folder, without those that are none of the archive's.
func stored(dir string) (paths []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.HasPrefix(d.Name(), ".") && d.Name() != "manifest-sha256.txt" {
			paths = append(paths, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return paths, err
}

// safeElsewhere reports whether a bitarchive replica whose bytes do not rot has a verified copy.
func (h *trial) safeElsewhere(ctx context.Context, name string) bool {
	for _, by := range Nodes() {
		var file wire.File
		if _, err := h.call(ctx, by, "GET", "/files/"+name, nil, &file); err != nil {
			continue
		}
		return slices.ContainsFunc(file.Copies, func(c wire.Copy) bool {
			return string(c.Replica) != h.plan.Rot && c.Replica != "third" && c.State == wire.UploadCompleted && !c.Disputed
		})
	}
	return false
}

// spoil does a fault to the file at path, and says what it did.
func spoil(f Fault, path string) (string, error) {
	switch f.Kind {
	case Vanish:
		return "it is deleted", os.Remove(path)
	case Unread:
		// Not even root can open a link to itself; like a file on a bad sector, it can be renamed and deleted.
		return "it cannot be opened", errors.Join(os.Remove(path), os.Symlink(filepath.Base(path), path))
	case FlipLine:
		return flipLine(path, f.Pick)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() == 0 {
		return "it is empty, and is deleted", os.Remove(path)
	}
	at := int64(f.Pick>>16) & (1<<40 - 1) % info.Size()
	if f.Kind == Truncate {
		return fmt.Sprintf("%d bytes are left of %d", at, info.Size()), os.Truncate(path, at)
	}
	return fmt.Sprintf("a bit of byte %d changes", at), overwrite(path, at, func(b byte) byte { return b ^ 1<<(f.Pick>>8&7) })
}

// flipLine changes a digit of the digest that a manifest gives the file.
func flipLine(path string, pick uint64) (string, error) {
	manifest := filepath.Join(filepath.Dir(path), "manifest-sha256.txt")
	text, err := os.ReadFile(manifest)
	if err != nil {
		return "", err
	}
	at := strings.Index(string(text), "  "+filepath.Base(path)+"\n")
	if at < 64 {
		return "", fmt.Errorf("%s has no line in its manifest", path)
	}
	digit := int64(at - 64 + int(pick>>16%64))
	return fmt.Sprintf("a digit of its line changes, byte %d", digit), overwrite(manifest, digit, func(b byte) byte {
		if b == '0' {
			return '1'
		}
		return '0'
	})
}

func overwrite(path string, at int64, change func(byte) byte) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	var b [1]byte
	if _, err = f.ReadAt(b[:], at); err == nil {
		b[0] = change(b[0])
		_, err = f.WriteAt(b[:], at)
	}
	return errors.Join(err, f.Close())
}
