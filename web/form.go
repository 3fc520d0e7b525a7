package web

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"holdfast/harvest"
)

// form is what somebody fills in for an act.
type form struct {
	Help    string // message: what the act does
	Effects []said // what will happen, in numbers
	Fields  []*field
	Confirm string // what has to be typed before the act is done, such as a name
	Send    string // message of the button; default: the act's title
	Grave   bool   // the act cannot be undone

	Faults []formFault // on top
	Key    string      // by which it acts once
	Large  bool        // it is sent in parts, as files are
}

// kindOf says how a field is filled in.
type kindOf string

// The kinds of fields. A list of lines or a text of code can be given as a file, too.
const (
	line   kindOf = "line"
	number kindOf = "number"
	when   kindOf = "when" // a date and a time in the reader's zone
	area   kindOf = "area"
	code   kindOf = "code" // URLs, expressions, JSON; also as a file
	choose kindOf = "choose"
	check  kindOf = "check"
	hidden kindOf = "hidden"
)

// field is one field of a form.
type field struct {
	Name    string
	Label   string // message; empty: Plain
	Plain   string // a label as it is, such as an extended field's name
	Kind    kindOf // default: line
	Value   string // what it is now, then what was typed
	Options []option
	Need    bool
	Most    int    // characters; 0: no limit is told
	Help    string // message
	Text    string // help in English, from the description of settings
	Origin  *said  // where its value comes from if nothing is typed
	Group   string // of the description of settings: fields of one stand together
	Expert  bool   // it is folded away
	Wire    string // its name in the API's requests; default: Name

	Present string      // what it is now
	Changed bool        // by another person, while this one typed
	Faults  []formFault // of the API
	Missing bool        // it has to be filled in
}

// option is one of a field that is chosen from.
type option struct {
	Value string
	Label string // message; empty: Value
}

// formFault is a reason why a form is given back.
type formFault struct {
	Field   *field
	Message string // of ours; may be empty
	Said    *said  // what the API found, in the reader's language; nil: Detail says it
	Detail  string // of the API, in English
}

// add adds fields.
func (f *form) add(all ...field) *form {
	for i := range all {
		if all[i].Kind == "" {
			all[i].Kind = line
		}
		all[i].Present = all[i].Value
		f.Fields = append(f.Fields, &all[i])
	}
	return f
}

// field returns the field of a name, nil if there is none.
func (f *form) field(name string) *field {
	for _, one := range f.Fields {
		if one.Name == name {
			return one
		}
	}
	return nil
}

// take puts in what was typed. A box that is not ticked is not sent.
func (f *form) take(typed url.Values) {
	for _, one := range f.Fields {
		if typed.Has(one.Name) || one.Kind == check {
			one.Value = typed.Get(one.Name)
		}
	}
	if f.Confirm != "" {
		f.add(field{Name: "confirm", Kind: hidden})
		f.field("confirm").Value = typed.Get("confirm")
	}
}

// check notes what is missing.
func (f *form) check() {
	for _, one := range f.Fields {
		if one.Need && strings.TrimSpace(one.Value) == "" {
			one.Missing = true
			f.Faults = append(f.Faults, formFault{Field: one, Message: "web.fill-in"})
		}
		if one.Kind == number && one.text() != "" {
			if _, err := strconv.ParseInt(one.text(), 10, 64); err != nil {
				f.Faults = append(f.Faults, formFault{Field: one, Message: "web.want-number"})
			}
		}
	}
	if f.Confirm != "" && strings.TrimSpace(f.field("confirm").Value) != f.Confirm {
		f.Faults = append(f.Faults, formFault{Message: "web.want-confirm"})
	}
}

// compare notes which fields another person has changed since the form was first shown, and goes on from there.
func (f *form) compare() {
	version := f.field("version")
	if version == nil || version.Value == version.Present {
		return
	}
	version.Value = version.Present
	for _, one := range f.Fields {
		one.Changed = one.Kind != hidden && !one.same()
	}
	f.Faults = append(f.Faults, formFault{Message: "web.changed-meanwhile"})
}

func (d *field) inWire() string {
	if d.Wire != "" {
		return d.Wire
	}
	return d.Name
}

