package files

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// ItemResult is the answer to one item of a command with many; Refusal is nil when it was carried out.
type ItemResult struct {
	Name    FileName       `json:"name"`
	Refusal *agree.Refusal `json:"refusal,omitempty"`
}

// ItemResults is the answer to a command with many items.
type ItemResults []ItemResult

// AppendJSON writes the value as encoding/json would.
func (r ItemResults) AppendJSON(out []byte) ([]byte, bool) {
	if r == nil {
		return nil, false
	}
	o := agree.Object{Out: append(out, '[')}
	for i := range r {
		o.When(i > 0, `,`)
		o.Text(`{"name":`, string(r[i].Name))
		o.When(r[i].Refusal != nil, `,`)
		r[i].Refusal.AppendTo(&o)
		o.Raw(`}`)
	}
	return o.EndWith(']')
}

// item makes an item's result of a handler's error: a refusal is the item's, another error the command's.
func item(name FileName, err error) (ItemResult, error) {
	if r, ok := err.(*agree.Refusal); ok {
		return ItemResult{Name: FileName(agree.Clip(string(name), 200)), Refusal: r}, nil
	}
	return ItemResult{Name: name}, err
}

// each carries out a command with many items, one after the other: one that is refused keeps no other from being done.
func each[I any](items []I, name func(*I) FileName, do func(*I) error) (any, error) {
	results := make(ItemResults, len(items))
	var err error
	for i := range items {
		if results[i], err = item(name(&items[i]), do(&items[i])); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// eachOf is each for a command in which a node speaks of its own files.
func eachOf[I any](s *state, node agree.NodeID, items []I, name func(*I) FileName,
	do func(cluster.Member, *I) error) (any, error) {
	if err := agree.CheckItems(len(items)); err != nil {
		return nil, err
	}
	m, err := cluster.Speaker(s.State, node)
	if err != nil {
		return nil, err
	}
	return each(items, name, func(i *I) error { return do(m, i) })
}
