package duty

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/catalog/notices"
	"holdfast/internal/kv/memory"
)

// newswire is an agreed state of three nodes, to which commands are applied at a time.
type newswire struct {
	memory.Tx
	t     *testing.T
	index uint64
	now   time.Time
}

func nodeKey(name string) []byte { sum := sha256.Sum256([]byte(name)); return sum[:] }

func nodeID(name string) catalog.NodeID { return catalog.Fingerprint(nodeKey(name)) }

func newNewswire(t *testing.T) *newswire {
	t.Helper()
	w := &newswire{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	member := func(name string) catalog.Member {
		return catalog.Member{ID: nodeID(name), Name: name, Key: nodeKey(name), Replica: catalog.ReplicaName(name[:5]), Level: notices.Level}
	}
	w.do(catalog.Found, catalog.Founding{Cluster: catalog.Cluster{ID: "c", Name: "C", Epoch: 1, Level: 1},
		Collections: []catalog.Collection{{Name: "web"}, {Name: "radio"}}, Member: member("north-1"),
		Replicas: []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive, Place: "Northtown"}, {Name: "south", Kind: catalog.Bitarchive, Place: "Southtown"}}})
	secret := sha256.Sum256([]byte("s"))
	w.do(catalog.CreateToken, catalog.JoinToken{ID: "j", SecretHash: secret, Replica: "south", Expires: catalog.At(w.now.Add(time.Hour))})
	w.do(catalog.JoinMember, catalog.Joining{Token: "j", Secret: []byte("s"), Member: member("south-1")})
	w.do(catalog.RaiseLevel, catalog.LevelChange{Level: notices.Level})
	return w
}

func (w *newswire) apply(kind catalog.Kind, body any) catalog.Result {
	w.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	w.index++
	data, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, At: catalog.At(w.now), Actor: "test", Body: raw})
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := catalog.Apply(&w.Tx, w.index, data)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

func (w *newswire) do(kind catalog.Kind, body any) {
	w.t.Helper()
	if r := w.apply(kind, body).Refusal; r != nil {
		w.t.Fatalf("%s: %v", kind, r)
	}
}

func (w *newswire) view() catalog.View { return catalog.NewView(&w.Tx) }

func (w *newswire) raise(node string, of notices.Of, severity string) {
	w.t.Helper()
	w.do(notices.Report, notices.Reporting{Node: nodeID(node), Raised: []notices.Raising{{Of: of, Severity: severity}}})
}

func (w *newswire) end(node string, of notices.Of) {
	w.t.Helper()
	w.do(notices.Report, notices.Reporting{Node: nodeID(node), Cleared: []notices.Clearing{{Of: of}}})
}

func (w *newswire) address(name string, change func(*notices.Address)) {
	w.t.Helper()
	a := notices.Address{Name: name, Way: notices.Mail, To: []string{"ops@example.org"}, Language: "en", When: notices.AtOnce, Cleared: true}
	if change != nil {
		change(&a)
	}
	w.do(notices.Create, notices.Setting{Address: a})
}

