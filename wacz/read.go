package wacz

import (
	"archive/zip"
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"strings"
	"time"
)

// Reader reads a WACZ. It may be used by several goroutines at once.
type Reader struct {
	// Signature says who vouches for the list of parts: "" (nobody), "anonymous" (a key alone, whose signature is
	// right) or "domain NAME" (whose signature is not examined).
	Signature string
	Title     string

	files map[string]*zip.File
	parts []resource
	names []string // in the order of the ZIP file
}

// Open reads the directory and the list of parts of a WACZ of size bytes. Errors wrap ErrNotWACZ, ErrDigest if the list
// is not the one that the WACZ has a digest of, or are those of reading.
func Open(f io.ReaderAt, size int64) (*Reader, error) {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotWACZ, err)
	}
	r := &Reader{files: map[string]*zip.File{}}
	for _, file := range z.File {
		name := file.Name
		if strings.HasSuffix(name, "/") {
			continue
		}
		if !fs.ValidPath(name) || strings.Contains(name, "\\") {
			return nil, fmt.Errorf("%w: it has a file %q, whose name leads elsewhere", ErrNotWACZ, name)
		}
		if r.files[name] != nil {
			return nil, fmt.Errorf("%w: it has two files %s", ErrNotWACZ, name)
		}
		r.files[name] = file
		r.names = append(r.names, name)
	}
	return r, r.readList()
}

// readList reads the list of parts and compares its digest.
func (r *Reader) readList() error {
	text, err := r.small(listPath)
	if err != nil {
		return err
	}
	var l list
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNotWACZ, listPath, err)
	}
	for i := range l.Resources {
		if p := &l.Resources[i]; p.Hash == "" && p.Stats != nil {
			p.Hash, p.Bytes = p.Hashing+":"+p.Stats.Hash, p.Stats.Bytes
		}
	}
	r.Title, r.parts = l.Title, l.Resources
	listed := map[string]bool{}
	for _, p := range l.Resources {
		switch {
		case r.files[p.Path] == nil:
			return fmt.Errorf("%w: %s, which its list names, is missing", ErrNotWACZ, p.Path)
		case listed[p.Path]:
			return fmt.Errorf("%w: its list names %s twice", ErrNotWACZ, p.Path)
		case !isSHA256(p.Hash):
			return fmt.Errorf("%w: the digest of %s is %.80q, not one of SHA-256", ErrNotWACZ, p.Path, p.Hash)
		}
		listed[p.Path] = true
	}
	for _, name := range r.names {
		if strings.HasPrefix(name, archiveFolder) && !listed[name] {
			return fmt.Errorf("%w: its list does not name %s", ErrNotWACZ, name)
		}
	}
	if r.files[digestPath] == nil {
		return nil
	}
	return r.readDigest(text)
}

// isSHA256 reports whether a digest is one of SHA-256, written out.
func isSHA256(text string) bool {
	digits, ok := strings.CutPrefix(text, "sha256:")
	sum, err := hex.DecodeString(digits)
	return ok && err == nil && len(sum) == sha256.Size
}

func (r *Reader) readDigest(text []byte) error {
	raw, err := r.small(digestPath)
	if err != nil {
		return err
	}
	var d digest
	if err := json.Unmarshal(raw, &d); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNotWACZ, digestPath, err)
	}
	if have := fmt.Sprintf("sha256:%x", sha256.Sum256(text)); d.Hash != have {
		return fmt.Errorf("%s: %w", listPath, ErrDigest)
	}
	s := d.Signed
	switch {
	case s == nil:
	case s.Hash != d.Hash:
		return fmt.Errorf("%w: the signature is of another list", ErrNotWACZ)
	case s.Domain != "":
		r.Signature = "domain " + s.Domain
	default:
		if err := s.check(); err != nil {
			return fmt.Errorf("%w: its signature: %w", ErrNotWACZ, err)
		}
		r.Signature = "anonymous"
	}
	return nil
}

