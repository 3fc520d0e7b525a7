package node

import (
	"context"
	"log/slog"
	"path/filepath"

	"holdfast/alert"
	"holdfast/node/logbook"
)

// logRoom is what the log leaves free on its disk: more than the databases need to go on.
const logRoom = 192 << 20

// openLog opens the node's log, which passes on to the program's.
func openLog(n *Node, program *slog.Logger) {
	var level slog.Level
	_ = level.UnmarshalText([]byte(n.cfg.Limits.LogLevel))      // it was checked
	if program.Enabled(context.Background(), slog.LevelDebug) { // as with --verbose
		level = slog.LevelDebug
	}
	n.book = logbook.Open(logbook.Config{Node: n.cfg.Name, Dir: filepath.Join(n.cfg.Data, "log"), Level: level,
		JSON: n.cfg.Limits.LogFormat == "json", Size: int64(n.cfg.Limits.LogSize), Files: n.cfg.Limits.LogFiles,
		Least: logRoom, Disk: n.disk, Out: program.Handler()})
	n.log = slog.New(n.book.Handler())
	n.closers = append(n.closers, n.book.Close)
}

// logAlerts says that the log is not written, if so: the node goes on without it.
func logAlerts(b *logbook.Book) []alert.Alert {
	folder, why := b.Failing()
	if why == "" {
		return nil
	}
	return []alert.Alert{alert.New(alert.LogUnwritten, folder, "reason", why)}
}

// booksOf returns what tells the lines of the logs of all nodes.
func booksOf(n *Node) logbook.Books {
	return logbook.Books{Self: n.id, Name: n.roster.NameOf, Own: n.book, Ask: n.warrants.Caller(carrier{n.peer})}
}
