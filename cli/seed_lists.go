package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"holdfast/cdx"
	"holdfast/harvest"
)

// listFlags are files with seeds, and with prefixes of what belongs to a crawl, as Heritrix reads them: one per line;
// blank lines, and those that begin with #, are ignored.
type listFlags struct {
	SeedFiles []string `name:"seed-file" placeholder:"FILE" sep:"none" help:"Read seeds from this file, one URL per line; # begins a comment, + and - begin a SURT prefix, as in a --surt-file. May be repeated."`
	SURTFiles []string `name:"surt-file" placeholder:"FILE" sep:"none" help:"Read SURT prefixes, or URLs to derive them from, one per line: with + or no sign they belong to the crawl, with - they do not. They are added to the setting surt_prefixes; the last that matches decides. # begins a comment. May be repeated."`
}

// read returns the seeds and the prefixes of all files. An error names the file and the line.
func (f listFlags) read() (seeds, prefixes []string, err error) {
	for _, path := range f.SeedFiles {
		err := eachLine(path, func(line string) error {
			if line[0] == '+' || line[0] == '-' {
				prefix, err := readPrefix(line)
				prefixes = append(prefixes, prefix)
				return err
			}
			if !strings.Contains(line, "://") {
				line = "http://" + line
			}
			url, err := cdx.Normalize(line)
			if err != nil {
				return err
			}
			seeds = append(seeds, url)
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	for _, path := range f.SURTFiles {
		err := eachLine(path, func(line string) error {
			prefix, err := readPrefix(line)
			prefixes = append(prefixes, prefix)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return seeds, prefixes, nil
}

// readPrefix reads a prefix with its sign, + where it has none.
func readPrefix(line string) (string, error) {
	sign, text := "+", line
	if line[0] == '+' || line[0] == '-' {
		sign, text = line[:1], strings.TrimSpace(line[1:])
	}
	if _, err := harvest.ScopePrefix(text, sign == "-"); err != nil {
		return "", err
	}
	return sign + text, nil
}

// maxListLine is how long a line may be.
const maxListLine = 1 << 20

// eachLine calls do with each line of a file that says something.
func eachLine(path string, do func(line string) error) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read a list: %w", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxListLine)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if i := strings.Index(line, " #"); i >= 0 {
			line = strings.TrimSpace(line[:i])
		}
		if line == "" || line[0] == '#' {
			continue
		}
		if err := do(line); err != nil {
			return fmt.Errorf("%s, line %d: %w", path, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s, line %d: %w", path, n+1, err)
	}
	return nil
}
