package crawler

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast/harvest"
	"holdfast/warc"
)

// socksProxy is a SOCKS5 proxy (RFC 1928, 1929) that lets in one user. It knows names that nobody else does, and what
// it was asked for.
type socksProxy struct {
	at    string
	known map[string]string // name and port: where that is
	mu    sync.Mutex
	asked map[string]int  // name or address, and port
	used  map[string]bool // its own addresses towards servers
}

func newSOCKSProxy(t *testing.T, user, password string, known map[string]string) *socksProxy {
	p := &socksProxy{known: known, asked: map[string]int{}, used: map[string]bool{}}
	p.at = strings.TrimPrefix(rawServer(t, func(c net.Conn) {
		target, err := socksGreeting(c, user, password)
		if err != nil {
			t.Error(err)
			return
		}
		p.mu.Lock()
		p.asked[target]++
		p.mu.Unlock()
		up, err := net.Dial("tcp", p.known[target])
		if err != nil {
			_, _ = c.Write([]byte{5, 4, 0, 1, 0, 0, 0, 0, 0, 0}) // host unreachable
			return
		}
		defer up.Close()
		p.mu.Lock()
		p.used[up.LocalAddr().String()] = true
		p.mu.Unlock()
		_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		var both sync.WaitGroup
		both.Go(func() { _, _ = io.Copy(up, c); _ = up.(*net.TCPConn).CloseWrite() })
		_, _ = io.Copy(c, up)
		_ = c.Close()
		both.Wait()
	}), "http://")
	return p
}

// socksGreeting reads who asks, and for what, a name or an address.
func socksGreeting(c net.Conn, user, password string) (target string, err error) {
	read := func(n int) []byte {
		b := make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(c, b)
		}
		return b
	}
	if methods := read(int(read(2)[1])); err == nil && !bytes.Contains(methods, []byte{2}) {
		return "", fmt.Errorf("no password is offered, but %v", methods)
	}
	_, _ = c.Write([]byte{5, 2})
	read(1)
	name := string(read(int(read(1)[0])))
	word := string(read(int(read(1)[0])))
	if err == nil && (name != user || word != password) {
		return "", fmt.Errorf("%q with %q wants in", name, word)
	}
	_, _ = c.Write([]byte{1, 0})
	switch head := read(4); head[3] {
	case 1:
		target = net.IP(read(4)).String()
	case 3:
		target = string(read(int(read(1)[0])))
	case 4:
		target = net.IP(read(16)).String()
	default:
		return "", fmt.Errorf("asked for %v, %w", head, err)
	}
	return fmt.Sprintf("%s:%d", target, binary.BigEndian.Uint16(read(2))), err
}

// through tells whether a server was reached by the proxy.
func (p *socksProxy) through(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used[r.RemoteAddr]
}

// A crawl asks the hosts that a pattern names through their SOCKS proxy, all of them by name and for everything,
// robots.txt too; others directly. The records are as if it had asked them itself, but for an address.
func TestSOCKSProxy(t *testing.T) {
	t.Parallel()
	var p *socksProxy
	wrong := make(chan string, 100)
	pages := func(byProxy bool) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if p.through(r) != byProxy {
				wrong <- r.Host + r.URL.Path
			}
			switch r.URL.Path {
			case "/robots.txt":
				http.NotFound(w, r)
			case "/":
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "<a href=/one>1</a><a href=/moved>2</a><img src=/three.png>")
			case "/moved":
				http.Redirect(w, r, "/two", http.StatusFound)
			default:
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "body of "+r.Host+r.URL.Path)
			}
		})
	}
	plain := httptest.NewServer(pages(true))
	secure := httptest.NewTLSServer(pages(true))
	direct := httptest.NewServer(pages(false))
	for _, s := range []*httptest.Server{plain, secure, direct} {
		t.Cleanup(s.Close)
	}
	named := func(s *httptest.Server, name string) string {
		return name + s.Listener.Addr().String()[strings.LastIndexByte(s.Listener.Addr().String(), ':'):]
	}
	plainHost, secureHost := named(plain, "plain.hidden.example"), named(secure, "secure.hidden.example")
	p = newSOCKSProxy(t, "anna", "verysecret", map[string]string{plainHost: plain.Listener.Addr().String(), secureHost: secure.Listener.Addr().String()})

	job := newJob("http://"+plainHost+"/", "https://"+secureHost+"/", direct.URL+"/", "http://dead.hidden.example/")
	job.Settings.OperatorContact = "https://library.example/crawls"
	job.Settings.Proxies = []harvest.Route{{Hosts: []string{"*.hidden.example"}, Via: "socks5://anna:verysecret@" + p.at}}
	dir := t.TempDir()
	if sum := run(t, dir, job); sum.Reason != "completed" {
		t.Errorf("%+v", sum)
	}
	close(wrong)
	for what := range wrong {
		t.Errorf("%s was asked for the wrong way", what)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) != 3 || p.asked[plainHost] == 0 || p.asked[secureHost] == 0 || p.asked["dead.hidden.example:80"] == 0 {
		t.Errorf("the proxy was asked for %v", p.asked)
	}
	if status, notes := logged(t, dir, "http://dead.hidden.example/robots.txt"); status != "-2" || !strings.Contains(notes, "proxyFailed") {
		t.Errorf("what the proxy cannot reach: %s %s", status, notes)
	}
	var want []string
	for _, origin := range []string{"http://" + plainHost, "https://" + secureHost, direct.URL} {
		for _, path := range []string{"/", "/moved", "/one", "/robots.txt", "/three.png", "/two"} {
			want = append(want, origin+path)
		}
	}
	checkProxyRecords(t, dir, direct.URL, want)
	noSecrets(t, dir, "verysecret")
}

// checkProxyRecords checks that these URIs, and no names that were looked up, are recorded, each with what was sent and
// what came back.
func checkProxyRecords(t *testing.T, dir, direct string, want []string) {
	t.Helper()
	var responses, requests []string
	for _, f := range warcFiles(t, dir) {
		eachRecord(t, f, func(r *warc.Record) {
			if r.Type != warc.TypeResponse && r.Type != warc.TypeRequest {
				return
			}
			uri := r.TargetURI()
			block, err := io.ReadAll(r.Block)
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(uri, "://")
			host, path, _ := strings.Cut(rest, "/")
			if address := r.Header.Get("WARC-IP-Address"); (address == "127.0.0.1") != strings.HasPrefix(uri, direct) || address != "" && address != "127.0.0.1" {
				t.Errorf("%s %s has the address %q", r.Type, uri, address)
			}
			if r.Type == warc.TypeRequest {
				requests = append(requests, uri)
				if !bytes.HasPrefix(block, []byte("GET /"+path+" HTTP/1.1\r\n")) || !bytes.Contains(block, []byte("\r\nHost: "+host+"\r\n")) ||
					bytes.Contains(block, []byte("Proxy-")) {
					t.Errorf("request %s:\n%s", uri, block)
				}
				return
			}
			responses = append(responses, uri)
			if body := "body of " + rest; strings.HasSuffix(uri, "/one") && !bytes.HasSuffix(block, []byte("\r\n\r\n"+body)) {
				t.Errorf("response %s:\n%s", uri, block)
			}
		})
	}
	slices.Sort(want)
	for what, got := range map[string][]string{"responses": responses, "requests": requests} {
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
}
