package web

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"holdfast/api/wire"
	"holdfast/internal/inprocess"
)

// BenchmarkHundredJobs draws a page of a hundred jobs; the other part writes them as JSON, to compare.
func BenchmarkHundredJobs(b *testing.B) {
	h, err := New(Config{Cluster: "c", Node: "north-1", API: http.DefaultTransport, Sessions: &sessions{}, Now: now})
	if err != nil {
		b.Fatal(err)
	}
	list := &listed[wire.Job]{Asked: true}
	answer, ok := filled("north-1")["/jobs"].(wire.Page[wire.Job])
	if !ok {
		b.Fatal("no jobs")
	}
	for range 100 {
		list.Items = append(list.Items, answer.Items[1])
	}
	t := &turn{Handler: h, w: httptest.NewRecorder(), r: httptest.NewRequest(http.MethodGet, "/jobs", nil), path: "/jobs",
		who: &Session{Role: "reader"}}
	b.Run("page", func(b *testing.B) {
		for b.Loop() {
			if err := h.templates["jobs"].Execute(io.Discard, t.view("web.jobs", list)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json", func(b *testing.B) {
		for b.Loop() {
			if err := json.NewEncoder(io.Discard).Encode(list); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPart redraws the page of a running crawl for one more of those who look at it: the archive was asked before.
func BenchmarkPart(b *testing.B) {
	h, err := New(Config{Cluster: "c", Node: "north-1", API: inprocess.New(&archive{answers: filled("north-1"), tokens: map[string]bool{}},
		slog.New(slog.DiscardHandler)), Sessions: &sessions{open: map[string]Session{"admin": {Text: "admin", Role: "admin", Expires: now().Add(life)}}}, Now: now})
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "http://archive.test/_/en/jobs/15/crawl?format=part", nil)
	r.AddCookie(&http.Cookie{Name: plainCookie, Value: "admin"})
	for b.Loop() {
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
	}
}
