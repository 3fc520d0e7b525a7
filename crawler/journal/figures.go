package journal

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
)

// valueStats names the frontier's value that has the figures for the reports.
const valueStats = "stats"

// Figures are the counts that the reports show, as of the last commit. They are safe for concurrent use.
type Figures struct {
	mu    sync.Mutex
	stats *report.Stats
}

// loadFigures reads the figures as of the last commit.
func loadFigures(f *frontier.Frontier) (*Figures, error) {
	stats := report.NewStats()
	data, err := f.Value(valueStats)
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, stats)
	}
	if err != nil {
		return nil, fmt.Errorf("read figures: %w", err)
	}
	return &Figures{stats: stats}, nil
}

// Clone is a copy of the figures.
func (f *Figures) Clone() *report.Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats.Clone()
}

// Elapsed is how long the crawl had run at the last commit.
func (f *Figures) Elapsed() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats.Elapsed
}

// Top returns the commonest media types and statuses, and the counts of discarded documents.
func (f *Figures) Top(n int) (types []report.TypeCount, statuses []report.StatusCount, discarded report.Count) {
	f.mu.Lock()
	defer f.mu.Unlock()
	types, _ = f.stats.TopTypes(n)
	statuses, _ = f.stats.TopStatuses(n)
	return types, statuses, f.stats.Discard
}

func (f *Figures) add(line *report.Line) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Add(line)
}

// keep keeps the figures with a commit.
func (f *Figures) keep(b *frontier.Batch, elapsed time.Duration) error {
	f.mu.Lock()
	f.stats.Elapsed = elapsed
	stats, err := json.Marshal(f.stats)
	f.mu.Unlock()
	if err != nil {
		return fmt.Errorf("commit figures: %w", err)
	}
	b.Set(valueStats, stats)
	return nil
}
