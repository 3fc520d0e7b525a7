package harvest

// The groups of settings. A new one needs a line here, and the code that heeds it; doc/settings.md and the description
// of the API are made of it with go test ./harvest ./api -update.

// ScopeSettings say which URIs belong to a crawl.
type ScopeSettings struct {
	Scope              ScopeMode `json:"scope" level:"job" live:"yes" is:"host" allowed:"path host domain any" lay:"yes" help:"Which URIs belong to the crawl, relative to each seed: those below its folder, on its host and port, on its registered domain, or all."`
	SURTPrefixes       []string  `json:"surt_prefixes,omitempty" level:"job" live:"yes" lay:"yes" expert:"yes" help:"Widen or narrow the scope: \"+http://(org,example,\" accepts, \"-http://(org,example,)/private\" rejects; a URL works too. The last prefix that matches decides, and overrides scope."`
	MaxHops            int       `json:"max_hops" level:"uri" live:"yes" unit:"links" is:"20" max:"10000" lay:"yes" help:"How many links are followed from a seed; embeds and redirects do not count."`
	MaxTransHops       int       `json:"max_trans_hops" level:"uri" live:"yes" unit:"hops" is:"2" max:"1000" lay:"yes" help:"How many embeds in a row are followed outside the scope; redirects do not count."`
	MaxSpeculativeHops int       `json:"max_speculative_hops" level:"uri" live:"yes" unit:"hops" is:"1" max:"1000" lay:"yes" expert:"yes" help:"How many of the hops of max_trans_hops may be speculative: strings in scripts that look like URLs."`
	MaxPathSegments    int       `json:"max_path_segments" level:"uri" live:"yes" unit:"segments" is:"20" max:"10000" lay:"yes" help:"URIs whose path has more segments are rejected; 0 is no limit."`
	MaxRepetitions     int       `json:"max_repetitions" level:"uri" live:"yes" unit:"repetitions" is:"2" max:"1000" lay:"yes" expert:"yes" help:"URIs are rejected if a group of path segments is repeated more often than this in a row; 0 is no limit."`
	Rules              []Rule    `json:"rules,omitempty" level:"uri" live:"yes" lay:"yes" expert:"yes" help:"Further decide rules, which come after those that the settings above stand for. The last rule that does not pass decides."`
	RulesOnly          bool      `json:"rules_only" level:"job" live:"yes" expert:"yes" help:"Only the setting rules decides; the settings above it are ignored."`
	Traps              []string  `json:"traps,omitempty" level:"uri" live:"yes" lay:"yes" help:"Regular expressions (RE2) of crawler traps: URIs that match completely are rejected, whatever the rules say."`
	TrapHeuristics     bool      `json:"trap_heuristics" level:"uri" live:"yes" is:"true" lay:"yes" help:"Catch calendars, session ids, ever-deeper paths and soft duplicates; the log says what was caught."`
	Canonicalization   []string  `json:"canonicalization" level:"job" is:"strip_userinfo strip_session_ids strip_session_cfids fixup_query" expert:"yes" help:"Rules, applied in order, after which equal URIs count as the same URI: lowercase, strip_userinfo, strip_www, strip_www_n, strip_session_ids, strip_session_cfids, fixup_query, strip_extra_slashes, or regex:EXPRESSION=>REPLACEMENT."`
}

