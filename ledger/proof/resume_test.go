package proof_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"holdfast/ledger/proof"
)

// A check that was stopped goes on where it was kept, with what it found; one of something else begins again.
func TestACheckGoesOn(t *testing.T) {
	p := newPlace(t)
	os.Remove(p.path("3.warc.gz"))
	state := filepath.Join(t.TempDir(), "state")
	ctx, stop := context.WithCancel(t.Context())
	cfg := proof.Config{Ledgers: []string{p.head(p.newer)}, Dirs: []string{p.data}, Trusted: p.Trusted(), State: state, Workers: 1,
		SaveEvery: 1}
	cfg.Progress = func(now proof.Progress) {
		if now.Files == 20 {
			stop()
		}
	}
	if _, err := proof.Run(ctx, cfg); err == nil {
		t.Fatal("it was not stopped")
	}
	if _, err := os.Stat(state); err != nil {
		t.Fatal(err)
	}
	other := cfg
	other.Progress, other.Newer = nil, true
	other.State = filepath.Join(t.TempDir(), "copy")
	text, _ := os.ReadFile(state)
	write(t, other.State, string(text))
	if r, err := proof.Run(t.Context(), other); err != nil || r.Continued || r.Good != 40 {
		t.Errorf("another check: %+v, %v", r, err)
	}
	cfg.Progress = nil
	r, err := proof.Run(t.Context(), cfg)
	if err != nil || !r.Continued || r.Good != 40 || r.Findings[proof.Missing] != 1 || r.Whole() {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(state); !os.IsNotExist(err) {
		t.Errorf("the state of a check that has ended is left: %v", err)
	}
	write(t, state, "no state")
	if _, err := proof.Run(t.Context(), cfg); err == nil {
		t.Error("a file that is no state is taken for one")
	}
}

// What 1 GiB costs; compare with: openssl dgst -sha256 FILE.
func BenchmarkCheck(b *testing.B) {
	p := newPlace(b)
	content := make([]byte, 256<<20)
	p.Put("big", string(content))
	base := p.Make()
	p.lay(b)
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		r, err := proof.Run(b.Context(), proof.Config{Ledgers: []string{p.head(base)}, Dirs: []string{p.data}, Trusted: p.Trusted(),
			Workers: 1})
		if err != nil || !r.Whole() {
			b.Fatalf("%+v, %v", r, err)
		}
	}
}
