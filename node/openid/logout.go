package openid

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/time/rate"
)

// Bounds of the messages of the service.
const (
	maxMessage = 16 << 10         // bytes of one
	maxNames   = 1000             // bytes of the id of a message
	ahead      = 5 * time.Minute  // how much later than here a message may be from: clocks differ
	longest    = 24 * time.Hour   // how long a message is taken after it was made, whatever it says
	rarely     = 10 * time.Second // how often a key is looked for that is not known
	quiet      = 10 * time.Second // how often the log says that messages are refused
)

// logoutEvent names what a message of the service is about (OpenID Connect Back-Channel Logout 1.0, section 2.4).
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// Logout is what the service says has ended: its session, or, if it names none, all of the subject's.
type Logout struct {
	Issuer, Subject, Session string    // subject or session may be empty
	Message                  string    // the service's id of the message
	Made                     time.Time // by the service's clock
	Until                    time.Time // from then on the message is not taken any more
}

// Logout returns what a message of the service says, if it is proved to be this service's, for this client, and good
// now. Whether it came before, it does not say. Anybody can send a message: the service is asked for keys that are not
// known at most once in ten seconds, and the log says as rarely why messages are refused.
func (s *Service) Logout(ctx context.Context, text string) (Logout, error) {
	if text == "" || len(text) > maxMessage {
		return Logout{}, s.refuseLogout("the message is empty, or too long", nil)
	}
	select {
	case s.ends <- struct{}{}:
		defer func() { <-s.ends }()
	default:
		return Logout{}, ErrBusy
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxPatient)
	defer cancel()
	k, err := s.ask(ctx, freshness)
	if err != nil {
		return Logout{}, err
	}
	keys := &noted{KeySet: k.ends}
	token, err := oidc.NewVerifier(s.cfg.Issuer, keys, &oidc.Config{ClientID: s.cfg.Client,
		SupportedSigningAlgs: k.says.Signs, Now: s.cfg.Now}).VerifyLogout(ctx, text)
	switch {
	case err != nil && keys.failed != nil && !errors.Is(keys.failed, errSeldom):
		s.fail("the service for signing in does not give its keys", keys.failed)
		return Logout{}, ErrSilent
	case err != nil:
		return Logout{}, s.refuseLogout("the message is not good", err)
	}
	if why := s.doubts(text, token); why != "" {
		return Logout{}, s.refuseLogout(why, nil)
	}
	return Logout{Issuer: token.Issuer, Subject: token.Subject, Session: token.SessionID, Message: token.TokenID,
		Made: token.IssuedAt, Until: lapses(token)}, nil
}

// lapses is when a message is not taken any more.
func lapses(token *oidc.LogoutToken) time.Time {
	if most := token.IssuedAt.Add(longest); most.Before(token.Expiry) {
		return most
	}
	return token.Expiry
}

// doubts says what is wrong with a message whose signature, issuer, audience and end are right; empty: nothing.
func (s *Service) doubts(text string, token *oidc.LogoutToken) string {
	var more struct {
		Party  string                     `json:"azp"`
		Events map[string]json.RawMessage `json:"events"`
	}
	var event map[string]json.RawMessage
	now := s.cfg.Now()
	switch {
	case !isLogout(text):
		return "the type of the message (typ) is that of another thing"
	case token.Claims(&more) != nil:
		return "the message cannot be read"
	case json.Unmarshal(more.Events[logoutEvent], &event) != nil || event == nil:
		return "the message does not say that something has ended: its event is no object"
	case more.Party != "" && more.Party != s.cfg.Client:
		return "the message is for another party"
	case token.IssuedAt.IsZero():
		return "the message does not say when it was made"
	case token.IssuedAt.After(now.Add(ahead)):
		return "the message is from the future"
	case !now.Before(lapses(token)):
		return "the message is too old"
	case len(token.Subject) > maxNames || len(token.SessionID) > maxSession || len(token.TokenID) > maxNames:
		return "the message has names that are too long"
	}
	return ""
}

// isLogout reports whether a message is of the type that the specification recommends, or of none in particular. So no
// other token that the service signs for this client is taken for one.
func isLogout(text string) bool {
	head, _, _ := strings.Cut(text, ".")
	plain, err := coding.DecodeString(head)
	var h struct {
		Type string `json:"typ"`
	}
	if err != nil || json.Unmarshal(plain, &h) != nil {
		return false
	}
	name := strings.TrimPrefix(strings.ToLower(h.Type), "application/")
	return slices.Contains([]string{"", "jwt", "logout+jwt"}, name)
}

// noise lets the log say now and then that messages are refused, and how many were since.
type noise struct {
	rate.Sometimes
	mu      sync.Mutex
	refused int
}

func (n *noise) count(add int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if add == 0 {
		defer func() { n.refused = 0 }()
	}
	n.refused += add
	return n.refused
}

// refuseLogout logs why a message is refused. What is logged has no token in it.
func (s *Service) refuseLogout(why string, err error) error {
	s.noise.count(1)
	s.noise.Do(func() {
		detail := ""
		if err != nil {
			detail = clip(err.Error())
		}
		s.cfg.Log.Warn("a message that somebody has signed out at the institution is refused", "issuer", s.cfg.Issuer,
			"why", why, "detail", detail, "refused", s.noise.count(0))
	})
	return ErrRefused
}

var errSeldom = errors.New("its key is not known, and the keys were fetched just now")

// seldom lets a request through once in a while: whoever sends messages with keys that nobody knows must not make this
// node ask the service each time.
type seldom struct {
	http.RoundTripper
	now func() time.Time
	at  moment
}

func (s *seldom) RoundTrip(r *http.Request) (*http.Response, error) {
	now := s.now()
	if s.at.within(now, rarely) {
		return nil, errSeldom
	}
	s.at.set(now)
	return s.RoundTripper.RoundTrip(r)
}
