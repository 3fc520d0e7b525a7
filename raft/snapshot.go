package raft

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	hraft "github.com/hashicorp/raft"
)

// maxInstalls is how many installs are sent at a time.
const maxInstalls = 2

// markerID and installID begin the ids of the two sorts of Raft snapshot: the marker of this node's state,
// and a state that was received and waits to be adopted.
const (
	markerID  = "marker-"
	installID = "install-"
)

// snapshots is Raft's snapshot store. A snapshot taken here is only a marker; its content is streamed from
// the state at the marker's version each time it is opened. A snapshot received is a new store.
type snapshots struct {
	state   *state
	sending chan struct{} // holds a token per install being sent
	closing chan struct{} // closed when the node stops
	tune    func()        // called before the log is cut: sets how much of it stays

	mu      sync.Mutex
	arrived map[string]*store
	serial  int
}

func newSnapshots(s *state, tune func()) *snapshots {
	return &snapshots{
		state:   s,
		sending: make(chan struct{}, maxInstalls),
		closing: make(chan struct{}),
		tune:    tune,
		arrived: make(map[string]*store),
	}
}

// List returns the marker, if the state has one: the state's own index when the node starts.
func (s *snapshots) List() ([]*hraft.SnapshotMeta, error) {
	st, m, conf := s.state.pinMarker()
	st.unpin(m.Index)
	if m.Index == 0 {
		return nil, nil
	}
	return []*hraft.SnapshotMeta{metaOf(m, conf, 0)}, nil
}

// metaOf describes a marker. Its configuration is the state's latest: between a marker and the state's position, Raft
// refuses to take a snapshot while a change of configuration is under way, and it looks for later configurations in
// the log.
func metaOf(m marker, conf configuration, size int64) *hraft.SnapshotMeta {
	return &hraft.SnapshotMeta{
		Version:            hraft.SnapshotVersionMax,
		ID:                 markerID + strconv.FormatUint(m.Index, 10),
		Index:              m.Index,
		Term:               m.Term,
		Configuration:      conf.raft(),
		ConfigurationIndex: conf.Index,
		Size:               size,
	}
}

// Create returns a sink. The first write to it begins an install; the state's own snapshot writes nothing.
func (s *snapshots) Create(
	_ hraft.SnapshotVersion, index, term uint64, _ hraft.Configuration, _ uint64, _ hraft.Transport,
) (hraft.SnapshotSink, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	return &sink{snapshots: s, index: index, term: term, id: installID + strconv.Itoa(s.serial)}, nil
}

// Open returns a snapshot's content. For the marker the content is counted first, since the receiver must
// be told its exact size, and then streamed at the same version.
func (s *snapshots) Open(id string) (*hraft.SnapshotMeta, io.ReadCloser, error) {
	if strings.HasPrefix(id, installID) {
		return &hraft.SnapshotMeta{ID: id}, io.NopCloser(strings.NewReader(id)), nil
	}
	select {
	case s.sending <- struct{}{}:
	case <-s.closing:
		return nil, nil, ErrStopped
	}
	st, m, _ := s.state.pinMarker()
	o := &opened{snapshots: s, store: st, version: m.Index}
	conf, err := st.configurationAt(m.Index)
	if err != nil {
		return nil, nil, errors.Join(err, o.Close())
	}
	var size counter
	head := streamHead{Index: m.Index, Term: m.Term}
	if err := writeStream(&stopping{w: &size, closing: s.closing}, st, head); err != nil {
		return nil, nil, errors.Join(err, o.Close())
	}
	r, w := io.Pipe()
	o.r = r
	o.streaming.Go(func() {
		w.CloseWithError(writeStream(&stopping{w: w, closing: s.closing}, st, head))
	})
	return metaOf(m, conf, int64(size)), o, nil
}

// opened is a marker's content on its way out.
type opened struct {
	snapshots *snapshots
	store     *store
	version   uint64
	r         *io.PipeReader
	streaming sync.WaitGroup
	once      sync.Once
}

// Read reads the content.
func (o *opened) Read(p []byte) (int, error) { return o.r.Read(p) }

// Close ends the stream and lets the version go.
func (o *opened) Close() error {
	o.once.Do(func() {
		if o.r != nil {
			o.r.CloseWithError(io.ErrClosedPipe)
			o.streaming.Wait()
		}
		o.store.unpin(o.version)
		<-o.snapshots.sending
	})
	return nil
}

// stopping is a writer that fails once the node stops.
type stopping struct {
	w       io.Writer
	closing <-chan struct{}
}

func (s *stopping) Write(p []byte) (int, error) {
	select {
	case <-s.closing:
		return 0, ErrStopped
	default:
		return s.w.Write(p)
	}
}

// take returns the store that arrived under the id.
func (s *snapshots) take(id string) *store {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.arrived[id]
	delete(s.arrived, id)
	return st
}

// close ends the streams being sent and closes what arrived and was not adopted.
func (s *snapshots) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all error
	for id, st := range s.arrived {
		all = errors.Join(all, st.close())
		delete(s.arrived, id)
	}
	return all
}

// sink takes one snapshot in: a marker, or the bytes of an install.
type sink struct {
	snapshots   *snapshots
	index, term uint64
	id          string
	marked      bool
	w           *io.PipeWriter
	receiving   sync.WaitGroup
	next        *store
	err         error
}

// ID names the snapshot.
func (k *sink) ID() string { return k.id }

// mark makes the sink's snapshot the marker of the state.
func (k *sink) mark() error {
	k.marked = true
	k.snapshots.tune()
	k.snapshots.state.marking.Lock()
	defer k.snapshots.state.marking.Unlock()
	st, version, err := k.snapshots.state.pin() // it stays open although another may take its place
	if err != nil {
		return err
	}
	defer st.unpin(version)
	return st.mark(k.index, k.term)
}

// accept refuses an install that is not what Raft announced or that would take the state back.
func (k *sink) accept(head streamHead) error {
	at := k.snapshots.state.store().applied.Load()
	switch {
	case head.Index != k.index || head.Term != k.term:
		return fmt.Errorf("%w: a streamed snapshot of index %d term %d was announced as %d term %d",
			ErrDamaged, head.Index, head.Term, k.index, k.term)
	case head.Index < at:
		return fmt.Errorf("a Raft snapshot of index %d is older than the state's, %d", head.Index, at)
	}
	return nil
}

// Write takes the next bytes of an install.
func (k *sink) Write(p []byte) (int, error) {
	if k.w == nil {
		r, w := io.Pipe()
		k.w = w
		k.receiving.Go(func() {
			k.next, k.err = k.snapshots.state.install(r, k.accept)
			r.CloseWithError(errors.Join(k.err, io.ErrClosedPipe))
		})
	}
	return k.w.Write(p)
}

// Close completes the snapshot: a marker is written already, an install is durable and pointed to when Close
// returns nil.
func (k *sink) Close() error {
	if k.marked {
		return nil
	}
	if k.w == nil {
		return fmt.Errorf("%w: an empty streamed snapshot", ErrDamaged)
	}
	k.w.Close()
	k.receiving.Wait()
	if k.err != nil {
		return k.err
	}
	k.snapshots.mu.Lock()
	defer k.snapshots.mu.Unlock()
	k.snapshots.arrived[k.id] = k.next
	return nil
}

// Cancel drops an install.
func (k *sink) Cancel() error {
	if k.w == nil {
		return nil
	}
	k.w.CloseWithError(io.ErrUnexpectedEOF)
	k.receiving.Wait()
	if k.next != nil {
		return k.next.close()
	}
	return nil
}
