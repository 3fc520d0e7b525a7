package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/harvest"
)

// The examples of RFC 7616, section 3.9.1.
func TestDigest(t *testing.T) {
	t.Parallel()
	cred := harvest.Credential{Kind: "digest", User: "Mufasa", Password: "Circle of Life"}
	for algorithm, want := range map[string]string{
		"MD5":     "8ca523f5e9506fed4657c9700eebdbec",
		"SHA-256": "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
	} {
		ch := parseChallenges(nil, `Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=`+algorithm+
			`, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`)
		got, err := digestAnswer(cred, ch[0], "GET", "/dir/index.html", 1, "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
		if err != nil || !strings.Contains(got, `response="`+want+`"`) || !strings.Contains(got, "nc=00000001") {
			t.Errorf("%s: %s, %v", algorithm, got, err)
		}
	}
}

func TestChallenges(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{`Basic realm="a, b"`, "basic[realm=a, b]"},
		{`basic realm=x`, "basic[realm=x]"},
		{`Digest realm="x\"y", nonce=n ,qop = "auth", Basic realm=z`, `digest[realm=x"y nonce=n qop=auth] basic[realm=z]`},
		{`Negotiate, Basic realm="x"`, "negotiate[] basic[realm=x]"},
		{`NTLM TlRMTVNTUAA=, Basic realm="x"`, "ntlm[] basic[realm=x]"},
		{`Negotiate YII/abc==`, "negotiate[]"},
		{`, ,Basic`, "basic[]"},
		{`Basic realm="not closed`, "basic[]"},
		{``, ""}, {`"`, ""}, {`=`, ""},
	}
	for _, tt := range tests {
		var got []string
		for _, c := range parseChallenges(nil, tt.in) {
			var params []string
			for _, p := range c.params {
				params = append(params, p.Name+"="+p.Value)
			}
			got = append(got, c.Scheme+"["+strings.Join(params, " ")+"]")
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.in, s, tt.want)
		}
	}
}

// visit fetches as the crawl does: with what is known, and once more after a challenge. It returns the statuses.
func visit(t *testing.T, c *Client, l *Logins, url string) (statuses []int, recorded string) {
	tg := target(t, url)
	for range 6 {
		auth := l.Authorization(tg, "GET")
		x := c.Fetch(t.Context(), Request{Target: tg, Addrs: loopback, Authorization: auth})
		statuses = append(statuses, x.Status)
		recorded += string(x.Request)
		again := l.Challenged(tg, x.Head, auth)
		x.Release()
		if !again {
			break
		}
	}
	return statuses, recorded
}

