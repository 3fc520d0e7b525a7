package harvest

// The groups of settings. A new one needs a line here, and the code that heeds it; doc/settings.md and the description of
// the API are made of it with go test ./harvest ./api -update.

// ScopeSettings say which URIs belong to a crawl.
type ScopeSettings struct {
	Scope              ScopeMode `json:"scope" level:"job" live:"yes" is:"host" allowed:"path host domain any" help:"Which URIs, seen from the seeds, belong to the crawl: those below the seed's folder, on its host and port, on its registered domain, or all."`
	SURTPrefixes       []string  `json:"surt_prefixes,omitempty" level:"job" live:"yes" help:"Widen or narrow the scope: \"+http://(org,example,\" accepts, \"-http://(org,example,)/private\" rejects; a URL will do as well. The last that matches wins over scope."`
	MaxHops            int       `json:"max_hops" level:"uri" live:"yes" unit:"links" is:"20" max:"10000" help:"Links followed from a seed; embeds and redirects do not count."`
	MaxTransHops       int       `json:"max_trans_hops" level:"uri" live:"yes" unit:"hops" is:"2" max:"1000" help:"Embeds in a row that are followed out of the scope; redirects do not count."`
	MaxSpeculativeHops int       `json:"max_speculative_hops" level:"uri" live:"yes" unit:"hops" is:"1" max:"1000" help:"How many of these hops may be speculative: strings in scripts that look like URLs."`
	MaxPathSegments    int       `json:"max_path_segments" level:"uri" live:"yes" unit:"segments" is:"20" max:"10000" help:"URIs with a deeper path are rejected; 0 is no limit."`
	MaxRepetitions     int       `json:"max_repetitions" level:"uri" live:"yes" unit:"repetitions" is:"2" max:"1000" help:"URIs in whose path a group of segments is repeated more often in a row are rejected; 0 is no limit."`
	Rules              []Rule    `json:"rules,omitempty" level:"uri" live:"yes" help:"Further decide rules, after those that the settings above stand for. The last that speaks decides."`
	RulesOnly          bool      `json:"rules_only" level:"job" live:"yes" help:"Only rules decide; the settings above do not count."`
	Traps              []string  `json:"traps,omitempty" level:"uri" live:"yes" help:"Regular expressions (RE2) of crawler traps: URIs that match as a whole are rejected, whatever the rules say."`
	TrapHeuristics     bool      `json:"trap_heuristics" level:"uri" live:"yes" is:"true" help:"Catch calendars, session ids, ever-deeper paths and soft duplicates; the log says what was caught."`
	Canonicalization   []string  `json:"canonicalization" level:"job" is:"strip_userinfo strip_session_ids strip_session_cfids fixup_query" help:"Rules, in order, by which URIs count as one that was seen: lowercase, strip_userinfo, strip_www, strip_www_n, strip_session_ids, strip_session_cfids, fixup_query, strip_extra_slashes, or regex:EXPRESSION=>REPLACEMENT."`
}

