// Package words holds the texts that people read on pages and in mails, in every language, and writes numbers, sizes
// and times as each language writes them.
//
// A language is one TOML file (see doc/languages.md). What a language does not have, it takes from the language that it
// is a variant of (fr-CA from fr), and in the end from English.
package words

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

//go:embed languages/*.toml
var shipped embed.FS

// english is the language that every other one falls back to.
const english = "en"

// Words are all languages that are known. They do not change and may be used concurrently.
type Words struct {
	files map[string][]*file // by tag, the later laid over the earlier
	all   map[string]*Language
}

// Language is one language. Its methods are what a page's template calls.
type Language struct {
	name, direction string
	tag             language.Tag
	format          format
	messages        map[string]*message
	own             map[string]bool // keys that are not taken from another language
}

// Shipped returns the languages that are part of the program.
func Shipped() (*Words, error) {
	folder, err := fs.Sub(shipped, "languages")
	if err != nil {
		return nil, err
	}
	w, faults := (&Words{}).Lay(folder)
	return w, errors.Join(faults...)
}

// Lay returns the languages with those of a folder's *.toml files laid over them: a file adds a language, or overrides
// some of its texts. A file with a fault is left out, and the error names it and the line. A folder that cannot be read
// adds nothing, and is a fault.
func (w *Words) Lay(folder fs.FS) (*Words, []error) {
	next := &Words{files: map[string][]*file{}}
	for tag, files := range w.files {
		next.files[tag] = slices.Clone(files)
	}
	entries, err := fs.ReadDir(folder, ".") // fs.Glob takes a folder that is not there for an empty one
	if err != nil {
		return w, []error{err}
	}
	var names []string
	for _, e := range entries {
		if path.Ext(e.Name()) == ".toml" {
			names = append(names, e.Name())
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { // English first: it says what the others may have
		return bool2int(b == english+".toml") - bool2int(a == english+".toml")
	})
	var faults []error
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err == nil {
			err = next.add(name, string(text))
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	next.build()
	return next, faults
}

func bool2int(b bool) int {
	if b {
		return 1
	}
	return 0
}

// add reads one file and checks it against English.
func (w *Words) add(name, text string) error {
	f, err := parse(path.Base(name), text)
	if err != nil {
		return err
	}
	if base := w.files[english]; len(base) > 0 {
		if err := f.fits(base); err != nil {
			return err
		}
	} else if f.tag.String() != english {
		return fmt.Errorf("%s: there is no English to compare it with", name)
	}
	tag := f.tag.String()
	w.files[tag] = append(w.files[tag], f)
	return nil
}

// build lays the files over each other.
func (w *Words) build() {
	w.all = map[string]*Language{}
	for tag := range w.files {
		w.language(tag)
	}
}

// language returns the language with everything that it takes from others.
func (w *Words) language(tag string) *Language {
	if done := w.all[tag]; done != nil {
		return done
	}
	parsed := language.Make(tag)
	l := &Language{tag: parsed, direction: "ltr", messages: map[string]*message{}, own: map[string]bool{}}
	if parent := w.parent(parsed); parent != "" {
		from := w.language(parent)
		l.name, l.direction, l.format = from.name, from.direction, from.format
		l.messages = maps.Clone(from.messages)
	}
	for _, f := range w.files[tag] {
		if f.name != "" {
			l.name = f.name
		}
		if f.direction != "" {
			l.direction = f.direction
		}
		l.format = l.format.under(f.format)
		for key, m := range f.messages {
			l.messages[key], l.own[key] = m, true
		}
	}
	w.all[tag] = l
	return l
}

// parent returns the known language that a language takes from what it does not have; "" for English.
func (w *Words) parent(tag language.Tag) string {
	if tag.String() == english {
		return ""
	}
	for at := tag.Parent(); !at.IsRoot(); at = at.Parent() {
		if len(w.files[at.String()]) > 0 {
			return at.String()
		}
	}
	if base, _ := tag.Base(); base.String() != tag.String() && len(w.files[base.String()]) > 0 {
		return base.String()
	}
	return english
}

// Tags returns the tags of the languages, English first.
func (w *Words) Tags() []string {
	tags := slices.Sorted(maps.Keys(w.all))
	if i := slices.Index(tags, english); i > 0 {
		tags = slices.Insert(slices.Delete(tags, i, i+1), 0, english)
	}
	return tags
}

// Language returns the language with that tag, nil if there is none.
func (w *Words) Language(tag string) *Language { return w.all[tag] }

// Tag returns the language's tag, such as "da" or "fr-CA", as it stands in lang="…".
func (l *Language) Tag() string { return l.tag.String() }

// Name returns what the language calls itself.
func (l *Language) Name() string { return l.name }

// Direction returns "ltr" or "rtl".
func (l *Language) Direction() string { return l.direction }

// Keys returns the names of all messages, in order.
func (l *Language) Keys() []string { return slices.Sorted(maps.Keys(l.messages)) }

// Own reports whether the language has the message itself, rather than from another language.
func (l *Language) Own(key string) bool { return l.own[key] }

// Text returns a message. Its parameters follow as name, value, name, value, …; whole numbers are written as the
// language writes them. The parameter "count" chooses the plural form. The result is plain text, not HTML.
func (l *Language) Text(key string, params ...any) string {
	if m := l.messages[key]; m != nil && len(params) == 0 && len(m.forms[other]) == 1 && !m.plural {
		if only := m.forms[other][0]; only.Name == "" {
			return only.Text
		}
	}
	var b strings.Builder
	for _, p := range l.Parts(key, params...) {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Part is a piece of a message: text, or the place of a parameter.
type Part struct {
	Name string // of the parameter; "" for the message's own words
	Text string // "" for a parameter that was not given
}

// Parts returns a message in pieces, so that a template can make a link of a parameter, or set it apart. A parameter
// that is not given is left for the template to write.
func (l *Language) Parts(key string, params ...any) []Part {
	m := l.messages[key]
	if m == nil {
		return []Part{{Text: key}} // the test of the room fails for it
	}
	values, count := map[string]string{}, int64(0)
	for i := 0; i+1 < len(params); i += 2 {
		name, _ := params[i].(string)
		n, whole := integer(params[i+1])
		switch {
		case whole:
			values[name] = l.Number(n)
		default:
			values[name] = fmt.Sprint(params[i+1])
		}
		if name == countName {
			count = n
		}
	}
	var parts []Part
	for _, s := range m.choose(count) {
		if s.Name != "" {
			s.Text = values[s.Name]
		}
		parts = append(parts, s)
	}
	return parts
}

func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case int32:
		return int64(n), true
	}
	return 0, false
}

// Parameters returns the names of a message's parameters, in order. count is among them if the message has plural
// forms, or if the text has it.
func (l *Language) Parameters(key string) []string {
	m := l.messages[key]
	if m == nil {
		return nil
	}
	list := names(m.forms[other])
	if m.plural || hasCount(m) {
		list = append(list, countName)
		slices.Sort(list)
	}
	return list
}

// Lacks returns what a language must have to be whole and does not have itself: messages, formats, words of the
// glossary. In English, each message also needs a note for translators.
func (w *Words) Lacks(tag string) []string {
	l := w.all[tag]
	if l == nil {
		return []string{"the language"}
	}
	var lacks []string
	var own format
	glossary, notes := map[string]string{}, map[string]bool{}
	for _, f := range w.files[tag] {
		own = own.under(f.format)
		maps.Copy(glossary, f.glossary)
		for key, noted := range f.noted {
			notes[key] = notes[key] || noted
		}
	}
	for _, key := range w.all[english].Keys() {
		if !l.own[key] {
			lacks = append(lacks, "message "+key)
		} else if tag == english && !notes[key] {
			lacks = append(lacks, "note of "+key)
		}
	}
	for _, f := range w.files[english] {
		for _, term := range slices.Sorted(maps.Keys(f.glossary)) {
			if glossary[term] == "" {
				lacks = append(lacks, "glossary: "+term)
			}
		}
	}
	return append(lacks, own.lacks()...)
}
