package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/alert"
	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/agree"
	agreed "holdfast/catalog/notices"
	rights "holdfast/catalog/people"
)

// Notices is what the API needs of a node that delivers notices.
type Notices interface {
	// Hook seals a webhook's URL with its secret, and makes one if none is given. It returns the URL's scheme and host,
	// and the secret. ErrInvalid: the URL or the secret is none; ErrUnavailable: nobody could open it.
	Hook(url, secret string) (origin, made string, sealed *agreed.Sealed, err error)
	// Languages are the tags of the languages in which notices can be written.
	Languages() []string
}

type notices struct {
	*server
	node Notices
}

func (s notices) routes(api huma.API) {
	const path = "/api/v1/notice-addresses"
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: path, id: "notice-list", tag: "status",
		summary: "List the addresses that notices of alerts go to"},
		func(context.Context, *struct{}) (wire.Page[wire.NoticeAddress], error) { return whole(s.list()) })
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: path + "/{name}", id: "notice-show",
		tag: "status", summary: "Show an address, and how its notices fare"},
		func(_ context.Context, in *ByName) (wire.NoticeAddress, error) { return s.show(in.Name) })
	type create struct{ Body wire.NoticeAddressRequest }
	ofBody := within(func(_ context.Context, in *create) (catalog.Where, error) {
		return inCollections(catalog.CollectionName(in.Body.Collection)), nil
	})
	handle(s.server, api, route{act: rights.KeepNotices, within: ofBody, method: http.MethodPost,
		path: path, id: "notice-add", once: true, tag: "status",
		status:  http.StatusCreated,
		summary: "Add an address for notices"},
		func(ctx context.Context, in *create) (wire.NoticeAddress, error) { return s.add(ctx, &in.Body) })
	type change struct {
		ByName
		Body wire.NoticeAddressChange
	}
	ofChange := ofAddress(s.server, func(in *change) (string, *string) { return in.Name, in.Body.Collection })
	handle(s.server, api, route{act: rights.KeepNotices, within: ofChange, method: http.MethodPatch,
		path: path + "/{name}", id: "notice-set", once: true, tag: "status",
		summary: "Change an address"},
		func(ctx context.Context, in *change) (wire.NoticeAddress, error) {
			return s.set(ctx, in.Name, &in.Body)
		})
	byName := ofAddress(s.server, func(in *ByName) (string, *string) { return in.Name, nil })
	register(s.server, api, route{act: rights.KeepNotices, within: byName, method: http.MethodDelete,
		path: path + "/{name}", id: "notice-remove", once: true, tag: "status", status: http.StatusNoContent,
		summary: "Remove an address, with the notices that are on their way there"},
		func(ctx context.Context, in *ByName) (*struct{}, error) {
			return nil, s.decide(ctx, agreed.Remove, agreed.Ref{Name: in.Name}, nil)
		})
	handle(s.server, api, route{act: rights.KeepNotices, within: byName, method: http.MethodPost,
		path: path + "/{name}/test", id: "notice-test", tag: "status",
		summary: "Send a test notice, and wait for its outcome"},
		func(ctx context.Context, in *ByName) (wire.NoticeTest, error) { return s.test(ctx, in.Name) })
}

// ofAddress finds the collections that an address is told of and is to be told of.
func ofAddress[I any](s *server, of func(*I) (name string, next *string)) finder {
	return within(func(_ context.Context, in *I) (where catalog.Where, err error) {
		name, next := of(in)
		err = s.Catalog.View(func(v catalog.View) error {
			a, err := catalog.NoticesIn(v).Address(name)
			if errors.Is(err, catalog.ErrNotFound) {
				return nil
			}
			where.Collections = append(where.Collections, catalog.CollectionName(a.Collection))
			return err
		})
		if next != nil {
			where.Collections = append(where.Collections, catalog.CollectionName(*next))
		}
		return where, err
	})
}

func (s notices) list() (out []wire.NoticeAddress, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		all, err := catalog.NoticesIn(v).Addresses()
		for i := range all {
			shown, err := addressOf(v, &all[i])
			if err != nil {
				return err
			}
			out = append(out, shown)
		}
		return err
	})
	return out, err
}

