package crawler

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/harvest"
	"holdfast/harvest/act"
)

// noSecrets looks for secrets in all that a crawl wrote for others, unpacked.
func noSecrets(t *testing.T, dir string, secrets ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == "frontier" {
				return filepath.SkipDir
			}
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				return err
			}
			if data, err = io.ReadAll(z); err != nil {
				return err
			}
		}
		for _, secret := range secrets {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s has the secret %s", path, secret)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func hash(text string) string { return fmt.Sprintf("%x", md5.Sum([]byte(text))) }

// loginSite lets in who says so by basic, digest or a form; it counts who comes without.
func loginSite(t *testing.T) (s *site, forms *atomic.Int64) {
	s, forms = newSite(t), &atomic.Int64{}
	s.html("/{$}", `<a href=/basic/1>1</a> <a href=/basic/2>2</a> <a href=/digest/1>1</a> <a href=/digest/2>2</a>`)
	s.mux.HandleFunc("/basic/", func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "anna" || password != "basicsecret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="one"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		hello(w, r)
	})
	s.mux.HandleFunc("/digest/", func(w http.ResponseWriter, r *http.Request) {
		given := map[string]string{}
		for part := range strings.SplitSeq(strings.TrimPrefix(r.Header.Get("Authorization"), "Digest "), ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			given[name] = strings.Trim(value, `"`)
		}
		want := hash(hash("anna:two:digestsecret") + ":" + strings.Join([]string{"n0nce", given["nc"], given["cnonce"], "auth"}, ":") + ":" + hash("GET:"+r.URL.RequestURI()))
		if given["response"] != want {
			w.Header().Set("WWW-Authenticate", `Digest realm="two", nonce="n0nce", qop="auth"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		hello(w, r)
	})
	return s, forms
}

// Pages behind a login are fetched as whoever the credentials say; what they are stands in no file for others.
func TestLogins(t *testing.T) {
	t.Parallel()
	s, _ := loginSite(t)
	job := newJob(s.URL + "/")
	job.Settings.Workers = 1
	job.Settings.Credentials = []harvest.Credential{{Domain: "127.0.0.1", Kind: "basic", Realm: "one", User: "anna", Password: "basicsecret"},
		{Domain: "127.0.0.1", Kind: "digest", Realm: "two", User: "anna", Password: "digestsecret"}}
	dir := t.TempDir()
	run(t, dir, job)
	for _, path := range []string{"/basic/1", "/basic/2", "/digest/1", "/digest/2"} {
		if status, _ := logged(t, dir, s.URL+path); status != "200" {
			t.Errorf("%s: status %s", path, status)
		}
	}
	if n := s.counts(); n["/basic/1"] != 2 || n["/basic/2"] != 1 || n["/digest/2"] != 1 {
		t.Errorf("requests %v", n)
	}
	noSecrets(t, dir, "basicsecret", "digestsecret", "YW5uYTpiYXNpY3NlY3JldA")
}

// formSite lets in whoever sent its form and has its cookie.
func formSite(t *testing.T) *site {
	s := newSite(t)
	var links strings.Builder
	for i := range 30 {
		fmt.Fprintf(&links, "<a href=/in/%d>x</a> ", i)
	}
	s.mux.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.FormValue("user") == "anna" && r.FormValue("password") == "formsecret" {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "letmein", Path: "/"})
			fmt.Fprint(w, "welcome")
			return
		}
		w.WriteHeader(http.StatusForbidden)
	})
	inside := func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("session"); err != nil || c.Value != "letmein" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/" {
			fmt.Fprint(w, links.String())
		}
		fmt.Fprint(w, "inside")
	}
	s.mux.HandleFunc("/{$}", inside)
	s.mux.HandleFunc("/in/", inside)
	return s
}

func formJob(s *site) harvest.Job {
	job := newJob(s.URL+"/", s.URL+"/in/0", s.URL+"/in/1", s.URL+"/in/2")
	job.Settings.HostValence = 4
	job.Settings.Credentials = []harvest.Credential{{Domain: "127.0.0.1", Kind: "form", URL: s.URL + "/login", Fields: map[string]string{"user": "anna", "password": "formsecret"}}}
	return job
}

// A form is sent once, before anything else of its host is asked for, however many fetches there are at a time, and its
// cookie holds when the crawl goes on after a crash that left nothing but WARC files.
func TestFormLogin(t *testing.T) {
	t.Parallel()
	s := formSite(t)
	job := formJob(s)
	job.Settings.MaxObjects = 12
	dir := t.TempDir()
	run(t, dir, job)
	job.Settings.MaxObjects = 20
	run(t, dir, job)
	for _, gone := range []string{"state", "logs"} {
		if err := os.RemoveAll(filepath.Join(dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	job.Settings.MaxObjects = 0
	run(t, dir, job)
	for _, line := range logLines(t, dir) {
		if line[1] != "200" && !strings.HasSuffix(line[3], "/robots.txt") {
			t.Errorf("not let in: %v", line)
		}
	}
	if n := s.counts(); n["/login"] != 1 {
		t.Errorf("%d logins", n["/login"])
	}
	noSecrets(t, dir, "formsecret")
}

// A form whose sending is broken off, or fails, is sent again, as a form, before anything else of the host is asked
// for.
func TestFormLoginBrokenOff(t *testing.T) {
	t.Parallel()
	cut := act.Stop{For: harvest.Duration(time.Millisecond)}
	goOn := func(l *live, from string) { start(l.t, Config{Dir: l.cfg.Dir, Job: l.cfg.Job, From: from}).end() }
	for name, breakOff := range map[string]func(l *live, drop func()){
		"stop": func(l *live, _ func()) {
			l.obey(cut)
			l.end()
			goOn(l, "")
		},
		"crash": func(l *live, _ func()) {
			l.obey(act.Checkpoint{Name: "then"})
			l.obey(cut)
			l.end()
			goOn(l, "then")
		},
		"kill": func(l *live, _ func()) {
			if n := l.obey(act.Kill{Worker: 1}).Count; n != 1 {
				l.t.Errorf("%d fetches killed", n)
			}
			l.end()
		},
		"lost connection": func(l *live, drop func()) {
			drop()
			l.end()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := formSite(t)
			site := s.mux
			s.mux = http.NewServeMux()
			sent, dropped, posts := make(chan struct{}), make(chan struct{}), atomic.Int64{}
			s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && posts.Add(1) == 1 {
					_ = r.ParseForm() // that the end of the connection is seen
					close(sent)
					select {
					case <-r.Context().Done():
					case <-dropped:
					}
					panic(http.ErrAbortHandler)
				}
				site.ServeHTTP(w, r)
			})
			job := formJob(s)
			job.Settings.Workers, job.Settings.RetryDelay = 1, harvest.Duration(50*time.Millisecond)
			dir := t.TempDir()
			l := start(t, Config{Dir: dir, Job: job})
			<-sent
			breakOff(l, func() { close(dropped) })
			ended := map[string]int{}
			for _, line := range logLines(t, dir) {
				if !strings.HasSuffix(line[3], "/robots.txt") {
					ended[line[1]]++
				}
			}
			want := map[string]int{"200": 32}
			if name == "kill" {
				want = map[string]int{"200": 4, "-7000": 1} // the page that has the links
			}
			if !maps.Equal(ended, want) || posts.Load() != 2 {
				t.Errorf("%d forms sent, URIs ended %v, want %v", posts.Load(), ended, want)
			}
		})
	}
}

// TestStateIsPrivate crawls in a folder whose state others could read, as an earlier version made it. It holds the cookies
// that the crawl was given, and those of its logins.
func TestStateIsPrivate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.html("/{$}", "page")
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	if err := os.Mkdir(state, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, dir, newJob(s.URL+"/"))
	info, err := os.Stat(state)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// The look-up of the host of a form login is recorded as any other.
func TestFormLoginLooksUpItsHost(t *testing.T) {
	t.Parallel()
	s := formSite(t)
	job := formJob(s)
	job.Settings.Credentials[0].URL = strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + "/login"
	dir := t.TempDir()
	run(t, dir, job)
	if status, _ := logged(t, dir, "dns:localhost"); status != "1" || captures(t, dir)["dns:localhost"] != 1 {
		t.Errorf("status %s, %d records", status, captures(t, dir)["dns:localhost"])
	}
}
