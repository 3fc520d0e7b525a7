package systemtest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Section is what stands under a heading of a document.
type Section struct {
	Heading string
	Blocks  []Block
}

// Block is a fenced block of a document. One of the language console is a transcript.
type Block struct {
	Language string
	Text     string
	Line     int // of its first line in the document, from 1
}

// Sections parts a Markdown document by its headings. What stands before the first has none.
func Sections(document string) []Section {
	all := []Section{{}}
	last := func() *Section { return &all[len(all)-1] }
	fenced := false
	for i, line := range strings.Split(document, "\n") {
		blocks := &last().Blocks
		switch {
		case strings.HasPrefix(line, "```"):
			if fenced = !fenced; fenced {
				*blocks = append(*blocks, Block{Language: line[3:], Line: i + 2})
			}
		case fenced:
			(*blocks)[len(*blocks)-1].Text += line + "\n"
		case strings.HasPrefix(line, "#"):
			all = append(all, Section{Heading: strings.TrimSpace(strings.TrimLeft(line, "#"))})
		}
	}
	return all
}

// Step is a command of a transcript, and what it shows.
type Step struct {
	Machine string // where it is typed; "" where the prompt names none
	Command string
	Want    []string
	Fails   bool // it is to end with another exit code than 0
	Line    int  // in the document
}

// asks is the command that asks for the exit code of the one before.
const asks = "echo $?"

var prompt = regexp.MustCompile(`^([a-z0-9-]*)\$ (.+)$`)

// Steps reads a transcript: a prompt (the machine's name and $) begins a command, which goes on in the next line
// after a backslash; the lines up to the next prompt are what it shows. Where echo $? follows, it tells the exit
// code.
func (b Block) Steps() (steps []Step, err error) {
	lines := strings.Split(strings.TrimSuffix(b.Text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		typed := prompt.FindStringSubmatch(lines[i])
		if typed == nil {
			if len(steps) == 0 {
				return nil, fmt.Errorf("line %d: a transcript begins with a prompt, not with %q", b.Line+i, lines[i])
			}
			last := &steps[len(steps)-1]
			last.Want = append(last.Want, lines[i])
			continue
		}
		s := Step{Machine: typed[1], Command: typed[2], Line: b.Line + i}
		for strings.HasSuffix(s.Command, "\\") && i+1 < len(lines) {
			i++
			s.Command = strings.TrimSuffix(s.Command, "\\") + strings.TrimSpace(lines[i])
		}
		steps = append(steps, s)
	}
	for i := range steps {
		asked := i+1 < len(steps) && steps[i+1].Command == asks
		steps[i].Fails = steps[i].fails() || asked && !slices.Equal(steps[i+1].Want, []string{"0"})
	}
	return steps, nil
}

// fails reports whether the command is to end with another exit code than 0: a message of the program's is among what
// is shown, or what a status finds.
func (s Step) fails() bool {
	return !strings.HasPrefix(s.Command, "journalctl ") && slices.ContainsFunc(s.Want, func(line string) bool {
		return strings.HasPrefix(line, "holdfast: ") || line == "Not healthy:"
	})
}

// Looks reports whether the command changes nothing, so that it can be typed again until it shows what is waited for.
func (s Step) Looks() bool {
	words := strings.Fields(s.Command)
	return len(words) > 1 && words[0] == "holdfast" &&
		(words[1] == "status" || words[1] == "peer" || s.Command == "holdfast cluster level" ||
			len(words) > 2 && (slices.Contains([]string{"list", "show"}, words[2]) || words[1] == "audit")) ||
		len(words) > 0 && words[0] == "journalctl"
}

// Shows compares what a command showed with what the transcript shows. In that, … within a line stands for any text,
// and … alone for any lines. Times, ids, sizes, addresses' ports, versions and numbers of a hundred and more may
// differ, and so may the room between words.
func (s Step) Shows(got string) error {
	want, have := fields(s.Want), fields(strings.Split(strings.Trim(got, "\n"), "\n"))
	if len(have) == 1 && have[0] == "" {
		have = nil
	}
	if i, ok := fits(want, have); !ok {
		missing := "nothing more"
		if i < len(want) {
			missing = strconv.Quote(s.Want[i])
		}
		return fmt.Errorf("line %d, %s: it does not show %s where the document does. It shows:\n%s", s.Line, s.Command,
			missing, got)
	}
	return nil
}

// fits compares lines, and tells how far it came at best.
func fits(want, have []string) (furthest int, ok bool) {
	switch {
	case len(want) == 0:
		return 0, len(have) == 0
	case want[0] == "…":
		for i := range len(have) + 1 {
			n, ok := fits(want[1:], have[i:])
			if furthest = max(furthest, n+1); ok {
				return furthest, true
			}
		}
		return furthest, false
	case len(have) == 0 || !pattern(want[0]).MatchString(have[0]):
		return 0, false
	}
	n, ok := fits(want[1:], have[1:])
	return n + 1, ok
}

func fields(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.Join(strings.Fields(line), " ")
	}
	return out
}

// varying are the forms of what differs from run to run: what has a form stands for all that has it.
var varying = []string{
	`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?`,
	`\d+(?:\.\d+)? (?:B|KiB|MiB|GiB|TiB)(?:/s)?`,
	`\d+(?:\.\d+)?(?:ms|µs|s|m\d+s)\b`,
	`\d+(?:\.\d+)? s\b`,
	`\([0-9a-f]{8}\)`,
	`\b[0-9a-f]{12}\b`,
	`\b[a-z2-7]{10}\b`,
	`\b[1-9]\d\d+\b`,
	`\bdevelopment\b|\bv\d+\.\d+\.\d+\S*`,
}

var (
	anyVarying = regexp.MustCompile(strings.Join(varying, "|"))
	idForm     = regexp.MustCompile(`^[a-z2-7]{10}$`)
)

// pattern is what a line of a transcript stands for.
func pattern(line string) *regexp.Regexp {
	var out strings.Builder
	literal := func(text string) {
		for i, part := range strings.Split(text, "…") {
			if i > 0 {
				out.WriteString(".*")
			}
			out.WriteString(regexp.QuoteMeta(part))
		}
	}
	at := 0
	for _, m := range anyVarying.FindAllStringIndex(line, -1) {
		found := line[m[0]:m[1]]
		if idForm.MatchString(found) && !strings.ContainsAny(found, "234567") {
			continue // a word of ten letters
		}
		literal(line[at:m[0]])
		for _, form := range varying {
			if regexp.MustCompile("^(?:" + form + ")$").MatchString(found) {
				out.WriteString("(?:" + form + ")")
				break
			}
		}
		at = m[1]
	}
	literal(line[at:])
	return regexp.MustCompile("^" + out.String() + "$")
}

// ErrNoCopied reports a word to copy that nothing showed.
var ErrNoCopied = errors.New("nothing that was shown begins so")

// Copied replaces each word that ends in … by the last word shown that begins as it does, as somebody copies it who
// has read it.
func Copied(command string, shown []string) (string, error) {
	words := strings.Split(command, " ")
	for i, word := range words {
		begins, cut := strings.CutSuffix(word, "…")
		if !cut {
			continue
		}
		j := len(shown) - 1
		for ; j >= 0 && (begins == "" || !strings.HasPrefix(shown[j], begins)); j-- {
			continue
		}
		if j < 0 {
			return "", fmt.Errorf("%s: %w", word, ErrNoCopied)
		}
		words[i] = shown[j]
	}
	return strings.Join(words, " "), nil
}
