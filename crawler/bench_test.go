package crawler

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/net/html"

	"holdfast/harvest"
)

const benchPages = 1000

// benchPage is page n of about 12 kB with some 60 links to those of the same host, of that number of hosts.
func benchPage(n, hosts int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!DOCTYPE html><html><head><title>Page %d</title></head><body>\n", n)
	for i := range 60 {
		to := (n*7 + i*i + 1) % benchPages / hosts * hosts
		fmt.Fprintf(&b, "<li class=\"toctree item\"><a class=\"reference internal\" href=\"/p/%d\">Section %d of chapter %d</a></li>\n", to+n%hosts, i, n)
		if i%2 == 0 {
			fmt.Fprintf(&b, "<p>Paragraph %d of page %d tells what a reader of it %x wants to know about that.</p>\n", i, n, sha1.Sum(fmt.Append(nil, n, i)))
		}
	}
	b.WriteString("</body></html>\n")
	return b.Bytes()
}

// benchServer serves the pages from memory in a process of its own account: it writes prepared bytes, and little else.
func benchServer(b *testing.B, hosts int) string {
	pages := make([][]byte, benchPages)
	for n := range pages {
		body := benchPage(n, hosts)
		pages[n] = append(fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n", len(body)), body...)
	}
	missing := []byte("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
	return rawServer(b, func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			first, err := r.ReadString('\n')
			if err != nil {
				return
			}
			for line := "x"; line != "\r\n"; {
				if line, err = r.ReadString('\n'); err != nil {
					return
				}
			}
			answer, n := missing, 0
			if _, err := fmt.Sscanf(first, "GET /p/%d ", &n); err == nil && n < benchPages {
				answer = pages[n]
			}
			if _, err := c.Write(answer); err != nil {
				return
			}
		}
	})
}

func cpu(who int) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(who, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkCrawl crawls 1 000 pages with politeness off, in a process of its own, whose CPU it tells.
func BenchmarkCrawl(b *testing.B) {
	url := benchServer(b, 1)
	begin := cpu(syscall.RUSAGE_CHILDREN)
	for b.Loop() {
		crawlApart(b, url+"/p/0", "", benchPages+1)
	}
	reportCPU(b, cpu(syscall.RUSAGE_CHILDREN)-begin)
}

// BenchmarkCrawlDomains is BenchmarkCrawl of a job with 10 000 domains that have limits and traps of their own, and of
// one with 1 000 traps for all domains, beside one with neither. The pages are those of ten of the domains.
// Opening and ending a crawl are told apart.
func BenchmarkCrawlDomains(b *testing.B) {
	for _, table := range []string{tableNone, tableDomains, tableTraps} {
		b.Run("table="+table, func(b *testing.B) { benchDomains(b, table) })
	}
}

// envCrawlTable says which table of domains the job of the crawl in a process of its own has.
const (
	envCrawlTable = "HOLDFAST_TEST_CRAWL_TABLE"
	tableNone     = "none"
	tableDomains  = "domains"
	tableTraps    = "traps"
)

// Of the domains of the table, that many have the pages.
const benchHosts = 10

// benchDomain is the name of a domain of the table.
func benchDomain(i int) string { return fmt.Sprintf("d%d.localhost", i) }

// benchTable is a table of domains, or of traps, like those that people collect. In every third of a domain's traps, and
// in one of a hundred for all domains, no words are fixed.
func benchTable(kind string) *harvest.Domains {
	trap := func(i int) string {
		return fmt.Sprintf([]string{`.*/calendar%d/[0-9]{4}/.*`, `.*[?&]session%d=.*`, `.*\.site%d\.(org|net)/print/.*`}[i%3], i)
	}
	loose := func(i int) string { return fmt.Sprintf(`.*/[0-9]{%d}/[a-z]+/.*`, 4+i%7) }
	d := &harvest.Domains{}
	if kind == tableNone {
		return nil
	}
	if kind == tableTraps {
		for i := range 990 {
			d.Traps = append(d.Traps, trap(i))
		}
		for i := range 10 {
			d.Traps = append(d.Traps, loose(i))
		}
		return d
	}
	for i := range 10_000 {
		d.Configurations = append(d.Configurations, harvest.Configuration{Domain: benchDomain(i), Name: "all",
			Objects: harvest.AtMost(1e6), Bytes: harvest.AtMost(1e12), Traps: []string{trap(2 * i), trap(2*i + 1), loose(i)}})
	}
	return d
}

func benchDomains(b *testing.B, table string) {
	url := benchServer(b, benchHosts)
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	var seeds []string
	for n := range benchHosts {
		seeds = append(seeds, fmt.Sprintf("http://%s:%s/p/%d", benchDomain(n*997), port, n))
	}
	var opening, all time.Duration // and ending, of crawls of one document; of the others
	for b.Loop() {
		begin := cpu(syscall.RUSAGE_CHILDREN)
		crawlApart(b, url+"/missing", table, 2)
		between := cpu(syscall.RUSAGE_CHILDREN)
		crawlApart(b, strings.Join(seeds, " "), table, benchPages+2*benchHosts) // names and robots.txt
		opening += between - begin
		all += cpu(syscall.RUSAGE_CHILDREN) - between
	}
	b.ReportMetric(opening.Seconds()/float64(b.N), "cpu-s/opening")
	reportCPU(b, all-opening)
}

// crawlApart crawls in a process of its own, with that number of lines in the log.
func crawlApart(b *testing.B, seed, table string, lines int) {
	dir := b.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envCrawlDir+"="+dir, envCrawlSeed+"="+seed, envCrawlBytes+"=1000000000", envCrawlTable+"="+table)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	log, err := os.ReadFile(filepath.Join(dir, "logs", "crawl.log"))
	if err != nil || bytes.Count(log, []byte("\n")) != lines {
		b.Fatalf("%d lines in the log, %v", bytes.Count(log, []byte("\n")), err)
	}
}