func (s notices) show(name string) (out wire.NoticeAddress, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		a, err := findAddress(v, name)
		if err == nil {
			out, err = addressOf(v, &a)
		}
		return err
	})
	return out, err
}

func findAddress(v catalog.View, name string) (agreed.Address, error) {
	a, err := catalog.NoticesIn(v).Address(name)
	if errors.Is(err, catalog.ErrNotFound) {
		err = fmt.Errorf("address %s: %w", name, ErrNotFound)
	}
	return a, err
}

func addressOf(v catalog.View, a *agreed.Address) (wire.NoticeAddress, error) {
	out := wire.NoticeAddress{Name: a.Name, Way: wire.NoticeWay(a.Way), Inside: a.Inside,
		NoticeFilter: wire.NoticeFilter{Kinds: a.Kinds, Least: a.Least, Collection: a.Collection, Place: a.Place},
		Language:     a.Language, When: string(a.When), Hour: a.Hour, Zone: a.Zone, Cleared: a.Cleared,
		Version: a.Version, Changed: std(a.Changed)}
	if len(a.To) > 0 {
		out.To = a.To[0]
	}
	state, err := catalog.NoticesIn(v).State(a)
	if err != nil {
		return out, err
	}
	out.Told, out.Lost, out.Reason, out.Undelivered = state.Told, state.Lost, state.Reason, std(state.GivenUp)
	under, err := catalog.NoticesIn(v).Notices(a)
	if err != nil {
		return out, err
	}
	for i := range under {
		if n := &under[i]; !n.Ended() {
			if out.Waiting++; n.Reason != "" {
				out.Reason = n.Reason
			}
		}
	}
	out.ChangedBy, err = catalog.PeopleIn(v).ActorName(a.By)
	return out, err
}

func (s notices) add(ctx context.Context, in *wire.NoticeAddressRequest) (wire.NoticeAddress, error) {
	a := agreed.Address{Name: in.Name, Way: agreed.Way(in.Way), Inside: in.Inside,
		Filter:   agreed.Filter{Kinds: in.Kinds, Least: in.Least, Collection: in.Collection, Place: in.Place},
		Language: in.Language, When: agreed.When(in.When), Hour: in.Hour, Zone: in.Zone, Cleared: in.Cleared}
	if a.Language == "" {
		a.Language = "en"
	}
	if a.When == "" {
		a.When = agreed.AtOnce
	}
	made, err := s.aim(&a, in.To, in.Secret)
	if err == nil {
		err = s.check(ctx, &agreed.Address{}, &a)
	}
	if err == nil {
		err = s.decide(ctx, agreed.Create, agreed.Setting{Address: a}, nil)
	}
	if err != nil {
		return wire.NoticeAddress{}, err
	}
	return s.made(ctx, in.Name, made)
}

// aim sets where an address leads, and returns the secret of a webhook.
func (s notices) aim(a *agreed.Address, to, secret string) (made string, err error) {
	if secret != "" && a.Way != agreed.Webhook {
		return "", refused("secret: only webhooks have one")
	}
	a.To = nil
	if a.Way != agreed.Webhook {
		if to != "" {
			a.To = []string{to}
		}
		return "", nil
	}
	origin, made, sealed, err := s.node.Hook(to, secret)
	if err != nil {
		return "", err
	}
	a.To, a.Sealed = []string{origin}, sealed
	return made, nil
}

// check refuses what the catalog cannot see, and what needs another right.
func (s notices) check(ctx context.Context, old, a *agreed.Address) error {
	if catalog.NoticeReachesInside(old, a) {
		if err := may(ctx, catalog.ReachInside, catalog.Where{}); err != nil {
			return err
		}
	}
	if languages := s.node.Languages(); !slices.Contains(languages, a.Language) {
		return refused("language: given %q, allowed: %v", a.Language, languages)
	}
	if _, err := time.LoadLocation(a.Zone); err != nil || a.Zone == "Local" {
		return refused("zone: given %q, allowed: a time zone such as Europe/Copenhagen", a.Zone)
	}
	for _, k := range a.Kinds {
		if _, _, known := alert.Kind(k).Find(); !known {
			return refused("kinds: there is no kind of alert %q", k)
		}
	}
	return s.Catalog.View(func(v catalog.View) error {
		collections, err := v.Collections()
		if err != nil {
			return err
		}
		replicas, err := v.Replicas()
		switch {
		case err != nil:
			return err
		case a.Collection != "" && !slices.ContainsFunc(collections, func(c catalog.Collection) bool {
			return string(c.Name) == a.Collection
		}):
			return refused("collection: there is no collection %q", a.Collection)
		case a.Place != "" && !slices.ContainsFunc(replicas,
			func(r catalog.Replica) bool { return r.Place == a.Place }):
			return refused("place: no replica is at %q", a.Place)
		}
		return nil
	})
}

