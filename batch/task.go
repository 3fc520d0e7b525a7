package batch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast/catalog"
	"holdfast/catalog/agree"
)

// task asks a node for what the program of a batch makes of some of its files.
type task struct {
	Batch string             `json:"batch"`
	Term  uint64             `json:"term"`
	Files []catalog.FileName `json:"files"` // at most taskFiles
	// Left is how many bytes the result of the batch may still get; negative: any number.
	Left int64 `json:"left"`
}

// taskFiles bounds the files of one task.
const taskFiles = 500

// outcome is what became of a file: bytes of output follow it, or it has failed.
type outcome struct {
	File   catalog.FileName `json:"file,omitempty"`
	Bytes  int64            `json:"bytes,omitempty"`
	Failed string           `json:"failed,omitempty"` // a fault
	Why    string           `json:"why,omitempty"`
	End    bool             `json:"end,omitempty"`   // of the task: all files have been answered for
	Error  string           `json:"error,omitempty"` // of the task: no more comes
}

// The faults of a file. After those of the copy, another copy may do.
const (
	faultCopy    = "copy"    // it is not there, cannot be read, or is wrong
	faultProgram = "program" // the program cannot process what is right
	faultOutput  = "output"  // the result has become too large
)

// ErrAbsent reports that a file is not on the node.
var ErrAbsent = errors.New("the file is not here")

// errCut says that an output was sent in part: nothing can follow it, and who receives it has to see that it ends.
var errCut = errors.New("the stream is cut")

// longestHead bounds the JSON before a frame.
const longestHead = 64 << 10

// longestReason bounds a reason: programs quote what is in files, and other nodes say what they like.
const longestReason = 500

// reason makes one line of bounded length of what went wrong, fit to be kept and shown.
func reason(text string) string {
	if len(text) > 4*longestReason {
		text = text[:4*longestReason]
	}
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return agree.ClipReason(strings.Join(strings.Fields(text), " "))
}

// send writes an outcome and, of a file that was processed, its output.
func send(w io.Writer, o outcome, body io.Reader) error {
	head, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if _, err = w.Write(append(head, '\n')); err != nil || o.Bytes == 0 {
		return err
	}
	n, err := io.CopyN(w, body, o.Bytes)
	if err != nil {
		return fmt.Errorf("send %d of %d bytes: %w: %w", n, o.Bytes, errCut, err)
	}
	return nil
}

// receive reads an outcome. Its output, if there is one, comes next.
func receive(r *bufio.Reader) (o outcome, err error) {
	line, err := readLine(r)
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(line, &o); err != nil {
		return o, fmt.Errorf("read an outcome: %w", err)
	}
	if o.Bytes < 0 || o.Failed != "" && o.Bytes > 0 {
		return o, fmt.Errorf("an outcome of %d bytes", o.Bytes)
	}
	return o, nil
}

// readLine reads a line of bounded length.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > longestHead:
			return nil, fmt.Errorf("a line of more than %d bytes", longestHead)
		case err == nil:
			return bytes.TrimRight(line, "\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}
