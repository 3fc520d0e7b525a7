package chain

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/harvest"
)

// ValueLogin begins the names of the frontier's values that say which forms were sent.
const ValueLogin = "login/"

// Login sends the form logins that a host's credentials ask for. It is one worker's.
type Login struct {
	frontier *frontier.Frontier
	logins   *fetch.Logins
	direct   *Direct
	post     *Post
	turn     *Turn
	giveBack *GiveBack
	logs     *report.Logs
	log      *slog.Logger
	sent     func() // is told that a form was sent
}

// run sends the form logins of the host's credentials before anything else is fetched from the host. A login that
// failed is tried again like a fetch.
func (l *Login) run(ctx context.Context, v *Visit) (Step, error) {
	for _, cred := range l.logins.Forms(v.Target.Host) {
		done, err := l.frontier.Value(ValueLogin + cred.URL)
		if err != nil {
			return Over, err
		}
		if len(done) > 0 {
			continue
		}
		sent, err := l.send(ctx, v, cred)
		switch {
		case err != nil:
			return Over, err
		case Killed(ctx):
			v.Status = codeKilled
			return Over, nil
		case v.Problem != nil:
			v.tell(l.logs)
			return Again, l.giveBack.apart(v, v.Set.RetryDelay.Std())
		case !sent || ctx.Err() != nil:
			l.frontier.Return(v.URI, loginWait)
			return Again, nil
		}
	}
	return Next, nil
}

// LoginKey begins the keys of logins in the frontier.
const LoginKey = "login "

// loginWait is how long a URI waits for a login that another worker is sending.
const loginWait = 200 * time.Millisecond

// send sends one form login and records it, as a URI of its own beside what may be fetched from the same address. It
// reports false where another worker is at it, or where it was not sent; then the visit has the problem, if that is
// one.
func (l *Login) send(ctx context.Context, v *Visit, cred harvest.Credential) (sent bool, err error) {
	r, err := fetch.FormRequest(cred)
	if err != nil {
		l.log.Warn("login could not be sent", "url", cred.URL, "error", err)
		l.frontier.SetValue(ValueLogin+cred.URL, []byte("0"))
		return true, nil
	}
	form := Prerequisite(v.URI, cred.URL)
	form.Key, form.Priority = LoginKey+cred.URL, frontier.Prerequisite
	u, err := l.frontier.Claim(form)
	if err != nil {
		return false, err
	}
	if u == nil {
		_, sent, err = l.frontier.Done(form.Key)
		return sent, err
	}
	hop := &Visit{URI: u, Worker: v.Worker, Target: r.Target, Set: v.Set, Subject: v.Subject, Detour: true}
	defer l.turn.Release(hop)
	if err := l.direct.Fetch(ctx, hop, r); err != nil {
		return false, err
	}
	x := hop.Exchange
	switch {
	case len(hop.Records) > 0:
	case ctx.Err() != nil:
		return false, l.giveBack.Drop(u)
	case (x == nil || !x.Permanent) && v.URI.Tries < v.Set.MaxRetries:
		v.URI.Status, v.Status, v.Problem = hop.Status, hop.Status,
			fmt.Errorf("login at %s could not be sent; next try in %v", cred.URL, v.Set.RetryDelay)
		if x != nil && x.Err != nil {
			v.Problem = fmt.Errorf("%w: %w", v.Problem, x.Err)
		}
		return false, l.giveBack.Drop(u)
	default:
		l.log.Warn("login could not be sent; the crawl goes on without it", "url", cred.URL, "status", hop.Status)
	}
	l.frontier.SetValue(ValueLogin+cred.URL, []byte("1"))
	l.sent()
	return true, l.post.Run(ctx, hop)
}
