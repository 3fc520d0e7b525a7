package openid

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// signOut is a message of the issuer, changed.
func (i *issuer) signOut(change func(head, claims map[string]any)) string {
	now := time.Now()
	head := map[string]any{"alg": "RS256", "kid": i.kid, "typ": "logout+jwt"}
	claims := map[string]any{"iss": i.URL, "sub": "anna|1", "sid": "s1", "aud": "holdfast", "jti": "m1", "iat": now.Unix(),
		"exp": now.Add(2 * time.Minute).Unix(), "events": map[string]any{logoutEvent: map[string]any{}}}
	if change != nil {
		change(head, claims)
	}
	return i.jwt(head, claims)
}

// A message that is as the specification says is taken, in all forms that it allows.
func TestMessagesOfTheService(t *testing.T) {
	i := newIssuer(t)
	d := newDesk(t, i, nil)
	end := time.Now().Add(2 * time.Minute).Truncate(time.Second)
	for name, tt := range map[string]struct {
		change           func(head, claims map[string]any)
		subject, session string
	}{
		"subject and session": {nil, "anna|1", "s1"},
		"subject alone":       {func(_, c map[string]any) { delete(c, "sid") }, "anna|1", ""},
		"session alone":       {func(_, c map[string]any) { delete(c, "sub") }, "", "s1"},
		"no type":             {func(h, _ map[string]any) { delete(h, "typ") }, "anna|1", "s1"},
		"the old type":        {func(h, _ map[string]any) { h["typ"] = "JWT" }, "anna|1", "s1"},
		"the type in full":    {func(h, _ map[string]any) { h["typ"] = "application/logout+jwt" }, "anna|1", "s1"},
		"several audiences":   {func(_, c map[string]any) { c["aud"] = []string{"other", "holdfast"} }, "anna|1", "s1"},
		"more claims":         {func(_, c map[string]any) { c["trace_id"] = map[string]any{"a": 1} }, "anna|1", "s1"},
		"more in the event":   {func(_, c map[string]any) { c["events"] = map[string]any{logoutEvent: map[string]any{"a": 1}, "x": 1} }, "anna|1", "s1"},
	} {
		got, err := d.Logout(t.Context(), i.signOut(tt.change))
		if err != nil || got.Issuer != i.URL || got.Subject != tt.subject || got.Session != tt.session || got.Message != "m1" ||
			got.Until.Before(end) || got.Until.After(end.Add(time.Minute)) {
			t.Errorf("%s: %+v %v; %s", name, got, err, d.log)
		}
	}
	if i.userinfo != 0 || i.tokens != 0 {
		t.Error("the service is asked for more")
	}
}

