package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"holdfast/catalog"
	"holdfast/peer"
	"holdfast/raft"
	"holdfast/replica"
)

// replicaPeers reaches the replicas of other nodes.
type replicaPeers struct{ n *Node }

// fileRequest asks for bytes of a file; Length is -1 for all that follow Offset. The answer is one byte that says
// how it went, then the bytes, or the text of the error.
type fileRequest struct {
	Name   catalog.FileName `json:"name"`
	Offset int64            `json:"offset"`
	Length int64            `json:"length"`
	Reader bool             `json:"reader,omitempty"` // somebody waits for it: not a copy
}

// The first byte of an answer to a fileRequest.
const (
	fileFollows byte = 0
	fileBusy    byte = 1
	fileNotHere byte = 2
	fileRange   byte = 3
	fileFailed  byte = 4
)

// How long a node may take to begin its answer: to another that makes a copy, and to a reader who waits, for whom the
// next copy may be a better choice.
const (
	fileAnswerLimit   = 30 * time.Second
	readerAnswerLimit = 2 * time.Second
)

// Sources returns the other nodes that have a good copy, nearest first.
func (p replicaPeers) Sources(file catalog.File) ([]catalog.NodeID, error) {
	var holders []catalog.Holding
	err := p.n.raft.View(func(v catalog.View) (err error) {
		holders, err = v.CoveringFile(&file)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find copies of %s: %w", file.Name, err)
	}
	alive := p.n.alive()
	rank := func(h catalog.Holding) int {
		switch {
		case !alive[h.Node] || p.n.captures.Doubts.Has(h.Node):
			return 2
		case h.Place == p.n.cfg.Replica.Place:
			return 0
		}
		return 1
	}
	slices.SortStableFunc(holders, func(a, b catalog.Holding) int { return rank(a) - rank(b) })
	var out []catalog.NodeID
	for _, h := range holders {
		if h.Node != p.n.id && !slices.Contains(out, h.Node) {
			out = append(out, h.Node)
		}
	}
	return out, nil
}

// Fetch returns the file's bytes from offset to the end.
func (p replicaPeers) Fetch(ctx context.Context, from catalog.NodeID, name catalog.FileName, offset int64) (io.ReadCloser, error) {
	return p.request(ctx, from, fileRequest{Name: name, Offset: offset, Length: -1})
}

// Read returns length bytes of the file from offset.
func (p replicaPeers) Read(ctx context.Context, from catalog.NodeID, name catalog.FileName, offset, length int64) (io.ReadCloser, error) {
	return p.request(ctx, from, fileRequest{Name: name, Offset: offset, Length: length, Reader: true})
}

func (p replicaPeers) request(ctx context.Context, from catalog.NodeID, r fileRequest) (io.ReadCloser, error) {
	limit := fileAnswerLimit
	if r.Reader {
		limit = readerAnswerLimit
	}
	opening, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s, err := p.n.peer.Open(opening, peer.ID(from), fileStream)
	if err != nil {
		if ctx.Err() == nil {
			p.n.captures.Doubts.Add(from)
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
		p.n.captures.Doubts.Clear(from)
		if ctx.Err() == nil {
			return out, nil
		}
		err = ctx.Err()
	} else if err == nil {
		err = fileError(status[0], s)
	} else if ctx.Err() == nil {
		p.n.captures.Doubts.Add(from)
	}
	_ = out.Close()
	return nil, fmt.Errorf("ask %s for %s: %w", from, r.Name, err)
}

func fileError(status byte, s io.Reader) error {
	text, _ := io.ReadAll(io.LimitReader(s, 1<<10))
	switch status {
	case fileBusy:
		return replica.ErrBusy
	case fileNotHere:
		return replica.ErrNotHere
	case fileRange:
		return fmt.Errorf("%w: %s", replica.ErrRange, text)
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

// Checksum makes the node read its bytes at rest.
func (p replicaPeers) Checksum(ctx context.Context, from catalog.NodeID, name catalog.FileName) (replica.Held, error) {
	held, err := ask[replica.Held](ctx, p.n.peer, from, checksumCall, name)
	switch remoteCode(err) {
	case "busy":
		err = replica.ErrBusy
	case "not-here":
		err = replica.ErrNotHere
	}
	return held, err
}

// serveFile answers one fileRequest on a stream.
func (n *Node) serveFile(ctx context.Context, from peer.ID, s net.Conn) {
	defer func() { _ = s.Close() }()
	var r fileRequest
	_ = s.SetReadDeadline(time.Now().Add(fileAnswerLimit))
	if err := json.NewDecoder(io.LimitReader(s, 4<<10)).Decode(&r); err != nil {
		return
	}
	w := &answerWriter{w: s}
	var err error
	if r.Reader {
		err = n.replica.ServeRange(ctx, catalog.NodeID(from), r.Name, r.Offset, r.Length, w)
	} else {
		err = n.replica.Serve(ctx, catalog.NodeID(from), r.Name, r.Offset, w)
	}
	switch {
	case w.begun:
		if err != nil {
			n.log.Debug("file not served to its end", "file", r.Name, "to", from, "error", err)
		}
		return
	case err == nil:
		_, _ = s.Write([]byte{fileFollows})
	case errors.Is(err, replica.ErrBusy):
		_, _ = s.Write([]byte{fileBusy})
	case errors.Is(err, replica.ErrNotHere):
		_, _ = s.Write([]byte{fileNotHere})
	case errors.Is(err, replica.ErrRange):
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

func (n *Node) serveChecksum(ctx context.Context, from catalog.NodeID, name catalog.FileName) (replica.Held, error) {
	held, err := n.replica.Checksum(ctx, from, name)
	return held, coded(err)
}

func (n *Node) serveVerify(ctx context.Context, _ catalog.NodeID, name catalog.FileName) (replica.Held, error) {
	held, err := n.replica.Verify(ctx, name)
	return held, coded(err)
}

// coded gives the replica's answers codes that the asking node can tell apart.
func coded(err error) error {
	switch {
	case errors.Is(err, replica.ErrBusy):
		return &peer.RemoteError{Code: "busy", Message: err.Error()}
	case errors.Is(err, replica.ErrNotHere):
		return &peer.RemoteError{Code: "not-here", Message: err.Error()}
	}
	return err
}

// replicaCatalog is the catalog as the replica sees it.
type replicaCatalog struct {
	*raft.Node
	self catalog.NodeID
	of   catalog.ReplicaName
	bell *bell
}

// Watch signals after changes of the catalog that may mean work here, and when what waited for its turn is due.
func (c replicaCatalog) Watch() (<-chan struct{}, func()) {
	w := c.Node.Watch(catalog.PrefixFiles, catalog.PrefixUnproved, catalog.PrefixLayout, catalog.PrefixReleases(c.self),
		catalog.PrefixLeft(c.self), catalog.PrefixOwed(c.of), catalog.PrefixMembers)
	due, deaf := c.bell.listen()
	both, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-w.C:
			case <-due:
			}
			select {
			case both <- struct{}{}:
			default:
			}
		}
	}()
	return both, func() {
		close(done)
		deaf()
		w.Close()
	}
}

// record is the bytes of a record. Its Doubt is that of the reading, for those who find that they are not what the record
// says of itself.
type record struct {
	*bufio.Reader
	*replica.Reading
}

// Read implements io.Reader.
func (r *record) Read(p []byte) (int, error) { return r.Reader.Read(p) }

// replayRecords opens records for replay by file and position, from the copy here or the nearest good one.
type replayRecords struct{ replica *replica.Replica }

func (r replayRecords) Open(ctx context.Context, file string, offset, length int64) (io.ReadCloser, error) {
	if length == 0 { // not known: to the file's end
		length = -1
	}
	body, err := r.replica.OpenRange(ctx, catalog.FileName(file), offset, length)
	if err != nil {
		return nil, err
	}
	return &record{bufio.NewReaderSize(body, 64<<10), body}, nil
}
