package batch

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// entry is what a shard's index says of a file.
type entry struct {
	Name   catalog.FileName `json:"name"`
	Offset int64            `json:"offset"`           // of its output in the shard's results
	Length int64            `json:"length"`           // of its output
	SHA256 catalog.Digest   `json:"sha256,omitzero"`  // of its output
	Size   int64            `json:"size"`             // of the file
	Node   catalog.NodeID   `json:"node,omitempty"`   // that processed it
	Failed string           `json:"failed,omitempty"` // why it was not processed
}

// indexHead is the first line of a shard's index.
type indexHead struct {
	Batch string `json:"batch"`
	Files int    `json:"files"`
}

// piece is one shard of a batch, while its files are processed.
type piece struct {
	*drive
	shard catalog.Shard
	open  map[catalog.FileName]*waiting // files of which nothing is known yet
	done  []entry
	size  int64 // of the results
}

// waiting is a file that is still to be processed.
type waiting struct {
	size  int64
	tried map[catalog.NodeID]bool // whose copy was no good
	waits bool                    // nobody has a good copy now, or who has it does not answer
	why   []string
}

func (one *drive) newPiece(s catalog.Shard) (*piece, error) {
	files, err := one.plan.of(s)
	if err != nil {
		return nil, err
	}
	p := &piece{drive: one, shard: s, open: make(map[catalog.FileName]*waiting, len(files))}
	for _, c := range files {
		if c.reason != "" {
			p.settle(entry{Name: c.file.Name, Failed: c.reason})
			continue
		}
		p.open[c.file.Name] = &waiting{size: c.file.Size, tried: map[catalog.NodeID]bool{}}
	}
	return p, nil
}

// settle keeps what became of a file.
func (p *piece) settle(e entry) {
	delete(p.open, e.Name)
	p.done = append(p.done, e)
	p.progress.add(&e)
}

func (one *drive) resultsPath(s catalog.Shard) string {
	return filepath.Join(one.dir, s.String()+".out")
}

