package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A program that uses the Go client brings nothing of the server along.
func TestTheClientBringsNothingOfTheServer(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./client").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	ours := slices.DeleteFunc(slices.Clone(deps), func(d string) bool { return !strings.HasPrefix(d, "holdfast/") })
	slices.Sort(ours)
	if want := []string{"holdfast/api/wire", "holdfast/cdx", "holdfast/client", "holdfast/harvest", "holdfast/harvest/act"}; !slices.Equal(ours, want) {
		t.Errorf("the client needs %v, want %v", ours, want)
	}
	for _, d := range deps {
		for _, no := range []string{"danielgtaylor/huma", "dgraph-io/", "hashicorp/", "quic-go"} {
			if strings.Contains(d, no) {
				t.Errorf("the client needs %s", d)
			}
		}
	}
}