func TestLogins(t *testing.T) {
	t.Parallel()
	nonce, hits := 0, 0
	always := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth := r.Header.Get("Authorization")
		if strings.HasPrefix(r.URL.Path, "/basic/") {
			if u, p, _ := r.BasicAuth(); u != "me" || p != "secret" {
				w.Header().Set("WWW-Authenticate", `Basic realm="b"`)
				w.WriteHeader(401)
			}
			return
		}
		hits++
		valid := strings.Contains(auth, fmt.Sprintf(`nonce="n%d"`, nonce)) && strings.Contains(auth, `username="you"`)
		if !valid || hits%4 == 0 || always { // the nonce ages
			nonce++
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Digest realm="d", qop="auth", nonce="n%d", stale=%v`, nonce, valid || always))
			w.WriteHeader(401)
		}
	}))
	defer s.Close()
	c := client(t)
	l := NewLogins([]harvest.Credential{{Domain: "127.0.0.1", Kind: "basic", User: "me", Password: "secret"}, {Domain: "127.0.0.1", Kind: "digest", User: "you", Password: "secret"}}, nil)
	steps := []struct{ path, want string }{
		{"/basic/a/x", "[401 200]"}, {"/basic/a/y", "[200]"}, {"/basic/b/x", "[401 200]"}, {"/basic/a/z", "[200]"},
		{"/d/x", "[401 200]"}, {"/d/y", "[200]"}, {"/d/z", "[401 200]"}, {"/e", "[200]"},
	}
	for _, step := range steps {
		got, recorded := visit(t, c, l, s.URL+step.path)
		if fmt.Sprint(got) != step.want {
			t.Errorf("%s: %v, want %s", step.path, got, step.want)
		}
		if strings.Contains(recorded, "bWU6c2VjcmV0") || strings.Contains(recorded, "response=") {
			t.Errorf("%s: a secret is recorded: %q", step.path, recorded)
		}
	}
	always = true
	if got, _ := visit(t, c, l, s.URL+"/d/always"); len(got) > maxMisses+2 {
		t.Errorf("asked %v", got)
	}
	wrong := NewLogins([]harvest.Credential{{Domain: "127.0.0.1", Kind: "basic", User: "me", Password: "wrong"}}, nil)
	for _, want := range []string{"[401 401]", "[401]", "[401]"} {
		if got, _ := visit(t, c, wrong, s.URL+"/basic/x"); fmt.Sprint(got) != want {
			t.Errorf("wrong password: %v, want %s", got, want)
		}
	}
}

// A digest credential never answers a request for a password in the clear.
func TestNoDowngrade(t *testing.T) {
	t.Parallel()
	cred := harvest.Credential{Domain: "h.test", Kind: "digest", User: "u", Password: "hidden"}
	_, err := Authorization(cred, Challenge{Scheme: "basic", params: []Field{{"realm", "x"}}}, "GET", "/", 1)
	if !errors.Is(err, ErrChallenge) || strings.Contains(err.Error(), "hidden") {
		t.Error(err)
	}
	for host, want := range map[string]bool{"h.test": true, "a.h.test": true, "ah.test": false, "test": false, "H.TEST.": true} {
		if covers("h.test", host) != want {
			t.Errorf("%s: %v", host, !want)
		}
	}
}

func TestFormLogin(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Method + " " + r.FormValue("user") + " " + r.FormValue("pass word")
	}))
	defer s.Close()
	for _, method := range []string{"POST", "GET"} {
		cred := harvest.Credential{Domain: "127.0.0.1", Kind: "form", URL: s.URL + "/login?x=y", Method: method, Fields: map[string]string{"user": "me & you", "pass word": "s=cret"}}
		r, err := FormRequest(cred)
		if err != nil {
			t.Fatal(err)
		}
		r.Addrs = loopback
		x := client(t).Fetch(t.Context(), r)
		if want := method + " me & you s=cret"; x.Status != 200 || <-got != want {
			t.Errorf("status %d, want %q", x.Status, want)
		}
		recorded := string(x.Request)
		if strings.Contains(recorded, "cret") || strings.Contains(recorded, "me+") || !strings.Contains(recorded, "pass+word=redacted&user=redacted") {
			t.Errorf("recorded %q", recorded)
		}
		head, body, _ := strings.Cut(recorded, "\r\n\r\n")
		if method == "POST" && !strings.Contains(head, fmt.Sprintf("Content-Length: %d", len(body))) {
			t.Errorf("recorded %q with %d bytes", head, len(body))
		}
		x.Release()
	}
}

func FuzzChallenge(f *testing.F) {
	f.Add(`Digest realm="x\"y", nonce=n ,qop = "auth", algorithm=SHA-256-sess, userhash=true, Basic realm=z`)
	f.Add(`NTLM TlRMTVNTUAA=, Basic`)
	f.Fuzz(func(t *testing.T, in string) {
		list := parseChallenges(nil, in)
		if len(list) > maxChallenges {
			t.Fatalf("%d challenges", len(list))
		}
		for _, c := range list {
			for _, kind := range []string{"basic", "digest"} {
				header, err := Authorization(harvest.Credential{Kind: kind, User: "u", Password: "p"}, c, "GET", "/", 1)
				if err == nil && c.Scheme != kind {
					t.Fatalf("%q answers %q", header, in)
				}
			}
		}
	})
}