// What is not proved to be a message of this service, to this client, of now, ends nothing.
func TestLyingMessages(t *testing.T) {
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	claim := func(name string, value any) func(*issuer) string {
		return func(i *issuer) string { return i.signOut(func(_, c map[string]any) { c[name] = value }) }
	}
	without := func(name string) func(*issuer) string {
		return func(i *issuer) string { return i.signOut(func(_, c map[string]any) { delete(c, name) }) }
	}
	for name, lie := range map[string]func(*issuer) string{
		"empty":                 func(*issuer) string { return "" },
		"endless":               func(*issuer) string { return strings.Repeat("eyJ", maxMessage) },
		"no JWT":                func(*issuer) string { return "SECRET" },
		"two parts":             func(i *issuer) string { return i.signOut(nil)[:40] },
		"another issuer":        claim("iss", "https://accounts.example"),
		"no issuer":             without("iss"),
		"another audience":      claim("aud", "other"),
		"no audience":           without("aud"),
		"another party":         claim("azp", "other"),
		"a nonce":               claim("nonce", "n"),
		"a nonce that is null":  claim("nonce", nil),
		"no event":              without("events"),
		"another event":         claim("events", map[string]any{"http://schemas.openid.net/event/other": map[string]any{}}),
		"an event that is null": claim("events", map[string]any{logoutEvent: nil}),
		"an event that is text": claim("events", map[string]any{logoutEvent: "yes"}),
		"an event that is true": claim("events", map[string]any{logoutEvent: true}),
		"events in a list":      claim("events", []string{logoutEvent}),
		"neither sub nor sid": func(i *issuer) string {
			return i.signOut(func(_, c map[string]any) { delete(c, "sub"); delete(c, "sid") })
		},
		"both empty":            func(i *issuer) string { return i.signOut(func(_, c map[string]any) { c["sub"], c["sid"] = "", "" }) },
		"a session by number":   claim("sid", 7),
		"a session without end": claim("sid", strings.Repeat("s", maxSession+1)),
		"a subject without end": claim("sub", strings.Repeat("s", maxNames+1)),
		"no id":                 without("jti"),
		"an empty id":           claim("jti", ""),
		"an id without end":     claim("jti", strings.Repeat("j", maxNames+1)),
		"no end":                without("exp"),
		"expired":               claim("exp", time.Now().Add(-time.Second).Unix()),
		"no time":               without("iat"),
		"from the future":       claim("iat", time.Now().Add(10*time.Minute).Unix()),
		"from two days ago":     claim("iat", time.Now().Add(-48*time.Hour).Unix()),
		"an access token":       func(i *issuer) string { return i.signOut(func(h, _ map[string]any) { h["typ"] = "at+jwt" }) },
		"an ID token": func(i *issuer) string {
			return i.signOut(func(h, c map[string]any) { h["typ"] = "JWT"; c["nonce"] = "n"; delete(c, "events"); delete(c, "jti") })
		},
		"unsigned": func(i *issuer) string {
			i.sign = func(string) []byte { return nil }
			return i.signOut(func(h, _ map[string]any) { h["alg"] = "none" })
		},
		"signed with the secret": func(i *issuer) string {
			i.sign = func(text string) []byte {
				m := hmac.New(sha256.New, []byte("s3cret"))
				m.Write([]byte(text))
				return m.Sum(nil)
			}
			return i.signOut(func(h, _ map[string]any) { h["alg"] = "HS256" })
		},
		"another's key": func(i *issuer) string {
			mine := i.key
			i.key = other
			defer func() { i.key = mine }()
			return i.signOut(nil)
		},
		"a key that is not there": func(i *issuer) string { return i.signOut(func(h, _ map[string]any) { h["kid"] = "k9" }) },
		"a key that it brings": func(i *issuer) string {
			mine := i.key
			i.key = other
			defer func() { i.key = mine }()
			return i.signOut(func(h, _ map[string]any) {
				delete(h, "kid")
				h["jwk"] = map[string]any{"kty": "RSA", "n": coding.EncodeToString(other.N.Bytes()), "e": "AQAB"}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			d := newDesk(t, i, nil)
			text := lie(i)
			i.sign = nil
			if got, err := d.Logout(t.Context(), text); !errors.Is(err, ErrRefused) || got != (Logout{}) {
				t.Errorf("%+v %v, want it refused", got, err)
			}
			if !strings.Contains(d.log.String(), "is refused") {
				t.Errorf("the log does not say why: %s", d.log)
			}
			if _, err := d.Logout(t.Context(), i.signOut(nil)); err != nil {
				t.Errorf("the next message: %v; %s", err, d.log)
			}
		})
	}
}

// Whoever sends messages without end makes this node neither ask the service nor write its log each time, and a
// message of a key that is new is taken soon.
func TestFloodsOfMessages(t *testing.T) {
	i := newIssuer(t)
	d := newDesk(t, i, nil)
	asked := 0
	i.answer = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/keys" {
			asked++
		}
		return false
	}
	if _, err := d.Logout(t.Context(), i.signOut(nil)); err != nil {
		t.Fatal(err)
	}
	forged := i.signOut(func(h, _ map[string]any) { h["kid"] = "forged" })
	for range 50 {
		if _, err := d.Logout(t.Context(), forged); !errors.Is(err, ErrRefused) {
			t.Fatal(err)
		}
	}
	if asked > 2 || strings.Count(d.log.String(), "is refused") > 2 {
		t.Errorf("the service was asked %d times; %s", asked, d.log)
	}
	if d.Silent() {
		t.Error("the service is said to be silent")
	}
	i.rotate("k2")
	d.pass(rarely)
	if _, err := d.Logout(t.Context(), i.signOut(nil)); err != nil {
		t.Errorf("a new key: %v; %s", err, d.log)
	}
	if _, err := d.signIn(); err != nil {
		t.Errorf("nobody can sign in meanwhile: %v", err)
	}
}

// A service that does not give its keys is no service that has ended nothing.
func TestMessagesWithoutTheService(t *testing.T) {
	i := newIssuer(t)
	d := newDesk(t, i, nil)
	text := i.signOut(nil)
	i.answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/keys" {
			http.Error(w, "broken", http.StatusBadGateway)
			return true
		}
		return false
	}
	if got, err := d.Logout(t.Context(), text); err == nil || got != (Logout{}) {
		t.Errorf("%+v %v", got, err)
	}
	i.answer, i.gone = nil, true
	d = newDesk(t, i, nil)
	if got, err := d.Logout(t.Context(), text); !errors.Is(err, ErrSilent) || got != (Logout{}) {
		t.Errorf("%+v %v", got, err)
	}
	for range maxAtOnce {
		d.ends <- struct{}{}
	}
	if _, err := d.Logout(t.Context(), text); !errors.Is(err, ErrBusy) {
		t.Errorf("one more at once: %v", err)
	}
}

// What a sign-in says of the service's own session is kept, and nothing that cannot be one.
func TestSessionsOfTheService(t *testing.T) {
	for want, sid := range map[string]any{"s1": "s1", "": nil, " ": " ", "none of these": nil} {
		i := newIssuer(t)
		i.claim = func(c map[string]any) { c["sid"] = sid }
		if want == "none of these" {
			i.claim, want = func(c map[string]any) { c["sid"] = []int{1} }, ""
		}
		if got, err := newDesk(t, i, nil).signIn(); err != nil || got.Session != want {
			t.Errorf("%v: %q %v, want %q", sid, got.Session, err, want)
		}
	}
	i := newIssuer(t)
	i.discovery = func(doc map[string]any) { doc["backchannel_logout_session_supported"] = true }
	d := newDesk(t, i, nil)
	if got, err := d.signIn(); err != nil || got.Session != "" || !strings.Contains(d.log.String(), "sid") {
		t.Errorf("%v %v: %s", got, err, d.log)
	}
}
