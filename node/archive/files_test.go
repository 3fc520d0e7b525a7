package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/replica"
)

// TestFailuresOfFilesHaveTheirAnswers hands what the replica may answer to readers and writers of the API, who must
// learn whether to try again.
func TestFailuresOfFilesHaveTheirAnswers(t *testing.T) {
	t.Parallel()
	var a Files
	other := a.explain(fmt.Errorf("put a: %w", replica.ErrExists))
	if refusal := (*catalog.Refusal)(nil); !errors.As(other, &refusal) || refusal.Code != catalog.Conflict {
		t.Errorf("a put while other bytes are put under the name: %v is no conflict", other)
	}
	if err := a.explain(fmt.Errorf("put a: %w", replica.ErrDamaged)); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("a put whose bytes this node's disk spoilt: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		what      string
		ctx       context.Context
		err, want error
	}{
		{"the only source is cut off", t.Context(), fmt.Errorf("open a at n: %w", context.DeadlineExceeded), api.ErrUnavailable},
		{"the copies cannot be read", t.Context(), errors.New("input/output error"), api.ErrUnavailable},
		{"the copies are damaged", t.Context(), replica.ErrDamaged, api.ErrUnavailable},
		{"no such file", t.Context(), replica.ErrUnknown, api.ErrNotFound},
		{"no such range", t.Context(), replica.ErrRange, api.ErrInvalid},
		{"the reader has gone away", gone, context.Canceled, context.Canceled},
	} {
		if err := a.explainOpen(tt.ctx, tt.err); !errors.Is(err, tt.want) {
			t.Errorf("a get when %s: %v", tt.what, err)
		}
	}
}

func TestWhatACrashLeftOfAnUploadIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	incoming := filepath.Join(dir, "incoming")
	if err := os.Mkdir(incoming, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{receivedMark + "17", "a.warc.gz.part"} {
		if err := os.WriteFile(filepath.Join(incoming, name), []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := DropReceived(incoming, disk.New()); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(incoming)
	if err != nil || len(left) != 1 || left[0].Name() != "a.warc.gz.part" {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestPutThatIsNotHeardOf puts a file whose node lost its leader between the decision and the answer: it was said to be
// not found, which is a refusal, though it was in the archive.
func TestPutThatIsNotHeardOf(t *testing.T) {
	err := notHeard("a.warc", fmt.Errorf("file a.warc: %w", catalog.ErrNotFound))
	if !errors.Is(err, api.ErrUnavailable) || errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("the answer is %v", err)
	}
	broken := errors.New("disk broken")
	for _, want := range []error{nil, broken} {
		if err := notHeard("a.warc", want); err != want {
			t.Errorf("%v became %v", want, err)
		}
	}
}
