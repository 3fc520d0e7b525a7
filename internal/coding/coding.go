// Package coding takes the chunked transfer coding and the content codings off a stored HTTP payload: gzip, deflate, br
// and zstd, and lists of them. It is the one place that knows them, with one set of limits.
//
// It reads as browsers do, and is lenient where they are:
//
//   - A payload that does not begin as its coding does passes unchanged; Untrue reports it. A payload of no bytes is
//     empty content in every coding.
//   - "identity" and "none" name no coding. x-gzip is gzip. Names are compared without regard to case.
//   - deflate may come in its zlib wrapping or without.
//   - The checksum and length after gzip and deflate may be missing or cut off. If they are there they must be right.
//   - Several gzip members and zstd frames after each other are one content. Bytes that follow gzip, deflate or br and
//     do not belong to them are ignored.
//   - Lines of the chunked coding may end in a bare LF, sizes in white space; extensions and trailers are ignored, and
//     the trailers may be missing.
//
// All else that RFC 9112, 1950, 1951, 1952, 7932 and 8878 forbid is an Error.
package coding

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// The limits that hold for every payload.
const (
	MaxCodings = 4       // content codings of one payload
	MaxWindow  = 8 << 20 // bytes of a zstd window, as RFC 9659 and browsers have it; in other codings 16 MiB

	// What one coding unpacks to for the next: at most maxBetween bytes, and perStored more for each byte stored.
	maxBetween = 32 << 20
	perStored  = 16
)

var (
	// ErrUnknown reports the name of a coding that is not known here.
	ErrUnknown = errors.New("unknown content coding")
	// ErrLimit reports more codings, a larger window or more content than allowed.
	ErrLimit = errors.New("over the limit")
	// ErrDamaged reports bytes that the coding does not allow, or a checksum that does not match.
	ErrDamaged = errors.New("damaged")
)

// Error reports the coding that could not be taken off. Err is ErrUnknown, ErrLimit, ErrDamaged or, of a payload
// that ends too early, io.ErrUnexpectedEOF. Errors in reading the payload itself are not Errors and are returned as
// they came.
type Error struct {
	// Layer is "chunked" or the content coding as the head calls it.
	Layer string
	// At is where the coding failed: the bytes of its input that were read by then. A decoder may have read up to
	// 32 KiB ahead.
	At int64
	// Usable tells that the bytes read before are the beginning of the content. They are not if a checksum does not
	// match: then something among them is wrong.
	Usable bool
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("decode %.40q at byte %d: %v", e.Layer, e.At, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Head is what the header of a message says about its payload: the values of its Transfer-Encoding and
// Content-Encoding fields. Of the first, only the chunked coding is removed. Leave a field empty to keep its codings.
type Head struct {
	Transfer, Content []string
}

// Options change how a payload is read. The zero value is how a payload is read that anybody may have stored.
type Options struct {
	// Output bounds what content codings unpack to, in bytes: the byte after it is ErrLimit. 0: no bound.
	Output int64
	// PassUnknown ignores names of unknown codings, as browsers do; Untrue reports them.
	PassUnknown bool
	// AsSent says that the payload is just as it came over the wire, and where that broke is known: it is in chunks if
	// the head says so, and ends where they are broken or cut off, without an error.
	AsSent bool
}

// Names cuts field values such as "gzip, br" into the names of codings in lower case, without those that change
// nothing.
func Names(values []string) []string {
	var names []string
	for _, v := range values {
		for name := range strings.SplitSeq(v, ",") {
			switch name = strings.ToLower(strings.TrimSpace(name)); name {
			case "", "identity", "none":
			default:
				names = append(names, name)
			}
		}
	}
	return names
}

// Chunked reports whether the values of Transfer-Encoding announce chunks.
func Chunked(values []string) bool {
	for _, name := range Names(values) {
		if name == "chunked" {
			return true
		}
	}
	return false
}

func known(name string) bool {
	switch name {
	case "gzip", "x-gzip", "deflate", "br", "zstd":
		return true
	}
	return false
}

// Reader reads a payload without its codings. An error is final: Read returns it again.
type Reader struct {
	*state
	from   io.Reader
	last   *layer // the last content coding to remove, nil if there is none
	left   int64  // that may still come out, when bounded
	bound  bool
	untrue bool // a name was ignored
	err    error
}

// Open returns a reader of the payload without the codings that the head names. It reads nothing yet, so that after an
// error (ErrUnknown, ErrLimit) the payload is untouched. Closing the reader does not close the payload.
func Open(payload io.Reader, h Head, o Options) (*Reader, error) {
	return (*Pool)(nil).Open(payload, h, o)
}

// Open is the function Open with decoders from the pool, which has them back when the reader is closed.
func (p *Pool) Open(payload io.Reader, h Head, o Options) (*Reader, error) {
	r := &Reader{from: payload, left: o.Output, bound: o.Output > 0}
	names := Names(h.Content)
	if len(names) > MaxCodings {
		what := fmt.Errorf("%w: %d content codings, at most %d", ErrLimit, len(names), MaxCodings)
		return nil, &Error{Layer: strings.Join(names, ", "), Usable: true, Err: what}
	}
	keep := names[:0]
	for _, name := range names {
		switch {
		case known(name):
			keep = append(keep, name)
		case !o.PassUnknown:
			return nil, &Error{Layer: name, Usable: true, Err: ErrUnknown}
		default:
			r.untrue = true
		}
	}
	chunked := Chunked(h.Transfer)
	if len(keep) == 0 && !chunked {
		return r, nil
	}
	r.state = p.take()
	if chunked {
		r.from = r.dechunker.begin(payload, o.AsSent)
	}
	r.layers = r.layers[:len(keep)]
	for i := range r.layers {
		name := keep[len(keep)-1-i]
		r.last = r.layers[i].begin(name, r.from, i < len(keep)-1)
		if i > 0 {
			r.last.stored = r.layers[0]
		}
		r.from = r.last
	}
	return r, nil
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if r.err != nil || len(p) == 0 {
		return 0, r.err
	}
	if r.last != nil && r.bound {
		p = p[:min(int64(len(p)), r.left+1)]
	}
	n, err := r.from.Read(p)
	if r.last != nil && r.bound {
		if r.left -= int64(n); r.left < 0 {
			n, err = n-1, r.last.fail(fmt.Errorf("%w: unpacks to more than it may", ErrLimit))
		}
	}
	r.err = err
	return n, err
}

// Untrue reports whether the payload was not coded as its head says, as far as it was read: a coding was not there, or
// its name is not known.
func (r *Reader) Untrue() bool {
	if r.untrue || r.state == nil {
		return r.untrue
	}
	for _, l := range r.layers {
		r.untrue = r.untrue || l.untrue
	}
	r.untrue = r.untrue || r.dechunker.untrue
	return r.untrue
}

// Close gives the decoders back to the pool. It never fails, and closing again does nothing.
func (r *Reader) Close() error {
	r.Untrue() // can be asked for afterwards, too
	if r.state != nil {
		r.state.release()
		r.state, r.last, r.from = nil, nil, nil
	}
	if r.err == nil {
		r.err = errClosed
	}
	return nil
}

var errClosed = errors.New("read a payload that is closed")
