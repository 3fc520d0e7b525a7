package harvest

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Level says where a setting may be given.
type Level string

// The levels.
const (
	OfJob Level = "job" // one value for the whole crawl
	OfURI Level = "uri" // may differ by URI, in a sheet
)

// Setting describes one setting: for the reference, for forms, and for checking what is given.
type Setting struct {
	Name    string          `json:"name"`
	Group   string          `json:"group"`
	Type    string          `json:"type"`           // as JSON has it, or "duration"
	Unit    string          `json:"unit,omitempty"` // of a number
	Default json.RawMessage `json:"default"`
	Level   Level           `json:"level"`
	Live    bool            `json:"live"`              // may be changed while the crawl runs
	Min     int64           `json:"min,omitempty"`     // least number; of a duration in nanoseconds
	Max     int64           `json:"max,omitempty"`     // largest; 0: no limit
	Allowed []string        `json:"allowed,omitempty"` // words
	Help    string          `json:"help"`
}

// Reference describes every setting, in the order of Settings.
func Reference() []Setting {
	defaults := reflect.ValueOf(DefaultSettings())
	byName := map[string]reflect.StructField{}
	index := map[string]reflect.Value{}
	t := defaults.Type()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		byName[name], index[name] = t.Field(i), defaults.Field(i)
	}
	var out []Setting
	for _, group := range settingGroups() {
		for _, s := range group.settings {
			s.Group = group.name
			s.Type = typeName(byName[s.Name].Type)
			if data, err := json.Marshal(index[s.Name].Interface()); err == nil {
				s.Default = data
			}
			out = append(out, s)
		}
	}
	return out
}

func typeName(t reflect.Type) string {
	if t == nil {
		return ""
	}
	switch {
	case t == reflect.TypeFor[Duration]():
		return "duration"
	case t.Kind() == reflect.Slice:
		return "list of " + typeName(t.Elem())
	case t.Kind() == reflect.Struct:
		return strings.ToLower(t.Name())
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Float64:
		return "number"
	}
	return "integer"
}

type settingGroup struct {
	name     string
	settings []Setting
}

func settingGroups() []settingGroup {
	return []settingGroup{
		{"scope", scopeSettings()}, {"politeness", politenessSettings()}, {"identity", identitySettings()}, {"fetching", fetchSettings()},
		{"limits", limitSettings()}, {"keeping", keepSettings()}, {"browser", browserSettings()}, {"files", fileSettings()},
	}
}

// Limits of durations and counts.
const (
	day  = int64(24 * 3600 * 1e9)
	huge = int64(1) << 60
)

func scopeSettings() []Setting {
	return []Setting{
		{Name: "scope", Level: OfJob, Live: true, Allowed: []string{"path", "host", "domain", "any"},
			Help: "Which URIs, seen from the seeds, belong to the crawl: those below the seed's folder, on its host and port, on its registered domain, or all."},
		{Name: "surt_prefixes", Level: OfJob, Live: true,
			Help: `Widen or narrow the scope: "+http://(org,example," accepts, "-http://(org,example,)/private" rejects; a URL will do as well. The last that matches wins over scope.`},
		{Name: "max_hops", Level: OfURI, Live: true, Unit: "links", Max: 10_000, Help: "Links followed from a seed; embeds and redirects do not count."},
		{Name: "max_trans_hops", Level: OfURI, Live: true, Unit: "hops", Max: 1000, Help: "Embeds in a row that are followed out of the scope; redirects do not count."},
		{Name: "max_speculative_hops", Level: OfURI, Live: true, Unit: "hops", Max: 1000, Help: "How many of these hops may be speculative: strings in scripts that look like URLs."},
		{Name: "max_path_segments", Level: OfURI, Live: true, Unit: "segments", Max: 10_000, Help: "URIs with a deeper path are rejected; 0 is no limit."},
		{Name: "max_repetitions", Level: OfURI, Live: true, Unit: "repetitions", Max: 1000, Help: "URIs in whose path a group of segments is repeated more often in a row are rejected; 0 is no limit."},
		{Name: "rules", Level: OfURI, Live: true, Help: "Further decide rules, after those that the settings above stand for. The last that speaks decides."},
		{Name: "rules_only", Level: OfJob, Live: true, Help: "Only rules decide; the settings above do not count."},
		{Name: "traps", Level: OfURI, Live: true, Help: "Regular expressions (RE2) of crawler traps: URIs that match as a whole are rejected, whatever the rules say."},
		{Name: "trap_heuristics", Level: OfURI, Live: true, Help: "Catch calendars, session ids, ever-deeper paths and soft duplicates; the log says what was caught."},
		{Name: "canonicalization", Level: OfJob, Help: "Rules, in order, by which URIs count as one that was seen: lowercase, strip_userinfo, strip_www, strip_www_n, strip_session_ids, strip_session_cfids, fixup_query, strip_extra_slashes, or regex:EXPRESSION=>REPLACEMENT."},
	}
}

