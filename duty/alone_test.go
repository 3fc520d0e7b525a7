package duty

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/catalog/notices"
	"holdfast/internal/kv/memory"
)

// Without a quorum, what is told has the ids that it has with one; what was told, or is known to somebody, is not told.
func TestNoticesAlone(t *testing.T) {
	w := newNewswire(t)
	w.address("ops", nil)
	w.address("hourly", func(a *notices.Address) { a.When = notices.Hourly })
	w.address("bad", func(a *notices.Address) { a.Least = "bad" })
	seen := func(kind alert.Kind, subject string, ago time.Duration) alert.Alert {
		a := alert.At("north-1", []alert.Alert{alert.New(kind, subject)})[0]
		a.Since = w.now.Add(-ago)
		return a
	}
	alone := func(all ...alert.Alert) (ids []string) {
		out, err := NoticesAlone(w.view(), Noticing{Now: w.now, Can: func(*notices.Address) bool { return true }}, all)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range out {
			ids = append(ids, d.Address.Name+" "+d.Notice.ID)
		}
		return ids
	}
	if got := alone(seen(alert.DiskLow, "/data", 59*time.Second)); len(got) != 0 {
		t.Errorf("after less than a minute: %q", got)
	}
	before := alone(seen(alert.DiskLow, "/data", time.Hour))
	if len(before) != 2 {
		t.Fatalf("%q", before)
	}
	w.raise("north-1", lowDisk, "bad")
	w.pass(time.Minute)
	var agreed []string
	for _, d := range w.due() {
		agreed = append(agreed, d.Address.Name+" "+d.Notice.ID)
	}
	slices.Sort(agreed)
	slices.Sort(before)
	if during := alone(seen(alert.DiskLow, "/data", time.Hour)); !slices.Equal(agreed, before) || len(during) != 2 {
		t.Errorf("agreed %q, alone %q, then %q", agreed, before, during)
	}
	w.do(notices.Acknowledge, notices.Acknowledging{Of: lowDisk, Note: "known", Until: catalog.At(w.now.Add(time.Hour))})
	if got := alone(seen(alert.DiskLow, "/data", time.Hour)); len(got) != 0 {
		t.Errorf("acknowledged: %q", got)
	}
	w.do(notices.Withdraw, lowDisk)
	w.tell()
	if got := alone(seen(alert.DiskLow, "/data", time.Hour)); len(got) != 0 {
		t.Errorf("told before: %q", got)
	}
	if got := alone(seen(alert.StrayFiles, "", time.Hour)); len(got) != 1 {
		t.Errorf("what is not bad: %q", got)
	}
}

// Nothing is called well while something bad is known, to anybody, or when nobody reports.
func TestWell(t *testing.T) {
	w := newNewswire(t)
	is := func(seen ...alert.Alert) bool {
		well, err := Well(w.view(), seen)
		if err != nil {
			t.Fatal(err)
		}
		return well
	}
	future := alert.Alert{Kind: "of-the-future"}
	if !is() || !is(alert.New(alert.StrayFiles, "")) || is(alert.New(alert.DiskLow, "/")) || is(future) {
		t.Error("by what is seen")
	}
	w.raise("south-1", notices.Of{Kind: "disk-low", Node: "south-1"}, "look")
	if !is() {
		t.Error("something waits")
	}
	w.raise("south-1", notices.Of{Kind: "disk-low", Node: "south-1", Subject: "/"}, "bad")
	if is() {
		t.Error("another node reports something bad")
	}
	w.end("south-1", notices.Of{Kind: "disk-low", Node: "south-1", Subject: "/"})
	if !is() {
		t.Error("it is over")
	}
	if well, err := Well(catalog.NewView(new(memory.Tx)), nil); well || err != nil {
		t.Errorf("an empty catalog is well: %v", err)
	}
}

// Tokens are told of within a week of their end, if they were made for longer than two; not those that ended.
func TestTokensLapsing(t *testing.T) {
	w := newNewswire(t)
	at := catalog.At(w.now)
	for id, token := range map[string]catalog.AccessToken{
		"soon":    {Created: at - 90*catalog.Day, Expires: at + 7*catalog.Day},
		"later":   {Created: at - 90*catalog.Day, Expires: at + 7*catalog.Day + 1},
		"ended":   {Created: at - 90*catalog.Day, Expires: at},
		"short":   {Created: at, Expires: at + catalog.Day},
		"revoked": {Created: at - 90*catalog.Day, Expires: at + catalog.Day, Revoked: at},
		"forever": {Created: at - 90*catalog.Day},
	} {
		token.ID, token.Name = id, "of "+id
		text, err := json.Marshal(token)
		if err == nil {
			err = w.Set([]byte(catalog.PrefixAccess+id), append([]byte{1}, text...))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := TokensLapsing(w.view(), w.now)
	if err != nil || len(got) != 1 || got[0].Text() != "access token soon (of soon) lapses at 2026-03-08 12:00 UTC" {
		t.Errorf("%v, %v", got, err)
	}
}

// An audit is old when it is older than it may be; the time of a shard that nobody ever read begins with its first file.
// One that another node holds is not counted.
func TestAuditsOld(t *testing.T) {
	w := newNewswire(t)
	w.do(catalog.AssignShards, catalog.Assignment{Replica: "north", Node: nodeID("north-1"), Shards: []catalog.Shard{catalog.FileName("a.warc").Shard()}})
	w.do(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "a.warc", Collection: "web", Source: nodeID("north-1"), Size: 1, SHA256: sha256.Sum256([]byte("a"))}}})
	old := func() []alert.Alert {
		got, err := AuditsOld(w.view(), nodeID("north-1"), w.now, 20*24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := old(); len(got) != 0 {
		t.Errorf("never audited, and nothing there yet: %v", got)
	}
	w.do(catalog.ReportCopies, catalog.CopyReports{Node: nodeID("north-1"), Copies: []catalog.CopyReport{{Name: "a.warc", State: catalog.UploadCompleted, SHA256: sha256.Sum256([]byte("a"))}}})
	w.pass(20*24*time.Hour - time.Minute)
	if got := old(); len(got) != 0 {
		t.Errorf("never audited, and not for long: %v", got)
	}
	w.pass(time.Minute)
	if got := old(); len(got) != 1 || got[0].Parameters["days"] != "20" {
		t.Errorf("never audited: %v", got)
	}
	w.do(catalog.PassShard, catalog.ShardPass{Replica: "north", Shard: catalog.FileName("a.warc").Shard(), Node: nodeID("north-1"), Ended: catalog.At(w.now)})
	w.pass(20*24*time.Hour - time.Minute)
	if got := old(); len(got) != 0 {
		t.Errorf("within the time: %v", got)
	}
	w.pass(time.Minute)
	if got := old(); len(got) != 1 || got[0].Parameters["days"] != "20" || got[0].Parameters["shards"] != "1" {
		t.Errorf("%v", got)
	}
	if got, err := AuditsOld(w.view(), nodeID("south-1"), w.now, 10*24*time.Hour); err != nil || len(got) != 0 {
		t.Errorf("of another node: %v, %v", got, err)
	}
	if got, err := AuditsOld(w.view(), nodeID("north-1"), w.now, 0); err != nil || len(got) != 0 {
		t.Errorf("there are no audits: %v, %v", got, err)
	}
}
