package revisit

import (
	"errors"
	"testing"
)

func TestHeadersPredict(t *testing.T) {
	const monday, tuesday = "Mon, 01 Jan 2024 00:00:00 GMT", "Tue, 02 Jan 2024 00:00:00 GMT"
	both := Headers{monday, `"a"`}
	for _, tt := range []struct {
		name        string
		before, now Headers
		want        [4]bool // whether schemes 1 to 4 predict a change
	}{
		{"both are what they were", both, both, [4]bool{false, false, false, false}},
		{"another date", both, Headers{tuesday, `"a"`}, [4]bool{true, false, false, true}},
		{"an older date", Headers{tuesday, `"a"`}, both, [4]bool{true, false, false, true}},
		{"another tag", both, Headers{monday, `"b"`}, [4]bool{false, true, false, true}},
		{"both are others", both, Headers{tuesday, `"b"`}, [4]bool{true, true, true, true}},
		{"no tag any more, same date", both, Headers{monday, ""}, [4]bool{false, true, false, false}},
		{"no tag any more, another date", both, Headers{tuesday, ""}, [4]bool{true, true, true, true}},
		{"no date any more, same tag", both, Headers{"", `"a"`}, [4]bool{true, false, false, false}},
		{"no date any more, another tag", both, Headers{"", `"b"`}, [4]bool{true, true, true, true}},
		{"a tag that was not there before, same date", Headers{monday, ""}, both, [4]bool{false, true, false, false}},
		{"a date that was not there before, another tag", Headers{"", `"b"`}, both, [4]bool{true, true, true, true}},
		{"none", Headers{}, Headers{}, [4]bool{true, true, true, true}},
		{"none any more", both, Headers{}, [4]bool{true, true, true, true}},
		{"one before, the other now", Headers{monday, ""}, Headers{"", `"a"`}, [4]bool{true, true, true, true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i, want := range tt.want {
				if got := Scheme(i+1).PredictsChange(tt.before, tt.now); got != want {
					t.Errorf("scheme %d (%s) predicts a change: %v, want %v", i+1, Scheme(i+1), got, want)
				}
			}
		})
	}
}

func TestSchemesAreOneToFour(t *testing.T) {
	for _, s := range []Scheme{ByTimestamp, ByETag, ByEither, ByBoth} {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []Scheme{0, 5, 255} {
		var refusal *Refusal
		if err := s.Check(); !errors.As(err, &refusal) || refusal.Setting != "scheme" {
			t.Errorf("scheme %d is refused with %v", uint8(s), err)
		}
		if !s.PredictsChange(Headers{"a", "b"}, Headers{"a", "b"}) {
			t.Errorf("scheme %d, which is none, predicts that nothing changed", uint8(s))
		}
	}
}

func TestAFullCopyEachYear(t *testing.T) {
	for _, tt := range []struct {
		name string
		last int64
		want bool
	}{
		{"never", 0, true}, {"today", noon - 1000, false}, {"364 days ago", noon - 364*msPerDay, false},
		{"365 days ago", noon - 365*msPerDay, true}, {"tomorrow, by a clock that ran back", noon + msPerDay, true},
	} {
		if got := FullCopyDue(tt.last, noon); got != tt.want {
			t.Errorf("%s: due %v, want %v", tt.name, got, tt.want)
		}
	}
}
