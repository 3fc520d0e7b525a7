package web

import (
	"encoding/json"
	"strings"
	"time"

	"holdfast/api/wire"
	"holdfast/harvest"
	"holdfast/harvest/domain"
	"holdfast/harvest/split"
)

// defined is what archivists define, a crawl that runs, and what the API answers to acts.
func defined(name string) map[string]any {
	at := now().Add(-3 * time.Hour)
	text := func(v any) json.RawMessage {
		out, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return out
	}
	about := wire.Defined{Name: name, Version: 2, Comment: name, Created: at, Changed: at, ChangedBy: name, Shown: 2}
	template := wire.Template{Defined: about, Active: true, Settings: text(map[string]any{"max_hops": 7, "operator_contact": name})}
	schedule := wire.Schedule{Defined: about, Schedule: text(map[string]any{"unit": "week", "weekday": "mon", "at": "22:00", "zone": "Europe/Copenhagen"})}
	traps := wire.TrapList{Defined: about, Active: true, Traps: []string{name}}
	channel := wire.Channel{Name: name, Comment: name, Created: at, Nodes: []string{name}, Waiting: 3}
	versions := wire.Page[wire.Version]{Items: []wire.Version{{Version: 1, Made: at, MadeBy: name}, {Version: 2, Made: at, MadeBy: name}}}
	running := wire.Job{ID: 15, Harvest: name, State: wire.JobStarted, Created: at, Started: at, NodeName: name,
		Progress: &wire.Progress{Done: 12480, Queued: 9, Rate: 41.24, Bytes: 5e6}, Settings: &wire.Settings{Settings: harvest.DefaultSettings()}}
	wake := now().Add(time.Minute)
	live := harvest.Reply{Live: &harvest.Live{State: "RUNNING", Reason: name, Queued: 9, Succeeded: 5, Rate: 41.24,
		Types: map[string]int64{name: 4}, Statuses: map[string]int64{name: 4}, Workers: []harvest.Worker{{Number: 1, Stage: "idle"}, {Number: 3, Stage: name, URL: name, For: harvest.Duration(time.Minute)}},
		Slowest: []harvest.SlowHost{{Host: name, Mean: harvest.Duration(time.Second), URIs: 3}}}}
	line := at.Format("2006-01-02T15:04:05.000Z") + " 7 host-blocked " + string(text(map[string]any{"reason": name, "by": name, "host": name}))
	acted := wire.Domain{Name: "acted.example", Default: "main", Version: 4, Configurations: []wire.Configuration{{Name: "main", Template: "default",
		Seeds: []string{"main"}, Default: true, Version: 3, Settings: wire.Overlay{"max_hops": text(3)}}, {Name: "other", Template: "default"}},
		Seeds: []wire.List{{Name: "main", Items: 1, Version: 2, Changed: at}}}
	address := wire.NoticeAddress{Name: name, Way: "mail", To: name, NoticeFilter: wire.NoticeFilter{Kinds: []string{"disk-low"}, Least: "bad", Collection: name, Place: name},
		Language: "da", When: "daily", Hour: "07:30", Zone: "Europe/Copenhagen", Version: 2, Told: 41, Lost: 2, Waiting: 3, Undelivered: at, Reason: name}
	batch := wire.Batch{ID: "b1", Program: name, Parameters: map[string]string{name: name}, Collections: []string{name}, Replica: name, Files: name, Job: 7, Names: 3, By: name,
		State: wire.BatchRunning, Reason: name, Node: name, Opened: at, Progress: &wire.BatchProgress{Selected: 9, Files: 4, Failed: 1, Bytes: 5_000_000,
			Failures: []wire.BatchFailure{{Name: name, Reason: name}}, Nodes: []wire.BatchShare{{Node: name, Files: 4}}, Detail: name}}
	ingest := wire.Ingest{ID: "i1", Collection: name, Node: name, By: name, Size: 5_000_000, State: wire.IngestRunning, Reason: name, Began: at, Lines: 9, Read: 1_000_000, Made: 4, Known: 3, Bad: 2}
	return map[string]any{
		"/templates": wire.Page[wire.Template]{Items: []wire.Template{template}}, "/templates/default": template, "/templates/default/versions": versions,
		"/schedules": wire.Page[wire.Schedule]{Items: []wire.Schedule{schedule}}, "/schedules/evenings": schedule, "/schedules/evenings/versions": versions,
		"/schedules/evenings/dates": wire.Page[wire.Date]{Items: []wire.Date{{At: wake, Local: name}}},
		"/trap-lists":               wire.Page[wire.TrapList]{Items: []wire.TrapList{traps}}, "/trap-lists/calendars": traps, "/trap-lists/calendars/versions": versions,
		"/channels": wire.Page[wire.Channel]{Items: []wire.Channel{channel, {Name: "FOCUSED", Default: true}}}, "/channels/SLOW": channel,
		"/collections": wire.Page[wire.Collection]{Items: []wire.Collection{{Name: name}, {Name: "tv"}}},
		"/fields":      wire.Page[wire.Field]{Items: []wire.Field{{Name: name, Type: "text"}, {Name: "seen", Type: "boolean"}, {Name: "when", Type: "date"}}},
		"/jobs/15":     running, "/jobs/15/crawl/live": live,
		"/jobs/15/crawl/queues":  harvest.Reply{Queues: []harvest.Queue{{Name: name, State: "ready", Queued: 4, Wake: &wake}, {Name: name, State: "frozen"}}},
		"/jobs/15/crawl/domains": harvest.Reply{Domains: []harvest.DomainCount{{Domain: name, Objects: 5, Stopped: "config-size"}}},
		"/jobs/15/crawl/search":  harvest.Reply{Lines: []string{line, "no event"}},
		"/harvests/3/preview": wire.HarvestPreview{Jobs: 3, Configurations: 9, Expected: 1200, LeftOut: map[string]int64{name: 2}, Busy: 1, BusyDomains: []string{name},
			Channel: name, Error: name, First: []wire.PreviewedJob{{Template: name, Overlay: name, Configurations: 4, Expected: 600}}},
		"/harvests/3/configurations":      wire.Page[wire.HarvestConfiguration]{Items: []wire.HarvestConfiguration{{Domain: name, Configuration: name}}, Next: "c-1"},
		"/domains/example.org/seeds/main": plainText("https://example.org/" + name), "/domains/example.org/traps": plainText(name),
		"/domains/acted.example":            acted,
		"/domains/acted.example/seeds/main": plainText("https://example.org/"),
		"/audits/a1":                        wire.Audit{ID: "a1", Replicas: []string{name}, State: "running", Began: at, Files: 4, Total: 9},
		"/nodes/north-1/figures":            figuresOf(name, "hour"), "/nodes/north-1/figures?span=week": figuresOf(name, "week"),
		"/nodes/north-1/log": wire.NodeLog{Name: name, Next: "4d-9", Missed: 2, Restarted: true, Level: wire.LogLevel{Now: "debug", Usual: "info", Until: now(), By: name},
			Items: []wire.LogLine{{Time: at, Level: "warn", Message: name, Attributes: []wire.LogAttribute{{Name: name, Value: name}}}, {Time: at, Level: "of the future", Message: name}}},
		"/nodes/north-1": wire.Node{Name: "north-1", Replica: name, Shards: 4096, Weight: 100},
		"/replicas":      wire.Page[wire.Replica]{Items: []wire.Replica{{Name: name, Files: 10, Bytes: 5e9}}},

		"POST /alerts/acknowledge": wire.Acknowledgement{}, "POST /alerts/withdraw": struct{}{},
		"POST /jobs/15/wish": running, "POST /jobs/13/resubmit": wire.Job{ID: 16}, "POST /jobs/13/reject": running,
		"POST /jobs/15/crawl/freeze": harvest.Reply{Count: 2}, "POST /jobs/15/crawl/thaw": harvest.Reply{Count: 1},
		"POST /jobs/15/crawl/unfreeze": harvest.Reply{Count: 1}, "POST /jobs/15/crawl/seeds": harvest.Reply{Count: 1},
		"POST /jobs/15/crawl/change": harvest.Reply{}, "POST /jobs/15/crawl/checkpoint": harvest.Reply{},
		"POST /harvests": wire.Harvest{Number: 8, Name: name}, "PATCH /harvests/3": wire.Harvest{Number: 3}, "POST /harvests/3/copy": wire.Harvest{Number: 9, Name: name},
		"POST /harvests/3/activate": wire.Harvest{Number: 3, Next: wake}, "POST /harvests/3/deactivate": wire.Harvest{Number: 3}, "POST /harvests/3/delete": nil,
		"POST /harvests/3/configurations/add": wire.Harvest{Configurations: 5}, "POST /harvests/3/configurations/remove": wire.Harvest{Configurations: 4},
		"POST /harvests/3/seeds": wire.HarvestSeeds{Seeds: 2, Domains: 1, Known: 1, Bad: 1, BadLines: []wire.BadLine{{Line: 4, Reason: name}}, Reason: name},
		"POST /harvests/8/seeds": wire.HarvestSeeds{Seeds: 2, Domains: 1}, "POST /harvests/8/delete": nil,
		"POST /schedules": schedule, "PATCH /schedules/evenings": schedule, "POST /schedules/evenings/copy": schedule, "DELETE /schedules/evenings": nil,
		"POST /templates": template, "PATCH /templates/default": template, "POST /templates/default/copy": template, "DELETE /templates/default": nil,
		"POST /trap-lists": traps, "PATCH /trap-lists/calendars": traps, "POST /trap-lists/calendars/copy": traps, "DELETE /trap-lists/calendars": nil,
		"POST /channels": channel, "PATCH /channels/SLOW": channel, "DELETE /channels/SLOW": nil,
		"POST /domains": wire.Domain{Name: "new.example"}, "PATCH /domains/acted.example": acted, "PUT /domains/acted.example/alias": acted, "POST /domains/acted.example/remove": nil,
		"PUT /domains/acted.example/traps": acted, "PATCH /domains/acted.example/configurations/main": acted, "PATCH /domains/acted.example/configurations/fresh": acted,
		"POST /domains/acted.example/configurations/other/remove": acted, "PUT /domains/acted.example/seeds/main": acted, "PUT /domains/acted.example/seeds/fresh": acted,
		"POST /domains/acted.example/seeds/main/remove": acted,
		"POST /users":               wire.Invitation{Person: wire.Person{ID: "p1", Name: name}, Expires: wake, Text: "secret-text", URL: "https://archive.test/invitation?text=x"},
		"POST /users/p1/invitation": wire.Invitation{Person: wire.Person{ID: "p1", Name: name}, Expires: wake, Text: "secret-text"},
		"POST /users/p1/disable":    wire.Person{}, "POST /users/p1/enable": wire.Person{}, "POST /grants": wire.Grant{}, "POST /grants/1/end": wire.Grant{}, "POST /users/p1/identities/00ff/unlink": wire.Person{},
		"/batch-programs": wire.Page[wire.BatchProgram]{Items: []wire.BatchProgram{{Name: "checksum", Help: name}}}, "/batches/b1": batch,
		"POST /batches": batch, "POST /batches/b1/wish": batch,
		"POST /audits": wire.Audit{ID: "a2"}, "POST /audits/a1/wish": wire.Audit{},
		"POST /files/12-a.warc.gz/verify": wire.Page[wire.Verification]{Items: []wire.Verification{{Replica: name, State: "ok"},
			{Replica: name, State: "corrupt", Detail: name}, {Replica: name, State: "unreachable"}, {Replica: name, State: "missing", Outbox: "ok"},
			{Replica: name, State: "away", Outbox: "corrupt"}, {Replica: name, State: "unreadable"}}},
		"/jobs/15/crawl/uris":        harvest.Reply{URIs: []harvest.QueuedURI{{URL: name, Queue: name, Path: "LE", Via: name, Source: name, Priority: 1, Tries: 2}}, Next: "u-2"},
		"/jobs/15/crawl/checkpoints": harvest.Reply{Checkpoints: []harvest.Checkpoint{{Name: name, Taken: at, Queued: 7, Bytes: 5e6}}},
		"/jobs/15/crawl/report":      harvest.Reply{Lines: []string{name}, Next: "9"},
		"/jobs/15/crawl/explain": harvest.Reply{Explained: &harvest.Explained{URL: name, Canonical: name, Known: name, Found: "queue", Path: "L", Via: name, Source: name, Queue: name, Logged: name,
			Decision: "REJECT", DecidedBy: name, Status: -5000, Words: []harvest.Word{{Rule: name, Decision: "PASS"}, {Rule: name, Decision: "REJECT", Why: name}}, Robots: name, Limits: name,
			Settings: map[string]harvest.Origin{"max_hops": {Value: text(7), From: name}}}},
		"POST /jobs/15/crawl/retire": harvest.Reply{Count: 2}, "POST /jobs/15/crawl/budget": harvest.Reply{Count: 2}, "POST /jobs/15/crawl/block": harvest.Reply{},
		"POST /jobs/15/crawl/unblock": harvest.Reply{}, "POST /jobs/15/crawl/delete": harvest.Reply{Count: 1}, "POST /jobs/15/crawl/never": harvest.Reply{},
		"POST /jobs/15/crawl/forget": harvest.Reply{}, "POST /jobs/15/crawl/kill": harvest.Reply{}, "POST /jobs/15/crawl/restore": harvest.Reply{},
		"/disks": wire.Disks{Disks: []wire.DiskState{{Path: "/a", Total: 9e9, Room: 5e9, Shards: 12, Bytes: 4e9, State: "in use", Why: name}, {Path: "/b", State: "emptied", Room: 7e9}, {Path: name, State: "draining"}},
			Moved: 5, Fault: name, Move: &wire.DiskMove{Shard: "abc", From: name, To: name, Files: 2, TotalFiles: 9, Bytes: 5, TotalBytes: 9, Began: at}},
		"POST /disks/wish": wire.Disks{}, "/replicas/north": wire.Replica{Name: "north", Good: 7, Held: 4096}, "POST /replicas": wire.Replica{}, "POST /replicas/north/remove": nil,
		"POST /collections": wire.Collection{}, "POST /collections/tv/remove": nil,
		"/cluster/level":     wire.Level{Level: 3, Supported: 5, Newest: 6, Members: []wire.MemberLevel{{Name: name, Level: 5, Version: name, State: "alive"}, {Name: name, Level: 6, State: "failed"}}},
		"PUT /cluster/level": wire.Level{Level: 5}, "POST /files/12-a.warc.gz/lost": nil, "POST /files/lost.warc.gz/found": nil, "/files/lost.warc.gz": wire.File{Name: "lost.warc.gz", Lost: at}, "POST /files/12-a.warc.gz/remove": nil,
		"/domain-ingests": wire.Page[wire.Ingest]{Items: []wire.Ingest{ingest, {ID: "i2", State: wire.IngestDone, Began: at, Bad: 1}}}, "/domain-ingests/i1": ingest,
		"/domain-ingests/i1/bad": wire.Page[wire.BadLine]{Items: []wire.BadLine{{Line: 4, Reason: name}}, Next: "b-4"},
		"POST /domain-ingests":   ingest, "POST /domain-ingests/i1/stop": wire.Ingest{ID: "i1", State: wire.IngestStopped},
		"PUT /fields": wire.Field{}, "POST /fields/domain/seen/remove": nil,
		"/domain-settings": wire.DomainSettings{Settings: domain.DefaultSettings()}, "PATCH /domain-settings": wire.DomainSettings{},
		"/harvest-settings": wire.HarvestSettings{Settings: split.DefaultSettings()}, "PATCH /harvest-settings": wire.HarvestSettings{},
		"/notice-addresses":     wire.Page[wire.NoticeAddress]{Items: []wire.NoticeAddress{address, {Name: name, Way: "stderr", Told: 5}}},
		"/notice-addresses/ops": address, "/notice-addresses/hook": wire.NoticeAddress{Name: "hook", Way: "webhook", To: "https://hook.example", When: "at-once", Language: "en", Version: 3},
		"POST /notice-addresses": wire.NoticeAddress{Name: name, Secret: "whsec_made"}, "PATCH /notice-addresses/ops": address, "PATCH /notice-addresses/hook": address,
		"DELETE /notice-addresses/ops": nil, "POST /notice-addresses/ops/test": wire.NoticeTest{ID: "msg_1", Reason: name},
		"PUT /nodes/north-1/log-level": wire.LogLevel{Now: "debug", Usual: "info"},
		"PATCH /nodes/north-1":         wire.Node{Name: "north-1"},
	}
}

