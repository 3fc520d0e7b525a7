package jobs

import "holdfast/catalog/agree"

// The channels that come with the system: the defaults of their kinds.
const (
	Focused  = "FOCUSED"  // jobs of selective and event harvests, and those made by hand
	Snapshot = "SNAPSHOT" // jobs of snapshot harvests
)

// CheckChannel refuses what cannot be a channel's name: 1 to 64 letters, digits and underscores.
func CheckChannel(name string) error {
	ok := name != "" && len(name) <= 64
	for i := range len(name) {
		c := name[i]
		ok = ok && (c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z')
	}
	if !ok {
		return agree.Refuse(agree.Invalid, "channel %q: want 1 to 64 letters, digits and underscores",
			agree.Clip(name, 64))
	}
	return nil
}
