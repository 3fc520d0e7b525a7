package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

// DiskState is how one of the node's disks for files stands.
type DiskState struct {
	Path   string `json:"path" doc:"folder for files on the disk"`
	Total  int64  `json:"totalBytes"`
	Room   int64  `json:"roomBytes" doc:"free beside the reserve"`
	Shards int    `json:"shards" doc:"that lie on it"`
	Bytes  int64  `json:"bytes" doc:"of the files in its shards"`
	State  string `json:"state" enum:"in use,draining,emptied,not mounted"`
	Why    string `json:"why,omitempty" doc:"what keeps it from being emptied, read or written"`
}

// DiskMove is how far one shard's move from disk to disk is.
type DiskMove struct {
	Shard      string    `json:"shard"`
	From       string    `json:"from"`
	To         string    `json:"to"`
	Files      int64     `json:"files" doc:"copied and read back"`
	TotalFiles int64     `json:"totalFiles"`
	Bytes      int64     `json:"bytes" doc:"copied"`
	TotalBytes int64     `json:"totalBytes"`
	Began      time.Time `json:"began"`
}

// Disks is how the node's disks for files stand, and what moves between them.
type Disks struct {
	Disks     []DiskState `json:"disks"`
	Paused    bool        `json:"paused" doc:"no shard moves between disks until somebody resumes it"`
	Balancing bool        `json:"balancing" doc:"shards move from the fullest disk to the emptiest"`
	Moved     int         `json:"moved" doc:"shards that have moved between disks since the node started"`
	Move      *DiskMove   `json:"move,omitempty" doc:"under way now"`
	Fault     string      `json:"fault,omitempty" doc:"why nothing moves"`
}

// DiskWish asks something of the node's disks.
type DiskWish struct {
	Wish string `json:"wish" enum:"drain,undrain,pause,resume" doc:"pause and resume are about all moves between disks"`
	Path string `json:"path,omitempty" maxLength:"4096" doc:"of the disk to drain or undrain"`
}

// OwnDisks are the disks of the node that is asked, and of no other.
type OwnDisks interface {
	Show() (Disks, error)
	// Wish does as asked and returns how the disks stand then. ErrNotFound when the path is none of them.
	Wish(wish DiskWish, actor string) (Disks, error)
}

func diskRoutes(s *server, api huma.API) {
	handle(s, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/disks",
		id: "disk-list", tag: "disks",
		summary: "List this node's disks for files, and what moves between them"},
		func(context.Context, *struct{}) (Disks, error) {
			return s.OwnDisks.Show()
		})
	type wish struct{ Body DiskWish }
	handle(s, api, route{act: catalog.ChangeNode, within: here[wish](s), method: http.MethodPost, path: "/api/v1/disks/wish",
		id: "disk-wish", tag: "disks",
		summary: "Empty one of this node's disks or use it again; pause or resume moves between its disks"},
		func(ctx context.Context, in *wish) (Disks, error) {
			if names := in.Body.Wish == "drain" || in.Body.Wish == "undrain"; names != (in.Body.Path != "") {
				return Disks{}, problem(http.StatusConflict, Code(catalog.Conflict), "a path is given to drain or undrain a disk, and only then")
			}
			return s.OwnDisks.Wish(in.Body, callerOf(ctx).Actor)
		})
}

// DiskClient asks a node about its own disks.
type DiskClient struct{ *Client }

// Show tells how the disks of the node that is asked stand.
func (c DiskClient) Show(ctx context.Context) (Disks, error) {
	return get[Disks](ctx, c.Client, "disks")
}

// Wish asks something of the disks of the node that is asked.
func (c DiskClient) Wish(ctx context.Context, wish DiskWish) (Disks, error) {
	return post[Disks](ctx, c.Client, wish, "disks", "wish")
}
