package journal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
)

// A jar as full as it can get is committed and read again, also if each letter takes six in JSON.
func TestFullJarIsKept(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"small": "v", "escaped": strings.Repeat("\u2028v", 1000)} {
		dir, now := t.TempDir(), time.Now()
		jar := fetch.NewJar(0)
		var text strings.Builder
		for i := 0; i < 30_001 && text.Len() < 12<<20; i++ {
			fmt.Fprintf(&text, "site%d.test\tTRUE\t/\tFALSE\t0\tn%d\t%s\n", i/150, i, value)
		}
		if _, err := jar.ImportText([]byte(text.String()), now); err != nil {
			t.Fatal(err)
		}
		keepCookies(t, dir, jar, now)
		again := fetch.NewJar(0)
		f, err := frontier.Open(frontier.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := NewCookies(again, f).load(""); err != nil || again.Len() != jar.Len() || again.Len() < 1000 {
			t.Errorf("%s: %d of %d cookies came back, %v", name, again.Len(), jar.Len(), err)
		}
		f.Close()
	}
}

func keepCookies(t *testing.T, dir string, jar *fetch.Jar, now time.Time) {
	t.Helper()
	f, err := frontier.Open(frontier.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Add(frontier.URI{URL: "http://a.test/", Queue: "a.test", Priority: frontier.Normal}); err != nil {
		t.Fatal(err)
	}
	b := f.Take()
	if err := NewCookies(jar, f).keep(b, now, true); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(b); err != nil {
		t.Fatalf("%.300v", err)
	}
}
