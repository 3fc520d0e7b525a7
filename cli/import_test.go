package cli

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
)

// shelfServer is an archive that keeps what is put, and nothing else.
type shelfServer struct {
	mu    sync.Mutex
	files map[string]string // by name: SHA-256
}

func (s *shelfServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/files/"), "/content")
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodPut {
		sum := sha256.New()
		if _, err := io.Copy(sum, r.Body); err != nil {
			return
		}
		have := fmt.Sprintf("%x", sum.Sum(nil))
		if before, there := s.files[name]; there && before != have || have != r.Header.Get(wire.DigestHeader) {
			refuse(w, http.StatusConflict, wire.CodeConflict, "other content")
			return
		}
		s.files[name] = have
	}
	sum, there := s.files[name]
	if !there {
		refuse(w, http.StatusNotFound, wire.CodeNotFound, "no such file")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(wire.File{Name: name, SHA256: sum})
}

func refuse(w http.ResponseWriter, status int, code wire.Code, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(wire.Problem{Status: status, Type: wire.ProblemType + string(code), Detail: detail})
}

// importedFrom imports a path, and returns what became of each file and what the archive has.
func importedFrom(t *testing.T, path string) (map[string]imported, map[string]string) {
	t.Helper()
	s := &shelfServer{files: map[string]string{}}
	archive := httptest.NewServer(s)
	defer archive.Close()
	c, err := client.New(archive.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	files, err := findImports(path)
	if err != nil {
		t.Fatal(err)
	}
	i := &importing{a: &app{ctx: t.Context(), stderr: t.Output()}, archive: c}
	for _, file := range files {
		ended := make(chan error, 1)
		go func() { ended <- i.one(t.Context(), file) }()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the import hangs", file)
		}
	}
	out := map[string]imported{}
	for _, one := range i.results {
		out[strings.TrimPrefix(one.From, path+"/")] = one
	}
	return out, s.files
}

const oneRecord = "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Date: 2020-05-01T00:00:00Z\r\n" +
	"WARC-Target-URI: http://a.example/\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx\r\n\r\n"

// aWACZ writes a WACZ of archives with one record each.
func aWACZ(t *testing.T, path string, names ...string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	part := func(name, text string) {
		to, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(to, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var list []string
	for _, name := range names {
		part("archive/"+name, oneRecord)
		list = append(list, fmt.Sprintf(`{"path":"archive/%s","hash":"sha256:%x","bytes":%d}`, name,
			sha256.Sum256([]byte(oneRecord)), len(oneRecord)))
	}
	part("datapackage.json", `{"resources":[`+strings.Join(list, ",")+`]}`)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestImportOfWhatIsNoFile: pipes, links and folders with the names of archives stop nothing, and what is refused is
// named.
func TestImportOfWhatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	aWACZ(t, filepath.Join(dir, "good.wacz"), "a.warc", "b.warc")
	if err := os.WriteFile(filepath.Join(dir, "empty.warc.gz"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipe.wacz", "pipe.warc.gz"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.wacz"), 0o700); err != nil {
		t.Fatal(err)
	}
	aWACZ(t, filepath.Join(dir, "folder.wacz", "inner.wacz"), "c.warc")
	for name, to := range map[string]string{"link.wacz": "good.wacz", "away.wacz": "nowhere", "around.wacz": "around.wacz",
		"to-folder.wacz": "folder.wacz"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	results, files := importedFrom(t, dir)
	for from, want := range map[string]string{"good.wacz/archive/a.warc": entered, "good.wacz/archive/b.warc": entered,
		"good.wacz (its lists)": entered, "pipe.wacz": refusedFile, "pipe.warc.gz": refusedFile, "empty.warc.gz": entered,
		"folder.wacz/inner.wacz/archive/c.warc": entered, "link.wacz/archive/a.warc": entered, "away.wacz": refusedFile,
		"around.wacz": refusedFile, "to-folder.wacz": refusedFile} {
		if got := results[from]; got.Result != want || want == refusedFile && got.Why == "" {
			t.Errorf("%s: %+v, want %s", from, got, want)
		}
	}
	if len(files) != 9 {
		t.Errorf("the archive has %d files: %v", len(files), files)
	}
}

// TestAShelfWaitsForNoPipe: holdfast replay names what is no file.
func TestAShelfWaitsForNoPipe(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pipe.wacz", "pipe.warc.gz"} {
		path := filepath.Join(t.TempDir(), name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := openShelf(&app{ctx: t.Context(), stderr: t.Output()}, t.TempDir(), []string{path})
			ended <- err
		}()
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: it hangs", name)
		}
	}
}
