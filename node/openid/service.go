// Package openid asks a service of OpenID Connect who somebody is: the code flow, with PKCE, a state and a nonce. It
// knows nothing of the archive. What it learns is who the service says somebody is, in which groups; what that is worth
// is decided elsewhere.
//
// A sign-in that has begun is kept by the browser, sealed by this node, so that nobody can make this node remember
// much. It is good for ten minutes and once.
package openid

import (
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"
)

// What can go wrong, for whoever asks. The log says more, and has no secrets.
var (
	// ErrSilent says that the service does not answer, or not in time, or that what it answers cannot be used.
	ErrSilent = errors.New("the service for signing in does not answer")
	// ErrBegin says that no sign-in of this browser has begun here, or that it is over: it has to begin again.
	ErrBegin = errors.New("the sign-in did not begin here in this browser, took too long, or was used already")
	// ErrDeclined says that the service let nobody in.
	ErrDeclined = errors.New("the service for signing in declined")
	// ErrRefused says that what the service said is not proved to be about this sign-in.
	ErrRefused = errors.New("the answer of the service for signing in is refused")
	// ErrBusy says that too many sign in at the same time.
	ErrBusy = errors.New("too many sign in at the same time")
)

// Bounds of what the service may take, and of its answers.
const (
	patience   = 8 * time.Second // of one answer
	maxAnswer  = 1 << 20         // bytes
	maxHead    = 64 << 10
	freshness  = 15 * time.Minute // how long what the service says of itself, and its keys, are taken for true
	alive      = 5 * time.Second  // how long it is taken to be there, before a browser is sent to it
	silence    = 10 * time.Second // how long the service is not asked again that did not answer
	mentioned  = time.Minute      // how long the sign-in page says that it did not answer
	maxAtOnce  = 8                // sign-ins for which the service is asked at the same time
	maxSecret  = 4 << 10          // bytes of the client's secret
	maxGroups  = 1000             // that somebody is in
	maxPatient = 25 * time.Second // of all answers for one sign-in
)

// Config says which service is asked, in whose name.
type Config struct {
	Issuer     string
	Client     string
	SecretFile string
	Scopes     []string
	Groups     string        // the claim with the groups; empty: none is looked for
	GroupsPath []string      // where else to look: the name of a claim, then of members within it; may be empty
	Describe   bool          // name and e-mail address are wanted, too
	Redirect   func() string // where browsers come back to
	Now        func() time.Time
	Transport  http.RoundTripper // default: one of its own
	Log        *slog.Logger
}

// Service is one service of OpenID Connect. It is safe for concurrent use.
type Service struct {
	cfg   Config
	web   *http.Client
	flows cipher.AEAD
	used  used
	slots chan struct{}
	ends  chan struct{} // like slots, for messages of the service
	noise noise

	asking chan struct{} // has a place while nobody asks the service about itself
	known  *known        // only for who asks; nil: not asked yet
	failed moment        // when it last did not answer
}

// moment is a time that can be looked at while the service is being asked.
type moment struct {
	mu sync.Mutex
	at time.Time
}

func (m *moment) set(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = t
}

func (m *moment) within(now time.Time, d time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.at.IsZero() && now.Sub(m.at) < d
}

// known is what the service says of itself.
type known struct {
	provider *oidc.Provider
	keys     oidc.KeySet
	ends     oidc.KeySet // the same, for messages of the service: see seldom
	endpoint oauth2.Endpoint
	says     says
	at       time.Time
}

// says is what discovery says beside what the library looks at.
type says struct {
	JWKS     string   `json:"jwks_uri"`
	Methods  []string `json:"token_endpoint_auth_methods_supported"`
	Signs    []string `json:"id_token_signing_alg_values_supported"`
	NamesIss bool     `json:"authorization_response_iss_parameter_supported"`
	NamesSid bool     `json:"backchannel_logout_session_supported"`
}

// New returns the service. It is not asked before somebody signs in.
func New(cfg Config) *Service {
	if cfg.Transport == nil {
		cfg.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true,
			DialContext:         (&net.Dialer{Timeout: patience}).DialContext,
			TLSHandshakeTimeout: patience, MaxResponseHeaderBytes: maxHead, ForceAttemptHTTP2: true}
	}
	web := &http.Client{Transport: bounded{cfg.Transport}, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the sign-in service redirected, and redirects are not followed")
		}}
	return &Service{cfg: cfg, web: web, flows: newSeal(), slots: make(chan struct{}, maxAtOnce),
		ends: make(chan struct{}, maxAtOnce), noise: noise{Sometimes: rate.Sometimes{Interval: quiet}},
		asking: make(chan struct{}, 1)}
}

