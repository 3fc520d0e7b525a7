package words

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
)

// countName is the parameter that chooses a plural form.
const countName = "count"

// other is the plural form that every language has.
const other = "other"

// formNames are CLDR's plural forms.
func formNames() []string { return []string{"zero", "one", "two", "few", "many", other} }

// message is one text of a language, in its plural forms. A text without plural has the form "other" alone.
type message struct {
	forms  map[string][]Part
	plural bool
	rule   *rule // of the language that the text is written in
	line   int   // where it stands in its file
}

// choose returns the form for a count.
func (m *message) choose(count int64) []Part {
	if m.plural {
		if form, ok := m.forms[m.rule.form(count)]; ok {
			return form
		}
	}
	return m.forms[other]
}

// parameters returns the names of a message's parameters but count, which a form may leave out ("one capture"). It is
// an error if the forms differ in them.
func (m *message) parameters() ([]string, error) {
	want := names(m.forms[other])
	for _, form := range formNames() {
		if parts, ok := m.forms[form]; ok && !slices.Equal(names(parts), want) {
			return nil, fmt.Errorf("the form %q has the parameters %v, the form \"other\" %v", form, names(parts), want)
		}
	}
	return want, nil
}

func names(parts []Part) []string {
	found := map[string]bool{}
	for _, p := range parts {
		if p.Name != "" && p.Name != countName {
			found[p.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// split reads a text with parameters in braces.
func split(text string) ([]Part, error) {
	var parts []Part
	for text != "" {
		plain, rest, found := strings.Cut(text, "{")
		if strings.Contains(plain, "}") {
			return nil, fmt.Errorf("%q: } without {", text)
		}
		if plain != "" {
			parts = append(parts, Part{Text: plain})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || !isName(name) {
			return nil, fmt.Errorf("%q: want a parameter such as {count} after {", text)
		}
		parts = append(parts, Part{Name: name})
		text = after
	}
	return parts, nil
}

func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && r != '-' })
}

// rule tells which plural form a number takes in a language, by CLDR.
type rule struct {
	localizer *i18n.Localizer
	needed    []string // the forms that whole numbers take, and "other"
	small     []string // the forms of 0, 1, 2, …: most figures are small, and asking takes long
}

// newRule returns a language's rule. It is an error if CLDR has none.
func newRule(tag language.Tag) (*rule, error) {
	bundle := i18n.NewBundle(tag)
	err := bundle.AddMessages(tag, &i18n.Message{ID: "form", Zero: "zero", One: "one", Two: "two", Few: "few",
		Many: "many", Other: other})
	if err != nil {
		return nil, fmt.Errorf("CLDR has no plural rule for %s", tag)
	}
	r := &rule{localizer: i18n.NewLocalizer(bundle, tag.String())}
	found := map[string]bool{other: true}
	for n := range int64(111) { // CLDR's rules look at the last two digits
		form := r.form(n)
		r.small, found[form] = append(r.small, form), true
	}
	for n := int64(1000); n <= 1_000_000_000; n *= 1000 {
		found[r.form(n)] = true
	}
	r.needed = slices.DeleteFunc(formNames(), func(form string) bool { return !found[form] })
	return r, nil
}

// form returns the name of the form.
func (r *rule) form(count int64) string {
	if count >= 0 && count < int64(len(r.small)) {
		return r.small[count]
	}
	form, err := r.localizer.Localize(&i18n.LocalizeConfig{MessageID: "form", PluralCount: count})
	if err != nil {
		return other
	}
	return form
}
