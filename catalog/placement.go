package catalog

import (
	"fmt"
	"strings"

	"holdfast/catalog/agree"
)

// encodePlacement writes the version, the holder, a slash and the next node: layouts are read whole and often.
func encodePlacement(p Placement) []byte {
	out := make([]byte, 0, 2+len(p.Holder)+len(p.Next))
	out = append(append(out, agree.ValueVersion), p.Holder...)
	return append(append(out, '/'), p.Next...)
}

func decodePlacement(value []byte) (Placement, error) {
	if len(value) == 0 || value[0] != agree.ValueVersion {
		return Placement{}, fmt.Errorf("placement of %d bytes is not of version %d", len(value), agree.ValueVersion)
	}
	holder, next, ok := strings.Cut(string(value[1:]), "/")
	if !ok {
		return Placement{}, fmt.Errorf("placement %q lacks its slash", value[1:])
	}
	return Placement{Holder: NodeID(holder), Next: NodeID(next)}, nil
}
