package openid

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSignIn(t *testing.T) {
	i := newIssuer(t)
	d := newDesk(t, i, nil)
	got, err := d.signIn()
	if err != nil || got.Issuer != i.URL || got.Subject != "anna|1" || !slices.Equal(got.Groups, []string{"archivists", "staff"}) ||
		got.Name != "" || got.Mail != "" {
		t.Errorf("%+v %v; %s", got, err, d.log)
	}
	if i.tokens != 1 || i.userinfo != 0 || d.Silent() {
		t.Errorf("%d codes spent, asked for more %d times, silent: %t", i.tokens, i.userinfo, d.Silent())
	}
}

// The client's secret goes where the service takes it.
func TestTheWayOfTheSecret(t *testing.T) {
	for _, ways := range [][]string{{"private_key_jwt", "client_secret_post"}, {"client_secret_post", "client_secret_basic"}} {
		i := newIssuer(t)
		i.discovery = func(doc map[string]any) { doc["token_endpoint_auth_methods_supported"] = ways }
		if got, err := newDesk(t, i, nil).signIn(); err != nil || got.Subject != "anna|1" || i.tokens != 1 {
			t.Errorf("%v: %v %v, asked %d times", ways, got, err, i.tokens)
		}
	}
}

// What is not proved to be about this sign-in lets nobody in.
func TestLyingTokens(t *testing.T) {
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	claim := func(name string, value any) func(*issuer) {
		return func(i *issuer) { i.claim = func(c map[string]any) { c[name] = value } }
	}
	for name, lie := range map[string]func(*issuer){
		"a wrong nonce":             claim("nonce", "x"),
		"no nonce":                  func(i *issuer) { i.claim = func(c map[string]any) { delete(c, "nonce") } },
		"an empty nonce":            claim("nonce", ""),
		"another audience":          claim("aud", "other"),
		"no audience":               claim("aud", []string{}),
		"audiences without a party": claim("aud", []string{"holdfast", "other"}),
		"another party":             claim("azp", "other"),
		"another issuer":            claim("iss", "https://accounts.example"),
		"an issuer with a slash":    func(i *issuer) { i.claim = func(c map[string]any) { c["iss"] = i.URL + "/" } },
		"expired":                   claim("exp", time.Now().Add(-time.Second).Unix()),
		"no end":                    func(i *issuer) { i.claim = func(c map[string]any) { delete(c, "exp") } },
		"not yet":                   claim("nbf", time.Now().Add(time.Hour).Unix()),
		"no subject":                claim("sub", ""),
		"another access token":      claim("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"),
		"groups that are numbers":   claim("groups", 7),
		"too many groups":           claim("groups", make([]string, 1001)),
		"none":                      func(i *issuer) { i.head = alg("none"); i.sign = func(string) []byte { return nil } },
		"None":                      func(i *issuer) { i.head = alg("None"); i.sign = func(string) []byte { return nil } },
		"signed with the secret": func(i *issuer) {
			i.head = alg("HS256")
			i.sign = func(text string) []byte {
				m := hmac.New(sha256.New, []byte("s3cret"))
				m.Write([]byte(text))
				return m.Sum(nil)
			}
		},
		"unsigned":            func(i *issuer) { i.sign = func(string) []byte { return nil } },
		"another's signature": func(i *issuer) { i.sign = func(string) []byte { return make([]byte, 256) } },
		"another's key": func(i *issuer) {
			i.answer = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/token" {
					mine := i.key
					i.key = other
					i.token(w, r)
					i.key = mine
					return true
				}
				return false
			}
		},
		"a key that is not there": func(i *issuer) { i.head = func(h map[string]any) { h["kid"] = "k9" } },
		"no token":                tokenAnswer(`{"access_token":"SECRET-a","token_type":"Bearer"}`),
		"no JWT":                  tokenAnswer(`{"access_token":"SECRET-a","token_type":"Bearer","id_token":"SECRET"}`),
		"a number for a token":    tokenAnswer(`{"access_token":"SECRET-a","token_type":"Bearer","id_token":7}`),
		"five parts":              tokenAnswer(`{"access_token":"SECRET-a","token_type":"Bearer","id_token":"a.b.c.d.e"}`),
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			d := newDesk(t, i, nil)
			lie(i)
			if got, err := d.signIn(); !errors.Is(err, ErrRefused) || got.Subject != "" {
				t.Errorf("%v %v, want it refused", got, err)
			}
			if !strings.Contains(d.log.String(), "refused") {
				t.Errorf("the log does not say why: %s", d.log)
			}
			i.claim, i.head, i.sign, i.answer = nil, nil, nil, nil
			if _, err := d.signIn(); err != nil {
				t.Errorf("the next sign-in: %v", err)
			}
		})
	}
}

