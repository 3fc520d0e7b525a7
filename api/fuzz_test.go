package api

import (
	"testing"
)

func FuzzToken(f *testing.F) {
	f.Add("holdfast-abc-def")
	f.Add("holdfast--")
	f.Add("holdfast-a-b-c")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseToken(text)
		if err != nil {
			return
		}
		again, err := ParseToken(token.String())
		if err != nil || again != token {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add(makeCursor("f", "a.warc.gz"))
	f.Add("f-Zjo")
	f.Add("%%")
	f.Fuzz(func(t *testing.T, text string) {
		position, err := openCursor(text, "f")
		if err != nil || text == "" {
			return
		}
		if again, err := openCursor(makeCursor("f", position), "f"); err != nil || again != position {
			t.Errorf("%q: %q %v", text, again, err)
		}
	})
}