func politenessSettings() []Setting {
	return []Setting{
		{Name: "queue_by", Level: OfJob, Allowed: []string{"host", "ip", "domain"}, Help: "What shares a queue, and so a pause between fetches: a host and port, an address, or a registered domain."},
		{Name: "queue_name", Level: OfURI, Help: "The queue by name, instead of queue_by: in a sheet, hosts that are one server share one."},
		{Name: "host_valence", Level: OfURI, Live: true, Unit: "connections", Min: 1, Max: 1000, Help: "Fetches of one queue at a time; each pauses by itself."},
		{Name: "delay_factor", Level: OfURI, Live: true, Max: 1000, Help: "Times the duration of a fetch is the pause before the next from the same queue."},
		{Name: "min_delay", Level: OfURI, Live: true, Max: day, Help: "The least such pause."},
		{Name: "max_delay", Level: OfURI, Live: true, Max: day, Help: "The longest such pause."},
		{Name: "max_crawl_delay", Level: OfURI, Live: true, Max: day, Help: "The longest Crawl-delay of a robots.txt that is respected in full."},
		{Name: "max_retry_after", Level: OfURI, Live: true, Max: 30 * day, Help: "The longest Retry-After of an answer 429 or 503 that is respected in full."},
		{Name: "host_bandwidth", Level: OfURI, Live: true, Unit: "bytes/s", Max: huge, Help: "Received from one queue; 0 is no limit."},
		{Name: "bandwidth", Level: OfJob, Live: true, Unit: "bytes/s", Max: huge, Help: "Received by the whole crawl; 0 is no limit."},
		{Name: "max_retries", Level: OfURI, Live: true, Unit: "tries", Max: 10_000, Help: "How often a failed fetch is tried again."},
		{Name: "retry_delay", Level: OfURI, Live: true, Max: 30 * day, Help: "The pause before that."},
		{Name: "cost_policy", Level: OfURI, Live: true, Allowed: []string{"unit", "zero", "wag"}, Help: "What a URI costs of its queue's budgets: one; nothing; or one, and one more each for a query and for a path of more than 100 bytes."},
		{Name: "session_budget", Level: OfURI, Live: true, Unit: "cost", Max: huge, Help: "What a queue may spend before it makes room for a queue that waits; 0 is no limit."},
		{Name: "total_budget", Level: OfURI, Live: true, Unit: "cost", Max: huge, Help: "What a queue may spend at all; then it is retired. 0 is no limit."},
		{Name: "precedence", Level: OfURI, Live: true, Max: 100, Help: "Queues of a lower number come first when queues wait for their turn."},
		{Name: "max_active_queues", Level: OfJob, Live: true, Unit: "queues", Min: 1, Max: 10_000_000, Help: "Queues that take part at a time; the others wait, and take no memory to speak of."},
		{Name: "workers", Level: OfJob, Live: true, Unit: "URIs", Min: 1, Max: 10_000, Help: "How many URIs are worked on at once."},
	}
}

