package proof

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast/ledger"
)

// state is how far a check is, as the state file keeps it.
type state struct {
	Of     string    `json:"of"`   // what is checked: another ledger, folder or option begins again
	Next   int       `json:"next"` // shards before it are checked
	Result Result    `json:"result"`
	Found  []Finding `json:"found"`
}

// recall takes up an earlier check of the same, if the state file has one. Its findings are shown again. Findings about
// the ledger itself are made again each time.
func (c *check) recall(b *ledger.Book) (state, error) {
	now := state{Of: c.of(b)}
	if c.State == "" {
		return now, nil
	}
	text, err := os.ReadFile(c.State)
	if errors.Is(err, fs.ErrNotExist) {
		return now, nil
	}
	if err != nil {
		return now, err
	}
	var was state
	if err := json.Unmarshal(text, &was); err != nil {
		return now, fmt.Errorf("%s is not the state of a check; name another file or remove it: %w", c.State, err)
	}
	if was.Of != now.Of {
		return now, nil
	}
	for _, f := range was.Found {
		if f.Kind != Wrong {
			c.tell(f.Kind, f.Name, "%s", f.Detail)
		}
	}
	for kind, n := range was.Result.Findings { // more than are kept
		if kind != Wrong {
			c.result.Findings[kind] = n
		}
	}
	c.result.Good, c.result.Bytes = was.Result.Good, was.Result.Bytes
	c.result.Absent, c.result.Newer, c.result.Continued = was.Result.Absent, was.Result.Newer, true
	return was, nil
}

// of names what is checked.
func (c *check) of(b *ledger.Book) string {
	sum := sha256.New()
	sum.Write(b.Texts[ledger.HeadName(b.Head.Base)])
	for _, dir := range c.Dirs {
		if whole, err := filepath.Abs(dir); err == nil {
			dir = whole
		}
		fmt.Fprintf(sum, "\x00%s", dir)
	}
	fmt.Fprintf(sum, "\x00%v %v", c.Partial, c.Newer)
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// save writes how far the check is. No file is being read.
func (c *check) save(ctx context.Context, s state, next int) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	text, err := json.Marshal(state{Of: s.Of, Next: next, Result: c.result, Found: c.found})
	if err != nil {
		return err
	}
	part := c.State + ".part"
	if err := os.WriteFile(part, text, 0o600); err != nil {
		return fmt.Errorf("keep how far the check is: %w", err)
	}
	return os.Rename(part, c.State)
}

// forget removes the state of a check that has ended.
func (c *check) forget() error {
	if c.State == "" {
		return nil
	}
	if err := os.Remove(c.State); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
