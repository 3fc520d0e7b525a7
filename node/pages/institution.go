package pages

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/people"
	"holdfast/node/config"
	"holdfast/node/openid"
	"holdfast/node/session"
	"holdfast/web"
)

// agreeing is how long the service waits at most until the end of sessions is agreed.
const agreeing = 10 * time.Second

// institution lets people sign in with the account of their institution.
type institution struct {
	config.OpenID
	place    string
	service  *openid.Service
	sessions *session.Sessions
	log      *slog.Logger
}

// institutionOf returns where people sign in with an account, nil if the settings name no service.
func institutionOf(of Config) (*institution, error) {
	c := of.OpenID
	if c.Issuer == "" {
		return nil, nil
	}
	log := of.Log.With("room", "openid")
	if groups := c.Administrators(); len(groups) > 0 {
		log.Warn("groups make administrators of the archive: whoever keeps them at the issuer decides who may do all",
			"issuer", c.Issuer, "groups", groups)
	}
	var claim string
	var path []string
	if len(c.Groups) > 0 {
		var err error
		if path, err = config.ClaimPath(c.Claim); err != nil {
			return nil, err
		}
		claim = c.Claim
	}
	service := openid.New(openid.Config{Issuer: c.Issuer, Client: c.Client, SecretFile: c.SecretFile, Scopes: c.Scopes,
		Groups: claim, GroupsPath: path, Describe: c.Create, Now: time.Now, Log: log,
		Redirect: func() string { return of.Origins.Pages.String() + "/sign-in/openid" }})
	return &institution{c, of.Place, service, of.Sessions, log}, nil
}

// Name is what people call the service.
func (i *institution) Name() string { return i.Shown() }

// Silent reports whether the service did not answer lately.
func (i *institution) Silent() bool { return i.service.Silent() }

// Begin returns where somebody signs in.
func (i *institution) Begin(ctx context.Context, next, invitation string) (url, kept string, err error) {
	url, kept, err = i.service.Begin(ctx, next, invitation)
	return url, kept, shownAs(err)
}

// Finish begins a session of who came back.
func (i *institution) Finish(ctx context.Context, kept []string, query url.Values) (web.Session, string, error) {
	answer, begun, err := i.service.Finish(ctx, kept, query)
	if err != nil {
		return web.Session{}, begun.Next, shownAs(err)
	}
	s, err := visitor(i.sessions.Identified(ctx, i.proof(answer), begun.Invitation))
	return s, begun.Next, shownAs(err)
}

// proof is what the answer of the service is worth here.
func (i *institution) proof(answer openid.Answer) session.Proof {
	p := session.Proof{Issuer: answer.Issuer, Subject: answer.Subject, Session: answer.Session,
		Made: answer.Made}
	for _, rule := range i.Groups {
		g := people.GroupGrant{Role: catalog.Role(rule.Role), Collection: catalog.CollectionName(rule.Collection),
			Place: rule.Place}
		if slices.Contains(answer.Groups, rule.Group) && !slices.Contains(p.Grants, g) {
			p.Grants = append(p.Grants, g)
		}
	}
	if i.Create {
		p.Newcomer = &catalog.Person{ID: catalog.PersonID(api.NewToken().ID), Name: answer.Name, Mail: answer.Mail,
			Institution: i.place}
		if answer.MailDoubtful { // anybody may have typed it
			p.Newcomer.Mail = ""
		}
	}
	return p
}

// SignOut ends the sessions of which a message of the service says that they have ended there.
func (i *institution) SignOut(ctx context.Context, message string) error {
	said, err := i.service.Logout(ctx, message)
	if err != nil {
		return shownAs(err)
	}
	// The service may go away; what it said holds all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), agreeing)
	defer cancel()
	err = i.sessions.EndAtService(ctx, session.Logout(said))
	switch {
	case err == nil:
		i.log.Info("the service for signing in has ended sessions", "issuer", said.Issuer, "one", said.Session != "")
	case errors.Is(err, session.ErrRepeated), errors.Is(err, session.ErrLapsed):
		i.log.Info("a message of the service for signing in ends nothing", "issuer", said.Issuer, "error", err)
	default:
		i.log.Warn("the end of sessions at the institution is not agreed", "issuer", said.Issuer, "error", err)
	}
	return shownAs(err)
}

// shownAs is the error as the pages know it.
func shownAs(err error) error {
	for is, as := range map[error]error{openid.ErrSilent: web.ErrSilent, openid.ErrBegin: web.ErrBegin,
		openid.ErrDeclined: web.ErrDeclined, openid.ErrRefused: web.ErrRefused, openid.ErrBusy: web.ErrSlow,
		session.ErrStranger: web.ErrStranger, session.ErrTaken: web.ErrTaken, session.ErrUnnamed: web.ErrUnnamed,
		session.ErrOver:     web.ErrBegin,
		session.ErrRepeated: web.ErrRefused, session.ErrLapsed: web.ErrRefused} {
		if errors.Is(err, is) {
			return as
		}
	}
	return err
}