func (w *newswire) due() []Delivery {
	w.t.Helper()
	out, err := NoticesDue(w.view(), Noticing{Now: w.now, Zones: time.LoadLocation, Can: func(*notices.Address) bool { return true }})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// said are the notices that are due, in words.
func (w *newswire) said() (out []string) {
	w.t.Helper()
	for _, d := range w.due() {
		text := d.Address.Name
		if d.Notice.Report {
			text += " report of " + d.Notice.Due.Std().Format("02 15:04")
		}
		for _, it := range d.Notice.Items {
			text += fmt.Sprintf(" %s%s", map[bool]string{true: "-", false: "+"}[it.Cleared], strings.TrimSpace(it.Kind+" "+it.Subject))
		}
		out = append(out, text)
	}
	return out
}

func (w *newswire) wants(want ...string) {
	w.t.Helper()
	if got := w.said(); !slices.Equal(got, want) {
		w.t.Errorf("at %s is due %q, want %q", w.now.Format("02 15:04:05"), got, want)
	}
}

// tell delivers all that is due.
func (w *newswire) tell() {
	w.t.Helper()
	for _, d := range w.due() {
		w.do(notices.Claim, notices.Claiming{Node: nodeID("north-1"), Notice: d.Notice})
		w.do(notices.Settle, notices.Outcome{Node: nodeID("north-1"), Address: d.Address.Name, ID: d.Notice.ID})
	}
}

func (w *newswire) pass(d time.Duration) { w.now = w.now.Add(d) }

var (
	lowDisk = notices.Of{Kind: string(alert.DiskLow), Node: "north-1", Subject: "/data"}
	away    = notices.Of{Kind: string(alert.NodeAway), Subject: "south-1"}
)

// A fault is told once, when it has lasted a minute; that it is over is told to who was told of it.
func TestAFaultIsToldOnce(t *testing.T) {
	w := newNewswire(t)
	w.address("ops", nil)
	w.address("quiet", func(a *notices.Address) { a.Cleared = false })
	w.raise("north-1", lowDisk, "bad")
	w.wants()
	w.pass(59 * time.Second)
	w.wants()
	w.pass(time.Second)
	w.wants("ops +disk-low /data", "quiet +disk-low /data")
	first := w.due()
	w.tell()
	for range 5 {
		w.pass(24 * time.Hour)
		w.wants()
	}
	w.end("north-1", lowDisk)
	w.wants("ops -disk-low /data")
	w.tell()
	w.wants()
	w.raise("north-1", lowDisk, "bad") // again: another fault, another notice
	w.pass(2 * time.Hour)
	if again := w.due(); len(again) != 2 || again[0].Notice.ID == first[0].Notice.ID || first[0].Notice.ID == first[1].Notice.ID {
		t.Errorf("%+v after %+v", again, first)
	}
}

// A node is silent when the alert about it has lasted, and the leader does not hear it either.
func TestSilentNodes(t *testing.T) {
	w := newNewswire(t)
	hears := map[catalog.NodeID]bool{nodeID("north-1"): true}
	silent := func(after time.Duration) int {
		t.Helper()
		out, err := Silent(w.view(), func(id catalog.NodeID) bool { return !hears[id] }, w.now, after)
		if err != nil || len(out) > 0 && !out[nodeID("south-1")] {
			t.Fatalf("%v, %v", out, err)
		}
		return len(out)
	}
	if silent(time.Nanosecond) != 0 {
		t.Error("a node is silent that no alert names")
	}
	w.raise("north-1", away, "bad")
	w.pass(24*time.Hour - time.Second)
	if silent(24*time.Hour) != 0 {
		t.Error("it is silent before its time")
	}
	w.pass(time.Second)
	if silent(24*time.Hour) != 1 || silent(0) != 0 {
		t.Error("it is not silent, or although nobody is to be")
	}
	hears[nodeID("south-1")] = true
	if silent(24*time.Hour) != 0 {
		t.Error("it is silent while it is heard")
	}
	hears = nil
	w.end("north-1", away)
	w.raise("north-1", away, "bad") // it was there meanwhile
	if silent(24*time.Hour) != 0 {
		t.Error("the time before it came back counts")
	}
}

// What comes and goes is told once an hour; what goes before it was told never was.
func TestWhatComesAndGoes(t *testing.T) {
	w := newNewswire(t)
	w.address("ops", nil)
	told := 0
	for range 60 { // two hours
		w.raise("north-1", away, "bad")
		w.pass(90 * time.Second)
		told += len(w.due())
		w.tell()
		w.end("north-1", away)
		w.pass(30 * time.Second)
		told += len(w.due())
		w.tell()
	}
	if told < 4 || told > 6 {
		t.Errorf("%d notices in two hours", told)
	}
	w.pass(2 * time.Hour)
	w.raise("north-1", lowDisk, "bad")
	w.pass(30 * time.Second)
	w.end("north-1", lowDisk)
	w.pass(time.Hour)
	w.wants()
}

// Who has acknowledged a fault is not told of it; when the time passes and it is still there, others are.
func TestAcknowledgedFaultsAreNotTold(t *testing.T) {
	w := newNewswire(t)
	w.address("ops", nil)
	w.raise("north-1", lowDisk, "bad")
	w.do(notices.Acknowledge, notices.Acknowledging{Of: lowDisk, Note: "known", Until: catalog.At(w.now.Add(time.Hour))})
	w.pass(59 * time.Minute)
	w.wants()
	w.pass(time.Minute)
	w.wants("ops +disk-low /data")
}

func TestFilters(t *testing.T) {
	w := newNewswire(t)
	w.do(catalog.CreateJob, catalog.JobCreation{Harvest: "h", Collection: "radio", Spec: json.RawMessage(`{"name":"j","seeds":["http://example.org/"]}`)})
	held := notices.Of{Kind: string(alert.JobHeld), Node: "south-1", Subject: "1"}
	for name, f := range map[string]notices.Filter{"all": {}, "bad": {Least: "bad"}, "look": {Least: "look"}, "kinds": {Kinds: []string{"job-held", "x"}},
		"radio": {Collection: "radio"}, "web": {Collection: "web"}, "north": {Place: "Northtown"}, "south": {Place: "Southtown"},
		"both": {Place: "Southtown", Collection: "radio"}} {
		w.address(name, func(a *notices.Address) { a.Filter = f })
	}
	w.raise("north-1", lowDisk, "bad")
	w.raise("south-1", held, "look")
	w.raise("north-1", away, "bad")
	w.pass(time.Hour)
	got := map[string]string{}
	for _, line := range w.said() {
		name, what, _ := strings.Cut(line, " ")
		got[name] += what[:2]
	}
	want := map[string]string{"all": "+d+j+n", "bad": "+d+n", "look": "+d+j+n", "kinds": "+j", "radio": "+j", "north": "+d", "south": "+j+n", "both": "+j"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Many faults at once are one notice.
func TestManyFaultsAreOneNotice(t *testing.T) {
	w := newNewswire(t)
	w.address("ops", nil)
	for i := range 150 {
		w.raise("north-1", notices.Of{Kind: "job-held", Node: "north-1", Subject: fmt.Sprint(i)}, "look")
	}
	w.pass(time.Minute)
	if due := w.due(); len(due) != 1 || len(due[0].Notice.Items) != catalog.MaxItems {
		t.Fatalf("%d notices", len(due))
	}
	w.tell()
	if due := w.due(); len(due) != 1 || len(due[0].Notice.Items) != 50 {
		t.Fatalf("%d notices", len(due))
	}
	w.tell()
	w.wants()
}

// An address that is told by the hour gets what an hour brought, if anything.
func TestHourly(t *testing.T) {
	w := newNewswire(t)
	w.address("ops", func(a *notices.Address) { a.When = notices.Hourly })
	w.pass(10 * time.Minute)
	w.raise("north-1", lowDisk, "bad")
	w.pass(10 * time.Minute)
	w.raise("north-1", away, "bad")
	w.pass(39 * time.Minute)
	w.wants()
	w.pass(time.Minute)
	w.wants("ops +disk-low /data +node-away south-1")
	w.tell()
	w.pass(59 * time.Minute)
	w.end("north-1", away)
	w.pass(time.Minute)
	w.wants("ops -node-away south-1")
	w.tell()
	w.pass(5 * time.Hour)
	w.wants()
}

// A report is made at a time of day of a zone, whatever there is to tell, once a day, also when summer time begins in
// that night, and later when nobody could make it at that time.
func TestDaily(t *testing.T) {
	w := newNewswire(t)
	w.now = time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	w.address("morning", func(a *notices.Address) { a.When, a.Hour, a.Zone = notices.Daily, "02:30", "Europe/Copenhagen" })
	w.wants()
	w.now = time.Date(2026, 3, 29, 1, 29, 0, 0, time.UTC)
	w.wants() // 02:30 does not come that night: it is 03:30
	w.now = time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC)
	w.wants("morning report of 29 01:30")
	w.tell()
	w.wants()
	w.raise("north-1", lowDisk, "bad")
	w.now = time.Date(2026, 3, 30, 9, 0, 0, 0, time.UTC)
	w.wants("morning report of 30 00:30 +disk-low /data")
	w.tell()
	w.now = time.Date(2026, 3, 31, 1, 0, 0, 0, time.UTC)
	w.wants("morning report of 31 00:30")
}

// A notice that failed waits, keeps its id, and others can be told meanwhile; one that nobody delivers is an alert.
func TestNoticesThatFail(t *testing.T) {
	w := newNewswire(t)
	w.address("ops", nil)
	w.address("other", func(a *notices.Address) { a.Least = "bad" })
	w.raise("north-1", lowDisk, "bad")
	w.pass(time.Minute)
	d := w.due()[0]
	w.do(notices.Claim, notices.Claiming{Node: nodeID("north-1"), Notice: d.Notice})
	w.tell() // to the other one
	w.wants()
	w.do(notices.Settle, notices.Outcome{Node: nodeID("north-1"), Address: "ops", ID: d.Notice.ID, Tries: 1, Failed: "busy"})
	w.raise("north-1", away, "bad")
	w.pass(10 * time.Minute)
	if due := w.due(); len(due) != 3 || due[0].Notice.ID != d.Notice.ID {
		t.Fatalf("%+v", due)
	}
	alerts := func() (out []string) {
		all, err := NoticeAlerts(w.view(), w.now, time.LoadLocation)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			out = append(out, string(a.Kind)+" "+a.Subject)
		}
		return out
	}
	if got := alerts(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	w.pass(31 * time.Minute)
	if got := alerts(); !slices.Equal(got, []string{"notice-unserved ops", "notice-unserved other"}) {
		t.Errorf("%q", got)
	}
	w.raise("north-1", notices.Of{Kind: "notice-unserved", Subject: "ops"}, "bad")
	w.pass(time.Minute)
	if got := fmt.Sprint(w.said()); strings.Count(got, "notice-unserved") != 1 || !strings.Contains(got, "other +notice-unserved ops") {
		t.Errorf("%s", got)
	}
	for tries := 2; tries < 200; tries++ {
		n, err := catalog.NoticesIn(w.view()).Notice("ops", d.Notice.ID)
		if err != nil {
			break
		}
		w.now = n.Next.Std()
		w.do(notices.Claim, notices.Claiming{Node: nodeID("north-1"), Notice: n})
		w.do(notices.Settle, notices.Outcome{Node: nodeID("north-1"), Address: "ops", ID: n.ID, Tries: tries, Failed: "busy"})
	}
	if got := alerts(); !slices.Contains(got, "notice-undelivered ops") {
		t.Errorf("%q", got)
	}
}

// Each living node has its turn, so that not all of them claim a notice at once.
func TestTurns(t *testing.T) {
	w := newNewswire(t)
	members, err := w.view().Members()
	if err != nil {
		t.Fatal(err)
	}
	all := func(catalog.NodeID) bool { return true }
	first := map[string]int{}
	for i := range 100 {
		id, turns := fmt.Sprint(i), []int{}
		for _, name := range []string{"north-1", "south-1"} {
			before := Turn(members, nodeID(name), all)(id)
			turns = append(turns, before)
			if before == 0 {
				first[name]++
			}
			if alone := Turn(members, nodeID(name), func(catalog.NodeID) bool { return false })(id); alone != 0 {
				t.Fatalf("%s waits for nodes that do not live", name)
			}
		}
		if slices.Sort(turns); !slices.Equal(turns, []int{0, 1}) {
			t.Fatalf("%v", turns)
		}
	}
	if first["north-1"] < 20 || first["south-1"] < 20 {
		t.Errorf("%v", first)
	}
}

// A node reports what it alone sees, the leader what all see, and of a node that is no member any more that it is over.
func TestAlertsToReport(t *testing.T) {
	w := newNewswire(t)
	seen := []alert.Alert{alert.New(alert.NoQuorum, ""), alert.At("north-1", []alert.Alert{alert.New(alert.DiskLow, "/data", "bytes", "5")})[0],
		alert.At("south-1", []alert.Alert{alert.New(alert.DiskLow, "/south", "bytes", "5")})[0]}
	gone := false
	report := func(leads bool) (out []string) {
		r, err := AlertsToReport(w.view(), nodeID("north-1"), Watching{Node: "north-1", Leads: leads, Seen: seen, Gone: func(string) bool { return gone }})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range r.Raised {
			out = append(out, "+"+a.Kind+" "+a.Subject)
		}
		for _, c := range r.Cleared {
			out = append(out, "-"+c.Kind+" "+c.Subject)
		}
		if len(out) > 0 && leads {
			w.do(notices.Report, r)
		}
		return out
	}
	if got := report(false); !slices.Equal(got, []string{"+disk-low /data"}) {
		t.Errorf("%q", got)
	}
	if got := report(true); !slices.Equal(got, []string{"+no-quorum ", "+disk-low /data"}) {
		t.Errorf("%q", got)
	}
	if got := report(true); len(got) != 0 {
		t.Errorf("again: %q", got)
	}
	w.raise("south-1", notices.Of{Kind: "disk-low", Node: "south-1", Subject: "/s"}, "bad")
	seen = seen[:0]
	if got := report(true); len(got) != 0 {
		t.Errorf("it may come back: %q", got)
	}
	gone = true
	if got := report(false); !slices.Equal(got, []string{"-disk-low /data"}) {
		t.Errorf("%q", got)
	}
	if got := report(true); len(got) != 2 || slices.Contains(got, "-disk-low /s") {
		t.Errorf("%q", got)
	}
	w.do(catalog.RemoveMember, catalog.MemberRemoval{ID: nodeID("south-1"), Lost: true})
	if got := report(true); !slices.Equal(got, []string{"-disk-low /s"}) {
		t.Errorf("%q", got)
	}
	for i := range 150 {
		seen = append(seen, alert.At("north-1", []alert.Alert{alert.New(alert.JobHeld, fmt.Sprint(i), "reason", "x")})...)
	}
	report(true)
	if got := report(true); len(got) != 0 {
		t.Errorf("more than a node has: %d", len(got))
	}
	w.pass(8 * 24 * time.Hour)
	if old, err := OldNotices(w.view(), w.now); err != nil || len(old.Faults) != 3 {
		t.Errorf("%+v, %v", old, err)
	}
}
