package plan

import (
	"net/netip"
	"testing"
	"time"

	"holdfast/crawler/fetch"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// Link-local addresses are a switch of their own, and where a hosting provider tells a machine its passwords is never
// asked, however the address is written.
func TestAllowed(t *testing.T) {
	tests := []struct {
		addr                           string
		plain, private, linkLocal, all bool
	}{
		{"93.184.216.34", true, true, true, true},
		{"127.0.0.1", false, true, false, true},
		{"10.1.2.3", false, true, false, true},
		{"192.168.1.1", false, true, false, true},
		{"fd12::1", false, true, false, true},
		{"169.254.7.7", false, false, true, true},
		{"::ffff:169.254.7.7", false, false, true, true},
		{"64:ff9b::169.254.7.7", false, false, true, true},
		{"2002:a9fe:707::1", false, false, true, true},
		{"fe80::1", false, false, true, true},
		{"169.254.169.254", false, false, false, false},
		{"::ffff:169.254.169.254", false, false, false, false},
		{"::169.254.169.254", false, false, false, false},
		{"64:ff9b::a9fe:a9fe", false, false, false, false},
		{"64:ff9b:1::a9fe:a9fe", false, false, false, false},
		{"2002:a9fe:a9fe::", false, false, false, false},
		{"::ffff:0:169.254.169.254", false, false, false, false},
		{"fd12::5efe:169.254.169.254", false, false, false, false},
		{"fd12::200:5efe:169.254.7.7", false, false, true, true},
		{"169.254.170.2", false, false, false, false},
		{"100.100.100.200", false, false, false, false},
		{"168.63.129.16", false, false, false, false},
		{"fd00:ec2::254", false, false, false, false},
		{"fd20:ce::254", false, false, false, false},
		{"fe80::a9fe:a9fe", false, false, false, false},
	}
	for _, tt := range tests {
		var got [4]bool
		for i, open := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			s := harvest.DefaultSettings()
			s.OperatorContact, s.AllowPrivate, s.AllowLinkLocal = "https://example.org/", open[0], open[1]
			c, err := Follow(s, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			got[i] = c.Allowed(netip.MustParseAddr(tt.addr))
		}
		if want := [4]bool{tt.plain, tt.private, tt.linkLocal, tt.all}; got != want {
			t.Errorf("%s is allowed without a switch, with allow_private, allow_link_local, both: %v, want %v", tt.addr, got, want)
		}
	}
}

// A dot after the name makes no other host, for queues, reports and the scope.
func TestDotAfterTheName(t *testing.T) {
	s := harvest.DefaultSettings()
	for url, want := range map[string]string{"http://loc.gov./x": "loc.gov", "http://loc.gov.:8080/x": "loc.gov:8080", "http://loc.gov/x": "loc.gov", "https://[::1]:81/": "[::1]:81"} {
		target, err := fetch.ParseTarget(url)
		if err != nil {
			t.Fatal(err)
		}
		if queue := QueueOf(target, &s); queue != want {
			t.Errorf("%s is in queue %s, want %s", url, queue, want)
		}
	}
	domains, err := scope.NewDomains(nil, harvest.CountByURL)
	if err != nil {
		t.Fatal(err)
	}
	sheets, err := harvest.NewSheets(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scope.New(sheets, domains, []string{"http://loc.gov/"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]bool{"http://loc.gov./x": true, "http://loc.gov.:80/x": false, "http://loc.gov.evil.org/x": false} {
		if got := sc.Decide(&scope.Subject{URL: url, Path: "L", Via: "http://loc.gov/", Now: time.Now(), Settings: &s}).Accepted(); got != want {
			t.Errorf("%s is in the scope: %v, want %v", url, got, want)
		}
	}
}
