package coding

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// packed returns data in a coding. "raw" is deflate without wrapping, "chunked" are chunks of 1000 bytes.
func packed(t testing.TB, coding string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw":
		w, err = flate.NewWriter(&b, 6)
	case "br":
		w = brotli.NewWriterLevel(&b, 3)
	case "zstd":
		w, err = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	case "chunked":
		for len(data) > 0 {
			n := min(1000, len(data))
			fmt.Fprintf(&b, "%x;ext=1\r\n%s\r\n", n, data[:n])
			data = data[n:]
		}
		b.WriteString("0\r\nTrailer: x\r\n\r\n")
		return b.Bytes()
	}
	if err == nil {
		_, err = w.Write(data)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// head is the head that names the codings, "chunked" and "raw" among them.
func head(codings string) Head {
	h := Head{Content: []string{strings.ReplaceAll(strings.TrimSuffix(codings, "chunked"), "raw", "deflate")}}
	if strings.HasSuffix(codings, "chunked") {
		h.Transfer = []string{"Chunked"}
	}
	return h
}

// unpack reads a payload twice, at once and byte by byte, which must come to the same.
func unpack(t testing.TB, p *Pool, payload []byte, h Head, o Options) (out []byte, untrue bool, err error) {
	t.Helper()
	read := func(from io.Reader) ([]byte, bool, error) {
		r, err := p.Open(from, h, o)
		if err != nil {
			return nil, false, err
		}
		out, err := io.ReadAll(r)
		if _, again := r.Read(make([]byte, 1)); err != nil && again != err || err == nil && again != io.EOF {
			t.Fatalf("ended with %v, then with %v", err, again)
		}
		r.Close()
		r.Close()
		return out, r.Untrue(), err
	}
	out, untrue, err = read(bytes.NewReader(payload))
	slowly, untrue2, err2 := read(iotest.OneByteReader(bytes.NewReader(payload)))
	same := bytes.Equal(out, slowly) || err != nil && (bytes.HasPrefix(out, slowly) || bytes.HasPrefix(slowly, out))
	if !same || untrue != untrue2 || (err == nil) != (err2 == nil) {
		t.Fatalf("at once %.40q, %t, %v; byte by byte %.40q, %t, %v", out, untrue, err, slowly, untrue2, err2)
	}
	return out, untrue, err
}

const page = "<html><p>Some text, and again some text.</p>\n"

var kinds = []string{"gzip", "x-gzip", "deflate", "raw", "br", "zstd"}

// Every coding, and lists of them, come off; readers from a pool are as new ones.
func TestCodings(t *testing.T) {
	pool := new(Pool)
	noise := make([]byte, 200_000)
	for i := range noise {
		noise[i] = byte(i * i >> 7)
	}
	contents := map[string][]byte{"text": []byte(page), "long": bytes.Repeat([]byte(page), 5000), "noise": noise, "none": nil}
	for _, codings := range append(kinds, "chunked", "gzip, chunked", "br, chunked", "gzip, br", "raw, gzip", "GZIP",
		"deflate, zstd, gzip, br, chunked", "identity", "none, gzip", "") {
		for name, data := range contents {
			in := data
			for c := range strings.SplitSeq(strings.ToLower(codings), ", ") {
				if c != "" && c != "identity" && c != "none" {
					in = packed(t, c, in)
				}
			}
			for _, p := range []*Pool{nil, pool, pool} {
				got, untrue, err := unpack(t, p, in, head(codings), Options{})
				if !bytes.Equal(got, data) || untrue || err != nil {
					t.Errorf("%s, %s: %d bytes of %d, untrue %t, %v", codings, name, len(got), len(data), untrue, err)
				}
			}
		}
	}
}

// What browsers read, we read: without an error and, unless it is said, as the coding that it is.
func TestLenient(t *testing.T) {
	whole := func(coding string) string { return string(packed(t, coding, []byte(page))) }
	chunk := fmt.Sprintf("%x\r\n%s\r\n", len(page), page)
	for _, tt := range []struct {
		name, codings, payload, want string
		untrue                       bool
	}{
		{"no gzip trailer", "gzip", whole("gzip")[:len(whole("gzip"))-8], page, false},
		{"half a gzip trailer", "gzip", whole("gzip")[:len(whole("gzip"))-3], page, false},
		{"no zlib trailer", "deflate", whole("deflate")[:len(whole("deflate"))-4], page, false},
		{"a blank line after gzip", "gzip", whole("gzip") + "\r\n", page, false},
		{"text after gzip", "gzip", whole("gzip") + "<!-- cached -->", page, false},
		{"text after deflate", "deflate", whole("deflate") + "<!-- cached -->", page, false},
		{"text after raw deflate", "deflate", whole("raw") + "<!-- cached -->", page, false},
		{"text after br", "br", whole("br") + "<!-- cached -->", page, false},
		{"two gzip members", "gzip", whole("gzip") + whole("gzip"), page + page, false},
		{"two zstd frames", "zstd", whole("zstd") + whole("zstd"), page + page, false},
		{"a zstd frame to skip", "zstd", "\x52\x2a\x4d\x18\x03\x00\x00\x00abc" + whole("zstd"), page, false},
		{"gzip with all fields", "gzip", "\x1f\x8b\x08\x1f\x00\x00\x00\x00\x00\x03\x02\x00ab" + "name\x00comment\x00cc" +
			whole("gzip")[10:], page, false},
		{"one of two codings", "gzip, gzip", whole("gzip"), page, true},
		{"bare line ends", "chunked", strings.ReplaceAll(chunk, "\r", "") + "0\n\n", page, false},
		{"white space after sizes", "chunked", strings.Replace(chunk, "\r", " \t\r", 1) + "0  \r\n\r\n", page, false},
		{"no trailers", "chunked", chunk + "0\r\n", page, false},
		{"cut off in the trailers", "chunked", chunk + "0\r\nA: b\r", page, false},
		{"text after chunks", "chunked", chunk + "0\r\n\r\nmore", page, false},
		{"no chunks", "chunked", page, page, true},
		{"no chunks, but a first line of hex", "chunked", "1e\nThis is a list of all the things.",
			"1e\nThis is a list of all the things.", true},
		{"gzip, no chunks", "gzip, chunked", whole("gzip"), page, true},
		{"chunks, no gzip", "gzip, chunked", chunk + "0\r\n\r\n", page, true},
	} {
		got, untrue, err := unpack(t, nil, []byte(tt.payload), head(tt.codings), Options{})
		if string(got) != tt.want || untrue != tt.untrue || err != nil {
			t.Errorf("%s: %q, untrue %t, %v", tt.name, got, untrue, err)
		}
	}
	for _, text := range []string{page, "x", "xi", "8bit", "Disallow: /privé\n", strings.Repeat(page, 1000)} {
		for _, coding := range []string{"gzip", "deflate", "br", "zstd", "gzip, br"} {
			got, untrue, err := unpack(t, nil, []byte(text), head(coding), Options{})
			if string(got) != text || !untrue || err != nil {
				t.Errorf("%.20q said to be %s: %.20q, untrue %t, %v", text, coding, got, untrue, err)
			}
		}
	}
}

// A damaged payload gives what comes before the damage, and an Error that says which coding failed and where.
func TestDamaged(t *testing.T) {
	long := bytes.Repeat([]byte(page), 3000)
	for i := range long {
		long[i] ^= byte(i>>9) & 15
	}
	for _, codings := range append(kinds, "chunked", "br, chunked", "gzip, br", "zstd, deflate") {
		whole := long
		for c := range strings.SplitSeq(codings, ", ") {
			whole = packed(t, c, whole)
		}
		for i := 1; i < 8; i++ {
			cut := whole[:len(whole)*i/8]
			got, untrue, err := unpack(t, nil, cut, head(codings), Options{})
			var failed *Error
			if !errors.As(err, &failed) || !errors.Is(err, io.ErrUnexpectedEOF) || !failed.Usable || untrue ||
				!bytes.HasPrefix(long, got) || failed.At > int64(len(cut)) && !strings.Contains(codings, ",") {
				t.Errorf("%s cut to %d of %d: %d bytes, untrue %t, %+v", codings, len(cut), len(whole), len(got), untrue, err)
			}
		}
	}
	change := func(coding string, at int) []byte {
		b := packed(t, coding, long)
		if at < 0 {
			at += len(b)
		}
		b[at] ^= 0x55
		return b
	}
	for _, tt := range []struct {
		name, codings string
		payload       []byte
		layer         string
		usable        bool
		want          error
	}{
		{"gzip checksum", "gzip", change("gzip", -8), "gzip", false, errChecksum},
		{"gzip length", "gzip", change("gzip", -1), "gzip", false, errChecksum},
		{"zlib checksum", "deflate", change("deflate", -1), "deflate", false, errChecksum},
		{"zstd checksum", "zstd", change("zstd", -1), "zstd", false, zstd.ErrCRCMismatch},
		{"gzip method", "gzip", change("gzip", 2), "gzip", true, ErrDamaged},
		{"deflate of a bad type", "deflate", []byte("\xff\xff\xff\xff\xff"), "deflate", true, ErrDamaged},
		{"zlib with a dictionary", "deflate", []byte("\x78\xbb\x01\x02\x03\x04\x05"), "deflate", true, ErrDamaged},
		{"br of a bad header", "br", []byte("\x11\xff\xff\xff\xff\xff"), "br", true, ErrDamaged},
		{"zstd of a bad block", "zstd", []byte("\x28\xb5\x2f\xfd\x00\x58\xff\xff\xff\xff"), "zstd", true, ErrDamaged},
		{"text after zstd", "zstd", append(packed(t, "zstd", long), "text"...), "zstd", true, ErrDamaged},
		{"the second member", "gzip", append(packed(t, "gzip", long), "\x1f\x8b\x07ttttttttt"...), "gzip", true, ErrDamaged},
		{"a bad chunk size", "chunked", []byte("3\r\nabc\r\nzz\r\n"), "chunked", true, ErrDamaged},
		{"a negative chunk size", "chunked", []byte("3\r\nabc\r\n-1\r\n"), "chunked", true, ErrDamaged},
		{"a chunk size of 17 digits", "chunked", []byte("3\r\nabc\r\nffffffffffffffff0\r\nabc"), "chunked", true, ErrDamaged},
		{"a chunk that does not end", "chunked", []byte("1388\r\n" + strings.Repeat("x", 5000) + "abc\r\n"), "chunked", true,
			ErrDamaged},
		{"a long chunk line", "chunked", []byte("3\r\nabc\r\n3;" + strings.Repeat("x", 9000) + "\r\n"), "chunked", true,
			ErrDamaged},
		{"a bad chunk below gzip", "gzip, chunked",
			append(packed(t, "chunked", packed(t, "gzip", long)[:1000])[:1013], "zz\r\n"...), "chunked", true, ErrDamaged},
		{"gzip in gzip", "gzip, gzip", packed(t, "gzip", change("gzip", -8)), "gzip", false, errChecksum},
	} {
		got, untrue, err := unpack(t, nil, tt.payload, head(tt.codings), Options{})
		var failed *Error
		if !errors.As(err, &failed) || failed.Layer != tt.layer || failed.Usable != tt.usable || !errors.Is(err, tt.want) ||
			!errors.Is(err, ErrDamaged) || untrue {
			t.Errorf("%s: %d bytes, untrue %t, %+v", tt.name, len(got), untrue, err)
		}
	}
	_, _, err := unpack(t, nil, []byte("3\r\nabc\r\nzz\r\n"), head("chunked"), Options{})
	const want = `decode "chunked" at byte 8: damaged: "zz" where the size of a chunk should stand`
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	// What cannot be read is neither damage nor an end.
	broken := errors.New("disk")
	for _, codings := range append(kinds, "chunked", "gzip, chunked", "") {
		whole := long
		for c := range strings.SplitSeq(codings, ", ") {
			if c != "" {
				whole = packed(t, c, whole)
			}
		}
		for _, n := range []int{0, 1, 1000, len(whole) / 2} {
			r, err := Open(io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(broken)), head(codings), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != broken || !bytes.HasPrefix(long, got) && n > 1 {
				t.Errorf("%s, a disk that fails after %d bytes: %d bytes, %v", codings, n, len(got), err)
			}
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, codings := range []string{"compress", "gzip, utf-8", "x, br"} {
		in := strings.NewReader(page)
		_, err := Open(in, head(codings), Options{})
		var failed *Error
		if !errors.As(err, &failed) || !errors.Is(err, ErrUnknown) || !strings.Contains(codings, failed.Layer) ||
			in.Len() != len(page) {
			t.Errorf("%s: %v, %d bytes left", codings, err, in.Len())
		}
	}
	in := packed(t, "gzip", []byte(page))
	got, untrue, err := unpack(t, nil, in, head("utf-8, gzip, binary"), Options{PassUnknown: true})
	if string(got) != page || !untrue || err != nil {
		t.Errorf("words passed over: %q, %t, %v", got, untrue, err)
	}
}

func TestLimits(t *testing.T) {
	zeros := make([]byte, 3<<20)
	for _, coding := range kinds {
		in := packed(t, coding, zeros)
		for _, tt := range []struct {
			limit int64
			over  bool
		}{{1 << 20, true}, {int64(len(zeros)) - 1, true}, {int64(len(zeros)), false}, {0, false}} {
			r, err := Open(bytes.NewReader(in), head(coding), Options{Output: tt.limit})
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			var failed *Error
			if over := errors.As(err, &failed) && errors.Is(err, ErrLimit) && failed.Usable; over != tt.over ||
				tt.over && int64(len(got)) != tt.limit || !tt.over && (err != nil || len(got) != len(zeros)) {
				t.Errorf("%s with a limit of %d: %d bytes, %v", coding, tt.limit, len(got), err)
			}
		}
	}
	if _, err := Open(nil, head("gzip,gzip,gzip,gzip,gzip"), Options{}); !errors.Is(err, ErrLimit) {
		t.Errorf("five codings: %v", err)
	}
	// What unpacks to gigabytes that unpack to nothing is given up.
	piece := packed(t, "gzip", bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, 200<<10))
	r, err := Open(strings.NewReader(strings.Repeat(string(piece), maxBetween>>20+10)), head("raw, gzip"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); !errors.Is(err, ErrLimit) || len(got) > 0 {
		t.Errorf("a bomb in a bomb: %d bytes, %v", len(got), err)
	}
	for _, tt := range []struct {
		window int
		reads  bool
	}{{MaxWindow, true}, {2 * MaxWindow, false}, {512 << 20, false}} {
		var b bytes.Buffer
		z, err := zstd.NewWriter(&b, zstd.WithWindowSize(tt.window), zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		_, err = z.Write([]byte(page))
		if err = errors.Join(err, z.Flush(), z.Close()); err != nil { // the flush makes the frame one of unknown length
			t.Fatal(err)
		}
		_, _, err = unpack(t, nil, b.Bytes(), head("zstd"), Options{})
		if (err == nil) != tt.reads || err != nil && !errors.Is(err, ErrLimit) {
			t.Errorf("a window of %d MiB: %v", tt.window>>20, err)
		}
	}
}

// A payload as it was sent ends where its chunks are broken; what follows is none of it, whatever it looks like.
func TestAsSent(t *testing.T) {
	for _, in := range []string{"3\r\nabc\r\nzz\r\n3\r\nabc\r\n", "3\r\nabc\r\n5\r\n", "3\r\nabc", "zz\r\n3\r\nabc"} {
		want := "abc"
		if in[0] == 'z' {
			want = ""
		}
		got, untrue, err := unpack(t, nil, []byte(in), head("chunked"), Options{AsSent: true})
		if string(got) != want || untrue || err != nil {
			t.Errorf("%q: %q, %t, %v", in, got, untrue, err)
		}
	}
}

// A reader that was closed reads no more, and another may have its decoders.
func TestClosed(t *testing.T) {
	p := new(Pool)
	in := packed(t, "gzip", []byte(page))
	a, err := p.Open(bytes.NewReader(in), head("gzip"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	b, err := p.Open(bytes.NewReader(in), head("gzip"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	if n, err := a.Read(make([]byte, 10)); n > 0 || !errors.Is(err, errClosed) {
		t.Errorf("read %d bytes, %v", n, err)
	}
	if got, err := io.ReadAll(b); string(got) != page || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A decoder that was given back, wherever it stood, knows nothing of what it read before.
func TestDecodersAreReset(t *testing.T) {
	for _, coding := range append(kinds, "chunked", "br, chunked") {
		in := []byte(page)
		for c := range strings.SplitSeq(coding, ", ") {
			in = packed(t, c, in)
		}
		p := new(Pool)
		for name, before := range map[string]string{"whole": string(in), "text after it": string(in) + "text after it",
			"cut off": string(in[:len(in)/2]),
			"another": "\x28\xb5\x2f\xfd\x00\x58\xff", "damaged": string(in[:len(in)/2]) + "\xff\xff\xff\xff"} {
			for _, n := range []int64{0, 1, 1000} {
				r, err := p.Open(strings.NewReader(before), head(coding), Options{})
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.CopyN(io.Discard, r, n) // whatever comes of it
				r.Close()
				if got, untrue, err := unpack(t, p, in, head(coding), Options{}); string(got) != page || untrue || err != nil {
					t.Errorf("%s after %d bytes of one (%s): %q, %t, %v", coding, n, name, got, untrue, err)
				}
			}
		}
	}
}
