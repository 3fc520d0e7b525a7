package fetch

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// nameServer answers a.test with addresses behind an alias, empty.test with none, and knows no other name.
func nameServer(t *testing.T) (addr string) {
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dns.Server{PacketConn: pc, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		name, kind := q.Question[0].Name, q.Question[0].Qtype
		switch {
		case name == "a.test." && kind == dns.TypeA:
			m.Answer = records(t, "a.test. 300 IN CNAME b.test.", "b.test. 120 IN A 192.0.2.1", "b.test. 120 IN A 127.0.0.1")
		case name == "a.test." && kind == dns.TypeAAAA:
			m.Answer = records(t, "b.test. 120 IN AAAA 2001:db8::1")
		case name == "empty.test.":
		default:
			m.Rcode = dns.RcodeNameError
		}
		if err := w.WriteMsg(m); err != nil {
			t.Error(err)
		}
	})}
	go s.ActivateAndServe()
	t.Cleanup(func() { s.Shutdown() })
	return pc.LocalAddr().String()
}

func records(t *testing.T, lines ...string) (out []dns.RR) {
	for _, l := range lines {
		rr, err := dns.NewRR(l)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rr)
	}
	return out
}

func TestLookup(t *testing.T) {
	t.Parallel()
	r := Resolver{Server: nameServer(t), Timeout: time.Second}
	a := r.Lookup(t.Context(), "A.test")
	if a.Code != CodeDNSOK || a.Err != nil || len(a.Addrs) != 3 || a.TTL != 2*time.Minute || a.Server != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("%+v", a)
	}
	lines := strings.Split(string(a.Text), "\n")
	if len(lines) != 6 || lines[0] != a.Begin.UTC().Format("20060102150405") || lines[1] != "a.test.\t300\tIN\tCNAME\tb.test." || lines[2] != "b.test.\t120\tIN\tA\t192.0.2.1" {
		t.Errorf("archived as %q", a.Text)
	}
	for _, name := range []string{"none.test", "empty.test", strings.Repeat("a", 300), "a..b"} {
		if a := r.Lookup(t.Context(), name); a.Code != CodeDNSFailed || a.Err == nil || !a.Permanent {
			t.Errorf("%.20s: %+v", name, a)
		}
	}
}

// questions starts a name server at one port of UDP and TCP that answers with do.
func questions(t *testing.T, do func(q *dns.Msg, tcp bool) *dns.Msg) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pc, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*dns.Server{{PacketConn: pc}, {Listener: l}} {
		tcp := s.Listener != nil
		s.Handler = dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
			if m := do(q, tcp); m != nil {
				w.WriteMsg(m)
			}
		})
		go s.ActivateAndServe()
		t.Cleanup(func() { s.Shutdown() })
	}
	return l.Addr().String()
}

