package act

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"holdfast/harvest"
)

// Orders go between nodes and come from older programs: how each act is written there does not change. The file has every
// act with all that it reads.
func TestActsAreOrdersAsEver(t *testing.T) {
	text, err := os.ReadFile("testdata/orders.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Kind]bool{}
	for line := range strings.Lines(strings.TrimSpace(string(text))) {
		line = strings.TrimSpace(line)
		var o Order
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatal(err)
		}
		if err := Check(o.Act); err != nil || o.By != "anna" {
			t.Errorf("%s: by %q, %v", line, o.By, err)
		}
		for v, i := reflect.ValueOf(o.Act), 0; i < v.NumField(); i++ {
			if f := v.Type().Field(i); f.IsExported() && v.Field(i).IsZero() {
				t.Errorf("%s: the act has no %s", line, f.Name)
			}
		}
		if again, err := json.Marshal(o); err != nil || string(again) != line {
			t.Errorf("written as\n%s, want\n%s (%v)", again, line, err)
		}
		seen[o.Kind()] = true
	}
	for _, a := range All() {
		if !seen[a.Kind()] {
			t.Errorf("%s is not in the file", a.Kind())
		}
	}
}

// What reads is asked for by a request without a body: each field of it is a parameter, by the name that it has in orders.
// What changes something is asked for with a body.
func TestWhatReadsHasParameters(t *testing.T) {
	for _, a := range All() {
		_, reads := a.(Look)
		for i, of := 0, reflect.TypeOf(a); i < of.NumField(); i++ {
			f := of.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			want := ""
			if reads {
				want = name
			}
			if query := f.Tag.Get("query"); f.IsExported() && (name == "" || query != want) {
				t.Errorf("%s: %s is %q in orders and %q in the query", a.Kind(), f.Name, name, query)
			}
		}
	}
}

func TestWhichActsReadAndWhichAreKept(t *testing.T) {
	var reads, kept []string
	for _, a := range All() {
		o := Order{Act: a}
		if o.Reads() {
			reads = append(reads, string(o.Kind()))
		}
		if o.Kept() {
			kept = append(kept, string(o.Kind()))
		}
	}
	if got := strings.Join(reads, " "); got != "live explain queues domains uris checkpoints events search report" {
		t.Errorf("%s read", got)
	}
	if got := strings.Join(kept, " "); got != "explain events search report" {
		t.Errorf("%s are kept", got)
	}
}

func TestAnActThatLacksSomethingIsRefused(t *testing.T) {
	for _, tt := range []struct {
		given Act
		want  string
	}{
		{nil, `act: given "", allowed: live, explain, `},
		{unknown{"dance"}, `act: given "dance", allowed: live, explain, `},
		{Explain{}, "explain: url: given nothing, allowed: the URI to explain"},
		{Kill{}, "kill: url: given nothing, allowed: a URL, or a worker's number"},
		{Kill{Worker: -1}, "kill: worker: given -1, allowed: 0 to "},
		{Seeds{}, "valid: seeds: given nothing, allowed: at least one URL"},
		{Seeds{Seeds: []string{"http://anna:secret@example.org/"}}, "seeds: given "},
		{Change{}, "valid: change: settings: given nothing, allowed: at least one setting"},
		{Delete{}, "delete: pattern: given nothing, allowed: a regular expression for URIs, or one for queues"},
		{Freeze{}, "freeze: queue: given nothing, allowed: a regular expression for whole names of queues"},
		{Freeze{Queue: "("}, `freeze: queue: given "(", allowed: a regular expression (error parsing`},
		{Unfreeze{}, "unfreeze: queue"}, {Retire{}, "retire: queue"}, {Budget{}, "budget: queue"},
		{Block{}, "block: url"}, {Unblock{}, "unblock: url"}, {Forget{}, "forget: url"}, {Never{}, "never: url"},
		{Restore{}, "restore: name"}, {Report{}, "report: name"},
		{Search{Pattern: "["}, `search: pattern: given "["`},
		{Search{After: "x"}, `search: after: given "x", allowed: next of the previous page`},
		{Queues{State: "idle"}, `queues: state: given "idle", allowed: ready, snoozed, `},
		{URIs{Limit: 10_001}, "uris: limit: given 10001, allowed: 0 to 10000"},
		{URIs{Limit: -1}, "uris: limit: given -1"},
		{Pause{For: -1}, "pause: for: given -1ns, allowed: how long"},
	} {
		if err := Check(tt.given); !errors.Is(err, harvest.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %s", tt.given, err, tt.want)
		}
	}
	for _, given := range []Act{Live{}, Pause{}, Kill{Worker: 1}, Delete{Queue: "."}, Queues{Limit: harvest.MaxListed}} {
		if err := Check(given); err != nil {
			t.Errorf("%+v: %v", given, err)
		}
	}
}

// An order of a newer program, or of none, is read, so that it can be refused.
func TestAnOrderOfAnUnknownActIsRefused(t *testing.T) {
	for _, text := range []string{`{"act":"dance","far":3}`, `{}`, `{"act":"explain"}`, `{"act":"kill","by":"anna"}`} {
		var o Order
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		if err := Check(o.Act); !errors.Is(err, harvest.ErrInvalid) || o.Reads() && o.Kind() != "explain" {
			t.Errorf("%s: %+v %v", text, o, err)
		}
	}
	var o Order
	if err := json.Unmarshal([]byte(`{"act":"pause","queue":"a","reason":"lunch"}`), &o); err != nil || o.Act != (Pause{Reason: "lunch"}) {
		t.Errorf("with a field of another act: %+v %v", o, err)
	}
}
