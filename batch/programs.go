package batch

import (
	"bufio"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"iter"
	"regexp"

	"holdfast/cdx"
	"holdfast/warc"
)

// Tools are what programs need of other rooms.
type Tools struct {
	// Captures yields the captures of a WARC or ARC file, as the index has them.
	Captures func(r *warc.Reader, file string) iter.Seq2[cdx.Capture, error]
	// Duplicate returns the capture that a line of a crawl.log is about, where its original is; false if the line is
	// about no duplicate whose original is known.
	Duplicate func(line []byte) (cdx.Capture, bool)
}

// Programs returns the programs that come with Holdfast. One is added by a row here.
func Programs(tools Tools) Table {
	captures := capturer{tools}
	algorithm := Parameter{Name: "algorithm", Default: "sha256", Allowed: []string{"sha256", "sha1", "md5"},
		Help: "which checksum"}
	revisits := Parameter{Name: "revisits", Default: "both", Allowed: []string{"both", "records", "logs"},
		Help: "which lines of deduplicated captures: those of revisit records, those made from crawl logs, with the " +
			"place of the original, or both"}
	warnings := Parameter{Name: "warnings", Default: "no", Allowed: []string{"yes", "no"},
		Help: "list warnings, too"}
	match := Parameter{Name: "match", Expression: true, Help: "only lines in which this regular expression matches"}
	return Table{
		{Name: "files", Help: "name, size and collection of each file; its bytes are not read", OfEntry: listFile},
		{Name: "checksum", Help: "checksum of each file, as sha256sum prints it", Parameters: []Parameter{algorithm},
			OfFile: checksum},
		{Name: "cdx", Help: "captures as CDX lines of eleven columns", Parameters: []Parameter{revisits},
			OfFile: captures.lines((*cdx.Capture).AppendCDX11)},
		{Name: "cdxj", Help: "captures as CDXJ lines", Parameters: []Parameter{revisits},
			OfFile: captures.lines((*cdx.Capture).AppendCDXJ)},
		{Name: "crawl-log", Help: "lines of the crawl logs in the metadata files of jobs",
			Parameters: []Parameter{match}, OfRecord: crawlLog},
		{Name: "media-types", Help: "payloads and their bytes by media type, of each file", OfRecord: countTypes,
			AtEnd: writeCounts},
		{Name: "records", Help: "records and the bytes of their blocks by type, of each file", OfRecord: countRecords,
			AtEnd: writeCounts},
		{Name: "validate", Help: "checks every record, as warc check does", Parameters: []Parameter{warnings},
			OfFile: validate},
		{Name: "words", Help: "how often each word is in each HTML page, a line of JSON for a page", OfRecord: words},
	}
}

func listFile(env *Env, out io.Writer) error {
	_, err := fmt.Fprintf(out, "%s\t%d\t%s\n", env.File.Name, env.File.Size, env.File.Collection)
	return err
}

func checksum(env *Env, in io.Reader, out io.Writer) error {
	algorithms := map[string]func() hash.Hash{"sha256": sha256.New, "sha1": sha1.New, "md5": md5.New}
	sum := algorithms[env.Values["algorithm"]]()
	if _, err := io.Copy(sum, in); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%x  %s\n", sum.Sum(nil), env.File.Name)
	return err
}

func validate(env *Env, in io.Reader, out io.Writer) error {
	var failed error
	say := func(format string, args ...any) {
		if _, err := fmt.Fprintf(out, format, args...); failed == nil {
			failed = err
		}
	}
	all := env.Values["warnings"] == "yes"
	sum, err := warc.CheckReader(in, string(env.File.Name), func(f warc.Finding) {
		if f.Severity != warc.Warning || all {
			say("%s: %s\n", env.File.Name, f)
		}
	})
	if err != nil {
		return err
	}
	word := "valid"
	if sum.Errors > 0 {
		word = "NOT valid"
	}
	say("%s: %s, %d records, %d errors\n", env.File.Name, word, sum.Records, sum.Errors)
	return failed
}

// capturer writes the captures of files.
type capturer struct{ tools Tools }

// lines returns the function of a program that writes a line for each capture.
func (c capturer) lines(form func(*cdx.Capture, []byte) []byte) func(*Env, io.Reader, io.Writer) error {
	return func(env *Env, in io.Reader, out io.Writer) error {
		if isMetadata(env.File.Name) {
			return c.duplicates(env, in, out, form)
		}
		records, err := warc.NewReader(in, string(env.File.Name))
		if err != nil {
			return err
		}
		var line []byte
		for capture, err := range c.tools.Captures(records, string(env.File.Name)) {
			if err != nil {
				return err
			}
			if capture.Revisit() && env.Values["revisits"] == "logs" {
				continue
			}
			if _, err := out.Write(append(form(&capture, line[:0]), '\n')); err != nil {
				return err
			}
		}
		return nil
	}
}

// duplicates writes the captures that a crawl.log lists and of whose content no record says where it is.
func (c capturer) duplicates(env *Env, in io.Reader, out io.Writer,
	form func(*cdx.Capture, []byte) []byte) error {
	if env.Values["revisits"] == "records" {
		return nil
	}
	var made []byte
	lines := Program{OfRecord: func(_ *Env, rec *warc.Record, out io.Writer) error {
		return eachLogLine(rec, func(line []byte) error {
			capture, ok := c.tools.Duplicate(line)
			if !ok {
				return nil
			}
			made = append(form(&capture, made[:0]), '\n')
			_, err := out.Write(made)
			return err
		})
	}}
	return lines.run(env, in, out)
}

func crawlLog(env *Env, rec *warc.Record, out io.Writer) error {
	if env.Kept == nil {
		match, err := regexp.Compile(env.Values["match"])
		if err != nil {
			return err
		}
		env.Kept = match
	}
	match := env.Kept.(*regexp.Regexp)
	to := bufio.NewWriter(out)
	err := eachLogLine(rec, func(line []byte) error {
		if !match.Match(line) {
			return nil
		}
		_, err := to.Write(append(line, '\n'))
		return err
	})
	if err != nil {
		return err
	}
	return to.Flush()
}
