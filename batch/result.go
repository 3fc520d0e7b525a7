package batch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/batches"
)

// errGone says that a node has lost what it kept, or never had it.
var errGone = errors.New("the results of the batch are not on the node that drove it")

// ErrNoResult reports that the result of a batch cannot be read.
var ErrNoResult = errors.New("the result of the batch cannot be read")

// results gives what was made of the files of a batch that this node drove, in the order of their names: with failed,
// those that were not processed, with the reason. Each output is compared with its digest while it is given.
func (d *driver) results(ctx context.Context, id string, failed bool, emit func(outcome, io.Reader) error) error {
	all, err := openIndexes(d.folder(id))
	if err != nil {
		return err
	}
	for e, from := range all.sorted() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if failed != (e.Failed != "") {
			continue
		}
		if failed {
			err = emit(outcome{File: e.Name, Failed: faultCopy, Why: e.Failed}, nil)
		} else {
			err = from.give(e, emit)
		}
		if err != nil {
			return err
		}
	}
	return all.err
}

// Result writes the result of a batch that has ended, from this node or the one that drove it: the outputs in the order
// of the files' names, or, with failed, a line for each file that is not among them, with the reason. token says who
// asks. After an error what was written is not whole; it wraps ErrNoResult when nothing was written.
func (b *Batches) Result(ctx context.Context, one *batches.Batch, failed bool, token string, to io.Writer) error {
	if !one.State.Ended() {
		return fmt.Errorf("%w: batch %s is %s, and has not ended", ErrNoResult, one.ID, one.State)
	}
	begun, count, size := false, int64(0), int64(0)
	emit := func(o outcome, body io.Reader) (err error) {
		var n int64
		if failed != (o.Failed != "") {
			return fmt.Errorf("the node that has the result sent an answer about %s that was not asked for", o.File)
		}
		count, size = count+1, size+o.Bytes
		if o.Failed != "" {
			_, err = fmt.Fprintf(to, "%s\t%s\n", o.File, o.Why)
		} else {
			n, err = io.CopyN(to, body, o.Bytes)
		}
		begun = begun || n > 0 || o.Failed != ""
		return err
	}
	var err error
	if one.Node == b.driver.cfg.Self {
		err = b.results(ctx, one.ID, failed, emit)
	} else {
		err = b.fetch(ctx, one.Node, resultRequest{Batch: one.ID, Failed: failed, Token: token}, emit)
	}
	if of := one.Summary; err == nil && of != nil {
		if failed && count != of.Failed || !failed && (count != of.Files || size != of.Output) {
			err = fmt.Errorf("the node that drove the batch has lost a part of its results: it has %d files of %d "+
				"bytes, the batch ended with %d processed, %d bytes, and %d failed", count, size, of.Files, of.Output,
				of.Failed)
		}
	}
	if err != nil && !begun {
		err = fmt.Errorf("%w: %w", ErrNoResult, err)
	}
	return err
}

// resultRequest asks the node that drove a batch for its result.
type resultRequest struct {
	Batch  string `json:"batch"`
	Failed bool   `json:"failed,omitempty"` // the files that are not in it
	Token  string `json:"token,omitempty"`  // of who asks
}

func (b *Batches) fetch(ctx context.Context, from catalog.NodeID, r resultRequest,
	emit func(outcome, io.Reader) error) error {
	if from == "" {
		return errGone
	}
	opening, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	s, err := b.driver.cfg.Nodes.Open(opening, from, ResultStream)
	if err != nil {
		return fmt.Errorf("ask the node that has it: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })
	defer func() { stop(); _ = s.Close() }()
	if err := json.NewEncoder(s).Encode(r); err != nil {
		return err
	}
	in := bufio.NewReaderSize(s, 64<<10)
	for {
		o, err := receive(in)
		if err == nil && o.Error != "" {
			err = errors.New(o.Error)
		}
		if err == nil && o.End {
			return nil
		}
		if err == nil {
			err = emit(o, in)
		}
		if err != nil {
			return err
		}
	}
}

// ServeResult answers one request on a ResultStream. allow says whether who holds the token may read it.
func (b *Batches) ServeResult(ctx context.Context, from catalog.NodeID, s net.Conn,
	allow func(token, batch string) error) {
	defer func() { _ = s.Close() }()
	_ = s.SetReadDeadline(time.Now().Add(taskLimit))
	var r resultRequest
	out := bufio.NewWriterSize(s, 64<<10)
	line, err := readLine(bufio.NewReader(s))
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err == nil {
		err = allow(r.Token, r.Batch)
	}
	if err == nil {
		err = agree.CheckName("batch", r.Batch) // it is the name of a folder
	}
	if err == nil {
		err = b.results(ctx, r.Batch, r.Failed, func(o outcome, body io.Reader) error { return send(out, o, body) })
	}
	last := outcome{End: true}
	if errors.Is(err, errCut) {
		return
	}
	if err != nil {
		b.driver.cfg.Log.Debug("a result is not given", "batch", r.Batch, "for", from, "error", err)
		last = outcome{Error: reason(err.Error())}
	}
	_ = send(out, last, nil)
	_ = out.Flush()
}
