package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/harvest"
	"holdfast/node/runner"
	"holdfast/peer"
	"holdfast/replica"
)

// What one node asks another in the name of a person or program carries that one's access token. The node that is asked checks it against
// its own catalog: that the asking node is a member is not enough. doc/design.md lists every kind of call.

// codeForbidden is what a node answers when the token that a request carries does not allow it.
const codeForbidden = "forbidden"

// warrantLevel is the level of a cluster in which requests have to carry a token. Programs before do not send one.
const warrantLevel = 2

// envelope is a request with the token of who asks.
type envelope struct {
	Warrant string          `json:"warrant"`
	About   json.RawMessage `json:"about"`
}

// warrants checks whom requests of other nodes come from.
type warrants struct {
	self   catalog.NodeID
	view   func(func(catalog.View) error) error
	own    func() (string, error)                    // this node's local token, for what it asks by itself
	trusts func(catalog.Member) (catalog.Role, bool) // what a member's local token may do here
	now    func() time.Time
	uses   *uses // of access tokens, by this node's API
}

func (n *Node) openWarrants() {
	n.warrants = warrants{self: n.id, view: n.raft.View, now: time.Now, own: n.token.Text,
		trusts: func(m catalog.Member) (catalog.Role, bool) { return n.cfg.LocalRole(m.Name) },
		uses: &uses{view: n.raft.View, now: time.Now, log: n.log, propose: func(ctx context.Context, kind catalog.Kind, body any) error {
			_, err := n.raft.Propose(ctx, kind, body, string(n.id))
			return err
		}}}
}

// level returns the cluster's level, as this node knows it.
func (w warrants) level() (level int, err error) {
	err = w.view(func(v catalog.View) error {
		c, err := v.Cluster()
		level = c.Level
		return ignoreNotFound(err)
	})
	return level, err
}

// of returns the token that a request made in ctx is to carry, empty in a cluster where none is asked for.
func (w warrants) of(ctx context.Context) (string, error) {
	level, err := w.level()
	if err != nil || level < warrantLevel {
		return "", err
	}
	if token := api.TokenOf(ctx); token != "" {
		return token, nil
	}
	return w.own()
}

// deed is what a request asks for, as catalog.May weighs it.
type deed struct {
	act   catalog.Act
	where catalog.Where
}

// check returns the actor who holds the token, when that may do the deed; else it refuses. A member's local token is
// taken from that member alone.
func (w warrants) check(from catalog.NodeID, text string, what deed) (actor string, err error) {
	level, err := w.level()
	if err != nil || from == w.self || level > 0 && level < warrantLevel {
		return "", err // a node that does not know the cluster's level yet lets nobody do anything
	}
	refuse := func(format string, args ...any) error {
		return &peer.RemoteError{Code: codeForbidden, Message: fmt.Sprintf(format, args...)}
	}
	token, err := api.ParseToken(text)
	if err != nil {
		return "", refuse("the request carries no access token")
	}
	unknown := refuse("the access token that the request carries is not known here, or is expired or revoked, or its owner is disabled")
	var who catalog.Caller
	err = w.view(func(v catalog.View) error {
		if token.ID == api.LocalID {
			kept, err := w.localOf(v, from)
			if err == nil && !api.Proves(token, kept, w.now()) {
				return unknown
			}
			who = api.LocalCaller(level, from, kept)
			return err
		}
		kept, err := v.AccessToken(token.ID)
		if err = ignoreNotFound(err); err != nil {
			return err
		}
		if !api.Proves(token, kept, w.now()) {
			return unknown
		}
		who, err = catalog.PeopleIn(v).Caller(kept, catalog.At(w.now()))
		if errors.Is(err, catalog.ErrDisabled) {
			return unknown
		}
		return err
	})
	if errors.Is(err, unknown) {
		return "", err
	}
	if err != nil {
		return "", fmt.Errorf("look up access token %s: %w", token.ID, err)
	}
	if err := catalog.May(who.Rights, what.act, what.where); err != nil {
		return "", refuse("%s: %v", who.Name, err)
	}
	return who.Actor, nil
}

// localOf returns what is known here of a member's local token, with the role that it has here.
func (w warrants) localOf(v catalog.View, from catalog.NodeID) (kept catalog.AccessToken, err error) {
	m, err := v.Member(from)
	if role, ok := w.trusts(m); err == nil && ok {
		kept = catalog.AccessToken{ID: api.LocalID, Name: "local:" + m.Name, Role: role, SecretHash: m.Local}
	}
	return kept, ignoreNotFound(err)
}

// vouch says of each command that another member forwards what keeps it from being proposed: that it is in the name of
// somebody who may not do it. See catalog.People.Vouch.
func (w warrants) vouch(from catalog.NodeID, commands []catalog.Command) ([]error, error) {
	out := make([]error, len(commands))
	err := w.view(func(v catalog.View) error {
		kept, err := w.localOf(v, from)
		for i := range commands {
			out[i] = catalog.PeopleIn(v).Vouch(from, &commands[i], kept.Role, catalog.At(w.now()))
		}
		return err
	})
	return out, err
}

