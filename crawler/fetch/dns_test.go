package fetch

import (
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

func TestHostsFile(t *testing.T) {
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
