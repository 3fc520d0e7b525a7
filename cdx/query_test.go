package cdx

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
)

func TestRange(t *testing.T) {
	for _, tt := range []struct {
		url       string
		match     Scope
		low, high string
	}{
		{"http://example.com/path/file.html", Exact, "com,example)/path/file.html", "com,example)/path/file.html\x00"},
		{"http://example.com/path/file.html", Prefix, "com,example)/path/file.html", "com,example)/path/file.htmm"},
		{"http://example.com/path/", Prefix, "com,example)/path/", "com,example)/path0"},
		{"http://example.com/path/?", Prefix, "com,example)/path?", "com,example)/path@"},
		{"http://example.com/path/file.html", Host, "com,example)/", "com,example*"},
		{"http://example.com/path/file.html", Domain, "com,example)/", "com,example-"},
		{"http://example.com:8070/", Domain, "com,example:8070)/", "com,example:8070-"},
		{"com", Domain, "com,", "com-"},
	} {
		low, high, err := Query{URL: tt.url, Match: tt.match}.Range()
		if err != nil || low != tt.low || high != tt.high {
			t.Errorf("Range(%s %s) = %q, %q, %v; want %q, %q", tt.match, tt.url, low, high, err, tt.low, tt.high)
		}
	}
	// A domain's hosts do not sort beside it; all of them must be in its range.
	low, high, _ := Query{URL: "example.com", Match: Domain}.Range()
	for _, url := range []string{"http://example.com/", "http://sub.example.com/x", "http://a.b.example.com/"} {
		if key, _ := Key(url); key < low || key >= high {
			t.Errorf("%s is not in the domain's range", url)
		}
	}
	for _, url := range []string{"http://example-site.com/", "http://examples.com/", "http://com/"} {
		if key, _ := Key(url); key >= low && key < high {
			t.Errorf("%s is in the domain's range", url)
		}
	}
}

func TestPattern(t *testing.T) {
	for _, tt := range []struct {
		in, url string
		match   Scope
	}{
		{"*.example.com", "example.com", Domain},
		{"*.example.com/*", "example.com", Domain},
		{"http://example.com/a*", "http://example.com/a", Prefix},
		{"http://example.com/", "http://example.com/", Exact},
	} {
		if url, match := Pattern(tt.in); url != tt.url || match != tt.match {
			t.Errorf("Pattern(%q) = %q, %s", tt.in, url, match)
		}
	}
}

func TestPlanMatch(t *testing.T) {
	c := Capture{Key: "com,example)/a", Timestamp: "20260401120000", URL: "http://example.com/a",
		MIME: "text/html", Status: 200, Digest: "sha1:AAAA", File: "x.warc.gz"}
	for _, tt := range []struct {
		name  string
		query Query
		want  bool
	}{
		{"plain", Query{}, true},
		{"from inside", Query{From: "202604"}, true},
		{"from after", Query{From: "202605"}, false},
		{"to inside", Query{To: "202604"}, true},
		{"to before", Query{To: "202603"}, false},
		{"exact status", Query{Filters: []string{"=status:200"}}, true},
		{"exact status wrong", Query{Filters: []string{"=status:20"}}, false},
		{"contains", Query{Filters: []string{"status:20"}}, true},
		{"not contains", Query{Filters: []string{"!mime:html"}}, false},
		{"expression matches at the start", Query{Filters: []string{"~mime:html"}}, false},
		{"expression", Query{Filters: []string{"~mimetype:text/.*"}}, true},
		{"not expression", Query{Filters: []string{"!~mime:image/.*"}}, true},
		{"alternatives stay anchored", Query{Filters: []string{"~mime:x|html"}}, false},
		{"all must hold", Query{Filters: []string{"~mime:text/.*", "=status:404"}}, false},
		{"whole line", Query{Filters: []string{"sha1"}}, true},
		{"other URL", Query{URL: "http://example.com/b"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.query.URL == "" {
				tt.query.URL = c.URL
			}
			plan, err := tt.query.Compile()
			if err != nil {
				t.Fatal(err)
			}
			if got := plan.Match(&c); got != tt.want {
				t.Errorf("Match = %v", got)
			}
		})
	}
	for _, bad := range []Query{{Match: "near"}, {Sort: "random"}, {Limit: -1}, {Filters: []string{"~mime:("}},
		{Filters: []string{"colour:red"}}} {
		bad.URL = "http://example.com/"
		if _, err := bad.Compile(); !errors.Is(err, ErrQuery) {
			t.Errorf("Compile(%+v) = %v; want ErrQuery", bad, err)
		}
	}
}

