package openid

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// maxCode bounds the code that the service sends by the browser.
const maxCode = 4 << 10

// Answer is who the service says somebody is.
type Answer struct {
	Issuer, Subject string    // the identity
	Name, Mail      string    // as the service has them; may be empty, and are no identity
	MailDoubtful    bool      // the service says that it has not verified the address
	Groups          []string  // none without a claim
	Session         string    // what the service calls its own session; empty: it does not say
	Made            time.Time // when the service said so, by its clock; zero: it does not say
}

// Begun is what Begin was given.
type Begun struct{ Next, Invitation string }

// Finish asks the service who came back. texts are what the browser brings that may be what Begin gave it; query is
// what the service sent by the browser. Whatever the outcome, a sign-in comes back once. Begun is empty with ErrBegin.
func (s *Service) Finish(ctx context.Context, texts []string, query url.Values) (Answer, Begun, error) {
	for _, values := range query {
		if len(values) > 1 { // which one would be meant?
			return Answer{}, Begun{}, ErrBegin
		}
	}
	f, err := s.begun(texts, query.Get("state"))
	if err == nil {
		err = s.used.take(f, s.cfg.Now())
	}
	if err != nil {
		return Answer{}, Begun{}, err
	}
	out := Begun{f.Next, f.Invitation}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		return Answer{}, out, ErrBusy
	}
	// A browser that goes away must not look like a service that does not answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxPatient)
	defer cancel()
	answer, err := s.finish(ctx, f, query)
	return answer, out, err
}

func (s *Service) finish(ctx context.Context, f flow, query url.Values) (Answer, error) {
	k, err := s.ask(ctx, freshness)
	if err != nil {
		return Answer{}, err
	}
	if iss := query.Get("iss"); iss != s.cfg.Issuer && (iss != "" || k.says.NamesIss) { // RFC 9207
		return Answer{}, s.refuse("the answer is another issuer's", errors.New(clip(iss)))
	}
	if code := query.Get("error"); code != "" {
		s.cfg.Log.Warn("the service for signing in let nobody in", "issuer", s.cfg.Issuer, "code", clip(code))
		return Answer{}, ErrDeclined
	}
	code := query.Get("code")
	if code == "" || len(code) > maxCode {
		return Answer{}, s.refuse("the answer has no code", nil)
	}
	secret, err := s.secret()
	if err != nil {
		s.cfg.Log.Error("nobody can sign in with the account of an institution", "error", err)
		return Answer{}, ErrSilent
	}
	ctx = oidc.ClientContext(ctx, s.web)
	token, err := s.oauth(k, secret).Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return Answer{}, s.spent(err)
	}
	id, err := s.proved(ctx, k, f, token)
	if err != nil {
		return Answer{}, err
	}
	return s.read(ctx, k, id, token)
}

// spent says what it means that a code could not be spent. The library's error has the answer in it, which is not for
// the log.
func (s *Service) spent(err error) error {
	var answered *oauth2.RetrieveError
	if !errors.As(err, &answered) {
		s.fail("the service for signing in gives no token", errors.New(withoutURL(err)))
		return ErrSilent
	}
	status := answered.Response.StatusCode
	said := fmt.Errorf("status %d, %s", status, clip(answered.ErrorCode))
	if status >= 500 {
		s.fail("the service for signing in gives no token", said)
		return ErrSilent
	}
	return s.refuse("the service takes the code or the client's secret for wrong", said)
}

// withoutURL is the error of a request without its address.
func withoutURL(err error) string {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err.Error()
	}
	return "the answer cannot be read"
}

// refuse logs why an answer is refused. What is logged has no token in it.
func (s *Service) refuse(why string, err error) error {
	detail := ""
	if err != nil {
		detail = clip(err.Error())
	}
	s.cfg.Log.Warn("a sign-in with the account of an institution is refused", "issuer", s.cfg.Issuer, "why", why,
		"detail", detail)
	return ErrRefused
}

// proved returns the ID token if it is this issuer's, for this client, of this sign-in, and good now.
func (s *Service) proved(ctx context.Context, k *known, f flow, token *oauth2.Token) (*oidc.IDToken, error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return nil, s.refuse("there is no ID token", nil)
	}
	keys := &noted{KeySet: k.keys}
	id, err := oidc.NewVerifier(s.cfg.Issuer, keys, &oidc.Config{ClientID: s.cfg.Client,
		SupportedSigningAlgs: k.says.Signs, Now: s.cfg.Now}).Verify(ctx, raw)
	switch {
	case err != nil && keys.failed != nil:
		s.fail("the service for signing in does not give its keys", keys.failed)
		return nil, ErrSilent
	case err != nil:
		return nil, s.refuse("the ID token is not good", err)
	}
	var more struct {
		Party string `json:"azp"`
	}
	if err := id.Claims(&more); err != nil {
		return nil, s.refuse("the ID token cannot be read", nil)
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.Nonce)) != 1:
		return nil, s.refuse("the ID token is of another sign-in: its nonce differs", nil)
	case len(id.Audience) > 1 && more.Party == "", more.Party != "" && more.Party != s.cfg.Client:
		return nil, s.refuse("the ID token is for another party", nil)
	case id.Issuer != s.cfg.Issuer: // whatever the library lets pass
		return nil, s.refuse("the ID token is another issuer's", nil)
	case id.Subject == "":
		return nil, s.refuse("the ID token says of nobody that it is about", nil)
	}
	if id.AccessTokenHash != "" && id.VerifyAccessToken(token.AccessToken) != nil {
		return nil, s.refuse("the access token is not the ID token's", nil)
	}
	return id, nil
}

// noted notes when keys could not be fetched, which the library reports like a wrong signature. A key that is not known
// is fetched once.
type noted struct {
	oidc.KeySet
	failed error
}

// VerifySignature implements oidc.KeySet.
func (n *noted) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := n.KeySet.VerifySignature(ctx, jwt)
	if cause := errors.Unwrap(err); cause != nil { // no wrong signature has a cause
		n.failed = cause
	}
	return payload, err
}
