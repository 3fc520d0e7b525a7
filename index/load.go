package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/ristretto/v2/z"

	"holdfast/cdx"
	"holdfast/internal/kv"
	"holdfast/internal/sorter"
)

// ErrUnsorted reports captures given to Load that are not in order of their keys and times.
var ErrUnsorted = errors.New("captures are not sorted")

// Streams of a load; each must be written in order, and their keys lie apart.
const (
	captureStream = 1
	digestStream  = 2
	fileStream    = 3
)

// Load fills an empty index from captures in order of key, then time; it is several times as fast as Add. Captures
// can be found when Load returns nil, and none if it fails. If a disk fails so badly that not even an empty index can
// be made, every later call fails until the index is opened again. Calls during a load are refused with ErrLoading.
func (x *Index) Load(ctx context.Context, captures iter.Seq2[cdx.Capture, error]) error {
	if err := x.gate.enterAlone(); err != nil {
		return err
	}
	defer x.gate.leaveAlone()
	if now := x.files.status(); now.Files > 0 {
		return ErrNotEmpty
	}
	marker := filepath.Join(x.cfg.Dir, loadMarker)
	note := func(w io.Writer) error {
		_, err := io.WriteString(w, "a load is under way; what lies here is not complete\n")
		return err
	}
	if err := x.cfg.Disk.WriteFile(marker, note); err != nil {
		return fmt.Errorf("mark load: %w", err)
	}
	err := x.db.Close()
	if err == nil {
		err = x.fill(ctx, captures)
	}
	if err != nil {
		err = fmt.Errorf("load index: %w", err)
	}
	again := x.reopen(err == nil)
	if again == nil {
		if again = x.cfg.Disk.Remove(marker); again != nil {
			again = fmt.Errorf("unmark load: %w", again)
		}
	}
	if again != nil { // the next Open will find the marker, or all of the load
		x.gate.fail(again)
	}
	return errors.Join(err, again)
}

