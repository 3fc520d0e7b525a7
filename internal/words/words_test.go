package words_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"holdfast/internal/words"
	"holdfast/internal/words/wordstest"
)

func shipped(t *testing.T) *words.Words {
	t.Helper()
	w, err := words.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestTheLanguagesAreWhole(t *testing.T) {
	t.Parallel()
	w := shipped(t)
	if got := strings.Join(w.Tags(), " "); got != "en da de fr it" {
		t.Errorf("languages %s", got)
	}
	for _, tag := range w.Tags() {
		for _, lack := range w.Lacks(tag) {
			t.Errorf("%s.toml lacks: %s", tag, lack)
		}
	}
	wordstest.Check(t, "ago", os.DirFS("."))
	// Each room with texts calls wordstest.Check; this list is of those that do.
	for _, key := range w.Language("en").Keys() {
		if room, _, _ := strings.Cut(key, "."); !slices.Contains([]string{"ago", "alert", "notice", "replay", "web"}, room) {
			t.Errorf("nobody checks the messages of %q", room)
		}
	}
}

// What another language says is its own: a text that was copied from English was not translated.
func TestNothingIsLeftInEnglish(t *testing.T) {
	t.Parallel()
	w := shipped(t)
	same := map[string]string{"notice.subject": "da it de", "replay.type": "da fr", "replay.nearby-captures": "", "replay.captures-table": "fr",
		"replay.column-captures": "fr", "replay.day-captures": "fr", "replay.year-captures": "fr",
		"replay.nearby-day": "",
		"web.collection":    "fr", "web.configuration": "fr", "web.copies": "fr", "web.domain": "de", "web.file": "it",
		"web.institution": "da fr", "web.job": "da", "web.mail": "da it", "web.name": "de", "web.node": "da",
		"web.person": "da de", "web.program": "da", "web.person-active": "fr", "web.replica": "it", "web.role-admin": "da",
		"web.configurations": "fr", "web.domains": "de", "web.index": "de fr", "web.captures": "fr", "web.harvest-inactive": "fr", "web.harvest-waiting": "fr",
		"web.sections": "fr", "web.sign-in-password": "it", "web.version": "de fr", "web.log": "da", "web.log-message": "fr", "web.log-quarter": "fr"}
	for _, key := range w.Language("en").Keys() {
		for _, tag := range w.Tags()[1:] {
			if strings.Contains(same[key], tag) {
				continue
			}
			if en := text(w, "en", key, 2); en == text(w, tag, key, 2) {
				t.Errorf("%s: %s says %q, as English does", key, tag, en)
			}
		}
	}
}

// text returns a message with all its parameters given.
func text(w *words.Words, tag, key string, n int) string {
	var params []any
	for _, name := range w.Language("en").Parameters(key) {
		if name == "count" {
			params = append(params, name, n)
		} else {
			params = append(params, name, "<"+name+">")
		}
	}
	return w.Language(tag).Text(key, params...)
}

func TestNumbersSizesAndTimes(t *testing.T) {
	t.Parallel()
	w := shipped(t)
	at := time.Date(2026, 11, 1, 2, 14, 5, 0, time.UTC)
	for _, tt := range []struct{ tag, numbers, sizes, moment, recent, older string }{
		{"en", "0 999 1,234 41,832 1,000,000 −1,234", "0 B|999 B|1.0 kB|3.1 GB|1.0 MB", "1 November 2026, 02:14:05", "02:14, 6 h ago", "1 November 2026, 02:14, 1 day ago"},
		{"da", "0 999 1.234 41.832 1.000.000 −1.234", "0 B|999 B|1,0 kB|3,1 GB|1,0 MB", "1. november 2026 kl. 02.14.05", "02.14, for 6 timer siden", "1. november 2026 kl. 02.14, for 1 dag siden"},
		{"it", "0 999 1234 41.832 1.000.000 −1234", "0 B|999 B|1,0 kB|3,1 GB|1,0 MB", "1º novembre 2026, 02:14:05", "02:14, 6 h fa", "1º novembre 2026, 02:14, 1 giorno fa"},
		{"fr", "0 999 1_234 41_832 1_000_000 −1_234", "0 o|999 o|1,0 ko|3,1 Go|1,0 Mo", "1er novembre 2026 à 02:14:05", "02:14, il y a 6 h", "1er novembre 2026 à 02:14, il y a 1 jour"},
		{"de", "0 999 1.234 41.832 1.000.000 −1.234", "0 B|999 B|1,0 kB|3,1 GB|1,0 MB", "1. November 2026, 02:14:05", "02:14, vor 6 Std.", "1. November 2026, 02:14, vor 1 Tag"},
	} {
		l := w.Language(tt.tag)
		var numbers, sizes []string
		for _, n := range []int64{0, 999, 1234, 41832, 1_000_000, -1234} {
			numbers = append(numbers, strings.ReplaceAll(l.Number(n), "\u202f", "_"))
		}
		for _, n := range []int64{0, 999, 1000, 3_149_000_000, 999_999} {
			sizes = append(sizes, strings.ReplaceAll(l.Size(n), "\u00a0", " "))
		}
		for _, c := range []struct{ got, want string }{
			{strings.Join(numbers, " "), tt.numbers}, {strings.Join(sizes, "|"), tt.sizes}, {l.Moment(at), tt.moment},
			{l.Recent(at, at.Add(6*time.Hour+59*time.Minute)), tt.recent}, {l.Recent(at, at.Add(30*time.Hour)), tt.older},
			{l.Recent(at, at.Add(-time.Second)), tt.moment}, {l.Recent(at, at.AddDate(1, 0, 0)), tt.moment},
		} {
			if c.got != c.want {
				t.Errorf("%s: %q, want %q", tt.tag, c.got, c.want)
			}
		}
	}
	for n, want := range map[float64]string{41.24: "41,2", 0: "0,0", 0.96: "1,0", 12345.5: "12.345,5", -3.14: "−3,1"} {
		if got := w.Language("de").Tenths(n); got != want {
			t.Errorf("%v is %q, want %q", n, got, want)
		}
	}
	if got := w.Language("en").Size(1<<63 - 1); got != "9,223.4\u00a0PB" {
		t.Errorf("the largest size is %q", got)
	}
}

func TestPluralForms(t *testing.T) {
	t.Parallel()
	w := shipped(t)
	for _, tt := range []struct {
		tag  string
		n    int
		want string
	}{
		{"en", 0, "0 captures"}, {"en", 1, "1 capture"}, {"en", 2, "2 captures"}, {"da", 1, "1 version"},
		{"fr", 0, "0 capture"}, {"fr", 1, "1 capture"}, {"fr", 2, "2 captures"},
		{"fr", 1_000_000, "1\u202f000\u202f000 de captures"}, {"it", 2_000_000, "2.000.000 di catture"},
		{"it", 1, "1 cattura"}, {"de", 1234, "1.234 Zeitschnitte"},
	} {
		if got := w.Language(tt.tag).Text("replay.day-captures", "count", tt.n); got != tt.want {
			t.Errorf("%s %d: %q, want %q", tt.tag, tt.n, got, tt.want)
		}
	}
}

func TestFilesLaidOver(t *testing.T) {
	t.Parallel()
	folder := fstest.MapFS{}
	for name, text := range map[string]string{
		"fr-CA.toml": "name = \"Français (Canada)\"\n[replay.address]\ntext = \"Adresse Web du site\"\n",
		"en.toml":    "[replay.start]\ntext = \"Our {\"\n",
		"de.toml":    "[replay.start]\ntext = \"Unser Archiv\"\n",
		"ar.toml":    "name = \"العربية\"\ndirection = \"rtl\"\n[replay.find]\ntext = \"بحث\"\n",
		"xx-bad.txt": "no language",
		"pl.toml":    "[replay.day-captures]\none = \"{count} kopia\"\nother = \"{count} kopii\"\n",
		"sv.toml":    "[replay.start]\ntext = \"x\"\n\n[replay.nothing]\ntext = \"y\"\n",
		"nb.toml":    "[replay.start]\ntitle = \"x\"\n",
		"fi.toml":    "\n\nname = Suomi\n",
		"e.toml":     "",
		"nl.toml":    "[format]\ndate = \"{day} {month}\"\n",
		"es.toml":    "[replay.captures-of]\ntext = \"Capturas de {ano}\"\n",
		"pt.toml":    "direction = \"up\"\n",
	} {
		folder[name] = &fstest.MapFile{Data: []byte(text)}
	}
	before := shipped(t)
	w, faults := before.Lay(folder)
	var said []string
	for _, err := range faults {
		said = append(said, err.Error())
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{
		`en.toml:1: replay.start: "Our {": want a parameter`, `pl.toml:1: replay.day-captures: the plural form "few" is missing`,
		`sv.toml:4: there is no message "replay.nothing"`, `nb.toml:2: unknown key "title"`, `fi.toml:3:`,
		`e.toml: the name is not that of a language`, `nl.toml:1: date has the parameters [day month]`,
		`es.toml:1: replay.captures-of has the parameters [ano]`, `pt.toml:1: direction = "up"`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("faults lack %q:\n%s", want, all)
		}
	}
	if len(faults) != 9 || strings.Join(w.Tags(), " ") != "en ar da de fr fr-CA it" {
		t.Errorf("%d faults, languages %v:\n%s", len(faults), w.Tags(), all)
	}
	for _, tt := range []struct{ tag, key, want string }{
		{"fr-CA", "replay.address", "Adresse Web du site"}, {"fr-CA", "replay.find", "Rechercher"},
		{"de", "replay.start", "Unser Archiv"}, {"de", "replay.find", "Suchen"}, {"en", "replay.start", "Pages as they were"},
		{"ar", "replay.find", "بحث"}, {"ar", "replay.start", "Pages as they were"},
	} {
		if got := w.Language(tt.tag).Text(tt.key); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.tag, tt.key, got, tt.want)
		}
	}
	if l := w.Language("ar"); l.Direction() != "rtl" || l.Text("replay.day-captures", "count", 3) != "3 captures" {
		t.Errorf("Arabic: %s, %q", l.Direction(), l.Text("replay.day-captures", "count", 3))
	}
	if before.Language("de").Text("replay.start") == "Unser Archiv" {
		t.Error("the languages without the folder have changed")
	}
}
