package openid

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
)

// notary is a service of OpenID Connect without a socket, which signs whatever it is given.
type notary struct {
	key       ed25519.PrivateKey
	discovery string
}

const notaryIssuer = "https://login.example.org"

func newNotary() *notary {
	return &notary{key: ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32))), discovery: `{"issuer":"` + notaryIssuer + `",
		"authorization_endpoint":"https://login.example.org/authorize","token_endpoint":"https://login.example.org/token",
		"jwks_uri":"https://login.example.org/keys","id_token_signing_alg_values_supported":["EdDSA"]}`}
}

func (n *notary) RoundTrip(r *http.Request) (*http.Response, error) {
	body := n.discovery
	if r.URL.Path == "/keys" {
		body = `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","alg":"EdDSA","use":"sig","x":"` +
			coding.EncodeToString(n.key.Public().(ed25519.PublicKey)) + `"}]}`
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func (n *notary) sign(head, payload string) string {
	text := coding.EncodeToString([]byte(head)) + "." + coding.EncodeToString([]byte(payload))
	return text + "." + coding.EncodeToString(ed25519.Sign(n.key, []byte(text)))
}

// at is when all of it happens.
func at() time.Time { return time.Unix(1_800_000_000, 0) }

func (n *notary) service() *Service {
	return New(Config{Issuer: notaryIssuer, Client: "holdfast", Groups: "a.b", GroupsPath: []string{"a", "b"},
		Redirect: func() string { return "https://a.example/sign-in/openid" }, Now: at, Transport: n, Log: slog.New(slog.DiscardHandler)})
}

// FuzzMessage signs whatever a service may say as a message: what is taken says what the specification demands.
func FuzzMessage(f *testing.F) {
	const good = `{"iss":"https://login.example.org","aud":"holdfast","iat":1800000000,"exp":1800000100,"jti":"j","sub":"s","sid":"i",` +
		`"events":{"http://schemas.openid.net/event/backchannel-logout":{}}}`
	f.Add(`{"alg":"EdDSA","kid":"k","typ":"logout+jwt"}`, good)
	f.Add(`{"alg":"EdDSA"}`, strings.Replace(good, `"sid":"i",`, "", 1))
	f.Add(`{"alg":"EdDSA","typ":"at+jwt"}`, good)
	f.Add(`{"alg":"none"}`, good)
	f.Add(`{"alg":"EdDSA","crit":["b64"],"b64":false}`, good)
	for old, fresh := range map[string]string{"{}}": "null}", `"jti"`: `"nonce":1,"jti"`, "1800000000": "1e99", "1800000100": "-1", `"holdfast"`: `["holdfast"]`,
		`"s"`: `""`, `"i"`: "[]"} {
		f.Add(`{"alg":"EdDSA","kid":"k"}`, strings.Replace(good, old, fresh, 1))
	}
	f.Fuzz(func(t *testing.T, head, payload string) {
		n := newNotary()
		got, err := n.service().Logout(t.Context(), n.sign(head, payload))
		if err != nil {
			if got != (Logout{}) || !errors.Is(err, ErrRefused) {
				t.Errorf("%+v %v", got, err)
			}
			return
		}
		var said struct {
			Nonce  json.RawMessage            `json:"nonce"`
			Events map[string]json.RawMessage `json:"events"`
		}
		if json.Unmarshal([]byte(payload), &said) != nil || said.Nonce != nil || !strings.HasPrefix(strings.TrimSpace(string(said.Events[logoutEvent])), "{") {
			t.Errorf("taken: %s", payload)
		}
		if got.Issuer != notaryIssuer || got.Message == "" || got.Subject == "" && got.Session == "" || !got.Until.After(at()) ||
			got.Until.After(at().Add(ahead+longest)) {
			t.Errorf("%s is taken as %+v", payload, got)
		}
		if strings.Contains(head, "none") && !strings.Contains(head, "EdDSA") {
			t.Errorf("taken with the head %s", head)
		}
	})
}

// FuzzText gives it whatever anybody can send: without the service's key nothing is taken.
func FuzzText(f *testing.F) {
	n := newNotary()
	stranger := &notary{key: ed25519.NewKeyFromSeed([]byte(strings.Repeat("x", 32)))}
	const payload = `{"iss":"https://login.example.org","aud":"holdfast","iat":1800000000,"exp":1800000100,"jti":"j","sub":"s",` +
		`"events":{"http://schemas.openid.net/event/backchannel-logout":{}}}`
	for _, seed := range []string{"", ".", "..", "a.b.c", stranger.sign(`{"alg":"EdDSA","kid":"k"}`, payload), stranger.sign(`{"alg":"none"}`, payload),
		`{"payload":"e30","signatures":[]}`, strings.Repeat(".", 1000)} {
		f.Add(seed)
	}
	s := n.service()
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := s.Logout(t.Context(), text); err == nil || got != (Logout{}) {
			t.Errorf("taken: %+v", got)
		}
	})
}

