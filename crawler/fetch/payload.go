package fetch

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Payload returns the content without transfer and content coding, at most limit bytes of it, however much more
// it would unpack to. What a broken coding yields before it breaks is returned with the error.
// The bytes are valid until Release.
func (x *Exchange) Payload(limit int64) ([]byte, error) {
	r := x.Response
	if r == nil {
		return nil, nil
	}
	coding := strings.ToLower(strings.TrimSpace(x.Head.Get("Content-Encoding")))
	if r.file == nil && r.body == nil && (coding == "" || coding == "identity") {
		body := r.mem[r.headLen:]
		return body[:min(int64(len(body)), limit)], nil
	}
	body := r.Reader()
	if _, err := body.Seek(int64(r.headLen), io.SeekStart); err != nil {
		return nil, err
	}
	var plain io.Reader = body
	if r.body != nil {
		plain = &dechunker{from: body}
	}
	decoded, err := decode(coding, plain)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", x.Head.Get("Content-Encoding"), err)
	}
	var out bytes.Buffer
	_, err = io.Copy(&out, io.LimitReader(decoded, limit))
	return out.Bytes(), err
}

func decode(coding string, r io.Reader) (io.Reader, error) {
	switch coding {
	case "", "identity":
		return r, nil
	case "gzip", "x-gzip":
		return gzip.NewReader(r)
	case "zstd":
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20), zstd.WithDecoderLowmem(true))
	case "deflate":
		var head bytes.Buffer
		if z, err := zlib.NewReader(io.TeeReader(r, &head)); err == nil {
			return z, nil
		}
		return flate.NewReader(io.MultiReader(&head, r)), nil
	}
	return nil, errors.New("unknown content coding")
}

// dechunker reads the data of a chunked body.
type dechunker struct {
	from   io.Reader
	chunks chunkReader
	ready  bytes.Buffer
}

func (d *dechunker) Read(p []byte) (int, error) {
	for d.ready.Len() == 0 {
		if d.chunks.ended {
			return 0, io.EOF
		}
		piece := make([]byte, 32<<10)
		n, err := d.from.Read(piece)
		if n > 0 {
			if _, broken := d.chunks.feed(piece[:n], &d.ready); broken != nil && d.ready.Len() == 0 {
				return 0, broken
			}
		}
		if err != nil && d.ready.Len() == 0 {
			return 0, err
		}
	}
	return d.ready.Read(p)
}

// Public reports whether an address is one of the public Internet: not loopback, private, link-local, multicast or reserved.
func Public(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsValid() || addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified() {
		return false
	}
	if addr.Is4() {
		b := addr.As4()
		switch {
		case b[0] == 0, b[0] >= 240, // this network, reserved
			b[0] == 100 && b[1]&0xc0 == 64,           // shared by carriers
			b[0] == 192 && b[1] == 0 && b[2] == 0,    // protocol assignments
			b[0] == 198 && b[1]&0xfe == 18,           // benchmarks
			b[0] == 192 && b[1] == 0 && b[2] == 2,    // documentation
			b[0] == 198 && b[1] == 51 && b[2] == 100, // documentation
			b[0] == 203 && b[1] == 0 && b[2] == 113:  // documentation
			return false
		}
		return true
	}
	b := addr.As16()
	switch {
	case b[0] == 0 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b: // NAT64: judge the address within
		return Public(netip.AddrFrom4([4]byte(b[12:])))
	case b[0] == 0x20 && b[1] == 0x02: // 6to4: likewise
		return Public(netip.AddrFrom4([4]byte(b[2:6])))
	}
	return b[0]&0xe0 == 0x20 // global unicast
}
