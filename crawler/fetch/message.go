package fetch

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"holdfast/internal/coding"
)

var (
	errCut      = errors.New("body cut off at the limit")         // it was longer than is kept
	errMidFetch = errors.New("response stopped after its header") // as MidFetch wanted
	errChunk    = errors.New("broken chunked coding")
)

// How a body ends.
type framing int

const (
	noBody framing = iota
	byLength
	byChunks
	byClose
)

// message receives one response into a recording.
type message struct {
	rec      *Recording
	maxBody  int64
	head     Head // Status 0 until the head is whole
	framing  framing
	length   int64 // byLength: as declared
	chunks   coding.Chunks
	bodySize int64 // as sent
	done     bool
	excess   bool // bytes came after the end
	note     string

	headOnly  bool // the answer to HEAD
	midFetch  func(Head, int64) bool
	brokenOff bool // midFetch said so
}

// receive reads with read until the response is whole, or cannot become so: then it says why.
func (m *message) receive(read func([]byte) (int, error)) error {
	scanned, interim := 0, 0
	for m.head.Status == 0 {
		space := m.rec.space()
		n, err := read(space)
		if n > 0 && m.head.Status == 0 {
			m.rec.mem = m.rec.mem[:len(m.rec.mem)+n]
			m.rec.size = int64(len(m.rec.mem))
		}
	again:
		if skip := emptyLines(m.rec.mem); skip > 0 && skip <= maxEmptyLines {
			m.rec.dropFirst(skip) // it belongs to what came before
			scanned = 0
		}
		end := headEnd(m.rec.mem, scanned)
		if end > maxHead || end == 0 && len(m.rec.mem) > maxHead {
			m.note = "headerTrunc"
			return fmt.Errorf("%w: header longer than %d bytes", errHead, maxHead)
		}
		if end == 0 {
			scanned = len(m.rec.mem)
			if err != nil {
				return noEOF(err)
			}
			continue
		}
		h, ok := parseHead(m.rec.mem[:end])
		if !ok {
			m.note = "badStatusLine"
			return fmt.Errorf("%w: it begins %.40q", errHead, m.rec.mem[:min(end, 40)])
		}
		if h.Status < 200 && h.Status != 101 {
			if interim++; interim > maxInterim {
				m.note = "endlessInterim"
				return fmt.Errorf("%w: more than %d interim responses", errHead, maxInterim)
			}
			m.rec.dropFirst(end)
			scanned = 0
			goto again
		}
		m.begin(h, end)
		rest := m.rec.mem[end:]
		m.rec.mem, m.rec.size = m.rec.mem[:end], int64(end)
		m.rec.block.Write(m.rec.mem)
		broken := m.goOn(m.length, m.done)
		if kept := m.body(rest); kept.err != nil || m.done {
			return kept.err
		}
		if broken != nil {
			return broken
		}
		if err != nil {
			return m.ended(err)
		}
	}
	for {
		space := m.rec.space()
		n, err := read(space)
		if n > 0 {
			if kept := m.body(space[:n]); kept.err != nil || m.done {
				return kept.err
			}
		}
		if err != nil {
			return m.ended(err)
		}
	}
}

// begin takes the head and works out how the body ends.
func (m *message) begin(h Head, end int) {
	m.head, m.rec.headLen = h, end
	m.framing, m.length = byClose, -1
	switch {
	case m.headOnly || h.Status == 204 || h.Status == 304 || h.Status == 101:
		m.framing, m.done = noBody, true
	case len(coding.Names(h.All("Transfer-Encoding"))) > 0:
		if h.chunked() {
			m.framing = byChunks
			m.rec.body = sha1.New()
		}
	default:
		var contradicting bool
		if m.length, contradicting = h.ContentLength(); contradicting {
			m.note = "contradictingLength"
		} else if m.length >= 0 {
			m.framing = byLength
		}
		m.done = m.framing == byLength && m.length == 0
	}
	m.rec.whole = m.framing != byChunks
}

