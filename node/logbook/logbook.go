// Package logbook keeps the log of a node: it passes each line on to where the program's log goes, writes it to files
// of bounded size in the node's folder, and keeps the last ones in memory, so that they can be looked at from any node.
// A disk that is full or does not answer costs lines of the files, and nothing else.
package logbook

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/alert"
	"holdfast/internal/disk"
)

// Config says how a log is kept.
type Config struct {
	Node  string     // name of the node, an attribute of each line; empty: none
	Dir   string     // folder of the files
	Level slog.Level // lines from this level on are kept
	JSON  bool       // the files have a JSON object a line; else text, as slog writes it
	Size  int64      // most bytes of a file; at least 4 KiB
	Files int        // how many files are kept, the current one among them; 0: none is written
	Least uint64     // nothing is written while fewer bytes than that are free on the disk
	Disk  disk.Disk
	Out   slog.Handler // where the program's log goes; it has a level of its own
}

// Book is the log of a node. Its methods may be called at the same time.
type Book struct {
	node  string
	out   slog.Handler
	file  slog.Handler // writes to the files; nil: there are none
	files *files
	ring  *ring
	level level

	closing sync.Once
}

// Open opens the log. The caller closes it. If something is wrong with its files, a line of the log says so.
func Open(cfg Config) *Book {
	b := &Book{node: cfg.Node, out: cfg.Out, ring: newRing(time.Now().UnixNano())}
	b.level.usual = cfg.Level
	b.level.at.Store(int64(cfg.Level))
	if cfg.Files > 0 {
		b.files = newFiles(cfg)
		b.file = fileHandler(b.files, cfg.JSON)
	}
	b.level.said = slog.New(b.Handler()).With("room", "logbook")
	if b.files != nil {
		b.files.said = b.level.said
		go b.files.run()
	}
	return b
}

// Handler returns what loggers hand their records to.
func (b *Book) Handler() slog.Handler {
	h := &handler{book: b, out: b.out, file: b.file}
	if b.node == "" {
		return h
	}
	return h.WithAttrs([]slog.Attr{slog.String("node", b.node)})
}

// Failing says why lines are not written to the files in folder, if so; empty: they are, as far as is known, or no
// files are kept. It waits for no disk.
func (b *Book) Failing() (folder, why string) {
	if b.files == nil {
		return "", ""
	}
	return b.files.cfg.Dir, b.files.failing(time.Now())
}

// Alerts says that the log is not written, if so: the node goes on without it.
func (b *Book) Alerts() []alert.Alert {
	folder, why := b.Failing()
	if why == "" {
		return nil
	}
	return []alert.Alert{alert.New(alert.LogUnwritten, folder, "reason", why)}
}

// Close writes what waits for the files, and ends them. A disk that does not answer is waited for two seconds; that is
// no error, and said where the program's log goes.
func (b *Book) Close() error {
	b.closing.Do(func() {
		b.level.end()
		if b.files != nil && !b.files.close() {
			b.level.said.Error("the last lines are not in the log file: its disk does not answer",
				"folder", b.files.cfg.Dir)
		}
	})
	return nil
}

// fileHandler makes lines for the files. A value that is too long is cut.
func fileHandler(to *files, asJSON bool) slog.Handler {
	how := &slog.HandlerOptions{Level: slog.Level(-1 << 30), ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch v := a.Value.Any().(type) {
		case string:
			a.Value = slog.StringValue(clip(v, maxValue))
		case error:
			a.Value = slog.StringValue(clip(v.Error(), maxValue))
		}
		return a
	}}
	if asJSON {
		return slog.NewJSONHandler(to, how)
	}
	return slog.NewTextHandler(to, how)
}

// maxValue is how many bytes of a message, or of an attribute's value, are kept.
const maxValue = 8 << 10

// clip is the text, cut where it is longer than most bytes.
func clip(text string, most int) string {
	if len(text) <= most {
		return strings.ToValidUTF8(text, "�")
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// level is from which level on lines are kept.
type level struct {
	at    atomic.Int64 // of slog, as it is now
	usual slog.Level
	said  *slog.Logger // for what the log says of itself

	mu     sync.Mutex // for the rest
	raised *Raised
	timer  *time.Timer
	ended  bool
}

// Raised says that more lines are kept than usual for a time.
type Raised struct {
	Level slog.Level
	Until time.Time
	By    string
}

// MaxRaise is how long more lines than usual may be kept at most.
const MaxRaise = 24 * time.Hour

// ErrLevel reports a level that cannot be set for a time.
var ErrLevel = errors.New("log level cannot be set")

// Raise keeps lines from a level on for a time; by says who wants that. It ends an earlier raise. The usual level ends
// it only. ErrLevel: fewer lines than usual would be kept, or for longer than MaxRaise.
func (b *Book) Raise(to slog.Level, length time.Duration, by string) error {
	l := &b.level
	if to > l.usual {
		return fmt.Errorf("%w: %s keeps fewer lines than %s, which is usual here", ErrLevel, name(to),
			name(l.usual))
	}
	if to < l.usual && (length <= 0 || length > MaxRaise) {
		return fmt.Errorf("%w: for %v: want more than nothing, and at most %v", ErrLevel, length, MaxRaise)
	}
	if to == l.usual {
		l.mu.Lock()
		had := l.raised
		l.mu.Unlock()
		l.over(had, by)
		return nil
	}
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return fmt.Errorf("%w: the node stops", ErrLevel)
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	now := &Raised{Level: to, Until: time.Now().Add(length), By: by}
	l.raised, l.timer = now, time.AfterFunc(length, func() { l.over(now, "") })
	l.at.Store(int64(to))
	l.mu.Unlock()
	l.said.Warn("log level changed for a time", "level", name(to), "usual", name(l.usual), "for", length, "by", by)
	return nil
}

// over ends a raise if it still holds; by is empty when its time is over.
func (l *level) over(of *Raised, by string) {
	l.mu.Lock()
	holds := of != nil && l.raised == of
	l.mu.Unlock()
	if !holds {
		return
	}
	attrs := []any{"level", name(l.usual)}
	if by != "" {
		attrs = append(attrs, "by", by)
	}
	l.said.Warn("log level is the usual one again", attrs...) // first, so that the line is kept whatever is usual
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.raised == of {
		l.timer.Stop()
		l.raised, l.timer = nil, nil
		l.at.Store(int64(l.usual))
	}
}

func (l *level) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended = true; l.timer != nil {
		l.timer.Stop()
	}
}

// Level returns the usual level, and the raise that holds now, nil if there is none.
func (b *Book) Level() (usual slog.Level, raised *Raised) {
	l := &b.level
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.raised != nil {
		out := *l.raised
		raised = &out
	}
	return l.usual, raised
}

// name is the word for a level: the highest of the four that is not above it.
func name(of slog.Level) string {
	switch {
	case of >= slog.LevelError:
		return "error"
	case of >= slog.LevelWarn:
		return "warn"
	case of >= slog.LevelInfo:
		return "info"
	}
	return "debug"
}

// levelOf is the level of a word of name; what is no such word is debug.
func levelOf(word string) slog.Level {
	switch word {
	case "error":
		return slog.LevelError
	case "warn":
		return slog.LevelWarn
	case "info":
		return slog.LevelInfo
	}
	return slog.LevelDebug
}
