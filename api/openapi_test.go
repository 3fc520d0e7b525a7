package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestTheCommittedDescriptionIsInStep compares doc/openapi.json with the API; with -update it writes it.
func TestTheCommittedDescriptionIsInStep(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "doc", "openapi.json")
	_, description := routes(newServer(Backend{}, slog.New(slog.DiscardHandler)), Backend{}, slog.New(slog.DiscardHandler))
	want := description()
	if update() {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("doc/openapi.json is not what the API says: go test ./api -update")
	}
	var o struct {
		OpenAPI string         `json:"openapi"`
		Paths   map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(want, &o); err != nil || o.OpenAPI != "3.1.0" || len(o.Paths) < 20 {
		t.Errorf("%v %s %d paths", err, o.OpenAPI, len(o.Paths))
	}
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write doc/openapi.json as the API is now")
	os.Exit(m.Run())
}

// update reports whether the test was run with -update.
func update() bool { return flag.Lookup("update").Value.String() == "true" }

func TestTheDescriptionIsServedToAnyone(t *testing.T) {
	t.Parallel()
	_, as := testCluster(t)
	for path, kind := range map[string]string{"/openapi.json": "application/openapi+json", "/health": "application/json"} {
		answer, err := http.Get(as("").Base() + path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != kind {
			t.Errorf("%s: %v %s %s", path, err, answer.Status, answer.Header)
		}
	}
}