// QueueSettings say how URIs are queued, and how fast a site is asked.
type QueueSettings struct {
	QueueBy         string   `json:"queue_by" level:"job" is:"host" allowed:"host ip domain" expert:"yes" help:"Which URIs share a queue, and so the pause between fetches: those of a host and port, of an address, or of a registered domain."`
	QueueName       string   `json:"queue_name,omitempty" level:"uri" expert:"yes" help:"The name of the queue, instead of queue_by. In a sheet it lets several hosts on one server share a queue."`
	HostValence     int      `json:"host_valence" level:"uri" live:"yes" unit:"connections" is:"1" min:"1" max:"1000" expert:"yes" help:"How many fetches of one queue may run at a time; each has its own pauses."`
	DelayFactor     float64  `json:"delay_factor" level:"uri" live:"yes" is:"5" max:"1000" lay:"yes" help:"After a fetch, the queue pauses for the fetch's duration times this number."`
	MinDelay        Duration `json:"min_delay" level:"uri" live:"yes" is:"3s" max:"24h" lay:"yes" help:"The shortest pause between two fetches of a queue."`
	MaxDelay        Duration `json:"max_delay" level:"uri" live:"yes" is:"30s" max:"24h" lay:"yes" help:"The longest pause between two fetches of a queue, unless robots.txt or the server asks for more."`
	MaxCrawlDelay   Duration `json:"max_crawl_delay" level:"uri" live:"yes" is:"5m" max:"24h" lay:"yes" help:"The longest Crawl-delay of a robots.txt that is obeyed; a longer one counts as this long."`
	MaxRetryAfter   Duration `json:"max_retry_after" level:"uri" live:"yes" is:"1h" max:"720h" lay:"yes" help:"The longest Retry-After of an answer 429 or 503 that is obeyed; a longer one counts as this long."`
	HostBandwidth   int64    `json:"host_bandwidth" level:"uri" live:"yes" unit:"bytes/s" lay:"yes" expert:"yes" help:"The most that is received for one queue; 0 is no limit."`
	Bandwidth       int64    `json:"bandwidth" level:"job" live:"yes" unit:"bytes/s" help:"The most that the whole crawl receives; 0 is no limit."`
	MaxRetries      int      `json:"max_retries" level:"uri" live:"yes" unit:"tries" is:"30" max:"10000" lay:"yes" help:"How often a failed fetch is tried again."`
	RetryDelay      Duration `json:"retry_delay" level:"uri" live:"yes" is:"15m" max:"720h" lay:"yes" help:"The pause before a failed fetch is tried again."`
	CostPolicy      string   `json:"cost_policy" level:"uri" live:"yes" is:"unit" allowed:"unit zero wag" expert:"yes" help:"What a URI costs from its queue's budgets: one; nothing; or one, plus one for a query, plus one for a path of more than 100 bytes."`
	SessionBudget   int64    `json:"session_budget" level:"uri" live:"yes" unit:"cost" is:"3000" expert:"yes" help:"What a queue may spend before it makes room for a waiting queue; 0 is no limit."`
	TotalBudget     int64    `json:"total_budget" level:"uri" live:"yes" unit:"cost" expert:"yes" help:"What a queue may spend in total before it is retired; 0 is no limit."`
	Precedence      int      `json:"precedence" level:"uri" live:"yes" is:"3" max:"100" expert:"yes" help:"Of the waiting queues, those with the lowest number come first."`
	MaxActiveQueues int      `json:"max_active_queues" level:"job" live:"yes" unit:"queues" is:"20000" min:"1" max:"10000000" expert:"yes" help:"How many queues are active at a time; the others wait and use hardly any memory."`
	Workers         int      `json:"workers" level:"job" live:"yes" unit:"URIs" is:"25" min:"1" max:"10000" expert:"yes" help:"How many URIs are processed at once."`
}

// IdentitySettings say who asks, and what may be asked.
type IdentitySettings struct {
	UserAgent       string       `json:"user_agent" level:"uri" live:"yes" is:"Mozilla/5.0 (compatible; holdfast/1.0; +{contact})" help:"The User-Agent header; {contact} stands for operator_contact."`
	OperatorContact string       `json:"operator_contact" level:"job" help:"An http(s) URL or an e-mail address for site owners. Without one only loopback is crawled."`
	Operator        string       `json:"operator,omitempty" level:"job" help:"The name of whoever runs the crawl, for the warcinfo records."`
	Robots          RobotsPolicy `json:"robots" level:"uri" live:"yes" is:"obey" allowed:"obey ignore custom some" lay:"yes" help:"How robots.txt is treated: obey it; do not fetch it; fetch it but obey robots_text instead; or obey it only for robots_paths."`
	RobotsName      string       `json:"robots_name,omitempty" level:"uri" live:"yes" help:"The crawler's name in robots.txt, of letters, dashes and underscores. Default: the product in user_agent."`
	RobotsText      string       `json:"robots_text,omitempty" level:"uri" live:"yes" lay:"yes" expert:"yes" help:"The robots.txt to obey if robots is custom."`
	RobotsPaths     []string     `json:"robots_paths,omitempty" level:"uri" live:"yes" lay:"yes" expert:"yes" help:"The paths, as in a robots.txt, for which the site's rules are obeyed if robots is some."`
	MetaRobots      string       `json:"meta_robots" level:"uri" live:"yes" is:"ignore" allowed:"ignore obey" lay:"yes" help:"How nofollow and noindex in meta elements and X-Robots-Tag headers are treated: ignored, or obeyed (links are not followed, documents not kept)."`
	AllowPrivate    bool         `json:"allow_private" level:"job" lay:"yes" expert:"yes" help:"Allow private and loopback addresses."`
	AllowLinkLocal  bool         `json:"allow_link_local,omitzero" level:"job" lay:"yes" expert:"yes" since:"5" help:"Allow link-local addresses (169.254.0.0/16, fe80::/10). Addresses at which hosting providers give out what a machine may know, passwords among it, are never asked."`
}

