package browsertest

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Variant is a language and a view that a page is looked at in.
type Variant struct {
	Tag string
	View
}

func (v Variant) String() string {
	return fmt.Sprintf("%s-%s-%d", v.Tag, map[bool]string{false: "light", true: "dark"}[v.Dark], v.Width)
}

// Variants returns the n-th variant of a page, or with HOLDFAST_PAGES=all in the environment all that there are: five
// languages, light and dark, 1440 and 390 pixels. Two following variants are light and dark, four have each of these in
// both widths, and five have all languages.
func Variants(n int) (all []Variant) {
	tags, widths := []string{"en", "da", "it", "fr", "de"}, []int{1440, 390}
	if os.Getenv("HOLDFAST_PAGES") != "all" {
		return []Variant{{tags[n%len(tags)], View{Width: widths[n>>1&1], Dark: n&1 == 1}}}
	}
	for _, tag := range tags {
		for _, width := range widths {
			all = append(all, Variant{tag, View{Width: width}}, Variant{tag, View{Width: width, Dark: true}})
		}
	}
	return all
}

// raw is the name of a message that a page shows in place of its text.
var raw = regexp.MustCompile(`\b(web|alert|replay|words|unit)\.[a-z]+(-[a-z]+)*\b|<no value>|%!`)

// unsafe is what names of files had better not have.
var unsafe = regexp.MustCompile(`[^a-zA-Z0-9.]+`)

// wide lists what reaches over the edge of the window and is not in a part that scrolls by itself.
const wide = `(() => {
	const root = document.documentElement;
	if (root.scrollWidth <= root.clientWidth) return null;
	const over = e => e.getBoundingClientRect().right > root.clientWidth;
	const scrolls = e => e.closest(".scroll, pre, .sections ul, .years ul");
	return [...document.querySelectorAll("body *")].filter(e => over(e) && !scrolls(e))
		.map(e => e.outerHTML.slice(0, 99));
})()`

// texts are all that a reader sees or hears.
const texts = `document.title + "\n" + document.body.innerText + "\n" +
	[...document.querySelectorAll("[aria-label], [title], [placeholder], option")].map(e =>
	e.getAttribute("aria-label") || e.title || e.placeholder || e.text).join("\n")`

// Check fails the test if the page is wider than the window, shows a message by its name, or if axe-core or the
// browser complains of it; status, if not 0, is that of an answer of which the browser may complain. It keeps a
// picture under the name in the folder that HOLDFAST_PICTURES names, if it does.
func (tab *Tab) Check(t testing.TB, name string, status int) {
	t.Helper()
	name = strings.Trim(unsafe.ReplaceAllString(name, "-"), "-")
	tab.Picture(t, os.Getenv("HOLDFAST_PICTURES"), name)
	var over []string
	if tab.Eval(t, wide, &over); over != nil { // also if no element is found that is too wide
		t.Errorf("%s is wider than the window: %s", name, strings.Join(over, "\n"))
	}
	if found := raw.FindString(tab.Text(t, texts)); found != "" {
		t.Errorf("%s shows %q", name, found)
	}
	for _, finding := range tab.Findings(t) {
		t.Errorf("%s: axe: %s", name, finding)
	}
	expected := fmt.Sprintf("the server responded with a status of %d", status)
	for _, complaint := range tab.Complaints() {
		if status == 0 || !strings.Contains(complaint, expected) {
			t.Errorf("%s: %s", name, complaint)
		}
	}
}
