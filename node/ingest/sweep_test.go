package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/domains"
)

// slow is a cluster whose decisions reach this node late.
type slow struct {
	*agreement
	answers bool          // a command is answered before this node has carried it out
	fails   bool          // or its proposer is told that nobody answers
	opens   chan struct{} // a command waits until it is closed; nil: none does
	waits   chan struct{} // is closed when one waits
	looked  func()

	mu   sync.Mutex
	held []func()
}

func (s *slow) Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	if s.opens != nil {
		close(s.waits)
		<-s.opens
	}
	if s.fails || s.answers {
		s.mu.Lock()
		s.held = append(s.held, func() { _, _ = s.agreement.Propose(context.WithoutCancel(ctx), kind, body, actor) })
		s.mu.Unlock()
	}
	if s.fails {
		return catalog.Result{}, errors.New("nobody answers")
	}
	if s.answers {
		value, err := json.Marshal(domains.Ingest{ID: body.(domains.IngestBeginning).ID})
		return catalog.Result{Value: value}, err
	}
	return s.agreement.Propose(ctx, kind, body, actor)
}

func (s *slow) carryOut() {
	s.mu.Lock()
	held := s.held
	s.held = nil
	s.mu.Unlock()
	for _, do := range held {
		do()
	}
}

func (s *slow) Linear(ctx context.Context) error {
	if s.answers {
		s.carryOut()
	}
	return s.agreement.Linear(ctx)
}

func (s *slow) View(see func(catalog.View) error) error {
	err := s.agreement.View(see)
	if s.looked != nil {
		s.looked()
	}
	return err
}

// TestTheFirstLookKeepsListsThatArrive keeps a list of which this node knows no ingest yet, while it clears away what an
// earlier run of the program left.
func TestTheFirstLookKeepsListsThatArrive(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]*slow{
		"decided after nobody answered":     {fails: true},
		"decided, and not carried out here": {answers: true},
		"decided between two looks":         {opens: make(chan struct{}), waits: make(chan struct{})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of.agreement = newAgreement(t)
			dir := t.TempDir()
			r := of.agreement.runner(dir)
			r.cfg.Agree = of
			if err := os.WriteFile(r.path("20200101T000000-00000000"), []byte("left.org\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			begin := func() {
				_, err := r.Begin(t.Context(), api.IngestRequest{Collection: "web", Actor: "test",
					Body: strings.NewReader("a.org\n")})
				if (err != nil) != of.fails {
					t.Errorf("begin: %v", err)
				}
			}
			if of.opens == nil {
				begin()
			} else {
				var began sync.WaitGroup
				began.Go(begin)
				<-of.waits
				of.looked = sync.OnceFunc(func() {
					close(of.opens)
					began.Wait()
				})
			}
			if err := r.sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			of.carryOut()
			ids, err := r.due()
			if err != nil || len(ids) != 1 {
				t.Fatalf("%d ingests, %v", len(ids), err)
			}
			if _, err := os.Stat(r.path(ids[0])); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(r.path("20200101T000000-00000000")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("what was left before: %v", err)
			}
		})
	}
}
