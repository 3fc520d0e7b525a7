package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/agree"
	agreed "holdfast/catalog/approvals"
	rights "holdfast/catalog/people"
)

// approvals are the acts that wait for a second person. What waits is said by the catalog alone: an act that is refused
// because it waits is proposed in its place, see server.propose.
type approvals struct{ *server }

func (s approvals) routes(api huma.API) {
	type list struct {
		Waiting bool `query:"waiting" doc:"list only those that can still be granted"`
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/approvals",
		id: "approval-list", tag: "approvals",
		summary: "List the acts that wait for a second person, or have waited, oldest first"},
		func(_ context.Context, in *list) (wire.Page[wire.Approval], error) { return whole(s.list(in.Waiting)) })
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/approvals/{id}",
		id: "approval-show", tag: "approvals", summary: "Show a proposal, with all that it will do"},
		func(_ context.Context, in *ByID) (wire.Approval, error) { return s.show(in.ID) })
	type decision struct {
		ByID
		Body wire.ApprovalDecision
	}
	for _, r := range []struct {
		verb, summary string
		act           catalog.Act
		kind          catalog.Kind
	}{
		{"grant", "Grant what somebody else proposed: it is carried out at once", rights.Approve, agreed.Grant},
		{"deny", "Deny what somebody else proposed", rights.Approve, agreed.Deny},
		{"withdraw", "Withdraw your own proposal", catalog.KeepOwn, agreed.Withdraw},
	} {
		handle(s.server, api, route{act: r.act, method: http.MethodPost, path: "/api/v1/approvals/{id}/" + r.verb,
			id: "approval-" + r.verb, tag: "approvals", once: true, summary: r.summary, limit: soleTime},
			func(ctx context.Context, in *decision) (wire.Approval, error) {
				return s.settle(ctx, r.kind, in.ID, in.Body)
			})
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/approval-rule",
		id: "approval-rule", tag: "approvals", summary: "Show which acts wait for a second person"},
		func(context.Context, *struct{}) (wire.ApprovalRule, error) { return s.rule() })
	type change struct{ Body wire.ApprovalRuleRequest }
	handle(s.server, api, route{act: rights.Approve, method: http.MethodPut, path: "/api/v1/approval-rule",
		id: "approval-set-rule", tag: "approvals", once: true,
		summary: "Change which acts wait for a second person. While any act does, this change waits too"},
		func(ctx context.Context, in *change) (wire.ApprovalRule, error) { return s.setRule(ctx, in.Body) })
}

func (s approvals) list(waiting bool) (out []wire.Approval, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		all, err := catalog.ApprovalsIn(v).Proposals()
		if waiting && err == nil {
			all, err = catalog.ApprovalsIn(v).Waiting()
		}
		if err != nil {
			return err
		}
		for i := range all {
			one, err := s.approvalOf(v, &all[i])
			if err != nil {
				return err
			}
			if !waiting || one.State == "waiting" {
				out = append(out, one)
			}
		}
		return nil
	})
	return out, err
}

func (s approvals) show(id uint64) (out wire.Approval, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		p, err := catalog.ApprovalsIn(v).Proposal(id)
		if errors.Is(err, catalog.ErrNotFound) {
			return fmt.Errorf("proposal %d: %w", id, ErrNotFound)
		}
		if err == nil {
			out, err = s.approvalOf(v, &p)
		}
		return err
	})
	return out, err
}

func (s approvals) settle(ctx context.Context, kind catalog.Kind, id uint64,
	in wire.ApprovalDecision) (wire.Approval, error) {
	d := agreed.Decision{ID: id, Reason: in.Reason}
	if err := d.Sum.UnmarshalText([]byte(in.Sum)); err != nil {
		return wire.Approval{}, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, "sum: "+err.Error())
	}
	if kind == agreed.Grant {
		if err := soles(s).still(ctx, id); err != nil {
			return wire.Approval{}, err
		}
	}
	if err := s.decide(ctx, kind, d, nil); err != nil {
		return wire.Approval{}, err
	}
	return s.show(id)
}

// approvalOf is how the API shows a proposal.
func (s approvals) approvalOf(v catalog.View, p *agreed.Proposal) (wire.Approval, error) {
	out := wire.Approval{ID: p.ID, State: string(p.State), Act: string(p.Class), Subject: p.Subject, Replica: p.Replica,
		Files: p.Files, Bytes: p.Bytes, Command: string(p.Kind), Reason: p.Reason, By: p.By,
		Person: string(p.Person), Place: p.Place, OtherPlace: p.OtherPlace, Made: std(p.Made), Until: std(p.Until),
		Sum: p.Sum.String(), Decided: std(p.Decided), DecidedBy: p.DecidedBy, Why: p.Why, Parameters: map[string]any{}}
	if !p.SHA256.IsZero() {
		out.SHA256 = p.SHA256.String()
	}
	if err := json.Unmarshal(p.Body, &out.Parameters); err != nil {
		return out, fmt.Errorf("read proposal %d: %w", p.ID, err)
	}
	out.Effects = effectsOfProposal(p, out.Parameters)
	if p.State == agreed.Waiting {
		now, err := catalog.PeopleIn(v).Now(catalog.At(s.now()))
		if err != nil {
			return out, err
		}
		same, err := catalog.StillMeant(v, p)
		switch {
		case err != nil:
			return out, err
		case p.Late(now):
			out.State = "expired"
		case !same:
			out.State = "stale"
		}
	}
	var err error
	name := func(actor string) (text string) {
		if err == nil && actor != "" {
			text, err = catalog.PeopleIn(v).ActorName(actor)
		}
		return text
	}
	out.ByName, out.PersonName, out.DecidedByName = name(p.By), name(p.Person.Actor()), name(p.DecidedBy)
	return out, err
}

