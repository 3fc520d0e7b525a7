package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"holdfast/api/wire"
)

// over is a way to a server that a test gives.
type over func(*http.Request) (*http.Response, error)

func (o over) RoundTrip(r *http.Request) (*http.Response, error) { return o(r) }

type key struct{}

// TestAClientOverAnotherWay asks with and without a token; what is sent is seen by the given way alone.
func TestAClientOverAnotherWay(t *testing.T) {
	for token, want := range map[string]string{"holdfast-a-b": "Bearer holdfast-a-b", "": ""} {
		asked := 0
		c, err := Over(over(func(r *http.Request) (*http.Response, error) {
			asked++
			got, sent := r.Header["Authorization"]
			if r.URL.String() != "http://this-node/below/api/v1/nodes" || sent != (want != "") || sent && got[0] != want || r.Context().Value(key{}) != "a person" {
				t.Errorf("asked %s with %v", r.URL, got)
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"items":[]}`)), Request: r}, nil
		}), "http://this-node/below", token)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Nodes().List(context.WithValue(t.Context(), key{}, "a person")); err != nil || asked != 1 {
			t.Errorf("%v, asked %d times", err, asked)
		}
		c.Close()
	}
	for _, base := range []string{"this-node", "127.0.0.1:7481", "ftp://x", "http://", ""} {
		if _, err := Over(http.DefaultTransport, base, ""); !errors.Is(err, wire.ErrInvalid) {
			t.Errorf("%q: %v", base, err)
		}
	}
	if _, err := Over(nil, "http://this-node", ""); !errors.Is(err, wire.ErrInvalid) {
		t.Errorf("over nothing: %v", err)
	}
}

// TestPages asks for one page of each list, at a place, and gets its cursor and total.
func TestPages(t *testing.T) {
	var got string
	c, err := Over(over(func(r *http.Request) (*http.Response, error) {
		got = r.URL.RequestURI()
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"items":[{}],"next":"n","total":7}`)), Request: r}, nil
	}), "http://this-node", "")
	if err != nil {
		t.Fatal(err)
	}
	at, ctx, number := Place{After: "c", Limit: 5}, t.Context(), uint64(3)
	for want, ask := range map[string]func() (int, string, *int64, error){
		"/api/v1/jobs?after=c&harvest=3&limit=5&state=DONE": func() (int, string, *int64, error) {
			p, err := c.Jobs().Page(ctx, JobQuery{State: wire.JobDone, Harvest: &number}, at)
			return len(p.Items), p.Next, p.Total, err
		},
		"/api/v1/jobs/3/statistics?after=c&limit=5": func() (int, string, *int64, error) {
			p, err := c.Jobs().StatisticsPage(ctx, 3, at)
			return len(p.Items), p.Next, p.Total, err
		},
		"/api/v1/files?after=c&job=3&limit=5": func() (int, string, *int64, error) {
			p, err := c.Files().Page(ctx, FileQuery{Job: 3}, at)
			return len(p.Items), p.Next, p.Total, err
		},
		"/api/v1/copies?after=c&limit=5&state=owed": func() (int, string, *int64, error) {
			p, err := c.Files().CopiesPage(ctx, "owed", "", at)
			return len(p.Items), p.Next, p.Total, err
		},
		"/api/v1/audits?replica=north": func() (int, string, *int64, error) {
			p, err := c.Audits().Page(ctx, "", "north", Place{})
			return len(p.Items), p.Next, p.Total, err
		},
		"/api/v1/harvests?after=c&kind=event&limit=5": func() (int, string, *int64, error) {
			p, err := c.Harvests().Page(ctx, HarvestQuery{Kind: "event"}, at)
			return len(p.Items), p.Next, p.Total, err
		},
		"/api/v1/harvests/3/runs?after=c&limit=5": func() (int, string, *int64, error) {
			p, err := c.Harvests().RunsPage(ctx, 3, at)
			return len(p.Items), p.Next, p.Total, err
		},
		"/api/v1/domains?after=c&limit=5&prefix=ex": func() (int, string, *int64, error) {
			p, err := c.Domains().Page(ctx, "ex", at)
			return len(p.Items), p.Next, p.Total, err
		},
		"/api/v1/domains/example.org/history?after=c&limit=5": func() (int, string, *int64, error) {
			p, err := c.Domains().HistoryPage(ctx, "example.org", at)
			return len(p.Items), p.Next, p.Total, err
		},
		"/api/v1/trail?act=file.remove&after=c&limit=5&sort=newest": func() (int, string, *int64, error) {
			p, err := c.Trail().Page(ctx, EventQuery{Newest: true, Act: "file.remove"}, at)
			return len(p.Items), p.Next, p.Total, err
		},
	} {
		if n, next, total, err := ask(); err != nil || got != want || n != 1 || next != "n" || total == nil || *total != 7 {
			t.Errorf("%s: asked %s: %d items, %q, %v", want, got, n, next, err)
		}
	}
}

// FuzzProblem reads answers of a server that may be anything: there is always an error that says something.
func FuzzProblem(f *testing.F) {
	f.Add(`{"type":"urn:holdfast:problem:conflict","status":409,"detail":"no","errors":[{"location":"body.x","message":"bad"}]}`, 409)
	f.Add(`<html>bad gateway</html>`, 502)
	f.Add(`{"status":400,"errors":[null]}`, 400)
	f.Fuzz(func(t *testing.T, body string, code int) {
		err := readProblem(&http.Response{StatusCode: code, Status: http.StatusText(code), Body: io.NopCloser(strings.NewReader(body))})
		if err == nil {
			t.Fatal("no error")
		}
		_ = err.Error()
	})
}

// TestANameOfThisMachineIsThisMachine is given the address of another machine for a name that can only mean this one.
func TestANameOfThisMachineIsThisMachine(t *testing.T) {
	for address, ok := range map[string]bool{"127.0.0.1:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true, "192.0.2.1:80": false,
		"[2001:db8::1]:80": false, "0.0.0.0:80": false, "": false} {
		if err := onlyLoopback("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}