// QueueSettings say how URIs are queued, and how fast a site is asked.
type QueueSettings struct {
	QueueBy         string   `json:"queue_by" level:"job" is:"host" allowed:"host ip domain" help:"What shares a queue, and so a pause between fetches: a host and port, an address, or a registered domain."`
	QueueName       string   `json:"queue_name,omitempty" level:"uri" help:"The queue by name, instead of queue_by: in a sheet, hosts that are one server share one."`
	HostValence     int      `json:"host_valence" level:"uri" live:"yes" unit:"connections" is:"1" min:"1" max:"1000" help:"Fetches of one queue at a time; each pauses by itself."`
	DelayFactor     float64  `json:"delay_factor" level:"uri" live:"yes" is:"5" max:"1000" help:"Times the duration of a fetch is the pause before the next from the same queue."`
	MinDelay        Duration `json:"min_delay" level:"uri" live:"yes" is:"3s" max:"24h" help:"The least such pause."`
	MaxDelay        Duration `json:"max_delay" level:"uri" live:"yes" is:"30s" max:"24h" help:"The longest such pause."`
	MaxCrawlDelay   Duration `json:"max_crawl_delay" level:"uri" live:"yes" is:"5m" max:"24h" help:"The longest Crawl-delay of a robots.txt that is respected in full."`
	MaxRetryAfter   Duration `json:"max_retry_after" level:"uri" live:"yes" is:"1h" max:"720h" help:"The longest Retry-After of an answer 429 or 503 that is respected in full."`
	HostBandwidth   int64    `json:"host_bandwidth" level:"uri" live:"yes" unit:"bytes/s" help:"Received from one queue; 0 is no limit."`
	Bandwidth       int64    `json:"bandwidth" level:"job" live:"yes" unit:"bytes/s" help:"Received by the whole crawl; 0 is no limit."`
	MaxRetries      int      `json:"max_retries" level:"uri" live:"yes" unit:"tries" is:"30" max:"10000" help:"How often a failed fetch is tried again."`
	RetryDelay      Duration `json:"retry_delay" level:"uri" live:"yes" is:"15m" max:"720h" help:"The pause before that."`
	CostPolicy      string   `json:"cost_policy" level:"uri" live:"yes" is:"unit" allowed:"unit zero wag" help:"What a URI costs of its queue's budgets: one; nothing; or one, and one more each for a query and for a path of more than 100 bytes."`
	SessionBudget   int64    `json:"session_budget" level:"uri" live:"yes" unit:"cost" is:"3000" help:"What a queue may spend before it makes room for a queue that waits; 0 is no limit."`
	TotalBudget     int64    `json:"total_budget" level:"uri" live:"yes" unit:"cost" help:"What a queue may spend at all; then it is retired. 0 is no limit."`
	Precedence      int      `json:"precedence" level:"uri" live:"yes" is:"3" max:"100" help:"Queues of a lower number come first when queues wait for their turn."`
	MaxActiveQueues int      `json:"max_active_queues" level:"job" live:"yes" unit:"queues" is:"20000" min:"1" max:"10000000" help:"Queues that take part at a time; the others wait, and take no memory to speak of."`
	Workers         int      `json:"workers" level:"job" live:"yes" unit:"URIs" is:"25" min:"1" max:"10000" help:"How many URIs are worked on at once."`
}

// IdentitySettings say who asks, and what may be asked.
type IdentitySettings struct {
	UserAgent       string       `json:"user_agent" level:"uri" live:"yes" is:"Mozilla/5.0 (compatible; holdfast/1.0; +{contact})" help:"The User-Agent header; {contact} stands for operator_contact."`
	OperatorContact string       `json:"operator_contact" level:"job" help:"An http(s) URL or an e-mail address for site owners. Without one only loopback is crawled."`
	Operator        string       `json:"operator,omitempty" level:"job" help:"Who crawls, for the warcinfo records."`
	Robots          RobotsPolicy `json:"robots" level:"uri" live:"yes" is:"obey" allowed:"obey ignore custom some" help:"What robots.txt means: obey it; do not even fetch it; fetch it but obey robots_text; or obey it for robots_paths alone."`
	RobotsName      string       `json:"robots_name,omitempty" level:"uri" live:"yes" help:"The name by which robots.txt speaks to this crawler, of letters, dashes and underscores. Without one it is the product that user_agent names."`
	RobotsText      string       `json:"robots_text,omitempty" level:"uri" live:"yes" help:"A robots.txt of one's own, for robots custom."`
	RobotsPaths     []string     `json:"robots_paths,omitempty" level:"uri" live:"yes" help:"Paths, as in a robots.txt, for which robots some obeys."`
	MetaRobots      string       `json:"meta_robots" level:"uri" live:"yes" is:"ignore" allowed:"ignore obey" help:"What nofollow and noindex in meta elements and X-Robots-Tag headers mean: nothing, or do not follow and do not keep."`
	AllowPrivate    bool         `json:"allow_private" level:"job" help:"Private, loopback and link-local addresses may be reached."`
}

