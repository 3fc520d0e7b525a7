package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type approvalCmd struct {
	List     approvalListCmd     `cmd:"" help:"List the acts that wait for a second person."`
	Show     approvalShowCmd     `cmd:"" help:"Show a proposal, with all that it will do."`
	Grant    approvalGrantCmd    `cmd:"" help:"Grant what somebody else proposed: it is carried out at once."`
	Deny     approvalDenyCmd     `cmd:"" help:"Deny what somebody else proposed."`
	Withdraw approvalWithdrawCmd `cmd:"" help:"Withdraw your own proposal."`
	Rule     approvalRuleCmd     `cmd:"" help:"Show which acts wait for a second person."`
	SetRule  approvalSetRuleCmd  `cmd:"" name:"set-rule" help:"Change which acts wait for a second person. While the rule names an act, changing the rule waits for a second person, too."`
}

type approvalListCmd struct {
	All bool `help:"Also list proposals that were decided, have expired, or can no longer be granted."`
}

func (c approvalListCmd) Run(a *app) error {
	return ask(a, func(a *app, all []wire.Approval) error {
		return list(a, all, table.Row{"Id", "State", "Act", "Of", "Files", "Size", "Proposed by", "Place", "Until",
			"Reason"},
			func(p wire.Approval) table.Row {
				return table.Row{p.ID, p.State, p.Act, p.Subject, p.Files, size(p.Bytes), p.PersonName, p.Place,
					when(p.Until), p.Reason}
			})
	}, func(ctx context.Context, archive *client.Client) ([]wire.Approval, error) {
		return archive.Approvals().List(ctx, !c.All)
	})
}

type approvalShowCmd struct {
	ID uint64 `arg:"" name:"id" help:"The proposal's number, as approval list prints it."`
}

func (c approvalShowCmd) Run(a *app) error {
	return ask(a, showApproval, func(ctx context.Context, archive *client.Client) (wire.Approval, error) {
		return archive.Approvals().Show(ctx, c.ID)
	})
}

func showApproval(a *app, p wire.Approval) error {
	return a.answer(p, func() error {
		rows := []table.Row{{"Proposal", p.ID}, {"State", p.State}, {"Act", p.Act}, {"Of", p.Subject}}
		for _, effect := range p.Effects {
			rows = append(rows, table.Row{"It will do", effect})
		}
		rows = append(rows, table.Row{"Reason", p.Reason}, table.Row{"Proposed by", p.ByName},
			table.Row{"Person", strings.TrimSpace(p.PersonName + " " + p.Place)}, table.Row{"Made", when(p.Made)},
			table.Row{"Until", when(p.Until)})
		if p.OtherPlace {
			rows = append(rows, table.Row{"Needs", "a person of another place than " + p.Place})
		}
		for _, name := range slices.Sorted(maps.Keys(p.Parameters)) {
			rows = append(rows, table.Row{"Parameter " + name, fmt.Sprint(p.Parameters[name])})
		}
		if !p.Decided.IsZero() {
			rows = append(rows, table.Row{"Decided", when(p.Decided)}, table.Row{"By", p.DecidedByName},
				table.Row{"Why", p.Why})
		}
		return a.table(nil, rows)
	})
}

type approvalGrantCmd struct {
	ID     uint64 `arg:"" name:"id" help:"The proposal's number, as approval list prints it."`
	Reason string `help:"Reason, written into the audit trail."`
	Yes    bool   `help:"Grant without asking. Otherwise the command says what would happen, and asks at a terminal."`
}

// Help says who grants.
func (approvalGrantCmd) Help() string {
	return "You cannot grant what you, or a program of yours, proposed, with any token. Programs and the local token " +
		"of a node grant\nnothing. If its subject has changed since then, it has to be proposed again."
}

func (approvalGrantCmd) exits() []string {
	return []string{"0   it was granted, and has been carried out",
		"1   refused: it is your own, has expired, was decided already, or what it is about has changed; " +
			"nothing was done"}
}

