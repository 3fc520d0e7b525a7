package gossip

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/memberlist"
)

// wire is memberlist's transport: it goes by node IDs. The addresses that memberlist
// insists on are made from the IDs and lead nowhere.
type wire struct {
	self    string
	carrier Carrier
	packets chan *memberlist.Packet
	streams chan net.Conn

	mu   sync.Mutex // of closing, against stream
	done chan struct{}
}

var _ memberlist.NodeAwareTransport = (*wire)(nil)

var errNoName = errors.New("gossip goes by node id, not by address")

func newWire(self string, carrier Carrier) *wire {
	return &wire{
		self: self, carrier: carrier,
		packets: make(chan *memberlist.Packet, packetsAtOnce),
		streams: make(chan net.Conn, streamsAtOnce),
		done:    make(chan struct{}),
	}
}

// fakeIP returns an address of the range for private use that stands for a node.
func fakeIP(id string) net.IP {
	sum := sha256.Sum256([]byte(id))
	ip := net.IP(sum[:net.IPv6len])
	ip[0] = 0xfd
	return ip
}

const fakePort = 7480

func address(id string) string { return nodeAddr(id).String() }

// nodeAddr is a node's ID as a net.Addr.
type nodeAddr string

func (a nodeAddr) Network() string { return "gossip" }
func (a nodeAddr) String() string {
	return net.JoinHostPort(fakeIP(string(a)).String(), fmt.Sprint(fakePort))
}

func (w *wire) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return fakeIP(w.self), fakePort, nil
}

func (w *wire) WriteTo([]byte, string) (time.Time, error) { return time.Time{}, errNoName }

// WriteToAddress never fails for want of a path: a packet may be lost, as anywhere.
func (w *wire) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	switch {
	case to.Name == "":
		return time.Time{}, errNoName
	case w.stopped():
		return time.Time{}, net.ErrClosed
	}
	w.carrier.Send(to.Name, b)
	return time.Now(), nil
}

func (w *wire) DialTimeout(string, time.Duration) (net.Conn, error) { return nil, errNoName }

func (w *wire) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	switch {
	case to.Name == "":
		return nil, errNoName
	case w.stopped():
		return nil, net.ErrClosed
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-w.done:
			cancel()
		case <-stop:
		}
	}()
	return w.carrier.Dial(ctx, to.Name)
}

func (w *wire) stopped() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

func (w *wire) PacketCh() <-chan *memberlist.Packet { return w.packets }
func (w *wire) StreamCh() <-chan net.Conn           { return w.streams }

// Shutdown refuses streams from now on, and closes those that nobody has accepted.
func (w *wire) Shutdown() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped() {
		return nil
	}
	close(w.done)
	var errs []error
	for {
		select {
		case c := <-w.streams:
			errs = append(errs, c.Close())
		default:
			return errors.Join(errs...)
		}
	}
}

func (w *wire) packet(from string, data []byte) {
	if len(data) == 0 {
		return
	}
	p := &memberlist.Packet{Buf: append([]byte(nil), data...), From: nodeAddr(from), Timestamp: time.Now()}
	select {
	case w.packets <- p:
	default: // dropped: memberlist is slower than the others talk
	}
}

func (w *wire) stream(c net.Conn) {
	if !w.offer(c) {
		_ = c.Close() // refused: the other side sees it end
	}
}

func (w *wire) offer(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped() {
		return false
	}
	select {
	case w.streams <- c:
		return true
	default:
		return false
	}
}

// pushPull is memberlist's message type with which two nodes exchange what they believe about all nodes; header and
// nodeState are its parts, by their names on the wire.
const pushPull = 6

type header struct {
	Nodes        int
	UserStateLen int
	Join         bool
}

type nodeState struct {
	Name  string
	Meta  []byte
	State memberlist.NodeStateType
}

func (s nodeState) state() State {
	switch s.State {
	case memberlist.StateAlive:
		return Alive
	case memberlist.StateSuspect:
		return Suspected
	case memberlist.StateLeft:
		return Left
	}
	return Failed
}

const statesTime = 5 * time.Second

// states asks memberlist what it believes about all nodes, as another node would: it reports its suspicions to nobody
// else.
func (w *wire) states(ctx context.Context) ([]nodeState, error) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	if !w.offer(theirs) {
		return nil, errors.Join(errors.New("memberlist takes no streams"), theirs.Close())
	}
	unhook := context.AfterFunc(ctx, func() { _ = ours.Close() })
	defer unhook()
	if err := ours.SetDeadline(time.Now().Add(statesTime)); err != nil {
		return nil, err
	}
	var request []byte
	encoder := codec.NewEncoderBytes(&request, &codec.MsgpackHandle{})
	if err := encoder.Encode(header{}); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	if _, err := ours.Write(append([]byte{pushPull}, request...)); err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	in := bufio.NewReader(ours)
	if kind, err := in.ReadByte(); err != nil || kind != pushPull {
		return nil, fmt.Errorf("answer of type %d: %w", kind, err)
	}
	decoder := codec.NewDecoder(in, &codec.MsgpackHandle{})
	var h header
	if err := decoder.Decode(&h); err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	states := make([]nodeState, 0, min(max(h.Nodes, 0), 1024))
	for range h.Nodes {
		var s nodeState
		if err := decoder.Decode(&s); err != nil {
			return nil, fmt.Errorf("read answer: %w", err)
		}
		states = append(states, s)
	}
	return states, nil
}

// adapt makes a logger for memberlist that writes to ours. What memberlist calls an error is at most a warning,
// because it continues by itself.
func adapt(to *slog.Logger) *log.Logger { return log.New(lines{to}, "", 0) }

type lines struct{ to *slog.Logger }

func (l lines) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	level := slog.LevelDebug
	for mark, as := range map[string]slog.Level{"[ERR] ": slog.LevelWarn, "[WARN] ": slog.LevelInfo,
		"[INFO] ": slog.LevelDebug, "[DEBUG] ": slog.LevelDebug} {
		if rest, ok := strings.CutPrefix(text, mark); ok {
			text, level = rest, as
			break
		}
	}
	l.to.Log(context.Background(), level, "memberlist says", "text", strings.TrimPrefix(text, "memberlist: "))
	return len(line), nil
}
