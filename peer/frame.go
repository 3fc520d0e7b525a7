package peer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// Every message on a stream is a frame: four bytes of length, big-endian, then that many bytes.
const frameHeader = 4

const (
	maxHello       = 1 << 10
	maxJoinRequest = 64 << 10
	maxJoinReply   = 4 << 20
	maxMeta        = 64

	// MaxMessage is the most bytes that a request or a reply of Call may have.
	MaxMessage = 8 << 20
)

// protocolVersion is the version of the hello and all that follows it.
const protocolVersion = 1

// helloMagic begins each hello, so that a stray program is told apart from an old node.
const helloMagic = "HFST"

// writeFrame writes one frame in one piece.
func writeFrame(w io.Writer, payload []byte) error {
	b := make([]byte, 0, frameHeader+len(payload))
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	_, err := w.Write(append(b, payload...))
	return err
}

// readFrame reads one frame of at most most bytes. Memory grows with what arrives, not with the length that the other
// side claims.
func readFrame(r io.Reader, most int) ([]byte, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(header[:]))
	if n > int64(most) {
		return nil, fmt.Errorf("frame of %d bytes: at most %d allowed", n, most)
	}
	var body bytes.Buffer
	body.Grow(int(min(n, 64<<10)))
	got, err := body.ReadFrom(io.LimitReader(r, n))
	if err != nil {
		return nil, err
	}
	if got < n {
		return nil, io.ErrUnexpectedEOF
	}
	return body.Bytes(), nil
}

// hello is the first frame of a connection, from the side that dialled.
type hello struct {
	version byte
	class   Class
	epoch   uint64
	clock   time.Time // the sender's, when it sent this
	boot    uint64    // differs each time the sender is started
	cluster string
}

func (h hello) encode() []byte {
	b := append([]byte(helloMagic), h.version, byte(h.class))
	b = binary.BigEndian.AppendUint64(b, h.epoch)
	b = binary.BigEndian.AppendUint64(b, uint64(h.clock.UnixMicro()))
	b = binary.BigEndian.AppendUint64(b, h.boot)
	return appendText(b, h.cluster)
}

// parseHello reads a hello. Bytes after the fields known here are a later version's, and ignored.
func parseHello(data []byte) (hello, error) {
	r := fields{rest: data}
	if magic := r.take(len(helloMagic)); string(magic) != helloMagic {
		return hello{}, fmt.Errorf("hello does not begin with %q", helloMagic)
	}
	h := hello{version: r.byte(), class: Class(r.byte()), epoch: r.uint64()}
	h.clock = time.UnixMicro(int64(r.uint64()))
	h.boot = r.uint64()
	h.cluster = r.text()
	if r.short {
		return hello{}, fmt.Errorf("hello of %d bytes is too short", len(data))
	}
	return h, nil
}

// answer is the reply to a hello.
type answer struct {
	refusal Refusal // 0 when welcome
	epoch   uint64  // 0 towards strangers
	clock   time.Time
	boot    uint64
	reason  string
}

func (a answer) encode() []byte {
	b := []byte{protocolVersion, byte(a.refusal)}
	b = binary.BigEndian.AppendUint64(b, a.epoch)
	b = binary.BigEndian.AppendUint64(b, uint64(a.clock.UnixMicro()))
	b = binary.BigEndian.AppendUint64(b, a.boot)
	return appendText(b, a.reason)
}

func parseAnswer(data []byte) (answer, error) {
	r := fields{rest: data}
	r.byte()
	a := answer{refusal: Refusal(r.byte()), epoch: r.uint64()}
	a.clock = time.UnixMicro(int64(r.uint64()))
	a.boot = r.uint64()
	a.reason = r.text()
	if r.short {
		return answer{}, fmt.Errorf("answer of %d bytes is too short", len(data))
	}
	return a, nil
}

// Kinds of frames that follow hello and answer on a connection's first stream.
const (
	metaRetire byte = 1 // sender opens no more streams here; carries how many it opened
	metaDone   byte = 2 // sender has no stream left here
)

func encodeMeta(kind byte, opened uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{kind}, opened)
}

func parseMeta(data []byte) (kind byte, opened uint64, err error) {
	r := fields{rest: data}
	kind, opened = r.byte(), r.uint64()
	if r.short {
		return 0, 0, fmt.Errorf("connection frame of %d bytes is too short", len(data))
	}
	return kind, opened, nil
}
