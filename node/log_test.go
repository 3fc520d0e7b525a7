//go:build slow

package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/config"
)

// A node's log is in its folder and in its memory, and any node gives its last lines.
func TestTheLogOfAnotherNodeIsRead(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, "")[:2])
	here, there := nodes[0], nodes[1]
	ctx := t.Context()
	eventually(t, "one node's local token is known to the other", func() error {
		_, err := here.books.Lines(ctx, there.id, api.LogQuery{Limit: 1})
		return err
	})
	for _, of := range nodes {
		got, err := here.books.Lines(ctx, of.id, api.LogQuery{Text: "node runs", Limit: 10})
		if err != nil || len(got.Items) != 1 || got.Name != of.cfg.Name || got.Node != string(of.id) || !strings.Contains(fmt.Sprint(got.Items[0].Attributes), of.cfg.Name) {
			t.Errorf("of %s: %+v %v", of.cfg.Name, got, err)
		}
		if got.Level.Now != "info" || got.Level.Usual != "info" || !got.Level.Until.IsZero() {
			t.Errorf("level of %s: %+v", of.cfg.Name, got.Level)
		}
	}
	if _, err := here.books.Lines(ctx, there.id, api.LogQuery{After: "nonsense", Limit: 1}); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("a cursor that is none: %v", err)
	}

	// What is followed goes on at the cursor; the level is raised there alone, and the log says by whom.
	before, err := here.books.Lines(ctx, there.id, api.LogQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	there.log.Debug("of no interest")
	raised, err := here.books.Raise(ctx, there.id, "debug", time.Hour, "nobody is believed to be this")
	if err != nil || raised.Now != "debug" || raised.Usual != "info" || raised.By != catalog.Local(here.id) || time.Until(raised.Until) > time.Hour {
		t.Errorf("%+v %v", raised, err)
	}
	there.log.Debug("of interest now", "secret", false)
	after, err := here.books.Lines(ctx, there.id, api.LogQuery{After: before.Next, Limit: 1000})
	var text strings.Builder
	for _, l := range after.Items {
		fmt.Fprintln(&text, l.Message, l.Attributes)
	}
	if err != nil || strings.Contains(text.String(), "of no interest") || !strings.Contains(text.String(), "of interest now") ||
		!strings.Contains(text.String(), "{by "+catalog.Local(here.id)+"}") {
		t.Errorf("%v\n%s", err, text.String())
	}
	if own, err := here.books.Lines(ctx, here.id, api.LogQuery{Limit: 1}); err != nil || own.Level.Now != "info" {
		t.Errorf("%+v %v", own.Level, err)
	}
	for level, length := range map[string]time.Duration{"error": time.Hour, "debug": 25 * time.Hour, "": time.Hour} {
		if _, err := here.books.Raise(ctx, there.id, level, length, ""); !errors.Is(err, api.ErrInvalid) {
			t.Errorf("level %q for %v: %v", level, length, err)
		}
	}

	there.halt(t)
	written, err := os.ReadFile(filepath.Join(there.cfg.Data, "log", "holdfast.log"))
	if err != nil || !strings.Contains(string(written), "msg=\"node runs\" node=south-1 ") || !strings.Contains(string(written), "of interest now") {
		t.Errorf("%v\n%s", err, written)
	}
	for _, n := range nodes { // whose tokens the requests carried
		token, err := n.token.Text()
		if err != nil || len(token) < 20 || strings.Contains(string(written), token[len(token)-20:]) {
			t.Errorf("the log of everything has the local token of %s: %v", n.cfg.Name, err)
		}
	}
	if _, err := here.books.Lines(ctx, there.id, api.LogQuery{Limit: 1}); !errors.Is(err, api.ErrUnavailable) || !strings.Contains(err.Error(), "read the log of south-1") {
		t.Errorf("of a node that is down: %v", err)
	}
	if info, err := os.Stat(filepath.Join(there.cfg.Data, "log")); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can look at the log: %v %v", info.Mode(), err)
	}
}

// A node runs without its log's files.
func TestANodeRunsWithoutLogFiles(t *testing.T) {
	t.Parallel()
	cfg := threeConfigs(t, "")[0]
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cfg.Data, "log"), []byte("a file where the folder is to be"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := startNodes(t, []config.Config{cfg})[0]
	got, err := n.books.Lines(t.Context(), n.id, api.LogQuery{Text: "log file cannot be written", Limit: 10})
	if err != nil || len(got.Items) != 1 {
		t.Errorf("said %d times: %v", len(got.Items), err)
	}
}