func identitySettings() []Setting {
	return []Setting{
		{Name: "user_agent", Level: OfURI, Live: true, Help: "The User-Agent header; {contact} stands for operator_contact."},
		{Name: "operator_contact", Level: OfJob, Help: "An http(s) URL or an e-mail address for site owners. Without one only loopback is crawled."},
		{Name: "operator", Level: OfJob, Help: "Who crawls, for the warcinfo records."},
		{Name: "robots", Level: OfURI, Live: true, Allowed: []string{"obey", "ignore", "custom", "some"}, Help: "What robots.txt means: obey it; do not even fetch it; fetch it but obey robots_text; or obey it for robots_paths alone."},
		{Name: "robots_name", Level: OfURI, Live: true,
			Help: "The name by which robots.txt speaks to this crawler, of letters, dashes and underscores. Without one it is the product that user_agent names."},
		{Name: "robots_text", Level: OfURI, Live: true, Help: "A robots.txt of one's own, for robots custom."},
		{Name: "robots_paths", Level: OfURI, Live: true, Help: "Paths, as in a robots.txt, for which robots some obeys."},
		{Name: "meta_robots", Level: OfURI, Live: true, Allowed: []string{"ignore", "obey"}, Help: "What nofollow and noindex in meta elements and X-Robots-Tag headers mean: nothing, or do not follow and do not keep."},
		{Name: "allow_private", Level: OfJob, Help: "Private, loopback and link-local addresses may be reached."},
	}
}

func fetchSettings() []Setting {
	return []Setting{
		{Name: "nameserver", Level: OfJob, Help: "Asked for names instead of the machine's own name servers: an address and a port, as 192.0.2.1:53."},
		{Name: "max_dns_ttl", Level: OfJob, Min: 1e9, Max: 30 * day, Help: "The longest that an answer to a name holds."},
		{Name: "proxies", Level: OfJob, Live: true, Help: "Which hosts are asked through which proxy; the first that matches counts."},
		{Name: "source_addresses", Level: OfJob, Live: true, Help: "Which hosts are asked from which of this machine's addresses; the first that matches counts."},
		{Name: "http2", Level: OfURI, Live: true, Allowed: []string{"never", "insisted", "preferred"}, Help: "When HTTP/2 is spoken: never; where a server speaks nothing else; or wherever a server can."},
		{Name: "compression", Level: OfURI, Live: true, Help: "Ask for compressed answers; they are stored as they were sent."},
		{Name: "headers", Level: OfURI, Live: true, Help: `Further request headers, as "Accept-Language: da". The value of a header that carries a login, by its name or value, is sealed, and left out of the request records.`},
		{Name: "cookies", Level: OfURI, Live: true, Help: "Keep cookies and send them back, within the job."},
		{Name: "first_cookies", Level: OfJob, Help: "Cookies that the crawl begins with: the text of a cookies.txt in Netscape's form, seven columns with tabs between. They let one in somewhere, so pages and documents show [redacted], and request records leave out the values of cookies."},
		{Name: "credentials", Level: OfJob, Live: true, Help: "Logins. Secrets are not recorded."},
		{Name: "fetch_timeout", Level: OfURI, Live: true, Min: 1e6, Max: 30 * day, Help: "Where a single fetch is cut off."},
		{Name: "idle_timeout", Level: OfURI, Live: true, Min: 1e6, Max: day, Help: "How long a server may take to connect, or say nothing."},
	}
}

func limitSettings() []Setting {
	return []Setting{
		{Name: "max_objects", Level: OfJob, Live: true, Unit: "documents", Max: huge, Help: "Ends the crawl; 0 is no limit."},
		{Name: "max_bytes", Level: OfJob, Live: true, Unit: "bytes", Max: huge, Help: "Received; ends the crawl; 0 is no limit."},
		{Name: "max_time", Level: OfJob, Live: true, Max: 3650 * day, Help: "Ends the crawl, pauses not counted; 0 is no limit."},
		{Name: "max_domain_objects", Level: OfURI, Live: true, Unit: "documents", Max: huge, Help: "Of one registered domain, as its configuration says; 0 is no limit."},
		{Name: "max_domain_bytes", Level: OfURI, Live: true, Unit: "bytes", Max: huge, Help: "Of one registered domain, as its configuration says; 0 is no limit."},
		{Name: "harvest_domain_objects", Level: OfURI, Live: true, Unit: "documents", Max: huge, Help: "Of one registered domain, as the harvest says; 0 is no limit."},
		{Name: "harvest_domain_bytes", Level: OfURI, Live: true, Unit: "bytes", Max: huge, Help: "Of one registered domain, as the harvest says; 0 is no limit."},
		{Name: "max_document_bytes", Level: OfURI, Live: true, Unit: "bytes", Max: huge, Help: "Where a single response is cut off; 0 is no limit."},
		{Name: "min_free_disk", Level: OfJob, Live: true, Unit: "bytes", Max: huge, Help: "With less room on the crawl's disk the crawl pauses until there is more; 0 is never."},
	}
}

