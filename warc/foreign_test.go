//go:build samples

package warc_test

import (
	"os"
	"testing"
)

// TestForeignFiles reads every file of a collection that other tools wrote, good or broken: each is read, or refused with
// an error that names file and offset. The files are not ours to give away; HOLDFAST_SAMPLES is the folder with them.
func TestForeignFiles(t *testing.T) {
	dir := os.Getenv("HOLDFAST_SAMPLES")
	if dir == "" {
		t.Fatal("HOLDFAST_SAMPLES is not set: it is the folder with the sample files")
	}
	compare(t, dir, "testdata/samples.golden")
}
