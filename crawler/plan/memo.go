package plan

import (
	"sync"

	"holdfast/harvest"
)

// maxMerged bounds the combinations of sheets that are remembered.
const maxMerged = 4096

// memo remembers settings that sheets were merged into. It is safe for concurrent use.
type memo struct {
	mu     sync.RWMutex
	merged map[string]*harvest.Settings
}

// Recall implements harvest.Memo.
func (m *memo) Recall(sheets string) *harvest.Settings {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.merged[sheets]
}

// Remember implements harvest.Memo. When there are too many combinations, all are forgotten.
func (m *memo) Remember(sheets string, merged *harvest.Settings) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.merged) >= maxMerged {
		clear(m.merged)
	}
	m.merged[sheets] = merged
}