// Silent reports whether the service did not answer lately.
func (s *Service) Silent() bool { return s.failed.within(s.cfg.Now(), mentioned) }

// bounded cuts answers that are too long.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = &cut{answer.Body, maxAnswer}
	}
	return answer, err
}

type cut struct {
	io.ReadCloser
	left int
}

var errLong = errors.New("the answer is too long")

func (c *cut) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errLong
	}
	n, err := c.ReadCloser.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// ask returns what the service says of itself, not older than that. Who asks while it is being asked waits, for
// as long as one answer may take. ErrSilent: it does not say, or lately did not.
func (s *Service) ask(ctx context.Context, old time.Duration) (*known, error) {
	s.asking <- struct{}{}
	defer func() { <-s.asking }()
	now := s.cfg.Now()
	if s.known != nil && now.Sub(s.known.at) < old && !now.Before(s.known.at) {
		return s.known, nil
	}
	if s.failed.within(now, silence) {
		return nil, ErrSilent
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.WithoutCancel(ctx), s.web), patience)
	defer cancel()
	k, err := s.discover(ctx)
	if err != nil {
		s.fail("the service for signing in does not say what it is", err)
		return nil, ErrSilent
	}
	k.at = now
	s.known = k
	s.failed.set(time.Time{})
	return k, nil
}

// fail notes that the service does not answer.
func (s *Service) fail(what string, err error) {
	s.failed.set(s.cfg.Now())
	s.cfg.Log.Warn(what, "issuer", s.cfg.Issuer, "error", clip(err.Error()))
}

func (s *Service) discover(ctx context.Context) (*known, error) {
	provider, err := oidc.NewProvider(ctx, s.cfg.Issuer)
	if err != nil {
		return nil, err
	}
	k := &known{provider: provider, endpoint: provider.Endpoint()}
	if err := provider.Claims(&k.says); err != nil {
		return nil, fmt.Errorf("read what %s says of itself: %w", s.cfg.Issuer, err)
	}
	for _, at := range []string{k.endpoint.AuthURL, k.endpoint.TokenURL, k.says.JWKS} {
		if !s.safe(at) {
			return nil, fmt.Errorf("it names the address %q: want https", at)
		}
	}
	if at := provider.UserInfoEndpoint(); at != "" && !s.safe(at) {
		return nil, fmt.Errorf("it names the address %q: want https", at)
	}
	// Trying both ways, as the library would, uses the code up with the first.
	k.endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if len(k.says.Methods) > 0 && !slices.Contains(k.says.Methods, "client_secret_basic") {
		if !slices.Contains(k.says.Methods, "client_secret_post") {
			return nil, errors.New("it takes no client secret: want client_secret_basic or client_secret_post")
		}
		k.endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	k.says.Signs = slices.DeleteFunc(k.says.Signs, func(name string) bool {
		return !slices.Contains(signatures(), name)
	})
	if len(k.says.Signs) == 0 {
		return nil, errors.New("it signs ID tokens in no way that is taken")
	}
	k.keys = oidc.NewRemoteKeySet(ctx, k.says.JWKS)
	rarely := *s.web
	rarely.Transport = &seldom{RoundTripper: s.web.Transport, now: s.cfg.Now}
	k.ends = oidc.NewRemoteKeySet(oidc.ClientContext(ctx, &rarely), k.says.JWKS)
	return k, nil
}

// signatures are the ways to sign that are taken: by a key that the service alone has, never by the client's secret.
func signatures() []string {
	return []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384,
		oidc.ES512, oidc.EdDSA}
}

// safe reports whether nobody on the way can change what an address answers: https, or this machine if the issuer is
// on it.
func (s *Service) safe(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	if u.Scheme == "https" {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && strings.HasPrefix(s.cfg.Issuer, "http://") &&
		(u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// oauth is how the code is asked for and spent.
func (s *Service) oauth(k *known, secret string) *oauth2.Config {
	return &oauth2.Config{ClientID: s.cfg.Client, ClientSecret: secret, Endpoint: k.endpoint,
		RedirectURL: s.cfg.Redirect(), Scopes: s.cfg.Scopes}
}

// secret reads the client's secret.
func (s *Service) secret() (string, error) {
	f, err := os.Open(s.cfg.SecretFile)
	if err != nil {
		return "", fmt.Errorf("read the client's secret: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSecret))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("read the client's secret: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return "", fmt.Errorf("%s is empty: want the client's secret", s.cfg.SecretFile)
	}
	return secret, nil
}

// clip shortens what a service may have written.
func clip(text string) string {
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	return text
}