func alg(name string) func(map[string]any) { return func(h map[string]any) { h["alg"] = name } }

// tokenAnswer makes the issuer answer so in place of giving a token.
func tokenAnswer(text string) func(*issuer) {
	return func(i *issuer) {
		i.answer = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/token" {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(text))
			return true
		}
	}
}

// A sign-in comes back to the browser in which it began, within ten minutes, and once.
func TestSignInsComeBackOnce(t *testing.T) {
	i := newIssuer(t)
	d := newDesk(t, i, nil)
	refused := func(what string, texts []string, query url.Values) {
		t.Helper()
		before := i.tokens
		if got, begun, err := d.Finish(t.Context(), texts, query); !errors.Is(err, ErrBegin) || got.Subject != "" || begun != (Begun{}) {
			t.Errorf("%s: %v %+v %v", what, got, begun, err)
		}
		if i.tokens != before {
			t.Errorf("%s: the code was spent", what)
		}
	}
	address, kept := d.begin()
	answer := i.approve(address)
	elsewhere, hers := d.begin() // an attacker's own sign-in
	theirs := i.approve(elsewhere)
	refused("another browser's state", []string{kept}, theirs)
	refused("another browser's cookie", []string{hers}, answer)
	refused("no cookie", nil, answer)
	refused("a made-up cookie", []string{"", "x", kept + "A", kept[:len(kept)-4]}, answer)
	refused("no state", []string{kept}, url.Values{"code": answer["code"]})
	refused("two states", []string{kept}, url.Values{"code": answer["code"], "state": {answer.Get("state"), "x"}})
	refused("another node", []string{newDesk(t, i, nil).sealedLike(t, answer.Get("state"))}, answer)
	if _, _, err := d.Finish(t.Context(), []string{hers, kept}, answer); err != nil { // both cookies, one is right
		t.Errorf("%v; %s", err, d.log)
	}
	refused("a state that was used", []string{kept}, answer)
	later := i.approve(elsewhere)
	d.pass(Life)
	refused("ten minutes later", []string{hers}, later)
}

