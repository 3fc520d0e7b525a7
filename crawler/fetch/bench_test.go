package fetch

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// smallPage is what most pages of the web are to a crawler: a few kilobytes behind a dozen header fields.
func smallPage() []byte {
	body := strings.Repeat("<p>some <a href=\"/x\">text</a> of a page</p>\n", 100)
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 01:00:00 GMT\r\nServer: Apache\r\nLast-Modified: Fri, 20 Nov 2026 10:00:00 GMT\r\n"+
		"ETag: \"3a-5e\"\r\nAccept-Ranges: bytes\r\nVary: Accept-Encoding\r\nCache-Control: max-age=60\r\nX-Frame-Options: DENY\r\n"+
		"Content-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// pageServer answers every request with the same bytes.
func pageServer(b *testing.B, answer []byte) string {
	at := listen(b, func(c net.Conn) {
		for r := bufio.NewReader(c); ; {
			for {
				line, err := r.ReadSlice('\n')
				if err != nil {
					return
				}
				if len(line) == 2 {
					break
				}
			}
			if _, err := c.Write(answer); err != nil {
				return
			}
		}
	})
	return "http://" + at + "/"
}

func BenchmarkSmallPage(b *testing.B) { benchFetch(b, pageServer(b, smallPage()), "") }

// BenchmarkSmallPageNetHTTP is the standard library's client, which digests and records nothing.
func BenchmarkSmallPageNetHTTP(b *testing.B) {
	benchGet(b, pageServer(b, smallPage()), &http.Transport{DisableCompression: true})
}

// securePage is a server of small pages over TLS that speaks HTTP/1.1 and HTTP/2.
func securePage(b *testing.B) string {
	page := smallPage()
	body := page[bytes.Index(page, []byte("\r\n\r\n"))+4:]
	s := secureServer(b, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write(body)
	})
	return s.URL + "/"
}

func benchFetch(b *testing.B, url string, mode HTTP2) {
	c := New(Config{UserAgent: "bench", Timeout: time.Minute, Idle: 10 * time.Second})
	defer c.Close()
	r := Request{Target: target(b, url), Addrs: loopback, HTTP2: mode}
	b.ReportAllocs()
	for b.Loop() {
		x := c.Fetch(b.Context(), r)
		if x.Status != 200 {
			b.Fatal(x.Err)
		}
		x.Release()
	}
}

func BenchmarkSmallPageTLS(b *testing.B) { benchFetch(b, securePage(b), HTTP2Never) }
func BenchmarkSmallPageH2(b *testing.B)  { benchFetch(b, securePage(b), HTTP2Preferred) }

// BenchmarkSmallPageH2NetHTTP is the standard library's client over HTTP/2.
func BenchmarkSmallPageH2NetHTTP(b *testing.B) {
	benchGet(b, securePage(b), &http.Transport{DisableCompression: true, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}})
}

func benchGet(b *testing.B, url string, by *http.Transport) {
	c := http.Client{Transport: by}
	defer c.CloseIdleConnections()
	b.ReportAllocs()
	for b.Loop() {
		resp, err := c.Get(url)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
	}
}
