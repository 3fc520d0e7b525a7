package nemesis

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

var contents = Contents{Seed: 7}

// at gives an act its time: tenths of seconds.
func at(begin, end int, o Op) Op {
	const tick = 100 * time.Millisecond
	o.Begin, o.End = time.Duration(begin)*tick+1, time.Duration(end)*tick
	o.Clean = o.Status != 0
	return o
}

func put(name string, variant, status int) Op {
	o := Op{Act: Put, Subject: name, Variant: variant, Status: status}
	if status == 201 {
		o.Digest = Sum(contents.Bytes(name, variant))
	}
	return o
}

func final(name string, variant int) Op {
	return Op{Act: FinalRead, Subject: name, Status: 200, Digest: Sum(contents.Bytes(name, variant))}
}

func got(name string, variant int) Op {
	whole := contents.Bytes(name, variant)
	return Op{Act: Get, Subject: name, Status: 200, Digest: Sum(whole), Sum: Sum(whole), Size: int64(len(whole))}
}

func span(name string, from, to int64, body []byte) Op {
	whole := contents.Bytes(name, 0)
	return Op{Act: Range, Subject: name, From: from, To: to, Status: 206, Digest: Sum(whole), Sum: Sum(body), Size: int64(len(body)),
		Span: fmt.Sprintf("bytes %d-%d/%d", from, min(to, int64(len(whole))-1), len(whole))}
}

// large returns a name whose file has more than a few bytes.
func large() string {
	for i := 0; ; i++ {
		if name := fmt.Sprintf("file-%d.bin", i); contents.size(name) > 10_000 {
			return name
		}
	}
}

// empty returns a name whose file has no bytes.
func empty() string {
	for i := 0; ; i++ {
		if name := fmt.Sprintf("file-%d.bin", i); contents.size(name) == 0 {
			return name
		}
	}
}

func flipped(b []byte) []byte {
	b = slices.Clone(b)
	b[len(b)/2] ^= 4
	return b
}

