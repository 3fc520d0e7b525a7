package look

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// colours returns the values that the names have in a part of the style sheet.
func colours(part string) map[string]string {
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{3,6});`).FindAllStringSubmatch(part, -1) {
		if found[m[1]] == "" {
			found[m[1]] = m[2]
		}
	}
	return found
}

// contrast is WCAG's, from 1 to 21.
func contrast(a, b string) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(colour string) float64 {
	hex := strings.TrimPrefix(colour, "#")
	if len(hex) == 3 {
		hex = fmt.Sprintf("%c%c%c%c%c%c", hex[0], hex[0], hex[1], hex[1], hex[2], hex[2])
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			panic(err)
		}
		v := float64(n) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

// Every text can be read on what it stands on, and every field be seen, as WCAG 2.2 AA asks, in light and dark.
func TestContrast(t *testing.T) {
	t.Parallel()
	light, dark, ok := strings.Cut(string(Style().Content), "prefers-color-scheme: dark")
	if !ok {
		t.Fatal("the style sheet has no dark colours")
	}
	dark, _, _ = strings.Cut(dark, "/* the page */")
	inLight, inDark := colours(light), colours(light)
	for name, value := range colours(dark) {
		inDark[name] = value
	}
	for scheme, c := range map[string]map[string]string{"light": inLight, "dark": inDark} {
		for _, pair := range []struct {
			on    string
			least float64
			names string
		}{
			{"ground", 4.5, "ink quiet link good work look bad"}, {"paper", 4.5, "ink quiet link"}, {"note", 4.5, "ink"},
			{"chosen", 4.5, "ink"}, {"head", 4.5, "head-ink"}, {"button", 4.5, "button-ink"}, {"few", 4.5, "ink"},
			{"some", 4.5, "ink"}, {"many", 4.5, "many-ink"}, {"paper", 3, "field"}, {"ground", 3, "field many"},
		} {
			for name := range strings.FieldsSeq(pair.names) {
				if c[name] == "" || c[pair.on] == "" {
					t.Fatalf("%s: there is no colour %q or %q", scheme, name, pair.on)
				}
				if got := contrast(c[name], c[pair.on]); got < pair.least {
					t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f", scheme, name, pair.on, got, pair.least)
				}
			}
		}
	}
}

func TestTheSheetStandsAlone(t *testing.T) {
	t.Parallel()
	s := Style()
	if !regexp.MustCompile(`^look-[0-9a-f]{12}\.css$`).MatchString(s.Name) {
		t.Errorf("name %q", s.Name)
	}
	for _, foreign := range []string{"url(", "@import", "http:", "https:", "expression"} {
		if strings.Contains(string(s.Content), foreign) {
			t.Errorf("the style sheet has %s", foreign)
		}
	}
	used := regexp.MustCompile(`var\(--([a-z-]+)\)`).FindAllStringSubmatch(string(s.Content), -1)
	known := colours(string(s.Content))
	for _, m := range used {
		if known[m[1]] == "" {
			t.Errorf("there is no colour %q", m[1])
		}
	}
}