// FuzzIDToken signs whatever a service may say of somebody who signs in: who is let in is who it says, in this sign-in,
// and her groups are texts that it says.
func FuzzIDToken(f *testing.F) {
	const good = `{"iss":"https://login.example.org","aud":"holdfast","exp":1800000100,"nonce":"n","sub":"s","sid":"i","a":{"b":["g","h"]}}`
	f.Add(good)
	for old, fresh := range map[string]string{`["g","h"]`: `"g"`, `{"b":["g","h"]}`: "[]", `"a":`: `"a.b":`, `"n"`: `""`, `"s"`: "7", "1800000100": "1.8e9",
		`"holdfast"`: `["holdfast","x"]`, `"sid"`: `"_claim_names":{"a":"x"},"sid"`, `["g","h"]}`: `[["g"],null,{}]}`} {
		f.Add(strings.Replace(good, old, fresh, 1))
	}
	f.Fuzz(func(t *testing.T, payload string) {
		n := newNotary()
		s := n.service()
		k, err := s.ask(t.Context(), freshness)
		if err != nil {
			t.Fatal(err)
		}
		token := (&oauth2.Token{AccessToken: "a"}).WithExtra(map[string]any{"id_token": n.sign(`{"alg":"EdDSA","kid":"k"}`, payload)})
		id, err := s.proved(t.Context(), k, flow{Nonce: "n"}, token)
		if err != nil {
			return
		}
		got, err := s.read(t.Context(), k, id, token)
		if err != nil {
			if got.Subject != "" || len(got.Groups) > 0 {
				t.Errorf("%v with %v", got, err)
			}
			return
		}
		if got.Issuer != notaryIssuer || got.Subject == "" || len(got.Groups) > maxGroups || len(got.Session) > maxSession {
			t.Errorf("%s is taken as %+v", payload, got)
		}
		for _, group := range got.Groups {
			if text, err := json.Marshal(group); err != nil || !strings.Contains(payload, group) && !strings.ContainsAny(payload, `\`) &&
				strings.ToValidUTF8(payload, "") == payload {
				t.Errorf("%s is no group of %s", text, payload)
			}
		}
	})
}

// FuzzClaims looks for groups in whatever claims: they are there, or it is said what is missing, or why they cannot be
// read.
func FuzzClaims(f *testing.F) {
	for _, seed := range []string{`{"a":{"b":["g"]}}`, `{"a.b":"g"}`, `{"a":null}`, `{"a":{"b":null}}`, `{"a":{"B":[]}}`, `{"a":[{"b":"g"}]}`, `{"a":{"b":{"c":1}}}`} {
		f.Add(seed, "a\x00b")
	}
	f.Add(`{"":{"":""}}`, "\x00")
	f.Fuzz(func(t *testing.T, text, path string) {
		said := claims{}
		if json.Unmarshal([]byte(text), &said) != nil {
			return
		}
		steps := strings.Split(path, "\x00")
		s := &Service{cfg: Config{Groups: strings.Join(steps, "."), GroupsPath: steps}}
		groups, missing, err := s.groups(said)
		if s.cfg.Groups == "" {
			return
		}
		if (missing != "" || err != nil) && len(groups) > 0 || missing != "" && err != nil {
			t.Errorf("%q %q %v", groups, missing, err)
		}
		if missing == "" && err == nil && !slices.ContainsFunc(steps, func(step string) bool { return strings.Contains(text, step) }) &&
			!strings.Contains(text, `\`) && strings.ToValidUTF8(path, "") == path {
			t.Errorf("%q has %q, and nothing is missing", text, path)
		}
	})
}

// FuzzDiscovery has the service say whatever it likes of itself: what is taken is this issuer, at addresses that nobody
// on the way can answer for, with signatures that it alone can make.
func FuzzDiscovery(f *testing.F) {
	good := newNotary().discovery
	f.Add(good)
	for old, fresh := range map[string]string{"https://login.example.org/token": "http://login.example.org/token", "https://login.example.org/keys": "file:///etc/passwd",
		"EdDSA": "HS256", `"issuer":"https`: `"issuer":"http`, `/authorize"`: `/authorize","userinfo_endpoint":"https://u:p@x/"`, `["EdDSA"]`: "{}",
		`"jwks_uri"`: `"token_endpoint_auth_methods_supported":["private_key_jwt"],"jwks_uri"`} {
		f.Add(strings.Replace(good, old, fresh, 1))
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := newNotary()
		n.discovery = text
		k, err := n.service().ask(context.Background(), alive)
		if err != nil {
			if !errors.Is(err, ErrSilent) || k != nil {
				t.Errorf("%v %v", k, err)
			}
			return
		}
		for _, address := range []string{k.endpoint.AuthURL, k.endpoint.TokenURL, k.says.JWKS} {
			if !strings.HasPrefix(strings.ToLower(address), "https://") {
				t.Errorf("%s is taken: %q", text, address)
			}
		}
		if len(k.says.Signs) == 0 || slices.ContainsFunc(k.says.Signs, func(name string) bool { return strings.HasPrefix(name, "HS") || name == "none" }) {
			t.Errorf("%s is taken: signed by %v", text, k.says.Signs)
		}
	})
}
