package fetch

import (
	"testing"
	"time"
)

// TestHiddenCookiesStayHidden keeps cookies over a restart after the setting that made them secret is gone.
func TestHiddenCookiesStayHidden(t *testing.T) {
	j, again := NewJar(0), NewJar(0)
	before := j.Changes()
	if j.Hide(); j.Changes() == before {
		t.Error("that cookies are hidden now would not be kept")
	}
	data, err := j.Export()
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Import(data, time.Now()); err != nil || !again.Hidden() {
		t.Errorf("hidden: %t, %v", again.Hidden(), err)
	}
}

func TestHiddenCookies(t *testing.T) {
	for in, want := range map[string]string{"a=b": "a=redacted", "a=b=c; d=e;f": "a=redacted; d=redacted; redacted", "x": "redacted", "=x": "=redacted"} {
		if got := hiddenCookies(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
