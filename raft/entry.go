package raft

import (
	"encoding/binary"
	"errors"
	"fmt"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// entryGroup begins a log entry that holds several commands; after it come, for each, its length as an unsigned varint
// and its bytes. A log entry that holds one command is that command and begins with a brace. See doc/format/catalog.md.
const entryGroup = 2

// Limits of an entry with several commands. The leader obeys the first two. The others say when no further command of
// an entry is carried out, so that what an entry writes fits one transaction; every node counts alike.
const (
	groupCommands = maxEntries
	groupBytes    = 128 << 10 // of the entry, unless it holds one command
	groupWrites   = 4000      // keys that its earlier commands wrote or deleted, each counted as often as it was
	groupWritten  = 512 << 10 // bytes of those keys and values
)

// errDeferred reports that a command was left out because the earlier commands of its entry had written too much.
var errDeferred = fmt.Errorf("%w: the commands before it in its log entry wrote too much", errAgain)

// entry is a log entry in the making.
type entry struct {
	parcels []*parcel
	texts   [][]byte
	bytes   int
}

// fits reports whether one more command may go with the others.
func (e *entry) fits(text []byte) bool {
	return len(e.texts) == 0 || len(e.texts) < groupCommands && e.bytes+len(text) <= groupBytes
}

func (e *entry) add(p *parcel, text []byte) {
	e.parcels = append(e.parcels, p)
	e.texts = append(e.texts, text)
	e.bytes += len(text)
}

// encode returns the entry in the form of the log.
func (e *entry) encode() []byte {
	if len(e.texts) == 1 {
		return e.texts[0]
	}
	out := make([]byte, 1, 1+e.bytes+3*len(e.texts))
	out[0] = entryGroup
	for _, text := range e.texts {
		out = append(binary.AppendUvarint(out, uint64(len(text))), text...)
	}
	return out
}

// isGroup reports whether the log entry holds several commands.
func isGroup(data []byte) bool { return len(data) > 0 && data[0] == entryGroup }

// splitGroup returns the commands of an entry that isGroup.
func splitGroup(data []byte) (commands [][]byte, err error) {
	for rest := data[1:]; len(rest) > 0; {
		var text []byte
		if text, rest, err = cutBytes(rest, catalog.MaxBytes); err != nil {
			return nil, fmt.Errorf("log entry with several commands: %w", err)
		}
		if commands = append(commands, text); len(commands) > groupCommands {
			return nil, fmt.Errorf("log entry with more than %d commands: %w", groupCommands, errWire)
		}
	}
	return commands, nil
}

// applyEntry carries out the commands of one log entry, one after the other. The error is the state's; an entry that no
// leader makes is refused as a whole and changes nothing.
func (f *fsm) applyEntry(w *overlay, index uint64, data []byte) (any, error) {
	if !isGroup(data) {
		result, err := f.machine.Apply(w, index, data)
		return outcome{result: result}, err
	}
	commands, err := splitGroup(data)
	grouped, failed := f.machine.Grouped(w)
	if failed != nil {
		return nil, failed
	}
	if err == nil && !grouped {
		err = errors.New("log entry with several commands below the level that has them")
	}
	if err != nil {
		refusal := &catalog.Refusal{Code: catalog.Invalid, Message: err.Error()}
		return outcome{result: catalog.Result{Refusal: refusal}}, nil
	}
	out := make([]outcome, len(commands))
	w.puts, w.putBytes = 0, 0
	for i, command := range commands {
		if w.puts > groupWrites || w.putBytes > groupWritten {
			out[i].err = errDeferred
			continue
		}
		if out[i].result, err = f.machine.Apply(w, index, command); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// carry brings an entry to Raft and answers its commands. Commands that were left out continue at once, each in an
// entry of its own, which has room for any command: a command that writes much delays nobody for long.
func (k *intake) carry(r *hraft.Raft, e entry) {
	answers := answersOf(r.Apply(e.encode(), k.raft.quorum), len(e.parcels))
	deferred := 0
	for i := range answers {
		if errors.Is(answers[i].err, errDeferred) {
			deferred++
		}
	}
	// Before the answers: who comes again is then counted once.
	k.packer.left(len(answers)-deferred, k.send)
	for i, p := range e.parcels {
		if errors.Is(answers[i].err, errDeferred) {
			go k.carry(r, entry{parcels: []*parcel{p}, texts: e.texts[i : i+1]})
			continue
		}
		p.done <- answers[i]
	}
}

// answersOf waits until an entry with that many commands is applied, or refused by Raft.
func answersOf(f hraft.ApplyFuture, count int) []answer {
	out := make([]answer, count)
	fill := func(a answer) []answer {
		for i := range out {
			out[i] = a
		}
		return out
	}
	if err := f.Error(); err != nil {
		return fill(answer{err: fmt.Errorf("%w: %w", errAgain, err)})
	}
	switch response := f.Response().(type) {
	case outcome:
		return fill(response.answer())
	case []outcome:
		if len(response) != count {
			return fill(answer{err: fmt.Errorf("the state machine answered %d of %d commands", len(response), count)})
		}
		for i, o := range response {
			out[i] = o.answer()
		}
		return out
	}
	return fill(answer{err: fmt.Errorf("the state machine answered %T", f.Response())})
}

// answer returns what became of the command.
func (o outcome) answer() answer {
	if o.err != nil {
		return answer{err: fmt.Errorf("%w: %w", errAgain, o.err)} // another node will lead, or the command comes again
	}
	return answer{result: o.result}
}
