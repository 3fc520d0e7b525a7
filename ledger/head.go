package ledger

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

const headTitle = "# holdfast-ledger 1"

// File is a file that a ledger names by its content.
type File struct {
	Name   string
	SHA256 Digest
}

// Span is a part of the audit trail: events First to Last, behind the event whose hash is Before. Last is First-1 when
// nothing happened.
type Span struct {
	First, Last  uint64
	Before, Head Digest
}

// Sheet is one holder's page, as the head names it.
type Sheet struct {
	Holder string // its node's id
	Name   string // its node's name
	File
}

// Head is the head of a ledger: the file that people call the ledger.
type Head struct {
	Base      string
	ClusterID string
	Replica   string
	Place     string // of the replica; may be empty
	Serial    uint64
	Time      time.Time // of the catalog that was written down
	Previous  *File     // the head before; nil for the first
	Trail     File
	Span      Span
	Missing   int64 // files that the catalog counts here and that were not found
	Total     Root
	Sheets    []Sheet // by holder
}

// Encode returns the head's text.
func (h *Head) Encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n# name %s\n# cluster %s\n# replica %s\n# place %s\n# serial %d\n# time %s\n", headTitle,
		HeadName(h.Base), h.ClusterID, h.Replica, strconv.Quote(h.Place), h.Serial, formatTime(h.Time))
	if h.Previous == nil {
		b.WriteString("# previous none\n")
	} else {
		fmt.Fprintf(&b, "# previous %s %s\n", h.Previous.SHA256, h.Previous.Name)
	}
	fmt.Fprintf(&b, "# events %d %d\n# before %s\n# head %s\n", h.Span.First, h.Span.Last, h.Span.Before, h.Span.Head)
	fmt.Fprintf(&b, "# total %s\n# missing %d\n", encodeRoot(h.Total), h.Missing)
	for _, s := range h.Sheets {
		fmt.Fprintf(&b, "# holder %s %s\n%s  %s\n", s.Holder, s.Name, s.SHA256, s.File.Name)
	}
	fmt.Fprintf(&b, "# trail\n%s  %s\n# end %d\n", h.Trail.SHA256, h.Trail.Name, len(h.Sheets))
	return b.Bytes()
}

// ParseHead reads a head. file is the name that it was found under, which has to be its own: an older ledger in the
// place of a newer one does not bear its name.
func ParseHead(file string, in io.Reader) (*Head, error) {
	l := newLines(file, in)
	h := &Head{}
	if title, err := l.take(); err != nil || title != headTitle {
		return nil, orWrong(err, l, "%q is not %q: no ledger, or one of another version", clip(title), headTitle)
	}
	var name, place, serial, at string
	for _, f := range []struct {
		key string
		to  *string
	}{{"name", &name}, {"cluster", &h.ClusterID}, {"replica", &h.Replica}, {"place", &place}, {"serial", &serial},
		{"time", &at}} {
		var err error
		if *f.to, err = l.value(f.key); err != nil {
			return nil, err
		}
	}
	var err error
	if h.Serial, err = strconv.ParseUint(serial, 10, 64); err != nil || h.Serial == 0 {
		return nil, wrong(file, "serial %q is not a number above 0", clip(serial))
	}
	if h.Time, err = parseTime(at); err != nil {
		return nil, wrong(file, "%v", err)
	}
	if h.Place, err = strconv.Unquote(place); err != nil || strconv.Quote(h.Place) != place {
		return nil, wrong(file, "place %s is not quoted as it has to be", clip(place))
	}
	h.Base = strings.TrimSuffix(name, ".txt")
	if !isBase(h.Base, h.Replica, h.Serial) || name != HeadName(h.Base) {
		return nil, wrong(file, "%q is not the name of ledger %d of replica %s", clip(name), h.Serial, clip(h.Replica))
	}
	if name != file {
		return nil, wrong(file, "it is the ledger %s, in the place of another", name)
	}
	if err := h.parseLinks(l); err != nil {
		return nil, err
	}
	if err := h.parseSheets(l); err != nil {
		return nil, err
	}
	return h, l.over()
}

// isBase reports whether the text is what a ledger's names begin with.
func isBase(base, replica string, serial uint64) bool {
	rest, ok := strings.CutPrefix(base, prefix+replica+"-")
	at, number, cut := strings.Cut(rest, "-")
	_, err := time.Parse("20060102T150405Z", at)
	return ok && cut && err == nil && number == fmt.Sprintf("%06d", serial)
}

