package api

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/batches"
	kept "holdfast/catalog/domains"
	"holdfast/catalog/runs"
	"holdfast/client"
	"holdfast/harvest/act"
)

// probe is a request to an operation about what is in collection web or at place north, and who may send it.
type probe struct {
	path, body string
	may        string // reader: any grant; web, north: a curator, an operator of that; curator, operator, admin: of the whole archive
}

// probes has every operation that not everybody may call. One that is added needs a line here; acts on a crawl have theirs
// in the file of all orders.
func probes(t *testing.T, file, job string) map[string]probe {
	reads := func(path string) probe { return probe{path, "", "reader"} }
	all := map[string]probe{
		"access-token-create": {"/access-tokens", `{"name":"t","role":"reader","program":true}`, "reader"},
		"access-token-list":   reads("/access-tokens"), "access-token-take": {"/access-tokens/none/take", `{}`, "reader"},
		"access-token-revoke": {"/access-tokens/none", "", "admin"}, // or one's own: see TestTokensOfOneself
		"audit-list":          reads("/audits"), "audit-show": reads("/audits/x"),
		"catalog-check": {"/catalog/check", "", "operator"}, "catalog-check-run": {"/catalog/check", "", "operator"}, "catalog-check-stop": {"/catalog/check/stop", "", "operator"},
		"backup-list": {"/catalog/backups", "", "operator"}, "backup-get": {"/catalog/backup", "", "operator"},
		"ledger-list": reads("/replicas/north/ledgers"), "ledger-show": reads("/replicas/north/ledgers/1"),
		"ledger-make": {"/replicas/north/ledgers", "", "north"}, "ledger-making": reads("/replicas/north/ledger-making"),
		"batch-programs": reads("/batch-programs"), "batch-list": reads("/batches"), "batch-show": reads("/batches/x"),
		"batch-run":  {"/batches", `{"program":"files","collections":["web"]}`, "web"},
		"batch-wish": {"/batches/x/wish", `{"wish":"pause"}`, "web"}, "batch-result": {"/batches/x/result", "", "reader of web"},
		"batch-failures": {"/batches/x/failures", "", "reader of web"},
		"audit-run":      {"/audits", `{"replica":"north"}`, "north"},
		"audit-wish":     {"/audits/north/wish", `{"wish":"run"}`, "north"},
		"capture-list":   reads("/captures?url=http://example.org/"), "collection-list": reads("/collections"),
		"channel-list": reads("/channels"), "channel-show": reads("/channels/FOCUSED"),
		"channel-create": {"/channels", `{"name":"FOCUSED"}`, "curator"},
		"channel-set":    {"/channels/none", `{"comment":"x"}`, "curator"}, "channel-delete": {"/channels/none", "", "curator"},
		"template-list": reads("/templates"), "template-show": reads("/templates/none"), "template-versions": reads("/templates/none/versions"),
		"template-create": {"/templates", `{"name":"t","settings":{}}`, "curator"},
		"template-set":    {"/templates/none", `{"comment":"x"}`, "curator"}, "template-delete": {"/templates/none", "", "curator"},
		"template-copy": {"/templates/none/copy", `{"name":"t"}`, "curator"},
		"schedule-list": reads("/schedules"), "schedule-show": reads("/schedules/daily"), "schedule-versions": reads("/schedules/none/versions"),
		"schedule-dates": reads("/schedules/daily/dates"), "schedule-create": {"/schedules", `{"name":"daily","schedule":{"unit":"day"}}`, "curator"},
		"schedule-set": {"/schedules/none", `{"comment":"x"}`, "curator"}, "schedule-delete": {"/schedules/none", "", "curator"},
		"schedule-copy": {"/schedules/none/copy", `{"name":"t"}`, "curator"},
		"trap-list":     reads("/trap-lists"), "trap-show": reads("/trap-lists/none"), "trap-versions": reads("/trap-lists/none/versions"),
		"trap-create": {"/trap-lists", `{"name":"t","traps":["("]}`, "curator"},
		"trap-set":    {"/trap-lists/none", `{"comment":"x"}`, "curator"}, "trap-delete": {"/trap-lists/none", "", "curator"},
		"trap-copy":         {"/trap-lists/none/copy", `{"name":"t"}`, "curator"},
		"collection-add":    {"/collections", `{"name":"new"}`, "admin"},
		"collection-remove": {"/collections/none/remove", `{"reason":"x"}`, "admin"},
		"sign-in":           {"/sign-in-links", "", "reader"},
		"config":            {"/config", "", "north"}, "disk-list": reads("/disks"),
		"stray-adopt":        {"/nodes/north-1/strays/x/adopt", `{}`, "north"},
		"stray-set-aside":    {"/nodes/north-1/strays/x/set-aside", `{"reason":"x"}`, "north"},
		"quarantine-list":    {"/quarantine", "", "operator anywhere"},
		"quarantine-show":    {"/nodes/north-1/quarantine/x", "", "north"},
		"quarantine-restore": {"/nodes/north-1/quarantine/x/restore", "", "north"},
		"quarantine-delete":  {"/nodes/north-1/quarantine/x.20260101000000000/delete", `{"sha256":"` + strings.Repeat("1", 64) + `","reason":"x"}`, "admin"},
		"disk-wish":          {"/disks/wish", `{"wish":"pause"}`, "north"},
		"file-get":           reads("/files/" + file + "/content"),
		"file-list":          reads("/files"),
		"file-show":          reads("/files/" + file),
		"file-put":           {"/files/" + file + "/content", "abc", "web"},
		"file-verify":        {"/files/" + file + "/verify", "", "operator"}, // its copies are at two places
		"file-replace":       {"/files/none/replace", `{"replica":"north","sha256":"` + strings.Repeat("1", 64) + `","reason":"x"}`, "admin"},
		"file-remove":        {"/files/none/remove", `{"sha256":"` + strings.Repeat("0", 64) + `","reason":"x"}`, "admin"},
		"file-restore":       {"/files/none/restore", `{"sha256":"` + strings.Repeat("0", 64) + `","reason":"x"}`, "admin"},
		"removal-set-rule":   {"/removal-rule", `{"days":3,"version":99,"reason":"x"}`, "admin"}, "removal-rule": reads("/removal-rule"),
		"node-sole-files": reads("/nodes/north-1/sole-files"),
		"file-lost":       {"/files/none/lost", `{"reason":"x"}`, "admin"},
		"file-found":      {"/files/none/found", `{"reason":"x"}`, "admin"},
		"grant-list":      reads("/grants"),
		"grant-give":      {"/grants", `{"person":"nobody","role":"reader"}`, "admin"},
		"grant-end":       {"/grants/99/end", `{"reason":"x"}`, "admin"}, "index-status": reads("/index"),
		"file-set-checksum": {"/files/none/checksum", `{"was":"` + strings.Repeat("0", 64) + `","sha256":"` + strings.Repeat("1", 64) + `","reason":"x"}`, "admin"},
		"file-set-state":    {"/files/none/state", `{"replica":"north","sha256":"` + strings.Repeat("1", 64) + `","state":"UPLOAD_STARTED","reason":"x"}`, "admin"},
		"approval-list":     reads("/approvals"), "approval-show": reads("/approvals/99"), "approval-rule": reads("/approval-rule"),
		"approval-grant":    {"/approvals/99/grant", `{"sum":"` + strings.Repeat("1", 64) + `"}`, "admin"},
		"approval-deny":     {"/approvals/99/deny", `{"sum":"` + strings.Repeat("1", 64) + `"}`, "admin"},
		"approval-withdraw": {"/approvals/99/withdraw", `{"sum":"` + strings.Repeat("1", 64) + `"}`, "reader"},
		"approval-set-rule": {"/approval-rule", `{"acts":["file-lost"],"version":99,"reason":"x"}`, "admin"},
		"index-rebuild":     {"/index/rebuild", `{"node":"north-1"}`, "north"},
		"job-create":        {"/jobs", `{"name":"j","seeds":["http://127.0.0.1/"],"collection":"web"}`, "web"},
		"job-wish":          {"/jobs/" + job + "/wish", `{"wish":"pause"}`, "web"},
		"job-resubmit":      {"/jobs/" + job + "/resubmit", "", "web"},
		"job-reject":        {"/jobs/" + job + "/reject", "", "web"},
		"job-list":          reads("/jobs"), "job-running": reads("/jobs/running"), "alert-list": reads("/alerts"),
		"alert-acknowledge": {"/alerts/acknowledge", `{"kind":"node-away","subject":"north-1","note":"x","until":"2099-01-01T00:00:00Z"}`, "north"},
		"alert-withdraw":    {"/alerts/withdraw", `{"kind":"job-held","subject":"` + job + `"}`, "web"},
		"access-list":       {"/access-rules", "", "curator"}, "access-show": {"/access-rules/99", "", "curator"},
		"access-add":    {"/access-rules", `{"rules":[{"url":"*","access":"allow"}]}`, "curator"},
		"access-change": {"/access-rules/99", `{"version":1,"access":"allow"}`, "curator"},
		"access-remove": {"/access-removals", `{"rules":[{"number":99}]}`, "curator"},
		"access-test":   {"/access-test?url=http://example.org/", "", "curator"},
		"notice-list":   reads("/notice-addresses"), "notice-show": reads("/notice-addresses/none"),
		"notice-add":    {"/notice-addresses", `{"name":"n","way":"mail","to":"a@example.org","when":"daily","collection":"web"}`, "web"},
		"notice-set":    {"/notice-addresses/all", `{"least":"bad"}`, "curator"},
		"notice-remove": {"/notice-addresses/none", "", "curator"}, "notice-test": {"/notice-addresses/none/test", "", "curator"},
		"job-show": reads("/jobs/" + job), "job-log": reads("/jobs/" + job + "/log"),
		"job-index":     reads("/jobs/index?job=" + job),
		"job-records":   reads("/jobs/" + job + "/records"),
		"job-documents": reads("/jobs/" + job + "/documents"), "job-document": reads("/jobs/" + job + "/documents/logs/crawl.log"),
		"job-overlaps":      reads("/jobs/" + job + "/overlaps"),
		"job-statistics":    reads("/jobs/" + job + "/statistics"),
		"job-events":        reads("/jobs/" + job + "/events"),
		"join-token-list":   {"/join-tokens", "", "admin"},
		"join-token-create": {"/join-tokens", `{"replica":"north"}`, "admin"},
		"join-token-revoke": {"/join-tokens/none", "", "admin"},
		"level-show":        reads("/cluster/level"),
		"level-raise":       {"/cluster/level", `{"level":1}`, "admin"}, "node-list": reads("/nodes"), "node-show": reads("/nodes/north-1"),
		"node-figures": reads("/nodes/north-1/figures"), "node-log": {"/nodes/north-1/log", "", "north"}, "node-log-level": {"/nodes/north-1/log-level", `{"level":"debug"}`, "north"},
		"layout-show": reads("/layout"), "layout-apply": {"/layout/apply", `{"version":99}`, "operator"},
		"layout-revert": {"/layout/revert", `{"change":99}`, "operator"}, "layout-set": {"/layout/setting", `{"always":false}`, "operator"},
		"node-stage":         {"/nodes/north-1/stage", `{"step":"weight","weight":50}`, "north"},
		"node-stage-removal": {"/nodes/north-1/stage-removal", `{"reason":"x"}`, "admin"},
		"replica-stage":      {"/replicas/none/stage", `{"collections":["web"]}`, "admin"},
		"replica-update":     {"/replicas/none", `{"collections":["web"]}`, "admin"},
		"node-update":        {"/nodes/north-1", `{"weight":50}`, "north"},
		"node-remove":        {"/nodes/none/remove", `{"reason":"x"}`, "admin"},
		"replica-list":       reads("/replicas"), "replica-show": reads("/replicas/north"), "replica-checks": reads("/replicas/north/checks"), "replica-checks-list": reads("/replica-checks"), "shard-list": reads("/replicas/north/shards"),
		"replica-add":    {"/replicas", `{"name":"none","kind":"bitarchive","collections":["none"]}`, "admin"},
		"replica-remove": {"/replicas/none/remove", `{"reason":"x"}`, "admin"}, "settings-list": reads("/settings"), "status": reads("/status"),
		"copy-list":  reads("/copies?state=owed"),
		"stray-list": {"/strays", "", "operator anywhere"}, "trail-list": reads("/trail"), "user-list": reads("/users"), "user-show": reads("/users/otto"),
		"user-invite":       {"/users", `{"name":"","mail":"x@example.org"}`, "admin"},
		"user-invite-again": {"/users/nobody/invitation", `{}`, "admin"},
		"user-set":          {"/users/otto", `{"name":"otto"}`, "admin"}, // or oneself: see TestWhatOneChangesOfOneself
		"user-disable":      {"/users/nobody/disable", `{"reason":"x"}`, "admin"},
		"user-unlink":       {"/users/nobody/identities/00ff/unlink", `{"reason":"x"}`, "admin"},
		"user-enable":       {"/users/nobody/enable", `{"reason":"x"}`, "admin"},
	}
	maps.Copy(all, domainProbes())
	maps.Copy(all, harvestProbes())
	for _, given := range acts(t) {
		path := "/jobs/" + job + "/crawl/" + string(given.Kind())
		if _, looks := given.(act.Look); looks {
			all["crawl-"+string(given.Kind())] = reads(path + "?" + act.Query(given).Encode())
			continue
		}
		body, err := json.Marshal(given)
		if err != nil {
			t.Fatal(err)
		}
		all["crawl-"+string(given.Kind())] = probe{path, string(body), "web"}
	}
	return all
}

