package vault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/catalog/jobs"
	"holdfast/harvest"
	"holdfast/internal/kv/memory"
	"holdfast/internal/seal"
)

// agreed is an agreed state in memory, which nobody changes by proposals.
type agreed struct{ memory.Tx }

func (a *agreed) View(look func(catalog.View) error) error { return look(catalog.NewView(&a.Tx)) }
func (*agreed) IsLeader() bool                             { return false }
func (*agreed) Purge(context.Context, uint64) error        { return nil }
func (*agreed) Propose(context.Context, catalog.Kind, any, string) (catalog.Result, error) {
	return catalog.Result{}, errors.New("nobody proposes")
}

func (a *agreed) put(t *testing.T, key, head string, value any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = a.Set([]byte(key), append([]byte("\x01"+head), text...))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSecretsOfSeveralInOneJob: names that a template and a configuration both have are told apart by the ids of what
// they are sealed in, and mean nothing without.
func TestSecretsOfSeveralInOneJob(t *testing.T) {
	t.Parallel()
	key, err := seal.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	state := new(agreed)
	v := New(Config{Self: "n", Key: key, Proved: catalog.SealKey{Key: key.Public()}, Agree: state})
	for id, secrets := range map[string]harvest.Secrets{
		"aa": {"first_cookies": "of the template", "headers.0": "t"},
		"bb": {"first_cookies": "of the configuration", "headers.1": "c"},
	} {
		text, err := json.Marshal(secrets)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := seal.Seal(text, about(id), [][]byte{key.Public()})
		if err != nil {
			t.Fatal(err)
		}
		state.put(t, "secret/"+id, "", catalog.Secret{ID: id, Text: sealed.Text,
			Boxes: []catalog.Box{{Node: "n", Key: key.Public(), Box: sealed.Boxes[0]}}})
	}
	open := func(cookies string) (harvest.Job, error) {
		spec := harvest.Job{Name: "j", Seeds: []string{"http://example.org/"}, Settings: harvest.DefaultSettings()}
		spec.Settings.Headers = []string{"Cookie: [sealed aa:headers.0]", "Cookie: [sealed headers.1]"}
		spec.Settings.FirstCookies = cookies
		parts, err := jobs.Divide(spec)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := jobs.SumOf(parts)
		if err != nil {
			t.Fatal(err)
		}
		state.put(t, "jobpart/0000000000000001/00000001", `{"kind":"job","items":1}`+"\n", spec)
		return v.Open(catalog.Job{ID: 1, Parts: &jobs.Parts{Of: 1, Count: 1, Sum: sum, Secrets: []string{"aa", "bb"}}})
	}
	for cookies, want := range map[string]string{
		"[sealed aa:first_cookies]": "of the template",
		"[sealed bb:first_cookies]": "of the configuration",
	} {
		spec, err := open(cookies)
		if err != nil || spec.Settings.FirstCookies != want || spec.Settings.Headers[0] != "Cookie: t" ||
			spec.Settings.Headers[1] != "Cookie: c" {
			t.Errorf("%s: %+v, %v", cookies, spec.Settings, err)
		}
	}
	if _, err := open("[sealed first_cookies]"); !errors.Is(err, harvest.ErrNoSecret) {
		t.Errorf("a name that two secrets have: %v", err)
	}
}

// TestJobsWhoseSecretsAreLostAreNamed, however many secrets there are: a job waits for ever if only nodes that were
// removed can open one of its secrets, or if it is gone.
func TestJobsWhoseSecretsAreLostAreNamed(t *testing.T) {
	t.Parallel()
	state := new(agreed)
	state.put(t, "member/n", "", catalog.Member{ID: "n", Crawls: true, Seal: &catalog.SealKey{Key: []byte("k")}})
	state.put(t, "member/idle", "", catalog.Member{ID: "idle", Seal: &catalog.SealKey{Key: []byte("k")}})
	secret := func(id string, node catalog.NodeID, key string) string {
		state.put(t, "secret/"+id, "", catalog.Secret{ID: id, Text: []byte("x"),
			Boxes: []catalog.Box{{Node: node, Key: []byte(key), Box: []byte("b")}}})
		return id
	}
	for i := range waitingShown + 1 {
		secret(fmt.Sprintf("a%06d", i), "n", "k")
	}
	for id, job := range []catalog.Job{
		1: {Secret: secret("of-removed", "gone", "k")},
		2: {Secret: secret("old-key", "n", "old")},
		3: {Secret: secret("of-idle", "idle", "k")},
		4: {Secret: "missing"},
		5: {Parts: &jobs.Parts{Secrets: []string{"a000000", "of-removed"}}},
		6: {Secret: "a000001"},
		7: {Secret: "of-removed", Node: "n"},
		8: {},
	} {
		if id > 0 {
			job.ID, job.State = uint64(id), catalog.JobSubmitted
			state.put(t, fmt.Sprintf("job/%016x", id), "", job)
			state.put(t, fmt.Sprintf("jobstate/SUBMITTED/%016x", id), "", struct{}{})
		}
	}
	v := New(Config{Self: "n", Agree: state})
	var want []alert.Alert
	for id := range uint64(5) {
		want = append(want, alert.New(alert.JobSecretsLost, alert.Number(id+1)))
	}
	if got := v.Alerts(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
