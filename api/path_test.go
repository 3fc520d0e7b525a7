package api

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestEveryPathIsDescribed compares the names in the paths of the description with the parameters that it has: what is
// not described is not read either.
func TestEveryPathIsDescribed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "doc", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var description struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal(text, &description); err != nil {
		t.Fatal(err)
	}
	inPath := regexp.MustCompile(`\{([^}]+)\}`)
	names := 0
	for path, operations := range description.Paths {
		for method, o := range operations {
			for _, name := range inPath.FindAllStringSubmatch(path, -1) {
				names++
				if !slices.Contains(o.Parameters, struct{ Name, In string }{name[1], "path"}) {
					t.Errorf("%s %s: %s is not described", method, path, name[1])
				}
			}
		}
	}
	if names < 50 {
		t.Errorf("only %d names in paths", names)
	}
}