// FetchSettings say how a server is reached and asked.
type FetchSettings struct {
	Nameserver      string       `json:"nameserver,omitempty" level:"job" help:"Asked for names instead of the machine's own name servers: an address and a port, as 192.0.2.1:53."`
	MaxDNSTTL       Duration     `json:"max_dns_ttl" level:"job" is:"24h" min:"1s" max:"720h" help:"The longest that an answer to a name holds."`
	Proxies         []Route      `json:"proxies,omitempty" level:"job" live:"yes" help:"Which hosts are asked through which proxy; the first that matches counts."`
	SourceAddresses []Route      `json:"source_addresses,omitempty" level:"job" live:"yes" help:"Which hosts are asked from which of this machine's addresses; the first that matches counts."`
	HTTP2           string       `json:"http2" level:"uri" live:"yes" is:"insisted" allowed:"never insisted preferred" help:"When HTTP/2 is spoken: never; where a server speaks nothing else; or wherever a server can."`
	Compression     bool         `json:"compression" level:"uri" live:"yes" is:"true" help:"Ask for compressed answers; they are stored as they were sent."`
	Headers         []string     `json:"headers,omitempty" level:"uri" live:"yes" help:"Further request headers, as \"Accept-Language: da\". The value of a header that carries a login, by its name or value, is sealed, and left out of the request records."`
	Cookies         bool         `json:"cookies" level:"uri" live:"yes" is:"true" help:"Keep cookies and send them back, within the job."`
	FirstCookies    string       `json:"first_cookies,omitempty" level:"job" help:"Cookies that the crawl begins with: the text of a cookies.txt in Netscape's form, seven columns with tabs between. They let one in somewhere, so pages and documents show [redacted], and request records leave out the values of cookies."`
	Credentials     []Credential `json:"credentials,omitempty" level:"job" live:"yes" help:"Logins. Secrets are not recorded."`
	FetchTimeout    Duration     `json:"fetch_timeout" level:"uri" live:"yes" is:"20m" min:"1ms" max:"720h" help:"Where a single fetch is cut off."`
	IdleTimeout     Duration     `json:"idle_timeout" level:"uri" live:"yes" is:"20s" min:"1ms" max:"24h" help:"How long a server may take to connect, or say nothing."`
}

// LimitSettings say how much is fetched.
type LimitSettings struct {
	MaxObjects           int64    `json:"max_objects" level:"job" live:"yes" unit:"documents" help:"Ends the crawl; 0 is no limit."`
	MaxBytes             int64    `json:"max_bytes" level:"job" live:"yes" unit:"bytes" help:"Received; ends the crawl; 0 is no limit."`
	MaxTime              Duration `json:"max_time" level:"job" live:"yes" max:"87600h" help:"Ends the crawl, pauses not counted; 0 is no limit."`
	MaxDomainObjects     int64    `json:"max_domain_objects" level:"uri" live:"yes" unit:"documents" help:"Of one registered domain, as its configuration says; 0 is no limit."`
	MaxDomainBytes       int64    `json:"max_domain_bytes" level:"uri" live:"yes" unit:"bytes" help:"Of one registered domain, as its configuration says; 0 is no limit."`
	HarvestDomainObjects int64    `json:"harvest_domain_objects" level:"uri" live:"yes" unit:"documents" help:"Of one registered domain, as the harvest says; 0 is no limit."`
	HarvestDomainBytes   int64    `json:"harvest_domain_bytes" level:"uri" live:"yes" unit:"bytes" help:"Of one registered domain, as the harvest says; 0 is no limit."`
	MaxDocumentBytes     int64    `json:"max_document_bytes" level:"uri" live:"yes" unit:"bytes" is:"1000000000" help:"Where a single response is cut off; 0 is no limit."`
	MinFreeDisk          int64    `json:"min_free_disk" level:"job" live:"yes" unit:"bytes" is:"1000000000" help:"With less room on the crawl's disk the crawl pauses until there is more; 0 is never."`
}

