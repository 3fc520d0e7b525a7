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
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/net/html"

	"holdfast/harvest"
)

const benchPages = 1000

// benchPage is page n of about 12 kB with some 60 links.
func benchPage(n int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!DOCTYPE html><html><head><title>Page %d</title></head><body>\n", n)
	for i := range 60 {
		fmt.Fprintf(&b, "<li class=\"toctree item\"><a class=\"reference internal\" href=\"/p/%d\">Section %d of chapter %d</a></li>\n", (n*7+i*i+1)%benchPages, i, n)
		if i%2 == 0 {
			fmt.Fprintf(&b, "<p>Paragraph %d of page %d tells what a reader of it %x wants to know about that.</p>\n", i, n, sha1.Sum(fmt.Append(nil, n, i)))
		}
	}
	b.WriteString("</body></html>\n")
	return b.Bytes()
}

// benchServer serves the pages from memory in a process of its own account: it writes prepared bytes, and little else.
func benchServer(b *testing.B) string {
	pages := make([][]byte, benchPages)
	for n := range pages {
		body := benchPage(n)
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
func BenchmarkCrawl(b *testing.B) { benchCrawl(b, "") }

// BenchmarkCrawlDomains is BenchmarkCrawl of a job with 10 000 domains that have limits and traps of their own, and of
// one with 1 000 traps for all domains, beside one with neither. Opening and ending a crawl are told apart.
func BenchmarkCrawlDomains(b *testing.B) {
	for _, table := range []string{tableNone, tableDomains, tableTraps} {
		b.Run("table="+table, func(b *testing.B) { benchCrawl(b, table) })
	}
}

// envCrawlTable says which table of domains the job of the crawl in a process of its own has.
const (
	envCrawlTable = "HOLDFAST_TEST_CRAWL_TABLE"
	tableNone     = "none"
	tableDomains  = "domains"
	tableTraps    = "traps"
)

// benchTable is a table of domains, one of them that of the pages, or of traps like those that people collect.
func benchTable(kind string) *harvest.Domains {
	trap := func(i int) string {
		return fmt.Sprintf([]string{`.*/calendar%d/[0-9]{4}/.*`, `.*[?&]session%d=.*`, `.*\.site%d\.(org|net)/print/.*`}[i%3], i)
	}
	d := &harvest.Domains{}
	if kind == tableNone {
		return nil
	}
	if kind == tableTraps {
		for i := range 1000 {
			d.Traps = append(d.Traps, trap(i))
		}
		return d
	}
	for i := range 10_000 {
		c := harvest.Configuration{Domain: fmt.Sprintf("d%d.org", i), Name: "all", Objects: harvest.AtMost(1e6), Bytes: harvest.AtMost(1e12)}
		if i == 5000 {
			c.Domain = "127.0.0.1"
		}
		for n := range 3 {
			c.Traps = append(c.Traps, trap(3*i+n))
		}
		d.Configurations = append(d.Configurations, c)
	}
	return d
}

func benchCrawl(b *testing.B, table string) {
	url := benchServer(b)
	begin := cpu(syscall.RUSAGE_CHILDREN)
	var opening time.Duration // and ending, of crawls of one document
	for b.Loop() {
		if table != "" {
			before := cpu(syscall.RUSAGE_CHILDREN)
			crawlApart(b, url+"/missing", table, 2)
			opening += cpu(syscall.RUSAGE_CHILDREN) - before
		}
		crawlApart(b, url+"/p/0", table, benchPages+1)
	}
	used := cpu(syscall.RUSAGE_CHILDREN) - begin
	if table != "" {
		b.ReportMetric(opening.Seconds()/float64(b.N), "cpu-s/opening")
		used -= 2 * opening
	}
	reportCPU(b, used)
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
	url := benchServer(b)
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
		pages = append(pages, benchPage(n))
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
