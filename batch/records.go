package batch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"holdfast/catalog"
	"holdfast/warc"
)

// metadataName is what the metadata files of jobs are called: ours, and those of the field's other tools.
const metadataName = `^[0-9]+-metadata-[0-9]+\.w?arc(\.gz|\.zst)?$`

// isMetadata reports whether a file is the metadata file of a job: what is recorded in it is about a crawl.
func isMetadata(name catalog.FileName) bool {
	ok, err := regexp.MatchString(metadataName, string(name))
	return ok && err == nil
}

// isCrawlLog reports whether a record of a metadata file is a crawl.log.
func isCrawlLog(rec *warc.Record) bool {
	rest, ok := strings.CutPrefix(rec.TargetURI(), "metadata://")
	path, _, _ := strings.Cut(rest, "?")
	return ok && strings.HasSuffix(path, "/crawl/logs/crawl.log")
}

// longestLine is how long a line of a log may be.
const longestLine = 1 << 20

// eachLogLine gives the lines of a record that is a crawl.log, without their ends.
func eachLogLine(rec *warc.Record, take func([]byte) error) error {
	if !isCrawlLog(rec) {
		return nil
	}
	lines := bufio.NewScanner(rec.Block)
	lines.Buffer(make([]byte, 64<<10), longestLine)
	for lines.Scan() {
		if line := bytes.TrimRight(lines.Bytes(), "\r"); len(line) > 0 {
			if err := take(line); err != nil {
				return err
			}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%s has a line of more than %d bytes", rec.TargetURI(), longestLine)
	}
	return lines.Err()
}

// counts has numbers and bytes by a word.
type counts map[string]*count

type count struct{ number, bytes int64 }

// mostWords bounds the words that are counted of one file. Hostile files have any number of media types.
const mostWords = 10_000

// other stands for all words beyond mostWords.
const other = "(other)"

func (env *Env) count(word string, bytes int64) {
	all, _ := env.Kept.(counts)
	if all == nil {
		all = counts{}
		env.Kept = all
	}
	if all[word] == nil && len(all) >= mostWords {
		word = other
	}
	if all[word] == nil {
		all[word] = &count{}
	}
	all[word].number++
	all[word].bytes += bytes
}

func writeCounts(env *Env, out io.Writer) error {
	all, _ := env.Kept.(counts)
	for _, word := range slices.Sorted(maps.Keys(all)) {
		if _, err := fmt.Fprintf(out, "%s\t%s\t%d\t%d\n", env.File.Name, word, all[word].number,
			all[word].bytes); err != nil {
			return err
		}
	}
	return nil
}

func countRecords(env *Env, rec *warc.Record, _ io.Writer) error {
	n, err := io.Copy(io.Discard, rec.Block)
	if err != nil {
		return err
	}
	env.count(tidyWord(rec.Type), n)
	return nil
}

func countTypes(env *Env, rec *warc.Record, _ io.Writer) error {
	if !rec.IsCapture() || rec.Type == warc.TypeRevisit {
		return nil
	}
	kind, payload, err := mediaType(rec)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, payload)
	if err != nil {
		return err
	}
	env.count(kind, n)
	return nil
}

// mediaType returns the media type of a record's payload as its server gave it, and the payload.
func mediaType(rec *warc.Record) (string, io.Reader, error) {
	kind := rec.ContentType()
	if rec.IsHTTP() {
		head, err := rec.HTTP()
		if err != nil {
			return "(no HTTP header)", rec.Block, nil
		}
		kind = head.Header.Get("Content-Type")
	}
	kind, _, _ = strings.Cut(kind, ";")
	return tidyWord(kind), rec.Block, nil
}

// tidyWord makes a word of a header fit for a column.
func tidyWord(word string) string {
	word = strings.ToLower(strings.TrimSpace(word))
	switch {
	case word == "":
		return "(none)"
	case len(word) > 100 || strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return "(invalid)"
	}
	return word
}
