package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// lookup is one look-up: what it was told so far.
type lookup struct {
	resolver  Resolver
	servers   []string
	chain     map[string]bool // the name and its aliases
	last      string          // the last of them
	queries   int
	seen      map[string]bool // lines of text
	text      strings.Builder
	addrs     []netip.Addr
	ttl       time.Duration
	negative  time.Duration // for how long it holds that there is nothing
	server    netip.Addr
	permanent bool
}

// run asks for addresses of both families, and goes on asking where a server tells aliases alone.
func (l *lookup) run(ctx context.Context) error {
	l.seen = map[string]bool{}
	var failed error
	for {
		name, found := l.last, len(l.addrs)
		for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
			if l.queries++; l.queries > maxQueries {
				l.permanent = true
				return errAliases
			}
			reply, server, err := l.ask(ctx, name, kind)
			if err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			l.server = server
			if err := l.take(reply); err != nil {
				l.permanent = true
				return err
			}
			if reply.Rcode == dns.RcodeNameError && len(l.addrs) == 0 {
				l.permanent = true
				return errors.New("no such name")
			}
		}
		if len(l.addrs) > found || l.last == name {
			break
		}
	}
	if failed == nil && len(l.addrs) == 0 {
		l.permanent = true
		return errors.New("no address")
	}
	return failed
}

// take adds what a reply says of the name and its aliases; what it says of other names nobody asked for.
func (l *lookup) take(reply *dns.Msg) error {
	next := map[string]string{}
	for _, rr := range reply.Answer {
		if alias, ok := rr.(*dns.CNAME); ok {
			next[strings.ToLower(alias.Hdr.Name)] = strings.ToLower(alias.Target)
		}
	}
	for to := next[l.last]; to != "" && !l.chain[to]; to = next[l.last] {
		if len(l.chain) > maxAliases {
			return errAliases
		}
		l.chain[to], l.last = true, to
	}
	for _, rr := range reply.Answer {
		head := rr.Header()
		if !l.chain[strings.ToLower(head.Name)] || head.Class != dns.ClassINET {
			continue
		}
		addr, isAddr := address(rr)
		if _, alias := rr.(*dns.CNAME); !alias && !isAddr || isAddr && len(l.addrs) >= maxAnswers {
			continue
		}
		line := rr.String()
		if l.seen[line] || len(l.seen) > maxAnswers+2*maxAliases {
			continue
		}
		l.seen[line] = true
		l.text.WriteString(line + "\n")
		l.ttl = min(l.ttl, time.Duration(head.Ttl)*time.Second)
		if isAddr {
			l.addrs = append(l.addrs, addr)
		}
	}
	for _, rr := range reply.Ns {
		if soa, ok := rr.(*dns.SOA); ok {
			l.negative = min(l.negative, time.Duration(min(soa.Minttl, soa.Hdr.Ttl))*time.Second)
		}
	}
	return nil
}

func address(rr dns.RR) (netip.Addr, bool) {
	switch rr := rr.(type) {
	case *dns.A:
		addr, ok := netip.AddrFromSlice(rr.A.To4())
		return addr, ok
	case *dns.AAAA:
		addr, ok := netip.AddrFromSlice(rr.AAAA.To16())
		return addr, ok
	}
	return netip.Addr{}, false
}

// ask puts one question to the servers in turn.
func (l *lookup) ask(ctx context.Context, name string, kind uint16) (*dns.Msg, netip.Addr, error) {
	var failed error
	for _, at := range l.servers {
		reply, err := l.askServer(ctx, at, name, kind)
		if err == nil && reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError {
			err = errors.New(rcode(reply.Rcode))
		}
		if err == nil {
			host, _, _ := net.SplitHostPort(at)
			addr, _ := netip.ParseAddr(host)
			return reply, addr.WithZone(""), nil
		}
		failed = errors.Join(failed, fmt.Errorf("ask %s for %s: %w", at, name, err))
		if ctx.Err() != nil {
			break
		}
	}
	return nil, netip.Addr{}, failed
}

// askServer asks by UDP, twice, and where the answer is cut by TCP; of a server that does not know EDNS without that.
func (l *lookup) askServer(ctx context.Context, at, name string, kind uint16) (*dns.Msg, error) {
	q := new(dns.Msg)
	q.SetQuestion(name, kind)
	q.SetEdns0(1232, false)
	var cut *dns.Msg
	var failed error
	for _, network := range []string{"udp", "udp", "tcp"} {
		if network == "tcp" && cut == nil {
			break
		}
		if network == "udp" && cut != nil {
			continue
		}
		client := dns.Client{Net: network, Timeout: l.resolver.Timeout}
		reply, _, err := client.ExchangeContext(ctx, q, at)
		if err == nil {
			err = answers(reply, q)
		}
		switch {
		case err != nil:
			failed = err
		case reply.Rcode == dns.RcodeFormatError && len(q.Extra) > 0:
			q.Extra, failed = nil, errors.New(rcode(reply.Rcode))
		case reply.Truncated && network == "udp":
			cut = reply
		default:
			return reply, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	if cut != nil && len(cut.Answer) > 0 {
		return cut, nil // better than nothing
	}
	return nil, failed
}

// answers tells whether a reply is one to the question.
func answers(reply, q *dns.Msg) error {
	if !reply.Response || reply.Opcode != dns.OpcodeQuery {
		return errors.New("DNS message is a question, not a reply")
	}
	if len(reply.Question) == 0 && reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError {
		return nil // as some servers say that they understood nothing
	}
	if len(reply.Question) != 1 || !strings.EqualFold(reply.Question[0].Name, q.Question[0].Name) ||
		reply.Question[0].Qtype != q.Question[0].Qtype ||
		reply.Question[0].Qclass != q.Question[0].Qclass {
		return errors.New("DNS reply is to another question")
	}
	return nil
}

func rcode(code int) string {
	if name, ok := dns.RcodeToString[code]; ok {
		return name
	}
	return fmt.Sprintf("response code %d", code)
}
