package replica

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"holdfast/catalog"
)

// OpenRange returns length bytes of the file from offset (to the end if length is negative), from the copy here or
// else from the nearest good one. Errors are ErrUnknown, ErrRange, or ErrNoCopy with the worst answer of a copy. The
// Reading's bytes are verified; if a copy turns out wrong, or ends, the next one continues.
func (r *server) OpenRange(ctx context.Context, name catalog.FileName, offset, length int64) (*Reading, error) {
	return r.openRange(ctx, name, "", offset, length)
}

// OpenCopy is OpenRange from the copy of one node alone: when that is not right, no other continues.
func (r *server) OpenCopy(ctx context.Context, name catalog.FileName, node catalog.NodeID, offset,
	length int64) (*Reading, error) {
	return r.openRange(ctx, name, node, offset, length)
}

func (r *server) openRange(ctx context.Context, name catalog.FileName, only catalog.NodeID, offset,
	length int64) (*Reading, error) {
	f, err := r.entry(name)
	if errors.Is(err, catalog.ErrNotFound) || err == nil && f.RemovedAt() != 0 {
		return nil, fmt.Errorf("open %s: %w", name, ErrUnknown)
	}
	if err != nil {
		return nil, err
	}
	if length < 0 {
		length = f.Size - offset
	}
	if offset < 0 || length < 0 || length > f.Size-offset {
		return nil, fmt.Errorf("open %s: %w: %d bytes from %d of %d", name, ErrRange, length, offset, f.Size)
	}
	rd := &Reading{r: r, ctx: ctx, file: f, only: only, want: heldAs(f), at: offset, end: offset + length,
		failed: ErrNotHere}
	rd.plan()
	if err := rd.next(); err != nil {
		return nil, errors.Join(err, rd.Close())
	}
	rd.watch()
	return rd, nil
}

// Reading reads a range of a file from one copy after the other. It ends with io.EOF only when all bytes were given.
// Bytes of this node are compared with the file's block digests before they are given. So are those of another node,
// if this node has the block digests, or the file is small, or is read completely. Otherwise the other node has
// compared them, and a reader who knows better reports it with Doubt. One goroutine uses a Reading. While nobody
// reads on for a while, it holds nothing open, here or on another node.
type Reading struct {
	rest
	r       *server
	ctx     context.Context // of the request, whose body this is
	file    catalog.File
	only    catalog.NodeID // whose copy alone is read; empty: any
	want    Held
	at, end int64
	list    *list     // block digests that this node has; nil: none
	whole   hash.Hash // of what was given, if the whole file is read and there is no list
	tries   []try     // copies that may still be asked
	in      io.ReadCloser
	from    try
	trusted []catalog.NodeID // nodes whose bytes were given without being compared here
	failed  error            // the worst answer
}

// try is one copy to ask: this node's, or another's.
type try struct {
	node  catalog.NodeID
	build bool // make the block digests if they are missing
}

// plan lists the copies to ask: first those that answer at once; then all again, and those that need time.
func (rd *Reading) plan() {
	r := rd.r
	if rd.want.Size > plainSize {
		if rd.list = r.store.ownList(rd.want); rd.list == nil && rd.at == 0 && rd.end == rd.want.Size {
			rd.whole = sha256.New()
		}
	}
	if rd.only != "" {
		rd.tries = append(rd.tries[:0], try{node: rd.only}, try{node: rd.only, build: rd.only == r.cfg.Self})
		return
	}
	from, err := r.peers.Sources(rd.file)
	if err != nil {
		rd.failed = fmt.Errorf("find copies: %w", err)
	}
	ready, _ := r.sources.order(from)
	rd.tries = append(rd.tries[:0], try{node: r.cfg.Self})
	for _, n := range ready { // those at rest are asked only when nobody else is left
		rd.tries = append(rd.tries, try{node: n})
	}
	rd.tries = append(rd.tries, try{node: r.cfg.Self, build: true})
	for _, n := range from {
		rd.tries = append(rd.tries, try{node: n})
	}
}

// next opens the next copy that can be read at this reading's position.
func (rd *Reading) next() error {
	for len(rd.tries) > 0 {
		if err := rd.ctx.Err(); err != nil {
			return err
		}
		rd.from, rd.tries = rd.tries[0], rd.tries[1:]
		in, err := rd.open(rd.from)
		if err == nil {
			rd.in = in
			return nil
		}
		rd.fault(err)
	}
	return fmt.Errorf("read %s: %w: %w", rd.want.Name, ErrNoCopy, rd.failed)
}

func (rd *Reading) open(t try) (io.ReadCloser, error) {
	r, length := rd.r, rd.end-rd.at
	if t.node == r.cfg.Self {
		return r.store.openSound(rd.ctx, rd.want, rd.at, length, r.doubted(rd.file), t.build)
	}
	return rd.openThere(t.node)
}

// fault notes why a copy gave no more: its node is asked later, and owes a check of it where it is to blame.
func (rd *Reading) fault(err error) {
	r, here := rd.r, rd.from.node == rd.r.cfg.Self
	if !here && errors.Is(err, errNoList) { // not that node's fault: the same again, without the list
		r.checks.owe(r.cfg.Self, rd.want, forList)
		_ = rd.list.Close()
		rd.list, rd.tries = nil, append([]try{rd.from}, rd.tries...)
		return
	}
	rd.failed = worse(rd.failed, fmt.Errorf("copy of %s: %w", rd.from.node, err))
	if rd.ctx.Err() != nil || errors.Is(err, ErrNotHere) || errors.Is(err, ErrBusy) {
		return
	}
	if here || errors.Is(err, ErrDamaged) {
		since := time.Duration(forDamage)
		if errors.Is(err, errNoList) {
			since = forList
		} else {
			r.log.Error("a copy cannot be read; another is", "file", rd.want.Name, "node", rd.from.node, "err", err)
		}
		r.checks.owe(rd.from.node, rd.want, since)
	}
	if !here {
		r.sources.failed(rd.from.node)
	}
}