// check compares an anonymous signature with its key.
func (s *signed) check() error {
	public, err := base64.StdEncoding.DecodeString(s.PublicKey)
	if err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(s.Signature)
	if err != nil {
		return err
	}
	parsed, err := x509.ParsePKIXPublicKey(public)
	if err != nil {
		return err
	}
	key, ok := parsed.(*ecdsa.PublicKey)
	if !ok {
		return fmt.Errorf("its key is %T, not one of ECDSA", parsed)
	}
	sum := sha256.Sum256([]byte(s.Hash))
	left, right := new(big.Int), new(big.Int)
	left.SetBytes(raw[:len(raw)/2])
	right.SetBytes(raw[len(raw)/2:])
	if len(raw) == 0 || !ecdsa.Verify(key, sum[:], left, right) && !ecdsa.VerifyASN1(key, sum[:], raw) {
		return errors.New("it is wrong")
	}
	return nil
}

// small reads a part into memory.
func (r *Reader) small(path string) ([]byte, error) {
	file := r.files[path]
	if file == nil {
		return nil, fmt.Errorf("%w: it has no %s", ErrNotWACZ, path)
	}
	in, err := file.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxList+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(text) > maxList {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrNotWACZ, path, maxList)
	}
	return text, nil
}

// Member is a part of a WACZ.
type Member struct {
	Name   string // without its folder
	Path   string
	Size   int64
	SHA256 string // as the list has it, in hexadecimal digits; empty for the list itself
	// Modified is the time that the ZIP file has of it.
	Modified time.Time
	// At is where its bytes begin in the WACZ; -1 if they are compressed there.
	At int64

	bytes int64 // as the list has it
	file  *zip.File
}

// Open reads the member.
func (m Member) Open() (io.ReadCloser, error) { return m.file.Open() }

// Archives are the WARC files, in the order of the ZIP file. It is an error if there are none.
func (r *Reader) Archives() ([]Member, error) {
	var out []Member
	for _, m := range r.members() {
		if strings.HasPrefix(m.Path, archiveFolder) {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: it has no WARC file", ErrNotWACZ)
	}
	for i, m := range out {
		if m.file.Method == zip.Store {
			at, err := m.file.DataOffset()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Path, err)
			}
			out[i].At = at
		}
	}
	return out, nil
}

// Lists are the parts that say something of the whole: the pages, the list of parts, its digest and signature.
func (r *Reader) Lists() (out []Member) {
	for _, m := range r.members() {
		if strings.HasPrefix(m.Path, "pages/") || m.Path == listPath || m.Path == digestPath {
			out = append(out, m)
		}
	}
	return out
}

func (r *Reader) members() (out []Member) {
	listed := make(map[string]*resource, len(r.parts))
	for i := range r.parts {
		listed[r.parts[i].Path] = &r.parts[i]
	}
	for _, path := range r.names {
		file := r.files[path]
		m := Member{Name: path[strings.LastIndexByte(path, '/')+1:], Path: path, Size: int64(file.UncompressedSize64),
			Modified: file.Modified, At: -1, file: file}
		if p := listed[path]; p != nil {
			m.SHA256, m.bytes = strings.ToLower(strings.TrimPrefix(p.Hash, "sha256:")), p.Bytes
		}
		out = append(out, m)
	}
	return out
}

// Check reads each part that the list names and compares it with the list. passed is told how many bytes were read. All
// parts are looked at; the error names each that is not right.
func (r *Reader) Check(ctx context.Context, passed func(n int)) error {
	var wrong error
	buf := make([]byte, 256<<10)
	for _, m := range r.members() {
		if m.SHA256 == "" {
			continue
		}
		if err := m.check(ctx, buf, passed); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			wrong = errors.Join(wrong, fmt.Errorf("%s: %w", m.Path, err))
		}
	}
	return wrong
}

func (m Member) check(ctx context.Context, buf []byte, passed func(n int)) error {
	in, err := m.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	sum := sha256.New()
	var size int64
	for {
		n, err := in.Read(buf)
		sum.Write(buf[:n])
		size += int64(n)
		passed(n)
		if err == io.EOF {
			break
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
	if m.bytes != size {
		return fmt.Errorf("it has %d bytes, the list says %d: %w", size, m.bytes, ErrDigest)
	}
	if have := fmt.Sprintf("%x", sum.Sum(nil)); have != m.SHA256 {
		return fmt.Errorf("its SHA-256 is %s, the list says %s: %w", have, m.SHA256, ErrDigest)
	}
	return nil
}