// BenchmarkCrawlWget is GNU wget writing WARC files of the same pages; its CPU is its own alone.
func BenchmarkCrawlWget(b *testing.B) {
	wget, err := exec.LookPath("wget")
	if err != nil {
		b.Log("no wget on this machine: nothing to compare with")
		return
	}
	url := benchServer(b, 1)
	begin := cpu(syscall.RUSAGE_CHILDREN)
	for b.Loop() {
		cmd := exec.Command(wget, "-q", "-r", "-l", "inf", "--delete-after", "--warc-file=w", url+"/p/0")
		cmd.Dir = b.TempDir()
		if err := cmd.Run(); err != nil {
			if _, exited := err.(*exec.ExitError); !exited {
				b.Fatal(err)
			}
		}
		if found, _ := filepath.Glob(filepath.Join(cmd.Dir, "w.warc.gz")); len(found) != 1 {
			b.Fatal("wget wrote no WARC file")
		}
	}
	reportCPU(b, cpu(syscall.RUSAGE_CHILDREN)-begin)
}

// BenchmarkCrawlFloor is what must be done with the same bytes at the very least: digests, gzip and tokenizing.
func BenchmarkCrawlFloor(b *testing.B) {
	var pages [][]byte
	for n := range benchPages {
		pages = append(pages, benchPage(n, 1))
	}
	begin := cpu(syscall.RUSAGE_SELF)
	z, err := gzip.NewWriterLevel(io.Discard, harvest.DefaultSettings().WARCLevel)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for _, p := range pages {
			sha1.Sum(p)
			sha1.Sum(p)
			z.Reset(io.Discard)
			if _, err := z.Write(p); err != nil {
				b.Fatal(err)
			}
			z.Close()
			for t := html.NewTokenizer(bytes.NewReader(p)); t.Next() != html.ErrorToken; {
				for _, more := t.TagName(); more; {
					_, _, more = t.TagAttr()
				}
			}
		}
	}
	reportCPU(b, cpu(syscall.RUSAGE_SELF)-begin)
}

func reportCPU(b *testing.B, used time.Duration) {
	pages := float64(b.N * benchPages)
	b.ReportMetric(pages/b.Elapsed().Seconds(), "pages/s")
	b.ReportMetric(used.Seconds()/pages*1000, "cpu-s/1000pages")
}
