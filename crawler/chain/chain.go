// Package chain holds the stages that a URI passes through, one after another, and the worker that takes it through
// them: pre-fetch, turn, fetch, extract, record, and the end of the visit. The stages fill in one value per URI, the
// visit. Each stage is given what it needs by name. Stages belong to one worker and are used by it alone.
package chain

import (
	"log/slog"
	"sync/atomic"

	"holdfast/crawler/events"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/plan"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/warc"
)

// Learnt is what a crawl learnt on its way, beside servers and quotas.
type Learnt struct {
	Heard    *hosts.Heard
	Guesses  *hosts.Guesses
	Searched *Searched
}

// Parts are what the stages of all workers are made of. All must be given but Pacer.
type Parts struct {
	Learnt
	Plan      *plan.Current
	Entries   *plan.Entries
	Frontier  *frontier.Frontier
	Scope     *scope.Scope
	Domains   *scope.Domains
	Links     *Links
	Dedup     *Dedup
	Servers   *hosts.Servers
	Quotas    *hosts.Quotas
	Slots     *hosts.Turns
	Limiters  *hosts.Limiters
	Bandwidth *fetch.Limiter
	Pacer     Pacer
	Client    *fetch.Client
	Resolver  *fetch.Resolver
	Jar       *fetch.Jar
	Logins    *fetch.Logins
	Logs      *report.Logs
	Log       *slog.Logger
	Events    *events.Hub
	Objects   *atomic.Int64 // counts documents
	Limits    func()        // looks whether the crawl has all it may have
	LoggedIn  func()        // is told that a login was sent: its cookies matter
}

// Set is the stages of one worker, or of one request of a page.
type Set struct {
	PreFetch *PreFetch
	Turn     *Turn
	Fetch    *Fetch
	Extract  *Extract
	Record   *Record
	Post     *Post
	Direct   *Direct
	GiveBack *GiveBack
}

// Set makes a set of stages; records go to files.
func (p *Parts) Set(files *warc.Files) *Set {
	turn := &Turn{frontier: p.Frontier, slots: p.Slots, pacer: p.Pacer, servers: p.Servers}
	giveBack := &GiveBack{frontier: p.Frontier, entries: p.Entries, heard: p.Heard, servers: p.Servers, turn: turn,
		logs: p.Logs, log: p.Log}
	extract := NewExtract(p.Logs, p.Log, p.Searched)
	record := &Record{scope: p.Scope, dedup: p.Dedup, files: files}
	asker := Asker{Logins: p.Logins, plan: p.Plan, client: p.Client, jar: p.Jar, limiters: p.Limiters,
		bandwidth: p.Bandwidth, scope: p.Scope, domains: p.Domains, dedup: p.Dedup, extract: extract,
		turn: turn, heard: p.Heard}
	fetch := &Fetch{Asker: asker, resolver: p.Resolver, giveBack: giveBack}
	direct := &Direct{asker: &fetch.Asker, resolver: p.Resolver, turn: turn, extract: extract, record: record}
	post := &Post{plan: p.Plan, frontier: p.Frontier, links: p.Links, scope: p.Scope, servers: p.Servers,
		quotas: p.Quotas, turn: turn, logs: p.Logs, log: p.Log, events: p.Events, objects: p.Objects, limits: p.Limits,
		guesses: p.Guesses, searched: p.Searched, giveBack: giveBack,
		walls: &Walls{Frontier: p.Frontier, Jar: p.Jar, Plan: p.Plan, Log: p.Log}}
	direct.servers, direct.frontier, direct.post = p.Servers, p.Frontier, post
	login := &Login{frontier: p.Frontier, logins: p.Logins, direct: direct, post: post, turn: turn, giveBack: giveBack,
		logs: p.Logs, log: p.Log, sent: p.LoggedIn}
	preFetch := &PreFetch{plan: p.Plan, frontier: p.Frontier, scope: p.Scope, servers: p.Servers, quotas: p.Quotas,
		giveBack: giveBack, login: login, guesses: p.Guesses}
	return &Set{PreFetch: preFetch, Turn: turn, Fetch: fetch, Extract: extract, Record: record, Post: post,
		Direct: direct, GiveBack: giveBack}
}

// Stages are the stages of the chain in order, by the names that reports use.
func Stages() []Stage {
	return []Stage{
		{Name: "preFetch", Does: "Scope again, limits, address, robots.txt, login"},
		{Name: "browserSeat", Does: "Wait for a browser, for pages that need one"},
		{Name: "turn", Does: "Wait for this crawl's turn at the host"},
		{Name: "fetch", Does: "Fetch DNS and HTTP URIs"},
		{Name: "browse", Does: "Load pages in a browser"},
		{Name: "extract", Does: "Extract links from what was fetched"},
		{Name: "record", Does: "Write WARC records"},
	}
}

// Chain is the chain over the set's stages, and those for pages in a browser.
func (s *Set) Chain(seat, browse Run) []Stage {
	stages := Stages()
	for i, run := range []Run{s.PreFetch.run, seat, s.Turn.run, s.Fetch.run, browse, s.Extract.Run, s.Record.Run} {
		stages[i].Run = run
	}
	return stages
}