// KeepSettings say what is kept of what came.
type KeepSettings struct {
	MidFetchRules    []Rule   `json:"mid_fetch_rules,omitempty" level:"uri" live:"yes" help:"Decide rules over the head of a response: where they reject, the rest is not fetched."`
	RecordRules      []Rule   `json:"record_rules,omitempty" level:"uri" live:"yes" help:"Decide rules over all that came, by its digest and length too: where they reject, the document is not recorded."`
	KeepTypes        []string `json:"keep_types,omitempty" level:"uri" live:"yes" help:"Media types, * allowed, that are recorded; others are fetched for their links and not recorded. Empty: all."`
	DiscardTypes     []string `json:"discard_types,omitempty" level:"uri" live:"yes" help:"Media types, * allowed, that are fetched for their links and not recorded."`
	DiscardIf        string   `json:"discard_if,omitempty" level:"uri" live:"yes" help:"An expression (CEL) over what was fetched; where it is true, the document is not recorded."`
	Extractors       []string `json:"extractors" level:"uri" live:"yes" is:"http html css js json xml feed sitemap robots pdf svg m3u8 dash office" allowed:"http html css js json xml feed sitemap robots pdf svg m3u8 dash office" help:"The kinds of documents that links are looked for in."`
	MaxLinks         int      `json:"max_links" level:"uri" live:"yes" unit:"links" is:"6000" min:"1" max:"1000000" help:"Links of one document that are kept; the rest is counted."`
	Deduplicate      string   `json:"deduplicate" level:"uri" live:"yes" is:"none" allowed:"none url digest equivalent" help:"When what was archived before is recorded as a revisit: never; the same URI with the same content; any URI with the same content; or an equivalent URI with the same content."`
	DeduplicateTypes []string `json:"deduplicate_types" level:"uri" live:"yes" is:"!text/*" help:"Media types, * allowed, ! for all but, that this is for."`
	Conditional      bool     `json:"conditional" level:"uri" live:"yes" help:"Ask with If-None-Match and If-Modified-Since where an earlier capture is known."`
	Incremental      bool     `json:"incremental" level:"job" help:"Keep each URI's record, with digest and validators, for the next crawl."`
}

// BrowserSettings say which pages are loaded in a browser.
type BrowserSettings struct {
	BrowserRules      []Rule   `json:"browser_rules,omitempty" level:"uri" live:"yes" help:"Decide rules: pages they accept are loaded in a browser."`
	BrowserTime       Duration `json:"browser_time" level:"uri" live:"yes" is:"2m" min:"1s" max:"24h" help:"A page may take so long."`
	BrowserQuiet      Duration `json:"browser_quiet" level:"uri" live:"yes" is:"2s" min:"10ms" max:"24h" help:"A page is done when it asked for nothing for so long."`
	BrowserMemory     int64    `json:"browser_memory" level:"job" unit:"bytes" is:"1073741824" min:"67108864" help:"A browser that takes more is ended."`
	BrowserScreenshot bool     `json:"browser_screenshot" level:"uri" live:"yes" is:"true" help:"Record a picture of the page."`
}

// FileSettings say how files are written.
type FileSettings struct {
	WARCBytes   int64 `json:"warc_bytes" level:"job" unit:"bytes" is:"1000000000" min:"1024" help:"The size at which a WARC file is finished and the next begun."`
	WARCLevel   int   `json:"warc_level" level:"job" unit:"gzip level" is:"2" min:"1" max:"9" help:"How WARC records are compressed, 1 (fast) to 9 (small). At 2 a crawl's whole CPU time is a quarter less than at 6, its files are a tenth larger."`
	WARCWriters int   `json:"warc_writers" level:"job" unit:"files" is:"1" min:"1" max:"64" help:"WARC files written at a time."`
	LogExtra    bool  `json:"log_extra" level:"job" help:"A last column in crawl.log, JSON: where the record is."`
}
