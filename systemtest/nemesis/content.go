package nemesis

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Contents makes the bytes of every file that a trial puts. A name has several variants; which one the archive takes is
// the archive's choice, but it must keep to it.
type Contents struct{ Seed uint64 }

// Variants is how many contents a name has.
const Variants = 3

func (c Contents) random(name string, variant int) *rand.ChaCha8 {
	var key [32]byte
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%d/%s", c.Seed, variant, name))
	copy(key[:], sum[:])
	return rand.NewChaCha8(key)
}

// Bytes returns a variant of the file.
func (c Contents) Bytes(name string, variant int) []byte {
	if IsPages(name) {
		return c.pages(name, variant)
	}
	size := c.size(name)
	if variant%2 == 1 && size > 0 {
		size += variant // some variants have the size of others, some have not
	}
	all := make([]byte, size)
	_, _ = c.random(name, variant).Read(all)
	return all
}

func (c Contents) size(name string) int {
	r := rand.New(c.random(name, -1))
	switch r.IntN(10) {
	case 0:
		return r.IntN(2)
	case 1, 2, 3:
		return 1 + r.IntN(3_000)
	case 4, 5, 6, 7:
		return 1 + r.IntN(300_000)
	}
	return 1 + r.IntN(4<<20)
}

// Sum returns the SHA-256 of bytes as the API writes it.
func Sum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Page is a captured page.
type Page struct {
	URL  string
	Body []byte
}

// IsPages reports whether a file of the name holds captures.
func IsPages(name string) bool { return strings.Contains(name, ".warc") }

// pagesPerFile is how many captures a file of pages holds.
const pagesPerFile = 12

// Pages returns the captures in a variant of a file of pages.
func (c Contents) Pages(name string, variant int) []Page {
	r := rand.New(c.random(name, variant))
	host, _, _ := strings.Cut(name, ".")
	var pages []Page
	for i := range pagesPerFile {
		body := make([]byte, 16+r.IntN(40_000))
		for at := 0; at < len(body); at += 8 {
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], r.Uint64())
			copy(body[at:], hex.AppendEncode(nil, word[:4]))
		}
		pages = append(pages, Page{URL: fmt.Sprintf("http://%s.test/%d", host, i), Body: body})
	}
	return pages
}

// pages returns a WARC file of the captures. Names with .gz have a gzip member a record; some files have block digests.
func (c Contents) pages(name string, variant int) []byte {
	var out bytes.Buffer
	digests := c.size(name)%2 == 0
	for i, page := range c.Pages(name, variant) {
		block := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s",
			len(page.Body), page.Body)
		digest := ""
		if digests {
			digest = "WARC-Block-Digest: sha256:" + Sum(block) + "\r\n"
		}
		id := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", name, variant, i))
		record := fmt.Appendf(nil, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: "+
			"<urn:uuid:%x-%x-4%x-8%x-%x>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"+
			"WARC-Target-URI: %s\r\n%sContent-Type: application/http;msgtype=response\r\nContent-Length: "+
			"%d\r\n\r\n%s\r\n\r\n",
			id[:4], id[4:6], id[6:8], id[8:10], id[10:16], page.URL, digest, len(block), block)
		if strings.HasSuffix(name, ".gz") {
			member := gzip.NewWriter(&out)
			_, _ = member.Write(record)
			_ = member.Close()
		} else {
			out.Write(record)
		}
	}
	return out.Bytes()
}
