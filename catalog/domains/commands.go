package domains

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/jobs"
)

// Rules are the subject's commands.
var Rules = []agree.Rule{
	{Kind: Create, Level: Level, Do: agree.With(create)},
	{Kind: Set, Level: Level, Do: agree.With(set)},
	{Kind: SetAlias, Level: Level, Do: agree.With(setAlias)},
	{Kind: Remove, Level: Level, Do: agree.With(remove)},
	{Kind: SetConfiguration, Level: Level, Do: agree.With(setConfiguration)},
	{Kind: RemoveConfiguration, Level: Level, Do: agree.With(removeConfiguration)},
	{Kind: AddText, Level: Level, Do: agree.With(addText)},
	{Kind: SetList, Level: Level, Do: agree.With(setList)},
	{Kind: RemoveList, Level: Level, Do: agree.With(removeList)},
	{Kind: SetField, Level: Level, Do: agree.With(setField)},
	{Kind: RemoveField, Level: Level, Do: agree.With(removeField)},
	{Kind: SetSettings, Level: Level, Do: agree.With(setSettings)},
	{Kind: BeginIngest, Level: Level, Do: agree.With(beginIngest)},
	{Kind: AddIngested, Level: Level, Do: agree.With(addIngested)},
	{Kind: EndIngest, Level: Level, Do: agree.With(endIngest)},
	{Kind: StopIngest, Level: Level, Do: agree.With(stopIngest)},
}

// The kinds of commands and their bodies.
const (
	Create              agree.Kind = "domain.create"      // Creation
	Set                 agree.Kind = "domain.set"         // Change
	SetAlias            agree.Kind = "domain.alias"       // Aliasing
	Remove              agree.Kind = "domain.remove"      // Ref: some of what it has with each command
	SetConfiguration    agree.Kind = "domain.configure"   // Configuring
	RemoveConfiguration agree.Kind = "domain.unconfigure" // PartRef
	AddText             agree.Kind = "domain.text"        // TextAddition
	SetList             agree.Kind = "domain.list"        // Listing
	RemoveList          agree.Kind = "domain.unlist"      // PartRef, of a seed list
	SetField            agree.Kind = "field.set"          // Field
	RemoveField         agree.Kind = "field.remove"       // FieldRef
	SetSettings         agree.Kind = "domain.settings"    // SettingsChange
	BeginIngest         agree.Kind = "ingest.begin"       // IngestBeginning
	AddIngested         agree.Kind = "ingest.add"         // IngestChunk
	EndIngest           agree.Kind = "ingest.end"         // IngestEnding
	StopIngest          agree.Kind = "ingest.stop"        // IngestStop
)

// Creation makes a domain.
type Creation struct {
	Name       Name                   `json:"name"`
	Collection cluster.CollectionName `json:"collection"`
	Owner      string                 `json:"owner,omitempty"`
	Comments   string                 `json:"comments,omitempty"`
	Fields     []FieldValue           `json:"fields,omitempty"` // by name
}

// Change changes a domain; nil fields stay as they are. It is refused if the domain has another version by now.
type Change struct {
	Name       Name                    `json:"name"`
	Version    uint64                  `json:"version"`
	Collection *cluster.CollectionName `json:"collection,omitempty"`
	Default    *string                 `json:"default,omitempty"`
	Owner      *string                 `json:"owner,omitempty"`
	Comments   *string                 `json:"comments,omitempty"`
	Fields     *[]FieldValue           `json:"fields,omitempty"` // all of them
}

// Aliasing makes a domain an alias of another, renews the alias, or with no domain in Of ends it.
type Aliasing struct {
	Name  Name       `json:"name"`
	Of    Name       `json:"of,omitempty"`
	Until agree.Time `json:"until,omitempty"`
}

// Ref names a domain, and says why.
type Ref struct {
	Name   Name   `json:"name"`
	Reason string `json:"reason,omitempty"`
}

// PartRef names what a domain has.
type PartRef struct {
	Domain Name   `json:"domain"`
	Name   string `json:"name"`
	Reason string `json:"reason,omitempty"`
}

// Configuring makes or changes a configuration. Version is the one that it is made of, 0 for none. Settings are the
// ones that there are if nil, and the secret with them.
type Configuring struct {
	Domain   Name         `json:"domain"`
	Name     string       `json:"name"`
	Version  uint64       `json:"version,omitempty"`
	Template string       `json:"template"`
	Lists    []string     `json:"lists"`
	Objects  *int64       `json:"objects,omitempty"`
	Bytes    *int64       `json:"bytes,omitempty"`
	Comments string       `json:"comments,omitempty"`
	Settings *string      `json:"settings,omitempty"`
	Secret   *jobs.Secret `json:"secret,omitempty"` // that Settings refer to
}

// TextAddition adds a part to the text of a list that does not count yet. The first part begins the text again.
type TextAddition struct {
	Domain Name     `json:"domain"`
	Kind   ListKind `json:"kind"`
	List   string   `json:"list"`
	Upload string   `json:"upload"` // chosen by who proposes, for all parts of the text
	Number int      `json:"number"` // from 1
	Text   string   `json:"text"`
}

// Listing makes a text the next version of a list: Text itself, or with Upload the parts that were added. Version is
// the one that there is, 0 for none. An empty list of traps is no list.
type Listing struct {
	Domain   Name         `json:"domain"`
	Kind     ListKind     `json:"kind"`
	Name     string       `json:"name"`
	Version  uint64       `json:"version,omitempty"`
	Text     string       `json:"text,omitempty"`
	Upload   string       `json:"upload,omitempty"`
	Parts    int          `json:"parts,omitempty"`
	Items    int          `json:"items"`
	Sum      agree.Digest `json:"sum"` // of its parts; see SumOf
	Comments string       `json:"comments,omitempty"`
}

// FieldRef names an extended field.
type FieldRef struct {
	Of     FieldOf `json:"of"`
	Name   string  `json:"name"`
	Reason string  `json:"reason,omitempty"`
}

// SettingsChange replaces the settings of domains. Version is the one that there is, 0 for none.
type SettingsChange struct {
	Version uint64 `json:"version,omitempty"`
	Text    string `json:"text"`
}

// IngestBeginning begins an ingest by a node that has the list.
type IngestBeginning struct {
	ID         string                 `json:"id"`
	Collection cluster.CollectionName `json:"collection"`
	Node       agree.NodeID           `json:"node"`
	Size       int64                  `json:"size"`
	SHA256     agree.Digest           `json:"sha256"`
}

// IngestChunk brings the domains of some lines into the catalog. Seq is one more than the ingest has: a chunk that was
// carried out changes nothing, and another one is refused.
type IngestChunk struct {
	ID    string       `json:"id"`
	Node  agree.NodeID `json:"node"`
	Seq   uint64       `json:"seq"`
	Line  int64        `json:"line"` // that was read last
	At    int64        `json:"at"`   // bytes of the list that were read
	Names []Name       `json:"names,omitempty"`
	Bad   []BadLine    `json:"bad,omitempty"`
}

// IngestEnding ends an ingest whose list was read, or that cannot go on.
type IngestEnding struct {
	ID     string       `json:"id"`
	Node   agree.NodeID `json:"node"`
	Seq    uint64       `json:"seq"`
	Failed bool         `json:"failed,omitempty"`
	Reason string       `json:"reason,omitempty"`
}

// IngestStop stops an ingest. What it made stays.
type IngestStop struct {
	ID     string `json:"id"`
	Reason string `json:"reason,omitempty"`
}
