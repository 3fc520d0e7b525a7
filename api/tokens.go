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

// AccessTokenRequest asks for a token for a person or program.
type AccessTokenRequest struct {
	Name     string       `json:"name" minLength:"1" maxLength:"100" doc:"who or what uses it"`
	Role     catalog.Role `json:"role" enum:"reader,curator,operator,admin"`
	Lifetime string       `json:"lifetime,omitempty" pattern:"^[1-9][0-9]{0,5}(ms|s|m|h)([0-9]{1,4}(ms|s|m|h)){0,2}$" doc:"such as 2160h; without one it does not expire"`
}

func (s *server) tokenRoutes(api huma.API) {
	s.joinTokenRoutes(api)
	s.accessTokenRoutes(api)
}

func (s *server) joinTokenRoutes(api huma.API) {
	handle(s, api, route{role: catalog.RoleAdmin, method: http.MethodGet, path: "/api/v1/join-tokens", id: "join-token-list", tag: "tokens",
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
	handle(s, api, route{role: catalog.RoleAdmin, method: http.MethodPost, path: "/api/v1/join-tokens", id: "join-token-create", tag: "tokens",
		summary: "Create a join token; its text is shown once", status: http.StatusCreated},
		func(ctx context.Context, in *create) (JoinToken, error) {
			valid, err := lifetime(in.Body.Lifetime, 24*time.Hour)
			if err != nil {
				return JoinToken{}, err
			}
			text, token, err := s.Invites.Create(ctx, in.Body.Replica, valid, callerOf(ctx).Name)
			if err != nil {
				return JoinToken{}, err
			}
			shown := joinTokenOf(token, catalog.At(s.Now()))
			shown.Text = text
			return shown, nil
		})
	register(s, api, route{role: catalog.RoleAdmin, method: http.MethodDelete, path: "/api/v1/join-tokens/{name}", id: "join-token-revoke", tag: "tokens",
		summary: "Revoke a join token", status: http.StatusNoContent},
		func(ctx context.Context, in *ByName) (*struct{}, error) {
			return nil, s.propose(ctx, catalog.RevokeToken, catalog.Named{ID: in.Name}, nil)
		})
}

func (s *server) accessTokenRoutes(api huma.API) {
	handle(s, api, route{role: catalog.RoleAdmin, method: http.MethodGet, path: "/api/v1/access-tokens", id: "access-token-list", tag: "tokens",
		summary: "List the access tokens"},
		func(context.Context, *struct{}) (Page[AccessToken], error) {
			page := Page[AccessToken]{Items: []AccessToken{}}
			err := s.Catalog.View(func(v catalog.View) error {
				tokens, err := v.AccessTokens()
				for _, t := range tokens {
					page.Items = append(page.Items, accessTokenOf(t, catalog.At(s.Now())))
				}
				return err
			})
			return page, err
		})
	type create struct{ Body AccessTokenRequest }
	handle(s, api, route{role: catalog.RoleAdmin, method: http.MethodPost, path: "/api/v1/access-tokens", id: "access-token-create", tag: "tokens",
		summary: "Create an access token; its text is shown once", status: http.StatusCreated},
		func(ctx context.Context, in *create) (AccessToken, error) {
			valid, err := lifetime(in.Body.Lifetime, 0)
			if err != nil {
				return AccessToken{}, err
			}
			secret, now := NewToken(), s.Now()
			kept := catalog.AccessToken{ID: secret.ID, Name: in.Body.Name, SecretHash: secret.Hash(), Role: in.Body.Role, Created: catalog.At(now)}
			if valid > 0 {
				kept.Expires = catalog.At(now.Add(valid))
			}
			if err := s.propose(ctx, catalog.CreateAccess, kept, nil); err != nil {
				return AccessToken{}, err
			}
			shown := accessTokenOf(kept, catalog.At(now))
			shown.Text = secret.String()
			return shown, nil
		})
	register(s, api, route{role: catalog.RoleAdmin, method: http.MethodDelete, path: "/api/v1/access-tokens/{name}", id: "access-token-revoke", tag: "tokens",
		summary: "Revoke an access token", status: http.StatusNoContent},
		func(ctx context.Context, in *ByName) (*struct{}, error) {
			return nil, s.propose(ctx, catalog.RevokeAccess, catalog.Named{ID: in.Name}, nil)
		})
}
