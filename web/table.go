package web

import (
	"context"
	"embed"
	"fmt"
	"html/template"
	"net/url"
	"strings"

	"holdfast/api/wire"
)

// page is a line of the table of pages.
type page struct {
	path     string    // segments in braces are parameters, as in /jobs/{id}
	title    string    // message
	section  string    // message that names the section of the menu
	role     wire.Role // that is needed at least
	template string    // its file in pages, without .html
	hidden   bool      // it is reached by links of other pages, and not in the menu
	// show asks for what the page shows. An error stands for the whole page, such as wire.ErrNotFound; what cannot be
	// read beside that is a fault of the visit.
	show func(context.Context, *visit) (any, error)
}

// table returns all pages. The menu has the sections and the pages of each in this order.
func table() []page {
	const (
		today, harvests, jobs   = "web.section-today", "web.section-harvests", "web.section-jobs"
		archive, copies, system = "web.section-archive", "web.section-preservation", "web.section-system"
		in, aside               = false, true // the menu, or reached from other pages
	)
	return []page{
		{"/", "web.today", today, wire.RoleReader, "today", in, showToday},
		{"/harvests", "web.harvests", harvests, wire.RoleReader, "harvests", in, showHarvests},
		{"/harvests/{number}", "web.harvest", harvests, wire.RoleReader, "harvest", aside, showHarvest},
		{"/domains", "web.domains", harvests, wire.RoleReader, "domains", in, showDomains},
		{"/harvests/{number}/preview", "web.preview", harvests, wire.RoleReader, "preview", aside, showPreview},
		{"/harvests/{number}/configurations", "web.configurations-of", harvests, wire.RoleReader, "configurations",
			aside, showConfigurations},
		{"/domains/{name}", "web.domain", harvests, wire.RoleReader, "domain", aside, showDomain},
		{"/domains/{name}/seeds/{part}", "web.seed-list", harvests, wire.RoleReader, "seeds", aside, showList},
		{"/templates", "web.templates", harvests, wire.RoleReader, "templates", in, showTemplates},
		{"/templates/{name}", "web.template", harvests, wire.RoleReader, "template", aside, showTemplate},
		{"/schedules", "web.schedules", harvests, wire.RoleReader, "schedules", in, showSchedules},
		{"/schedules/{name}", "web.schedule", harvests, wire.RoleReader, "schedule", aside, showSchedule},
		{"/channels", "web.channels", harvests, wire.RoleReader, "channels", in, showChannels},
		{"/traps", "web.trap-lists", harvests, wire.RoleReader, "traps", in, showTrapLists},
		{"/traps/{name}", "web.trap-list", harvests, wire.RoleReader, "trap", aside, showTrapList},
		{"/ingests", "web.ingests", harvests, wire.RoleReader, "ingests", in, showIngests},
		{"/ingests/{id}", "web.ingest", harvests, wire.RoleReader, "ingest", aside, showIngest},
		{"/fields", "web.fields", harvests, wire.RoleReader, "fields", in, showFields},
		{"/presets", "web.presets", harvests, wire.RoleReader, "presets", in, showPresets},
		{"/jobs", "web.jobs", jobs, wire.RoleReader, "jobs", in, showJobs},
		{"/jobs/running", "web.running", jobs, wire.RoleReader, "running", in, showRunning},
		{"/jobs/{id}", "web.job", jobs, wire.RoleReader, "job", aside, showJob},
		{"/jobs/{id}/crawl", "web.crawl-of", jobs, wire.RoleReader, "crawl", aside, showCrawl},
		{"/jobs/{id}/uris", "web.uris-of", jobs, wire.RoleReader, "uris", aside, showURIs},
		{"/jobs/{id}/explain", "web.explain-of", jobs, wire.RoleReader, "explain", aside, showExplained},
		{"/jobs/{id}/log", "web.job-log-of", jobs, wire.RoleReader, "job-log", aside, showJobLog},
		{"/jobs/{id}/report", "web.job-report-of", jobs, wire.RoleReader, "job-report", aside, showJobReport},
		{"/jobs/{id}/checkpoints", "web.checkpoints-of", jobs, wire.RoleReader, "checkpoints", aside,
			showCheckpoints},
		{"/files", "web.files", archive, wire.RoleReader, "files", in, showFiles},
		{"/files/{name}", "web.file", archive, wire.RoleReader, "file", aside, showFile},
		{"/batches", "web.batches", archive, wire.RoleReader, "batches", in, showBatches},
		{"/batches/{id}", "web.batch", archive, wire.RoleReader, "batch", aside, showBatch},
		{"/preservation", "web.section-preservation", copies, wire.RoleReader, "preservation", in, showPreservation},
		{"/replicas", "web.replicas", copies, wire.RoleReader, "replicas", in, showReplicas},
		{"/copies", "web.copies", copies, wire.RoleReader, "copies", in, showCopies},
		{"/replicas/{name}", "web.replica", copies, wire.RoleReader, "replica", aside, showReplica},
		{"/layout", "web.layout", copies, wire.RoleReader, "layout", in, showLayout},
		{"/collections", "web.collections", copies, wire.RoleReader, "collections", in, showCollections},
		{"/audits", "web.audits", copies, wire.RoleReader, "audits", in, showAudits},
		{"/strays", "web.strays", copies, wire.RoleOperator, "strays", in, showStrays},
		{"/quarantine", "web.quarantine", copies, wire.RoleOperator, "quarantine", in, showQuarantine},
		{"/removed", "web.removed-files", copies, wire.RoleReader, "removed", in, showRemoved},
		{"/approvals", "web.approvals", copies, wire.RoleReader, "approvals", in, showApprovals},
		{"/approvals/{id}", "web.approval", copies, wire.RoleReader, "approval", aside, showApproval},
		{"/ledgers", "web.ledgers", copies, wire.RoleReader, "ledgers", in, showLedgers},
		{"/backups", "web.backups", copies, wire.RoleOperator, "backups", in, showBackups},
		{"/trail", "web.trail", copies, wire.RoleReader, "trail", in, showTrail},
		{"/alerts", "web.alerts", system, wire.RoleReader, "alerts", in, showAlerts},
		{"/notices", "web.notices", system, wire.RoleReader, "notices", in, showNotices},
		{"/nodes", "web.nodes", system, wire.RoleReader, "nodes", in, showNodes},
		{"/nodes/{name}", "web.node", system, wire.RoleReader, "node", aside, showNode},
		{"/nodes/{name}/sole-files", "web.sole-files", system, wire.RoleReader, "sole-files", aside, showSole},
		{"/nodes/{name}/log", "web.log", system, wire.RoleOperator, "log", aside, showLog},
		{"/join-tokens", "web.join-tokens", system, wire.RoleAdmin, "join-tokens", in, showJoinTokens},
		{"/index", "web.index", system, wire.RoleReader, "index", in, showIndex},
		{"/node-settings", "web.node-settings", system, wire.RoleOperator, "node-settings", in, showNodeSettings},
		{"/disks", "web.disks", system, wire.RoleReader, "disks", in, showDisks},
		{"/level", "web.level", system, wire.RoleReader, "level", in, showLevel},
		{"/people", "web.people", system, wire.RoleReader, "people", in, showPeople},
		{"/people/{id}", "web.person", system, wire.RoleReader, "person", aside, showPerson},
	}
}

