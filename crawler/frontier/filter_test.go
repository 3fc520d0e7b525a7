package frontier

import (
	"fmt"
	"testing"
)

func filterKey(n int) string { return fmt.Sprintf("http://host-%d.example/page-%d", n%1000, n) }

// A frontier that is opened again knows what was committed, however it got there, while its filter is read and after.
func TestFilterIsReadFromTheDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	const n = 5000
	for i := range n {
		add(t, f, uri(fmt.Sprintf("h%d", i%10), i))
	}
	if err := f.Never("http://never.example/", StatusDeleted, nil); err != nil {
		t.Fatal(err)
	}
	commit(t, f)
	lost := uri("h1", n+1)
	add(t, f, lost)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = open(t, dir)
	defer f.Close()
	known := func() {
		t.Helper()
		for i := range n {
			if add(t, f, uri(fmt.Sprintf("h%d", i%10), i)) {
				t.Fatalf("%d was taken again", i)
			}
		}
		if add(t, f, URI{URL: "http://never.example/", Queue: "never.example"}) {
			t.Error("what is never to be taken was")
		}
	}
	known()
	f.scanning.Wait()
	if !f.filter.complete {
		t.Fatal("the filter was not read")
	}
	f.seen = newSeenCache(seenSlots)
	known()
	if !add(t, f, lost) {
		t.Error("what was not committed is known")
	}
	if _, err := f.Forget(lost.key()); err != nil {
		t.Fatal(err)
	}
	if !add(t, f, lost) {
		t.Error("what was forgotten is known")
	}
}

// The URIs of a host lie together in the database, and URIs that differ have different keys there.
func TestFingerprintsOfAHostBeginAlike(t *testing.T) {
	t.Parallel()
	a, b := fingerprint("http://a.example/1"), fingerprint("https://a.example?2")
	if a == b || [hostBytes]byte(a[:hostBytes]) != [hostBytes]byte(b[:hostBytes]) {
		t.Errorf("%x, %x", a, b)
	}
	for _, other := range []string{"http://b.example/1", "dns:a.example", "", "//", "http://"} {
		if c := fingerprint(other); [hostBytes]byte(c[:hostBytes]) == [hostBytes]byte(a[:hostBytes]) {
			t.Errorf("%q begins as %x", other, a)
		}
	}
}