// acts has one act of each kind, with all that it needs.
func acts(t *testing.T) (all []act.Act) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "harvest", "act", "testdata", "orders.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var o act.Order
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatal(err)
		}
		all = append(all, o.Act)
	}
	return all
}

// allowed says which of the people of the test each kind of request is for.
func allowed() map[string][]string {
	return map[string][]string{
		"reader":            {"reader", "curator", "operator", "admin", "web", "radio", "north", "third"},
		"web":               {"curator", "operator", "admin", "web"},
		"reader of web":     {"reader", "curator", "operator", "admin", "web"},
		"curator":           {"curator", "operator", "admin"},
		"north":             {"operator", "admin", "north"},
		"operator":          {"operator", "admin"},
		"operator anywhere": {"operator", "admin", "north", "third"},
		"admin":             {"admin"},
	}
}

// TestEveryRouteIsForThoseWhoMay asks every operation of the description with each role in each scope. Whoever may not
// gets 403, whoever may something else.
func TestEveryRouteIsForThoseWhoMay(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	b.must(catalog.SetCollection, catalog.Collection{Name: "radio"})
	file, job := b.furnish()
	b.person("otto", catalog.Giving{Role: catalog.RoleReader})
	clients := map[string]*client.Client{"nobody": open("holdfast-no-body"), "without a grant": open(b.person("alma"))}
	for name, g := range map[string]catalog.Giving{
		"reader": {Role: catalog.RoleReader}, "curator": {Role: catalog.RoleCurator}, "operator": {Role: catalog.RoleOperator}, "admin": {Role: catalog.RoleAdmin},
		"web": {Role: catalog.RoleCurator, Collection: "web"}, "radio": {Role: catalog.RoleCurator, Collection: "radio"},
		"north": {Role: catalog.RoleOperator, Place: "north"}, "third": {Role: catalog.RoleOperator, Place: "third"},
	} {
		clients[name] = open(b.person(catalog.PersonID(name), g))
	}
	known := probes(t, file, job)
	operations := described(t)
	for id := range known {
		if operations[id].method == "" {
			t.Errorf("%s is probed and not described", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(operations)) {
		op := operations[id]
		if id == "health" || id == "user-accept" {
			if op.act != "" {
				t.Errorf("%s is for everybody, and has the act %s", id, op.act)
			}
			continue
		}
		role, extent := catalog.Act(op.act).Needs()
		p, ok := known[id]
		if !ok || op.act == "" || extent == catalog.Nowhere || role == "" {
			t.Errorf("%s has the act %q, and is probed: %t; every operation needs both", id, op.act, ok)
			continue
		}
		for name, c := range clients {
			want := slices.Contains(allowed()[p.may], name)
			code := b.probe(c, op.method, p)
			switch {
			case name == "nobody" && code != http.StatusUnauthorized, name != "nobody" && code == http.StatusUnauthorized:
				t.Errorf("%s by %s: %d", id, name, code)
			case name != "nobody" && (code != http.StatusForbidden) != want:
				t.Errorf("%s by %s: %d, may it: %t", id, name, code, want)
			}
		}
	}
}

// furnish makes a file and a job that runs, both in collection web.
func (b *backend) furnish() (file, job string) {
	b.t.Helper()
	b.holdAll()
	text := "abc"
	if _, err := b.Put(b.t.Context(), PutRequest{Name: "a.warc.gz", Collection: "web", Body: strings.NewReader(text)}); err != nil {
		b.t.Fatal(err)
	}
	b.must(kept.Create, kept.Creation{Name: "kept.org", Collection: "web"})
	b.must(kept.Create, kept.Creation{Name: "alias.org", Collection: "web"})
	b.must(runs.Create, runs.Creation{Kind: runs.Selective, Collection: "web", Asked: runs.Asked{Name: "one",
		Schedule: "daily"}})
	b.must(runs.AddConfigurations, runs.Listing{Number: 1, Configurations: []runs.Configuration{{Domain: "kept.org",
		Name: kept.DefaultConfiguration}}})
	now := catalog.At(time.Now())
	b.must(runs.Activate, runs.Activation{Number: 1, Version: 2, Next: now})
	b.must(runs.BeginRun, runs.Beginning{Number: 1, Date: now, Next: now + 1e9}) // what has run is not deleted
	b.must(kept.BeginIngest, kept.IngestBeginning{ID: "i", Collection: "web", Node: self})
	b.must(agreed.Open, agreed.Beginning{ID: "x", Program: "files", Node: self,
		Selection: agreed.Selection{Collections: []catalog.CollectionName{"web"}}})
	b.must(kept.SetAlias, kept.Aliasing{Name: "alias.org", Of: "kept.org", Until: catalog.At(time.Now().Add(time.Hour))})
	made := b.must(catalog.CreateJob, catalog.JobCreation{Harvest: "h", Collection: "web", Submit: true, Spec: []byte(`{"name":"j","seeds":["http://127.0.0.1/"]}`)})
	var j catalog.Job
	if err := json.Unmarshal(made.Value, &j); err != nil {
		b.t.Fatal(err)
	}
	b.must(catalog.ClaimJob, catalog.JobRef{ID: j.ID, Node: self})
	b.must(catalog.StartJob, catalog.JobRef{ID: j.ID, Node: self, Attempt: 1})
	return "a.warc.gz", fmt.Sprint(j.ID)
}

// probe sends the request and returns the status of the answer.
func (b *backend) probe(c *client.Client, method string, p probe) int {
	b.t.Helper()
	var body io.Reader
	if p.body != "" {
		body = strings.NewReader(p.body)
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, c.Base()+"/api/v1"+p.path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+b.tokens[c])
	r.Header.Set(wire.CollectionHeader, "web")
	if p.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	if p.path != "" && strings.HasSuffix(p.path, "/events") && answer.StatusCode == http.StatusOK {
		return answer.StatusCode // it goes on
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if answer.StatusCode == http.StatusForbidden && !strings.Contains(string(text), "problem:"+string(wire.CodeForbidden)) {
		b.t.Errorf("%s %s: %s", method, p.path, text)
	}
	return answer.StatusCode
}

// operation is one of the description.
type operation struct{ method, act string }

// described returns all operations by id.
func described(t *testing.T) map[string]operation {
	t.Helper()
	_, description := routes(newServer(Backend{}, slog.New(slog.DiscardHandler)), Backend{}, slog.New(slog.DiscardHandler))
	var o struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(description(), &o); err != nil {
		t.Fatal(err)
	}
	out := map[string]operation{}
	for _, path := range o.Paths {
		for method, raw := range path {
			var op struct {
				ID  string `json:"operationId"`
				Act string `json:"x-holdfast-act"`
			}
			if json.Unmarshal(raw, &op) == nil && op.ID != "" {
				out[op.ID] = operation{strings.ToUpper(method), op.Act}
			}
		}
	}
	return out
}
