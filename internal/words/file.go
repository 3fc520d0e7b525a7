package words

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"golang.org/x/text/language"
)

// file is what one language file says.
type file struct {
	path            string
	tag             language.Tag
	name, direction string
	format          format
	glossary        map[string]string
	messages        map[string]*message
	noted           map[string]bool // messages with a note
	rule            *rule
}

// entry is a message as it stands in a file.
type entry struct {
	Note  string `toml:"note"` // for translators: where the message stands
	Text  string `toml:"text"`
	Zero  string `toml:"zero"`
	One   string `toml:"one"`
	Two   string `toml:"two"`
	Few   string `toml:"few"`
	Many  string `toml:"many"`
	Other string `toml:"other"`
}

// parse reads a language file, named <tag>.toml. Errors name the file and the line.
func parse(path, text string) (*file, error) {
	stem := strings.TrimSuffix(path, ".toml")
	tag := language.Make(stem)
	if !IsTag(stem) {
		return nil, fmt.Errorf("%s: the name is not that of a language, such as da.toml or fr-CA.toml", path)
	}
	f := &file{path: path, tag: tag, messages: map[string]*message{}, noted: map[string]bool{}}
	rule, err := newRule(tag)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.rule = rule
	var tables map[string]toml.Primitive
	where := linesOf(text)
	meta, err := toml.Decode(text, &tables)
	if err != nil {
		return nil, f.decodeError(err, 0)
	}
	entries := map[string]map[string]entry{}
	for table, content := range tables {
		if err := f.read(table, content, meta, entries); err != nil {
			return nil, f.decodeError(err, where.at(table))
		}
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		key := unknown[0]
		return nil, fmt.Errorf("%s:%d: unknown key %q", path, where.at(key...), key[len(key)-1])
	}
	for _, table := range slices.Sorted(maps.Keys(entries)) {
		for _, name := range slices.Sorted(maps.Keys(entries[table])) {
			line := where.at(table, name)
			if err := f.message(table+"."+name, entries[table][name], line); err != nil {
				return nil, fmt.Errorf("%s:%d: %s.%s: %w", path, line, table, name, err)
			}
		}
	}
	if f.direction != "" && f.direction != "ltr" && f.direction != "rtl" {
		return nil, fmt.Errorf("%s:%d: direction = %q: want \"ltr\" or \"rtl\"", path,
			where.at("direction"), f.direction)
	}
	if err := f.format.check(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", path, where.at("format"), err)
	}
	return f, nil
}

// read reads one key or table of the top; a table that is none of the others has messages.
func (f *file) read(table string, content toml.Primitive, meta toml.MetaData,
	entries map[string]map[string]entry) error {
	into := map[string]any{"name": &f.name, "direction": &f.direction, "format": &f.format, "glossary": &f.glossary}
	if to, ok := into[table]; ok {
		return meta.PrimitiveDecode(content, to)
	}
	messages := map[string]entry{}
	entries[table] = messages
	return meta.PrimitiveDecode(content, &messages)
}

// message reads the texts of an entry.
func (f *file) message(key string, e entry, line int) error {
	m := &message{forms: map[string][]Part{}, rule: f.rule, line: line}
	f.messages[key], f.noted[key] = m, e.Note != ""
	given := map[string]string{"zero": e.Zero, "one": e.One, "two": e.Two, "few": e.Few, "many": e.Many, other: e.Other}
	needed := f.rule.needed
	for form, text := range given {
		if text == "" {
			continue
		}
		if m.plural = true; e.Text != "" {
			return fmt.Errorf("want text or plural forms, not text and %q", form)
		}
		if !slices.Contains(needed, form) {
			return fmt.Errorf("the language has no plural form %q, only %s", form, strings.Join(needed, ", "))
		}
	}
	if !m.plural {
		given = map[string]string{other: e.Text}
	}
	if given[other] == "" {
		return errors.New(`want text = "…", or plural forms, with other = "…" among them`)
	}
	for form, text := range given {
		if text == "" {
			continue
		}
		parts, err := split(text)
		if err != nil {
			return err
		}
		m.forms[form] = parts
	}
	for _, form := range needed {
		if m.plural && m.forms[form] == nil {
			return fmt.Errorf("the plural form %q is missing: the language needs %s", form,
				strings.Join(needed, ", "))
		}
	}
	_, err := m.parameters()
	return err
}

// fits checks that the file has no message that English does not have, and the same parameters.
func (f *file) fits(base []*file) error {
	for key, m := range f.messages {
		var want *message
		for _, b := range base {
			if found := b.messages[key]; found != nil {
				want = found
			}
		}
		if want == nil {
			return fmt.Errorf("%s:%d: there is no message %q", f.path, m.line, key)
		}
		if m.plural != want.plural {
			return fmt.Errorf("%s:%d: %s: English has %s", f.path, m.line, key,
				map[bool]string{true: "plural forms", false: "no plural forms"}[want.plural])
		}
		have, _ := m.parameters() // checked when they were read
		wanted, _ := want.parameters()
		if !slices.Equal(have, wanted) {
			return fmt.Errorf("%s:%d: %s has the parameters %v, English has %v", f.path, m.line, key, have, wanted)
		}
		if !want.plural && hasCount(want) != hasCount(m) {
			return fmt.Errorf("%s:%d: %s: {count} stands in one of the texts, here or in English", f.path, m.line, key)
		}
	}
	return nil
}

func hasCount(m *message) bool {
	return slices.ContainsFunc(m.forms[other], func(p Part) bool { return p.Name == countName })
}

func (f *file) decodeError(err error, line int) error {
	var at toml.ParseError
	if errors.As(err, &at) {
		return fmt.Errorf("%s:%d: %s", f.path, at.Position.Line, strings.TrimPrefix(at.Error(), "toml: "))
	}
	return fmt.Errorf("%s:%d: %s", f.path, line, strings.TrimPrefix(err.Error(), "toml: "))
}

// lines are the numbers of the lines where keys and tables begin.
type lines map[string]int

func linesOf(text string) lines {
	found, table, n := lines{}, "", 0
	note := func(key string) {
		if _, ok := found[key]; !ok {
			found[key] = n
		}
	}
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if inner, ok := strings.CutPrefix(line, "["); ok {
			table, _, _ = strings.Cut(inner, "]")
			note(table)
			top, _, _ := strings.Cut(table, ".")
			note(top)
		} else if name, _, ok := strings.Cut(line, "="); ok {
			note(strings.TrimPrefix(table+"."+strings.TrimSpace(name), "."))
		}
	}
	return found
}

// at returns the line of a key, 1 if it is not found.
func (l lines) at(key ...string) int { return max(1, l[strings.Join(key, ".")]) }
