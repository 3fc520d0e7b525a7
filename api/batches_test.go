package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/batches"
)

// runBatches are the batches of the tests' nodes: one program, whose result breaks off for a batch that is stopped.
type runBatches struct{}

func (runBatches) Programs() []wire.BatchProgram {
	return []wire.BatchProgram{{Name: "files", Help: "lists them"}}
}

func (runBatches) Check(program string, parameters map[string]string) error {
	if program != "files" || len(parameters) > 0 {
		return fmt.Errorf("%w: no program %q: want one of files", ErrInvalid, program)
	}
	return nil
}

func (runBatches) Progress(_ context.Context, b agreed.Batch) (wire.BatchProgress, error) {
	if b.Program == "files" && len(b.Selection.Collections) == 0 {
		return wire.BatchProgress{}, fmt.Errorf("%w: node north-1 does not answer", ErrUnavailable)
	}
	return wire.BatchProgress{Selected: 3, Files: 2}, nil
}

func (runBatches) Result(_ context.Context, b agreed.Batch, failed bool, w io.Writer) error {
	if failed {
		_, err := io.WriteString(w, "b\tgone\n")
		return err
	}
	if b.State == agreed.Stopped {
		return fmt.Errorf("%w: gone", ErrUnavailable)
	}
	_, err := io.WriteString(w, "a\n")
	if err == nil && b.Summary.Failed > 1 {
		err = errors.New("the disk is gone")
	}
	return err
}

func TestBatches(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	b.furnish()
	c := open(b.person("anna", catalog.Giving{Role: catalog.RoleAdmin})).Batches()
	ctx := t.Context()
	for name, tt := range map[string]struct {
		in   wire.BatchRequest
		want error
	}{
		"an unknown program":     {wire.BatchRequest{Program: "dance"}, wire.ErrInvalid},
		"an unknown parameter":   {wire.BatchRequest{Program: "files", Parameters: map[string]string{"a": "b"}}, wire.ErrInvalid},
		"a bad expression":       {wire.BatchRequest{Program: "files", Files: "("}, wire.ErrInvalid},
		"a bad name":             {wire.BatchRequest{Program: "files", Names: []string{"a/b"}}, wire.ErrInvalid},
		"an unknown collection":  {wire.BatchRequest{Program: "files", Collections: []string{"nosuch"}}, wire.ErrNotFound},
		"an unknown replica":     {wire.BatchRequest{Program: "files", Replica: "nosuch"}, wire.ErrNotFound},
		"the files of no job":    {wire.BatchRequest{Program: "files", Job: 999}, wire.ErrNotFound},
		"more than all the time": {wire.BatchRequest{Program: "files", TimeLimit: -1}, wire.ErrInvalid},
	} {
		if _, err := c.Run(ctx, tt.in); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	names := []string{"b", "a", "a"}
	for i := range 2500 {
		names = append(names, fmt.Sprintf("f-%04d", i))
	}
	one, err := c.Run(ctx, wire.BatchRequest{Program: "files", Names: names, Collections: []string{"web"}, TimeLimit: 60})
	if err != nil || one.State != wire.BatchRunning || one.Names != 2502 || one.By != "anna" || one.Progress.Files != 2 || one.TimeLimit != 60 {
		t.Fatalf("%+v %v", one, err)
	}
	ofJob, err := c.Run(ctx, wire.BatchRequest{Program: "files", Job: 1})
	if err != nil || !slices.Equal(ofJob.Collections, []string{"web"}) {
		t.Errorf("%+v %v", ofJob, err)
	}
	all, err := c.Run(ctx, wire.BatchRequest{Program: "files"})
	if err != nil || all.Progress != nil || !strings.Contains(all.Unknown, "does not answer") {
		t.Errorf("when the node is away: %+v %v", all, err)
	}
	result := func(id string, failed bool) (string, error) {
		var out strings.Builder
		read := c.Result
		if failed {
			read = c.Failures
		}
		err := read(ctx, id, &out)
		return out.String(), err
	}
	if _, err := result(one.ID, false); !conflicts(err) {
		t.Errorf("the result of what runs: %v", err)
	}
	if one, err = c.Wish(ctx, one.ID, wire.WishPause, "x"); err != nil || one.State != wire.BatchPaused || one.Reason != "x" {
		t.Errorf("%+v %v", one, err)
	}
	if all, err = c.Wish(ctx, all.ID, wire.WishStop, ""); err != nil || all.State != wire.BatchStopped {
		t.Errorf("%+v %v", all, err)
	}
	if _, err := result(all.ID, false); !errors.Is(err, wire.ErrUnavailable) {
		t.Errorf("what is not there: %v", err)
	}
	end := func(id string, files, failed int64) {
		b.must(agreed.End, agreed.Ending{ID: id, Node: self, Term: 1, State: agreed.Incomplete,
			Summary: agreed.Summary{Selected: files, Files: files - failed, Failed: failed}})
	}
	b.lags = func() { b.lags = nil; end(ofJob.ID, 2, 1) } // another node knew already that it has ended
	if text, err := result(ofJob.ID, false); err != nil || text != "a\n" {
		t.Errorf("%q %v", text, err)
	}
	if text, err := result(ofJob.ID, true); err != nil || text != "b\tgone\n" {
		t.Errorf("%q %v", text, err)
	}
	end("x", 9, 5)
	if text, err := result("x", false); err == nil {
		t.Errorf("a result that breaks off ends as if it were whole: %q", text)
	}
	some, err := c.List(ctx, wire.BatchIncomplete)
	if err != nil || len(some) != 2 || some[0].Progress == nil {
		t.Errorf("%+v %v", some, err)
	}
	if programs, err := c.Programs(ctx); err != nil || len(programs) != 1 {
		t.Errorf("%+v %v", programs, err)
	}
	if _, err := c.Show(ctx, "nosuch"); !errors.Is(err, wire.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func conflicts(err error) bool {
	e := (*wire.Error)(nil)
	return errors.As(err, &e) && e.Code == wire.CodeConflict
}