// tried is an act with what a person types, and what it does at the API.
type tried struct {
	path, does string
	typed      []string // names and values
}

// tries has each act of the table at least once.
func tries(name string) []tried {
	return append(triedOnCopies(name), []tried{
		{"/jobs/15/pause", `POST /jobs/15/wish {"wish":"pause","reason":"lunch"}`, []string{"reason", "lunch"}},
		{"/jobs/15/resume", `POST /jobs/15/wish {"wish":"run"}`, nil},
		{"/jobs/15/stop", `POST /jobs/15/wish {"wish":"stop","reason":"why","for":"30s"}`, []string{"reason", "why", "for", "30s", "confirm", "15"}},
		{"/alerts/acknowledge", `POST /alerts/acknowledge {"kind":"disk-low","node":"n","subject":"/data","note":"Friday","until":"2026-12-24T22:00:00Z"}`,
			[]string{"kind", "disk-low", "node", "n", "subject", "/data", "note", "Friday", "until", "2026-12-24T22:00"}},
		{"/alerts/withdraw", `POST /alerts/withdraw {"kind":"disk-low","node":"n","subject":"/data"}`,
			[]string{"kind", "disk-low", "node", "n", "subject", "/data"}},
		{"/jobs/13/resubmit", `POST /jobs/13/resubmit `, nil},
		{"/jobs/13/reject", `POST /jobs/13/reject `, []string{"confirm", "13"}},
		{"/jobs/15/freeze", `POST /jobs/15/crawl/freeze {"reason":"slow","queue":"a\\.b"}`, []string{"queue", `a\.b`, "reason", "slow"}},
		{"/jobs/15/thaw", `POST /jobs/15/crawl/unfreeze {"queue":".*"}`, []string{"queue", ".*"}},
		{"/jobs/15/seeds", `POST /jobs/15/crawl/seeds {"seeds":["https://a.example/","https://b.example/"]}`, []string{"seeds", "https://a.example/\r\n\r\n https://b.example/ "}},
		{"/jobs/15/set", `POST /jobs/15/crawl/change {"settings":{"max_hops":3}}`, []string{"setting", "max_hops", "value", "3"}},
		{"/jobs/15/set", `POST /jobs/15/crawl/change {"settings":{"surt_prefixes":["+http://(org,a,","-http://(org,b,"]}}`,
			[]string{"setting", "surt_prefixes", "value", "+http://(org,a,\r\n-http://(org,b,"}},
		{"/jobs/15/checkpoint", `POST /jobs/15/crawl/checkpoint {"name":"noon"}`, []string{"name", "noon"}},
		{"/new/harvest", `POST /harvests {"name":"News","kind":"selective","schedule":"evenings","start":"2026-12-24T22:00:00Z","objects":5,"audience":"all","comments":"a\nb","fields":{"seen":"true"}}`,
			[]string{"name", " News ", "kind", "selective", "schedule", "evenings", "start", "2026-12-24T22:00", "objects", "5", "audience", "all", "comments", "a\r\nb", "x.seen", "true"}},
		{"/harvests/3/edit", `PATCH /harvests/3 {"version":0,"name":"Other","channel":"","schedule":"`, []string{"version", "0", "name", "Other", "schedule", name, "channel", "",
			"objects", "", "continues", "1", "audience", "", "comments", ""}},
		{"/harvests/3/copy", `POST /harvests/3/copy {"name":"Copy"}`, []string{"name", "Copy"}},
		{"/harvests/3/activate", `POST /harvests/3/activate {}`, nil},
		{"/harvests/3/deactivate", `POST /harvests/3/deactivate {"reason":"why"}`, []string{"reason", "why"}},
		{"/harvests/3/delete", `POST /harvests/3/delete {"reason":"why"}`, []string{"reason", "why", "confirm", name}},
		{"/harvests/3/add", `POST /harvests/3/configurations/add {"configurations":[{"domain":"a.example"},{"domain":"b.example","configuration":"front"}]}`,
			[]string{"configurations", "a.example\r\nb.example/front"}},
		{"/harvests/3/remove", `POST /harvests/3/configurations/remove {"configurations":[{"domain":"a.example"}]}`, []string{"configurations", "a.example"}},
		{"/harvests/3/seeds", `POST /harvests/3/seeds?bytes=7&objects=5&template=t https://a.example/` + "\n# b", []string{"urls", "https://a.example/\r\n# b", "template", "t", "objects", "5", "bytes", "7"}},
		{"/archive-now", `POST /harvests {"name":"Now","kind":"event","schedule":"once"}`, []string{"name", "Now", "urls", "https://a.example/"}},
		{"/new/domain", `POST /domains {"name":"new.example","owner":"me"}`, []string{"name", "new.example", "owner", "me"}},
		{"/domains/acted.example/edit", `PATCH /domains/acted.example {"version":4,"owner":"me","comments":"","default":"other"}`,
			[]string{"version", "4", "owner", "me", "default", "other", "comments", ""}},
		{"/domains/acted.example/alias", `PUT /domains/acted.example/alias {"of":"b.example"}`, []string{"of", "b.example"}},
		{"/domains/acted.example/remove", `POST /domains/acted.example/remove {"reason":"why"}`, []string{"reason", "why", "confirm", "acted.example"}},
		{"/domains/acted.example/traps", `PUT /domains/acted.example/traps .*/cal`, []string{"traps", ".*/cal", "version", "0"}},
		{"/domains/acted.example/configure", `PATCH /domains/acted.example/configurations/fresh {"version":0,"template":"default","seeds":["main"],"objects":5,"no_limit":["bytes"],"comments":""}`,
			[]string{"name", "fresh", "template", "default", "seeds", "main", "objects", "5"}},
		{"/domains/acted.example/configurations/main", `PATCH /domains/acted.example/configurations/main {"version":3,"template":"default","seeds":["main"],"bytes":0,"no_limit":["objects"],"settings":{"max_hops":4,"scope":"host"},"comments":""}`,
			[]string{"version", "3", "template", "default", "seeds", "main", "bytes", "0", "s.max_hops", "4", "s.scope", "host", "objects", ""}},
		{"/domains/acted.example/configurations/other/remove", `POST /domains/acted.example/configurations/other/remove {"reason":"why"}`, []string{"reason", "why", "confirm", "other"}},
		{"/domains/acted.example/seeds", `PUT /domains/acted.example/seeds/fresh?version=0 https://a.example/`, []string{"name", "fresh", "urls", "https://a.example/"}},
		{"/domains/acted.example/seeds/main/edit", `PUT /domains/acted.example/seeds/main?comments=mine&version=2 https://a.example/`, []string{"version", "2", "urls", "https://a.example/", "comments", "mine"}},
		{"/domains/acted.example/seeds/main/remove", `POST /domains/acted.example/seeds/main/remove {"reason":"why"}`, []string{"reason", "why", "confirm", "main"}},
		{"/new/template", `POST /templates {"name":"t","contact":"a@b.example"}`, []string{"name", "t", "contact", "a@b.example"}},
		{"/templates/default/edit", `PATCH /templates/default {"settings":{"max_hops":1},"active":false,"comment":"c","after":2}`,
			[]string{"version", "2", "settings", `{"max_hops":1}`, "comment", "c"}},
		{"/templates/default/copy", `POST /templates/default/copy {"name":"two"}`, []string{"name", "two"}},
		{"/templates/default/delete", `DELETE /templates/default `, []string{"confirm", "default"}},
		{"/new/schedule", `POST /schedules {"name":"s","schedule":{"every":2,"unit":"week","at":"22:00","weekday":"mon","zone":"UTC"}}`,
			[]string{"name", "s", "unit", "week", "every", "2", "at", "22:00", "weekday", "mon", "zone", "UTC"}},
		{"/schedules/evenings/edit", `PATCH /schedules/evenings {"schedule":{"unit":"hour","minute":0,"campaigns":[{"unit":"day","from":"2026-05-20","until":"2026-06-07"}]},"comment":"","after":2}`,
			[]string{"version", "2", "unit", "hour", "minute", "0", "at", "", "weekday", "", "zone", "", "comment", "", "campaigns", `[{"unit":"day","from":"2026-05-20","until":"2026-06-07"}]`}},
		{"/schedules/evenings/copy", `POST /schedules/evenings/copy {"name":"two"}`, []string{"name", "two"}},
		{"/schedules/evenings/delete", `DELETE /schedules/evenings `, []string{"confirm", "evenings"}},
		{"/new/trap-list", `POST /trap-lists {"name":"t","traps":[".*/a",".*/b"]}`, []string{"name", "t", "traps", ".*/a\r\n.*/b"}},
		{"/traps/calendars/edit", `PATCH /trap-lists/calendars {"traps":[".*/a"],"active":true,"comment":"","after":2}`, []string{"version", "2", "traps", ".*/a", "active", "yes", "comment", ""}},
		{"/traps/calendars/copy", `POST /trap-lists/calendars/copy {"name":"two"}`, []string{"name", "two"}},
		{"/traps/calendars/delete", `DELETE /trap-lists/calendars `, []string{"confirm", "calendars"}},
		{"/new/channel", `POST /channels {"name":"SLOW","snapshot":true}`, []string{"name", "SLOW", "snapshot", "yes"}},
		{"/channels/SLOW/edit", `PATCH /channels/SLOW {"comment":"c"}`, []string{"comment", "c"}},
		{"/channels/SLOW/delete", `DELETE /channels/SLOW `, []string{"confirm", "SLOW"}},
		{"/new/invitation", `POST /users {"name":"Ada","mail":"ada@example.org","language":"da"}`, []string{"name", "Ada", "mail", "ada@example.org", "language", "da"}},
		{"/people/p1/invite-again", `POST /users/p1/invitation {"lifetime":"24h"}`, []string{"lifetime", "24h"}},
		{"/people/p1/disable", `POST /users/p1/disable {"reason":"why"}`, []string{"reason", "why", "confirm", name}},
		{"/people/p1/enable", `POST /users/p1/enable {"reason":"why"}`, []string{"reason", "why"}},
		{"/people/p1/grant", `POST /grants {"person":"p1","role":"curator","collection":"c","until":"2026-12-24T22:00:00Z","reason":"why"}`,
			[]string{"role", "curator", "collection", "c", "until", "2026-12-24T22:00", "reason", "why"}},
		{"/people/p1/identities/00ff/unlink", `POST /users/p1/identities/00ff/unlink {"reason":"why"}`, []string{"reason", "why"}},
		{"/people/p1/grants/1/end", `POST /grants/1/end {"reason":"why"}`, []string{"reason", "why"}},
		{"/jobs/15/retire", `POST /jobs/15/crawl/retire {"reason":"why","queue":"a\\.example"}`, []string{"queue", `a\.example`, "reason", "why"}},
		{"/jobs/15/budget", `POST /jobs/15/crawl/budget {"queue":".*","total_budget":0}`, []string{"queue", ".*", "total", "0", "session", ""}},
		{"/jobs/15/block", `POST /jobs/15/crawl/block {"reason":"why","url":"a.example"}`, []string{"url", "a.example", "reason", "why"}},
		{"/jobs/15/unblock", `POST /jobs/15/crawl/unblock {"url":"a.example"}`, []string{"url", "a.example"}},
		{"/jobs/15/delete", `POST /jobs/15/crawl/delete {"queue":"a.*","pattern":"\\.gif$"}`, []string{"queue", "a.*", "pattern", `\.gif$`, "counted", `a.* \.gif$`, "confirm", "15"}},
		{"/jobs/15/never", `POST /jobs/15/crawl/never {"url":"https://a.example/"}`, []string{"url", "https://a.example/"}},
		{"/jobs/15/forget", `POST /jobs/15/crawl/forget {"url":"https://a.example/"}`, []string{"url", "https://a.example/"}},
		{"/jobs/15/kill", `POST /jobs/15/crawl/kill {"worker":3}`, []string{"url", "", "worker", "3"}},
		{"/jobs/15/restore", `POST /jobs/15/crawl/restore {"name":"` + strings.ReplaceAll(name, `"`, `\"`) + `"}`, []string{"name", name, "confirm", "15"}},
		{"/disks/pause", `POST /disks/wish {"wish":"pause"}`, []string{"node", name}},
		{"/disks/resume", `POST /disks/wish {"wish":"resume"}`, []string{"node", name}},
		{"/disks/%2Fa/drain", `POST /disks/wish {"wish":"drain","path":"/a"}`, []string{"node", name, "confirm", "/a"}},
		{"/disks/%2Fb/undrain", `POST /disks/wish {"wish":"undrain","path":"/b"}`, []string{"node", name}},
		{"/new/replica", `POST /replicas {"name":"west","kind":"checksum","place":"West","collections":["a","b"]}`, []string{"name", "west", "kind", "checksum", "place", "West", "collections", "a\r\nb"}},
		{"/replicas/north/remove", `POST /replicas/north/remove {"reason":"why"}`, []string{"reason", "why", "confirm", "north"}},
		{"/new/collection", `POST /collections {"name":"tv"}`, []string{"name", "tv"}},
		{"/collections/tv/remove", `POST /collections/tv/remove {"reason":"why"}`, []string{"reason", "why", "confirm", "tv"}},
		{"/level/raise", `PUT /cluster/level {"level":4}`, []string{"level", "4", "confirm", name}},
		{"/files/12-a.warc.gz/lost", `POST /files/12-a.warc.gz/lost {"reason":"why"}`, []string{"reason", "why", "version", "0", "confirm", name}},
		{"/files/lost.warc.gz/found", `POST /files/lost.warc.gz/found {"reason":"why"}`, []string{"reason", "why"}},
		{"/files/12-a.warc.gz/remove", `POST /files/12-a.warc.gz/remove {"sha256":"` + strings.Repeat("ab", 32) + `","reason":"why","confirm":"t0"}`,
			[]string{"reason", "why", "shown", "t0", "sha256", strings.Repeat("ab", 32), "confirm", name}},
		{"/new/ingest", "POST /domain-ingests?collection=c a.example\n# b", []string{"domains", "a.example\r\n# b", "collection", "c"}},
		{"/ingests/i1/stop", `POST /domain-ingests/i1/stop {"reason":"why"}`, []string{"reason", "why"}},
		{"/new/field", `PUT /fields {"of":"harvest","name":"owner","type":"date","mandatory":true,"comments":"c"}`, []string{"name", "owner", "of", "harvest", "type", "date", "mandatory", "yes", "comments", "c"}},
		{"/fields/domain/seen/edit", `PUT /fields {"of":"","name":"seen","type":"boolean","mandatory":true}`, []string{"mandatory", "yes", "comments", ""}},
		{"/fields/domain/seen/remove", `POST /fields/domain/seen/remove {"reason":"why"}`, []string{"confirm", "seen", "reason", "why"}},
		{"/presets/domain/edit", `PATCH /domain-settings {"alias_expiry":"24h","default_bytes":null,"default_objects":5,"default_seeds":["https://{domain}/","http://{domain}/"]}`,
			[]string{"s.default_bytes", "", "s.default_objects", "5", "s.alias_expiry", "24h", "s.default_seeds", "https://{domain}/\r\nhttp://{domain}/"}},
		{"/presets/harvest/edit", `PATCH /harvest-settings {"generator":"fixed","leave_out_zero_limits":true}`, []string{"s.generator", "fixed", "s.leave_out_zero_limits", "true"}},
		{"/new/notice", `POST /notice-addresses {"name":"ops","way":"webhook","to":"https://hook.example/x","secret":"whsec_a","inside":true,"kinds":["disk-low","node-away"],"least":"bad","collection":"c","place":"p","language":"da","when":"daily","hour":"07:30","zone":"UTC","cleared":true}`,
			[]string{"name", "ops", "way", "webhook", "to", "https://hook.example/x", "secret", "whsec_a", "inside", "yes", "kinds", "disk-low\r\nnode-away", "least", "bad", "collection", "c",
				"place", "p", "language", "da", "when", "daily", "hour", "07:30", "zone", "UTC", "cleared", "yes"}},
		{"/notices/hook/edit", `PATCH /notice-addresses/hook {"version":3,"inside":true,"kinds":[],"least":"","collection":"","place":"","language":"en","when":"hourly","hour":"","zone":"","cleared":false}`,
			[]string{"version", "3", "to", "", "inside", "yes", "when", "hourly"}},
		{"/notices/ops/edit", `PATCH /notice-addresses/ops {"version":2,"to":"new@example.org","kinds":["disk-low"],"least":"look","collection":"","place":"","language":"en","when":"at-once","hour":"","zone":"","cleared":true}`,
			[]string{"version", "2", "to", "new@example.org", "kinds", "disk-low", "least", "look", "collection", "", "place", "", "language", "en", "when", "at-once", "hour", "", "zone", "", "cleared", "yes"}},
		{"/notices/ops/remove", `DELETE /notice-addresses/ops `, []string{"confirm", name}},
		{"/notices/ops/test", `POST /notice-addresses/ops/test `, nil},
		{"/new/batch", `POST /batches {"program":"checksum","parameters":{"algorithm":"md5"},"collections":["c"],"replica":"north","files":"a.*","job":7,"names":["x.warc"]}`,
			[]string{"program", "checksum", "parameters", "algorithm=md5", "collection", "c", "replica", "north", "files", "a.*", "job", "7", "names", "x.warc"}},
		{"/batches/b1/pause", `POST /batches/b1/wish {"wish":"pause","reason":"why"}`, []string{"reason", "why"}},
		{"/batches/b1/resume", `POST /batches/b1/wish {"wish":"run"}`, nil},
		{"/batches/b1/stop", `POST /batches/b1/wish {"wish":"stop","reason":"why"}`, []string{"reason", "why"}},
		{"/new/audit", `POST /audits {"replica":"north"}`, []string{"replica", "north"}},
		{"/new/audit", `POST /audits {"kind":"presence","shard":"0ff","prefix":"12-","files":["a.warc","b.warc"]}`,
			[]string{"replica", "", "kind", "presence", "shard", "0ff", "prefix", "12-", "files", "a.warc\r\nb.warc"}},
		{"/audits/a1/pause", `POST /audits/a1/wish {"wish":"pause"}`, nil},
		{"/audits/a1/resume", `POST /audits/a1/wish {"wish":"run"}`, nil},
		{"/audits/a1/stop", `POST /audits/a1/wish {"wish":"stop","reason":"why"}`, []string{"reason", "why"}},
		{"/files/12-a.warc.gz/verify", `POST /files/12-a.warc.gz/verify?replica=north `, []string{"replica", "north"}},
		{"/nodes/north-1/drain", `PATCH /nodes/north-1 {"draining":true}`, []string{"confirm", "north-1"}},
		{"/nodes/north-1/undrain", `PATCH /nodes/north-1 {"draining":false}`, nil},
		{"/nodes/north-1/log-level", `PUT /nodes/north-1/log-level {"level":"debug","for":"1h"}`, []string{"level", "debug", "for", "1h"}},
		{"/nodes/north-1/weight", `PATCH /nodes/north-1 {"weight":50}`, []string{"weight", "50"}},
	}...)
}

// refuseAll makes the API refuse each change.
func (a *archive) refuseAll(p wire.Problem) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for path := range a.answers {
		if path[0] != '/' {
			a.answers[path] = p
		}
	}
}
