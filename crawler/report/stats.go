package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// maxTypes bounds the media types that are counted apart; servers may make up any number.
const maxTypes = 1000

const otherTypes = "other"

// Count is a number of URIs and their bytes.
type Count struct {
	URLs  int64 `json:"urls"`
	Bytes int64 `json:"bytes"`
}

// Stats are the figures of a crawl that its reports show.
type Stats struct {
	Started  time.Time        `json:"started"`
	Elapsed  time.Duration    `json:"elapsed"`
	Objects  int64            `json:"objects"` // documents, prerequisites apart
	Statuses map[int]int64    `json:"statuses"`
	Types    map[string]Count `json:"types"`
}

// NewStats are the figures of a crawl that has just begun.
func NewStats() *Stats {
	return &Stats{Started: time.Now().UTC(), Statuses: map[int]int64{}, Types: map[string]Count{}}
}

// Add takes in a line of the log.
func (s *Stats) Add(l Line) {
	s.Statuses[l.Status]++
	if l.Size < 0 {
		return
	}
	if l.Status > 0 && !strings.HasSuffix(l.Path, "P") {
		s.Objects++
	}
	mime, _, _ := strings.Cut(l.MIME, ";")
	mime = strings.ToLower(strings.TrimSpace(mime))
	if mime == "" {
		mime = "no-type"
	}
	if _, known := s.Types[mime]; !known && (len(s.Types) >= maxTypes || len(mime) > 100) {
		mime = otherTypes
	}
	c := s.Types[mime]
	c.URLs++
	c.Bytes += l.Size
	s.Types[mime] = c
}

// Host is a line of the hosts report.
type Host struct {
	Name                           string
	URLs, Bytes, Robots, Remaining int64
}

// Seed is a line of the seeds report.
type Seed struct {
	URL      string
	Status   int // 0: not tried
	Redirect string
}

// Crawl is what the crawl report says.
type Crawl struct {
	Name, Status, Reason                               string
	Elapsed                                            time.Duration
	SeedsCrawled, SeedsNotCrawled, Hosts               int
	Discovered, Queued, Succeeded, Failed, Disregarded int64
	Bytes                                              int64
}

// WriteCrawl writes crawl-report.txt.
func WriteCrawl(w io.Writer, c Crawl) error {
	processed := c.Succeeded + c.Failed + c.Disregarded
	seconds := max(c.Elapsed.Seconds(), 0.001)
	_, err := fmt.Fprintf(w, `Crawl Name: %s
Crawl Status: %s
Stop Reason: %s
Duration Time: %s
Total Seeds Crawled: %d
Total Seeds not Crawled: %d
Total Hosts Crawled: %d
URIs Discovered: %d
URIs Queued: %d
URIs Processed: %d
URIs Successfully Crawled: %d
URIs Failed to Crawl: %d
URIs Disregarded: %d
Processed docs/sec: %.2f
Bandwidth in Kbytes/sec: %.0f
Total Raw Data Size in Bytes: %d
`, c.Name, c.Status, c.Reason, c.Elapsed.Round(time.Millisecond), c.SeedsCrawled, c.SeedsNotCrawled, c.Hosts, c.Discovered, c.Queued, processed,
		c.Succeeded, c.Failed, c.Disregarded, float64(c.Succeeded)/seconds, float64(c.Bytes)/1024/seconds, c.Bytes)
	return err
}

// WriteHosts writes hosts-report.txt, the host with the most URIs first.
func WriteHosts(w io.Writer, hosts []Host) error {
	slices.SortFunc(hosts, func(a, b Host) int { return cmp.Or(cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Name, b.Name)) })
	if _, err := fmt.Fprintln(w, "[#urls] [#bytes] [host] [#robots] [#remaining] [#novel-urls] [#novel-bytes] [#dup-by-hash-urls] [#dup-by-hash-bytes] [#not-modified-urls] [#not-modified-bytes]"); err != nil {
		return err
	}
	for _, h := range hosts {
		if _, err := fmt.Fprintf(w, "%d %d %s %d %d %d %d 0 0 0 0\n", h.URLs, h.Bytes, h.Name, h.Robots, h.Remaining, h.URLs, h.Bytes); err != nil {
			return err
		}
	}
	return nil
}

// WriteTypes writes mimetype-report.txt.
func WriteTypes(w io.Writer, s *Stats) error {
	if _, err := fmt.Fprintln(w, "[#urls] [#bytes] [mime-types]"); err != nil {
		return err
	}
	types := make([]string, 0, len(s.Types))
	for t := range s.Types {
		types = append(types, t)
	}
	slices.SortFunc(types, func(a, b string) int { return cmp.Or(cmp.Compare(s.Types[b].URLs, s.Types[a].URLs), cmp.Compare(a, b)) })
	for _, t := range types {
		if _, err := fmt.Fprintf(w, "%d %d %s\n", s.Types[t].URLs, s.Types[t].Bytes, t); err != nil {
			return err
		}
	}
	return nil
}

// WriteStatuses writes responsecode-report.txt.
func WriteStatuses(w io.Writer, s *Stats) error {
	if _, err := fmt.Fprintln(w, "[#urls] [rescode]"); err != nil {
		return err
	}
	codes := make([]int, 0, len(s.Statuses))
	for c := range s.Statuses {
		codes = append(codes, c)
	}
	slices.SortFunc(codes, func(a, b int) int { return cmp.Or(cmp.Compare(s.Statuses[b], s.Statuses[a]), cmp.Compare(a, b)) })
	for _, c := range codes {
		if _, err := fmt.Fprintf(w, "%d %d\n", s.Statuses[c], c); err != nil {
			return err
		}
	}
	return nil
}

// WriteSeeds writes seeds-report.txt, in the seeds' order.
func WriteSeeds(w io.Writer, seeds []Seed) error {
	if _, err := fmt.Fprintln(w, "[code] [status] [seed] [redirect]"); err != nil {
		return err
	}
	for _, s := range seeds {
		status := "NOTCRAWLED"
		if s.Status > 0 {
			status = "CRAWLED"
		}
		line := append([]byte(fmt.Sprintf("%d %s ", s.Status, status)), word(nil, s.URL)...)
		if s.Redirect != "" {
			line = word(append(line, ' '), s.Redirect)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}