// fill makes a new database in place of the closed one. When it returns nil all of it is on stable storage.
func (x *Index) fill(ctx context.Context, captures iter.Seq2[cdx.Capture, error]) (err error) {
	dir := filepath.Join(x.cfg.Dir, databaseDir)
	if err := errors.Join(x.cfg.Disk.RemoveAll(dir), x.cfg.Disk.MkdirAll(dir)); err != nil {
		return err
	}
	db, err := kv.Open(loadOptions(x.cfg), x.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	l := &loader{ctx: ctx, x: x, out: db.NewStreamWriter(), ids: map[string]uint32{},
		digests: sorter.New(dir, x.cfg.MemoryMiB<<20/3)}
	defer func() { err = errors.Join(err, l.digests.Close()) }()
	if err = l.out.Prepare(); err == nil {
		err = l.run(captures)
	}
	if err != nil {
		l.out.Cancel()
		return err
	}
	return l.out.Flush()
}

// reopen opens the database that a load has closed; emptied, unless the load went well.
func (x *Index) reopen(whole bool) error {
	if !whole {
		dir := filepath.Join(x.cfg.Dir, databaseDir)
		if err := errors.Join(x.cfg.Disk.RemoveAll(dir), x.cfg.Disk.MkdirAll(dir)); err != nil {
			return fmt.Errorf("drop half-loaded index %s: %w", x.cfg.Dir, err)
		}
	}
	db, err := kv.Open(badgerOptions(x.cfg), x.log)
	if err != nil {
		return fmt.Errorf("open index %s after a load: %w", x.cfg.Dir, err)
	}
	x.db = db
	if err := x.files.init(db); err != nil {
		return fmt.Errorf("count files of index %s after a load: %w", x.cfg.Dir, err)
	}
	return nil
}

// loadOptions are those of the database while it is filled. Badger syncs each table that it writes and the list of
// them, whatever SyncWrites says; that would sync the value log, which stays empty, for every packet. Tables of the
// last level are 32 times the base size; small ones are written while the next are made, and each takes twice its
// size in memory.
func loadOptions(cfg Config) badger.Options {
	return badgerOptions(cfg).
		WithSyncWrites(false).
		WithMemTableSize(4 << 20). // stays empty
		WithBaseTableSize(256 << 10)
}

type loader struct {
	ctx     context.Context
	x       *Index
	out     *badger.StreamWriter
	ids     map[string]uint32
	files   []File         // by number, from 1
	digests *sorter.Sorter // of digest keys, each followed by the key of a URL
}

func (l *loader) run(captures iter.Seq2[cdx.Capture, error]) error {
	out := newFlow(l.out, captureStream)
	if err := l.writeCaptures(out, captures); err != nil {
		return errors.Join(err, out.close())
	}
	if err := out.close(); err != nil {
		return err
	}
	if err := l.writeDigests(); err != nil {
		return err
	}
	return l.writeFiles()
}

// pair is an entry about to be written.
type pair struct{ key, value []byte }

func (p pair) compare(o pair) int { return bytes.Compare(p.key, o.key) }

// writeCaptures writes the captures. Those of one URL and time may come in any
// order of their places, so they are held until the last of them was seen.
func (l *loader) writeCaptures(out *flow, captures iter.Seq2[cdx.Capture, error]) error {
	var group []pair // its buffers are used again
	e, n := newEncoder(), 0
	for c, err := range captures {
		if err == nil {
			err = errors.Join(l.ctx.Err(), l.x.ctx.Err())
		}
		if err != nil {
			return err
		}
		id := l.number(c.File)
		if !e.encode(&c, id) {
			continue
		}
		if n > 0 {
			last := group[0].key
			order := bytes.Compare(last[:len(last)-placeLen], e.key[:len(e.key)-placeLen])
			if order > 0 {
				return fmt.Errorf("%w: %.200s %s", ErrUnsorted, c.Key, c.Timestamp)
			}
			if order < 0 {
				out.writeSorted(group[:n])
				n = 0
			}
		}
		if n == len(group) {
			group = append(group, pair{})
		}
		group[n] = pair{append(group[n].key[:0], e.key...), append(group[n].value[:0], e.value...)}
		n++
		l.files[id-1].Captures++
		if len(e.digest) > 0 {
			if err := l.digests.Add(e.digest, c.Key); err != nil {
				return err
			}
		}
	}
	out.writeSorted(group[:n])
	return nil
}

// number returns a file's number; files are numbered as they come.
func (l *loader) number(name string) uint32 {
	id, ok := l.ids[name]
	if !ok {
		l.files = append(l.files, File{Name: name, rules: captureRules})
		id = uint32(len(l.files))
		l.ids[strings.Clone(name)] = id
	}
	return id
}

// digestKeyLen is the length of the keys of digests.
const digestKeyLen = 1 + hashLen + tailLen

func (l *loader) writeDigests() error {
	out := newFlow(l.out, digestStream)
	for e, err := range l.digests.Sorted() {
		if err == nil {
			err = l.ctx.Err()
		}
		if err != nil {
			return errors.Join(err, out.close())
		}
		out.write(e[:digestKeyLen], e[digestKeyLen:])
	}
	return out.close()
}

// writeFiles names the files; with these entries the captures begin to answer.
func (l *loader) writeFiles() error {
	var pairs []pair
	for i, file := range l.files {
		id := uint32(i + 1)
		pairs = append(pairs, pair{fileKey(file.Name), appendFile(nil, id, file)},
			pair{uint32Key(prefixNumber, id), []byte(file.Name)})
	}
	pairs = append(pairs, pair{[]byte{prefixCounter}, uint32Key(0, uint32(len(l.files)))[1:]})
	out := newFlow(l.out, fileStream)
	out.writeSorted(pairs)
	return out.close()
}

// flow hands sorted entries of one stream to Badger in packets, while the next is filled.
type flow struct {
	out    *badger.StreamWriter
	stream byte
	entry  []byte // the one being written
	buf    *z.Buffer
	full   chan *z.Buffer
	empty  chan *z.Buffer
	result chan error
}

const packet = 1 << 20

func newFlow(out *badger.StreamWriter, stream byte) *flow {
	f := &flow{out: out, stream: stream, full: make(chan *z.Buffer), empty: make(chan *z.Buffer, 2),
		result: make(chan error, 1)}
	for range 2 {
		f.empty <- z.NewBuffer(packet+packet/4, "index load")
	}
	f.buf = <-f.empty
	go func() {
		var err error
		for buf := range f.full {
			if err == nil {
				err = f.out.Write(buf)
			}
			buf.Reset()
			f.empty <- buf
		}
		f.result <- err
	}()
	return f
}

// writeSorted writes entries in order, each key once.
func (f *flow) writeSorted(pairs []pair) {
	if len(pairs) > 1 {
		slices.SortStableFunc(pairs, pair.compare)
	}
	for i, p := range pairs {
		if i == 0 || p.compare(pairs[i-1]) != 0 {
			f.write(p.key, p.value)
		}
	}
}

// Fields of Badger's pb.KV, as Protocol Buffers tag them.
const (
	tagKey     = 1<<3 | 2
	tagValue   = 2<<3 | 2
	tagVersion = 4 << 3
	tagStream  = 10 << 3
)

// write writes one entry; close tells whether that went well. It does what badger.KVToBuffer does, which is slow.
func (f *flow) write(key, value []byte) {
	b := append(f.entry[:0], tagKey)
	b = binary.AppendUvarint(b, uint64(len(key)))
	b = append(b, key...)
	b = append(b, tagValue)
	b = binary.AppendUvarint(b, uint64(len(value)))
	b = append(b, value...)
	f.entry = append(b, tagVersion, 1, tagStream, f.stream)
	f.buf.WriteSlice(f.entry)
	if f.buf.LenNoPadding() >= packet {
		f.full <- f.buf
		f.buf = <-f.empty
	}
}

// close writes the rest and ends the flow.
func (f *flow) close() error {
	f.full <- f.buf
	close(f.full)
	err := <-f.result
	for range 2 {
		if e := (<-f.empty).Release(); err == nil {
			err = e
		}
	}
	return err
}