// process has the open files processed by the nearest nodes that have them. What is open when it returns has no good
// copy now, or its nodes do not answer.
func (p *piece) process(ctx context.Context) (err error) {
	if len(p.open) == 0 {
		return nil
	}
	out, err := p.d.cfg.Disk.Open(p.resultsPath(p.shard))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := out.Truncate(p.size); err != nil {
		return err
	}
	silent := map[catalog.NodeID]bool{}
	for len(p.open) > 0 {
		asks, err := p.nearest(silent)
		if err != nil || len(asks) == 0 {
			return err
		}
		for _, a := range asks {
			if silent[a.node] {
				continue
			}
			if err := p.ask(ctx, out, a); errors.Is(err, errNode) {
				p.d.cfg.Log.Warn("a node does not process files of a batch; other copies are looked for",
					"batch", p.b.ID, "node", a.node, "error", err)
				silent[a.node] = true
				for _, name := range a.files {
					if w := p.open[name]; w != nil {
						w.note("node %s: %v", p.name(a.node), err)
					}
				}
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

// note keeps why a file was not processed, if that is news.
func (w *waiting) note(format string, args ...any) {
	if text := reason(fmt.Sprintf(format, args...)); !slices.Contains(w.why, text) && len(w.why) < 10 {
		w.why = append(w.why, text)
	}
}

// asking is one node, and the files that it is to process.
type asking struct {
	node  catalog.NodeID
	files []catalog.FileName
}

// nearest says which node is to process which open files. Files that were removed meanwhile are settled.
func (p *piece) nearest(silent map[catalog.NodeID]bool) (out []asking, err error) {
	names := make([]catalog.FileName, 0, len(p.open))
	for name := range p.open {
		names = append(names, name)
	}
	slices.Sort(names)
	at := map[catalog.NodeID]int{} // places in out
	err = p.d.cfg.Catalog.View(func(v catalog.View) error {
		for _, name := range names {
			f, err := v.File(name)
			if err != nil {
				return err
			}
			if c := p.plan.choose(f); c.reason != "" {
				p.settle(entry{Name: name, Failed: c.reason})
				continue
			}
			holders, err := v.CoveringFile(&f)
			if err != nil {
				return err
			}
			node := p.choose(p.open[name], holders, silent)
			if node == "" {
				continue
			}
			i, there := at[node]
			if !there || len(out[i].files) == taskFiles {
				i, out = len(out), append(out, asking{node: node})
				at[node] = i
			}
			out[i].files = append(out[i].files, name)
		}
		return nil
	})
	return out, err
}

// choose returns the nearest node whose copy was not tried, those of the batch's replica first; none if no node is left
// to ask now.
func (p *piece) choose(w *waiting, holders []catalog.Holding, silent map[catalog.NodeID]bool) catalog.NodeID {
	order := p.d.cfg.Near(holders)
	if replica := p.b.Selection.Replica; replica != "" {
		slices.SortStableFunc(order, func(a, b catalog.Holding) int {
			return rank(a.Replica == replica) - rank(b.Replica == replica)
		})
	}
	if len(order) == 0 {
		w.note("no node has a good copy")
	}
	w.waits = len(order) == 0
	for _, h := range order {
		if w.tried[h.Node] {
			continue
		}
		if !silent[h.Node] {
			return h.Node
		}
		w.waits = true
	}
	return ""
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// take keeps an outcome, with the output that comes from body.
func (p *piece) take(out *disk.File, node catalog.NodeID, asked []catalog.FileName, o outcome, body io.Reader) error {
	w := p.open[o.File]
	if w == nil || !slices.Contains(asked, o.File) {
		return fmt.Errorf("%w: it answered for a file that was not in the task", errNode)
	}
	switch o.Failed {
	case "":
	case faultProgram:
		p.settle(entry{Name: o.File, Failed: reason(p.b.Program + ": " + o.Why)})
		return nil
	case faultOutput:
		return errOutput
	default:
		w.tried[node] = true
		w.note("node %s: %s", p.name(node), o.Why)
		return nil
	}
	if !p.progress.hold(p.b.Limits.Output, o.Bytes) {
		return errOutput
	}
	e, err := p.store(out, o, body)
	if err != nil {
		p.progress.letGo(o.Bytes)
		return err
	}
	e.Size, e.Node = w.size, node
	delete(p.open, e.Name)
	p.done = append(p.done, e)
	p.progress.spend(&e)
	p.size += e.Length
	return nil
}

// store writes an output behind those of the shard.
func (p *piece) store(out *disk.File, o outcome, body io.Reader) (e entry, err error) {
	room, err := p.d.cfg.Room()
	if err == nil && room < o.Bytes {
		err = fmt.Errorf("keep results: %w", disk.ErrFull)
	}
	if err != nil {
		return e, err
	}
	from := &failing{r: io.LimitReader(body, o.Bytes)}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), from)
	if err == nil && n != o.Bytes {
		from.err, err = io.ErrUnexpectedEOF, io.ErrUnexpectedEOF
	}
	if err != nil {
		if from.err != nil {
			err = fmt.Errorf("%w: %w", errNode, err)
		}
		return e, errors.Join(err, out.Truncate(p.size))
	}
	return entry{Name: o.File, Offset: p.size, Length: n, SHA256: catalog.Digest(sum.Sum(nil))}, nil
}

// failing remembers that reading failed.
type failing struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (f *failing) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// give settles what is still open as failed, and says why; without all, only that for which no copy is left to try.
func (p *piece) give(all bool) {
	for name, w := range p.open {
		if w.waits && !all {
			continue
		}
		p.settle(entry{Name: name, Failed: strings.Join(w.why, "; ")})
	}
}

// keep puts the results of the shard on stable storage. Its index comes last: a shard with an index is done.
func (p *piece) keep() error {
	if p.size > 0 {
		out, err := p.d.cfg.Disk.Open(p.resultsPath(p.shard))
		if err == nil {
			err = errors.Join(out.Sync(), out.Close())
		}
		if err != nil {
			return err
		}
	}
	slices.SortFunc(p.done, func(a, b entry) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return p.d.cfg.Disk.WriteFile(indexPath(p.dir, p.shard), func(w io.Writer) error {
		lines := json.NewEncoder(w)
		if err := lines.Encode(indexHead{p.b.ID, len(p.done)}); err != nil {
			return err
		}
		for i := range p.done {
			if err := lines.Encode(&p.done[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func indexPath(dir string, s catalog.Shard) string { return filepath.Join(dir, s.String()+".index") }
