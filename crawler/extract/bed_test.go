package extract

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what was found into testdata/bed")

// bedCase is one construct of the test bed: a document, and everything that is found in it.
type bedCase struct {
	name    string
	headers []string
	body    string
	want    string
}

func (c *bedCase) document() Document {
	doc := Document{URL: "http://h.test/d/p", ContentType: "text/html; charset=utf-8", Body: []byte(c.body)}
	for _, h := range c.headers {
		name, value, _ := strings.Cut(h, ": ")
		switch name {
		case "Type":
			doc.ContentType = value
		case "URL":
			doc.URL = value
		case "Via":
			doc.Via = value
		case "Manifest":
			doc.Manifest = true
		case "Location":
			doc.Location = value
		case "Content-Location":
			doc.ContentLocation = value
		case "Refresh":
			doc.Refresh = value
		case "Link":
			doc.Link = append(doc.Link, value)
		case "X-Robots-Tag":
			doc.RobotsTag = append(doc.RobotsTag, value)
		}
	}
	return doc
}

// readBed reads cases: "=== name", headers and an empty line if there are any, the body, "---", what is found.
func readBed(t testing.TB, path string) []bedCase {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []bedCase
	for part := range strings.SplitSeq("\n"+string(text), "\n=== ") {
		name, rest, ok := strings.Cut(part, "\n")
		if !ok || name == "" {
			continue
		}
		rest, want, ok := strings.Cut("\n"+rest+"\n", "\n---\n")
		if !ok {
			t.Fatalf("%s: %s: no ---", path, name)
		}
		c := bedCase{name: name, body: strings.TrimPrefix(rest, "\n"), want: strings.TrimSpace(want)}
		for isHeader(c.body) {
			line, after, _ := strings.Cut(c.body, "\n")
			c.headers, c.body = append(c.headers, line), after
		}
		if len(c.headers) > 0 {
			c.body = strings.TrimPrefix(c.body, "\n")
		}
		cases = append(cases, c)
	}
	return cases
}

func isHeader(body string) bool {
	for _, name := range []string{"Type", "URL", "Via", "Manifest", "Location", "Content-Location", "Refresh", "Link", "X-Robots-Tag"} {
		if strings.HasPrefix(body, name+": ") {
			return true
		}
	}
	return false
}

// describe writes a result as the bed has it.
func describe(r Result) string {
	var b strings.Builder
	for _, l := range r.Links {
		fmt.Fprintf(&b, "%c %s %s\n", l.Hop, strings.TrimPrefix(l.URL, "http://h.test"), l.Context)
	}
	if r.Robots != 0 {
		fmt.Fprintf(&b, "robots %s\n", r.Robots)
	}
	if r.Title != "" {
		fmt.Fprintf(&b, "title %s\n", r.Title)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func bedFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/bed/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test bed: %v", err)
	}
	return files
}

// Every link of every construct is found, and none that is not there.
func TestBed(t *testing.T) {
	x := New()
	for _, path := range bedFiles(t) {
		cases := readBed(t, path)
		for i := range cases {
			c := &cases[i]
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txt")+"/"+c.name, func(t *testing.T) {
				got := describe(x.Links(c.document()))
				if *update {
					c.want = got
				} else if got != c.want {
					t.Errorf("got\n%s\nwant\n%s", got, c.want)
				}
			})
		}
		if *update {
			writeBed(t, path, cases)
		}
	}
}

func writeBed(t *testing.T, path string, cases []bedCase) {
	var b bytes.Buffer
	for _, c := range cases {
		fmt.Fprintf(&b, "=== %s\n", c.name)
		for _, h := range c.headers {
			fmt.Fprintln(&b, h)
		}
		if c.body != "" {
			if len(c.headers) > 0 {
				fmt.Fprintln(&b)
			}
			fmt.Fprintln(&b, c.body)
		}
		fmt.Fprintln(&b, "---")
		if c.want != "" {
			fmt.Fprintln(&b, c.want)
		}
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What is speculative, and forms that are sent, can be switched off, and nothing else goes with them.
func TestBedWithoutGuesses(t *testing.T) {
	all, certain := New(), New(Options{})
	for _, path := range bedFiles(t) {
		for _, c := range readBed(t, path) {
			var want []Link
			for _, l := range all.Links(c.document()).Links {
				if l.Hop != Speculative && l.Hop != Submit {
					want = append(want, l)
				}
			}
			if got := certain.Links(c.document()).Links; !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", c.name, got, want)
			}
		}
	}
}

// Each format can be switched off by itself.
func TestBedByTypes(t *testing.T) {
	none := New(Options{Speculative: true, Types: 1 << 31})
	for _, path := range bedFiles(t) {
		for _, c := range readBed(t, path) {
			if links := none.Links(c.document()).Links; len(links) > 0 {
				t.Errorf("%s: %v", c.name, links)
			}
		}
	}
}

// doc/extractors.md names the context of every link of the bed, by its element or as any element's.
func TestDocumentNamesEveryContext(t *testing.T) {
	text, err := os.ReadFile("../../doc/extractors.md")
	if err != nil {
		t.Fatal(err)
	}
	x := New()
	for _, path := range bedFiles(t) {
		for _, c := range readBed(t, path) {
			for _, l := range x.Links(c.document()).Links {
				tag, attr, _ := strings.Cut(l.Context, "/@")
				if i := strings.Index(tag, "[rel="); i >= 0 {
					tag = tag[:i] + "[rel='…']"
				}
				if !bytes.Contains(text, []byte("`"+l.Context+"`")) && !bytes.Contains(text, []byte("`*/@"+attr+"`")) && !bytes.Contains(text, []byte("`"+tag+"/@"+attr+"`")) &&
					!strings.HasPrefix(attr, "data-") {
					t.Errorf("%s: %s is not in the document", c.name, l.Context)
				}
			}
		}
	}
}
