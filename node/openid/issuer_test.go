package openid

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// issuer is a service of OpenID Connect that lies as it is told.
type issuer struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	key      *rsa.PrivateKey
	kid      string
	tokens   int // codes spent
	userinfo int
	codes    map[string]url.Values // what was asked for, by code
	gone     bool

	// What it says in place of the truth.
	claim     func(map[string]any)
	head      func(map[string]any)
	discovery func(map[string]any)
	sign      func(signed string) []byte // nil: by its key
	info      map[string]any
	answer    func(http.ResponseWriter, *http.Request) bool // true: it answered
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t, codes: map[string]url.Values{}}
	i.rotate("k1")
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) rotate(kid string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		i.t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key, i.kid = key, kid
}

// approve is what somebody does at the service: she signs in there. It returns what her browser is sent back with.
func (i *issuer) approve(address string) url.Values {
	i.t.Helper()
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(address, i.URL+"/authorize?") {
		i.t.Fatalf("sent to %s", address)
	}
	asked := u.Query()
	if asked.Get("response_type") != "code" || asked.Get("code_challenge_method") != "S256" || len(asked.Get("state")) < 20 ||
		len(asked.Get("nonce")) < 20 || asked.Get("code_challenge") == "" || asked.Get("scope") != "openid profile" {
		i.t.Fatalf("asked with %v", asked)
	}
	code := rand.Text()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.codes[code] = asked
	return url.Values{"code": {code}, "state": {asked.Get("state")}}
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.gone {
		http.Error(w, "gone", http.StatusServiceUnavailable)
		return
	}
	if i.answer != nil && i.answer(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		doc := map[string]any{"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
			"jwks_uri": i.URL + "/keys", "userinfo_endpoint": i.URL + "/me", "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"}}
		if i.discovery != nil {
			i.discovery(doc)
		}
		i.write(w, doc)
	case "/keys":
		i.write(w, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "kid": i.kid, "use": "sig", "alg": "RS256",
			"n": coding.EncodeToString(i.key.N.Bytes()), "e": coding.EncodeToString(big.NewInt(int64(i.key.E)).Bytes())}}})
	case "/token":
		i.token(w, r)
	case "/me":
		i.userinfo++
		i.write(w, i.info)
	default:
		http.NotFound(w, r)
	}
}

func (i *issuer) write(w http.ResponseWriter, what any) {
	if err := json.NewEncoder(w).Encode(what); err != nil {
		i.t.Error(err)
	}
}

// token spends a code, as RFC 6749 and 7636 say.
func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.tokens++
	w.Header().Set("Content-Type", "application/json")
	fail := func(status int, code string) {
		w.WriteHeader(status)
		i.write(w, map[string]any{"error": code, "error_description": "SECRET"})
	}
	user, password, basic := r.BasicAuth()
	if !basic && i.discovery != nil {
		user, password = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	if user != "holdfast" || password != "s3cret" {
		fail(http.StatusUnauthorized, "invalid_client")
		return
	}
	asked, there := i.codes[r.FormValue("code")]
	delete(i.codes, r.FormValue("code"))
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !there || asked.Get("redirect_uri") != r.FormValue("redirect_uri") ||
		asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
		fail(http.StatusBadRequest, "invalid_grant")
		return
	}
	now := time.Now()
	claims := map[string]any{"iss": i.URL, "sub": "anna|1", "aud": "holdfast", "nonce": asked.Get("nonce"),
		"iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "groups": []string{"archivists", "staff"}}
	head := map[string]any{"alg": "RS256", "kid": i.kid, "typ": "JWT"}
	if i.claim != nil {
		i.claim(claims)
	}
	if i.head != nil {
		i.head(head)
	}
	i.write(w, map[string]any{"access_token": "SECRET-access", "token_type": "Bearer", "id_token": i.jwt(head, claims)})
}

func (i *issuer) jwt(head, claims map[string]any) string {
	first, err := json.Marshal(head)
	if err != nil {
		i.t.Error(err)
	}
	second, err := json.Marshal(claims)
	if err != nil {
		i.t.Error(err)
	}
	signed := coding.EncodeToString(first) + "." + coding.EncodeToString(second)
	if i.sign != nil {
		return signed + "." + coding.EncodeToString(i.sign(signed))
	}
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		i.t.Error(err)
	}
	return signed + "." + coding.EncodeToString(signature)
}

// desk is a node's side of it.
type desk struct {
	*Service
	t   *testing.T
	i   *issuer
	log *strings.Builder
	now time.Time
	mu  sync.Mutex
}

// newDesk returns a node that asks the issuer. Its log has no secrets, whatever happens.
func newDesk(t *testing.T, i *issuer, change func(*Config)) *desk {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, i: i, log: &strings.Builder{}, now: time.Now()}
	cfg := Config{Issuer: i.URL, Client: "holdfast", SecretFile: file, Scopes: []string{"openid", "profile"}, Groups: "groups",
		Redirect: func() string { return "http://localhost:1/sign-in/openid" }, Log: slog.New(slog.NewTextHandler(d.log, nil)),
		Now: func() time.Time { d.mu.Lock(); defer d.mu.Unlock(); return d.now }}
	if change != nil {
		change(&cfg)
	}
	d.Service = New(cfg)
	t.Cleanup(func() {
		for _, secret := range []string{"SECRET", "s3cret", "eyJ", "INVITE"} {
			if strings.Contains(d.log.String(), secret) {
				t.Errorf("the log has %q: %s", secret, d.log)
			}
		}
	})
	return d
}

func (d *desk) pass(span time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(span)
}

// begin begins a sign-in, and returns the address and what the browser keeps.
func (d *desk) begin() (address, kept string) {
	d.t.Helper()
	address, kept, err := d.Begin(d.t.Context(), "/jobs", "INVITE")
	if err != nil {
		d.t.Fatalf("begin: %v; %s", err, d.log)
	}
	return address, kept
}

// signIn is the whole of it.
func (d *desk) signIn() (Answer, error) {
	d.t.Helper()
	address, kept := d.begin()
	answer, begun, err := d.Finish(d.t.Context(), []string{kept}, d.i.approve(address))
	if begun != (Begun{"/jobs", "INVITE"}) {
		d.t.Errorf("begun with %+v", begun)
	}
	return answer, err
}

func (a Answer) String() string { return fmt.Sprint(a.Issuer, " ", a.Subject, " ", a.Groups) }
