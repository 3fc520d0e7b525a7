package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"holdfast/catalog"
)

// Answers answers the requests of other nodes about a node's replica, each kind by a method.
type Answers struct {
	Replica *Replica
	Name    string // of the node
}

// File answers one request on a FileStream.
func (a Answers) File(ctx context.Context, from catalog.NodeID, s net.Conn) {
	defer func() { _ = s.Close() }()
	var r fileRequest
	_ = s.SetReadDeadline(time.Now().Add(fileAnswerLimit))
	if err := json.NewDecoder(io.LimitReader(s, 4<<10)).Decode(&r); err != nil {
		return
	}
	w := &answerWriter{w: s}
	var err error
	if r.Reader {
		err = a.Replica.ServeRange(ctx, from, r.Name, r.Offset, r.Length, w)
	} else {
		err = a.Replica.Serve(ctx, from, r.Name, r.Offset, w)
	}
	switch {
	case w.begun:
		if err != nil {
			a.Replica.log.Debug("file not served to its end", "file", r.Name, "to", from, "error", err)
		}
		return
	case err == nil:
		_, _ = s.Write([]byte{fileFollows})
	case errors.Is(err, ErrBusy):
		_, _ = s.Write([]byte{fileBusy})
	case errors.Is(err, ErrNotHere):
		_, _ = s.Write([]byte{fileNotHere})
	case errors.Is(err, ErrRange):
		_, _ = s.Write(append([]byte{fileRange}, err.Error()...))
	default:
		_, _ = s.Write(append([]byte{fileFailed}, err.Error()...))
	}
}

// answerWriter writes fileFollows before the first bytes.
type answerWriter struct {
	w     io.Writer
	begun bool
}

func (a *answerWriter) Write(b []byte) (int, error) {
	if !a.begun {
		a.begun = true
		if _, err := a.w.Write([]byte{fileFollows}); err != nil {
			return 0, err
		}
	}
	return a.w.Write(b)
}

// Checksum answers a ChecksumCall.
func (a Answers) Checksum(ctx context.Context, from catalog.NodeID, name catalog.FileName) (Held, error) {
	held, err := a.Replica.Checksum(ctx, from, name)
	return held, reasoned(err)
}

// Challenge answers a ChallengeCall.
func (a Answers) Challenge(ctx context.Context, from catalog.NodeID, c Challenge) ([]byte, error) {
	mac, err := a.Replica.Challenge(ctx, from, c)
	return mac, reasoned(err)
}

// Verify answers a VerifyCall.
func (a Answers) Verify(ctx context.Context, _ catalog.NodeID, name catalog.FileName) (Held, error) {
	held, err := a.Replica.Again.Verify(ctx, name)
	return held, reasoned(err)
}

// Reread answers a RereadCall.
func (a Answers) Reread(ctx context.Context, _ catalog.NodeID, name catalog.FileName) (Reread, error) {
	read, err := a.Replica.Again.Read(ctx, name)
	return read, reasoned(err)
}

// Find answers a FindCall: whether this node has a file's bytes.
func (a Answers) Find(ctx context.Context, _ catalog.NodeID, want Held) (bool, error) {
	return a.Replica.Find(ctx, want)
}

// straysListed bounds what one node lists.
const straysListed = 1000

// Strays answers a StraysCall.
func (a Answers) Strays(context.Context, catalog.NodeID, struct{}) (StrayReport, error) {
	all := a.Replica.Strays()
	out := StrayReport{Strays: all[:min(len(all), straysListed)], Files: len(all), Fault: a.Replica.straysFault()}
	for _, s := range all {
		out.Bytes += s.Size
	}
	return out, nil
}

// Stray answers a StrayCall, in the name of who asks.
func (a Answers) Stray(ctx context.Context, _ catalog.NodeID, by string, r StrayRequest) (struct{}, error) {
	switch r.Act {
	case "adopt":
		return struct{}{}, reasoned(a.Replica.AdoptStray(ctx, r.Adoption))
	case "set-aside":
		why := fmt.Sprintf("set aside by %s: %s", by, r.Reason)
		return struct{}{}, reasoned(a.Replica.SetStrayAside(ctx, r.Name, why))
	}
	return struct{}{}, fmt.Errorf("unknown request about strays %q", r.Act)
}

// Quarantine answers a QuarantineCall.
func (a Answers) Quarantine(ctx context.Context, _ catalog.NodeID, r AsideRequest) (AsideReport, error) {
	switch r.Act {
	case "list":
		all, err := a.Replica.Quarantine()
		out := AsideReport{Aside: all[:min(len(all), straysListed)], Files: len(all)}
		for _, one := range all {
			out.Bytes += one.Size
		}
		out.Fault = firstOf(err)
		return out, nil
	case "show":
		one, err := a.Replica.ShowAside(ctx, r.ID)
		return AsideReport{Aside: []Aside{one}, Files: 1, Bytes: one.Size}, reasoned(err)
	case "restore":
		return AsideReport{}, reasoned(a.Replica.RestoreAside(ctx, r.ID))
	}
	return AsideReport{}, fmt.Errorf("unknown request about the quarantine %q", r.Act)
}

// firstOf returns the first of errors that were joined, as text; empty for none.
func firstOf(err error) string {
	if err == nil {
		return ""
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

// Audit answers an AuditCall with the audits that the request is about.
func (a Answers) Audit(_ context.Context, _ catalog.NodeID, r AuditRequest) ([]Audit, error) {
	if r.Act == "list" {
		return a.Replica.Audits(), nil
	}
	if r.Act == "start" {
		one, err := a.Replica.JoinAudit(r.ID, r)
		return []Audit{one}, err
	}
	change := map[string]func(string) (Audit, error){
		"pause": a.Replica.PauseAudit, "resume": a.Replica.ResumeAudit, "stop": a.Replica.StopAudit,
	}[r.Act]
	if change == nil {
		return nil, fmt.Errorf("unknown audit request %q", r.Act)
	}
	var out []Audit
	var failed error
	for _, one := range a.Replica.Audits() {
		if one.GroupID(a.Name) != r.ID || one.State.Ended() {
			continue
		}
		changed, err := change(one.ID)
		failed = errors.Join(failed, err)
		out = append(out, changed)
	}
	return out, failed
}
