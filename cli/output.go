package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// answer prints the value as JSON when that was asked for, and lets show print it for people otherwise.
func (a *app) answer(value any, show func() error) error {
	if !a.JSON {
		return show()
	}
	out := json.NewEncoder(a.stdout)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(value)
}

// items is a list as JSON.
type items[T any] struct {
	Items []T `json:"items"`
}

// list prints the items as {"items": …} or as a table with the head, a row for each.
func list[T any](a *app, all []T, head table.Row, row func(T) table.Row) error {
	if all == nil {
		all = []T{}
	}
	return a.answer(items[T]{all}, func() error {
		rows := make([]table.Row, len(all))
		for i, item := range all {
			rows[i] = row(item)
		}
		return a.table(head, rows)
	})
}

// table prints rows in columns, numbers to the right. A column of longer texts is wrapped when its width is given.
func (a *app) table(head table.Row, rows []table.Row, widths ...table.ColumnConfig) error {
	t := table.NewWriter()
	t.SetColumnConfigs(widths)
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	if head != nil {
		t.AppendHeader(head)
	}
	t.AppendRows(rows)
	_, err := fmt.Fprintln(a.stdout, t.Render())
	return err
}

// collect reads a list from its pages.
func collect[T any](all iter.Seq2[T, error]) ([]T, error) {
	out := []T{} // as JSON, an empty list and not null
	for item, err := range all {
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, nil
}

// stream prints values one a line, as JSON or as show writes them, without keeping them.
func stream[T any](a *app, all iter.Seq2[T, error], show func(io.Writer, T) error) error {
	out := bufio.NewWriter(a.stdout)
	encode := json.NewEncoder(out)
	encode.SetEscapeHTML(false)
	for item, err := range all {
		if err == nil && a.JSON {
			err = encode.Encode(item)
		} else if err == nil {
			err = show(out, item)
		}
		if err != nil {
			_ = out.Flush() // the rows before the error are printed; the error is reported
			return err
		}
	}
	return out.Flush()
}

// when is a time for people.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// size is a number of bytes for people, with three digits.
func size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	f := float64(n)
	for i, unit := range units {
		if f < 1024 || i == len(units)-1 {
			if i == 0 {
				return strconv.FormatInt(n, 10) + " B"
			}
			return strconv.FormatFloat(f, 'f', 1, 64) + " " + unit
		}
		f /= 1024
	}
	return ""
}

// short is a node's id as tables show it.
func short(id string) string { return id[:min(len(id), 10)] }

// yes is a fact for people.
func yes(fact bool) string {
	if fact {
		return "yes"
	}
	return "no"
}