func (c approvalGrantCmd) Run(a *app) error {
	return ask(a, showApproval, func(ctx context.Context, archive *client.Client) (wire.Approval, error) {
		p, err := archive.Approvals().Show(ctx, c.ID)
		if err != nil {
			return p, err
		}
		err = a.confirmed(c.Yes, func(confirm string) error {
			if confirm != "" {
				p, err = archive.Approvals().Grant(ctx, c.ID, wire.ApprovalDecision{Sum: confirm, Reason: c.Reason})
				return err
			}
			return &wire.Error{Code: wire.CodeUnconfirmed, Fields: p.Effects, Confirm: p.Sum}
		})
		return p, err
	})
}

type approvalDenyCmd struct {
	ID     uint64 `arg:"" name:"id" help:"The proposal's number, as approval list prints it."`
	Reason string `required:"" help:"Reason, written into the audit trail."`
}

func (c approvalDenyCmd) Run(a *app) error {
	return ask(a, showApproval, func(ctx context.Context, archive *client.Client) (wire.Approval, error) {
		p, err := archive.Approvals().Show(ctx, c.ID)
		if err != nil {
			return p, err
		}
		return archive.Approvals().Deny(ctx, c.ID, wire.ApprovalDecision{Sum: p.Sum, Reason: c.Reason})
	})
}

type approvalWithdrawCmd struct {
	ID     uint64 `arg:"" name:"id" help:"The proposal's number, as approval list prints it."`
	Reason string `help:"Reason, written into the audit trail."`
}

func (c approvalWithdrawCmd) Run(a *app) error {
	return ask(a, showApproval, func(ctx context.Context, archive *client.Client) (wire.Approval, error) {
		p, err := archive.Approvals().Show(ctx, c.ID)
		if err != nil {
			return p, err
		}
		return archive.Approvals().Withdraw(ctx, c.ID, wire.ApprovalDecision{Sum: p.Sum, Reason: c.Reason})
	})
}

type approvalRuleCmd struct{}

func (approvalRuleCmd) Run(a *app) error {
	return ask(a, showRule, func(ctx context.Context, archive *client.Client) (wire.ApprovalRule, error) {
		return archive.Approvals().Rule(ctx)
	})
}

func showRule(a *app, r wire.ApprovalRule) error {
	return a.answer(r, func() error {
		if len(r.Acts) == 0 {
			_, err := fmt.Fprintln(a.stdout, "Nothing waits for a second person.")
			return err
		}
		return a.table(nil, []table.Row{{"These acts wait", strings.Join(r.Acts, ", ")},
			{"For a person of another place", r.OtherPlace}, {"For at most", r.Limit}, {"Set by", r.ByName},
			{"Set", when(r.At)}})
	})
}

type approvalSetRuleCmd struct {
	Act        []string `enum:"file-remove,file-lost,file-checksum,copy-replace,copy-state,node-lost,replica-remove,replica-narrow,quarantine-delete" placeholder:"ACT" help:"An act that waits; may be repeated: ${enum}."`
	None       bool     `help:"No act waits any more."`
	OtherPlace bool     `help:"The second person has to be of another institution than the first."`
	Limit      string   `default:"168h" help:"How long a proposal waits: 1h to 2160h."`
	Reason     string   `required:"" help:"Reason, written into the audit trail."`
}

func (approvalSetRuleCmd) exits() []string {
	return []string{"0   the rule is set",
		"1   refused, or the change waits for a second person: the message has the number of the proposal"}
}

func (c approvalSetRuleCmd) Run(a *app) error {
	if c.None == (len(c.Act) > 0) {
		return usage("give the acts that wait with --act, or --none")
	}
	return ask(a, showRule, func(ctx context.Context, archive *client.Client) (wire.ApprovalRule, error) {
		now, err := archive.Approvals().Rule(ctx)
		if err != nil {
			return now, err
		}
		return archive.Approvals().SetRule(ctx, wire.ApprovalRuleRequest{Acts: append([]string{}, c.Act...),
			OtherPlace: c.OtherPlace, Limit: c.Limit, Version: now.Version, Reason: c.Reason})
	})
}
