package crawler

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/crawler/chain"
	"holdfast/harvest"
	"holdfast/warc"
)

// requests returns the request records of a crawl: their headers and blocks.
func requests(t *testing.T, dir string) (all []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "warcs", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for r, err := warc.NewReader(f, path); ; {
			if err != nil {
				t.Fatal(err)
			}
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if rec.Type == warc.TypeRequest {
				block, err := io.ReadAll(rec.Block)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, rec.TargetURI()+"\n"+chain.FieldHidden+": "+rec.Header.Get(chain.FieldHidden)+"\n"+string(block))
			}
		}
	}
	return all
}

// TestRequestRecordsHoldNoSecrets lets a crawl in by each way that its settings have. What lets it in, and what the site
// gives it for that, stands in no request record; the record says what was left out.
func TestRequestRecordsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	sheet := func(headers string) []harvest.Sheet {
		return []harvest.Sheet{{Name: "s", Prefixes: []string{"http://("}, Settings: map[string]json.RawMessage{"headers": json.RawMessage(headers)}}}
	}
	for name, tt := range map[string]struct {
		change  func(*site, *harvest.Settings)
		secrets []string
		want    string // is left out, of some request at least
	}{
		"first cookies": {func(_ *site, s *harvest.Settings) {
			s.FirstCookies = "127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\tletmein\n127.0.0.1\tFALSE\t/\tFALSE\t0\t\thunter2\n"
		}, []string{"letmein", "hunter2"}, "Cookie"},
		"a form": {func(site *site, s *harvest.Settings) {
			s.Credentials = []harvest.Credential{{Domain: "127.0.0.1", Kind: "form", URL: site.URL + "/login",
				Fields: map[string]string{"user": "anna", "password": "formsecret"}}}
		}, []string{"letmein", "formsecret"}, "Cookie"},
		"the form itself": {func(site *site, s *harvest.Settings) {
			s.Credentials = []harvest.Credential{{Domain: "127.0.0.1", Kind: "form", URL: site.URL + "/login",
				Fields: map[string]string{"user": "anna", "password": "formsecret"}}}
		}, []string{"formsecret"}, "form"},
		"a cookie as header": {func(_ *site, s *harvest.Settings) { s.Headers = []string{"cookie: session=letmein"} }, []string{"letmein"}, "cookie"},
		"a header by name":   {func(_ *site, s *harvest.Settings) { s.Headers = []string{"X-Api-Key: hunter2"} }, []string{"hunter2"}, "X-Api-Key"},
		"a header by value":  {func(_ *site, s *harvest.Settings) { s.Headers = []string{"X-Reader: Bearer hunter2"} }, []string{"hunter2"}, "X-Reader"},
		"authorization":      {func(_ *site, s *harvest.Settings) { s.Headers = []string{"Authorization: hunter2"} }, []string{"hunter2"}, "Authorization"},
		"a sheet":            {func(_ *site, s *harvest.Settings) { s.Sheets = sheet(`["X-Api-Key: hunter2"]`) }, []string{"hunter2"}, "X-Api-Key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := formSite(t)
			job := newJob(s.URL+"/", s.URL+"/in/0", s.URL+"/in/1")
			tt.change(s, &job.Settings)
			dir := t.TempDir()
			run(t, dir, job)
			all, said := requests(t, dir), false
			for _, r := range all {
				for _, secret := range tt.secrets {
					if strings.Contains(r, secret) {
						t.Errorf("a request record holds %s:\n%s", secret, r)
					}
				}
				said = said || strings.Contains(r, chain.FieldHidden+": "+tt.want)
			}
			if !said {
				t.Errorf("none of %d request records says that %s is left out: %q", len(all), tt.want, all)
			}
		})
	}
}

// TestCookiesWithoutLoginsAreRecorded crawls without a login: what the site sets, and nobody gave, is recorded as it was sent.
func TestCookiesWithoutLoginsAreRecorded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "lang", Value: "danish", Path: "/"})
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<a href=/next>next</a>")
	})
	s.html("/next", "next")
	dir := t.TempDir()
	run(t, dir, newJob(s.URL+"/"))
	if all := strings.Join(requests(t, dir), ""); !strings.Contains(all, "Cookie: lang=danish") || strings.Contains(all, chain.FieldHidden+": C") {
		t.Errorf("%s", all)
	}
}
