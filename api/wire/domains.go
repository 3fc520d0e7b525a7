package wire

import (
	"time"

	"holdfast/harvest"
)

// Overlay has values for settings of a crawl, by name.
type Overlay harvest.Patch

// Alias says that a domain is another name of a domain: snapshots leave it out until the alias expires.
type Alias struct {
	Of      string    `json:"of" doc:"the domain"`
	Since   time.Time `json:"since" doc:"it was made or renewed"`
	Until   time.Time `json:"until" doc:"it expires"`
	Expired bool      `json:"expired,omitempty"`
}

// Domain is what is known of a domain. Lists of domains leave out what it has.
type Domain struct {
	Name           string            `json:"name" doc:"in small letters, in ASCII"`
	Collection     string            `json:"collection"`
	Created        time.Time         `json:"created"`
	Index          uint64            `json:"index" doc:"of the decision that made it"`
	Version        uint64            `json:"version" doc:"grows with each change"`
	Owner          string            `json:"owner,omitempty"`
	Comments       string            `json:"comments,omitempty"`
	Default        string            `json:"default" doc:"name of the default configuration"`
	Fields         map[string]string `json:"fields,omitempty" doc:"values of extended fields"`
	Missing        []string          `json:"missing,omitempty" doc:"mandatory fields without a value"`
	Alias          *Alias            `json:"alias,omitempty"`
	Aliases        []string          `json:"aliases,omitempty" doc:"domains that are aliases of it, the first 100"`
	Configurations []Configuration   `json:"configurations,omitempty"`
	Seeds          []List            `json:"seeds,omitempty" doc:"seed lists"`
	Traps          *List             `json:"traps,omitempty" doc:"crawler traps"`
	Removing       bool              `json:"removing,omitempty" doc:"it is being removed"`
}

// DomainRequest makes a domain.
type DomainRequest struct {
	Name       string            `json:"name" minLength:"1" maxLength:"300" doc:"such as example.org"`
	Collection string            `json:"collection,omitempty" maxLength:"64" doc:"default: the cluster's first"`
	Owner      string            `json:"owner,omitempty" maxLength:"200"`
	Comments   string            `json:"comments,omitempty" maxLength:"4000"`
	Fields     map[string]string `json:"fields,omitempty" doc:"values of extended fields"`
}

// DomainChange changes a domain; what is not given stays.
type DomainChange struct {
	Version    *uint64           `json:"version,omitempty" doc:"refuse the change if the domain has another version by now"`
	Collection *string           `json:"collection,omitempty" maxLength:"64"`
	Owner      *string           `json:"owner,omitempty" maxLength:"200"`
	Comments   *string           `json:"comments,omitempty" maxLength:"4000"`
	Default    *string           `json:"default,omitempty" maxLength:"64" doc:"name of the default configuration"`
	Fields     map[string]string `json:"fields,omitempty" doc:"new values of extended fields; an empty one takes the value away"`
}

// AliasRequest makes a domain an alias of another one for as long as the settings say, renews it, or ends it.
type AliasRequest struct {
	Of string `json:"of,omitempty" maxLength:"300" doc:"the domain; none: it is no alias any more"`
}

// Configuration is one way in which a domain is harvested.
type Configuration struct {
	Name     string        `json:"name"`
	Template string        `json:"template"`
	Seeds    []string      `json:"seeds" doc:"names of seed lists"`
	Objects  harvest.Limit `json:"objects" doc:"limit on objects; null is no limit, 0 means that nothing may be fetched"`
	Bytes    harvest.Limit `json:"bytes" doc:"limit on bytes; null is no limit, 0 means that nothing may be fetched"`
	Settings Overlay       `json:"settings,omitzero" doc:"laid over those of the template, without secrets"`
	Sealed   []string      `json:"sealed,omitempty" doc:"secrets of the settings: passwords, cookies, logins"`
	Comments string        `json:"comments,omitempty"`
	Default  bool          `json:"default,omitempty" doc:"it is the domain's default"`
	Implied  bool          `json:"implied,omitempty" doc:"nothing was said of it: it is as the settings of domains say"`
	Index    uint64        `json:"index" doc:"of the decision that made it"`
	Version  uint64        `json:"version" doc:"grows with each change"`
	Problem  string        `json:"problem,omitempty" doc:"why the settings cannot be shown"`
}

