package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

// NodeStrays is what one node has that the archive neither counts on nor asks for.
type NodeStrays struct {
	Node        catalog.NodeID `json:"node"`
	Name        string         `json:"name,omitempty"`
	Unreachable string         `json:"unreachable,omitempty" doc:"why the node did not answer; what it has is not known then"`
	Files       int            `json:"files" doc:"how many there are"`
	Bytes       int64          `json:"bytes" doc:"of all of them"`
	Strays      []Stray        `json:"strays" doc:"the first 1000"`
}

// Stray is one of them.
type Stray struct {
	Name  string `json:"name" doc:"the file's name"`
	Where string `json:"where" enum:"files,incoming,quarantine"`
	Path  string `json:"path" doc:"on the node's disk"`
	Size  int64  `json:"size"`
	State string `json:"state" doc:"why it lies there, and what becomes of it"`
}

func (s *server) strayRoutes(api huma.API) {
	handle(s, api, route{act: catalog.LookAtDisks, method: http.MethodGet, path: "/api/v1/strays", id: "stray-list", tag: "files",
		summary: "List the bytes on the nodes that the archive neither counts on nor asks for"},
		func(ctx context.Context, _ *struct{}) (Page[NodeStrays], error) {
			return whole(s.Strays.List(ctx))
		})
}

// Strays lists the bytes on the nodes that the archive neither counts on nor asks for.
func (c *Client) Strays(ctx context.Context) ([]NodeStrays, error) {
	page, err := get[Page[NodeStrays]](ctx, c, "strays")
	return page.Items, err
}
