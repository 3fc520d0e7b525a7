package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

func (s tokens) routes(api huma.API) {
	s.joinRoutes(api)
	s.accessRoutes(api)
}

func (s tokens) joinRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.InviteNode, method: http.MethodGet, path: "/api/v1/join-tokens",
		id: "join-token-list", tag: "tokens",
		summary: "List the join tokens"},
		func(context.Context, *struct{}) (wire.Page[wire.JoinToken], error) {
			page := wire.Page[wire.JoinToken]{Items: []wire.JoinToken{}}
			err := s.Catalog.View(func(v catalog.View) error {
				tokens, err := v.JoinTokens()
				for _, t := range tokens {
					page.Items = append(page.Items, joinTokenOf(t, catalog.At(s.now())))
				}
				return err
			})
			return page, err
		})
	type create struct{ Body wire.JoinTokenRequest }
	handle(s.server, api, route{act: catalog.InviteNode, method: http.MethodPost, path: "/api/v1/join-tokens",
		id: "join-token-create", tag: "tokens",
		summary: "Create a join token; its text is shown once", status: http.StatusCreated},
		func(ctx context.Context, in *create) (wire.JoinToken, error) {
			valid, err := lifetime(in.Body.Lifetime, 24*time.Hour)
			if err != nil {
				return wire.JoinToken{}, err
			}
			text, token, err := s.invites.Create(ctx, catalog.ReplicaName(in.Body.Replica), valid, callerOf(ctx).Actor)
			if err != nil {
				return wire.JoinToken{}, err
			}
			shown := joinTokenOf(token, catalog.At(s.now()))
			shown.Text = text
			return shown, nil
		})
	register(s.server, api, route{act: catalog.InviteNode, method: http.MethodDelete,
		path: "/api/v1/join-tokens/{name}", id: "join-token-revoke", tag: "tokens",
		summary: "Revoke a join token", status: http.StatusNoContent},
		func(ctx context.Context, in *ByName) (*struct{}, error) {
			return nil, s.propose(ctx, catalog.RevokeToken, catalog.Named{ID: in.Name}, nil)
		})
}
