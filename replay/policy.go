package replay

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/netip"

	"holdfast/access"
	"holdfast/cdx"
)

// unconfirmedHeader tells since when it is not known whether the policy is still the agreed one.
const unconfirmedHeader = "X-Archive-Policy-Unconfirmed-Since"

// noStore is the Cache-Control of what a rule is about: the next rule, another reader or another day may close it.
const noStore = "private, no-store"

// everything is the policy of an archive without rules.
func everything() (access.InForce, error) {
	return access.InForce{Compiled: access.Policy{}.Compile()}, nil
}

type sightKey struct{}

// sightOf returns what the reader of a request may see; nil, which excludes everything, if that was not decided.
func sightOf(ctx context.Context) *access.Sight {
	s, _ := ctx.Value(sightKey{}).(*access.Sight)
	return s
}

// admit finds out what the reader may see, and returns the request with that. Without a policy it answers itself, and
// returns nil.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) *http.Request {
	now, err := h.cfg.Policy()
	if err != nil {
		h.log.Warn("readers are refused: there is no policy that may be used", "error", err)
		h.later(w, r, "replay.no-policy")
		return nil
	}
	if !now.Unconfirmed.IsZero() {
		w.Header().Set(unconfirmedHeader, now.Unconfirmed.UTC().Format(http.TimeFormat))
	}
	who := access.Who{At: h.cfg.Now()}
	if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		who.Address = from.Addr()
	}
	return r.WithContext(context.WithValue(r.Context(), sightKey{}, now.For(who)))
}

// gated are captures of which a reader is told only what the policy lets him know. The decision is part of each query,
// so that what is excluded counts for no limit, order or choice.
type gated struct{ Captures }

// Query implements Captures. A query without a gate gets that of the request.
func (g gated) Query(ctx context.Context, q cdx.Query) iter.Seq2[cdx.Capture, error] {
	if q.Gate == nil {
		q.Gate = access.Listed{Sight: sightOf(ctx)}
	}
	return g.Captures.Query(ctx, q)
}

// governed forbids caches to keep an answer about a key that a rule is about.
func governed(w http.ResponseWriter, r *http.Request, key string) {
	if sightOf(r.Context()).Governed(key) {
		w.Header().Set("Cache-Control", noStore)
	}
}

// governedQuery does that for an answer to a query.
func governedQuery(w http.ResponseWriter, r *http.Request, q cdx.Query) {
	low, high, err := q.Range()
	if err != nil || sightOf(r.Context()).Closes(low, high) {
		w.Header().Set("Cache-Control", noStore)
	}
}

// refusal says why a capture may not be seen.
type refusal struct{ reason string }

// Error implements error.
func (r *refusal) Error() string { return "the policy blocks it" }

// refusalOf returns the refusal of the captures that a query is about, if one of them is blocked; nil if none is.
func refusalOf(ctx context.Context, in Captures, q cdx.Query) (*refusal, error) {
	sight := sightOf(ctx)
	q.Gate = blocked{sight}
	var incomplete *cdx.Incomplete
	for c, err := range cdx.Arrange(q, in.Query(ctx, q)) {
		if errors.As(err, &incomplete) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &refusal{sight.Decide(c.Key, c.Timestamp).Message}, nil
	}
	return nil, nil
}

// blocked lets pass what the reader may know of and not see.
type blocked struct{ *access.Sight }

// Within implements cdx.Gate: it keeps back what is open, too.
func (b blocked) Within(string, string) cdx.Gate { return b }

// Passes implements cdx.Gate.
func (b blocked) Passes(c *cdx.Capture) bool {
	return b.Decide(c.Key, c.Timestamp).Access == access.Block
}
