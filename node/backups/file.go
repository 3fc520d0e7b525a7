// Package backups writes backups of the catalog, keeps the newest in a folder, and reads them again. A backup is the
// agreed state of one Raft index, encrypted to a key of which no node has the private part. See doc/format/backup.md.
package backups

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/internal/seal"
)

// Answers that a caller acts on.
var (
	// ErrDamaged reports a file that is no backup, or not the one that was written: altered or cut off.
	ErrDamaged = errors.New("not a whole backup of a catalog")
	// ErrKey reports a key that is not the one to which the backup is encrypted.
	ErrKey = errors.New("the backup is encrypted to another key")
)

const (
	magic   = "HFCB\x01"
	maxHead = 64 << 10
	about   = "holdfast/catalog-backup/1"
)

// Head says what is in a backup. It is not encrypted, but a backup whose head was changed does not open.
type Head struct {
	Version int            `json:"v"`
	Cluster string         `json:"cluster"` // id
	Name    string         `json:"name"`
	Epoch   uint64         `json:"epoch"`
	Level   int            `json:"level"`
	Index   uint64         `json:"index"` // of the last command
	Term    uint64         `json:"term"`
	At      time.Time      `json:"at"`     // when it was made, by the node's clock
	Node    catalog.NodeID `json:"node"`   // that made it
	Member  string         `json:"member"` // its name
	Size    int64          `json:"size"`   // of what is encrypted
	SHA256  string         `json:"sha256"` // of that
	Key     []byte         `json:"key"`    // the public key
	Box     []byte         `json:"box"`    // the stream's own key, sealed to it
}

// Bytes returns how long the whole file is, with this head.
func (h *Head) Bytes() int64 {
	text, err := json.Marshal(h)
	if err != nil {
		return 0
	}
	return int64(len(magic)+4+len(text)+sha256.Size) + seal.Encrypted(h.Size)
}

// State is an agreed state that stays as it is.
type State interface {
	View(func(catalog.View) error) error
	Write(io.Writer) error // the same bytes each time
}

// Describe reads the state once and returns the head of its backup, as yet without a key.
func Describe(ctx context.Context, s State) (Head, error) {
	h := Head{Version: 1}
	err := s.View(func(v catalog.View) error {
		c, err := v.Cluster()
		h.Cluster, h.Name, h.Epoch, h.Level = c.ID, c.Name, c.Epoch, c.Level
		return err
	})
	sum := &measured{sum: sha256.New()}
	if err == nil {
		err = s.Write(bound{ctx, sum})
	}
	if err != nil {
		return h, fmt.Errorf("look at the catalog for a backup: %w", err)
	}
	h.Size, h.SHA256 = sum.size, fmt.Sprintf("%x", sum.sum.Sum(nil))
	return h, nil
}

// Seal draws the backup's own key and seals it to a public key. It has to be called once for each file.
func (h *Head) Seal(to []byte) (seal.Stream, error) {
	stream, box, err := seal.NewStream(about, to)
	h.Key, h.Box = to, box
	return stream, err
}

// Write writes the backup of the state that the head describes. The file is whole only if the error is nil.
func Write(ctx context.Context, w io.Writer, h Head, with seal.Stream, s State) error {
	text, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("write a backup: %w", err)
	}
	sum := &measured{sum: sha256.New()}
	out := io.MultiWriter(w, sum)
	front := append([]byte(magic), binary.BigEndian.AppendUint32(nil, uint32(len(text)))...)
	if _, err := out.Write(append(front, text...)); err != nil {
		return fmt.Errorf("write a backup: %w", err)
	}
	sealed, plain := with.Writer(out, text), &measured{sum: sha256.New()}
	err = s.Write(bound{ctx, io.MultiWriter(sealed, plain)})
	if err == nil {
		err = sealed.Close()
	}
	if err == nil && (plain.size != h.Size || fmt.Sprintf("%x", plain.sum.Sum(nil)) != h.SHA256) {
		err = errors.New("the state is not what it was when it was looked at")
	}
	if err == nil {
		_, err = w.Write(sum.sum.Sum(nil))
	}
	if err != nil {
		return fmt.Errorf("write a backup: %w", err)
	}
	return nil
}

