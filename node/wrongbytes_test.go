//go:build slow

package node

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/warc"
)

// writePages writes a WARC file without compression, so that nothing but digests tells a flipped bit: a page of the
// given length, and a revisit of it.
func writePages(t *testing.T, size int) (file, page []byte) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	page = make([]byte, size)
	for i := range page {
		page[i] = 'a' + byte(random.UintN(26))
	}
	path := filepath.Join(t.TempDir(), "pages.warc")
	f, err := warc.NewFile(disk.New(), path, warc.FilesConfig{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	digest := warc.Digest{Algorithm: warc.SHA256}
	sum := sha256.Sum256(page)
	digest.Sum = sum[:]
	_, err = f.Write(
		warc.Draft{Type: warc.TypeResponse, TargetURI: "http://example.com/page", ContentType: "application/http; msgtype=response", Date: at,
			PayloadDigest: digest.String(), Block: strings.NewReader(head + string(page)), Size: int64(len(head) + size)},
		warc.Draft{Type: warc.TypeRevisit, TargetURI: "http://example.com/again", ContentType: "application/http; msgtype=response", Date: at.Add(time.Hour),
			PayloadDigest: digest.String(), Block: strings.NewReader(head), Size: int64(len(head)), Fields: []warc.Field{
				{Name: "WARC-Profile", Value: warc.ProfileIdenticalDigest}, {Name: "WARC-Refers-To-Target-URI", Value: "http://example.com/page"},
				{Name: "WARC-Refers-To-Date", Value: warc.FormatDate(at)}}})
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if file, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return file, page
}

// fetched asks over a connection, and returns how the answer ended.
func fetched(t *testing.T, method, url string, header ...string) (status int, body []byte, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

// TestNobodyIsGivenWrongBytes flips a bit in the copy of one of three nodes. Whole files, ranges, pages and revisits, asked
// of that node and of one that has no copy, hold the right bytes; the copy is found, and repaired.
func TestNobodyIsGivenWrongBytes(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, ""))
	north, third := nodes[0], nodes[2]
	file, page := writePages(t, 1_500_000)
	name := catalog.FileName("pages.warc")
	eventually(t, "put the file", func() error {
		_, err := north.files().Put(t.Context(), api.PutRequest{Collection: "web", Name: name, Size: int64(len(file)), Body: bytes.NewReader(file), Actor: "test"})
		return err
	})
	complete := func() error {
		return north.raft.View(func(v catalog.View) error {
			f, err := v.File(name)
			for _, c := range f.Copies {
				if err == nil && !c.Good() {
					err = fmt.Errorf("%s is %s, disputed: %t", c.Replica, c.State, c.Disputed)
				}
			}
			return err
		})
	}
	eventually(t, "three good copies", complete)
	path := filepath.Join(north.cfg.Data, "files", name.Shard().String(), string(name))
	place := int64(bytes.Index(file, page) + 700_000)
	flipBit(t, path, place)
	for _, n := range []running{third, north} {
		offered, err := n.cfg.Offered(n.hooks.Texts, n.log)
		if err != nil {
			t.Fatal(err)
		}
		handler, err := n.replayHandler(offered)
		if err != nil {
			t.Fatal(err)
		}
		access := httptest.NewServer(handler)
		t.Cleanup(access.Close)
		content := httptest.NewServer(api.New(n.backend(), slogOf(t)))
		t.Cleanup(content.Close)
		token, err := os.ReadFile(n.cfg.TokenPath())
		if err != nil {
			t.Fatal(err)
		}
		secret := []string{"Authorization", "Bearer " + strings.TrimSpace(string(token))}
		for _, tt := range []struct {
			what, method, url string
			header            []string
			want              []byte
		}{
			{"a page", http.MethodGet, access.URL + "/web/20260101000000id_/http://example.com/page", nil, page},
			{"its revisit", http.MethodGet, access.URL + "/web/20260101010000id_/http://example.com/again", nil, page},
			{"its head", http.MethodHead, access.URL + "/web/20260101000000id_/http://example.com/page", nil, nil},
			{"a range", http.MethodGet, content.URL + "/api/v1/files/pages.warc/content",
				append(secret, "Range", fmt.Sprintf("bytes=%d-%d", place-5, place+4)), file[place-5 : place+5]},
			{"the file", http.MethodGet, content.URL + "/api/v1/files/pages.warc/content", secret, file},
			{"its head", http.MethodHead, content.URL + "/api/v1/files/pages.warc/content", secret, nil},
		} {
			eventually(t, tt.what+" from "+n.cfg.Name, func() error { // the shard may not be indexed yet
				status, body, err := fetched(t, tt.method, tt.url, tt.header...)
				if err == nil && status < 300 && !bytes.Equal(body, tt.want) {
					t.Fatalf("%s from %s: %d with %d wrong bytes", tt.what, n.cfg.Name, status, len(body))
				}
				if err != nil || status >= 300 {
					return fmt.Errorf("%d, %w", status, err)
				}
				return nil
			})
		}
	}
	eventually(t, "the bad copy is set aside", func() error {
		aside, err := filepath.Glob(filepath.Join(north.cfg.Data, "quarantine", "pages.warc.*"))
		if err == nil && len(aside) == 0 {
			err = errors.New("nothing is in the quarantine")
		}
		return err
	})
	eventually(t, "the copy is made again", complete)
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, file) {
		t.Errorf("the copy that was made again: %v", err)
	}
}

// flipBit changes one bit of a file in place.
func flipBit(t *testing.T, path string, offset int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	_, err = f.ReadAt(b, offset)
	b[0] ^= 1
	if err == nil {
		_, err = f.WriteAt(b, offset)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