func TestNameServersThatLie(t *testing.T) {
	t.Parallel()
	name := func(q *dns.Msg) string { return q.Question[0].Name }
	reply := func(q *dns.Msg, lines ...string) *dns.Msg {
		m := new(dns.Msg).SetReply(q)
		m.Answer = records(t, lines...)
		return m
	}
	n := 0
	tests := []struct {
		name string
		do   func(q *dns.Msg, tcp bool) *dns.Msg
		want int // addresses
	}{
		{"endless aliases", func(q *dns.Msg, _ bool) *dns.Msg {
			n++
			return reply(q, fmt.Sprintf("%s 60 IN CNAME a%d.test.", name(q), n))
		}, 0},
		{"many aliases at once", func(q *dns.Msg, _ bool) *dns.Msg {
			m := reply(q, name(q)+" 60 IN CNAME a0.test.")
			for i := range 100 {
				m.Answer = append(m.Answer, records(t, fmt.Sprintf("a%d.test. 60 IN CNAME a%d.test.", i, i+1))...)
			}
			return m
		}, 0},
		{"aliases in a circle", func(q *dns.Msg, _ bool) *dns.Msg {
			return reply(q, name(q)+" 60 IN CNAME b.test.", "b.test. 60 IN CNAME "+name(q))
		}, 0},
		{"an alias to be asked for", func(q *dns.Msg, _ bool) *dns.Msg {
			if name(q) == "b.test." && q.Question[0].Qtype == dns.TypeA {
				return reply(q, "b.test. 60 IN A 192.0.2.1")
			}
			return reply(q, name(q)+" 60 IN CNAME b.test.")
		}, 1},
		{"another name's address", func(q *dns.Msg, _ bool) *dns.Msg { return reply(q, "bank.test. 60 IN A 192.0.2.1") }, 0},
		{"another question", func(q *dns.Msg, _ bool) *dns.Msg {
			m := reply(q, name(q)+" 60 IN A 192.0.2.1")
			m.Question[0].Name = "other.test."
			return m
		}, 0},
		{"very many addresses", func(q *dns.Msg, tcp bool) *dns.Msg {
			m := reply(q)
			if m.Truncated = !tcp; tcp {
				for i := range 1000 {
					m.Answer = append(m.Answer, records(t, fmt.Sprintf("%s 60 IN A 192.0.%d.%d", name(q), i/250, i%250))...)
				}
			}
			return m
		}, maxAnswers},
		{"no EDNS", func(q *dns.Msg, _ bool) *dns.Msg {
			if len(q.Extra) > 0 {
				return new(dns.Msg).SetRcode(q, dns.RcodeFormatError)
			}
			return reply(q, name(q)+" 60 IN A 192.0.2.1")
		}, 1},
	}
	for _, tt := range tests {
		r := Resolver{Server: questions(t, tt.do), Timeout: 2 * time.Second}
		a := r.Lookup(t.Context(), "a.test")
		if len(a.Addrs) != tt.want || (a.Err == nil) != (tt.want > 0) || a.TTL < minTTL || len(a.Text) > 64<<10 {
			t.Errorf("%s: %d addresses, TTL %s, %v", tt.name, len(a.Addrs), a.TTL, a.Err)
		}
	}
}

// Where one name server fails the next is asked; that there is nothing holds for as long as the zone says.
func TestSeveralNameServers(t *testing.T) {
	t.Parallel()
	bad := questions(t, func(q *dns.Msg, _ bool) *dns.Msg { return new(dns.Msg).SetRcode(q, dns.RcodeServerFailure) })
	good := questions(t, func(q *dns.Msg, _ bool) *dns.Msg {
		m := new(dns.Msg).SetReply(q)
		if m.Rcode = dns.RcodeNameError; q.Question[0].Name == "a.test." {
			m.Rcode, m.Answer = dns.RcodeSuccess, records(t, "a.test. 999999 IN A 192.0.2.1")
		}
		m.Ns = records(t, "test. 600 IN SOA ns.test. me.test. 1 2 3 4 300")
		return m
	})
	r := Resolver{Server: bad + ", " + good, Timeout: 2 * time.Second, MaxTTL: time.Hour}
	if a := r.Lookup(t.Context(), "a.test"); a.Code != CodeDNSOK || a.TTL != time.Hour {
		t.Errorf("%+v", a)
	}
	if a := r.Lookup(t.Context(), "none.test"); !a.Permanent || a.TTL != 5*time.Minute {
		t.Errorf("%+v", a)
	}
	r.Server = bad
	if a := r.Lookup(t.Context(), "a.test"); a.Permanent || a.Err == nil {
		t.Errorf("%+v", a)
	}
}

func FuzzDNSReply(f *testing.F) {
	m := new(dns.Msg).SetQuestion("a.test.", dns.TypeA)
	m.Response = true
	for _, line := range []string{"a.test. 60 IN CNAME b.test.", "b.test. 60 IN A 192.0.2.1", "b.test. 60 IN TXT \"x\""} {
		rr, err := dns.NewRR(line)
		if err != nil {
			f.Fatal(err)
		}
		m.Answer = append(m.Answer, rr)
	}
	seed, err := m.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, in []byte) {
		reply := new(dns.Msg)
		if reply.Unpack(in) != nil {
			return
		}
		l := &lookup{chain: map[string]bool{"a.test.": true}, last: "a.test.", seen: map[string]bool{}, ttl: time.Hour, negative: time.Hour}
		if answers(reply, new(dns.Msg).SetQuestion("a.test.", dns.TypeA)) != nil {
			reply.Question = nil
		}
		l.take(reply)
		text := l.text.String()
		if len(l.addrs) > maxAnswers || len(l.chain) > maxAliases+1 || strings.Count(text, "\n") != len(l.seen) || strings.ContainsAny(text, "\r\x00") {
			t.Fatalf("%d addresses, %d aliases, %q", len(l.addrs), len(l.chain), text)
		}
	})
}