// open takes a request out of its envelope. A program of level 1 sends none.
func openEnvelope(request []byte) envelope {
	var e envelope
	if bytes.HasPrefix(bytes.TrimSpace(request), []byte("{")) && json.Unmarshal(request, &e) == nil && len(e.About) > 0 {
		return e
	}
	return envelope{About: request}
}

// askFor is ask with the token of who asks.
func askFor[Answer any](ctx context.Context, n *Node, to catalog.NodeID, kind string, request any) (answer Answer, err error) {
	token, err := n.warrants.of(ctx)
	if err != nil {
		return answer, err
	}
	if token == "" {
		answer, err = ask[Answer](ctx, n.peer, to, kind, request)
		return answer, err
	}
	about, err := json.Marshal(request)
	if err != nil {
		return answer, fmt.Errorf("encode the %s request: %w", kind, err)
	}
	answer, err = ask[Answer](ctx, n.peer, to, kind, envelope{token, about})
	return answer, forbidden(err)
}

// forbidden turns another node's refusal into the API's.
func forbidden(err error) error {
	var remote *peer.RemoteError
	if remoteCode(err) == codeForbidden && errors.As(err, &remote) {
		return &catalog.Refusal{Code: catalog.Denied, Message: remote.Message}
	}
	return err
}

// answerFor makes handle the answerer of requests that not everybody may make; it is told who asks, empty in a cluster of level 1.
func answerFor[Request, Answer any](n *Node, kind string, need func(Request) deed,
	handle func(ctx context.Context, from catalog.NodeID, by string, r Request) (Answer, error)) {
	n.peer.HandleCall(kind, func(ctx context.Context, from peer.ID, request []byte) ([]byte, error) {
		e := openEnvelope(request)
		var r Request
		if err := json.Unmarshal(e.About, &r); err != nil {
			return nil, fmt.Errorf("read a %s request: %w", kind, err)
		}
		by, err := n.warrants.check(catalog.NodeID(from), e.Warrant, need(r))
		if err != nil {
			return nil, err
		}
		a, err := handle(ctx, catalog.NodeID(from), by, r)
		if err != nil {
			return nil, asRemote(err)
		}
		return json.Marshal(a)
	})
}

// whoever hands a request on to a handler that does not ask who it is from.
func whoever[Request, Answer any](handle func(context.Context, catalog.NodeID, Request) (Answer, error)) func(context.Context, catalog.NodeID, string, Request) (Answer, error) {
	return func(ctx context.Context, from catalog.NodeID, _ string, r Request) (Answer, error) {
		return handle(ctx, from, r)
	}
}

// handleActs names who answers what people and programs ask through another node.
func (n *Node) handleActs() {
	w, look := n.warrants, deed{act: catalog.Look}
	answerFor(n, verifyCall, func(catalog.FileName) deed { return w.here(catalog.CheckCopies) }, whoever(n.serveVerify))
	answerFor(n, findCall, func(replica.Held) deed { return w.here(catalog.CheckCopies) }, whoever(n.serveFind))
	answerFor(n, straysCall, func(struct{}) deed { return deed{act: catalog.LookAtDisks} }, whoever(n.serveStrays))
	answerFor(n, runner.ProgressCall, func(uint64) deed { return look }, whoever(n.serveProgress))
	answerFor(n, auditCall, func(r auditRequest) deed {
		if r.Act == "list" {
			return look
		}
		return w.here(catalog.CheckCopies)
	}, whoever(n.serveAudit))
	answerFor(n, indexCall, func(r indexRequest) deed {
		if r.Rebuild {
			return w.here(catalog.RebuildIndex)
		}
		return look
	}, whoever(n.serveIndex))
	answerFor(n, runner.OrderCall, w.deedOf,
		func(ctx context.Context, from catalog.NodeID, by string, r runner.OrderRequest) (harvest.Reply, error) {
			if by != "" && !r.Order.Reads() {
				r.Order.By = by
			}
			return n.crawls.Order(ctx, from, r)
		})
}

// here is an act at this node's place. Where that is not known, only who may do it everywhere may.
func (w warrants) here(act catalog.Act) deed {
	d := deed{act, catalog.Where{Places: []string{""}}}
	_ = w.view(func(v catalog.View) error {
		place, err := catalog.PeopleIn(v).PlaceOf(w.self)
		d.where.Places[0] = place
		return err
	})
	return d
}

// deedOf is what an order asks for, in the collection of its job. Where that is not known, only who may do it
// everywhere may.
func (w warrants) deedOf(r runner.OrderRequest) deed {
	d := deed{api.ActOf(r.Order), catalog.Where{Collections: []catalog.CollectionName{""}}}
	_ = w.view(func(v catalog.View) error {
		job, err := v.Job(r.Job)
		d.where.Collections[0] = job.Collection
		return err
	})
	return d
}
