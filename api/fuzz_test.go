package api

import (
	"io"
	"net/http"
	"strings"
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

// FuzzProblem reads answers of a server that may be anything: there is always an error that says something.
func FuzzProblem(f *testing.F) {
	f.Add(`{"type":"urn:holdfast:problem:conflict","status":409,"detail":"no","errors":[{"location":"body.x","message":"bad"}]}`, 409)
	f.Add(`<html>bad gateway</html>`, 502)
	f.Add(`{"status":400,"errors":[null]}`, 400)
	f.Fuzz(func(t *testing.T, body string, code int) {
		err := readProblem(&http.Response{StatusCode: code, Status: http.StatusText(code), Body: io.NopCloser(strings.NewReader(body))})
		if err == nil {
			t.Fatal("no error")
		}
		_ = err.Error()
	})
}
