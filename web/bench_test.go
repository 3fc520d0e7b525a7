package web

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"holdfast/api/wire"
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