// read is Read while the Reading is awake.
func (rd *Reading) read(p []byte) (int, error) {
	rd.r.lastRead.Store(time.Now().UnixNano())
	for rd.at < rd.end {
		if rd.in == nil {
			return 0, fmt.Errorf("read %s: %w: %w", rd.want.Name, ErrNoCopy, rd.failed)
		}
		n, err := rd.in.Read(p[:min(int64(len(p)), rd.end-rd.at)])
		if n > 0 {
			return rd.give(p[:n])
		}
		if err == nil {
			return 0, nil
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		rd.fault(err)
		err = rd.in.Close()
		rd.in = nil
		if err := errors.Join(rd.next(), err); err != nil {
			return 0, err
		}
	}
	return 0, io.EOF
}

// give counts bytes that are about to be given, and keeps the last of a file back that is wrong as a whole.
func (rd *Reading) give(p []byte) (int, error) {
	rd.at += int64(len(p))
	if rd.whole == nil {
		return len(p), nil
	}
	rd.whole.Write(p)
	if rd.at < rd.want.Size {
		return len(p), nil
	}
	got := catalog.Digest(rd.whole.Sum(nil))
	if got == rd.want.SHA256 {
		rd.trusted = nil
		return len(p), nil
	}
	rd.at -= int64(len(p))
	rd.tries = nil
	rd.Doubt()
	rd.failed = fmt.Errorf("%w: SHA-256 %s", ErrDamaged, got)
	err := rd.in.Close()
	rd.in = nil
	return 0, errors.Join(fmt.Errorf("read %s: %w", rd.want.Name, rd.failed), err)
}

// Doubt reports that the bytes are not what the reader has to expect. If they come from nodes that alone have
// verified them, these nodes read their copies again and are asked last from now on, and Doubt returns true: reading
// once more may give other bytes. False means that these are the file's bytes.
func (rd *Reading) Doubt() bool {
	for _, node := range rd.trusted {
		rd.r.log.Warn("a node may have given wrong bytes", "file", rd.want.Name, "node", node)
		rd.r.sources.failed(node)
		rd.r.checks.owe(node, rd.want, forDoubt)
	}
	return len(rd.trusted) > 0
}

// letGo closes what is open.
func (rd *Reading) letGo() error {
	err := rd.list.Close()
	rd.list = nil
	if rd.in != nil {
		err = errors.Join(err, rd.in.Close())
		rd.in = nil
	}
	return err
}

// openThere asks another node for the missing bytes. The first bytes are there when it returns.
func (rd *Reading) openThere(node catalog.NodeID) (io.ReadCloser, error) {
	start, stop := rd.at, rd.end
	compared := rd.list != nil || rd.want.Size <= plainSize
	if compared && start < stop {
		start, _ = covered(rd.at, rd.end, rd.want.Size)
		if stop = rd.want.Size; rd.list != nil {
			stop = min(blockCount(rd.end)*listBlock, rd.want.Size)
		}
	}
	ctx, cancel := context.WithCancel(rd.ctx)
	body, err := rd.r.peers.Read(ctx, node, rd.want.Name, start, stop-start)
	if err != nil {
		cancel()
		return nil, err
	}
	far := &far{body: body, cancel: cancel, in: bufio.NewReaderSize(watchStall(body, cancel), listBlock)}
	if compared {
		far.rd, far.at, far.end = rd, rd.at, rd.end
		err = far.fill()
	} else if start < stop {
		_, err = far.in.Peek(1)
	}
	if err != nil {
		return nil, errors.Join(err, far.Close())
	}
	if !compared {
		rd.trusted = append(rd.trusted, node)
	}
	return far, nil
}

// far reads what another node sends. With rd it asks for whole blocks and compares them before any of them is given.
type far struct {
	body    io.Closer
	cancel  func()
	in      *bufio.Reader
	rd      *Reading
	at, end int64
	block   *[]byte
	ready   []byte
}

// Read implements io.Reader.
func (f *far) Read(p []byte) (int, error) {
	if f.rd == nil {
		return f.in.Read(p)
	}
	if len(f.ready) == 0 {
		if f.at >= f.end {
			return 0, io.EOF
		}
		if err := f.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.ready)
	f.ready = f.ready[n:]
	return n, nil
}

func (f *far) fill() error {
	if f.at >= f.end {
		return nil
	}
	if f.block == nil {
		f.block = f.rd.r.store.blocks.Get().(*[]byte)
	}
	start, stop := covered(f.at, f.end, f.rd.want.Size)
	got := (*f.block)[:stop-start]
	if _, err := io.ReadFull(f.in, got); err != nil {
		return err
	}
	if err := checkBlocks(f.rd.list, f.rd.want, start, got); err != nil {
		return err
	}
	next := min(stop, f.end)
	f.ready, f.at = got[f.at-start:next-start], next
	return nil
}

// Close implements io.Closer.
func (f *far) Close() error {
	f.cancel()
	if f.block != nil {
		f.rd.r.store.blocks.Put(f.block)
		f.block, f.ready = nil, nil
	}
	return f.body.Close()
}
