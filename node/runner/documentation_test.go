package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/harvest"
	"holdfast/internal/disk"
	"holdfast/internal/kv/memory"
	"holdfast/warc"
)

// agreed is an agreed state in which nothing is decided.
type agreed struct{ state *memory.Tx }

func (a agreed) View(look func(catalog.View) error) error { return look(catalog.NewView(a.state)) }
func (agreed) Linear(context.Context) error               { return nil }
func (agreed) Propose(context.Context, catalog.Kind, any, string) (catalog.Result, error) {
	return catalog.Result{}, errors.New("nobody decides")
}

const (
	secret = "correct-horse-battery-staple"
	page   = "HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=utf-8\r\n\r\n<html>page</html>"
)

// documented is an attempt of a job that has crawled: its folder has what prepare writes, logs, reports and WARC files.
func documented(t *testing.T, job catalog.Job, origin Origin, change func(*harvest.Settings)) (*Runner, *Attempt) {
	t.Helper()
	spec := harvest.Job{Name: job.Harvest, Seeds: []string{"http://example.org/"}, Settings: harvest.DefaultSettings()}
	spec.Settings.MaxHops = 3
	spec.Settings.Credentials = []harvest.Credential{{Domain: "example.org", Kind: "basic", User: "anna", Password: secret}}
	spec.Settings.Headers = []string{"Authorization: Bearer " + secret}
	change(&spec.Settings)
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	job.Spec = text
	c := New(Config{Self: "self", Name: "north-1", Version: "1.2.3", Data: t.TempDir(), Disk: disk.New(),
		Log: slog.New(slog.DiscardHandler), Agreement: agreed{new(memory.Tx)}, Origin: origin})
	r := &Attempt{Job: job, out: &programLog{}}
	if r.Dir, err = c.folder(job); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.prepare(t.Context(), r, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"logs/crawl.log": "a line\n", "reports/hosts-report.txt": "hosts\n"} {
		path := filepath.Join(r.Dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return c, r
}

// crawled writes a WARC file of three captures, and returns its path and where they lie.
func crawled(t *testing.T, r *Attempt, info []warc.Field) (path string, at []warc.Position) {
	t.Helper()
	files, err := warc.NewFiles(disk.New(), warc.FilesConfig{Dir: filepath.Join(r.Dir, "warcs"), Prefix: prefix(r.Job),
		Node: "north-1", Info: info, Now: func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }},
		func(f warc.Finished) error { path = f.Path; return nil })
	if err != nil {
		t.Fatal(err)
	}
	ip := []warc.Field{{Name: "WARC-IP-Address", Value: "192.0.2.1"}}
	draft := func(kind, uri, media, text string, fields ...warc.Field) warc.Draft {
		return warc.Draft{Type: kind, TargetURI: uri, ContentType: media, Block: strings.NewReader(text), Size: int64(len(text)),
			Fields: append(slices.Clone(ip), fields...)}
	}
	revisit := []warc.Field{{Name: "WARC-Profile", Value: "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"},
		{Name: "WARC-Payload-Digest", Value: "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}
	at, err = files.Write(draft(warc.TypeResponse, "http://example.org/z", "application/http; msgtype=response", page),
		draft(warc.TypeRequest, "http://example.org/z", "application/http; msgtype=request", "GET /z HTTP/1.1\r\nHost: example.org\r\n\r\n"),
		draft(warc.TypeResource, "ftp://example.org/a", "Application/X-Thing; v=1", "bytes"),
		draft(warc.TypeRevisit, "http://example.org/b", "application/http; msgtype=response", "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n", revisit...),
		draft(warc.TypeMetadata, "http://example.org/z", "application/warc-fields", "via: x\r\n"))
	if err := errors.Join(err, files.Close()); err != nil {
		t.Fatal(err)
	}
	closed := time.Date(2026, 3, 4, 6, 0, 0, 500_000_000, time.UTC)
	if err := os.Chtimes(path, closed, closed); err != nil {
		t.Fatal(err)
	}
	return path, at
}

// records returns the records of a WARC file by their URIs, the warcinfo record as "warcinfo".
func records(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := warc.NewReader(f, path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for {
		rec, err := in.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		name := rec.TargetURI()
		if rec.Type == warc.TypeWarcinfo {
			name = rec.Type
		} else if rec.Type != warc.TypeResource {
			t.Errorf("a %s record for %s", rec.Type, name)
		}
		text, err := io.ReadAll(rec.Block)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = rec.ContentType() + "\n" + string(text)
	}
}

// checkDocument makes the metadata file, holds it against a validator that shares no code with this project, and
// returns its records.
func checkDocument(t *testing.T, c *Runner, r *Attempt) map[string]string {
	t.Helper()
	if err := c.MakeDocument(r); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.Dir, string(MetadataName(r.Job)))
	out, err := exec.Command("python3", filepath.Join("..", "..", "warc", "testdata", "warccheck.py"), "-v", path).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte(" E=0 W=0 ")) {
		t.Errorf("independent check: %v\n%s", err, out)
	}
	all := records(t, path)
	for uri, text := range all {
		if strings.Contains(uri+text, secret) {
			t.Errorf("%s holds a secret", uri)
		}
	}
	return all
}

// TestMetadataFile makes the metadata file of a job by hand, and looks for each record under the URI by which
// NetarchiveSuite's tools find it.
func TestMetadataFile(t *testing.T) {
	t.Parallel()
	job := catalog.Job{ID: 7, Attempt: 2, Harvest: "By hand/ü", Collection: "web", Submitted: 1_700_000_000_000}
	c, r := documented(t, job, Origin{Organization: "archive.example.org", Address: "192.0.2.7"}, func(s *harvest.Settings) {
		s.Deduplicate, s.MaxDomainBytes, s.HarvestDomainBytes = "url", 500, 400
	})
	from, err := c.cfg.definition(r.Job)
	if err != nil {
		t.Fatal(err)
	}
	path, at := crawled(t, r, from.info(c.cfg.Origin.Address, r.Job))
	name := filepath.Base(path)
	if !regexp.MustCompile(`^7-0-\d{17}-00000-north-1\.warc\.gz$`).MatchString(name) {
		t.Errorf("a WARC file is called %s", name)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, "warcs", "7-0-torn.warc.gz"), []byte("no WARC file"), 0o644); err != nil {
		t.Fatal(err)
	}
	all := checkDocument(t, c, r)

	const root, tail = "metadata://archive.example.org/crawl/", "?heritrixVersion=Holdfast&harvestid=0&jobid=7"
	stat, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := fmt.Sprintf("ftp://example.org/a 192.0.2.1 20260304050607 application/x-thing 5 %s %d\n"+
		"http://example.org/b 192.0.2.1 20260304050607 image/png 44 %s %d\n"+
		"http://example.org/z 192.0.2.1 20260304050607 text/html %d %s %d\n",
		name, at[2].Offset, name, at[3].Offset, len(page), name, at[0].Offset)
	for uri, want := range map[string]string{
		root + "setup/seeds.json" + tail:   "application/json\n" + `["http://example.org/"]`,
		root + "setup/harvest.json" + tail: "application/json\n" + `{"channel":"","collection":"web","harvestid":0,"harvestnum":0,"name":"By hand/ü"}`,
		root + "setup/duplicatereductionjobs?majorversion=1&minorversion=0&harvestid=0&harvestnum=0&jobid=7": "text/plain\n",
		root + "reports/hosts-report.txt" + tail:                                                            "text/plain\nhosts\n",
		root + "logs/crawl.log" + tail:                                                                      "text/plain\na line\n",
		root + "index/cdx?majorversion=2&minorversion=0&harvestid=0&jobid=7&filename=" + name:               "application/x-cdx\n" + lines,
		root + "index/cdx?majorversion=2&minorversion=0&harvestid=0&jobid=7&filename=" + "7-0-torn.warc.gz": "application/x-cdx\n",
	} {
		if got, there := all[uri]; !there || got != want {
			t.Errorf("%s (%v)\n%s\nwant\n%s", uri, there, got, want)
		}
	}
	report := all[root+"reports/archivefiles-report.txt"+tail]
	if !strings.HasPrefix(report, "text/plain\n[ARCHIVEFILE] [Opened] [Closed] [Size]\n") ||
		!strings.Contains(report, fmt.Sprintf("%s 2026-03-04T05:06:07.000Z 2026-03-04T06:00:00.500Z %d\n", name, stat.Size())) {
		t.Errorf("archivefiles-report.txt:\n%s", report)
	}
	if template := all[root+"setup/template.json"+tail]; !strings.Contains(template, `"max_hops":3`) || !strings.Contains(template, harvest.Redaction) {
		t.Errorf("the template:\n%s", template)
	}
	for uri := range all {
		if strings.Contains(uri, "/aliases") || strings.Contains(uri, "schedule.json") || strings.Contains(uri, "configurations.json") {
			t.Errorf("%s of a job that has none", uri)
		}
	}
	out := all[root+"logs/holdfast.out"+tail]
	for _, want := range []string{"Holdfast 1.2.3 on node north-1", "command line: ", "environment: ", "setting max_hops = 3 (job)", "setting max_retries = 30 (default)",
		"7-0-torn.warc.gz"} {
		if !strings.Contains(out, want) {
			t.Errorf("the program log does not say %q:\n%s", want, out)
		}
	}
	for _, want := range []string{"software: Holdfast/1.2.3\r\n", "ip: 192.0.2.7\r\n", "isPartOf: 7\r\n", "conformsTo: "} {
		if !strings.Contains(all["warcinfo"], want) {
			t.Errorf("the warcinfo record does not say %q:\n%s", want, all["warcinfo"])
		}
	}
	var info []string
	for _, f := range from.info(c.cfg.Origin.Address, r.Job) {
		info = append(info, f.Name+"="+f.Value)
	}
	want := []string{"ip=192.0.2.7", "harvestInfo.version=0.6", "harvestInfo.jobId=7", "harvestInfo.harvestNum=0", "harvestInfo.origHarvestDefinitionID=0",
		"harvestInfo.maxBytesPerDomain=400", "harvestInfo.maxObjectsPerDomain=-1", "harvestInfo.origHarvestDefinitionName=By hand/ü",
		"harvestInfo.harvestFilenamePrefix=7-0", "harvestInfo.jobSubmitDate=2023-11-14T22:13:20Z"}
	if !slices.Equal(info, want) {
		t.Errorf("provenance in WARC files: %q\nwant %q", info, want)
	}
}

// TestMetadataFileOfAHarvest makes the metadata file of a job that was made from a harvest definition.
func TestMetadataFileOfAHarvest(t *testing.T) {
	t.Parallel()
	definition := Definition{Harvest: json.RawMessage(`{"h":1}`), Template: json.RawMessage(`{"t":1}`), Configurations: json.RawMessage(`[]`),
		Schedule: json.RawMessage(`{"s":1}`), Aliases: []Alias{{"a.org", "b.org"}, {"c.org", "b.org"}}, Continues: []uint64{3, 5},
		Info: HarvestInfo{HarvestName: "daily", HarvestComments: "two\nlines", ScheduleName: "every day", TemplateName: "default", TemplateDescription: "usual",
			TemplateUpdated: "2026-01-01T00:00:00Z", Performer: "us", Audience: "all"}}
	calls := 0
	origin := Origin{Organization: "x.org", Definition: func(job catalog.Job) (Definition, error) {
		calls++
		d := definition
		d.Continues = append(d.Continues[:2:2], uint64(calls))
		return d, nil
	}}
	c, r := documented(t, catalog.Job{ID: 9, Attempt: 1, Harvest: "daily", Collection: "web", Channel: "FOCUSED", Number: 12, Run: 4}, origin, func(*harvest.Settings) {})
	from, _, err := c.prepare(t.Context(), r, slog.New(slog.DiscardHandler)) // a resumed attempt keeps what was there
	if err != nil {
		t.Fatal(err)
	}
	path, _ := crawled(t, r, from.info(c.cfg.Origin.Address, r.Job))
	if !strings.HasPrefix(filepath.Base(path), "9-12-2026") {
		t.Errorf("a WARC file is called %s", path)
	}
	all := checkDocument(t, c, r)
	const root = "metadata://x.org/crawl/"
	const tail, old = "?heritrixVersion=Holdfast&harvestid=12&jobid=9", "?majorversion=1&minorversion=0&harvestid=12&harvestnum=4&jobid=9"
	for uri, want := range map[string]string{
		root + "setup/harvest.json" + tail:          "application/json\n" + `{"h":1}`,
		root + "setup/template.json" + tail:         "application/json\n" + `{"t":1}`,
		root + "setup/configurations.json" + tail:   "application/json\n[]",
		root + "setup/schedule.json" + tail:         "application/json\n" + `{"s":1}`,
		root + "setup/aliases" + old:                "text/plain\na.org is an alias for b.org\nc.org is an alias for b.org\n",
		root + "setup/duplicatereductionjobs" + old: "text/plain\n3,5,1",
	} {
		if got, there := all[uri]; !there || got != want {
			t.Errorf("%s (%v)\n%s\nwant\n%s", uri, there, got, want)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in, err := warc.NewReader(file, path)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := in.Next()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(rec.Block)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"channel: FOCUSED", "harvestNum: 4", "origHarvestDefinitionID: 12", "origHarvestDefinitionComments: two lines", "scheduleName: every day",
		"templateName: default", "templateDescription: usual", "templateLastUpdateDate: 2026-01-01T00:00:00Z", "performer: us", "audience: all"} {
		if !strings.Contains(string(text), "\r\nharvestInfo."+want+"\r\n") {
			t.Errorf("the warcinfo record does not say %q:\n%s", want, text)
		}
	}
}

func TestSecretsAreNotInTheProgramLog(t *testing.T) {
	t.Parallel()
	args := []string{"holdfast", "join", "--token", secret, "--token=" + secret, "--config", "cluster.toml", "--set", "credentials=" + secret,
		"http://anna:" + secret + "@example.org/", "--node", "north-1"}
	shown := strings.Join(shownArguments(args), " ")
	if strings.Contains(shown, secret) || !strings.Contains(shown, "--config cluster.toml") || !strings.Contains(shown, "--node north-1") {
		t.Errorf("command line: %s", shown)
	}
	shown = strings.Join(shownEnvironment([]string{"HOLDFAST_TOKEN=" + secret, "TZ=UTC", "AWS_SECRET_ACCESS_KEY=" + secret, "HTTPS_PROXY=http://u:" + secret + "@p/"}), " ")
	if shown != "TZ=UTC" {
		t.Errorf("environment: %s", shown)
	}
}

// Settings that were changed while a crawl ran are named when it ends.
func TestChangedSettingsAreInTheProgramLog(t *testing.T) {
	t.Parallel()
	c, r := documented(t, catalog.Job{ID: 7, Attempt: 1, Harvest: "h"}, Origin{}, func(*harvest.Settings) {})
	from, err := c.cfg.definition(r.Job)
	if err != nil {
		t.Fatal(err)
	}
	r.out.changes(from.given, r.Dir) // it did not come to run
	later := harvest.Job{Name: "h", Seeds: []string{"http://example.org/"}, Settings: from.given}
	later.Settings.MaxHops = 9
	text, err := json.Marshal(later)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, "settings", "job.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	r.out.changes(from.given, r.Dir)
	if err := r.out.end(); err != nil {
		t.Fatal(err)
	}
	r.out.say("too late")
	log, err := os.ReadFile(filepath.Join(r.Dir, "logs", programLogName))
	if err != nil || strings.Count(string(log), "(changed while the crawl ran)") != 1 || !strings.Contains(string(log), "setting max_hops = 9 (changed") ||
		strings.Contains(string(log), "too late") {
		t.Errorf("%s %v", log, err)
	}
}
