package agreed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/internal/trace"
	"holdfast/raft"
)

// decider answers proposals with what it was given, the last answer for ever.
type decider struct {
	answers  []answer
	proposed []string // by whom
	waited   int      // for a decision to be seen
	leads    bool
}

type answer struct {
	result catalog.Result
	err    error
}

func (d *decider) View(func(catalog.View) error) error { return nil }

func (d *decider) Linear(context.Context) error {
	d.waited++
	return fmt.Errorf("read: %w", raft.ErrNoQuorum)
}

func (d *decider) Propose(_ context.Context, _ catalog.Kind, _ any, actor string) (catalog.Result, error) {
	d.proposed = append(d.proposed, actor)
	is := d.answers[0]
	if len(d.answers) > 1 {
		d.answers = d.answers[1:]
	}
	return is.result, is.err
}

func (d *decider) IsLeader() bool { return d.leads }

func stateOf(d *decider) State {
	return State{Consensus: d, Room: func() error { return nil }, Self: "north", Log: slog.New(slog.DiscardHandler)}
}

func TestReasonsWhyNothingIsDecided(t *testing.T) {
	t.Parallel()
	other := errors.New("stopped")
	for _, tt := range []struct{ is, want error }{
		{fmt.Errorf("propose: %w", raft.ErrNoQuorum), api.ErrNoQuorum},
		{fmt.Errorf("propose: %w", raft.ErrNoRoom), api.ErrNoRoom},
		{other, other},
	} {
		d := &decider{answers: []answer{{err: tt.is}}}
		if _, err := stateOf(d).Propose(t.Context(), catalog.AddFiles, nil, "anna"); !errors.Is(err, tt.want) || d.waited > 0 {
			t.Errorf("%v: %v, waited %d times", tt.is, err, d.waited)
		}
	}
	d := &decider{answers: []answer{{}}}
	full := stateOf(d)
	noRoom := errors.New("the disk is full")
	full.Room = func() error { return noRoom }
	_, err := full.Propose(t.Context(), catalog.AddFiles, nil, "anna")
	if !errors.Is(err, api.ErrNoRoom) || !errors.Is(err, noRoom) || len(d.proposed) > 0 {
		t.Errorf("without room: %v, proposed by %v", err, d.proposed)
	}
	if err := full.Linear(t.Context()); !errors.Is(err, api.ErrNoQuorum) {
		t.Errorf("read without a quorum: %v", err)
	}
}

// A decision stands, whether this node comes to see it or not. Only who asks for it is kept waiting.
func TestADecisionIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what    string
		leads   bool
		propose func(State) error
		want    int
	}{
		{"by a node that follows", false, proposed, 1},
		{"by the leader, which has it", true, proposed, 0},
		{"by one that does not wait", false, func(s State) error {
			_, err := Unseen{s}.Propose(t.Context(), catalog.AddFiles, nil, "anna")
			return err
		}, 0},
	} {
		d := &decider{answers: []answer{{}}, leads: tt.leads}
		if err := tt.propose(stateOf(d)); err != nil || d.waited != tt.want {
			t.Errorf("%s: %v, waited %d times, want %d", tt.what, err, d.waited, tt.want)
		}
	}
}

func proposed(s State) error {
	_, err := s.Propose(context.Background(), catalog.AddFiles, nil, "anna")
	return err
}

func TestARefusalIsAnErrorToWhoDecides(t *testing.T) {
	t.Parallel()
	refusal := &catalog.Refusal{Code: catalog.Conflict, Message: "it is there"}
	d := &decider{answers: []answer{{result: catalog.Result{Refusal: refusal}}}}
	if err := stateOf(d).Decide(t.Context(), catalog.AddFiles, nil, "anna"); !errors.Is(err, refusal) {
		t.Errorf("refused: %v", err)
	}
	if result, err := stateOf(d).Propose(t.Context(), catalog.AddFiles, nil, "anna"); err != nil || result.Refusal != refusal {
		t.Errorf("proposed: %+v, %v", result, err)
	}
}

// What must not be lost is proposed until it is decided, which a refusal is too, or until nobody waits for it.
func TestInsisting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refusal := &catalog.Refusal{Code: catalog.Conflict, Message: "it is there"}
		lost := answer{err: raft.ErrNoQuorum}
		d := &decider{answers: []answer{lost, lost, {result: catalog.Result{Refusal: refusal}}}}
		began := time.Now()
		got, err := stateOf(d).Insist(t.Context(), catalog.AddFiles, nil)
		if err != nil || got != refusal || time.Since(began) != 2*retryPause || len(d.proposed) != 3 || d.proposed[2] != "north" {
			t.Errorf("%v, %v, after %v, by %v", got, err, time.Since(began), d.proposed)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := stateOf(&decider{answers: []answer{lost}}).Insist(ctx, catalog.AddFiles, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("in vain: %v", err)
		}
	})
}

// collected are the spans that a tracer sends.
type collected struct{ bodies []string }

func (c *collected) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	c.bodies = append(c.bodies, string(text))
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, err
}

// A command is a part of what asked for it, and the wait until this node shows it a part of the command; a refusal is
// told by its code, and an error without its text.
func TestCommandsAreTraced(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		answer      answer
		want, never string
	}{
		{answer{}, `"name":"apply"`, "holdfast.refused"},
		{answer{result: catalog.Result{Refusal: &catalog.Refusal{Code: catalog.Conflict, Message: "SECRET"}}}, `{"key":"holdfast.refused","value":{"stringValue":"conflict"}}`, "SECRET"},
		{answer{err: errors.New("SECRET")}, `"status":{"code":2}`, "SECRET"},
	} {
		c := &collected{}
		tracer := trace.New(trace.Config{URL: "http://collector.test", Transport: c, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		ctx, root := tracer.Root(t.Context(), "request", trace.Server)
		_, _ = stateOf(&decider{answers: []answer{tt.answer}}).Propose(ctx, catalog.AddFiles, nil, "anna")
		root.End(nil)
		ended, stop := context.WithCancel(t.Context())
		stop()
		if err := tracer.Run(ended); err != nil {
			t.Fatal(err)
		}
		all := strings.Join(c.bodies, "")
		for _, want := range []string{`"name":"command ` + string(catalog.AddFiles), `"name":"request"`, tt.want} {
			if !strings.Contains(all, want) {
				t.Errorf("it lacks %s: %s", want, all)
			}
		}
		if strings.Contains(all, tt.never) {
			t.Errorf("it has %s: %s", tt.never, all)
		}
	}
}
