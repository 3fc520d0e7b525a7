// Package domains is the subject of what archivists keep about sites: domains, with their configurations, seed lists,
// crawler traps, aliases and extended fields, and the ingest of long lists of domains. It is pure and deterministic.
//
// Values that settings, lists of public suffixes or expressions describe are text here: who proposes a command has
// checked them, and the catalog looks at their form and size alone.
package domains

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// Level is the level of a cluster that keeps domains.
const Level = 4

// Name is a domain as it is kept: in small letters, in ASCII.
type Name string

// What every domain has, until something else is said of it.
const (
	DefaultConfiguration = "defaultconfig"
	DefaultSeedList      = "defaultseeds"
)

// Domain is what is known of a domain. One of which nothing was said is this alone: it has an implied configuration
// DefaultConfiguration and an implied seed list DefaultSeedList, as the settings say.
type Domain struct {
	Name       Name                   `json:"name"`
	Collection cluster.CollectionName `json:"collection"`
	Index      uint64                 `json:"index"` // of the command that made it
	Created    agree.Time             `json:"created"`

	Version        uint64       `json:"version,omitempty"` // grows with each change of this value
	Default        string       `json:"default,omitempty"` // configuration; empty: DefaultConfiguration
	Owner          string       `json:"owner,omitempty"`
	Comments       string       `json:"comments,omitempty"`
	Fields         []FieldValue `json:"fields,omitempty"` // by name
	Alias          *Alias       `json:"alias,omitempty"`
	Configurations int          `json:"configurations,omitempty"` // of its own
	Lists          int          `json:"lists,omitempty"`          // of its own, of seeds
	Removing       bool         `json:"removing,omitempty"`       // what it has is being removed
}

// DefaultName returns the name of the domain's default configuration.
func (d *Domain) DefaultName() string {
	if d.Default == "" {
		return DefaultConfiguration
	}
	return d.Default
}

// Alias says that a domain is another name of a domain: snapshots leave it out until the alias expires.
type Alias struct {
	Of    Name       `json:"of"`
	Since agree.Time `json:"since"` // it was made or renewed
	Until agree.Time `json:"until"`
}

// Configuration is one way in which a domain is harvested. Limits are absent for no limit; 0 means that nothing may be
// fetched.
type Configuration struct {
	Domain   Name       `json:"domain"`
	Name     string     `json:"name"`
	Template string     `json:"template"`
	Lists    []string   `json:"lists"` // of seeds, in order
	Objects  *int64     `json:"objects,omitempty"`
	Bytes    *int64     `json:"bytes,omitempty"`
	Settings string     `json:"settings,omitempty"` // laid over the template: JSON that the catalog does not read
	Secret   string     `json:"secret,omitempty"`   // id of the jobs.Secret that the settings refer to
	Comments string     `json:"comments,omitempty"`
	Index    uint64     `json:"index"` // of the command that made it
	Version  uint64     `json:"version"`
	Changed  agree.Time `json:"changed"`
}

// ListKind says what a list is of.
type ListKind string

// The kinds of lists.
const (
	Seeds ListKind = "seeds"
	Traps ListKind = "traps" // a domain has one, of this name
)

// List is a list of seeds or of crawler traps. Its text is kept in parts. Each change makes a version; texts of
// earlier versions stay.
type List struct {
	Domain   Name         `json:"domain"`
	Kind     ListKind     `json:"kind"`
	Name     string       `json:"name"`
	Version  uint64       `json:"version"`
	Parts    int          `json:"parts"`
	Items    int          `json:"items"` // lines that say something
	Bytes    int64        `json:"bytes"`
	Sum      agree.Digest `json:"sum"` // of its parts; see SumOf
	Comments string       `json:"comments,omitempty"`
	Changed  agree.Time   `json:"changed"`
	Removed  agree.Time   `json:"removed,omitempty"` // it is kept so that no version is given twice
}

// FieldOf says what an extended field is of.
type FieldOf string

// What can have extended fields.
const (
	OfDomains  FieldOf = "domain"
	OfHarvests FieldOf = "harvest"
)

// FieldType is the type of an extended field's values.
type FieldType string

// The types of extended fields.
const (
	TextField    FieldType = "text"
	NumberField  FieldType = "number" // with or without a fraction
	DateField    FieldType = "date"   // such as 2026-11-20
	BooleanField FieldType = "boolean"
)

// Field is a field that the institutions define for domains or harvests.
type Field struct {
	Of        FieldOf   `json:"of"`
	Name      string    `json:"name"`
	Type      FieldType `json:"type"`
	Mandatory bool      `json:"mandatory,omitempty"`
	Comments  string    `json:"comments,omitempty"`
}

// FieldValue is the value of an extended field.
type FieldValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Settings are the settings of domains, as text.
type Settings struct {
	Version uint64     `json:"version"`
	Text    string     `json:"text"` // JSON that the catalog does not read
	Changed agree.Time `json:"changed"`
}