func TestHostsFile(t *testing.T) {
	t.Parallel()
	hosts := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, []byte("# comment\n127.0.0.9 one.test two.test # three.test\n::1 two.test\nnonsense four.test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := Resolver{Hosts: hosts, Config: filepath.Join(t.TempDir(), "none"), Timeout: time.Second}
	tests := []struct {
		name string
		code int
		n    int
	}{{"ONE.test", CodeDNSOK, 1}, {"two.test", CodeDNSOK, 2}, {"three.test", CodeDNSFailed, 0}, {"four.test", CodeDNSFailed, 0}, {"localhost", CodeDNSOK, 1}}
	for _, tt := range tests {
		a := r.Lookup(t.Context(), tt.name)
		if a.Code != tt.code || len(a.Addrs) != tt.n || (a.Err == nil) != (tt.code == CodeDNSOK) {
			t.Errorf("%s: %+v", tt.name, a)
		}
		if tt.n > 0 && strings.Count(string(a.Text), "\n") != tt.n+1 {
			t.Errorf("%s: archived as %q", tt.name, a.Text)
		}
	}
}

func TestPublic(t *testing.T) {
	t.Parallel()
	for _, a := range []string{"127.0.0.1", "10.1.2.3", "192.168.1.1", "172.16.0.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "224.0.0.1", "255.255.255.255",
		"::1", "fe80::1", "fc00::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::", "::"} {
		if Public(netip.MustParseAddr(a)) {
			t.Errorf("%s is not public", a)
		}
	}
	for _, a := range []string{"1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8"} {
		if !Public(netip.MustParseAddr(a)) {
			t.Errorf("%s is public", a)
		}
	}
}

// TestPublicLooksWithin judges IPv6 addresses that lead to IPv4 addresses: Teredo, and NAT64 with a network's own prefix.
func TestPublicLooksWithin(t *testing.T) {
	for a, want := range map[string]bool{
		"2001:0:5db8:d822::a247:2722":     true,  // Teredo: server 93.184.216.34, client 93.184.216.221
		"2001:0:5db8:d822::f5ff:fffe":     false, // client 10.0.0.1
		"2001:0:5db8:d822::80ff:fffe":     false, // client 127.0.0.1
		"2001:0:a00:1::a247:2722":         false, // server 10.0.0.1
		"64:ff9b:1::5db8:d822":            true,  // /96: 93.184.216.34
		"64:ff9b:1::a00:1":                false, // /96: 10.0.0.1
		"64:ff9b:1:ffff::7f00:1":          false, // /96 in a subnet: 127.0.0.1
		"64:ff9b:1:5db8:d8:2200::":        true,  // /48: 93.184.216.34
		"64:ff9b:1:a00:0:100::":           false, // /48: 10.0.0.1
		"64:ff9b:1:a:0:7::":               false, // /56: 10.0.7.0 and /48: 0.10.0.7
		"64:ff9b:1:0:a:0:700::":           false, // /64: 10.0.0.7, which as /96 would be 7.0.0.0
		"64:ff9b:1::":                     false, // no address at all
		"64:ff9b:1:0:100:0:5db8:d822":     false, // bits that have to be zero are not
		"64:ff9b:2::5db8:d822":            false, // not a prefix for this
		"2001:db8::1":                     false, // documentation
		"2606:2800:220:1:248:1893:25c8:1": true,
	} {
		if got := Public(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s is public: %t", a, got)
		}
	}
}