func keepSettings() []Setting {
	return []Setting{
		{Name: "mid_fetch_rules", Level: OfURI, Live: true, Help: "Decide rules over the head of a response: where they reject, the rest is not fetched."},
		{Name: "record_rules", Level: OfURI, Live: true, Help: "Decide rules over all that came, by its digest and length too: where they reject, the document is not recorded."},
		{Name: "keep_types", Level: OfURI, Live: true, Help: "Media types, * allowed, that are recorded; others are fetched for their links and not recorded. Empty: all."},
		{Name: "discard_types", Level: OfURI, Live: true, Help: "Media types, * allowed, that are fetched for their links and not recorded."},
		{Name: "discard_if", Level: OfURI, Live: true, Help: "An expression (CEL) over what was fetched; where it is true, the document is not recorded."},
		{Name: "extractors", Level: OfURI, Live: true, Allowed: ExtractorNames(), Help: "The kinds of documents that links are looked for in."},
		{Name: "max_links", Level: OfURI, Live: true, Unit: "links", Min: 1, Max: 1_000_000, Help: "Links of one document that are kept; the rest is counted."},
		{Name: "deduplicate", Level: OfURI, Live: true, Allowed: []string{"none", "url", "digest", "equivalent"}, Help: "When what was archived before is recorded as a revisit: never; the same URI with the same content; any URI with the same content; or an equivalent URI with the same content."},
		{Name: "deduplicate_types", Level: OfURI, Live: true, Help: "Media types, * allowed, ! for all but, that this is for."},
		{Name: "conditional", Level: OfURI, Live: true, Help: "Ask with If-None-Match and If-Modified-Since where an earlier capture is known."},
		{Name: "incremental", Level: OfJob, Help: "Keep each URI's record, with digest and validators, for the next crawl."},
	}
}

func browserSettings() []Setting {
	return []Setting{
		{Name: "browser_rules", Level: OfURI, Live: true, Help: "Decide rules: pages they accept are loaded in a browser."},
		{Name: "browser_time", Level: OfURI, Live: true, Min: 1e9, Max: day, Help: "A page may take so long."},
		{Name: "browser_quiet", Level: OfURI, Live: true, Min: 1e7, Max: day, Help: "A page is done when it asked for nothing for so long."},
		{Name: "browser_memory", Level: OfJob, Unit: "bytes", Min: 1 << 26, Max: huge, Help: "A browser that takes more is ended."},
		{Name: "browser_screenshot", Level: OfURI, Live: true, Help: "Record a picture of the page."},
	}
}

func fileSettings() []Setting {
	return []Setting{
		{Name: "warc_bytes", Level: OfJob, Unit: "bytes", Min: 1 << 10, Max: huge, Help: "The size at which a WARC file is finished and the next begun."},
		{Name: "warc_level", Level: OfJob, Unit: "gzip level", Min: 1, Max: 9, Help: "How WARC records are compressed, 1 (fast) to 9 (small). At 2 a crawl's whole CPU time is a quarter less than at 6, its files are a tenth larger."},
		{Name: "warc_writers", Level: OfJob, Unit: "files", Min: 1, Max: 64, Help: "WARC files written at a time."},
		{Name: "log_extra", Level: OfJob, Help: "A last column in crawl.log, JSON: where the record is."},
		{Name: "sheets", Level: OfJob, Live: true, Help: "Other settings for some URIs and times."},
	}
}
