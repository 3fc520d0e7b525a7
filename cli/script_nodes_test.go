//go:build slow

package cli

import "testing"

// TestNodeScripts plays testdata/nodes/*.txtar, which start nodes: each is one promise of the command line.
func TestNodeScripts(t *testing.T) {
	t.Parallel()
	play(t, "testdata/nodes")
}
