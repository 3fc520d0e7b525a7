// Package ledger is the text by which a replica proves what it holds, without cluster and catalog: its format
// (doc/format/ledger.md), and how ledgers are written, read, checked and compared. It is pure: bytes and the time
// are passed in.
package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// ErrWrong reports that a ledger, or a file of it, is not what it has to be. The error says where and why.
var ErrWrong = errors.New("ledger is wrong")

// Shards is the number of parts of a replica's files.
const Shards = 4096

// maxLine bounds a line of any file of a ledger but the trail's.
const maxLine = 1024

// Digest is a SHA-256.
type Digest [sha256.Size]byte

// String returns the digest as 64 hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest reads 64 lower-case hexadecimal digits.
func ParseDigest(text string) (d Digest, err error) {
	n, err := hex.Decode(d[:], []byte(text[:min(len(text), 2*len(d))]))
	if err != nil || n != len(d) || len(text) != 2*len(d) || text != strings.ToLower(text) {
		return Digest{}, fmt.Errorf("%q is not a SHA-256 of 64 lower-case hexadecimal digits", clip(text))
	}
	return d, nil
}

// ShardOf returns the shard of the file of the name: the first 12 bits of the name's SHA-256.
func ShardOf(name string) int {
	sum := sha256.Sum256([]byte(name))
	return int(sum[0])<<4 | int(sum[1])>>4
}

// ShardName returns the shard as folders and ledgers name it.
func ShardName(shard int) string { return fmt.Sprintf("%03x", shard) }

func parseShard(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 16, 12)
	return int(n), err == nil && text == ShardName(int(n))
}

// Entry is one file that a replica holds.
type Entry struct {
	Name   string
	Size   int64
	SHA256 Digest
	Origin Origin
}

// Origin says how a file came into the archive. Lists of earlier ledgers do not say it: it is zero then.
type Origin struct {
	Added      int64  // milliseconds since 1970
	Collection string //
	Job        uint64 // 0: no job made it
	Attempt    int
}

// same reports whether both are the same file with the same bytes, whatever is said of its origin.
func (e Entry) same(other Entry) bool {
	return e.Name == other.Name && e.Size == other.Size && e.SHA256 == other.SHA256
}

// Root proves a set of files: their number, their bytes, and the sum modulo 2^256 of
// SHA-256("name\x00size\x00sha256 in hex") over them.
type Root struct {
	Files int64
	Bytes int64
	Sum   Digest
}

// Add puts a file into the set.
func (r *Root) Add(e Entry) {
	text := make([]byte, 0, len(e.Name)+90)
	text = append(append(text, e.Name...), 0)
	text = append(strconv.AppendInt(text, e.Size, 10), 0)
	text = append(text, e.SHA256.String()...)
	r.Join(Root{Files: 1, Bytes: e.Size, Sum: sha256.Sum256(text)})
}

// Join puts another set in, which must have no file in common with this one.
func (r *Root) Join(other Root) {
	r.Files += other.Files
	r.Bytes += other.Bytes
	carry := 0
	for i := len(r.Sum) - 1; i >= 0; i-- {
		carry += int(r.Sum[i]) + int(other.Sum[i])
		r.Sum[i] = byte(carry)
		carry >>= 8
	}
}

// RootOf returns the root of the files.
func RootOf(files []Entry) (r Root) {
	for _, e := range files {
		r.Add(e)
	}
	return r
}

// prefix begins the names of all files of ledgers.
const prefix = "ledger-"

// Base returns what the names of a ledger's files begin with.
func Base(replica string, at time.Time, serial uint64) string {
	return fmt.Sprintf("%s%s-%s-%06d", prefix, replica, at.UTC().Format("20060102T150405Z"), serial)
}

// The names of the files of the ledger with the base.

func HeadName(base string) string         { return base + ".txt" }
func TrailName(base string) string        { return base + "-trail.txt" }
func SignaturesName(base string) string   { return base + "-signatures.txt" }
func PageName(base, holder string) string { return base + "-" + holder + ".txt" }
func ListName(base, holder string) string { return base + "-" + holder + "-files.txt" }

// checkName says what is wrong with the name of a file of the archive.
func checkName(name string) error {
	if len(name) == 0 || len(name) > 200 || name[0] == '.' {
		return fmt.Errorf("file name %q: want 1 to 200 bytes that do not begin with a dot", clip(name))
	}
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte("._-~+,=@", c) < 0 {
			return fmt.Errorf("file name %q: byte %d is not a letter, a digit or one of ._-~+,=@", clip(name), i)
		}
	}
	return nil
}

// layout is how ledgers write times: UTC, to the millisecond.
const layout = "2006-01-02T15:04:05.000Z"

func formatTime(t time.Time) string { return t.UTC().Format(layout) }

func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(layout, text)
	if err != nil || formatTime(t) != text {
		return time.Time{}, fmt.Errorf("%q is not a time such as %s", clip(text), layout)
	}
	return t, nil
}

func parseCount(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return 0, fmt.Errorf("%q is not a number", clip(text))
	}
	return n, nil
}

// clip shortens foreign text for an error.
func clip(text string) string {
	if len(text) > 80 {
		return text[:80] + "…"
	}
	return text
}

// wrong returns an ErrWrong that says in which file, and why.
func wrong(file, format string, args ...any) error {
	return fmt.Errorf("%s: %s: %w", file, fmt.Sprintf(format, args...), ErrWrong)
}

func reader(text []byte) io.Reader { return bytes.NewReader(text) }

func digestOf(text []byte) Digest { return sha256.Sum256(text) }
