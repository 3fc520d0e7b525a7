package replay

import (
	"strings"
	"testing"
)

// TestAnyXMLIsLookedAt: browsers show XHTML under every media type of XML.
func TestAnyXMLIsLookedAt(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	const page = `<html xmlns="http://www.w3.org/1999/xhtml"><body><a href="http://live.example/">x</a></body></html>`
	for mime, rewritten := range map[string]bool{"application/unheard-of+xml": true, "Application/RDF+XML; charset=utf-8": true,
		"application/xml-dtd": false, "text/plain": false} {
		url := "http://example.com/" + strings.ToLower(strings.NewReplacer("/", "-", ";", "", " ", "", "+", "-").Replace(mime))
		b.response("20260301000000", url, "HTTP/1.1 200 OK\r\nContent-Type: "+mime+"\r\n", page)
		resp, body := get(t, server(t, s, Config{}), "/web/20260301000000/"+url)
		if resp.StatusCode != 200 || strings.Contains(body, `"/web/20260301000000/http://live.example/"`) != rewritten {
			t.Errorf("%s: %d %s", mime, resp.StatusCode, body)
		}
	}
}