// stream yields captures given as "key time file", then the errors.
func stream(errs []error, lines ...string) iter.Seq2[Capture, error] {
	return func(yield func(Capture, error) bool) {
		for _, line := range lines {
			f := strings.Fields(line)
			if !yield(Capture{Key: f[0], Timestamp: f[1], File: f[2]}, nil) {
				return
			}
		}
		for _, err := range errs {
			if !yield(Capture{}, err) {
				return
			}
		}
	}
}

func read(seq iter.Seq2[Capture, error]) ([]string, error) {
	var out []string
	var last error
	for c, err := range seq {
		if err != nil {
			last = err
			continue
		}
		out = append(out, fmt.Sprintf("%s %s %s", c.Key, c.Timestamp, c.File))
	}
	return out, last
}

func TestMerge(t *testing.T) {
	broken := errors.New("broken")
	got, err := read(Merge(
		stream([]error{&Incomplete{Shards: []int{9, 4}}}, "a 2001 f1", "c 2001 f1"),
		stream(nil, "a 2001 f1", "a 2001 f2", "b 2001 f2", "c 2002 f2"),
		stream([]error{broken}, "a 2000 f3"),
		stream([]error{&Incomplete{Shards: []int{4, 5}}}),
	))
	want := []string{"a 2000 f3", "a 2001 f1", "a 2001 f2", "b 2001 f2", "c 2001 f1", "c 2002 f2"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	var incomplete *Incomplete
	if !errors.Is(err, broken) || !errors.As(err, &incomplete) || !slices.Equal(incomplete.Shards, []int{4, 5, 9}) {
		t.Errorf("error %v", err)
	}
	for c := range Merge(stream(nil, "a 1 f", "b 1 f"), stream(nil, "c 1 f")) {
		if c.Key != "a" {
			t.Errorf("first is %v", c)
		}
		break // must leave no goroutine behind; the race detector and goleak would tell
	}
}

func TestArrange(t *testing.T) {
	lines := []string{"a 20200101000000 1", "a 20210101000000 2", "a 20220101000000 3", "a 20230101000000 4", "a 20230101000001 5"}
	for _, tt := range []struct {
		name  string
		query Query
		want  string
	}{
		{"as it is", Query{}, "12345"},
		{"limit", Query{Limit: 2}, "12"},
		{"reverse", Query{Sort: Reverse}, "54321"},
		{"reverse, limit", Query{Sort: Reverse, Limit: 3}, "543"},
		{"closest", Query{Sort: Closest, Closest: "20220301"}, "34521"},
		{"closest, limit", Query{Sort: Closest, Closest: "20220301", Limit: 2}, "34"},
		{"closest, earlier of two", Query{Sort: Closest, Closest: "20220702120000", Limit: 1}, "3"},
		{"closest to the end of time", Query{Sort: Closest, Closest: "9999", Limit: 2}, "54"},
		{"collapse", Query{Collapse: 4}, "1234"},
		{"collapse, then reverse", Query{Collapse: 4, Sort: Reverse, Limit: 2}, "43"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			broken := errors.New("broken")
			var got string
			var last error
			for c, err := range Arrange(tt.query, stream([]error{broken}, lines...)) {
				got, last = got+c.File, err
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if cut := tt.query.Limit > 0 && tt.query.Sort == Forward; !cut && !errors.Is(last, broken) {
				t.Errorf("the error was lost: %v", last)
			}
		})
	}
}