func (s notices) set(ctx context.Context, name string, in *wire.NoticeAddressChange) (wire.NoticeAddress, error) {
	var old agreed.Address
	err := s.Catalog.View(func(v catalog.View) (err error) { old, err = findAddress(v, name); return err })
	if err != nil {
		return wire.NoticeAddress{}, err
	}
	a, made := old, ""
	a.Sealed = nil
	if in.Version != 0 {
		a.Version = in.Version
	}
	switch {
	case in.To != nil:
		if made, err = s.aim(&a, *in.To, in.Secret); err != nil {
			return wire.NoticeAddress{}, err
		}
	case in.Secret != "":
		return wire.NoticeAddress{}, refused("secret: give the URL again, too: nobody shows it")
	}
	agree.Assign(&a.Inside, in.Inside)
	agree.Assign(&a.Kinds, in.Kinds)
	agree.Assign(&a.Least, in.Least)
	agree.Assign(&a.Collection, in.Collection)
	agree.Assign(&a.Place, in.Place)
	agree.Assign(&a.Language, in.Language)
	agree.Assign((*string)(&a.When), in.When)
	agree.Assign(&a.Hour, in.Hour)
	agree.Assign(&a.Zone, in.Zone)
	agree.Assign(&a.Cleared, in.Cleared)
	if err = s.check(ctx, &old, &a); err == nil {
		err = s.decide(ctx, agreed.Set, agreed.Setting{Address: a}, nil)
	}
	if err != nil {
		return wire.NoticeAddress{}, err
	}
	return s.made(ctx, name, made)
}

// made shows an address after a change, with the secret that was made by it.
func (s notices) made(ctx context.Context, name, secret string) (wire.NoticeAddress, error) {
	if secret != "" {
		if err := guardOf(ctx).shownOnce("secret"); err != nil {
			return wire.NoticeAddress{}, err
		}
	}
	out, err := s.show(name)
	out.Secret = secret
	return out, err
}

// How long a test is waited for, and how often it is looked.
const (
	testTime = 25 * time.Second
	testLook = 200 * time.Millisecond
)

// test has a test notice sent, and returns how it fared. Any node that can may send it.
func (s notices) test(ctx context.Context, name string) (wire.NoticeTest, error) {
	random := make([]byte, 16)
	_, _ = rand.Read(random)
	out := wire.NoticeTest{ID: "msg_" + hex.EncodeToString(random)}
	if err := s.decide(ctx, agreed.Test, agreed.Testing{Name: name, ID: out.ID}, nil); err != nil {
		return out, err
	}
	tick := time.NewTicker(testLook)
	defer tick.Stop()
	for end := time.Now().Add(testTime); ; {
		var n agreed.Notice
		err := s.Catalog.View(func(v catalog.View) (err error) {
			if n, err = catalog.NoticesIn(v).Notice(name, out.ID); err != nil || n.Node == "" {
				return err
			}
			m, err := v.Member(n.Node)
			if out.Node = m.Name; errors.Is(err, catalog.ErrNotFound) {
				err = nil
			}
			return err
		})
		if err != nil {
			return out, err
		}
		switch {
		case n.Ended():
			out.Accepted, out.Reason = n.Told != 0, n.Reason
			return out, nil
		case time.Now().After(end) && n.Node == "":
			out.Reason = "no node that is alive delivers this way: mail needs smtp in the cluster.toml of one"
			return out, nil
		case time.Now().After(end):
			out.Reason = "the node that sends it has not said yet how it went"
			return out, nil
		}
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case <-tick.C:
		}
	}
}