// TestCheckHistory plants a violation in small histories, and has some without any.
func TestCheckHistory(t *testing.T) {
	name := large()
	whole := contents.Bytes(name, 0)
	page := contents.Pages("p.warc", 0)[3]
	tests := []struct {
		name string
		ops  []Op
		want string // the kind of violation
	}{
		{"all is well", []Op{at(0, 1, put(name, 0, 201)), at(1, 2, put(name, 1, 409)), at(2, 3, got(name, 0)), at(3, 4, final(name, 0)),
			at(2, 3, span(name, 100, 299, whole[100:300])), at(2, 3, span(name, 100, 1<<40, whole[100:]))}, ""},
		{"a bit is flipped", []Op{at(0, 1, put(name, 0, 201)), at(1, 2, Op{Act: Get, Subject: name, Status: 200, Digest: Sum(whole), Sum: Sum(flipped(whole))})}, "wrong bytes"},
		{"a bit is flipped, but the connection is cut", []Op{{Act: Get, Subject: name, Status: 200, Digest: Sum(whole), Sum: Sum(flipped(whole))}}, ""},
		{"a bit of a range is flipped", []Op{at(1, 2, span(name, 100, 299, flipped(whole[100:300])))}, "wrong bytes"},
		{"the wrong range", []Op{at(1, 2, span(name, 100, 299, whole[101:301]))}, "wrong bytes"},
		{"a digest that nobody put", []Op{at(1, 2, Op{Act: Get, Subject: name, Status: 200, Digest: Sum(nil), Sum: Sum(nil)})}, "wrong bytes"},
		{"a wrong size", []Op{at(1, 2, Op{Act: Head, Subject: name, Status: 200, Digest: Sum(whole), Size: 3})}, "wrong bytes"},
		{"a page", []Op{at(1, 2, Op{Act: Replay, Subject: "p.warc", From: 3, Status: 200, Sum: Sum(page.Body)})}, ""},
		{"a wrong page", []Op{at(1, 2, Op{Act: Replay, Subject: "p.warc", From: 2, Status: 200, Sum: Sum(page.Body)})}, "wrong page"},
		{"a false promise", []Op{at(1, 2, Op{Act: Put, Subject: name, Lie: true, Status: 201, Digest: Sum(whole)})}, "promise ignored"},
		{"a false promise is refused", []Op{at(1, 2, Op{Act: Put, Subject: name, Lie: true, Status: 422})}, ""},
		{"other bytes than were put", []Op{at(1, 2, Op{Act: Put, Subject: name, Variant: 1, Status: 201, Digest: Sum(whole)})}, "other bytes taken"},
		{"an internal error", []Op{at(1, 2, put(name, 0, 500))}, "answer 500"},
		{"a conflict with nobody", []Op{at(0, 1, put(name, 0, 201)), at(1, 2, put(name, 0, 409))}, "needless conflict"},
		{"two contents of one name", []Op{at(0, 1, put(name, 0, 201)), at(1, 2, put(name, 1, 201))}, "not linearizable"},
		{"two contents at once", []Op{at(0, 9, put(name, 0, 201)), at(1, 2, put(name, 1, 201))}, "not linearizable"},
		{"another content in the end", []Op{at(0, 1, put(name, 0, 201)), at(1, 2, put(name, 1, 503)), at(8, 9, final(name, 1))}, "not linearizable"},
		{"an unknown put happened", []Op{at(0, 1, put(name, 1, 503)), at(1, 2, put(name, 0, 409)), at(8, 9, final(name, 1))}, ""},
		{"an unknown put did not happen", []Op{at(0, 1, put(name, 1, 503)), at(1, 2, put(name, 0, 201)), at(8, 9, final(name, 0))}, ""},
		{"a refused put happened", []Op{at(0, 1, put(name, 1, 404)), at(8, 9, final(name, 1))}, "not linearizable"},
		{"acknowledged and gone", []Op{at(0, 1, put(name, 0, 201)), at(8, 9, Op{Act: FinalRead, Subject: name, Status: 200})}, "not linearizable"},
		{"nothing twice", []Op{at(0, 1, put(empty(), 1, 201)), at(1, 2, put(empty(), 0, 201)), at(8, 9, final(empty(), 2))}, ""},
		{"weights", []Op{at(0, 1, weight(10)), at(1, 2, weight(20)), at(8, 9, finally(20))}, ""},
		{"a weight was lost", []Op{at(0, 1, weight(10)), at(1, 2, weight(20)), at(8, 9, finally(10))}, "not linearizable"},
		{"weights at once", []Op{at(0, 2, weight(10)), at(1, 3, weight(20)), at(8, 9, finally(10))}, ""},
		{"a refused weight", []Op{at(0, 1, weight(10)), at(1, 2, Op{Act: Weight, Subject: "weight n", Value: 20, Status: 422}), at(8, 9, finally(20))}, "not linearizable"},
		{"an unknown weight was not set", []Op{at(0, 1, unanswered(70)), at(8, 9, finally(100))}, ""},
		{"an unknown weight was set", []Op{at(0, 1, unanswered(70)), at(8, 9, finally(70))}, ""},
		{"a weight of nobody", []Op{at(0, 1, unanswered(70)), at(8, 9, finally(80))}, "not linearizable"},
		{"job numbers", []Op{at(0, 1, job(1)), at(2, 3, job(3)), at(2, 4, job(2))}, ""},
		{"a job number twice", []Op{at(0, 1, job(1)), at(2, 3, job(1))}, "not linearizable"},
		{"an earlier job number", []Op{at(0, 1, job(2)), at(2, 3, job(1))}, "not linearizable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i := range tt.ops {
				tt.ops[i].ID = i
			}
			found := CheckHistory(contents, tt.ops)
			switch {
			case tt.want == "" && len(found) > 0:
				t.Errorf("found %v", found)
			case tt.want != "" && !slices.ContainsFunc(found, func(v Violation) bool { return v.Kind == tt.want }):
				t.Errorf("found %v, want %q", found, tt.want)
			}
		})
	}
}

func weight(n int64) Op {
	return Op{Act: Weight, Subject: "weight n", Value: n, Status: 200}
}

func unanswered(n int64) Op {
	return Op{Act: Weight, Subject: "weight n", Value: n, Status: 503}
}

func finally(n int64) Op {
	return Op{Act: FinalRead, Subject: "weight n", Value: n, Status: 200}
}

func job(n int64) Op { return Op{Act: NewJob, Subject: "job", Value: n, Status: 201} }
