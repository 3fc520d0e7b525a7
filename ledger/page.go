package ledger

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

const pageTitle = "# holdfast-ledger-page 1"

// List is a list of files that counts for a page.
type List struct {
	File
	Lines int64 // how many it has
}

// Row is one shard of which a holder has files.
type Row struct {
	Shard   int
	Root    Root
	Checked time.Time // when its last check of every byte ended; zero: never
	Faults  int       // what that check found
	Missing []string  // files that the catalog counts here and that were not found, by name
}

// Page says what one holder holds. What its lists say of shards without a row counts for nothing.
type Page struct {
	Base    string
	Replica string
	Holder  string
	Time    time.Time // of the catalog that was written down
	Lists   []List    // oldest first
	Rows    []Row     // by shard
}

// Total returns the sum of the rows, and how many files are missing.
func (p *Page) Total() (r Root, missing int64) {
	for i := range p.Rows {
		r.Join(p.Rows[i].Root)
		missing += int64(len(p.Rows[i].Missing))
	}
	return r, missing
}

// Row returns the shard's row, or nil.
func (p *Page) Row(shard int) *Row {
	i, there := slices.BinarySearchFunc(p.Rows, shard, func(r Row, s int) int { return cmp.Compare(r.Shard, s) })
	if !there {
		return nil
	}
	return &p.Rows[i]
}

// Encode returns the page's text.
func (p *Page) Encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n# name %s\n# replica %s\n# holder %s\n# time %s\n", pageTitle, PageName(p.Base, p.Holder),
		p.Replica, p.Holder, formatTime(p.Time))
	for _, l := range p.Lists {
		fmt.Fprintf(&b, "# list %d\n%s  %s\n", l.Lines, l.SHA256, l.Name)
	}
	for _, r := range p.Rows {
		checked := "never"
		if !r.Checked.IsZero() {
			checked = formatTime(r.Checked)
		}
		fmt.Fprintf(&b, "# shard %s %s checked %s faults %d\n", ShardName(r.Shard), encodeRoot(r.Root), checked,
			r.Faults)
		for _, name := range r.Missing {
			fmt.Fprintf(&b, "# missing %s\n", name)
		}
	}
	fmt.Fprintf(&b, "# end %d\n", len(p.Rows))
	return b.Bytes()
}

// ParsePage reads a page that was found under the name.
func ParsePage(file string, in io.Reader) (*Page, error) {
	l := newLines(file, in)
	if title, err := l.take(); err != nil || title != pageTitle {
		return nil, orWrong(err, l, "%q is not %q", clip(title), pageTitle)
	}
	p := &Page{}
	var name, at string
	for _, f := range []struct {
		key string
		to  *string
	}{{"name", &name}, {"replica", &p.Replica}, {"holder", &p.Holder}, {"time", &at}} {
		if err := l.words(f.key, f.to); err != nil {
			return nil, err
		}
	}
	var err error
	if p.Time, err = parseTime(at); err != nil {
		return nil, l.because(err)
	}
	p.Base = strings.TrimSuffix(name, "-"+p.Holder+".txt")
	if name != file || name != PageName(p.Base, p.Holder) {
		return nil, wrong(file, "it is the page %s of %s, in the place of another", clip(name), clip(p.Holder))
	}
	if err := p.parseLists(l); err != nil {
		return nil, err
	}
	for {
		row, err := l.begins("shard")
		if err != nil {
			return nil, err
		}
		if !row {
			break
		}
		if err := p.parseRow(l); err != nil {
			return nil, err
		}
	}
	if err := l.end(int64(len(p.Rows))); err != nil {
		return nil, err
	}
	return p, l.over()
}

func (p *Page) parseLists(l *lines) error {
	for {
		list, err := l.begins("list")
		if err != nil || !list {
			return err
		}
		var count string
		var one List
		if err := l.words("list", &count); err != nil {
			return err
		}
		if one.Lines, err = parseCount(count); err != nil {
			return l.because(err)
		}
		if one.SHA256, one.Name, err = l.summed(); err != nil {
			return err
		}
		for _, earlier := range p.Lists {
			if earlier.Name == one.Name {
				return l.wrong("the list %s is named twice", one.Name)
			}
		}
		p.Lists = append(p.Lists, one)
	}
}

func (p *Page) parseRow(l *lines) error {
	text, err := l.value("shard")
	if err != nil {
		return err
	}
	shard, rest, _ := strings.Cut(text, " ")
	root, rest, ok := strings.Cut(rest, " checked ")
	checked, faults, cut := strings.Cut(rest, " faults ")
	n, known := parseShard(shard)
	if !known || !ok || !cut {
		return l.wrong("%q is not the row of a shard", clip(text))
	}
	r := Row{Shard: n}
	if r.Root, err = l.root(root); err != nil {
		return err
	}
	if checked != "never" {
		if r.Checked, err = parseTime(checked); err != nil {
			return l.because(err)
		}
	}
	count, err := parseCount(faults)
	if err != nil {
		return l.because(err)
	}
	r.Faults = int(count)
	if len(p.Rows) > 0 && p.Rows[len(p.Rows)-1].Shard >= r.Shard {
		return l.wrong("shard %s is not in its place", shard)
	}
	for {
		missing, err := l.begins("missing")
		if err != nil {
			return err
		}
		if !missing {
			break
		}
		var name string
		if err := l.words("missing", &name); err != nil {
			return err
		}
		if err := checkName(name); err != nil || ShardOf(name) != r.Shard {
			return l.wrong("%q is no file of shard %s", clip(name), shard)
		}
		r.Missing = append(r.Missing, name)
	}
	p.Rows = append(p.Rows, r)
	return nil
}

// Assemble says what is wrong with the pages as those of the head, which are given in its order: that they speak of
// another replica, that two claim a shard, or that they do not add up.
func (h *Head) Assemble(pages []*Page) error {
	if len(pages) != len(h.Sheets) {
		return wrong(HeadName(h.Base), "it names %d pages, there are %d", len(h.Sheets), len(pages))
	}
	var total Root
	missing, claimed := int64(0), map[int]string{}
	for i, p := range pages {
		s := h.Sheets[i]
		if p.Base != h.Base || p.Holder != s.Holder || p.Replica != h.Replica {
			return wrong(s.File.Name, "it is not the page of %s in this ledger", s.Holder)
		}
		if p.Time.After(h.Time) {
			return wrong(s.File.Name, "it is of a later time than the head")
		}
		for _, row := range p.Rows {
			if other, twice := claimed[row.Shard]; twice {
				return wrong(s.File.Name, "shard %s is claimed by %s too", ShardName(row.Shard), other)
			}
			claimed[row.Shard] = s.Holder
		}
		of, n := p.Total()
		total.Join(of)
		missing += n
	}
	if total != h.Total || missing != h.Missing {
		return wrong(HeadName(h.Base), "the pages add up to %d files of %d bytes, the head says %d of %d; or "+
			"their roots "+
			"or missing files differ", total.Files, total.Bytes, h.Total.Files, h.Total.Bytes)
	}
	return nil
}
