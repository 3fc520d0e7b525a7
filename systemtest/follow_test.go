//go:build e2e

package systemtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// follower does what a document says, on machines that are like those of which it tells.
type follower struct {
	t        *testing.T
	machines map[string]*Machine
	config   string   // the cluster.toml that all machines have, as the document has it; none if empty
	shown    []string // words, in the order in which they were shown
}

// follow does what stands under a heading: transcripts are typed, and settings are written into each machine's
// cluster.toml.
func (f *follower) follow(s Section) {
	for _, b := range s.Blocks {
		switch b.Language {
		case "console":
			steps, err := b.Steps()
			check(f.t, err)
			for _, step := range steps {
				f.step(step)
			}
		case "toml":
			f.configure(b)
		}
	}
}

// step types a command and compares what it shows and how it ends.
func (f *follower) step(s Step) {
	m := f.machines[s.Machine]
	if m == nil {
		f.t.Fatalf("line %d: there is no machine %q", s.Line, s.Machine)
	}
	command, err := Copied(s.Command, f.shown)
	if err != nil {
		f.t.Fatalf("line %d: %v", s.Line, err)
	}
	began := time.Now()
	out, text := f.typed(m, command)
	wrong := shows(s, out, text)
	switch {
	case wrong == nil:
	case s.Looks(): // it is typed until it shows what the document does, as somebody does who waits for that
		wrong = Eventually(f.t.Context(), 90*time.Second, func() error {
			time.Sleep(300 * time.Millisecond)
			out, text = f.typed(m, command)
			return shows(s, out, text)
		})
	case strings.HasSuffix(command, "&"): // it goes on, and shows more
		wrong = Eventually(f.t.Context(), 30*time.Second, func() error {
			text, err = out.Text()
			return errors.Join(err, s.Shows(text))
		})
	}
	f.t.Logf("%5.1f s  %s$ %s\n%s", time.Since(began).Seconds(), s.Machine, command, text)
	f.shown = append(f.shown, strings.Fields(text)...)
	if wrong != nil {
		f.t.Fatal(wrong)
	}
}

func (f *follower) typed(m *Machine, command string) (Output, string) {
	out, err := m.Type(f.t.Context(), command)
	check(f.t, err)
	text, err := out.Text()
	check(f.t, err)
	return out, text
}

func shows(s Step, out Output, text string) error {
	if err := s.Shows(text); err != nil {
		return err
	}
	if (out.Code != 0) != s.Fails {
		return fmt.Errorf("line %d, %s: exit code %d. It shows:\n%s", s.Line, s.Command, out.Code, text)
	}
	return nil
}

var where = regexp.MustCompile(`^# (?:at the (top|end)|in the \[\[node\]\] of ([a-z0-9-]+))`)

// configure writes settings into the cluster.toml of all machines, where the block's first line says.
func (f *follower) configure(b Block) {
	place := where.FindStringSubmatch(b.Text)
	if place == nil {
		f.t.Fatalf("line %d: the first line of settings says where they belong, as: # at the end", b.Line)
	}
	switch {
	case place[1] == "end":
		f.config += "\n" + b.Text
	case place[1] == "top":
		top, rest, _ := strings.Cut(f.config, "[[replica]]")
		f.config = top + b.Text + "\n[[replica]]" + rest
	default:
		name := fmt.Sprintf("name = %q\n", place[2])
		before, after, found := strings.Cut(f.config, "[[node]]\n"+name)
		if !found {
			f.t.Fatalf("line %d: there is no node %s", b.Line, place[2])
		}
		f.config = before + "[[node]]\n" + name + b.Text + after
	}
	f.write()
}

func (f *follower) write() {
	for _, m := range f.machines {
		check(f.t, m.Configure(f.config))
	}
}

// sections reads a document of this repository.
func sections(t *testing.T, path string) []Section {
	text, err := os.ReadFile(filepath.Join("..", path))
	check(t, err)
	return Sections(string(text))
}

// block returns the only block of a language under a heading.
func (s Section) block(t *testing.T, language string) Block {
	var found []Block
	for _, b := range s.Blocks {
		if b.Language == language {
			found = append(found, b)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s has %d blocks of %s", s.Heading, len(found), language)
	}
	return found[0]
}

// at makes machines of these names on a network of their own, each with the program.
func (f *follower) at(net *Network, program, dir string, hosts []string) {
	names := []string{}
	for i, name := range hosts {
		names = append(names, name+".example.org", net.IP(i+1))
	}
	f.machines = map[string]*Machine{}
	for i, name := range hosts {
		m, err := NewMachine(name, filepath.Join(dir, name), program, net.Enter(i+1), names...)
		check(f.t, err)
		f.t.Cleanup(m.Close)
		f.machines[name] = m
		_, err = m.Type(f.t.Context(), "export HOLDFAST_CONFIG=/etc/holdfast/cluster.toml HOLDFAST_NODE="+name)
		check(f.t, err)
	}
	f.write()
}
