package raft

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/catalog"
)

// wireVersion begins every request between nodes.
const wireVersion = 1

// The requests that one node sends to another.
const (
	askPropose   = 1 // commands for the leader
	askReadIndex = 2 // up to where a linear read must wait
	askApplied   = 3 // how far the node's state is
	askSeen      = 4 // how far the asker was seen
)

// The answers: a byte that says how it went, then the answer proper.
const (
	saidYes       = 0
	saidNotLeader = 1 // ask the leader
	saidUnable    = 2 // with a text
	saidNoRoom    = 3 // ErrNoRoom, with a text
)

// Bounds of a request.
const (
	maxCommands     = maxEntries
	maxRequestBytes = 2 << 20
)

// maxAnswerBytes bounds the size of the answers to one proposal together, without the last one: less than what may be
// sent.
const maxAnswerBytes = 4 << 20

var errWire = errors.New("malformed message between nodes")

// encodeProposal makes the request that carries commands to the leader: version, kind, number of commands,
// then length and bytes of each.
func encodeProposal(commands [][]byte) []byte {
	b := []byte{wireVersion, askPropose}
	b = binary.AppendUvarint(b, uint64(len(commands)))
	for _, c := range commands {
		b = binary.AppendUvarint(b, uint64(len(c)))
		b = append(b, c...)
	}
	return b
}

// decodeProposal reads what follows version and kind.
func decodeProposal(b []byte) ([]catalog.Command, error) {
	count, b, err := cutNumber(b, maxCommands)
	if err != nil {
		return nil, err
	}
	out := make([]catalog.Command, 0, min(count, uint64(len(b))))
	for range count {
		var text []byte
		if text, b, err = cutBytes(b, catalog.MaxBytes); err != nil {
			return nil, err
		}
		var c catalog.Command
		if err := json.Unmarshal(text, &c); err != nil {
			return nil, fmt.Errorf("%w: command: %w", errWire, err)
		}
		out = append(out, c)
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%w: %d bytes too many", errWire, len(b))
	}
	return out, nil
}

// encodeAnswers makes the answer to a proposal: for each command a byte, and the result when that says yes. Results
// that would make it too long are left for the next try, which finds them in the state: large ones do not keep others
// back.
func encodeAnswers(answers []answer) ([]byte, error) {
	b := []byte{saidYes}
	for _, a := range answers {
		switch {
		case a.err == nil:
			text, err := json.Marshal(a.result)
			if err != nil {
				return nil, fmt.Errorf("encode a result: %w", err)
			}
			if len(b) > maxAnswerBytes {
				b = append(b, saidNotLeader)
				continue
			}
			b = append(b, saidYes)
			b = binary.AppendUvarint(b, uint64(len(text)))
			b = append(b, text...)
		case errors.Is(a.err, errAgain):
			b = append(b, saidNotLeader)
		case errors.Is(a.err, ErrNoRoom):
			b = appendText(append(b, saidNoRoom), a.err.Error())
		default:
			b = appendText(append(b, saidUnable), a.err.Error())
		}
	}
	return b, nil
}

// decodeAnswers reads the answers to count commands.
func decodeAnswers(b []byte, count int) ([]answer, error) {
	b, err := cutVerdict(b)
	if err != nil {
		return nil, err
	}
	out := make([]answer, count)
	for i := range out {
		if len(b) == 0 {
			return nil, fmt.Errorf("%w: %d answers to %d commands", errWire, i, count)
		}
		said := b[0]
		b = b[1:]
		switch said {
		case saidYes:
			var text []byte
			if text, b, err = cutBytes(b, maxRequestBytes); err != nil {
				return nil, err
			}
			if err := json.Unmarshal(text, &out[i].result); err != nil {
				return nil, fmt.Errorf("%w: result: %w", errWire, err)
			}
		case saidNotLeader:
			out[i].err = errAgain
		case saidUnable, saidNoRoom:
			var text []byte
			if text, b, err = cutBytes(b, 4096); err != nil {
				return nil, err
			}
			if out[i].err = fmt.Errorf("the leader answered: %s", text); said == saidNoRoom {
				out[i].err = fmt.Errorf("%w (the leader answered: %s)", ErrNoRoom, text)
			}
		default:
			return nil, fmt.Errorf("%w: unknown answer %d", errWire, said)
		}
	}
	return out, nil
}

// encodeIndex makes the answer to the two questions for an index.
func encodeIndex(index uint64) []byte { return binary.AppendUvarint([]byte{saidYes}, index) }

func decodeIndex(b []byte) (uint64, error) {
	b, err := cutVerdict(b)
	if err != nil {
		return 0, err
	}
	index, b, err := cutNumber(b, ^uint64(0))
	if err == nil && len(b) > 0 {
		err = fmt.Errorf("%w: %d bytes too many", errWire, len(b))
	}
	return index, err
}

// encodeUnable makes the answer that says why not.
func encodeUnable(err error) []byte {
	if errors.Is(err, errAgain) {
		return []byte{saidNotLeader}
	}
	return appendText([]byte{saidUnable}, err.Error())
}

func appendText(b []byte, text string) []byte {
	text = text[:min(len(text), 4096)]
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// cutVerdict reads an answer's first byte; anything but yes becomes an error.
func cutVerdict(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: the answer is empty", errWire)
	}
	switch b[0] {
	case saidYes:
		return b[1:], nil
	case saidNotLeader:
		return nil, errAgain
	case saidUnable:
		text, _, err := cutBytes(b[1:], 4096)
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("the other node answered: %s", text)
	}
	return nil, fmt.Errorf("%w: unknown answer %d", errWire, b[0])
}

func cutNumber(b []byte, most uint64) (uint64, []byte, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > most {
		return 0, nil, fmt.Errorf("%w: a number in it is wrong", errWire)
	}
	return n, b[size:], nil
}

func cutBytes(b []byte, most uint64) (text, rest []byte, err error) {
	n, b, err := cutNumber(b, most)
	if err != nil {
		return nil, nil, err
	}
	if n > uint64(len(b)) {
		return nil, nil, fmt.Errorf("%w: it announces %d bytes and has %d", errWire, n, len(b))
	}
	return b[:n], b[n:], nil
}