// ConfigurationChange makes a configuration, or changes it; what is not given stays.
type ConfigurationChange struct {
	Version  *uint64   `json:"version,omitempty" doc:"refuse the change if the configuration has another version by now"`
	Template *string   `json:"template,omitempty" maxLength:"64"`
	Seeds    *[]string `json:"seeds,omitempty" maxItems:"50" doc:"names of seed lists"`
	Objects  *int64    `json:"objects,omitempty" minimum:"0" doc:"limit on objects; 0 means that nothing may be fetched"`
	Bytes    *int64    `json:"bytes,omitempty" minimum:"0" doc:"limit on bytes; 0 means that nothing may be fetched"`
	NoLimit  []string  `json:"no_limit,omitempty" enum:"objects,bytes" maxItems:"2" doc:"limits to take away"`
	Settings Overlay   `json:"settings,omitzero" doc:"to be laid over those of the template, in place of those that were"`
	Comments *string   `json:"comments,omitempty" maxLength:"4000"`
}

// List is a list of seeds or of crawler traps.
type List struct {
	Name     string    `json:"name"`
	Version  uint64    `json:"version" doc:"grows with each change; earlier versions stay"`
	Items    int       `json:"items" doc:"lines that say something"`
	Bytes    int64     `json:"bytes"`
	Comments string    `json:"comments,omitempty"`
	Changed  time.Time `json:"changed"`
	Implied  bool      `json:"implied,omitempty" doc:"nothing was said of it: it is as the settings of domains say"`
}

// Field is an extended field of domains or of harvests.
type Field struct {
	Of        string `json:"of" enum:"domain,harvest"`
	Name      string `json:"name" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$"`
	Type      string `json:"type" enum:"text,number,date,boolean" doc:"it cannot be changed later"`
	Mandatory bool   `json:"mandatory,omitempty" doc:"a domain that is made or changed by hand needs a value"`
	Comments  string `json:"comments,omitempty" maxLength:"4000"`
}

// DomainSettings are the settings of domains.
type DomainSettings struct {
	Version  uint64 `json:"version" doc:"grows with each change; 0: nothing was changed"`
	Settings any    `json:"settings"`
}

// IngestState says how far an ingest is.
type IngestState string

// The states of an ingest.
const (
	IngestRunning IngestState = "running"
	IngestDone    IngestState = "done"
	IngestStopped IngestState = "stopped"
	IngestFailed  IngestState = "failed"
)

// Ingest is a list of domains that is brought in.
type Ingest struct {
	ID         string      `json:"id"`
	Collection string      `json:"collection"`
	Node       string      `json:"node" doc:"has the list and reads it"`
	By         string      `json:"by"`
	Size       int64       `json:"size" doc:"of the list, in bytes"`
	SHA256     string      `json:"sha256"`
	State      IngestState `json:"state" enum:"running,done,stopped,failed"`
	Reason     string      `json:"reason,omitempty" doc:"of the state"`
	Began      time.Time   `json:"began"`
	Ended      time.Time   `json:"ended,omitzero"`
	Lines      int64       `json:"lines" doc:"read so far"`
	Read       int64       `json:"read" doc:"bytes of the list that were read so far"`
	Made       int64       `json:"made" doc:"domains"`
	Known      int64       `json:"known" doc:"lines with domains that were there"`
	Bad        int64       `json:"bad" doc:"lines that are not the name of a domain"`
}

// BadLine is a line of a list that is not the name of a domain.
type BadLine struct {
	Line   int64  `json:"line" doc:"its number, from 1"`
	Reason string `json:"reason"`
}
