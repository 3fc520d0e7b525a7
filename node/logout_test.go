//go:build slow

package node

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/node/config"
)

// institute is a service of OpenID Connect at which carla signs in, each time in another session.
type institute struct {
	*httptest.Server
	key      ed25519.PrivateKey
	sessions int
	nonce    string
}

func newInstitute(t *testing.T) *institute {
	i := &institute{key: ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32)))}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any
		switch r.URL.Path {
		case "/token":
			i.sessions++
			answer = map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": i.sign(t, map[string]any{"nonce": i.nonce,
				"sid": fmt.Sprint("session ", i.sessions), "name": "Carla", "email": "carla@example.org", "realm_access": map[string]any{"roles": []string{"archivists"}}})}
		case "/keys":
			answer = map[string]any{"keys": []any{map[string]any{"kty": "OKP", "crv": "Ed25519", "kid": "k", "alg": "EdDSA",
				"x": base64.RawURLEncoding.EncodeToString(i.key.Public().(ed25519.PublicKey))}}}
		default:
			answer = map[string]any{"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
				"jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"EdDSA"}}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(i.Close)
	return i
}

// sign makes a token of the claims, about carla, for these pages.
func (i *institute) sign(t *testing.T, claims map[string]any) string {
	claims["iss"], claims["aud"], claims["sub"] = i.URL, "holdfast", "c"
	claims["iat"], claims["exp"] = time.Now().Unix(), time.Now().Add(time.Minute).Unix()
	text, err := json.Marshal(claims)
	if err != nil {
		t.Error(err)
	}
	part := base64.RawURLEncoding.EncodeToString
	signed := part([]byte(`{"alg":"EdDSA","kid":"k"}`)) + "." + part(text)
	return signed + "." + part(ed25519.Sign(i.key, []byte(signed)))
}

// signIn signs carla in at the node, by the service, and returns her cookie.
func (i *institute) signIn(t *testing.T, n running) string {
	t.Helper()
	var cookie string
	eventually(t, "she signs in at "+n.cfg.Name, func() error {
		answer, body := n.browse(t, http.MethodPost, "/sign-in/openid", "", url.Values{})
		_, to, found := strings.Cut(answer.Header.Get("Refresh"), "url=")
		at, err := url.Parse(to)
		if !found || err != nil {
			return fmt.Errorf("%d %s", answer.StatusCode, body)
		}
		i.nonce = at.Query().Get("nonce")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.cfg.Listen.API+"/sign-in/openid?"+
			url.Values{"state": {at.Query().Get("state")}, "code": {"x"}}.Encode(), nil)
		if err != nil {
			return err
		}
		_, port, err := net.SplitHostPort(n.cfg.Listen.API)
		if err != nil {
			return err
		}
		request.Host = "localhost:" + port
		for _, c := range answer.Cookies() {
			request.AddCookie(c)
		}
		back, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
		if err != nil {
			return err
		}
		defer func() { _ = back.Body.Close() }()
		for _, c := range back.Cookies() {
			if c.Name == "holdfast" && c.Value != "" {
				cookie = c.Value
				return nil
			}
		}
		return fmt.Errorf("status %d", back.StatusCode)
	})
	return cookie
}

// ends sends what the service says to the node, as a service does: without an Origin.
func (i *institute) ends(t *testing.T, n running, message string) int {
	t.Helper()
	_, port, err := net.SplitHostPort(n.cfg.Listen.API)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+n.cfg.Listen.API+"/sign-out/openid",
		strings.NewReader(url.Values{"logout_token": {message}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "localhost:" + port
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// What a service says has ended, to whichever node, ends on every node, once; and a node alone says that it cannot.
func TestALogoutHoldsOnEveryNode(t *testing.T) {
	t.Parallel()
	i := newInstitute(t)
	cfgs := threeConfigs(t, "")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := range cfgs {
		cfgs[n].OpenID = config.OpenID{Issuer: i.URL, Client: "holdfast", SecretFile: secret, Scopes: []string{"openid"},
			Claim: "realm_access.roles", Create: true, Groups: []config.GroupRule{{Group: "archivists", Role: "reader"}}}
	}
	nodes := startNodes(t, cfgs)
	north, south := nodes[0], nodes[1]
	north.person(t, "berta", catalog.Giving{Role: catalog.RoleAdmin})
	good := func(n running, cookie string) bool {
		answer, _ := n.browse(t, http.MethodGet, "/nodes?format=json", cookie, nil)
		return answer.StatusCode == http.StatusOK
	}
	first, second := i.signIn(t, north), i.signIn(t, north)
	for _, n := range nodes {
		eventually(t, "she is signed in at "+n.cfg.Name, func() error {
			if !good(n, first) || !good(n, second) {
				return fmt.Errorf("a session is not taken")
			}
			return nil
		})
	}
	event := map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}
	for name, spoilt := range map[string]map[string]any{"without an event": {"jti": "0", "sid": "session 1"},
		"with a nonce": {"jti": "0", "sid": "session 1", "events": event, "nonce": "n"}} {
		if status := i.ends(t, south, i.sign(t, spoilt)); status != http.StatusBadRequest || !good(north, first) {
			t.Errorf("%s: %d", name, status)
		}
	}
	one := i.sign(t, map[string]any{"jti": "1", "sid": "session 1", "events": event})
	if status := i.ends(t, south, one); status != http.StatusOK {
		t.Fatalf("one session: %d", status)
	}
	for _, n := range nodes {
		eventually(t, "the session has ended at "+n.cfg.Name, func() error {
			if good(n, first) || !good(n, second) {
				return fmt.Errorf("first %t, second %t", good(n, first), good(n, second))
			}
			return nil
		})
	}
	if status := i.ends(t, north, one); status != http.StatusBadRequest {
		t.Errorf("the same message again, at the other node: %d", status)
	}
	eventually(t, "all three vote", func() error {
		if voters := len(north.raft.Status().Voters); voters != 3 {
			return fmt.Errorf("%d do", voters)
		}
		return nil
	})
	for _, n := range nodes[1:] {
		n.halt(t)
	}
	all := i.sign(t, map[string]any{"jti": "2", "events": event})
	if status := i.ends(t, north, all); status != http.StatusBadRequest {
		t.Errorf("without a quorum: %d", status)
	}
	if good(north, second) {
		t.Error("without a quorum the session goes on where its end is known")
	}
	south = start(t, cfgs[1])
	for _, n := range []running{north, south} {
		eventually(t, "all sessions have ended at "+n.cfg.Name, func() error {
			if good(n, second) {
				return fmt.Errorf("the session is good")
			}
			return nil
		})
	}
}
