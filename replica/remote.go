package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"holdfast/catalog"
)

// Doubts are the nodes that did not answer of late.
type Doubts interface {
	Has(catalog.NodeID) bool
	Add(catalog.NodeID)
	Clear(catalog.NodeID)
}

// Remote reaches the replicas of other nodes over a carrier. It is the Peers of a node.
type Remote struct {
	Self    catalog.NodeID
	Place   string // where this node stands
	Carrier Carrier
	View    func(func(catalog.View) error) error
	Alive   func() map[catalog.NodeID]bool
	Doubts  Doubts
}

// How long a node may take to begin its answer: to another that makes a copy, and to a reader who waits, for whom the
// next copy may be a better choice.
const (
	fileAnswerLimit   = 30 * time.Second
	readerAnswerLimit = 2 * time.Second
)

// Sources returns the other nodes that have a good copy, nearest first.
func (p Remote) Sources(file catalog.File) ([]catalog.NodeID, error) {
	var holders []catalog.Holding
	err := p.View(func(v catalog.View) (err error) {
		holders, err = v.CoveringFile(&file)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find copies of %s: %w", file.Name, err)
	}
	alive := p.Alive()
	rank := func(h catalog.Holding) int {
		switch {
		case !alive[h.Node] || p.Doubts.Has(h.Node):
			return 2
		case h.Place == p.Place:
			return 0
		}
		return 1
	}
	slices.SortStableFunc(holders, func(a, b catalog.Holding) int { return rank(a) - rank(b) })
	var out []catalog.NodeID
	for _, h := range holders {
		if h.Node != p.Self && !slices.Contains(out, h.Node) {
			out = append(out, h.Node)
		}
	}
	return out, nil
}

// Fetch returns the file's bytes from offset to the end.
func (p Remote) Fetch(ctx context.Context, from catalog.NodeID, name catalog.FileName, offset int64) (io.ReadCloser,
	error) {
	return p.request(ctx, from, fileRequest{Name: name, Offset: offset, Length: -1})
}

// Read returns length bytes of the file from offset.
func (p Remote) Read(ctx context.Context, from catalog.NodeID, name catalog.FileName, offset,
	length int64) (io.ReadCloser, error) {
	return p.request(ctx, from, fileRequest{Name: name, Offset: offset, Length: length, Reader: true})
}

// Checksum makes the node read its bytes at rest.
func (p Remote) Checksum(ctx context.Context, from catalog.NodeID, name catalog.FileName) (Held, error) {
	held, err := ask[Held](ctx, p.Carrier, from, ChecksumCall, name)
	return held, Understood(err)
}

// Challenge makes the node read its bytes and returns its answer.
func (p Remote) Challenge(ctx context.Context, to catalog.NodeID, c Challenge) ([]byte, error) {
	mac, err := ask[[]byte](ctx, p.Carrier, to, ChallengeCall, c)
	return mac, Understood(err)
}

func (p Remote) request(ctx context.Context, from catalog.NodeID, r fileRequest) (io.ReadCloser, error) {
	limit := fileAnswerLimit
	if r.Reader {
		limit = readerAnswerLimit
	}
	opening, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s, err := p.Carrier.Open(opening, from, FileStream)
	if err != nil {
		if ctx.Err() == nil {
			p.Doubts.Add(from)
		}
		return nil, fmt.Errorf("ask %s for %s: %w", from, r.Name, err)
	}
	out := &answeredStream{s: s, stop: context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })}
	_ = s.SetReadDeadline(time.Now().Add(limit))
	status := []byte{fileFailed}
	err = json.NewEncoder(s).Encode(r)
	if err == nil {
		_, err = io.ReadFull(s, status)
	}
	if err == nil && status[0] == fileFollows {
		_ = s.SetReadDeadline(time.Time{})
		p.Doubts.Clear(from)
		if ctx.Err() == nil {
			return out, nil
		}
		err = ctx.Err()
	} else if err == nil {
		err = fileError(status[0], s)
	} else if ctx.Err() == nil {
		p.Doubts.Add(from)
	}
	_ = out.Close()
	return nil, fmt.Errorf("ask %s for %s: %w", from, r.Name, err)
}

func fileError(status byte, s io.Reader) error {
	text, _ := io.ReadAll(io.LimitReader(s, 1<<10))
	switch status {
	case fileBusy:
		return ErrBusy
	case fileNotHere:
		return ErrNotHere
	case fileRange:
		return fmt.Errorf("%w: %s", ErrRange, text)
	}
	return errors.New(string(text))
}

// answeredStream is the body of an answer; reading fails soon after its context ends.
type answeredStream struct {
	s    net.Conn
	stop func() bool
}

func (a *answeredStream) Read(b []byte) (int, error) { return a.s.Read(b) }

func (a *answeredStream) Close() error {
	a.stop()
	return a.s.Close()
}
