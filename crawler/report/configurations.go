package report

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strconv"
	"strings"
)

// Configuration is a line of the configurations report: what came for a configuration of a domain, and why its harvest
// ended. One line, the last, sums up what counted for other domains; it has neither domain nor name.
type Configuration struct {
	Domain, Name   string
	Objects, Bytes int64
	Stop           string // "" in the last line
}

const configurationsLegend = "[#objects] [#bytes] [domain] [configuration] [stop-reason]\n"

// WriteConfigurations writes configurations-report.txt, in the order given.
func WriteConfigurations(w io.Writer, all iter.Seq[Configuration]) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString(configurationsLegend)
	var line []byte
	for c := range all {
		line = append(strconv.AppendInt(line[:0], c.Objects, 10), ' ')
		line = append(strconv.AppendInt(line, c.Bytes, 10), ' ')
		line = append(word(line, c.Domain), ' ')
		line = append(word(line, strings.ReplaceAll(c.Name, "%", "%25")), ' ')
		line = append(word(line, c.Stop), '\n')
		_, _ = out.Write(line)
	}
	return out.Flush()
}

// ErrConfigurations reports a file that is not a configurations report, or not a whole one.
var ErrConfigurations = errors.New("not a whole configurations report")

// ReadConfigurations reads what WriteConfigurations wrote, line by line.
func ReadConfigurations(r io.Reader) iter.Seq2[Configuration, error] {
	return func(yield func(Configuration, error) bool) {
		in := bufio.NewScanner(r)
		in.Buffer(nil, 1<<20)
		whole := in.Scan() && in.Text()+"\n" == configurationsLegend
		last := false
		for whole && in.Scan() {
			c, ok := parseConfiguration(in.Bytes())
			if whole = ok && !last; !whole {
				break
			}
			last = c.Domain == ""
			if !yield(c, nil) {
				return
			}
		}
		err := in.Err()
		if err == nil && (!whole || !last) {
			err = ErrConfigurations
		}
		if err != nil {
			yield(Configuration{}, fmt.Errorf("read the statistics of configurations: %w", err))
		}
	}
}

func parseConfiguration(line []byte) (c Configuration, ok bool) {
	columns := bytes.Fields(line)
	if len(columns) != 5 {
		return c, false
	}
	var errs [3]error
	c.Objects, errs[0] = strconv.ParseInt(string(columns[0]), 10, 64)
	c.Bytes, errs[1] = strconv.ParseInt(string(columns[1]), 10, 64)
	for i, into := range []*string{&c.Domain, &c.Name, &c.Stop} {
		if *into = string(columns[2+i]); *into == "-" {
			*into = ""
		}
	}
	c.Name, errs[2] = url.PathUnescape(c.Name)
	return c, errors.Join(errs[:]...) == nil
}