// text is what was typed, without white space around it.
func (d *field) text() string { return strings.TrimSpace(d.Value) }

// same reports whether what was typed is what it is now, but for the ends of lines that browsers send.
func (d *field) same() bool {
	return strings.TrimSpace(strings.ReplaceAll(d.Value, "\r\n", "\n")) == strings.TrimSpace(d.Present)
}

// Ticked reports whether a box is ticked.
func (d *field) Ticked() bool { return d.Value != "" }

// Wrong reports whether something is wrong with what was typed.
func (d *field) Wrong() bool { return d.Missing || len(d.Faults) > 0 }

// formError is something wrong with a field that the API is not asked about.
type formError struct{ field, message, detail string }

func (e *formError) Error() string { return e.field + ": " + e.message + " " + e.detail }

// text returns what was typed into a field, without white space around it.
func (f *form) text(name string) string {
	if one := f.field(name); one != nil {
		return one.text()
	}
	return ""
}

// whole returns what was typed as it is, with the line ends of all but browsers.
func (f *form) whole(name string) string {
	if one := f.field(name); one != nil {
		return strings.ReplaceAll(one.Value, "\r\n", "\n")
	}
	return ""
}

// lines returns the lines that were typed into a field, without empty ones.
func (f *form) lines(name string) []string { return linesIn(f.whole(name)) }

func linesIn(text string) (out []string) {
	for one := range strings.Lines(text) {
		if one = strings.TrimSpace(one); one != "" {
			out = append(out, one)
		}
	}
	return out
}

// ticked reports whether a box was ticked.
func (f *form) ticked(name string) bool { return f.text(name) != "" }

// number returns a number that was typed, nil if none was.
func (f *form) number(name string) *int64 {
	n, err := strconv.ParseInt(f.text(name), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// version returns the version that the form was made of.
func (f *form) version() *uint64 {
	n, err := strconv.ParseUint(f.text("version"), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// duration returns a length of time that was typed, 0 if none was.
func (f *form) duration(name string) (harvest.Duration, error) {
	if f.text(name) == "" {
		return 0, nil
	}
	var d harvest.Duration
	if err := d.UnmarshalText([]byte(f.text(name))); err != nil {
		return 0, &formError{name, "web.want-duration", ""}
	}
	return d, nil
}

// localTime is how a date and a time are typed. A browser's own field for them would lose what it does not understand.
const localTime = "2006-01-02 15:04"

// moment returns a date and a time that was typed in a zone, zero if none was.
func (f *form) moment(name string, zone *time.Location) (time.Time, error) {
	if f.text(name) == "" {
		return time.Time{}, nil
	}
	at, err := time.ParseInLocation(localTime, strings.Replace(f.text(name), "T", " ", 1), zone)
	if err != nil {
		return at, &formError{name, "web.want-time", ""}
	}
	return at, nil
}

// typed reads what a form sent, with its files, and reports whether it could: else it has answered. A file's content
// stands for the field that it belongs to.
func (t *turn) typed(limit int64) (url.Values, bool) {
	t.r.Body = http.MaxBytesReader(t.w, t.r.Body, limit)
	err := t.r.ParseForm() // ParseMultipartForm does not tell what is wrong with a form in one part
	if err == nil {
		if err = t.r.ParseMultipartForm(limit); errors.Is(err, http.ErrNotMultipart) {
			err = nil
		}
	}
	values := url.Values{}
	for name, all := range t.r.PostForm {
		values[name] = all
	}
	if err == nil && t.r.MultipartForm != nil {
		for name, files := range t.r.MultipartForm.File {
			var text []byte
			if text, err = readFirst(files); err != nil {
				break
			}
			if of, is := strings.CutSuffix(name, ".file"); is && len(text) > 0 {
				values.Set(of, string(text))
			}
		}
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		t.message(http.StatusRequestEntityTooLarge, says{"web.refused", "web.refused-large"})
	case err != nil:
		t.message(http.StatusBadRequest, says{"web.refused", "web.refused-form"})
	}
	return values, err == nil
}

// readFirst reads the first of the files that were given for a field.
func readFirst(files []*multipart.FileHeader) ([]byte, error) {
	if len(files) == 0 {
		return nil, nil
	}
	in, err := files[0].Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(in)
}
