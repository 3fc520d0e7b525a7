package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"

	"holdfast/api/wire"
)

// Batches returns what there is to do with batches: programs that run over the archive's files.
func (c *Client) Batches() Batches { return Batches{c} }

// Batches are programs that run over the archive's files where these lie.
type Batches struct{ c *Client }

// Programs lists the programs that there are.
func (b Batches) Programs(ctx context.Context) ([]wire.BatchProgram, error) {
	return list[wire.BatchProgram](ctx, b.c, nil, "batch-programs")
}

// Run asks for a program to be run.
func (b Batches) Run(ctx context.Context, in wire.BatchRequest) (wire.Batch, error) {
	return post[wire.Batch](ctx, b.c, in, "batches")
}

// Find yields the batches, newest first: all, or those in a state.
func (b Batches) Find(ctx context.Context, state wire.BatchState) iter.Seq2[wire.Batch, error] {
	return all[wire.Batch](ctx, b.c, asked(map[string]string{"state": string(state)}), "batches")
}

// List lists the batches, newest first: all, or those in a state.
func (b Batches) List(ctx context.Context, state wire.BatchState) ([]wire.Batch, error) {
	out := []wire.Batch{}
	for one, err := range b.Find(ctx, state) {
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// Page returns one page of the batches.
func (b Batches) Page(ctx context.Context, state wire.BatchState, at Place) (wire.Page[wire.Batch], error) {
	return page[wire.Batch](ctx, b.c, asked(map[string]string{"state": string(state)}), at, "batches")
}

// Show shows a batch, and how far it is.
func (b Batches) Show(ctx context.Context, id string) (wire.Batch, error) {
	return get[wire.Batch](ctx, b.c, "batches", id)
}

// Wish pauses a batch, lets it run on, or stops it.
func (b Batches) Wish(ctx context.Context, id string, wish wire.Wish, reason string) (wire.Batch, error) {
	return post[wire.Batch](ctx, b.c, wire.WishBody{Wish: wish, Reason: reason}, "batches", id, "wish")
}

// Result writes the result of a batch that has ended. An error says that what was written is not all.
func (b Batches) Result(ctx context.Context, id string, w io.Writer) error {
	return b.text(ctx, w, "batches", id, "result")
}

// Failures writes a line for each file that is not in the result of a batch, with the reason. An error says that what
// was written is not all.
func (b Batches) Failures(ctx context.Context, id string, w io.Writer) error {
	return b.text(ctx, w, "batches", id, "failures")
}

func (b Batches) text(ctx context.Context, w io.Writer, path ...string) error {
	r, err := b.c.request(ctx, http.MethodGet, nil, url.Values{}, path...)
	if err != nil {
		return err
	}
	answer, err := b.c.do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(w, answer.Body)
	return err
}