//go:embed pages/*.html
var files embed.FS

// parse reads the templates: each page has the frame and the parts that several pages have.
func parse(table []page) (map[string]*template.Template, error) {
	all := map[string]*template.Template{}
	for _, name := range append(names(table), "sign-in", "away", "invitation", "password", "message", "form",
		"kept") {
		t, err := template.New("frame.html").ParseFS(files, "pages/frame.html", "pages/parts.html",
			"pages/"+name+".html")
		if err != nil {
			return nil, fmt.Errorf("parse page %s: %w", name, err)
		}
		all[name] = t
	}
	return all, nil
}

func names(table []page) (all []string) {
	for _, p := range table {
		all = append(all, p.template)
	}
	return all
}

// find returns the page of a path, which has its escapes, and the parameters in it. Words come before parameters.
func find(table []page, path string) (*page, map[string]string) {
	for i := range table {
		if table[i].path == path {
			return &table[i], nil
		}
	}
	for i := range table {
		if given, ok := match(table[i].path, path); ok {
			return &table[i], given
		}
	}
	return nil, nil
}

func match(pattern, path string) (map[string]string, bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	given := map[string]string{}
	for i, word := range want {
		name, is := strings.CutPrefix(word, "{")
		if !is && word != have[i] {
			return nil, false
		}
		value, err := url.PathUnescape(have[i])
		if is && (err != nil || value == "" || value == "." || value == "..") { // no names, but ways within a path
			return nil, false
		}
		given[strings.TrimSuffix(name, "}")] = value
	}
	return given, true
}

// includes reports whether the role has the other's rights, too. It is only for what is shown: the API decides.
func includes(has string, needs wire.Role) bool { return rank(wire.Role(has)) >= rank(needs) }

func rank(r wire.Role) int {
	switch r {
	case wire.RoleReader:
		return 1
	case wire.RoleCurator:
		return 2
	case wire.RoleOperator:
		return 3
	case wire.RoleAdmin:
		return 4
	}
	return 0
}