// goOn asks, once the head is there, whether the rest is wanted. Where nothing is to come the answer is but noted.
func (m *message) goOn(length int64, whole bool) error {
	if m.midFetch == nil || m.midFetch(m.head, length) {
		return nil
	}
	m.brokenOff = true
	if whole {
		return nil
	}
	return errMidFetch
}

// tongue says, of a response that has no head, whether the request should be sent again in another way.
func (m *message) tongue(conn *conn, err error) attempt {
	received := m.rec.mem
	var timeout net.Error
	switch {
	case errors.Is(err, errNeedsHTTP1):
		return needsHTTP1
	case errors.Is(err, errRefused):
		return stale
	case conn.unasked && len(received) >= 9 && string(received[3:9]) == "\x04\x00\x00\x00\x00\x00":
		return needsH2 // these are HTTP/2's settings
	case len(received) > 0, errors.Is(err, errHead), errors.As(err, &timeout) && timeout.Timeout():
		return settled
	case conn.unasked && conn.silent && !conn.received:
		return needsH2
	}
	return stale
}

type kept struct{ err error }

// body takes the next bytes after the header; p is the start of the slice that space returned, or what followed the
// header there.
func (m *message) body(p []byte) kept {
	if m.done {
		m.excess = m.excess || len(p) > 0
		return kept{}
	}
	if len(p) == 0 {
		return kept{}
	}
	var cut error
	if m.maxBody > 0 && m.bodySize+int64(len(p)) > m.maxBody {
		p, cut = p[:m.maxBody-m.bodySize], errCut
	}
	n := len(p)
	switch m.framing {
	case byLength:
		if left := m.length - m.bodySize; int64(n) >= left {
			m.done, m.excess = true, int64(n) > left || cut != nil
			n, cut = int(left), nil
		}
		m.rec.payload.Write(p[:n])
	case byChunks:
		used, err := m.chunks.Feed(p, m.rec.payload)
		m.done = m.chunks.Ended()
		m.rec.whole = m.done
		if err != nil {
			cut = fmt.Errorf("%w: %w", errChunk, err)
		} else if m.done {
			m.excess = used < n || cut != nil
			n, cut = used, nil
		}
		m.rec.body.Write(p[:n])
	default:
		m.rec.payload.Write(p)
	}
	m.bodySize += int64(n)
	if err := m.rec.keep(p[:n]); err != nil {
		return kept{err}
	}
	return kept{cut}
}

// ended translates the end of the connection at this point.
func (m *message) ended(err error) error {
	if m.framing == byClose && errors.Is(err, io.EOF) {
		m.done = true
		return nil
	}
	return noEOF(err)
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// reusable tells whether another request can go over the same connection.
func (m *message) reusable() bool {
	if !m.done || m.excess || m.framing == byClose || m.head.Status == 101 {
		return false
	}
	keep := m.head.minor11
	m.head.each("Connection", func(v string) {
		v = strings.ToLower(v)
		if strings.Contains(v, "close") {
			keep = false
		} else if strings.Contains(v, "keep-alive") {
			keep = true
		}
	})
	return keep
}

// truncation is the reason, in WARC's words, why a response is not whole; "" where it is.
func (m *message) truncation(err error) string {
	var timeout net.Error
	switch {
	case m.brokenOff:
		m.note = "midFetchTrunc"
		if m.done {
			return ""
		}
		return "unspecified"
	case errors.Is(err, errCut):
		m.note = "lenTrunc"
		return "length"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) &&
		timeout.Timeout():
		m.note = "timeTrunc"
		return "time"
	case errors.Is(err, errChunk):
		m.note = "badChunk"
		return "unspecified"
	case errors.Is(err, errFrames):
		m.note = "badFrames"
		return "unspecified"
	case err != nil:
		m.note = "midFetchTrunc"
		return "disconnect"
	case m.note != "": // lengths that contradict each other
		return "unspecified"
	}
	if m.excess {
		m.note = "bodyExcess"
	}
	return ""
}
