package wire

import "time"

// AlertRef names an alert, as lists of alerts do.
type AlertRef struct {
	Kind    string `json:"kind" minLength:"1" maxLength:"64" pattern:"^[a-z-]+$" doc:"the alert's kind"`
	Node    string `json:"node,omitempty" maxLength:"64" doc:"the node that sees it, if the alert has one"`
	Subject string `json:"subject,omitempty" maxLength:"1024" doc:"the alert's subject, if it has one"`
}

// AcknowledgeRequest says that the caller knows of an alert.
type AcknowledgeRequest struct {
	AlertRef
	Note  string    `json:"note" minLength:"1" maxLength:"500" doc:"why, or what will be done"`
	Until time.Time `json:"until" doc:"until when; at most 90 days"`
}

// Acknowledgement says who knows of an alert.
type Acknowledgement struct {
	By    string    `json:"by" doc:"the name of the person or program"`
	At    time.Time `json:"at"`
	Until time.Time `json:"until" doc:"from then on it does not count any more"`
	Note  string    `json:"note"`
}

// NoticeWay is how notices reach an address.
type NoticeWay string

// NoticeFilter says which alerts an address is told of.
type NoticeFilter struct {
	Kinds      []string `json:"kinds,omitempty" maxItems:"100" nullable:"false" doc:"only alerts of these kinds; none: all"`
	Least      string   `json:"least,omitempty" enum:"look,bad" doc:"only alerts of this severity or worse; none: all"`
	Collection string   `json:"collection,omitempty" maxLength:"64" doc:"only alerts about jobs and harvests of this collection"`
	Place      string   `json:"place,omitempty" maxLength:"64" doc:"only alerts about nodes and copies at this place, and what its nodes see"`
}

// NoticeAddress is where notices go to.
type NoticeAddress struct {
	Name   string    `json:"name"`
	Way    NoticeWay `json:"way" enum:"mail,webhook,stderr"`
	To     string    `json:"to,omitempty" doc:"the mail address; of a webhook scheme and host of its URL, the rest is secret; of stderr the node, none if any will do"`
	Inside bool      `json:"inside" doc:"the webhook may be at an address that is not public"`
	NoticeFilter
	Language string `json:"language" doc:"in which notices are written, such as da"`
	When     string `json:"when" enum:"at-once,hourly,daily"`
	Hour     string `json:"hour,omitempty" doc:"when the daily report is made, such as 07:30"`
	Zone     string `json:"zone,omitempty" doc:"time zone of the hour and of times in notices, such as Europe/Copenhagen; none: UTC"`
	Cleared  bool   `json:"cleared" doc:"a notice is also sent when an alert is over"`

	Version   int       `json:"version" doc:"counts the changes"`
	Changed   time.Time `json:"changed"`
	ChangedBy string    `json:"changedBy,omitempty"`

	Told        int       `json:"told" doc:"notices that were accepted"`
	Lost        int       `json:"lost" doc:"notices that were given up after three days"`
	Waiting     int       `json:"waiting" doc:"notices that are on their way"`
	Undelivered time.Time `json:"undelivered,omitzero" doc:"when a notice was given up, if none was accepted since"`
	Reason      string    `json:"reason,omitempty" doc:"why the last try failed, of those that are on their way or were given up"`

	Secret string `json:"secret,omitempty" doc:"of a webhook, by which its receiver checks notices; only in the answer in which it is made"`
}

// NoticeAddressRequest makes an address.
type NoticeAddressRequest struct {
	Name   string    `json:"name" minLength:"1" maxLength:"64"`
	Way    NoticeWay `json:"way" enum:"mail,webhook,stderr"`
	To     string    `json:"to,omitempty" maxLength:"2000" doc:"a mail address, a webhook's URL, or for stderr the name of a node"`
	Secret string    `json:"secret,omitempty" maxLength:"200" doc:"of a webhook, whsec_ and base64; none: one is made"`
	Inside bool      `json:"inside,omitempty" doc:"the webhook may be at an address that is not public; needs the role operator for the whole archive"`
	NoticeFilter
	Language string `json:"language,omitempty" maxLength:"35" doc:"none: en"`
	When     string `json:"when,omitempty" enum:"at-once,hourly,daily" doc:"none: at-once"`
	Hour     string `json:"hour,omitempty" maxLength:"5"`
	Zone     string `json:"zone,omitempty" maxLength:"64"`
	Cleared  bool   `json:"cleared,omitempty"`
}

// NoticeAddressChange changes an address; what is absent stays as it is. A webhook whose URL is given gets the secret
// that is given with it, or a new one.
type NoticeAddressChange struct {
	Version    int       `json:"version,omitempty" minimum:"0" doc:"that it is made for; none: whichever is there"`
	To         *string   `json:"to,omitempty" maxLength:"2000"`
	Secret     string    `json:"secret,omitempty" maxLength:"200"`
	Inside     *bool     `json:"inside,omitempty"`
	Kinds      *[]string `json:"kinds,omitempty" maxItems:"100"`
	Least      *string   `json:"least,omitempty" maxLength:"4"`
	Collection *string   `json:"collection,omitempty" maxLength:"64"`
	Place      *string   `json:"place,omitempty" maxLength:"64"`
	Language   *string   `json:"language,omitempty" maxLength:"35"`
	When       *string   `json:"when,omitempty" maxLength:"10"`
	Hour       *string   `json:"hour,omitempty" maxLength:"5"`
	Zone       *string   `json:"zone,omitempty" maxLength:"64"`
	Cleared    *bool     `json:"cleared,omitempty"`
}

// NoticeTest is how a test notice fared.
type NoticeTest struct {
	ID       string `json:"id" doc:"of the notice"`
	Accepted bool   `json:"accepted" doc:"the receiver has accepted it"`
	Node     string `json:"node,omitempty" doc:"that tried"`
	Reason   string `json:"reason,omitempty" doc:"why it was not accepted"`
}
