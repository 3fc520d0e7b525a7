//go:build slow

package node

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"holdfast/client"
)

// spans are those that a collector was sent.
type spans struct {
	mu  sync.Mutex
	all []sentSpan
	raw strings.Builder
}

type sentSpan struct {
	Node, TraceID, SpanID, ParentSpanID, Name string
}

func (s *spans) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var got struct {
		ResourceSpans []struct {
			Resource struct {
				Attributes []struct {
					Key   string
					Value struct{ StringValue string }
				}
			}
			ScopeSpans []struct{ Spans []sentSpan }
		}
	}
	text, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(text, &got) != nil {
		return
	}
	s.raw.Write(text)
	for _, of := range got.ResourceSpans {
		node := ""
		for _, a := range of.Resource.Attributes {
			if a.Key == "service.instance.id" {
				node = a.Value.StringValue
			}
		}
		for _, scope := range of.ScopeSpans {
			for _, one := range scope.Spans {
				one.Node = node
				s.all = append(s.all, one)
			}
		}
	}
}

// named returns the spans of a name, of a node if it is given.
func (s *spans) named(name, node string) (out []sentSpan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		if one.Name == name && (node == "" || one.Node == node) {
			out = append(out, one)
		}
	}
	return out
}

// A request, its command and its end on the node that was asked are one trace; what the nodes do with a file is one;
// no secret is in them.
func TestTraces(t *testing.T) {
	t.Parallel()
	got := &spans{}
	collector := httptest.NewServer(got)
	t.Cleanup(collector.Close)
	cfgs := threeConfigs(t, "")
	for i := range cfgs {
		cfgs[i].Traces = collector.URL
	}
	nodes := startNodes(t, cfgs)
	south := nodes[1] // no leader: it has to wait until it shows what was decided
	own, err := south.token.Text()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := client.New("http://"+south.cfg.Listen.API, own)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a collection is made", func() error {
		_, err := archive.Collections().Add(t.Context(), "traced")
		return err
	})
	eventually(t, "a file is put", func() error {
		_, err := archive.Files().Put(t.Context(), client.Upload{Name: "note.txt", Size: 5, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte("bytes"))),
			Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("bytes")), nil }})
		return err
	})
	eventually(t, "the spans are sent", func() error {
		var request, command, apply sentSpan
		for _, a := range got.named("apply", "south-1") {
			for _, c := range got.named("command collection.set", "south-1") {
				for _, r := range got.named("POST /api/v1/collections", "south-1") {
					if a.TraceID == r.TraceID && a.ParentSpanID == c.SpanID && c.ParentSpanID == r.SpanID {
						request, command, apply = r, c, a
					}
				}
			}
		}
		if request.SpanID == "" || command.TraceID != request.TraceID || apply.TraceID != request.TraceID {
			return fmt.Errorf("request %v, commands %v, ends %v", got.named("POST /api/v1/collections", ""), got.named("command collection.set", ""), got.named("apply", ""))
		}
		put, copies := got.named("file put", "south-1"), got.named("file copy", "")
		if len(put) != 1 || len(copies) == 0 || copies[0].TraceID != put[0].TraceID || copies[0].Node == "south-1" {
			return fmt.Errorf("put %v, copied %v", put, copies)
		}
		return nil
	})
	got.mu.Lock()
	defer got.mu.Unlock()
	if strings.Contains(got.raw.String(), own) || strings.Contains(got.raw.String(), "Bearer") {
		t.Error("a token was sent")
	}
}
