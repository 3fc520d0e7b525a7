package node

import (
	"time"

	"holdfast/catalog"
	"holdfast/node/session"
)

// sessions are the sessions of this node's pages, as the API sees them.
type sessions struct {
	*session.Sessions
	pages func() string // the address of the pages
}

// Link returns the address at which a session begins, once.
func (s sessions) Link(who catalog.Caller, token string) (url string, expires time.Time, err error) {
	secret, expires, err := s.Sessions.Link(who, token)
	if err != nil {
		return "", time.Time{}, err
	}
	return s.pages() + "/sign-in?link=" + secret, expires, nil
}