// FetchSettings say how a server is reached and asked.
type FetchSettings struct {
	Nameserver      string       `json:"nameserver,omitempty" level:"job" expert:"yes" help:"A name server to ask instead of the machine's own: an address and a port, such as 192.0.2.1:53."`
	MaxDNSTTL       Duration     `json:"max_dns_ttl" level:"job" is:"24h" min:"1s" max:"720h" expert:"yes" help:"The longest time for which a DNS answer is used."`
	Proxies         []Route      `json:"proxies,omitempty" level:"job" live:"yes" lay:"yes" expert:"yes" help:"Which hosts are fetched through which proxy; the first entry that matches counts."`
	SourceAddresses []Route      `json:"source_addresses,omitempty" level:"job" live:"yes" expert:"yes" help:"Which hosts are fetched from which of this machine's addresses; the first entry that matches counts."`
	HTTP2           string       `json:"http2" level:"uri" live:"yes" is:"insisted" allowed:"never insisted preferred" lay:"yes" expert:"yes" help:"When HTTP/2 is used: never; if a server speaks nothing else; or whenever a server can."`
	Compression     bool         `json:"compression" level:"uri" live:"yes" is:"true" lay:"yes" help:"Ask for compressed answers; they are stored as they were sent."`
	Headers         []string     `json:"headers,omitempty" level:"uri" live:"yes" lay:"yes" help:"Further request headers, such as \"Accept-Language: da\". If a header's name or value shows that it carries a login, its value is sealed, and left out of the request records."`
	Cookies         bool         `json:"cookies" level:"uri" live:"yes" is:"true" lay:"yes" help:"Keep cookies, and send them back during the job."`
	FirstCookies    string       `json:"first_cookies,omitempty" level:"job" lay:"yes" help:"Cookies that the crawl begins with: the text of a cookies.txt in Netscape's form, seven columns separated by tabs. They give access to sites, so pages and documents show [redacted], and request records leave out the values of cookies."`
	Credentials     []Credential `json:"credentials,omitempty" level:"job" live:"yes" lay:"yes" help:"Logins. Secrets are not recorded."`
	FetchTimeout    Duration     `json:"fetch_timeout" level:"uri" live:"yes" is:"20m" min:"1ms" max:"720h" lay:"yes" help:"A single fetch is cut off after this time."`
	IdleTimeout     Duration     `json:"idle_timeout" level:"uri" live:"yes" is:"20s" min:"1ms" max:"24h" lay:"yes" help:"How long a server may take to connect, or stay silent."`
}

// LimitSettings say how much is fetched.
type LimitSettings struct {
	MaxObjects           int64    `json:"max_objects" level:"job" live:"yes" unit:"documents" lay:"yes" help:"The crawl ends after this many documents; 0 is no limit."`
	MaxBytes             int64    `json:"max_bytes" level:"job" live:"yes" unit:"bytes" lay:"yes" help:"The crawl ends when it has received this much; 0 is no limit."`
	MaxTime              Duration `json:"max_time" level:"job" live:"yes" max:"87600h" lay:"yes" help:"The crawl ends after this time, not counting pauses; 0 is no limit."`
	NoResponseTimeout    Duration `json:"no_response_timeout,omitzero" level:"job" live:"yes" is:"30m" max:"87600h" since:"4" help:"The crawl ends when not a byte has come for this time, not counting pauses; 0 is never."`
	InactivityTimeout    Duration `json:"inactivity_timeout,omitzero" level:"job" live:"yes" is:"30m" max:"87600h" since:"4" help:"The crawl ends when no worker has had a URI for this time, not counting pauses; 0 is never."`
	Windows              []Window `json:"windows,omitempty" level:"job" live:"yes" since:"4" help:"When the job crawls: days, and from and until as times of day, in a zone, as in sheets. Outside of all of these it is paused. None: always."`
	CountBy              CountBy  `json:"count_by,omitzero" level:"job" is:"seed" allowed:"seed url" since:"4" before:"url" expert:"yes" help:"For which domain a document counts, for limits and in statistics: that of the seed that led to it, or that of its URL."`
	MaxDomainObjects     int64    `json:"max_domain_objects" level:"uri" live:"yes" unit:"documents" help:"The most from one registered domain, set by its configuration; 0 is no limit."`
	MaxDomainBytes       int64    `json:"max_domain_bytes" level:"uri" live:"yes" unit:"bytes" help:"The most from one registered domain, set by its configuration; 0 is no limit."`
	HarvestDomainObjects int64    `json:"harvest_domain_objects" level:"uri" live:"yes" unit:"documents" help:"The most from one registered domain, set by the harvest; 0 is no limit."`
	HarvestDomainBytes   int64    `json:"harvest_domain_bytes" level:"uri" live:"yes" unit:"bytes" help:"The most from one registered domain, set by the harvest; 0 is no limit."`
	MaxDocumentBytes     int64    `json:"max_document_bytes" level:"uri" live:"yes" unit:"bytes" is:"1000000000" lay:"yes" help:"A single response is cut off at this size; 0 is no limit."`
	MinFreeDisk          int64    `json:"min_free_disk" level:"job" live:"yes" unit:"bytes" is:"1000000000" help:"If the crawl's disk has less free space, the crawl pauses until there is more; 0 means never."`
}

