package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	defined "holdfast/catalog/harvests"
)

func (s definitions) channelRoutes(api huma.API) {
	const path = "/api/v1/channels"
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: path, id: "channel-list",
		tag: "channels", summary: "List the channels"},
		func(_ context.Context, in *Listing) (wire.Page[wire.Channel], error) {
			return searched(s.server, in,
				func(v catalog.View) ([]catalog.Channel, error) { return catalog.HarvestsIn(v).Channels() },
				func(c *catalog.Channel) entry {
					return entry{name: c.Name, comment: c.Comment, changed: c.Changed}
				}, channelOf)
		})
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: path + "/{name}", id: "channel-show",
		keys: keysOfChannel,
		tag:  "channels", summary: "Show a channel, with the nodes that serve it"},
		func(_ context.Context, in *ByName) (wire.Channel, error) { return s.showChannel(in.Name) })
	type create struct{ Body wire.ChannelRequest }
	handle(s.server, api, route{act: catalog.Define, method: http.MethodPost,
		path: path, id: "channel-create", once: true,
		tag: "channels", summary: "Create a channel", status: http.StatusCreated},
		func(ctx context.Context, in *create) (wire.Channel, error) {
			asked := defined.ChannelCreation{Name: in.Body.Name, Snapshot: in.Body.Snapshot, Comment: in.Body.Comment}
			if err := s.decide(ctx, defined.CreateChannel, asked, nil); err != nil {
				return wire.Channel{}, err
			}
			return s.showChannel(in.Body.Name)
		})
	type change struct {
		ByName
		Body wire.ChannelChange
	}
	handle(s.server, api, route{act: catalog.Define, method: http.MethodPatch, path: path + "/{name}",
		id: "channel-set", once: true, keys: keysOfChannel, tag: "channels", summary: "Change a channel's comment"},
		func(ctx context.Context, in *change) (wire.Channel, error) {
			asked := defined.ChannelChange{Name: in.Name, Comment: in.Body.Comment}
			if err := s.decide(ctx, defined.SetChannel, asked, nil); err != nil {
				return wire.Channel{}, err
			}
			return s.showChannel(in.Name)
		})
	register(s.server, api, route{act: catalog.Define, method: http.MethodDelete, path: path + "/{name}",
		id: "channel-delete", once: true, tag: "channels", status: http.StatusNoContent,
		summary: "Delete a channel that is no default and that no node serves and no job waits in"},
		func(ctx context.Context, in *ByName) (*struct{}, error) {
			return nil, s.decide(ctx, defined.DeleteChannel, defined.Ref{Name: in.Name}, nil)
		})
}

func (s definitions) showChannel(name string) (out wire.Channel, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		c, err := findChannel(v, name)
		if err == nil {
			out, err = channelOf(v, &c)
		}
		return err
	})
	return out, err
}

// findChannel returns the channel, or ErrNotFound.
func findChannel(v catalog.View, name string) (catalog.Channel, error) {
	c, err := catalog.HarvestsIn(v).Channel(name)
	if errors.Is(err, catalog.ErrNotFound) {
		err = fmt.Errorf("channel %s: %w", name, ErrNotFound)
	}
	return c, err
}

func channelOf(v catalog.View, c *catalog.Channel) (wire.Channel, error) {
	out := wire.Channel{Name: c.Name, Snapshot: c.Snapshot, Default: c.Default(), Comment: c.Comment,
		Created: std(c.Created), Changed: std(c.Changed), Nodes: []string{}}
	members, err := v.Members()
	if err != nil {
		return out, err
	}
	for i := range members {
		if m := &members[i]; m.Crawls && m.Serves(c.Name) {
			out.Nodes = append(out.Nodes, m.Name)
		}
	}
	slices.Sort(out.Nodes)
	if out.Waiting, err = v.WaitingIn(c.Name); err != nil || c.By == "" {
		return out, err
	}
	out.ChangedBy, err = catalog.PeopleIn(v).ActorName(c.By)
	return out, err
}
