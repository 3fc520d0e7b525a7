package wacz

import (
	"archive/zip"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"path"
	"strings"
	"time"
)

// About describes a WACZ that is written.
type About struct {
	Title, Description string
	Software           string // that writes it, with its version
	Created            time.Time
	Version            string // of the specification; default Version111
	Sign               bool   // with a key that is made for this one file and thrown away
}

// Writer writes a WACZ as a stream, in this order: archives, index, pages. Nothing is held in memory but the list of
// parts. A Writer that failed, or was not closed, leaves a file that no reader opens.
type Writer struct {
	zip   *zip.Writer
	about About
	parts []resource
	open  *part
	have  map[string]bool
}

// part is being written.
type part struct {
	path string
	to   io.Writer
	sum  hash.Hash
	size int64
}

// Write implements io.Writer.
func (p *part) Write(b []byte) (int, error) {
	n, err := p.to.Write(b)
	p.sum.Write(b[:n])
	p.size += int64(n)
	return n, err
}

// NewWriter begins a WACZ. It is an error to ask for a version that is not known.
func NewWriter(out io.Writer, about About) (*Writer, error) {
	switch about.Version {
	case "":
		about.Version = Version111
	case Version111, Version120:
	default:
		return nil, fmt.Errorf("WACZ version %q: want %s or %s", about.Version, Version111, Version120)
	}
	return &Writer{zip: zip.NewWriter(out), about: about, have: map[string]bool{}}, nil
}

// Archive begins a WARC file of that name. What is written to it until the next call of the Writer is its content; it
// must be compressed already if it is to be small.
func (w *Writer) Archive(name string) (io.Writer, error) {
	if !fs.ValidPath(name) || strings.ContainsAny(name, "/\\") {
		return nil, fmt.Errorf("%q cannot be the name of a file in a WACZ", name)
	}
	return w.create(archiveFolder+name, zip.Store)
}

func (w *Writer) create(path string, method uint16) (*part, error) {
	w.finish()
	if w.have[path] {
		return nil, fmt.Errorf("the WACZ has a file %s already", path)
	}
	w.have[path] = true
	to, err := w.zip.CreateHeader(&zip.FileHeader{Name: path, Method: method, Modified: w.about.Created})
	if err != nil {
		return nil, err
	}
	w.open = &part{path: path, to: to, sum: sha256.New()}
	return w.open, nil
}

// finish notes the part that was written.
func (w *Writer) finish() {
	if p := w.open; p != nil {
		sum := "sha256:" + hex.EncodeToString(p.sum.Sum(nil))
		w.parts = append(w.parts, resource{Name: path.Base(p.path), Path: p.path, Hash: sum, Bytes: p.size})
		w.open = nil
	}
}

// perBlock is how many lines of an index are compressed together.
const perBlock = 1024

// Index writes the index: CDXJ lines in order, each with its line end, whose file names are those of archives. They are
// compressed in blocks, so that a reader fetches one to find a page (ZipNum).
func (w *Writer) Index(lines iter.Seq2[[]byte, error]) error {
	out, err := w.create(indexPath, zip.Store)
	if err != nil {
		return err
	}
	outer := []byte(`!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}` + "\n")
	block := &block{out: out}
	for line, err := range lines {
		if err != nil {
			return err
		}
		if outer, err = block.add(line, outer); err != nil {
			return err
		}
	}
	if outer, err = block.end(outer); err != nil {
		return err
	}
	second, err := w.create(indexOfIndex, zip.Deflate)
	if err != nil {
		return err
	}
	_, err = second.Write(outer)
	return err
}

// block is some lines of an index, being compressed.
type block struct {
	out   *part
	z     *gzip.Writer
	lines int
	first string // key and time of its first line
	from  int64
	sum   hash.Hash
}

func (b *block) add(line, outer []byte) ([]byte, error) {
	if b.lines == perBlock {
		var err error
		if outer, err = b.end(outer); err != nil {
			return nil, err
		}
	}
	if b.lines == 0 {
		fields := strings.SplitN(string(line), " ", 3)
		if len(fields) < 3 {
			return nil, fmt.Errorf("%.100q is no line of CDXJ", line)
		}
		b.first, b.from, b.sum = fields[0]+" "+fields[1], b.out.size, sha256.New()
		b.z = gzip.NewWriter(io.MultiWriter(b.out, b.sum))
	}
	b.lines++
	_, err := b.z.Write(line)
	return outer, err
}

// end ends the block, if there is one, and adds its line to the outer index.
func (b *block) end(outer []byte) ([]byte, error) {
	if b.lines == 0 {
		return outer, nil
	}
	if err := b.z.Close(); err != nil {
		return nil, err
	}
	b.lines = 0
	return fmt.Appendf(outer, `%s {"offset": %d, "length": %d, "digest": "sha256:%x", "filename": "index.cdx.gz"}`+"\n",
		b.first, b.from, b.out.size-b.from, b.sum.Sum(nil)), nil
}

// Pages writes the list of pages, in the order in which they are to be listed.
func (w *Writer) Pages(pages iter.Seq2[Page, error]) error {
	out, err := w.create(pagesPath, zip.Deflate)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	title := w.about.Title
	if title == "" {
		title = "Pages"
	}
	if err := lines.Encode(map[string]string{"format": "json-pages-1.0", "id": "pages", "title": title}); err != nil {
		return err
	}
	for p, err := range pages {
		if err != nil {
			return err
		}
		id := sha256.Sum256([]byte(stamp(p.Time) + " " + p.URL))
		if err := lines.Encode(struct {
			ID    string `json:"id"`
			URL   string `json:"url"`
			Time  string `json:"ts"`
			Title string `json:"title,omitempty"`
		}{hex.EncodeToString(id[:10]), p.URL, stamp(p.Time), p.Title}); err != nil {
			return err
		}
	}
	return nil
}

// Close writes the list of parts, its digest and the ZIP's directory. It fails if the index or the pages are missing,
// which each WACZ has.
func (w *Writer) Close() error {
	if !w.have[indexPath] || !w.have[pagesPath] {
		return errors.New("the WACZ has no index, or no pages")
	}
	w.finish()
	l := list{Profile: "data-package", Version: w.about.Version, Title: w.about.Title, Description: w.about.Description,
		Created: stamp(w.about.Created), Software: w.about.Software, Resources: w.parts}
	if l.Version == Version120 {
		l.Profile = "wacz"
	}
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	d := digest{Path: listPath, Hash: fmt.Sprintf("sha256:%x", sha256.Sum256(text))}
	if w.about.Sign {
		if d.Signed, err = w.signed(d.Hash); err != nil {
			return fmt.Errorf("sign: %w", err)
		}
	}
	digestText, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	for _, p := range []struct {
		path string
		text []byte
	}{{listPath, text}, {digestPath, digestText}} {
		out, err := w.create(p.path, zip.Deflate)
		if err != nil {
			return err
		}
		if _, err := out.Write(p.text); err != nil {
			return err
		}
	}
	return w.zip.Close()
}

// signed signs the digest of the list with a new key.
func (w *Writer) signed(hash string) (*signed, error) {
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(hash))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return nil, err
	}
	raw := make([]byte, 2*pointSize)
	r.FillBytes(raw[:pointSize])
	s.FillBytes(raw[pointSize:])
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	return &signed{Hash: hash, Created: stamp(w.about.Created), Software: w.about.Software, Version: "0.1.0",
		Signature: base64.StdEncoding.EncodeToString(raw), PublicKey: base64.StdEncoding.EncodeToString(public)}, nil
}

// pointSize is the length of each half of a signature, in bytes.
const pointSize = 48
