//go:build browser

package replay

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/cdx"
	"holdfast/internal/browsertest"
)

// Every page of the handler's own as people see it: it fits the window, shows no message by its name, breaks no policy,
// asks for nothing elsewhere, and axe-core finds nothing (see browsertest.Check). So does an archived page under the bar.
func TestBrowserPages(t *testing.T) {
	b := browsertest.Start(t)
	s, build := newShelf()
	long := "http://example.com/" + strings.Repeat("abcdefghij", 20)
	build.html("20260101000000", long, `<!DOCTYPE html><html lang="en"><title>t</title><main><h1>Archived</h1></main>`)
	pages := ownPages()
	pages["/web/*/"+long], pages["/web/*/"+long+"*"], pages["/web/20260101000000/"+long] = 200, 200, 200
	pages["/web/2026/"+long+"/none/<script>alert(1)</script>"] = 404
	full := filled()
	full.captures = append(full.captures, s.captures...)
	maps.Copy(full.files, s.files)
	slices.SortStableFunc(full.captures, func(a, c cdx.Capture) int { return a.Compare(&c) })
	srv := server(t, full, Config{Policy: inForce(blocking()), Title: "Lindhaven <script>alert(1)</script>"})
	tab := b.Open(t, srv.URL, browsertest.View{Width: 1440})
	for i, path := range slices.Sorted(maps.Keys(pages)) {
		for n := range 2 { // light and dark
			for _, v := range browsertest.Variants(2*i + n) {
				status := 0
				if pages[path] != http.StatusOK {
					status = pages[path]
				}
				tab.Look(t, v.View)
				tab.Go(t, "/_/"+v.Tag+path)
				tab.Check(t, fmt.Sprintf("replay%s-%s", path[:min(len(path), 80)], v), status)
			}
		}
	}
}