// parseLinks reads what ties the ledger to the one before, and its totals.
func (h *Head) parseLinks(l *lines) error {
	previous, err := l.value("previous")
	if err != nil {
		return err
	}
	if previous != "none" {
		var digest string
		h.Previous = &File{}
		if err := l.split(previous, &digest, &h.Previous.Name); err != nil {
			return err
		}
		if h.Previous.SHA256, err = ParseDigest(digest); err != nil {
			return l.because(err)
		}
		base, _ := strings.CutSuffix(h.Previous.Name, ".txt") // files are opened under this name
		if !isBase(base, h.Replica, h.Serial-1) || h.Previous.Name != HeadName(base) {
			return l.wrong("%q is not the name of ledger %d of replica %s", clip(h.Previous.Name), h.Serial-1,
				clip(h.Replica))
		}
	}
	if (h.Previous == nil) != (h.Serial == 1) {
		return l.wrong("ledger %d says that the ledger before it is %s", h.Serial, clip(previous))
	}
	var first, last, before, head, missing string
	if err := l.words("events", &first, &last); err != nil {
		return err
	}
	if err := l.words("before", &before); err != nil {
		return err
	}
	if err := l.words("head", &head); err != nil {
		return err
	}
	f, err1 := parseCount(first)
	t, err2 := parseCount(last)
	h.Span.First, h.Span.Last = uint64(f), uint64(t)
	var err3, err4 error
	h.Span.Before, err3 = ParseDigest(before)
	h.Span.Head, err4 = ParseDigest(head)
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return l.because(err)
	}
	if f < 1 || t < f-1 || t == f-1 && h.Span.Before != h.Span.Head || f == 1 && h.Span.Before != (Digest{}) {
		return l.wrong("the trail's events %d to %d do not fit their hashes", f, t)
	}
	total, err := l.value("total")
	if err == nil {
		h.Total, err = l.root(total)
	}
	if err != nil {
		return err
	}
	if err := l.words("missing", &missing); err != nil {
		return err
	}
	h.Missing, err = parseCount(missing)
	return l.because(err)
}

func (h *Head) parseSheets(l *lines) error {
	for {
		holder, err := l.begins("holder")
		if err != nil {
			return err
		}
		if !holder {
			break
		}
		var s Sheet
		if err := l.words("holder", &s.Holder, &s.Name); err != nil {
			return err
		}
		if s.SHA256, s.File.Name, err = l.summed(); err != nil {
			return err
		}
		if s.File.Name != PageName(h.Base, s.Holder) {
			return l.wrong("%s is not the page of %s in this ledger", s.File.Name, clip(s.Holder))
		}
		h.Sheets = append(h.Sheets, s)
		if n := len(h.Sheets); n > 1 && h.Sheets[n-2].Holder >= s.Holder {
			return l.wrong("the page of %s is named twice, or not in its place", clip(s.Holder))
		}
	}
	if text, err := l.take(); err != nil || text != "# trail" {
		return orWrong(err, l, "%q is not \"# trail\"", clip(text))
	}
	var err error
	if h.Trail.SHA256, h.Trail.Name, err = l.summed(); err != nil {
		return err
	}
	if h.Trail.Name != TrailName(h.Base) {
		return l.wrong("%s is not the trail of this ledger", h.Trail.Name)
	}
	return l.end(int64(len(h.Sheets)))
}

// SortSheets puts the pages in their order.
func (h *Head) SortSheets() {
	slices.SortFunc(h.Sheets, func(a, b Sheet) int { return cmp.Compare(a.Holder, b.Holder) })
}

// end takes the last line, which says how many things came before.
func (l *lines) end(n int64) error {
	said, err := l.value("end")
	if err != nil {
		return err
	}
	if said != strconv.FormatInt(n, 10) {
		return l.wrong("the end speaks of %s, there are %d: something was left out or put in", clip(said), n)
	}
	return nil
}

func orWrong(err error, l *lines, format string, args ...any) error {
	if err != nil {
		return err
	}
	return l.wrong(format, args...)
}

func encodeRoot(r Root) string {
	return fmt.Sprintf("root %s files %d bytes %d", r.Sum, r.Files, r.Bytes)
}

// root reads what encodeRoot wrote.
func (l *lines) root(text string) (r Root, err error) {
	var w [6]string
	if err := l.split(text, &w[0], &w[1], &w[2], &w[3], &w[4], &w[5]); err != nil {
		return r, err
	}
	if w[0] != "root" || w[2] != "files" || w[4] != "bytes" {
		return r, l.wrong("%q is not a root", clip(text))
	}
	var err1, err2, err3 error
	r.Sum, err1 = ParseDigest(w[1])
	r.Files, err2 = parseCount(w[3])
	r.Bytes, err3 = parseCount(w[5])
	return r, l.because(cmp.Or(err1, err2, err3))
}
