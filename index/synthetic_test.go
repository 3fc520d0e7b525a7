package index

import (
	"fmt"
	"iter"

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

// syntheticCapture makes the i-th: some 3 captures a URL, 50 URLs a host.
func syntheticCapture(i int) cdx.Capture {
	url := i / 3
	host := fmt.Sprintf("host%06d", url/50)
	path := fmt.Sprintf("/articles/2026/section-%02d/page-%04d.html", url%50, url%50)
	return cdx.Capture{
		Key: "org,example," + host + ")" + path, Timestamp: fmt.Sprintf("2026%02d15103000", 1+i%3), URL: "https://www." + host + ".example.org" + path,
		MIME: "text/html", Status: 200, Digest: syntheticDigest(i), Length: 4000 + int64(i%9000), Offset: int64(i%20000) * 9000,
		File: fmt.Sprintf("12-3-20260115103000123-%05d-north.warc.gz", i/20000%64),
	}
}

func syntheticDigest(i int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	b := []byte("sha1:")
	h := uint64(i)*0x9E3779B97F4A7C15 + 0x1234567
	for range 32 {
		h ^= h >> 29
		h *= 0xBF58476D1CE4E5B9
		b = append(b, letters[h>>59])
	}
	return string(b)
}
