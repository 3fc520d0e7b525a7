package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/internal/sorter"
)

// TestAnExportOfAJobNamesWhatIsGone: a job of which a file was removed, or is lost, is not exported as if all were there.
func TestAnExportOfAJobNamesWhatIsGone(t *testing.T) {
	t.Parallel()
	now := time.Now()
	there := wire.File{Name: "there.warc", SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(oneRecord))), Size: int64(len(oneRecord))}
	for what, tt := range map[string]struct {
		listed, hidden []wire.File
		gone           int
	}{
		"all":     {[]wire.File{there, {Name: "log.txt", Removed: now}}, nil, 0},
		"removed": {[]wire.File{there, {Name: "gone.warc.gz", Removed: now}}, nil, 1},
		"lost":    {[]wire.File{there, {Name: "gone.warc.gz", Lost: now}}, nil, 1},
		"hidden":  {[]wire.File{there}, []wire.File{{Name: "gone.warc.gz", Removed: now}}, 1},
	} {
		archive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/content") {
				w.Header().Set(wire.DigestHeader, there.SHA256)
				_, _ = io.WriteString(w, oneRecord)
				return
			}
			page := wire.Page[wire.File]{Items: tt.listed}
			if r.URL.Query().Get("state") == "hidden" {
				page.Items = tt.hidden
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(page)
		}))
		c, err := client.New(archive.URL, "")
		if err != nil {
			t.Fatal(err)
		}
		var said, out bytes.Buffer
		dir := t.TempDir()
		e := &exporting{exportCmd: &exportCmd{Job: 7, Out: filepath.Join(dir, "a.wacz"), WACZVersion: "1.1.1"},
			a: &app{ctx: t.Context(), stderr: &said, stdout: io.Discard}, archive: c, dir: dir}
		e.lines, e.pages = sorter.New(dir, sortRoom), sorter.New(dir, sortRoom)
		query, err := e.check()
		if err != nil {
			t.Fatal(err)
		}
		if err := e.write(t.Context(), &out, query); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(e.Out, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		err = e.done()
		var coded exitError
		if (tt.gone > 0) != (errors.As(err, &coded) && coded.code == 2) || strings.Contains(said.String(), "gone.warc.gz") != (tt.gone > 0) {
			t.Errorf("%s: it ends with %v, and says %q", what, err, said.String())
		}
		if err := errors.Join(e.lines.Close(), e.pages.Close()); err != nil {
			t.Error(err)
		}
		archive.Close()
	}
}