// ReadHead reads the head of a backup, which is not to be believed before the rest was read.
func ReadHead(r io.Reader) (h Head, text []byte, err error) {
	front := make([]byte, len(magic)+4)
	if _, err := io.ReadFull(r, front); err != nil {
		return h, nil, damaged(err)
	}
	size := binary.BigEndian.Uint32(front[len(magic):])
	if string(front[:len(magic)]) != magic || size > maxHead {
		return h, nil, fmt.Errorf("%w: it does not begin as a backup does", ErrDamaged)
	}
	text = make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, nil, damaged(err)
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, nil, fmt.Errorf("%w: its head: %w", ErrDamaged, err)
	}
	if h.Version != 1 || h.Size < 0 {
		return h, nil, fmt.Errorf("%w: version %d", ErrDamaged, h.Version)
	}
	return h, text, nil
}

// Check reads a whole backup without its key, and compares it with the checksum at its end: that it is as it was
// written, not what is in it.
func Check(r io.Reader) (Head, error) {
	sum := &measured{sum: sha256.New()}
	h, _, err := ReadHead(io.TeeReader(r, sum))
	if err != nil {
		return h, err
	}
	in := bufio.NewReaderSize(r, 256<<10)
	if _, err := io.CopyN(sum, in, h.Bytes()-sum.size-sha256.Size); err != nil {
		return h, damaged(err)
	}
	end := make([]byte, sha256.Size)
	if _, err := io.ReadFull(in, end); err != nil {
		return h, damaged(err)
	}
	if !bytes.Equal(end, sum.sum.Sum(nil)) {
		return h, fmt.Errorf("%w: its checksum is wrong", ErrDamaged)
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return h, fmt.Errorf("%w: there are bytes after its end", ErrDamaged)
	}
	return h, nil
}

// Open decrypts the backup and calls use with its content. use has to read to the end: only then is all of it proved
// and compared with the head. The error is ErrKey if the backup is encrypted to another key, and ErrDamaged if anything
// was changed before the checksum at the end. Check looks at the checksum and at what follows it.
func Open(r io.Reader, key seal.Key, use func(Head, io.Reader) error) error {
	h, text, err := ReadHead(r)
	if err != nil {
		return err
	}
	if !bytes.Equal(h.Key, key.Public()) {
		return fmt.Errorf("%w: %s; the given one is %s", ErrKey, PublicText(h.Key), PublicText(key.Public()))
	}
	stream, err := key.OpenStream(h.Box, about)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	sealed := io.LimitReader(r, seal.Encrypted(h.Size))
	plain := &measured{sum: sha256.New()}
	in := &proving{from: io.TeeReader(stream.Reader(sealed, text), plain)}
	if err := use(h, in); err != nil {
		return errors.Join(err, in.err)
	}
	if !in.ended {
		if _, err := io.Copy(io.Discard, in); err != nil {
			return err
		}
	}
	if plain.size != h.Size || fmt.Sprintf("%x", plain.sum.Sum(nil)) != h.SHA256 {
		return fmt.Errorf("%w: its content does not match its head", ErrDamaged)
	}
	return nil
}

// proving turns what does not open into ErrDamaged.
type proving struct {
	from  io.Reader
	ended bool
	err   error
}

func (p *proving) Read(b []byte) (int, error) {
	n, err := p.from.Read(b)
	switch {
	case errors.Is(err, io.EOF):
		p.ended = true
	case errors.Is(err, seal.ErrSealed):
		p.err = fmt.Errorf("%w: %w", ErrDamaged, err)
		err = p.err
	}
	return n, err
}

func damaged(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it is cut off", ErrDamaged)
	}
	return fmt.Errorf("read a backup: %w", err)
}

// measured sums up and counts what is written to it.
type measured struct {
	sum  hash.Hash
	size int64
}

func (m *measured) Write(p []byte) (int, error) {
	m.size += int64(len(p))
	return m.sum.Write(p)
}

// bound is a writer that fails when the context ends, so that nobody waits for a long write.
type bound struct {
	ctx context.Context
	to  io.Writer
}

func (b bound) Write(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.to.Write(p)
}

// publicMark begins the text of a public key.
const publicMark = "holdfast-backup-"

// PublicText returns a public key as it stands in cluster.toml.
func PublicText(key []byte) string { return publicMark + base64.RawURLEncoding.EncodeToString(key) }

// ParsePublic reads what PublicText returned.
func ParsePublic(text string) ([]byte, error) {
	rest, marked := strings.CutPrefix(text, publicMark)
	key, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	if !marked || err != nil || len(key) != seal.PublicSize {
		return nil, fmt.Errorf("%.80q is not the public key of backups, as holdfast catalog backup-key make prints it",
			text)
	}
	return key, nil
}
