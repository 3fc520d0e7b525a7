package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"time"
)

// Suffix ends the names of the files of all reports, after the name of the report.
const Suffix = "-report.txt"

// Names of the reports.
const (
	OfCrawl   = "crawl"
	OfSeeds   = "seeds"
	OfHosts   = "hosts"
	OfDomains = "domains"
	// OfConfigurations is written of jobs with a table of domains alone.
	OfConfigurations = "configurations"
	OfSources        = "source"
	OfTypes          = "mimetype"
	OfStatuses       = "responsecode"
	OfProcessors     = "processors"
	OfFrontier       = "frontier-summary"
	OfQueues         = "frontier-nonempty"
	OfTraps          = "traps"
	OfGuesses        = "guesses"
	OfThreads        = "threads"
)

// Names lists the reports.
func Names() []string {
	return []string{OfCrawl, OfSeeds, OfHosts, OfDomains, OfConfigurations, OfSources, OfTypes, OfStatuses,
		OfProcessors, OfFrontier, OfQueues, OfTraps, OfGuesses, OfThreads}
}

// Seed is a line of the seeds report.
type Seed struct {
	URL      string
	Status   int // 0: not tried
	Redirect string
}

// Crawl is the content of the crawl report.
type Crawl struct {
	Name                                               string
	Status                                             string // see ExitStatus; of a running crawl, "Running - Active"
	Reason                                             string // in our words
	Elapsed                                            time.Duration
	SeedsCrawled, SeedsNotCrawled, Hosts               int
	Discovered, Queued, Succeeded, Failed, Disregarded int64
	Bytes                                              int64
	Captures                                           Captures
	Discarded                                          Count // fetched, not kept
}

// WriteCrawl writes crawl-report.txt: Heritrix's lines, then those it has not.
func WriteCrawl(w io.Writer, c Crawl) error {
	b := bufio.NewWriter(w)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(b, format+"\n", args...) }
	seconds := max(c.Elapsed.Seconds(), 0.001)
	line("crawl name: %s", oneLine(nil, c.Name))
	line("crawl status: %s", oneLine(nil, c.Status))
	line("duration: %s\n", Conventional(c.Elapsed))
	line("seeds crawled: %d\nseeds uncrawled: %d\n", c.SeedsCrawled, c.SeedsNotCrawled)
	line("hosts visited: %d\n", c.Hosts)
	line("URIs processed: %d", c.Succeeded+c.Failed+c.Disregarded)
	line("URI successes: %d\nURI failures: %d\nURI disregards: %d\n", c.Succeeded, c.Failed, c.Disregarded)
	n, d, m := c.Captures.Novel, c.Captures.DupByHash, c.Captures.NotModified
	line("novel URIs: %d", n.URLs)
	if d.URLs > 0 {
		line("duplicate-by-hash URIs: %d", d.URLs)
	}
	if m.URLs > 0 {
		line("not-modified URIs: %d", m.URLs)
	}
	line("\ntotal crawled bytes: %d (%s) ", c.Bytes, displayBytes(c.Bytes))
	line("novel crawled bytes: %d (%s)", n.Bytes, displayBytes(n.Bytes))
	if d.URLs > 0 {
		line("duplicate-by-hash crawled bytes: %d (%s) ", d.Bytes, displayBytes(d.Bytes))
	}
	if m.URLs > 0 {
		line("not-modified crawled bytes: %d (%s) ", m.Bytes, displayBytes(m.Bytes))
	}
	line("\nURIs/sec: %s\nKB/sec: %d", decimal(float64(c.Succeeded)/seconds), int64(float64(c.Bytes)/1024/seconds))
	line("\nstop reason: %s\nURIs discovered: %d\nURIs queued: %d", oneLine(nil, c.Reason), c.Discovered, c.Queued)
	line("documents discarded: %d (%s)", c.Discarded.URLs, displayBytes(c.Discarded.Bytes))
	return b.Flush()
}

// Host is a line of the hosts report.
type Host struct {
	Name                           string
	URLs, Bytes, Robots, Remaining int64
	Captures                       Captures
}

const hostsLegend = "[#urls] [#bytes] [host] [#robots] [#remaining] [#novel-urls] [#novel-bytes] [#dup-by-hash-urls] " +
	"[#dup-by-hash-bytes] [#not-modified-urls] [#not-modified-bytes]\n"

// maxSorted is up to how many hosts the hosts report is sorted.
const maxSorted = 200_000

// WriteHosts writes hosts-report.txt, the host with the most URIs first; of more than 200 000 hosts in the order given,
// so that memory stays bounded. Each line ends with a blank, as Heritrix's does.
func WriteHosts(w io.Writer, hosts iter.Seq[Host]) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString(hostsLegend)
	var line []byte
	write := func(h *Host) {
		line = h.appendTo(line[:0])
		_, _ = out.Write(line)
	}
	var kept []Host
	many := false
	for h := range hosts {
		switch {
		case many:
			write(&h)
		case len(kept) == maxSorted:
			for i := range kept {
				write(&kept[i])
			}
			write(&h)
			many, kept = true, nil
		default:
			kept = append(kept, h)
		}
	}
	slices.SortFunc(kept, func(a, b Host) int {
		return cmp.Or(cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Name, b.Name))
	})
	for i := range kept {
		write(&kept[i])
	}
	return out.Flush()
}

func (h *Host) appendTo(b []byte) []byte {
	c := h.Captures
	for i, n := range []int64{h.URLs, h.Bytes, h.Robots, h.Remaining, c.Novel.URLs, c.Novel.Bytes, c.DupByHash.URLs,
		c.DupByHash.Bytes,
		c.NotModified.URLs, c.NotModified.Bytes} {
		if i == 2 {
			b = append(word(b, h.Name), ' ')
		}
		b = append(strconv.AppendInt(b, n, 10), ' ')
	}
	return append(b, '\n')
}

