package scope

import "strings"

// maxSegments is how many segments of a path are looked at for repetitions.
const maxSegments = 256

// segments counts the slashes of a path, as Heritrix counts its depth.
func segments(path string) int { return strings.Count(path, "/") }

// repeated returns a group of segments that a URI has more than most times in a row. It answers what
// Heritrix's expression .*?/(.*?/)\1{most,}.* does, for the first 256 segments.
func repeated(uri string, most int) (group string, times int) {
	if most < 1 || strings.Count(uri, "/") < most+2 {
		return "", 0
	}
	var ends [maxSegments + 1]int // a segment lies between two slashes
	n := 0
	for i := 0; i < len(uri) && n <= maxSegments; i++ {
		if uri[i] == '/' {
			ends[n] = i
			n++
		}
	}
	n-- // segments; the k-th is uri[ends[k]+1 : ends[k+1]]
	for period := 1; period*(most+1) <= n; period++ {
		run := 0
		for k := 0; k+period < n; k++ {
			if uri[ends[k]:ends[k+1]] != uri[ends[k+period]:ends[k+period+1]] {
				run = 0
				continue
			}
			if run++; run >= period*most {
				return uri[ends[k+1-run]+1 : ends[k+1-run+period]+1], most + 1
			}
		}
	}
	return "", 0
}

// fileExtension is what follows the last dot of a URI, in lower case, or "" where that is no extension.
func fileExtension(uri string, into *[8]byte) []byte {
	dot := strings.LastIndexByte(uri, '.')
	if dot < 0 || len(uri)-dot-1 > len(into) {
		return nil
	}
	ext := into[:0]
	for i := dot + 1; i < len(uri); i++ {
		c := uri[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		ext = append(ext, c)
	}
	return ext
}