// KeepSettings say what is kept of what came.
type KeepSettings struct {
	MidFetchRules    []Rule   `json:"mid_fetch_rules,omitempty" level:"uri" live:"yes" expert:"yes" help:"Decide rules about the header of a response: if they reject it, the rest is not fetched."`
	RecordRules      []Rule   `json:"record_rules,omitempty" level:"uri" live:"yes" expert:"yes" help:"Decide rules about the complete document, including its digest and length: if they reject it, it is not recorded."`
	KeepTypes        []string `json:"keep_types,omitempty" level:"uri" live:"yes" lay:"yes" help:"Media types that are recorded (* is allowed); others are fetched for their links, but not recorded. Empty: all."`
	DiscardTypes     []string `json:"discard_types,omitempty" level:"uri" live:"yes" lay:"yes" help:"Media types that are fetched for their links, but not recorded (* is allowed)."`
	DiscardIf        string   `json:"discard_if,omitempty" level:"uri" live:"yes" expert:"yes" help:"An expression (CEL) about the fetched document; if it is true, the document is not recorded."`
	Extractors       []string `json:"extractors" level:"uri" live:"yes" is:"http html css js json xml feed sitemap robots pdf svg m3u8 dash office" allowed:"http html css js json xml feed sitemap robots pdf svg m3u8 dash office" lay:"yes" help:"The kinds of documents that are searched for links."`
	MaxLinks         int      `json:"max_links" level:"uri" live:"yes" unit:"links" is:"6000" min:"1" max:"1000000" lay:"yes" expert:"yes" help:"How many links of one document are kept; the rest is only counted."`
	Deduplicate      string   `json:"deduplicate" level:"uri" live:"yes" is:"none" allowed:"none url digest equivalent" help:"When content that is archived already is recorded as a revisit: never; if the same URI had it; if any URI had it; or if an equivalent URI had it."`
	DeduplicateTypes []string `json:"deduplicate_types" level:"uri" live:"yes" is:"!text/*" help:"Media types to which deduplicate applies (* is allowed, ! excludes)."`
	Conditional      bool     `json:"conditional" level:"uri" live:"yes" help:"Send If-None-Match and If-Modified-Since if an earlier capture is known."`
	Incremental      bool     `json:"incremental" level:"job" expert:"yes" help:"Keep each URI's record, with digest and validators, for the next crawl."`
}

// BrowserSettings say which pages are loaded in a browser.
type BrowserSettings struct {
	BrowserRules      []Rule   `json:"browser_rules,omitempty" level:"uri" live:"yes" lay:"yes" expert:"yes" help:"Decide rules: pages that they accept are loaded in a browser."`
	BrowserTime       Duration `json:"browser_time" level:"uri" live:"yes" is:"2m" min:"1s" max:"24h" lay:"yes" help:"How long a page may take in the browser."`
	BrowserQuiet      Duration `json:"browser_quiet" level:"uri" live:"yes" is:"2s" min:"10ms" max:"24h" lay:"yes" help:"A page is done when it has requested nothing for this long."`
	BrowserMemory     int64    `json:"browser_memory" level:"job" unit:"bytes" is:"1073741824" min:"67108864" expert:"yes" help:"A browser that uses more memory is ended."`
	BrowserScreenshot bool     `json:"browser_screenshot" level:"uri" live:"yes" is:"true" lay:"yes" help:"Record a picture of the page."`
}

// FileSettings say how files are written.
type FileSettings struct {
	WARCBytes   int64 `json:"warc_bytes" level:"job" unit:"bytes" is:"1000000000" min:"1024" help:"The size at which a WARC file is finished and the next one begun."`
	WARCLevel   int   `json:"warc_level" level:"job" unit:"gzip level" is:"2" min:"1" max:"9" expert:"yes" help:"How WARC records are compressed, 1 (fast) to 9 (small). Level 2 takes a quarter less of a crawl's CPU time than level 6, and its files are a tenth larger."`
	WARCWriters int   `json:"warc_writers" level:"job" unit:"files" is:"1" min:"1" max:"64" expert:"yes" help:"How many WARC files are written at a time."`
	LogExtra    bool  `json:"log_extra" level:"job" expert:"yes" help:"Add a last column to crawl.log, JSON: where the record is."`
}
