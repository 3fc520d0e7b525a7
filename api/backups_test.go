package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
)

// fakeBackups sends a text, and fails after a part of it or before.
type fakeBackups struct {
	before, after error
}

func (f fakeBackups) Send(_ context.Context, w io.Writer, named func(string, int64)) error {
	if f.before != nil {
		return f.before
	}
	named("catalog-north-1.backup", 10)
	text := "0123456789"
	if f.after != nil {
		text = text[:4]
	}
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	return f.after
}

func (fakeBackups) State(context.Context) (CatalogBackups, error) {
	return CatalogBackups{Node: "north-1", Keep: 7, Items: []CatalogBackup{}}, nil
}

// A backup that cannot be sent is a problem, and one that is cut off is no backup for the client.
func TestABackupIsSentWholeOrNot(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	for what, try := range map[string]struct {
		is   fakeBackups
		want error
		text string
	}{
		"whole": {text: "0123456789"}, "refused": {is: fakeBackups{before: ErrInvalid}, want: wire.ErrInvalid},
		"cut off": {is: fakeBackups{after: errors.New("disk")}, want: wire.ErrUnavailable},
	} {
		b.mu.Lock()
		b.backups = try.is
		b.mu.Unlock()
		var out bytes.Buffer
		err := client.CatalogOf(as(catalog.RoleOperator)).Backup(t.Context(), func(name string, size int64) (io.Writer, error) {
			if name != "catalog-north-1.backup" || size != 10 {
				t.Errorf("%s: named %s, %d bytes", what, name, size)
			}
			return &out, nil
		})
		if !errors.Is(err, try.want) || try.want == nil && out.String() != try.text {
			t.Errorf("%s: %q, %v", what, out.String(), err)
		}
	}
}

// sentBackups are those that the test sets.
type sentBackups struct{ b *backend }

func (s sentBackups) now() fakeBackups {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	return s.b.backups
}

func (s sentBackups) Send(ctx context.Context, w io.Writer, named func(string, int64)) error {
	return s.now().Send(ctx, w, named)
}

func (s sentBackups) State(ctx context.Context) (CatalogBackups, error) {
	return s.now().State(ctx)
}
