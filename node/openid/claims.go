package openid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// maxSession bounds what the service calls its own session.
const maxSession = 1000

// claims are what the service says of somebody, by their names.
type claims map[string]json.RawMessage

// read returns what is wanted of what the service says. What the ID token does not say, the service is asked for: many
// give groups and addresses there alone. A service that does not answer then is no service that says "no groups".
func (s *Service) read(ctx context.Context, k *known, id *oidc.IDToken, token *oauth2.Token) (Answer, error) {
	said := claims{}
	if err := id.Claims(&said); err != nil {
		return Answer{}, s.refuse("the ID token cannot be read", nil)
	}
	groups, missing, err := s.groups(said)
	if err != nil {
		return Answer{}, s.refuse("the groups cannot be read", err)
	}
	var wanted []string
	if s.cfg.Describe {
		wanted = append(wanted, "name", "email")
	}
	lacks := func(name string) bool { _, there := said[name]; return !there }
	if k.provider.UserInfoEndpoint() != "" && (missing != "" || slices.ContainsFunc(wanted, lacks)) {
		info, err := k.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			s.fail("the sign-in service did not answer the request for user information", errors.New(withoutURL(err)))
			return Answer{}, ErrSilent
		}
		more := claims{}
		if info.Subject != id.Subject || info.Claims(&more) != nil {
			return Answer{}, s.refuse("what the service says more is about somebody else", nil)
		}
		if missing != "" {
			var there string
			if groups, there, err = s.groups(more); err != nil {
				return Answer{}, s.refuse("the groups cannot be read", err)
			}
			missing = both(missing, there)
		}
		for name, value := range more {
			if lacks(name) {
				said[name] = value
			}
		}
	}
	if missing != "" {
		s.cfg.Log.Info("the service for signing in says no groups", "issuer", s.cfg.Issuer, "missing", missing)
	}
	if slices.ContainsFunc(wanted, lacks) {
		s.cfg.Log.Info("the service for signing in does not say all that is wanted", "issuer", s.cfg.Issuer,
			"wanted", wanted)
	}
	out := Answer{Issuer: id.Issuer, Subject: id.Subject, Groups: groups, Session: session(id),
		Made: id.IssuedAt}
	if out.Session == "" && k.says.NamesSid {
		s.cfg.Log.Warn("the service says that it ends single sessions, and does not say which one has begun "+
			"(claim sid): a message that names a session alone will end nothing", "issuer", s.cfg.Issuer)
	}
	if s.cfg.Describe {
		out.Name, out.Mail = said.text("name"), said.text("email")
		verified := said.text("email_verified")
		var is bool
		if raw, there := said["email_verified"]; there && verified != "true" {
			out.MailDoubtful = json.Unmarshal(raw, &is) != nil || !is
		}
	}
	return out, nil
}

// text returns a claim that is a text, empty if it is none.
func (c claims) text(name string) (out string) {
	if json.Unmarshal(c[name], &out) != nil {
		return ""
	}
	return out
}

// both says what is missing in the ID token and at the userinfo address, empty if the latter has it.
func both(token, info string) string {
	if info == "" || info == token {
		return info
	}
	return "ID token: " + token + "; userinfo: " + info
}

// session returns what the service calls its own session: a claim that others than it may use for something else, so
// that anything odd is none.
func session(id *oidc.IDToken) string {
	said := claims{}
	if id.Claims(&said) != nil {
		return ""
	}
	name := said.text("sid")
	if len(name) > maxSession {
		return ""
	}
	return name
}

// groups returns the groups among the claims. missing says which part of the claim is not there; then there are none.
func (s *Service) groups(said claims) (groups []string, missing string, err error) {
	if s.cfg.Groups == "" {
		return nil, "", nil
	}
	raw, missing, err := said.at(s.cfg.Groups, s.cfg.GroupsPath)
	if err != nil || missing != "" {
		return nil, missing, err
	}
	groups, err = list(s.cfg.Groups, raw)
	return groups, "", err
}

// at returns the claim of that name, or what lies at the path. missing names the first step that is not there, or is
// null.
func (c claims) at(name string, path []string) (raw json.RawMessage, missing string, err error) {
	if raw, there := c[name]; there || len(path) < 2 {
		if isNull(raw) {
			missing = "there is no claim " + name
		}
		return raw, missing, nil
	}
	inner := c
	for i, step := range path {
		raw = inner[step]
		if isNull(raw) {
			missing = "there is no claim " + step
			if i > 0 {
				missing = fmt.Sprintf("the claim %s has no member %s", strings.Join(path[:i], "."), step)
			}
			return nil, missing, nil
		}
		if i == len(path)-1 {
			break
		}
		inner = claims{}
		if json.Unmarshal(raw, &inner) != nil {
			return nil, "", fmt.Errorf("the claim %s is no object: it cannot have a member %s",
				strings.Join(path[:i+1], "."), path[i+1])
		}
	}
	return raw, "", nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// list reads a claim that is a list of texts, or one text.
func list(name string, raw json.RawMessage) (out []string, err error) {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}, nil
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("the claim %s is no list of texts", name)
	}
	if len(out) > maxGroups {
		return nil, fmt.Errorf("%d groups: at most %d are read", len(out), maxGroups)
	}
	return out, nil
}
