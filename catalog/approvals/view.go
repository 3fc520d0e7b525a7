package approvals

import (
	"strconv"

	"holdfast/catalog/agree"
)

// View answers questions about the subject; see agree.View.
type View struct{ agree.View }

// NewView returns a View of what r shows.
func NewView(r agree.Reader) View { return View{agree.View{Reader: r}} }

// Rule returns which acts wait for a second person.
func (r View) Rule() (Rule, error) { return RuleIn(r.Reader) }

// Proposal returns a proposal, or ErrNotFound.
func (r View) Proposal(id uint64) (Proposal, error) {
	return agree.Found(agree.Get[Proposal](r.Reader, keyProposal(id)))
}

// Proposals returns all proposals that are kept, oldest first.
func (r View) Proposals() ([]Proposal, error) {
	return agree.List[Proposal](r.Reader, prefixProposals, "", 0)
}

// Waiting returns the proposals that wait, oldest first; some of them may have expired.
func (r View) Waiting() ([]Proposal, error) {
	ids, err := waiting(r.Reader)
	if err != nil {
		return nil, err
	}
	out := make([]Proposal, 0, len(ids))
	for _, id := range ids {
		p, err := r.Proposal(id)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func waiting(r agree.Reader) ([]uint64, error) {
	tails, err := agree.Tails(r, prefixWaiting, "", 0)
	if err != nil {
		return nil, err
	}
	ids := make([]uint64, len(tails))
	for i, tail := range tails {
		if ids[i], err = strconv.ParseUint(tail, 16, 64); err != nil {
			return nil, err
		}
	}
	return ids, nil
}
