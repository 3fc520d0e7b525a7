package web

import (
	"context"
	"errors"

	"holdfast/api/wire"
)

func showAlerts(ctx context.Context, v *visit) (any, error) {
	v.live = true
	var out *wire.Alerts
	askAlerts(ctx, v, &out)
	v.wait()
	return out, nil
}

// nodesPage is what the page of the nodes shows.
type nodesPage struct {
	Nodes []wire.Node      `json:"nodes"`
	Self  *wire.NodeStatus `json:"answering"` // the node that answers
}

func showNodes(_ context.Context, v *visit) (any, error) {
	v.live = true
	v.offer("new", "join-token")
	st := v.known()
	if st == nil {
		return &nodesPage{}, nil
	}
	return &nodesPage{st.Nodes, &st.Node}, nil
}

func showPeople(ctx context.Context, v *visit) (any, error) {
	v.offer("new", "invitation")
	out := &listed[wire.Person]{}
	v.ask(ctx, "web.people", soon, func(ctx context.Context) error {
		all, err := v.api.People().List(ctx)
		return out.set(wire.Page[wire.Person]{Items: all}, err)
	})
	v.wait()
	return out, nil
}

func showPerson(ctx context.Context, v *visit) (any, error) {
	var out *wire.Person
	var missing error
	v.ask(ctx, "web.person", soon, func(ctx context.Context) error {
		p, err := v.api.People().Show(ctx, v.given["id"])
		if errors.Is(err, wire.ErrNotFound) {
			missing = err
			return nil
		} else if err == nil {
			out, v.about = &p, p.Name
			offerPerson(v, p)
		}
		return err
	})
	v.wait()
	return out, missing
}

// offerPerson names what can be done about a person.
func offerPerson(v *visit, p wire.Person) {
	v.offer("people", p.ID, "grant")
	switch p.State {
	case wire.Invited:
		v.offer("people", p.ID, "invite-again")
		v.offer("people", p.ID, "disable")
	case wire.Active:
		v.offer("people", p.ID, "invite-again")
		v.offer("people", p.ID, "disable")
	case wire.Disabled:
		v.offer("people", p.ID, "enable")
	}
}
