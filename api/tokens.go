package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

// JoinTokenRequest asks for a token by which one machine may join a replica.
type JoinTokenRequest struct {
	Replica  catalog.ReplicaName `json:"replica" minLength:"1" maxLength:"64"`
	Lifetime string              `json:"lifetime,omitempty" pattern:"^[1-9][0-9]{0,5}(ms|s|m|h)([0-9]{1,4}(ms|s|m|h)){0,2}$" doc:"such as 24h, the default"`
}

func tokenRoutes(s *server, api huma.API) {
	joinTokenRoutes(s, api)
	accessTokenRoutes(s, api)
}

func joinTokenRoutes(s *server, api huma.API) {
	handle(s, api, route{act: catalog.InviteNode, method: http.MethodGet, path: "/api/v1/join-tokens", id: "join-token-list", tag: "tokens",
		summary: "List the join tokens"},
		func(context.Context, *struct{}) (Page[JoinToken], error) {
			page := Page[JoinToken]{Items: []JoinToken{}}
			err := s.Catalog.View(func(v catalog.View) error {
				tokens, err := v.JoinTokens()
				for _, t := range tokens {
					page.Items = append(page.Items, joinTokenOf(t, catalog.At(s.Now())))
				}
				return err
			})
			return page, err
		})
	type create struct{ Body JoinTokenRequest }
	handle(s, api, route{act: catalog.InviteNode, method: http.MethodPost, path: "/api/v1/join-tokens", id: "join-token-create", tag: "tokens",
		summary: "Create a join token; its text is shown once", status: http.StatusCreated},
		func(ctx context.Context, in *create) (JoinToken, error) {
			valid, err := lifetime(in.Body.Lifetime, 24*time.Hour)
			if err != nil {
				return JoinToken{}, err
			}
			text, token, err := s.Invites.Create(ctx, in.Body.Replica, valid, callerOf(ctx).Actor)
			if err != nil {
				return JoinToken{}, err
			}
			shown := joinTokenOf(token, catalog.At(s.Now()))
			shown.Text = text
			return shown, nil
		})
	register(s, api, route{act: catalog.InviteNode, method: http.MethodDelete, path: "/api/v1/join-tokens/{name}", id: "join-token-revoke", tag: "tokens",
		summary: "Revoke a join token", status: http.StatusNoContent},
		func(ctx context.Context, in *ByName) (*struct{}, error) {
			return nil, s.propose(ctx, catalog.RevokeToken, catalog.Named{ID: in.Name}, nil)
		})
}