// sealedLike is what this node would have sealed for that state.
func (d *desk) sealedLike(t *testing.T, state string) string {
	t.Helper()
	text, err := d.seal(flow{State: state, Expires: d.now.Add(Life)})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A code is spent once, with the verifier of its own sign-in.
func TestCodes(t *testing.T) {
	i := newIssuer(t)
	d := newDesk(t, i, nil)
	address, kept := d.begin()
	answer := i.approve(address)
	if _, _, err := d.Finish(t.Context(), []string{kept}, answer); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]string{"used": answer.Get("code"), "made up": "x", "none": "", "endless": strings.Repeat("x", maxCode+1)} {
		address, kept := d.begin()
		fresh := i.approve(address)
		fresh.Set("code", code)
		if got, _, err := d.Finish(t.Context(), []string{kept}, fresh); !errors.Is(err, ErrRefused) || got.Subject != "" {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	stolen := i.approve(address) // a code of another sign-in: its challenge is not of this verifier
	address, kept = d.begin()
	mine := i.approve(address)
	mine.Set("code", stolen.Get("code"))
	if got, _, err := d.Finish(t.Context(), []string{kept}, mine); !errors.Is(err, ErrRefused) || got.Subject != "" {
		t.Errorf("another's code: %v %v", got, err)
	}
}

// The service can decline, and another issuer cannot answer for it.
func TestAnswersWithoutACode(t *testing.T) {
	i := newIssuer(t)
	d := newDesk(t, i, nil)
	for change, want := range map[string]error{"error=access_denied": ErrDeclined, "error=x&code=y": ErrDeclined,
		"iss=https://other.example": ErrRefused, "iss=" + i.URL: nil} {
		address, kept := d.begin()
		answer := i.approve(address)
		more, err := url.ParseQuery(change)
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range more {
			answer[name] = values
		}
		if _, begun, err := d.Finish(t.Context(), []string{kept}, answer); !errors.Is(err, want) || begun.Next != "/jobs" {
			t.Errorf("%s: %v, want %v", change, err, want)
		}
	}
	i.discovery = func(doc map[string]any) { doc["authorization_response_iss_parameter_supported"] = true }
	if _, err := newDesk(t, i, nil).signIn(); !errors.Is(err, ErrRefused) {
		t.Errorf("without the issuer that the service names: %v", err)
	}
}

// Keys that change are fetched again; those that are gone are not taken for long.
func TestKeysChange(t *testing.T) {
	i := newIssuer(t)
	d := newDesk(t, i, nil)
	for _, kid := range []string{"k1", "k2", "k2"} { // the last one under the same name
		i.rotate(kid)
		if _, err := d.signIn(); err != nil {
			t.Errorf("%s: %v; %s", kid, err, d.log)
		}
	}
	old, name := i.key, i.kid
	i.rotate("k3")
	fresh, kid := i.key, i.kid
	i.answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/token" {
			return false
		}
		i.key, i.kid = old, name
		i.token(w, r)
		i.key, i.kid = fresh, kid
		return true
	}
	d.pass(freshness)
	i.claim = func(c map[string]any) { c["exp"] = time.Now().Add(time.Hour).Unix() }
	if got, err := d.signIn(); !errors.Is(err, ErrRefused) {
		t.Errorf("signed with a key that the service does not have any more: %v %v", got, err)
	}
}

// A service that is gone, slow, endless or leads elsewhere lets nobody in, and holds nobody up.
func TestAServiceThatDoesNotAnswer(t *testing.T) {
	endless := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"x":"`))
		for range 3 << 10 {
			if _, err := w.Write([]byte(strings.Repeat("x", 1<<10))); err != nil {
				return
			}
		}
		_, _ = w.Write([]byte(`"}`))
	}
	wrong := func(status int) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			body := "no" // what discovery and keys answer is public
			if r.URL.Path == "/token" || r.URL.Path == "/me" {
				body = "SECRET"
			}
			http.Error(w, body, status)
		}
	}
	away := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
	}
	for path, answers := range map[string]map[string]func(http.ResponseWriter, *http.Request){
		"/.well-known/openid-configuration": {"endless": endless, "502": wrong(502), "404": wrong(404), "elsewhere": away},
		"/token":                            {"endless": endless, "502": wrong(502), "elsewhere": away},
		"/keys":                             {"endless": endless, "502": wrong(502), "elsewhere": away},
		"/me":                               {"endless": endless, "502": wrong(502), "elsewhere": away},
	} {
		for name, answer := range answers {
			t.Run(path+" "+name, func(t *testing.T) {
				i := newIssuer(t)
				i.claim = func(c map[string]any) { delete(c, "groups") }
				i.answer = func(w http.ResponseWriter, r *http.Request) bool {
					if r.URL.Path == path {
						answer(w, r)
					}
					return r.URL.Path == path
				}
				d := newDesk(t, i, nil)
				var err error
				if path == "/.well-known/openid-configuration" {
					_, _, err = d.Begin(t.Context(), "/", "")
				} else {
					_, err = d.signIn()
				}
				if !errors.Is(err, ErrSilent) || !d.Silent() {
					t.Errorf("%v, want %v; silent: %t; %s", err, ErrSilent, d.Silent(), d.log)
				}
			})
		}
	}
}

