package nemesis

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// CheckHistory checks what clients were answered.
func CheckHistory(c Contents, ops []Op) []Violation {
	var all []Violation
	for _, check := range []func(Contents,
		[]Op) []Violation{wrongBytes, brokenPromises, internalErrors, needlessConflicts, notLinear} {
		all = append(all, check(c, ops)...)
	}
	return all
}

func violation(kind string, o Op, format string, args ...any) Violation {
	return Violation{Kind: kind, About: o.Subject, Near: o.End, Detail: fmt.Sprintf(format, args...) + "\n      " +
		o.String()}
}

// wrongBytes finds answers that ended cleanly with bytes that are not those of the file that they name.
func wrongBytes(c Contents, ops []Op) (bad []Violation) {
	known := cache{contents: c, all: map[string][][]byte{}}
	for _, o := range ops {
		if !o.OK() {
			continue
		}
		switch o.Act {
		case Get, Range, Head:
			if why := known.differs(o); why != "" {
				bad = append(bad, violation("wrong bytes", o, "%s", why))
			}
		case Replay:
			page := c.Pages(o.Subject, 0)[o.From]
			if o.Sum != Sum(page.Body) {
				bad = append(bad, violation("wrong page", o, "the page has %d bytes, SHA-256 %.12s", len(page.Body),
					Sum(page.Body)))
			}
		}
	}
	return bad
}

// cache keeps the contents of names, which take time to make.
type cache struct {
	contents Contents
	all      map[string][][]byte
}

func (k cache) of(name string) [][]byte {
	if k.all[name] == nil {
		for v := range Variants {
			k.all[name] = append(k.all[name], k.contents.Bytes(name, v))
		}
	}
	return k.all[name]
}

// differs says what is wrong with a clean answer, "" if nothing.
func (k cache) differs(o Op) string {
	i := slices.IndexFunc(k.of(o.Subject), func(b []byte) bool { return Sum(b) == o.Digest })
	if i < 0 {
		return "it names a digest that nobody put"
	}
	whole := k.of(o.Subject)[i]
	size := int64(len(whole))
	switch {
	case o.Act == Head && o.Size != size:
		return fmt.Sprintf("the file has %d bytes", size)
	case o.Act == Get && o.Sum != o.Digest:
		return fmt.Sprintf("the file has %d bytes, SHA-256 %.12s", size, o.Digest)
	case o.Act == Range && o.Status == 206:
		to := min(o.To, size-1)
		if o.From > to || o.Span != fmt.Sprintf("bytes %d-%d/%d", o.From, to, size) {
			return fmt.Sprintf("the range is %q", o.Span)
		}
		if want := Sum(whole[o.From : to+1]); o.Sum != want {
			return fmt.Sprintf("the range has SHA-256 %.12s", want)
		}
	case o.Act == Range && o.Sum != o.Digest:
		return "it is neither the range nor the file"
	}
	return ""
}

// brokenPromises finds files that were taken with a digest that their bytes do not have.
func brokenPromises(c Contents, ops []Op) (bad []Violation) {
	for _, o := range ops {
		if o.Act != Put || !o.OK() {
			continue
		}
		if o.Lie {
			bad = append(bad, violation("promise ignored", o, "the bytes do not have the digest that was promised"))
		} else if want := Sum(c.Bytes(o.Subject, o.Variant)); o.Digest != want {
			bad = append(bad, violation("other bytes taken", o, "SHA-256 %.12s was put", want))
		}
	}
	return bad
}

// internalErrors finds answers that say only that something broke inside.
func internalErrors(_ Contents, ops []Op) (bad []Violation) {
	for _, o := range ops {
		if o.Status == 500 {
			bad = append(bad, violation("answer 500", o, "every refusal has a reason that the caller can act on"))
		}
	}
	return bad
}

// needlessConflicts finds puts that were refused for other bytes under the name that nobody had sent.
func needlessConflicts(_ Contents, ops []Op) (bad []Violation) {
	for _, o := range ops {
		if o.Act != Put || o.Status != 409 || o.Lie {
			continue
		}
		if !slices.ContainsFunc(ops, func(p Op) bool {
			return p.Act == Put && p.Subject == o.Subject && (p.Variant != o.Variant || p.Lie) && p.Begin < o.End
		}) {
			bad = append(bad, violation("needless conflict", o, "nobody had put other bytes"))
		}
	}
	return bad
}

