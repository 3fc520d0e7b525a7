package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"holdfast/crawler/chain"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/warc"
)

// lookElsewhere finds captures in files that were written at the same time.
func (m *mending) lookElsewhere(first, last int64) error {
	whole, err := filepath.Glob(filepath.Join(m.r.dir, "warcs", "*.warc.gz"))
	if err != nil {
		return fmt.Errorf("look for WARC files: %w", err)
	}
	for _, path := range whole {
		name := filepath.Base(path)
		a, err := readAccounted(m.r.frontier, name)
		if err != nil {
			return err
		}
		if a.first >= last || a.last <= first ||
			slices.ContainsFunc(m.files, func(f *broken) bool { return f.name == name }) {
			continue
		}
		if err := m.look(path); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
	return nil
}

func (m *mending) look(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := warc.NewReader(f, path)
	for err == nil {
		var rec *warc.Record
		if rec, err = r.Next(); err != nil {
			break
		}
		if known := m.known(rec); known != nil {
			known.found = true
		}
	}
	if errors.Is(err, io.EOF) || damaged(err) {
		return nil
	}
	return err
}

// forgetLost lets no further capture refer to a record that is lost.
func (m *mending) forgetLost() error {
	var gone []string
	err := m.r.frontier.Values(chain.ValueDigest, func(name string, data []byte) error {
		var c chain.Capture
		if err := json.Unmarshal(data, &c); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if m.isLost(c.File, c.Offset) {
			gone = append(gone, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range gone {
		m.r.frontier.SetValue(name, nil)
	}
	return nil
}

func (m *mending) isLost(file string, offset int64) bool {
	return slices.ContainsFunc(m.files, func(f *broken) bool { return f.name == file && f.hasLost(offset) })
}

// queueLost queues the URIs again whose records are lost, and those whose record refers to one that is, and returns how
// many.
func (m *mending) queueLost(first int64) (n int, err error) {
	err = report.EachLine(m.crawlLog(), first, m.r.journal.logged, func(l *report.Line) error {
		if !recorded(l) {
			return nil
		}
		if known := m.lines[m.captureOf(l.URI, l.Begin)]; (known == nil || known.found) && !m.refersToLost(l) {
			return nil
		}
		queued, err := m.queueAgain(l)
		if err != nil || !queued {
			return err
		}
		if n++; n%500 == 0 {
			return m.r.journal.Commit()
		}
		return nil
	})
	return n, err
}

// refersToLost tells whether the line is of a duplicate of a record that is lost.
func (m *mending) refersToLost(l *report.Line) bool {
	for _, a := range l.Annotations {
		where, ok := strings.CutPrefix(a, "duplicate:\"")
		if parts := strings.Split(where, ","); ok && len(parts) == 3 {
			offset, err := strconv.ParseInt(parts[1], 10, 64)
			if err == nil && m.isLost(parts[0], offset) {
				return true
			}
		}
	}
	return false
}

// queueAgain queues a URI as it was queued before. A form is sent again before the next URI of its host.
func (m *mending) queueAgain(l *report.Line) (bool, error) {
	u := frontier.URI{URL: l.URI, Queue: l.URI}
	if host, ok := strings.CutPrefix(l.URI, "dns:"); ok {
		if t, err := fetch.ParseTarget(l.Via); err == nil && t.Host == host {
			u = m.r.replay.entries.Entry(l.Via, t, m.r.replay.plan.For(t))
			u.URL, u.Key = l.URI, ""
		}
	} else if t, err := fetch.ParseTarget(l.URI); err == nil {
		u = m.r.replay.entries.Entry(l.URI, t, m.r.replay.plan.For(t))
		if strings.HasSuffix(l.Path, "P") {
			u.Key = ""
			login, err := m.r.frontier.Value(chain.ValueLogin + l.URI)
			if err != nil {
				return false, err
			}
			if len(login) > 0 {
				m.r.frontier.SetValue(chain.ValueLogin+l.URI, nil)
				_, err := m.r.frontier.Forget(chain.LoginKey + l.URI)
				return false, err
			}
		}
	}
	u.Path, u.Via, u.Source = wholePath(l.Path), l.Via, l.Source
	return m.r.frontier.Force(u)
}

// wholePath is a path of as many hops as one that the log shortened.
func wholePath(path string) string {
	number, shown, ok := strings.Cut(path, "+")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || n > 1<<16 {
		return path
	}
	return strings.Repeat("L", n) + shown
}
