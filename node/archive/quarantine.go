package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/files"
	"holdfast/node/wire"
	"holdfast/replica"
)

// readLimit is how long another node may take to read bytes in its quarantine.
const readLimit = 10 * time.Minute

// ListAside asks every member. One that does not answer is in the list with the reason.
func (s Strays) ListAside(ctx context.Context) ([]api.NodeQuarantine, error) {
	members, err := s.members("")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	request := replica.AsideRequest{Act: "list"}
	own := func(ctx context.Context) (replica.AsideReport, error) { return s.Own.Quarantine(ctx, s.Self, request) }
	replies := wire.AskAll(ctx, s.Ask, s.Self, members, replica.QuarantineCall, request, own)
	out := make([]api.NodeQuarantine, len(members))
	for i, r := range replies {
		one := api.NodeQuarantine{Node: string(r.To.ID), Name: r.To.Name, Files: r.Answer.Files, Bytes: r.Answer.Bytes,
			Fault: r.Answer.Fault, Aside: []api.Aside{}}
		if r.Err != nil {
			one.Unreachable = r.Err.Error()
		}
		for _, a := range r.Answer.Aside {
			shown, err := s.shown(r.To.ID, a)
			if err != nil {
				return nil, err
			}
			one.Aside = append(one.Aside, shown)
		}
		out[i] = one
	}
	return out, nil
}

// ShowAside has the node read the bytes.
func (s Strays) ShowAside(ctx context.Context, node catalog.NodeID, id string) (api.Aside, error) {
	report, err := s.ask(ctx, node, replica.AsideRequest{Act: "show", ID: files.AsideName(id)})
	if err != nil {
		return api.Aside{}, err
	}
	if len(report.Aside) != 1 {
		return api.Aside{}, fmt.Errorf("%w: the node described %d files, not one", api.ErrUnavailable,
			len(report.Aside))
	}
	return s.shown(node, report.Aside[0])
}

// RestoreAside has the node offer the bytes as the source of the file which they are.
func (s Strays) RestoreAside(ctx context.Context, node catalog.NodeID, id string) error {
	_, err := s.ask(ctx, node, replica.AsideRequest{Act: "restore", ID: files.AsideName(id)})
	return err
}

func (s Strays) ask(ctx context.Context, node catalog.NodeID, r replica.AsideRequest) (out replica.AsideReport,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	if node == s.Self {
		out, err = s.Own.Quarantine(ctx, s.Self, r)
	} else {
		out, err = wire.Ask[replica.AsideReport](ctx, s.Ask, node, replica.QuarantineCall, r)
	}
	return out, refusedAside(replica.Understood(err))
}

// refusedAside is a node's answer about bytes that it has set aside, or that are strays, as the API has it.
func refusedAside(err error) error {
	var refusal *catalog.Refusal
	switch {
	case err == nil, errors.As(err, &refusal):
		return err
	case errors.Is(err, replica.ErrNotAside):
		return fmt.Errorf("%w: %w", api.ErrNotFound, err)
	case errors.Is(err, replica.ErrStaysAside):
		return fmt.Errorf("%w: %w", &catalog.Refusal{Code: catalog.Conflict, Message: err.Error()}, err)
	}
	return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
}

// shown is what a node said as the API has it, with how many good copies there are by the catalog here.
func (s Strays) shown(node catalog.NodeID, a replica.Aside) (api.Aside, error) {
	out := api.Aside{ID: string(a.ID), Name: string(a.Name), Path: a.Path, Size: a.Size, Since: a.Since,
		Reason: a.Reason, State: a.State, Kept: a.Kept}
	if !a.SHA256.IsZero() {
		out.SHA256 = a.SHA256.String()
	}
	err := s.Catalog.View(func(v catalog.View) error {
		wishes, err := v.Discards(node, 0)
		if err != nil {
			return err
		}
		out.Going = slices.ContainsFunc(wishes, func(w files.Discarding) bool { return w.Aside == a.ID })
		f, err := v.File(a.Name)
		if errors.Is(err, catalog.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		out.Known = true
		for i := range f.Copies {
			r, err := v.Replica(f.Copies[i].Replica)
			if errors.Is(err, catalog.ErrNotFound) || err == nil && r.Kind != catalog.Bitarchive {
				continue
			}
			if err != nil {
				return err
			}
			keeper, err := v.Keeper(&f, &f.Copies[i])
			if err != nil {
				return err
			}
			if keeper != "" {
				out.Good++
			}
		}
		return nil
	})
	if err != nil {
		return out, fmt.Errorf("look at the copies of %s: %w", a.Name, err)
	}
	return out, nil
}
