package rebuild

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/files"
	"holdfast/catalog/people"
	"holdfast/catalog/rules"
)

// maxEvent bounds one event of a trail.
const maxEvent = 1 << 20

// readEvents reads events as a ledger's trail has them. Those that do not match their own hash are counted, and left
// out.
func readEvents(in io.Reader, take func(catalog.Event)) (bad int, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxEvent)
	for lines.Scan() {
		var e catalog.Event
		if json.Unmarshal(lines.Bytes(), &e) != nil || catalog.VerifyEvents([]catalog.Event{e},
			e.Previous) != nil {
			bad++
			continue
		}
		take(e)
	}
	return bad, lines.Err()
}

// chain returns the events that lead to the one with the hash, by the hashes that each carries. whole says that they
// begin with event 1. Events that nobody has signed a later one of are not among them.
func chain(known map[catalog.Digest]catalog.Event, head catalog.Digest) (events []catalog.Event, whole bool) {
	for at := head; !at.IsZero(); {
		e, there := known[at]
		if !there {
			break
		}
		events = append(events, e)
		at = e.Previous
	}
	slices.Reverse(events)
	return events, head.IsZero() || len(events) > 0 && events[0].Seq == 1 && events[0].Previous.IsZero()
}

// fate is what became of a file by the trail.
type fate struct {
	removed, hidden, until, lost catalog.Time
	by, reason, lostWhy          string
	sha256                       catalog.Digest
}

// put is that a person or a program put a file.
type put struct {
	at         catalog.Time
	collection catalog.CollectionName
	size       int64
	sha256     catalog.Digest
}

// correction is that the checksum of a file was decided to be another.
type correction struct{ was, now catalog.Digest }

// told is what events say that is to come back.
type told struct {
	fates       map[catalog.FileName]fate
	puts        map[catalog.FileName]put
	corrected   map[catalog.FileName][]correction
	collections map[catalog.CollectionName]catalog.Time // when they were made
	rule        *files.RemovalRule
	counts      map[string]int // of acts on things that no folder has
}

// fold tells what events say, in their order. Pure.
func fold(events []catalog.Event) told {
	t := told{fates: map[catalog.FileName]fate{}, puts: map[catalog.FileName]put{},
		corrected:   map[catalog.FileName][]correction{},
		collections: map[catalog.CollectionName]catalog.Time{}, counts: map[string]int{}}
	for i := range events {
		t.event(&events[i])
	}
	for name := range t.fates {
		if name.Check() != nil {
			delete(t.fates, name)
		}
	}
	for name := range t.collections {
		if agree.CheckName("collection", string(name)) != nil {
			delete(t.collections, name)
		}
	}
	return t
}

// ruleCount is what events about access rules are counted as.
const ruleCount = "access rules, and changes of them"

func (t *told) event(e *catalog.Event) {
	name := catalog.FileName(e.Subject)
	if slices.Contains([]catalog.Kind{rules.Add, rules.Change, rules.Remove}, catalog.Kind(e.Act)) {
		t.counts[ruleCount]++
		return
	}
	switch catalog.Kind(e.Act) {
	case catalog.RemoveFile:
		f := fate{by: e.Actor, reason: reasonOf(e.Detail), sha256: digestIn(e.Detail, "sha256=")}
		if until, err := time.Parse(time.RFC3339, wordIn(e.Detail, "until=")); err == nil {
			f.hidden, f.until = e.At, wholeDays(e.At, catalog.At(until))
		} else {
			f.removed = e.At
		}
		t.fates[name] = f
	case files.RestoreFile:
		delete(t.fates, name)
	case files.ExpireFiles:
		f := t.fates[name]
		if f.hidden == 0 {
			f.hidden, f.sha256, f.by = e.At, digestIn(e.Detail, "sha256="), wordIn(e.Detail, "by=")
			if was, err := time.Parse(time.RFC3339, wordIn(e.Detail, "removed=")); err == nil {
				f.hidden = catalog.At(was)
			}
		}
		f.removed, f.hidden, f.until = f.hidden, 0, 0
		t.fates[name] = f
	case catalog.LoseFile:
		f := t.fates[name]
		f.lost, f.lostWhy, f.sha256 = e.At, reasonOf(e.Detail), digestIn(e.Detail, "sha256=")
		t.fates[name] = f
	case "file.found":
		if f := t.fates[name]; f.hidden != 0 || f.removed != 0 {
			f.lost, f.lostWhy = 0, ""
			t.fates[name] = f
		} else {
			delete(t.fates, name)
		}
	case "file.put":
		size, err := strconv.ParseInt(wordIn(e.Detail, "size="), 10, 64)
		if err != nil {
			size = -1
		}
		if _, again := t.puts[name]; !again {
			t.puts[name] = put{at: e.At, collection: catalog.CollectionName(wordIn(e.Detail,
				"collection=")), size: size,
				sha256: digestIn(e.Detail, "sha256=")}
		}
	case files.SetChecksum:
		t.corrected[name] = append(t.corrected[name], correction{was: digestIn(e.Detail, "was="),
			now: digestIn(e.Detail, "sha256=")})
	case cluster.SetCollection:
		if name := catalog.CollectionName(e.Subject); t.collections[name] == 0 {
			t.collections[name] = e.At
		}
	case catalog.RemoveCollection:
		delete(t.collections, catalog.CollectionName(e.Subject))
	case files.SetRemovals:
		if days, err := strconv.Atoi(wordIn(e.Detail, "days=")); err == nil {
			t.rule = &files.RemovalRule{Days: days}
		}
	default:
		t.count(e)
	}
}

// count counts what was made and does not come back.
func (t *told) count(e *catalog.Event) {
	subject, act, _ := strings.Cut(e.Act, ".")
	switch {
	case catalog.Kind(e.Act) == people.InvitePerson, catalog.Kind(e.Act) == people.AdmitPerson:
		t.counts["people"]++
	case catalog.Kind(e.Act) == people.GiveGrant:
		t.counts["grants"]++
	case catalog.Kind(e.Act) == people.CreateAccess, catalog.Kind(e.Act) == people.MakeToken:
		t.counts["access tokens"]++
	case act == "create" && (subject == "domain" || subject == "harvest" || subject == "template" ||
		subject == "schedule" || subject == "channel"):
		t.counts[subject+"s"]++
	case act == "create" && subject == "trap":
		t.counts["lists of traps"]++
	}
}

// wholeDays returns when the time that a removed file could be restored ends: events write it to the second, and it is
// whole days behind the removal.
func wholeDays(from, until catalog.Time) catalog.Time {
	const day = catalog.Time(24 * 60 * 60 * 1000)
	days := (until - from + day/2) / day
	return from + days*day
}

// wordIn returns the word behind the key.
func wordIn(detail, key string) string {
	for _, word := range strings.Split(detail, " ") {
		if value, ok := strings.CutPrefix(word, key); ok {
			return value
		}
	}
	return ""
}

// reasonOf returns the reason, which stands last and may have blanks.
func reasonOf(detail string) string {
	_, reason, _ := strings.Cut(detail, "reason=")
	return reason
}

func digestIn(detail, key string) (d catalog.Digest) {
	if d.UnmarshalText([]byte(wordIn(detail, key))) != nil {
		return catalog.Digest{}
	}
	return d
}