// effectsOfProposal says what a proposal will do.
func effectsOfProposal(p *agreed.Proposal, parameters map[string]any) []string {
	file := fmt.Sprintf("file %s of %d bytes, SHA-256 %s", p.Subject, p.Bytes, p.SHA256)
	switch p.Class {
	case agreed.FileRemove:
		if p.Days > 0 {
			return []string{file + ", is removed: nobody is given it any more",
				fmt.Sprintf("it can be restored for %d days; then its copies are deleted", p.Days),
				"its name stays and cannot be used again"}
		}
		return []string{file + ", is removed for ever", "its name stays as a tombstone and cannot be used again"}
	case agreed.FileLost:
		return []string{file + ", is declared lost: nobody owes copies of it any more"}
	case agreed.FileChecksum:
		return []string{file + ", gets SHA-256 " + fmt.Sprint(parameters["sha256"]),
			"copies with other bytes are set aside when they are read again"}
	case agreed.CopyReplace:
		return []string{"of " + file + ", the copy in replica " + p.Replica + " with SHA-256 " +
			fmt.Sprint(parameters["sha256"]) + " is set aside and made again"}
	case agreed.CopyState:
		return []string{"of " + file + ", the copy in replica " + p.Replica + " is owed again, as " +
			fmt.Sprint(parameters["state"])}
	case agreed.NodeLost:
		return []string{fmt.Sprintf("node %s is removed, and what lies on it counts as lost", p.Subject),
			fmt.Sprintf("its %d shards go to other nodes of replica %s, which had %d files of %d bytes in all",
				p.Shards, p.Replica, p.Files, p.Bytes),
			fmt.Sprintf("%d files had no good copy elsewhere when this was proposed: they are lost", sole(parameters))}
	case agreed.ReplicaRemove:
		return []string{fmt.Sprintf("replica %s is removed, and its %d files of %d bytes are not to be held there",
			p.Subject, p.Files, p.Bytes)}
	case agreed.ReplicaNarrow:
		return []string{fmt.Sprintf("replica %s is not to hold %d files of %d bytes any more", p.Subject, p.Files,
			p.Bytes), fmt.Sprintf("it holds the collections %v from then on", parameters["collections"])}
	case agreed.AsideDelete:
		return []string{fmt.Sprintf("the bytes set aside as %s, SHA-256 %s, are deleted for ever", p.Subject, p.SHA256),
			"the node reads them first, and keeps them if they are others, or may be the only ones of a file"}
	case agreed.RuleChange:
		if acts, some := parameters["acts"].([]any); some && len(acts) > 0 {
			return []string{fmt.Sprintf("these acts wait for a second person from then on, and no others: %v", acts),
				fmt.Sprintf("of another place: %t", parameters["otherPlace"] == true)}
		}
		return []string{"NOTHING WAITS FOR A SECOND PERSON ANY MORE"}
	}
	return []string{string(p.Class) + " of " + p.Subject}
}

func (s approvals) rule() (out wire.ApprovalRule, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		r, err := catalog.ApprovalsIn(v).Rule()
		if err != nil {
			return err
		}
		out = wire.ApprovalRule{Acts: append([]string{}, kindOf[string](r.Acts)...), OtherPlace: r.OtherPlace,
			Version: r.Version, By: r.By, At: std(r.At)}
		if r.Limit != 0 {
			out.Limit = (time.Duration(r.Limit) * time.Millisecond).String()
		}
		if r.By != "" {
			out.ByName, err = catalog.PeopleIn(v).ActorName(r.By)
		}
		return err
	})
	return out, err
}

func (s approvals) setRule(ctx context.Context, in wire.ApprovalRuleRequest) (wire.ApprovalRule, error) {
	asked := agreed.Setting{Acts: kindOf[agreed.Class](in.Acts), OtherPlace: in.OtherPlace, Version: in.Version,
		Reason: in.Reason}
	if in.Limit != "" {
		limit, err := time.ParseDuration(in.Limit)
		if err != nil {
			return wire.ApprovalRule{}, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, "limit: "+err.Error())
		}
		asked.Limit = catalog.Time(limit.Milliseconds())
	}
	if err := s.decide(ctx, agreed.Set, asked, nil); err != nil {
		return wire.ApprovalRule{}, err
	}
	return s.rule()
}

// proposeAct keeps an act that waits for a second person, in the caller's name, and returns what is answered then: that
// it was not done.
func (s *server) proposeAct(ctx context.Context, g *guard, act catalog.Kind, of any) error {
	text, err := agree.AppendJSON(nil, of)
	if err != nil {
		return fmt.Errorf("encode the command %s: %w", act, err)
	}
	proposal := *g
	if g.once != "" { // what was proposed is not what was asked for: a retry is not answered that it was carried out
		proposal.once = digestOf(g.once, "proposal")
	}
	kind, body, err := proposal.wrap(agreed.Propose, agreed.Proposing{Kind: act, Body: text})
	if err != nil {
		return err
	}
	result, err := s.Catalog.Propose(ctx, kind, body, callerOf(ctx).Actor)
	if err != nil {
		return err
	}
	return agreed.PendingOf(result)
}

// pending is the answer to who asked for an act that waits for a second person.
func pending(p *agreed.Pending) *huma.ErrorModel {
	out := problem(http.StatusConflict, wire.CodePending, p.Error())
	out.Errors = append(out.Errors, &huma.ErrorDetail{Message: "the proposal", Location: wire.ApprovalField,
		Value: strconv.FormatUint(p.ID, 10)})
	return out
}
