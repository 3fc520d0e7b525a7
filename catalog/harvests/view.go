package harvests

import (
	"cmp"
	"encoding/json"
	"slices"

	"holdfast/catalog/agree"
	"holdfast/harvest/schedule"
)

// View answers questions about the subject; see agree.View.
type View struct{ agree.View }

// NewView returns a View of what r shows.
func NewView(r agree.Reader) View { return View{agree.View{Reader: r}} }

// Channel returns the channel, or ErrNotFound.
func (v View) Channel(name string) (Channel, error) { return agree.Found(channel(v.Reader, name)) }

// Channels returns all channels by name, those that come with the system among them.
func (v View) Channels() ([]Channel, error) {
	all, err := agree.List[Channel](v.Reader, PrefixChannels, "", 0)
	for _, name := range []string{Focused, Snapshot} {
		if !slices.ContainsFunc(all, func(c Channel) bool { return c.Name == name }) {
			all = append(all, implied(name))
		}
	}
	slices.SortFunc(all, func(a, b Channel) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

// Definitions returns all things of the kind by name, those that come with the system among them, as version 0.
func (v View) Definitions(k Kind) ([]Definition, error) {
	all, err := agree.List[Definition](v.Reader, k.prefix(), "", 0)
	if k == Schedule {
		for _, name := range Standard() {
			all = append(all, Definition{Name: name})
		}
		slices.SortFunc(all, func(a, b Definition) int { return cmp.Compare(a.Name, b.Name) })
	}
	return all, err
}

// Definition returns the thing of that name, or ErrNotFound.
func (v View) Definition(k Kind, name string) (Definition, error) {
	if k == Schedule && slices.Contains(Standard(), name) {
		return Definition{Name: name}, nil
	}
	return agree.Found(agree.Get[Definition](v.Reader, k.key(name)))
}

// Text returns the text of a version, or ErrNotFound. Version 0 is that of what comes with the system.
func (v View) Text(k Kind, name string, version int) (Version, string, error) {
	if k == Schedule && version == 0 {
		for _, s := range schedule.Standard() {
			if s.Name == name {
				text, err := json.Marshal(s.Schedule)
				return Version{}, string(text), err
			}
		}
	}
	if version < 1 {
		return Version{}, "", agree.ErrNotFound
	}
	return readText(v.Reader, k, name, version)
}

// Versions returns what is known of the texts of a definition, the oldest first.
func (v View) Versions(k Kind, name string) (out []Version, err error) {
	d, err := v.Definition(k, name)
	if err != nil {
		return nil, err
	}
	for n := max(d.First, 1); n <= d.Version; n++ {
		one, _, err := readText(v.Reader, k, name, n)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}
