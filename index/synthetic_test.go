package index

import (
	"iter"
	"math"

	"holdfast/cdx"
)

// synthetic yields n captures in order, of files of 20 000 captures each.
func synthetic(n int) iter.Seq2[cdx.Capture, error] {
	return func(yield func(cdx.Capture, error) bool) {
		for i := range n {
			c := syntheticCapture(i)
			if !yield(c, nil) {
				return
			}
		}
	}
}

// syntheticCapture makes the i-th: some 3 captures a URL, 50 URLs a host. It makes them cheaply, in one string, for
// benchmarks measure it too.
func syntheticCapture(i int) cdx.Capture {
	url := i / 3
	var room [300]byte
	b := append(room[:0], "https://www.host"...)
	b = appendPadded(b, url/50, 6)
	b = append(b, ".example.org/articles/2026/section-"...)
	path := len(b) - len("/articles/2026/section-")
	b = appendPadded(b, url%50, 2)
	b = append(b, "/page-"...)
	b = appendPadded(b, url%50, 4)
	b = append(b, ".html"...)
	key := len(b)
	b = append(b, "org,example,host"...)
	b = appendPadded(b, url/50, 6)
	b = append(b, ')')
	b = append(b, b[path:key]...)
	timestamp := len(b)
	b = append(b, "2026"...)
	b = appendPadded(b, 1+i%3, 2)
	b = append(b, "15103000"...)
	file := len(b)
	b = append(b, "12-3-20260115103000123-"...)
	b = appendPadded(b, i/20000%64, 5)
	b = append(b, "-north.warc.gz"...)
	digest := len(b)
	b = appendDigest(b, i)
	s := string(b)
	return cdx.Capture{
		Key: s[key:timestamp], Timestamp: s[timestamp:file], URL: s[:key], MIME: "text/html", Status: 200, Digest: s[digest:],
		Length: 4000 + int64(i%9000), Offset: int64(i%20000) * 9000, File: s[file:digest],
	}
}

func appendPadded(b []byte, n, digits int) []byte {
	for unit := int(math.Pow10(digits - 1)); unit > 0; unit /= 10 {
		b = append(b, byte('0'+n/unit%10))
	}
	return b
}

func syntheticDigest(i int) string { return string(appendDigest(nil, i)) }

func appendDigest(b []byte, i int) []byte {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	b = append(b, "sha1:"...)
	h := uint64(i)*0x9E3779B97F4A7C15 + 0x1234567
	for range 32 {
		h ^= h >> 29
		h *= 0xBF58476D1CE4E5B9
		b = append(b, letters[h>>59])
	}
	return b
}
