package api

import (
	"io"
	"net/http"
)

// ask sends the request and returns the answer's status and body.
func (b *backend) ask(r *http.Request) (int, string) {
	b.t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
