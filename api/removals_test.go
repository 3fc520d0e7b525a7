package api

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/files"
	"holdfast/client"
)

// TestARemovedFileIsRestored removes a file: it is not given, not put again and not listed, and says by whom it was
// removed and until when it can be restored; restored, it is as before. With 0 days nothing can be restored.
func TestARemovedFileIsRestored(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleAdmin)
	b.holdAll()
	b.addNamed("web", 0, "a")
	b.stored("a")
	remove := func() {
		t.Helper()
		in := wire.FileRemoval{SHA256: sumOf("a").String(), Reason: "asked for"}
		err := c.Files().Remove(t.Context(), "a", in)
		var asked *wire.Error
		if !errors.As(err, &asked) || asked.Confirm == "" {
			t.Fatal(err)
		}
		in.Confirm = asked.Confirm
		if err := c.Files().Remove(t.Context(), "a", in); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	f, err := c.Files().Show(t.Context(), "a")
	if err != nil || f.Removed.IsZero() || f.RemovedBy == "" || f.RemoverName == "" || f.RemoverName == f.RemovedBy || f.Until.Sub(f.Removed).Hours() != 30*24 || len(f.Copies) != 2 {
		t.Fatalf("%+v %v", f, err)
	}
	until := f.Until.UTC().Format("2006-01-02T15:04:05Z")
	for _, path := range []string{"/files/a/content", "/files/a/content?replica=north"} {
		asked := b.request(c, http.MethodGet, path, "")
		code, _ := b.ask(asked)
		if code != http.StatusGone {
			t.Errorf("%s is answered %d", path, code)
		}
		asked = b.request(c, http.MethodGet, path, "")
		asked.Header.Set("Range", "bytes=0-0")
		code, text := b.ask(asked)
		if code != http.StatusGone || !strings.Contains(text, until) || !strings.Contains(text, f.RemovedBy) {
			t.Errorf("%s is answered %d %s", path, code, text)
		}
	}
	up := client.Upload{Name: "a", Size: 1, SHA256: sumOf("a").String(), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("x")), nil
	}}
	if _, err := c.Files().Put(t.Context(), up); status(err) != http.StatusConflict || !strings.Contains(err.Error(), "restore it") {
		t.Errorf("put again: %v", err)
	}
	restore := wire.FileRestoration{SHA256: strings.Repeat("1", 64), Reason: "a mistake"}
	if _, err := c.Files().Restore(t.Context(), "a", restore); status(err) != http.StatusConflict {
		t.Errorf("with another SHA-256: %v", err)
	}
	restore.SHA256 = sumOf("a").String()
	if _, err := as(catalog.RoleReader).Files().Restore(t.Context(), "a", restore); status(err) != http.StatusForbidden {
		t.Errorf("by a reader: %v", err)
	}
	if f, err := c.Files().Restore(t.Context(), "a", restore); err != nil || !f.Removed.IsZero() || !f.Until.IsZero() || len(f.Copies) != 2 {
		t.Errorf("restored: %+v %v", f, err)
	}
	if _, err := c.Files().Restore(t.Context(), "a", restore); status(err) != http.StatusConflict {
		t.Errorf("restored twice: %v", err)
	}
	rule, err := c.Files().RemovalRule(t.Context())
	if err != nil || rule.Days != 30 {
		t.Errorf("%+v %v", rule, err)
	}
	if rule, err = c.Files().SetRemovalRule(t.Context(), wire.RemovalRuleRequest{Days: 0, Version: rule.Version, Reason: "x"}); err != nil || rule.Days != 0 || rule.By == "" {
		t.Errorf("%+v %v", rule, err)
	}
	if _, err = c.Files().SetRemovalRule(t.Context(), wire.RemovalRuleRequest{Days: 9, Version: 0, Reason: "x"}); err == nil {
		t.Error("a rule that was changed meanwhile is changed")
	}
	remove()
	if _, err := c.Files().Restore(t.Context(), "a", restore); status(err) != http.StatusConflict || !strings.Contains(err.Error(), "has begun") {
		t.Errorf("at once: %v", err)
	}
}

// TestALostNodeTakesItsFilesWithIt counts the files of which a node has the only good copy: as many have to be given
// when it is removed as lost, as many as they are by then.
func TestALostNodeTakesItsFilesWithIt(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleAdmin)
	b.holdAll()
	b.addNamed("web", 0, "a", "b", "c", "gone")
	b.stored("a", "b", "gone")
	b.must(catalog.RemoveFile, catalog.FileRemoval{Name: "gone", SHA256: sumOf("gone"), Reason: "x"})
	names := func() (out []string) {
		for f, err := range c.Nodes().SoleFiles(t.Context(), "north-1") {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, f.Name)
		}
		return out
	}
	if got := names(); len(got) != 4 { // one can be restored; of c its source has the bytes
		t.Errorf("without another good copy: %v", got)
	}
	code, text := b.ask(b.request(c, http.MethodGet, "/nodes/north-1/sole-files?limit=3", ""))
	if code != http.StatusOK || !strings.Contains(text, `"total":4`) || strings.Contains(text, `"next":""`) {
		t.Errorf("%d %s", code, text)
	}
	for _, place := range []string{"b", "h", "hfff", "hxyz/a", "h000/", "r", "z", "\xff"} {
		if code, text := b.ask(b.request(c, http.MethodGet, "/nodes/north-1/sole-files?after="+makeCursor("n", place), "")); code != 422 {
			t.Errorf("a place %q that no list gives: %d %s", place, code, text)
		}
	}
	for given, want := range map[int64]int{0: http.StatusConflict, 3: http.StatusConflict, 4: http.StatusPreconditionRequired} {
		err := c.Nodes().Remove(t.Context(), "north-1", wire.Removal{Lost: true, Files: given, Reason: "x"})
		if status(err) != want || want == http.StatusConflict && !strings.Contains(err.Error(), "4 files of") {
			t.Errorf("%d files: %v", given, err)
		}
	}
	b.must(agreed.SetRemovals, agreed.RemovalSetting{Days: 0, Reason: "x"})
	b.must(catalog.RemoveFile, catalog.FileRemoval{Name: "b", SHA256: sumOf("b"), Reason: "x"})
	if got := names(); len(got) != 3 {
		t.Errorf("without another good copy: %v", got)
	}
	if err := c.Nodes().Remove(t.Context(), "north-1", wire.Removal{Lost: true, Files: 4, Reason: "x"}); status(err) != http.StatusConflict {
		t.Errorf("4 files that are 3 by now: %v", err)
	}
}
