package demo

import (
	"net"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// nameServer answers for the site's names with this machine's loopback address, and for no other name.
func nameServer(conn net.PacketConn) *dns.Server {
	return &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, asked *dns.Msg) {
		answer := new(dns.Msg)
		answer.SetReply(asked)
		answer.Authoritative = true
		for _, q := range asked.Question {
			name := strings.ToLower(strings.TrimSuffix(q.Name, "."))
			switch {
			case !strings.HasSuffix(name, ".demo.test"):
				answer.Rcode = dns.RcodeRefused
			case !slices.Contains(Hosts(), name):
				answer.Rcode = dns.RcodeNameError
			case q.Qtype == dns.TypeA:
				answer.Answer = append(answer.Answer, &dns.A{
					Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60},
					A:   net.IPv4(127, 0, 0, 1),
				})
			}
		}
		_ = w.WriteMsg(answer) // a lost answer is asked for again
	})}
}
