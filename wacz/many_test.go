package wacz

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkManyParts checks a WACZ of many small parts: each is looked up once.
func BenchmarkManyParts(b *testing.B) {
	const n = 30_000
	parts, list := make([]string, 0, 2*n+2), make([]string, 0, n)
	for i := range n {
		path := fmt.Sprintf("archive/a-file-with-a-long-name-%06d.warc", i)
		parts = append(parts, path, "")
		list = append(list, fmt.Sprintf(`{"path":"%s","hash":"%s","bytes":0}`, path, emptySum))
	}
	r, err := open(zipped(b, append(parts, "datapackage.json", `{"resources":[`+strings.Join(list, ",")+`]}`)...))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := r.Check(b.Context(), func(int) {}); err != nil {
			b.Fatal(err)
		}
	}
}
