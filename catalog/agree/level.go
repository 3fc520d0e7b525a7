package agree

// LevelOfGroups is the level from which on several commands may be in one log entry. They are applied one after the
// other: see Table.Apply.
const LevelOfGroups = 3

// Cluster is the cluster's own record.
type Cluster struct {
	ID      string `json:"id"`      // random, chosen when the cluster was founded
	Name    string `json:"name"`    // for people
	Epoch   uint64 `json:"epoch"`   // raised by recovery; members of an older epoch are refused
	Level   int    `json:"level"`   // gates new commands and changed meanings
	Founded Time   `json:"founded"` //
}

// ParseJSON reads the record as the programs write it.
func (k *Cluster) ParseJSON(text []byte) bool {
	c, out := NewScanner(text), Cluster{}
	c.Must(`{"id":`)
	out.ID = c.Text()
	c.Must(`,"name":`)
	out.Name = c.Text()
	c.Must(`,"epoch":`)
	out.Epoch = c.Uint()
	c.Must(`,"level":`)
	out.Level = c.Number()
	c.Must(`,"founded":`)
	out.Founded = c.Time()
	c.Must(`}`)
	if c.Done() {
		*k = out
	}
	return c.Done()
}

// SetCluster changes the cluster's own record.
func (s *State) SetCluster(c Cluster) error {
	s.Cluster = c
	return s.Set(PrefixCluster, c)
}
