package scope

import (
	"runtime"
	"strings"
	"testing"
)

// An expression that would build more than there is memory for fails, whichever way it builds; one that builds a little
// does not.
func TestExpressionsBuildLittle(t *testing.T) {
	big := "url" + strings.Repeat(".replace('', url)", 1) + strings.Repeat(".replace('a', 'aaaa')", 6)
	list := "[" + strings.TrimSuffix(strings.Repeat(big+",", 40), ",") + "]"
	bad := map[string]string{
		"replace":                 big + ".replace('', " + big + ").size() > 0",
		"replace, some":           big + ".replace('', " + big + ", 1000000).size() > 0",
		"replace, nested":         "url" + strings.Repeat(".replace('', url)", 40) + ".size() > 0",
		"join":                    "[1,2,3,4,5,6,7,8,9].map(x, " + big + ").join(" + big + ").size() > 0",
		"join, many":              list + ".join().size() > 0",
		"format, an argument":     "'%s%s%s%s'.format([" + big + ", " + big + ", " + big + ", " + big + "]) != ''",
		"format, of the URL":      "url.format([" + big + ", " + big + "]) != ''",
		"format, digits":          "'%.999999999f'.format([1.5]) != ''",
		"format, far more digits": "'%." + strings.Repeat("9", 400) + "f'.format([1.5]) != ''",
		"plus":                    "url" + strings.Repeat(".replace('a', 'aaaa')", 1) + strings.Repeat(" + "+big, 60) + " != ''",
	}
	u := &Subject{URL: "http://example.org/" + strings.Repeat("a", 200) + "%s%s"}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, text := range bad {
		e, err := NewExpression(text, nil)
		if err != nil {
			continue // it is refused at once
		}
		if yes, err := e.Eval(u); err == nil {
			t.Errorf("%s: %v without an error", name, yes)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 512<<20 {
		t.Errorf("%d bytes were built", n)
	}
	for _, text := range []string{"url.replace('a', 'b').startsWith('http://exbmple')", "['a', host].join('-') == 'a-example.org'",
		"['a', 'b'].join() == 'ab'", "'%s has %d and %.2f'.format([host, 3, 1.5]) == 'example.org has 3 and 1.50'", "url.replace('a', 'b', 1).size() > 9"} {
		e, err := NewExpression(text, nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if yes, err := e.Eval(u); !yes || err != nil {
			t.Errorf("%s: %v, %v", text, yes, err)
		}
	}
}
