package harvest

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Settings say how a job is crawled, in groups whose fields stand side by side in JSON, as if there were no groups. The
// tag of a field describes the setting, once for all uses: see Setting. The JSON names are stable. DefaultSettings
// holds the defaults; the zero value is not valid.
type Settings struct {
	ScopeSettings    `group:"scope"`
	QueueSettings    `group:"politeness"`
	RetrySettings    `group:"politeness"`
	IdentitySettings `group:"identity"`
	FetchSettings    `group:"fetching"`
	LimitSettings    `group:"limits"`
	KeepSettings     `group:"keeping"`
	BrowserSettings  `group:"browser"`
	FileSettings     `group:"files"`

	// Other settings for some URIs.
	Sheets []Sheet `json:"sheets,omitempty" level:"job" live:"yes" expert:"yes" help:"Other settings for some URIs and times." group:"files"`
}

// DefaultSettings are the settings of a crawl for which nothing was said.
func DefaultSettings() (s Settings) {
	for _, d := range described {
		if d.given.IsValid() {
			reflect.ValueOf(&s).Elem().FieldByIndex(d.index).Set(copied(d.given))
		}
	}
	return s
}

// copied is a value that shares no list with v.
func copied(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Slice {
		return v
	}
	return reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v)
}

// ExtractorNames are the kinds of documents that links are looked for in.
func ExtractorNames() []string { return DefaultSettings().Extractors }

// ParseSettings reads settings from JSON: a missing setting has its default, and an unknown key is refused with the
// nearest known one.
func ParseSettings(data []byte) (Settings, error) {
	s := DefaultSettings()
	if err := s.UnmarshalJSON(data); err != nil {
		return Settings{}, err
	}
	return s, nil
}

// ParseTemplate reads settings as ParseSettings does, from JSON of settings, or of a whole job that has them as
// "settings", such as settings/job.json or the JSON that is shown of a job.
func ParseTemplate(data []byte) (Settings, error) {
	var job struct {
		Settings json.RawMessage `json:"settings"`
	}
	if err := json.Unmarshal(data, &job); err == nil && len(job.Settings) > 0 {
		data = job.Settings
	}
	return ParseSettings(data)
}

// UnmarshalJSON reads the keys that are given and leaves the other settings as they are.
func (s *Settings) UnmarshalJSON(data []byte) error {
	type plain Settings
	p := plain(*s)
	if err := decodeStrict(data, "settings", &p); err != nil {
		return err
	}
	*s = Settings(p)
	return nil
}

// Agent is the User-Agent header's value.
func (s Settings) Agent() string {
	contact := s.OperatorContact
	if contact == "" {
		contact = "local-test"
	}
	return strings.ReplaceAll(s.UserAgent, "{contact}", contact)
}

// RobotsAgent returns the name for which rules in robots.txt are obeyed: robots_name or else, as far as RFC 9309
// allows, the product that user_agent names, which in a browser's form is the one after "compatible". It is Product
// if that names none, or a browser.
func (s Settings) RobotsAgent() string {
	if s.RobotsName != "" {
		return s.RobotsName
	}
	agent := s.UserAgent
	if _, after, ok := strings.Cut(agent, "compatible;"); ok {
		agent = strings.TrimLeft(after, " ")
	}
	if name := agent[:productEnd(agent)]; name != "" && name != "Mozilla" {
		return name
	}
	return Product
}

// productEnd is how much of s is letters, dashes and underscores, of which RFC 9309 makes a crawler's name.
func productEnd(s string) int {
	for i := range len(s) {
		if c := s[i]; !(c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '_') {
			return i
		}
	}
	return len(s)
}

// From is the From header's value: the contact where that is an e-mail address, else "".
func (s Settings) From() string {
	if strings.Contains(s.OperatorContact, "@") && !strings.Contains(s.OperatorContact, "://") {
		return s.OperatorContact
	}
	return ""
}
