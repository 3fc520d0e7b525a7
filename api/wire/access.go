package wire

import "time"

// AccessRuleText is what a person says of an access rule.
type AccessRuleText struct {
	URL       string   `json:"url,omitempty" maxLength:"8192" doc:"whose captures it is about: * for all, *.host for a domain, url* for all that begins so, else one URL. Instead of prefix"`
	Prefix    string   `json:"prefix,omitempty" maxLength:"2048" doc:"the same as the start of a SURT key, such as com,example or com,example)/a; none with no url: all"`
	Exact     bool     `json:"exact,omitempty" doc:"prefix is the whole key"`
	Access    string   `json:"access" enum:"allow,block,exclude" doc:"block: it is listed, and refused (451); exclude: as if it were not archived"`
	From      string   `json:"from,omitempty" maxLength:"14" doc:"about captures from this timestamp on"`
	To        string   `json:"to,omitempty" maxLength:"14" doc:"about captures up to the end of this timestamp"`
	Newer     string   `json:"newer,omitempty" maxLength:"40" doc:"about captures that are newer than this, such as 2y6m or 90d: an embargo that rolls on"`
	Older     string   `json:"older,omitempty" maxLength:"40" doc:"about captures that are older than this"`
	Begin     string   `json:"begin,omitempty" maxLength:"14" doc:"in force from this timestamp on"`
	End       string   `json:"end,omitempty" maxLength:"14" doc:"in force up to the end of this timestamp"`
	Role      string   `json:"role,omitempty" enum:"reader,curator,operator,admin" doc:"for who has this role or a higher one; none: everybody"`
	Addresses []string `json:"addresses,omitempty" maxItems:"100" nullable:"false" doc:"for readers at these addresses or ranges, such as 192.0.2.0/24; none: everywhere"`
	Message   string   `json:"message,omitempty" maxLength:"1000" doc:"for readers who are refused"`
	Reason    string   `json:"reason,omitempty" maxLength:"1000" doc:"for those who keep the rules"`
}

// AccessRule is a rule that says who may see what.
type AccessRule struct {
	Number  uint64 `json:"number"`
	Version uint64 `json:"version" doc:"counts the changes"`
	AccessRuleText
	Made      time.Time `json:"made"`
	MadeBy    string    `json:"madeBy,omitempty"`
	Changed   time.Time `json:"changed"`
	ChangedBy string    `json:"changedBy,omitempty"`
}

// AccessRulesRequest adds rules.
type AccessRulesRequest struct {
	Rules []AccessRuleText `json:"rules" minItems:"1" maxItems:"50" nullable:"false" doc:"all of them are added, or none"`
}

// AccessRulesAdded are the numbers of rules that were added.
type AccessRulesAdded struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// AccessRuleChange puts another text in the place of a rule's.
type AccessRuleChange struct {
	Version uint64 `json:"version" minimum:"1" doc:"of the rule that is changed"`
	AccessRuleText
}

// AccessRuleRef names a rule.
type AccessRuleRef struct {
	Number  uint64 `json:"number" minimum:"1"`
	Version uint64 `json:"version,omitempty" doc:"that was seen; none: whichever there is"`
}

// AccessRulesRemoval removes rules.
type AccessRulesRemoval struct {
	Rules  []AccessRuleRef `json:"rules" minItems:"1" maxItems:"50" nullable:"false" doc:"all of them are removed, or none"`
	Reason string          `json:"reason,omitempty" maxLength:"1000" doc:"for the trail"`
}

// AccessVerdict is what the rules say of a capture and a reader.
type AccessVerdict struct {
	Access      string      `json:"access" enum:"allow,block,exclude"`
	Key         string      `json:"key" doc:"of the URL"`
	Timestamp   string      `json:"timestamp" doc:"of the capture"`
	Role        string      `json:"role,omitempty"`
	Address     string      `json:"address,omitempty"`
	Rule        *AccessRule `json:"rule,omitempty" doc:"the rule that decides; none: no rule is about it"`
	Rules       int         `json:"rules" doc:"how many there are"`
	Unconfirmed time.Time   `json:"unconfirmed,omitzero" doc:"since when nobody confirms to this node that these are the agreed rules"`
}
