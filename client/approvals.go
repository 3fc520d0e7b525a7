package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/api/wire"
)

// Approvals returns what there is to do with acts that wait for a second person.
func (c *Client) Approvals() Approvals { return Approvals{c} }

// Approvals are acts that wait for a second person. Who asks for such an act gets a *wire.Error with the number of the
// proposal in Pending.
type Approvals struct{ c *Client }

// List lists the proposals, oldest first: all that are kept, or those that can still be granted.
func (a Approvals) List(ctx context.Context, waiting bool) ([]wire.Approval, error) {
	return list[wire.Approval](ctx, a.c, url.Values{"waiting": {strconv.FormatBool(waiting)}}, "approvals")
}

// Show shows a proposal, with all that it will do.
func (a Approvals) Show(ctx context.Context, id uint64) (wire.Approval, error) {
	return get[wire.Approval](ctx, a.c, "approvals", number(id))
}

// Grant grants what somebody else proposed: it is carried out at once.
func (a Approvals) Grant(ctx context.Context, id uint64, in wire.ApprovalDecision) (wire.Approval, error) {
	return post[wire.Approval](ctx, a.c, in, "approvals", number(id), "grant")
}

// Deny denies what somebody else proposed.
func (a Approvals) Deny(ctx context.Context, id uint64, in wire.ApprovalDecision) (wire.Approval, error) {
	return post[wire.Approval](ctx, a.c, in, "approvals", number(id), "deny")
}

// Withdraw withdraws the caller's own proposal.
func (a Approvals) Withdraw(ctx context.Context, id uint64, in wire.ApprovalDecision) (wire.Approval, error) {
	return post[wire.Approval](ctx, a.c, in, "approvals", number(id), "withdraw")
}

// Rule shows which acts wait for a second person.
func (a Approvals) Rule(ctx context.Context) (wire.ApprovalRule, error) {
	return get[wire.ApprovalRule](ctx, a.c, "approval-rule")
}

// SetRule changes which acts wait for a second person. While the rule
// names an act, changing the rule waits for a second person, too.
func (a Approvals) SetRule(ctx context.Context, in wire.ApprovalRuleRequest) (wire.ApprovalRule, error) {
	return send[wire.ApprovalRule](ctx, a.c, http.MethodPut, in, "approval-rule")
}
