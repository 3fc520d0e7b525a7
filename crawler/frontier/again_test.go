package frontier

import (
	"context"
	"errors"
	"testing"
)

// However far a commit came that was broken off, a URI that ended and is to come once more is in one place: where it
// was, or where it is to come; also if it moved there once more in the same commit.
func TestAgainIsCommittedAtOnce(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(f *Frontier, u URI) error{
		"stays": func(*Frontier, URI) error { return nil },
		"is more urgent": func(f *Frontier, u URI) error {
			u.Priority = High
			_, err := f.Force(u)
			return err
		},
		"goes to another queue": func(f *Frontier, _ URI) error { return f.Move(take(t, f), "other") },
		"goes there and back": func(f *Frontier, _ URI) error {
			if err := f.Move(take(t, f), "other"); err != nil {
				return err
			}
			return f.Move(take(t, f), "h")
		},
		"is forgotten and found": func(f *Frontier, u URI) error {
			_, err := f.Forget(u.key())
			add(t, f, u)
			return err
		},
		"has to come first": func(f *Frontier, u URI) error {
			if _, err := f.Finish(take(t, f), Outcome{Status: 200, Fetched: true}, nil); err != nil {
				return err
			}
			add(t, f, uri("needs", 0))
			return f.Defer(take(t, f), u)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 0; ; n++ {
				dir := t.TempDir()
				f := open(t, dir)
				add(t, f, uri("h", 0))
				commit(t, f)
				u := take(t, f)
				again := *u
				again.Led = "here"
				if _, err := f.Finish(u, Outcome{Status: 302, Fetched: true, Again: []URI{again}}, nil); err != nil {
					t.Fatal(err)
				}
				if err := move(f, again); err != nil {
					t.Fatal(err)
				}
				for i := range 20 { // the commit takes more than one transaction
					add(t, f, uri("more", 1+i))
				}
				broken := partly(f, n)
				if broken != nil && !errors.Is(broken, context.Canceled) {
					t.Fatal(broken)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				f = open(t, dir)
				verify(t, f)
				if err := f.Close(); err != nil || t.Failed() {
					t.Fatalf("broken off at transaction %d, %v", n, err)
				}
				if broken == nil {
					break
				}
			}
		})
	}
}