// change is an act on one subject as the models see it.
type change struct {
	act   Act
	value int64 // of a write or a read; for files the variant, -1 for none
	maybe bool  // nobody knows whether it happened
}

// never is later than anything: when the outcome of a change is not known, it may happen until then.
const never = int64(1) << 62

// notLinear finds subjects whose answers no order of the acts explains.
func notLinear(c Contents, ops []Op) (bad []Violation) {
	for subject, events := range histories(c, ops) {
		model := register
		if strings.HasPrefix(subject, "job") {
			model = counter
		}
		if porcupine.CheckOperationsTimeout(model, events, 20*time.Second) == porcupine.Illegal {
			bad = append(bad, Violation{Kind: "not linearizable", About: strings.TrimPrefix(subject, "put "),
				Detail: fmt.Sprintf("no order of %d acts explains their answers", len(events))})
		}
	}
	slices.SortFunc(bad, func(a, b Violation) int { return strings.Compare(a.About, b.About) })
	return bad
}

// histories sorts the acts that change something by what they change.
func histories(c Contents, ops []Op) map[string][]porcupine.Operation {
	all := map[string][]porcupine.Operation{}
	variants := map[string]map[string]int64{} // of the names: by digest
	for _, o := range ops {
		if o.Act == Put && variants[o.Subject] == nil {
			variants[o.Subject] = map[string]int64{}
			for v := range Variants {
				// variants of no bytes are all the same
				if sum := Sum(c.Bytes(o.Subject, v)); !has(variants[o.Subject], sum) {
					variants[o.Subject][sum] = int64(v)
				}
			}
		}
	}
	for _, o := range ops {
		step := porcupine.Operation{ClientId: o.ID, Call: int64(o.Begin), Return: int64(o.End)}
		subject := o.Subject
		switch o.Act {
		case Put:
			subject = "put " + o.Subject
			step.Input = change{act: Put, value: variants[o.Subject][Sum(c.Bytes(o.Subject, o.Variant))],
				maybe: !o.OK()}
		case Weight, NewJob, Revoke, Collect:
			if o.Act == Weight && len(all[subject]) == 0 { // as it was found
				all[subject] = append(all[subject],
					porcupine.Operation{Call: -2, Return: -1, Input: change{act: Weight, value: foundWeight}})
			}
			step.Input = change{act: o.Act, value: o.Value}
		case FinalRead:
			step.Input = change{act: FinalRead, value: o.Value}
			if by, isFile := variants[o.Subject]; isFile {
				subject = "put " + o.Subject
				step.Input = change{act: FinalRead, value: -1}
				if v, there := by[o.Digest]; there {
					step.Input = change{act: FinalRead, value: v}
				}
			}
		default:
			continue
		}
		switch {
		case o.Lie, !o.OK() && !o.Unknown(), o.Act == FinalRead && !o.OK():
			continue // refused, or not read
		case !o.OK() && o.Act == NewJob:
			continue // it may have taken a number or not
		case !o.OK():
			step.Return = never
		}
		all[subject] = append(all[subject], step)
	}
	// A client id may not have two acts at once, and each act has its own.
	for _, subject := range slices.Collect(maps.Keys(all)) {
		for i := range all[subject] {
			all[subject][i].ClientId = i
		}
	}
	return all
}

func has(by map[string]int64, sum string) bool {
	_, there := by[sum]
	return there
}

// foundWeight is the weight that a node shows until somebody sets one.
const foundWeight = 100

// register is something that is written and read. A file's name is written once: other bytes are refused for ever.
var register = porcupine.Model{
	Init: func() any { return int64(-1) },
	Step: func(state, input, _ any) (bool, any) {
		in := input.(change)
		switch in.act {
		case Put:
			if in.maybe && state != int64(-1) {
				return true, state
			}
			return state == int64(-1) || state == in.value, in.value
		case FinalRead:
			return state == in.value, state
		}
		return true, in.value
	},
}

// counter gives each job a number that is greater than all before.
var counter = porcupine.Model{
	Init:  func() any { return int64(0) },
	Step:  func(state, input, _ any) (bool, any) { n := input.(change).value; return n > state.(int64), n },
	Equal: func(a, b any) bool { return a == b },
}