// Once it did not answer, the service is asked again after a while; meanwhile nobody waits for it.
func TestTheServiceComesBack(t *testing.T) {
	i := newIssuer(t)
	asked := 0
	i.answer = func(http.ResponseWriter, *http.Request) bool { asked++; return false }
	i.gone = true
	d := newDesk(t, i, nil)
	for range 3 {
		if _, _, err := d.Begin(t.Context(), "/", ""); !errors.Is(err, ErrSilent) {
			t.Errorf("%v", err)
		}
	}
	i.gone = false
	if _, _, err := d.Begin(t.Context(), "/", ""); !errors.Is(err, ErrSilent) || asked != 0 {
		t.Errorf("%v; asked %d times", err, asked)
	}
	d.pass(silence)
	if _, err := d.signIn(); err != nil || d.Silent() {
		t.Errorf("%v, silent: %t", err, d.Silent())
	}
	// It goes while somebody is signing in there.
	address, kept := d.begin()
	answer := i.approve(address)
	i.gone = true
	if _, _, err := d.Finish(t.Context(), []string{kept}, answer); !errors.Is(err, ErrSilent) || !d.Silent() {
		t.Errorf("%v, silent: %t", err, d.Silent())
	}
	i.gone = false
	d.pass(silence)
	if _, err := d.signIn(); err != nil {
		t.Errorf("back again: %v", err)
	}
	i.gone = true
	d.pass(alive) // nobody is sent to a service that is not there
	if _, _, err := d.Begin(t.Context(), "/", ""); !errors.Is(err, ErrSilent) || !d.Silent() {
		t.Errorf("%v, silent: %t", err, d.Silent())
	}
	d.pass(mentioned)
	if d.Silent() {
		t.Error("it is said for ever that the service does not answer")
	}
}

// A browser that goes away is no service that does not answer.
func TestABrowserGoesAway(t *testing.T) {
	i := newIssuer(t)
	d := newDesk(t, i, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := d.Begin(ctx, "/", ""); err != nil || d.Silent() {
		t.Errorf("%v, silent: %t", err, d.Silent())
	}
	address, kept := d.begin()
	if _, _, err := d.Finish(ctx, []string{kept}, i.approve(address)); err != nil || d.Silent() {
		t.Errorf("%v, silent: %t", err, d.Silent())
	}
}

// Addresses to which codes, secrets and passwords would go in clear are not used, nor ways to sign that others know.
func TestWhatTheServiceSaysOfItself(t *testing.T) {
	for name, change := range map[string]func(map[string]any){
		"another issuer":         func(d map[string]any) { d["issuer"] = "http://127.0.0.1:1" },
		"sign-in in clear":       func(d map[string]any) { d["authorization_endpoint"] = "http://login.example/a" },
		"tokens in clear":        func(d map[string]any) { d["token_endpoint"] = "http://login.example/t" },
		"keys in clear":          func(d map[string]any) { d["jwks_uri"] = "http://login.example/k" },
		"more in clear":          func(d map[string]any) { d["userinfo_endpoint"] = "http://login.example/m" },
		"a script":               func(d map[string]any) { d["authorization_endpoint"] = "javascript:alert(1)" },
		"no keys":                func(d map[string]any) { delete(d, "jwks_uri") },
		"signs with the secret":  func(d map[string]any) { d["id_token_signing_alg_values_supported"] = []string{"HS256", "none"} },
		"takes no client secret": func(d map[string]any) { d["token_endpoint_auth_methods_supported"] = []string{"private_key_jwt"} },
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			i.discovery = change
			d := newDesk(t, i, nil)
			if address, _, err := d.Begin(t.Context(), "/", ""); !errors.Is(err, ErrSilent) {
				t.Errorf("sent to %s, %v", address, err)
			}
		})
	}
}

