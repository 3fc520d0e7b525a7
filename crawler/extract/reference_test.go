package extract

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"testing"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/html"
)

func resolveSlowly(base, ref string) (string, bool) {
	u, err := whatwg.ParseRef(base, ref)
	if err != nil {
		return "", false
	}
	return u.Href(true), true
}

func checkSeen(t *testing.T, x *Extractor, ref string) {
	t.Helper()
	r := trim([]byte(ref))
	if len(r) == 0 || r[0] == '#' || len(r) > maxURL {
		return
	}
	if _, ok := x.refs[maphash.Bytes(x.seed, r)]; !ok {
		t.Fatalf("href %q was not seen", ref)
	}
}

// plainAttributes are those whose value is one URL and no more, by the tags they hold for; "" is any.
var plainAttributes = map[string][]string{
	"href": {"a", "area", "image", "use", "my-card", "math", "mi"}, "src": {""}, "poster": {""}, "background": {""}, "lowsrc": {""}, "longdesc": {""},
	"cite": {"blockquote", "q", "ins", "del"}, "data-src": {""}, "data-original": {""}, "manifest": {"html"}, "profile": {"head"}, "icon": {"command", "menuitem"},
	"pluginspage": {""}, "usemap": {""}, "xlink:href": {""},
}

// treeLinks are the links of a page by a parser that builds its tree.
func treeLinks(t *testing.T, page, url string) map[string]bool {
	t.Helper()
	root, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	found, base := map[string]bool{}, ""
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			key := a.Key
			if a.Namespace != "" {
				key = a.Namespace + ":" + a.Key
			}
			if n.Data == "base" && key == "href" && base == "" {
				base = a.Val
				url, _ = resolveSlowly(url, a.Val)
			}
			tags, plain := plainAttributes[key]
			value := strings.TrimSpace(a.Val)
			if !plain || tags[0] != "" && !slices.Contains(tags, n.Data) || value == "" || value[0] == '#' {
				continue
			}
			if u, ok := resolveSlowly(url, value); ok && strings.HasPrefix(u, "http") {
				found[n.Data+"/@"+key+" "+u] = true
			}
		}
	}
	return found
}

// What a parser that builds a tree finds in plain attributes, the scanner finds; what the scanner says it found in them, is there.
func TestAgainstTree(t *testing.T) {
	hidden := map[string]bool{ // what is in the page without being in its tree
		"iframe srcdoc": true, "conditional comments": true, "template in a script": true, "frames": true,
		"unknown elements": true, // names that are written otherwise in contexts
	}
	cases := readBed(t, "testdata/bed/html.txt")
	cases = append(cases, bedCase{name: "page", body: string(page())}, bedCase{name: "rich page", body: string(richPage())})
	for _, c := range cases {
		doc := c.document()
		tree, scanned := treeLinks(t, c.body, doc.URL), map[string]bool{}
		for _, l := range New(Options{}).Links(doc).Links {
			tag, attr, ok := strings.Cut(l.Context, "/@")
			if tags, plain := plainAttributes[attr]; ok && plain && (tags[0] == "" || slices.Contains(tags, tag)) {
				scanned[l.Context+" "+l.URL] = true
			}
		}
		for link := range maps.Keys(tree) {
			if !scanned[link] && !hidden[c.name] {
				t.Errorf("%s: %s is in the tree alone", c.name, link)
			}
		}
		for link := range maps.Keys(scanned) {
			if !tree[link] && !hidden[c.name] {
				t.Errorf("%s: %s is not in the tree", c.name, link)
			}
		}
	}
}
