package wire

import "time"

// ApprovalRule says which acts wait for a second person.
type ApprovalRule struct {
	Acts       []string  `json:"acts" doc:"none: nothing waits"`
	OtherPlace bool      `json:"otherPlace" doc:"the second person has to be of another institution than the first"`
	Limit      string    `json:"limit,omitempty" doc:"how long a proposal waits"`
	Version    uint64    `json:"version" doc:"counts the changes; give it with a change"`
	By         string    `json:"by,omitempty"`
	ByName     string    `json:"byName,omitempty"`
	At         time.Time `json:"at,omitzero"`
}

// ApprovalRuleRequest changes which acts wait for a second person. While the rule
// names an act, changing the rule waits for a second person, too.
type ApprovalRuleRequest struct {
	Acts       []string `json:"acts" maxItems:"20" enum:"file-remove,file-lost,file-checksum,copy-replace,copy-state,node-lost,replica-remove,replica-narrow,quarantine-delete" doc:"all that are to wait; none: nothing waits"`
	OtherPlace bool     `json:"otherPlace,omitempty" doc:"the second person has to be of another institution than the first"`
	Limit      string   `json:"limit,omitempty" pattern:"^([1-9][0-9]{0,2}|1[0-9]{3}|20[0-9]{2}|21[0-5][0-9]|2160)h$" doc:"how long a proposal waits: 1h to 2160h; default: 168h"`
	Version    uint64   `json:"version" doc:"of the rule that is changed; 0: there was none"`
	Reason     string   `json:"reason" minLength:"1" maxLength:"500"`
}

// Approval is an act that waits for a second person, or has waited.
type Approval struct {
	ID            uint64         `json:"id"`
	State         string         `json:"state" enum:"waiting,stale,expired,granted,denied,withdrawn" doc:"stale: what it is about has changed since, and expired: its time is over; both have to be proposed again. granted: it was carried out"`
	Act           string         `json:"act"`
	Subject       string         `json:"subject" doc:"the file, node or replica"`
	Replica       string         `json:"replica,omitempty"`
	SHA256        string         `json:"sha256,omitempty" doc:"of the file"`
	Files         int64          `json:"files" doc:"that it is about; of a lost node: that its replica has"`
	Bytes         int64          `json:"bytes"`
	Effects       []string       `json:"effects" doc:"what it will do"`
	Command       string         `json:"command" doc:"of the catalog"`
	Parameters    map[string]any `json:"parameters" doc:"all that the command says"`
	Reason        string         `json:"reason,omitempty"`
	By            string         `json:"by" doc:"who proposed it: a person, or a program of hers"`
	ByName        string         `json:"byName"`
	Person        string         `json:"person" doc:"the person behind it, who cannot grant it"`
	PersonName    string         `json:"personName"`
	Place         string         `json:"place,omitempty" doc:"her institution then"`
	OtherPlace    bool           `json:"otherPlace,omitempty" doc:"it has to be granted by a person of another institution"`
	Made          time.Time      `json:"made"`
	Until         time.Time      `json:"until"`
	Sum           string         `json:"sum" doc:"tells this proposal from any other; give it when you decide"`
	Decided       time.Time      `json:"decided,omitzero"`
	DecidedBy     string         `json:"decidedBy,omitempty"`
	DecidedByName string         `json:"decidedByName,omitempty"`
	Why           string         `json:"why,omitempty"`
}

// ApprovalDecision grants, denies or withdraws a proposal.
type ApprovalDecision struct {
	Sum    string `json:"sum" pattern:"^[0-9a-f]{64}$" doc:"of the proposal that was looked at"`
	Reason string `json:"reason,omitempty" maxLength:"500"`
}
