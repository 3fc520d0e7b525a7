package api

import (
	"net/http"
	"testing"

	"holdfast/catalog"
)

// Whatever is answered, a refusal too, a browser takes it for no page of its own.
func TestAnswersAreNoPages(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleReader)
	for _, path := range []string{"/status", "/files/none/content", "/nothing", "/../../health", "/../../openapi.json"} {
		answer, err := http.DefaultClient.Do(b.request(c, http.MethodGet, path, ""))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
			"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'; sandbox",
			"Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer"} {
			if got := answer.Header.Values(name); len(got) != 1 || got[0] != want {
				t.Errorf("%s answers %d with %s %q", path, answer.StatusCode, name, got)
			}
		}
	}
}
