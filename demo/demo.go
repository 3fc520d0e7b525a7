// Package demo is a small website to try the program on: the library, the newspaper and the city office of a town
// that does not exist, on three host names of a domain that does not exist. It is served on loopback, with its own
// name server, so that it is crawled like any other site.
//
// It has what crawlers meet: pages, pictures, style sheets that import others, redirects, a robots.txt that forbids a
// part, site maps, a feed, a page that is gone, and one that is different at each visit.
package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Hosts are the site's host names; each is a name below demo.test, which the public DNS will never know.
func Hosts() []string {
	return []string{"library.demo.test", "press.demo.test", "city.demo.test"}
}

// Page is one thing that the site serves.
type Page struct {
	URL      string
	Status   int    // 200, 301, 302, 404
	Type     string // media type
	Location string // absolute, of a redirect
	Changes  bool   // its body is different at each visit
	Refused  bool   // robots.txt does not allow it to be crawled
	path     string
	body     []byte // nil for the page that changes
}

// Site is the website while it is served.
type Site struct {
	Seeds      []string // the three front pages
	Nameserver string   // host:port, UDP, that knows the site's names

	pages  map[string]map[string]*Page // by host, then path
	stop   context.CancelFunc
	served sync.WaitGroup
	failed error
	visits atomic.Int64
}

// Serve begins to serve the site on loopback ports that are free, until ctx is done or Close is called.
func Serve(ctx context.Context) (*Site, error) {
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the demo site: %w", err)
	}
	names, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		_ = web.Close()
		return nil, fmt.Errorf("listen for the demo site's names: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	s := &Site{Nameserver: names.LocalAddr().String(), pages: map[string]map[string]*Page{}, stop: stop}
	port := web.Addr().(*net.TCPAddr).Port
	for _, host := range Hosts() {
		s.Seeds = append(s.Seeds, origin(host, port)+"/")
	}
	s.build(port)
	s.run(ctx, web, names)
	return s, nil
}

// run starts the two servers, each with something that ends it.
func (s *Site) run(ctx context.Context, web net.Listener, names net.PacketConn) {
	server := &http.Server{Handler: http.HandlerFunc(s.answer), ReadHeaderTimeout: 10 * time.Second}
	resolver := nameServer(names)
	var mu sync.Mutex
	end := func(err error) {
		s.stop()
		mu.Lock()
		defer mu.Unlock()
		if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) && s.failed == nil {
			s.failed = err
		}
	}
	s.served.Go(func() { end(server.Serve(web)) })
	s.served.Go(func() { end(resolver.ActivateAndServe()) })
	s.served.Go(func() {
		<-ctx.Done()
		end(server.Close())
		end(names.Close())
	})
}

// Close ends serving and returns what went wrong while it lasted.
func (s *Site) Close() error {
	s.stop()
	s.served.Wait()
	return s.failed
}

// URLs returns what a crawl of the seeds with their pictures and styles should capture: everything except what
// robots.txt forbids, in the order of the URLs.
func (s *Site) URLs() []Page {
	return s.list(func(p *Page) bool { return !p.Refused })
}

// Refused returns what the site serves and links, but robots.txt forbids.
func (s *Site) Refused() []Page {
	return s.list(func(p *Page) bool { return p.Refused })
}

func (s *Site) list(want func(*Page) bool) []Page {
	var out []Page
	for _, pages := range s.pages {
		for _, p := range pages {
			if want(p) {
				out = append(out, *p)
			}
		}
	}
	slices.SortFunc(out, func(a, b Page) int { return strings.Compare(a.URL, b.URL) })
	return out
}

func origin(host string, port int) string { return "http://" + host + ":" + strconv.Itoa(port) }

// answer serves a request for any of the hosts.
func (s *Site) answer(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	pages, ok := s.pages[strings.ToLower(host)]
	if !ok {
		http.Error(w, "no such host", http.StatusMisdirectedRequest)
		return
	}
	p, ok := pages[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	body := p.body
	if p.Changes {
		body = changing(p, s.visits.Add(1), time.Now())
	}
	w.Header().Set("Content-Type", p.Type)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if p.Location != "" {
		w.Header().Set("Location", p.Location)
	}
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a visitor who goes away is no matter
	}
}
