package warc

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"holdfast/internal/disk"
)

// Salvaged tells what Salvage made of a torn file.
type Salvaged struct {
	Finished Finished
	Dropped  int64 // bytes at the end of the torn file that belong to no whole record
	Offset   int64 // where they began
	Reason   error // what is wrong with them; nil if the file was complete
}

// Salvage makes a finished file of one that was being written when its writer died: the
// whole records at its start, up to the first damage. A path that ends in ".open" loses
// the suffix and the torn end; positions that Files.Write gave stay right. For any other
// path the whole records are copied to a new file "….salvaged.warc.gz" beside it. The
// error is ErrNothing, and the file untouched, when there is not one whole record, and
// fs.ErrExist when the finished file is there already.
func Salvage(d disk.Disk, path string) (Salvaged, error) {
	final, torn := strings.CutSuffix(path, openSuffix)
	if !torn {
		base, ending := path, ""
		if i := strings.LastIndex(path, ".warc"); i > 0 {
			base, ending = path[:i], path[i:]
		}
		final = base + ".salvaged" + ending
	}
	if exists(final) {
		return Salvaged{}, fmt.Errorf("salvage %s to %s: %w", path, final, fs.ErrExist)
	}
	found, err := survey(path)
	if err != nil {
		return Salvaged{}, err
	}
	s := Salvaged{Offset: found.end, Dropped: found.size - found.end, Reason: found.damage}
	s.Finished = Finished{Path: final, Records: found.records}
	switch {
	case found.records == 0:
		return s, &Error{File: path, Offset: found.end, Err: errors.Join(ErrNothing, found.damage)}
	case torn && !found.shared:
		s.Finished.Size = found.end
		return s, shorten(d, path, &s.Finished)
	default:
		if err := rewrite(d, path, found, &s.Finished); err != nil {
			return s, err
		}
		if torn {
			err = d.Remove(path)
		}
		return s, err
	}
}

// surveyed is what was found in a torn file.
type surveyed struct {
	records     int
	end, size   int64
	shared      bool // some records share a member: the end is not where one ends
	compression Compression
	damage      error
}

// survey counts the whole records at the start of a file. A record is whole when its block
// and its end are there and its member, if any, has the right checksum; without the
// proof of a checksum, its block digest has to be right if it has one.
func survey(path string) (surveyed, error) {
	f, err := os.Open(path)
	if err != nil {
		return surveyed{}, fmt.Errorf("salvage: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return surveyed{}, fmt.Errorf("salvage: %w", err)
	}
	s := surveyed{size: info.Size()}
	r, err := NewReader(f, path)
	if err != nil {
		if unreadable(err) {
			return s, err
		}
		s.damage = err
		return s, nil
	}
	s.compression = r.compression()
	torn := false
	r.say = func(code, message string) { torn = torn || code == "record-trailer" }
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = verify(rec)
		}
		if err == nil && torn {
			err = &Error{File: path, Offset: rec.Offset, Err: ErrTrailer}
		}
		if unreadable(err) {
			return s, err
		}
		if err != nil {
			s.damage = err
			break
		}
		s.records++
		s.shared = s.shared || rec.Length == 0
		s.end = rec.Offset + rec.Length
	}
	if s.damage == nil && s.size > s.end && !s.shared {
		s.damage = &Error{File: path, Offset: s.end, Err: ErrTrailer}
	}
	return s, nil
}

// unreadable tells a failing disk from a damaged file: bytes that cannot be read now must not be cut off.
func unreadable(err error) bool {
	var failure *fs.PathError
	return errors.As(err, &failure)
}

// compression tells how the file is packed.
func (r *Reader) compression() Compression {
	switch r.pack.(type) {
	case *gzipMembers:
		return Gzip
	case *zstdFrames:
		return Zstd
	}
	return None
}

// verify reads a record to its end and compares the block digest of an unpacked one, or of
// one whose member is not yet known to be whole.
func verify(rec *Record) error {
	want, err := ParseDigest(rec.Header.Get("WARC-Block-Digest"))
	if err != nil {
		_, err := rec.Position()
		return err
	}
	h := want.Algorithm.New()
	if _, err := rec.block.WriteTo(h); err != nil {
		return err
	}
	r := rec.block.r
	proven := r.pack != nil && !r.inside
	if !proven && !want.Equal(DigestOf(want.Algorithm, h)) {
		return &Error{File: r.name, Offset: rec.Offset, Err: errors.New("block does not match its digest")}
	}
	return nil
}

// shorten cuts a torn file to its whole records and gives it its final name.
func shorten(d disk.Disk, path string, done *Finished) error {
	f, err := d.Open(path)
	if err != nil {
		return err
	}
	if f.Size() > done.Size {
		err = f.Truncate(done.Size)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		h := sha256.New()
		_, err = io.Copy(h, io.NewSectionReader(f, 0, done.Size))
		h.Sum(done.SHA256[:0])
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("salvage %s: %w", path, err)
	}
	return d.Rename(path, done.Path)
}

// rewrite copies the whole records to the finished file, each in its own member.
func rewrite(d disk.Disk, path string, found surveyed, done *Finished) error {
	in, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("salvage: %w", err)
	}
	defer in.Close()
	converted, err := convert(d, in, filepath.Base(path), done.Path, found.compression, 0, found.records)
	if err == nil {
		*done = converted
	}
	return err
}