// Domain is a line of the domains report.
type Domain struct {
	Name           string
	Objects, Bytes int64
	Stopped        string // the limit that stopped it, as in crawl.log without its Q:; "": none
}

// WriteDomains writes domains-report.txt, in the order given.
func WriteDomains(w io.Writer, domains iter.Seq[Domain]) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString("[#objects] [#bytes] [domain] [stopped-by]\n")
	var line []byte
	for d := range domains {
		line = append(strconv.AppendInt(line[:0], d.Objects, 10), ' ')
		line = append(strconv.AppendInt(line, d.Bytes, 10), ' ')
		line = append(word(line, d.Name), ' ')
		line = append(word(line, d.Stopped), '\n')
		_, _ = out.Write(line)
	}
	return out.Flush()
}

// Trap is a line of the traps report.
type Trap struct {
	Away      int64 // how often a URI was rejected
	Pages     int   // that showed it to be a trap
	Name      string
	Host, URL string // the first that was rejected
	Since     time.Time
}

// WriteTraps writes traps-report.txt, in the order given, and at the end how often URIs of other forms were rejected.
func WriteTraps(w io.Writer, traps []Trap, others int64) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString("[#turned-away] [#pages] [trap] [since] [host] [first-uri]\n")
	for _, t := range traps {
		_, _ = fmt.Fprintf(out, "%d %d %s %s %s %s\n", t.Away, t.Pages, word(nil, t.Name),
			t.Since.UTC().Format(time.RFC3339), word(nil, t.Host), word(nil, t.URL))
	}
	if others > 0 {
		_, _ = fmt.Fprintf(out, "%d 0 others - - -\n", others)
	}
	return out.Flush()
}

// Guess is how often guesses of a kind, at a host, were right.
type Guess struct {
	Found, Missed, Rested int64
	Rests                 bool // no more of them are tried
	Host, Kind            string
}

// WriteGuesses writes guesses-report.txt, in the order given.
func WriteGuesses(w io.Writer, guesses []Guess) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString("[#found] [#missed] [#not-tried] [state] [host] [kind]\n")
	for _, g := range guesses {
		state := "tried"
		if g.Rests {
			state = "rests"
		}
		_, _ = fmt.Fprintf(out, "%d %d %d %s %s %s\n", g.Found, g.Missed, g.Rested, state, word(nil, g.Host),
			word(nil, g.Kind))
	}
	return out.Flush()
}

// WriteTypes writes mimetype-report.txt.
func WriteTypes(w io.Writer, s *Stats) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString("[#urls] [#bytes] [mime-types]\n")
	types, rest := s.TopTypes(len(s.Types))
	if rest.URLs > 0 {
		types = append(types, TypeCount{otherTypes, rest})
	}
	for _, t := range types {
		_, _ = fmt.Fprintf(out, "%d %d %s\n", t.URLs, t.Bytes, word(nil, t.Type))
	}
	return out.Flush()
}

// WriteStatuses writes responsecode-report.txt: the codes of URIs that were answered, as Heritrix has it.
func WriteStatuses(w io.Writer, s *Stats) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString("[#urls] [rescode]\n")
	statuses, _ := s.TopStatuses(len(s.Statuses))
	for _, c := range statuses {
		if c.Status > 0 {
			_, _ = fmt.Fprintf(out, "%d %d\n", c.URLs, c.Status)
		}
	}
	return out.Flush()
}

// WriteSeeds writes seeds-report.txt, in Heritrix's order: first seeds that were not crawled, from code 0 down, then
// the others from the highest code to the lowest.
func WriteSeeds(w io.Writer, seeds []Seed) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString("[code] [status] [seed] [redirect]\n")
	sorted := slices.Clone(seeds)
	slices.SortStableFunc(sorted, func(a, b Seed) int {
		if (a.Status > 0) != (b.Status > 0) {
			return cmp.Compare(min(a.Status, 1), min(b.Status, 1))
		}
		return cmp.Compare(b.Status, a.Status)
	})
	for _, s := range sorted {
		status := "NOTCRAWLED"
		if s.Status > 0 {
			status = "CRAWLED"
		}
		_, _ = fmt.Fprintf(out, "%d %s %s", s.Status, status, word(nil, s.URL))
		if s.Redirect != "" {
			_, _ = fmt.Fprintf(out, " %s", word(nil, s.Redirect))
		}
		_ = out.WriteByte('\n')
	}
	return out.Flush()
}

// Conventional writes a duration as Heritrix does: "1h33m38s651ms".
func Conventional(d time.Duration) string {
	if d < 0 {
		return "-" + Conventional(-d)
	}
	ms := d.Milliseconds()
	var b []byte
	for _, u := range []struct {
		ms   int64
		name string
	}{{86_400_000, "d"}, {3_600_000, "h"}, {60_000, "m"}, {1000, "s"}, {1, "ms"}} {
		if n := ms / u.ms; n > 0 {
			b = append(strconv.AppendInt(b, n, 10), u.name...)
			ms %= u.ms
		}
	}
	if len(b) == 0 {
		return "0ms"
	}
	return string(b)
}

// displayBytes writes a number of bytes as Heritrix does: "23 MiB", "4.2 KiB".
func displayBytes(n int64) string {
	if n <= 0 {
		return "0 B"
	}
	f, unit := float64(n), 0
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for f >= 1024 && unit < len(units)-1 {
		f /= 1024
		unit++
	}
	precision := 0
	if f < 10 {
		precision = 1
	}
	return grouped(f, precision) + " " + units[unit]
}
