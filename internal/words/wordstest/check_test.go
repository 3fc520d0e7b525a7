package wordstest

import (
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/internal/words"
)

const use = `package room

func show(l language) {
	l.Text("room.plain", "who", 1)
	l.Text("room.many", "count", 2)
}
`

const page = `{{define "content"}}{{range .X}}{{if .Y}}<p title="{{$.Text "room.title"}}">` +
	`{{range $.Parts "room.linked" "what" 3}}{{if eq .Name "to"}}<a>{{end}}{{end}}</p>{{end}}{{end}}{{end}}`

const english = `
[room.plain]
text = "Hello {who}"
[room.many]
one = "one"
other = "{count}"
[room.title]
text = "Title"
[room.linked]
text = "{what} leads to {to}"
`

// faults says what Check would say of the two languages.
func faults(t *testing.T, use, page, english, danish string) string {
	t.Helper()
	shipped, err := words.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	w, errs := (&words.Words{}).Lay(fstest.MapFS{"en.toml": {Data: []byte(english)}})
	for _, err := range errs {
		t.Fatal(err)
	}
	if danish != "" {
		w, errs = w.Lay(fstest.MapFS{"da.toml": {Data: []byte(danish)}})
	}
	code := fstest.MapFS{"show.go": {Data: []byte(use)}, "pages/x.html": {Data: []byte(page)},
		"show_test.go": {Data: []byte(`package room; var _ = "room.unused"`)}}
	found := Faults(w, "room", code)
	for _, err := range errs {
		found = append(found, err.Error())
	}
	var ours []string // formats and notes are not what this test is about
	for _, f := range found {
		if !strings.Contains(f, "lacks: format") && !strings.Contains(f, "lacks: note") {
			ours = append(ours, f)
		}
	}
	if len(shipped.Lacks("en")) > 0 {
		t.Error("English is not whole")
	}
	return strings.Join(ours, "\n")
}

func TestWhatCheckFinds(t *testing.T) {
	t.Parallel()
	danish := strings.ReplaceAll(english, "Hello", "Hej")
	for _, tt := range []struct{ name, use, page, english, danish, want string }{
		{"nothing", use, page, english, danish, ""},
		{"a message is missing in a language", use, page, english, strings.Replace(danish, "[room.title]\ntext = \"Title\"\n", "", 1),
			`da.toml lacks: message room.title`},
		{"other parameters in a language", use, page, english, strings.Replace(danish, "{who}", "{hvem}", 1), `da.toml:2: room.plain has the parameters [hvem], English has [who]`},
		{"a plural form is missing", use, page, english, strings.Replace(danish, "one = \"one\"\n", "", 1), `da.toml:4: room.many: the plural form "one" is missing`},
		{"a message that nobody uses", use, page, english + "[room.unused]\ntext = \"x\"\n", danish + "[room.unused]\ntext = \"y\"\n", `room.unused is used by nobody`},
		{"a message that is not there", strings.Replace(use, "room.plain", "room.plane", 1), page, english, danish, `show.go: there is no message "room.plane"`},
		{"a parameter that is not given", strings.Replace(use, `, "who", 1`, "", 1), page, english, danish, `show.go: room.plain needs the parameter "who"`},
		{"a parameter of another name", strings.Replace(use, `"who"`, `"whom"`, 1), page, english, danish, `show.go: room.plain has no parameter "whom"`},
		{"no count", strings.Replace(use, `, "count", 2`, "", 1), page, english, danish, `show.go: room.many needs the parameter "count"`},
		{"a template gives another name", use, strings.Replace(page, `"what"`, `"which"`, 1), english, danish, `pages/x.html: room.linked has no parameter "which"`},
		{"a template makes nothing of a part", use, strings.Replace(page, `"to"`, `"from"`, 1), english, danish, `pages/x.html: room.linked needs the parameter "to"`},
	} {
		got := faults(t, tt.use, tt.page, tt.english, tt.danish)
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}