// What the ID token does not say, the service is asked for.
func TestMoreAboutSomebody(t *testing.T) {
	describe := func(c *Config) { c.Describe = true }
	for name, tt := range map[string]struct {
		info   map[string]any
		want   Answer
		err    error
		change func(map[string]any)
	}{
		"groups and address": {info: map[string]any{"sub": "anna|1", "groups": "archivists", "name": "Anna", "email": "a@x.org", "email_verified": true},
			want: Answer{Name: "Anna", Mail: "a@x.org", Groups: []string{"archivists"}}},
		"no groups":          {info: map[string]any{"sub": "anna|1", "name": "Anna", "email": "a@x.org"}, want: Answer{Name: "Anna", Mail: "a@x.org"}},
		"a doubtful address": {info: map[string]any{"sub": "anna|1", "email": "a@x.org", "email_verified": false}, want: Answer{Mail: "a@x.org", MailDoubtful: true}},
		"a doubtful text":    {info: map[string]any{"sub": "anna|1", "email": "a@x.org", "email_verified": "false"}, want: Answer{Mail: "a@x.org", MailDoubtful: true}},
		"somebody else":      {info: map[string]any{"sub": "berta", "groups": []string{"admins"}}, err: ErrRefused},
		"nobody":             {info: map[string]any{"groups": []string{"admins"}}, err: ErrRefused},
		"the token counts": {info: map[string]any{"sub": "anna|1", "groups": []string{"admins"}}, want: Answer{Groups: []string{"staff"}},
			change: func(c map[string]any) { c["groups"] = []string{"staff"} }},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			i.info = tt.info
			i.claim = func(c map[string]any) { delete(c, "groups"); delete(c, "name") }
			if tt.change != nil {
				i.claim = tt.change
			}
			got, err := newDesk(t, i, describe).signIn()
			if err == nil {
				tt.want.Issuer, tt.want.Subject = i.URL, "anna|1"
			}
			if !errors.Is(err, tt.err) || got.String() != tt.want.String() || got.Name != tt.want.Name || got.Mail != tt.want.Mail ||
				got.MailDoubtful != tt.want.MailDoubtful {
				t.Errorf("%+v %v, want %+v %v", got, err, tt.want, tt.err)
			}
		})
	}
}

// The secret is read at each sign-in, and a wrong one is the operator's fault.
func TestTheClientsSecret(t *testing.T) {
	i := newIssuer(t)
	d := newDesk(t, i, func(c *Config) { c.SecretFile = "/dev/null" })
	if _, err := d.signIn(); !errors.Is(err, ErrSilent) || i.tokens != 0 || !strings.Contains(d.log.String(), "level=ERROR") {
		t.Errorf("without a secret: %v, %d codes spent; %s", err, i.tokens, d.log)
	}
}

// However many come back at a time, what is kept is bounded.
func TestManySignIns(t *testing.T) {
	var u used
	now := time.Now()
	for n := range maxUsed {
		if err := u.take(flow{State: string(rune(n)) + "x", Expires: now.Add(Life)}, now); err != nil && n < 0xd800 {
			t.Fatal(n, err)
		}
	}
	if err := u.take(flow{State: "one more", Expires: now.Add(Life)}, now); !errors.Is(err, ErrBusy) {
		t.Errorf("%v with %d kept", err, len(u.states))
	}
	if err := u.take(flow{State: "later", Expires: now.Add(2 * Life)}, now.Add(Life)); err != nil || len(u.states) != 1 {
		t.Errorf("%v with %d kept", err, len(u.states))
	}
}
