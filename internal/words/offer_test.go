package words_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"holdfast/internal/words"
)

func offer(t *testing.T, tags ...string) *words.Offer {
	t.Helper()
	o, err := shipped(t).Offer(tags...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestTheHeaderChooses(t *testing.T) {
	t.Parallel()
	o := offer(t, "da", "en", "de", "fr", "it")
	for header, want := range map[string]string{
		"": "da", "de": "de", "de-AT": "de", "fr-CA, en;q=0.5": "fr", "en-US,en;q=0.9,de;q=0.8": "en",
		"de;q=0.3, it;q=0.9": "it", "ja, de;q=0.1": "de", "ja": "da", "*": "da", "*, fr;q=0.5": "fr",
		"de;q=0, fr;q=0.5": "fr", "x;;;q=, it": "it", "de;q=nonsense, fr;q=0.2": "fr", "DE": "de", "\x00\xff<script>": "da",
	} {
		if got := o.ByHeader([]string{header}).Tag(); got != want {
			t.Errorf("%q chooses %s, want %s", header, got, want)
		}
	}
	if got := o.ByHeader([]string{"ja", "fr"}).Tag(); got != "fr" {
		t.Errorf("a header of two lines chooses %s", got)
	}
	if got := o.ByHeader(nil).Tag(); got != "da" {
		t.Errorf("no header chooses %s", got)
	}
}

func TestAHugeHeaderIsReadInPart(t *testing.T) {
	t.Parallel()
	o := offer(t, "en", "de")
	for name, header := range map[string]string{
		"many": "ja," + strings.Repeat("ja;q=0.5,", 100_000) + "de", "long": strings.Repeat("a", 1<<20) + ",de",
		"hyphens": strings.Repeat("a-", 1<<19) + "b", "commas": strings.Repeat(",", 1<<20) + "de",
	} {
		if got := o.ByHeader([]string{header}).Tag(); got != "en" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := o.ByHeader([]string{"de," + strings.Repeat("ja;q=0.5,", 100_000)}).Tag(); got != "de" {
		t.Errorf("the beginning of a long header chooses %s", got)
	}
}

func TestThePathChooses(t *testing.T) {
	t.Parallel()
	o := offer(t, "en", "de")
	for _, tt := range []struct{ path, tag, rest string }{
		{"/_/de/", "de", "/"}, {"/_/de/web/2026/http://x/", "de", "/web/2026/http://x/"}, {"/_/en/", "en", "/"},
		{"/_/de//evil.test/", "de", "//evil.test/"}, {"/_/de", "", "/_/de"}, {"/_/fr/", "", "/_/fr/"}, {"/", "", "/"},
		{"/_/DE/", "", "/_/DE/"}, {"/_/%64e/", "", "/_/%64e/"}, {"/_/de%2f/", "", "/_/de%2f/"}, {"/_/de\\/", "", "/_/de\\/"},
		{"//_/de/", "", "//_/de/"}, {"/_//de/", "", "/_//de/"}, {"/web/_/de/", "", "/web/_/de/"},
	} {
		l, rest := o.ByPath(tt.path)
		tag := ""
		if l != nil {
			tag = l.Tag()
		}
		if tag != tt.tag || rest != tt.rest {
			t.Errorf("%s: %q %q, want %q %q", tt.path, tag, rest, tt.tag, tt.rest)
		}
	}
}

func TestABadOfferSaysWhatWasMeant(t *testing.T) {
	t.Parallel()
	w := shipped(t)
	for _, tt := range []struct {
		tags []string
		want string
	}{
		{nil, `name at least one of: en, da, de, fr, it`}, {[]string{"en", "dk"}, `unknown language "dk", want some of: en,`},
		{[]string{"EN"}, `unknown language "EN", did you mean "en"?`}, {[]string{"de_DE"}, `did you mean "de"?`},
		{[]string{"Deutsch"}, `did you mean "de"?`}, {[]string{"en", "de", "en"}, `"en" is named twice`},
	} {
		_, err := w.Offer(tt.tags...)
		if !errors.Is(err, words.ErrLanguage) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q", tt.tags, err, tt.want)
		}
	}
}

func FuzzHeader(f *testing.F) {
	for _, s := range []string{"", "de-AT;q=0.5,en", "*", "a-b-c-d;q=1", "x;;;q=,"} {
		f.Add(s)
	}
	w, err := words.Shipped()
	if err != nil {
		f.Fatal(err)
	}
	o, err := w.Offer("en", "da")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if tag := o.ByHeader([]string{header}).Tag(); tag != "en" && tag != "da" {
			t.Errorf("%q chooses %s", header, tag)
		}
	})
}

// A language file comes from whoever runs the node: whatever is in it, it is left out or can be used.
func FuzzFile(f *testing.F) {
	for _, s := range []string{"name = \"x\"\n[replay.start]\ntext = \"{a}\"\n", "[format]\nunits = [\"\"]\n",
		"[format]\nmonths = [\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]\ngroup-least = 99999\nsize = \"{unit}{number}{unit}\"\n",
		"[ago.days]\none = \"{count}{count}\"\nother = \"}\"\n", "replay = 1\n", "[[replay]]\n", "[replay]\nstart = \"x\"\n"} {
		f.Add(s)
	}
	w, err := words.Shipped()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		over, faults := w.Lay(fstest.MapFS{"sl.toml": {Data: []byte(text)}})
		l := over.Language("sl")
		if l == nil {
			if len(faults) != 1 || !strings.Contains(faults[0].Error(), "sl.toml") {
				t.Errorf("%q is left out, and is said to be: %v", text, faults)
			}
			return
		}
		at := time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC)
		if l.Recent(at, at.Add(3*time.Hour)) == "" || l.Size(1<<62) == "" || l.Moment(at) == "" || len(l.Weekdays()) != 7 {
			t.Errorf("%q: a time, a size or a week is empty", text)
		}
		for _, key := range l.Keys() {
			l.Text(key, "count", 3)
		}
	})
}
