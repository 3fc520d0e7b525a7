package web

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"holdfast/api/wire"
	"holdfast/harvest"
)

// lister is what a page shows that can be had as lines of a table.
type lister interface {
	lines() (items any, next string, read bool)
}

func (l *listed[T]) lines() (items any, next string, read bool) { return l.Items, l.Next, l.Asked }

func (p *harvestPage) lines() (items any, next string, read bool) { return p.Runs.lines() }
func (p *domainPage) lines() (items any, next string, read bool)  { return p.History.lines() }
func (p *jobPage) lines() (items any, next string, read bool)     { return p.Statistics.lines() }
func (p *nodesPage) lines() (items any, next string, read bool)   { return p.Nodes, "", p.Self != nil }

// linesOf returns what can be had as CSV of what a page shows.
func linesOf(data any) (lister, bool) {
	switch data := data.(type) {
	case lister:
		return data, true
	case []wire.Replica:
		return &listed[wire.Replica]{Asked: len(data) > 0, Items: data}, true
	case *wire.RunningJobs:
		if data == nil {
			return &listed[wire.RunningJob]{}, true
		}
		return &listed[wire.RunningJob]{Asked: true, Items: data.Jobs}, true
	case *wire.Alerts:
		if data == nil {
			return &listed[wire.Alert]{}, true
		}
		return &listed[wire.Alert]{Asked: true, Items: data.Items}, true
	}
	return nil, false
}

// csv answers with the lines of a list. If it goes on, the header Link says where. What could not be read is never an
// empty list.
func (t *opening) csv(got *looked, from lister) {
	items, next, read := from.lines()
	if !read || len(got.notRead(t.of)) > 0 {
		t.problem(http.StatusServiceUnavailable, wire.CodeUnavailable, "the list could not be read")
		return
	}
	text, err := csvOf(items)
	if err != nil {
		t.cfg.Log.Error("write page as CSV", "page", t.of.path, "error", err)
		t.problem(http.StatusInternalServerError, wire.CodeInternal, "see the node's log")
		return
	}
	if next != "" {
		query := t.r.URL.Query()
		query.Set("after", next)
		t.w.Header().Set("Link", "<"+t.prefix()+t.path+"?"+query.Encode()+`>; rel="next"`)
	}
	name := t.of.template
	if next != "" || got.query.Get("after") != "" {
		name += "-part"
	}
	t.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.csv"`)
	t.send(http.StatusOK, "text/csv; charset=utf-8", text)
}

// csvOf writes a slice of structs, a line each, with the names that the API gives to their fields. Lists of texts are
// one cell; what has parts of its own is left out, but for one level of structs.
func csvOf(items any) ([]byte, error) {
	all := reflect.ValueOf(items)
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	columns := columnsOf(all.Type().Elem(), "", nil)
	head := make([]string, len(columns))
	for i, c := range columns {
		head[i] = c.name
	}
	if err := w.Write(head); err != nil {
		return nil, err
	}
	for i := range all.Len() {
		cells := make([]string, len(columns))
		for j, c := range columns {
			if field, err := all.Index(i).FieldByIndexErr(c.index); err == nil {
				cells[j] = harmless(cell(field))
			}
		}
		if err := w.Write(cells); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

type column struct {
	name  string
	index []int
}

// columnsOf lists the fields of a struct that fit into cells.
func columnsOf(t reflect.Type, before string, index []int) (out []column) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := append(append([]int{}, index...), i)
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case f.Anonymous && of.Kind() == reflect.Struct:
			out = append(out, columnsOf(of, before, at)...)
		case name == "" || name == "-":
		case strings.HasPrefix(f.Tag.Get("doc"), "only in the answer about a single"): // not in lists
		case fits(of):
			out = append(out, column{before + name, at})
		case of.Kind() == reflect.Struct && before == "":
			out = append(out, columnsOf(of, name+".", at)...)
		}
	}
	return out
}

func fits(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[harvest.Limit](), reflect.TypeFor[harvest.Duration]():
		return true
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		return true
	case reflect.Slice:
		return t.Elem().Kind() == reflect.String
	}
	return false
}

// cell writes a value; one that is not there is empty.
func cell(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch value := v.Interface().(type) {
	case time.Time:
		if value.IsZero() {
			return ""
		}
		return value.UTC().Format(time.RFC3339)
	case harvest.Limit:
		if n, given := value.Given(); given {
			return fmt.Sprint(n)
		}
		return ""
	}
	if v.Kind() == reflect.Slice {
		words := make([]string, v.Len())
		for i := range words {
			words[i] = v.Index(i).String()
		}
		return strings.Join(words, " ")
	}
	return fmt.Sprint(v.Interface())
}

// harmless makes sure that no spreadsheet takes a text for a formula.
func harmless(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) && !isNumber(text) {
		return "'" + text
	}
	return text
}

// isNumber reports whether a text is a negative number, which is no formula.
func isNumber(text string) bool {
	rest, negative := strings.CutPrefix(text, "-")
	return negative && rest != "" && strings.Trim(rest, "0123456789.") == ""
}
