package replica

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// TestACorrectedChecksumIsReadAgain: both copies have other bytes than the catalog says. When it is corrected, the nodes
// read the copies again, which are good then where they lie; nothing is set aside.
func TestACorrectedChecksumIsReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1")
		c.raiseTo(files.LevelOfChallenges)
		name := fileName(1)
		body := c.node("north-1").put(name, 1, 400_000)
		c.complete(name)
		c.until("the source has released it", func(v catalog.View) bool { f, err := v.File(name); return err == nil && f.Released })
		right := bytes.Clone(body)
		right[7]++
		for _, node := range []string{"north-1", "south-1"} {
			if err := os.WriteFile(c.node(node).r.store.Path(name), right, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		sum := catalog.Digest(sha256.Sum256(right))
		c.until("both are found to have the other bytes", func(v catalog.View) bool {
			f, err := v.File(name)
			return err == nil && f.Copy("north").Found == sum && f.Copy("south").Found == sum
		})
		c.must(files.SetChecksum, files.Correction{Name: name, Was: sha256.Sum256(body), SHA256: sum, Reason: "test"})
		for _, node := range []string{"north-1", "south-1"} { // as audit run FILE asks of each node
			if _, err := c.node(node).r.JoinAudit("g", AuditRequest{Scope: AuditScope{Files: []catalog.FileName{name}}}); err != nil {
				t.Fatal(err)
			}
		}
		sleep(t.Context(), time.Hour)
		c.View(func(v catalog.View) error {
			if f, err := v.File(name); err != nil || !f.Complete() {
				t.Errorf("after an audit: %+v, %v", f, err)
			}
			return nil
		})
		sleep(t.Context(), time.Minute)
		for _, node := range []string{"north-1", "south-1"} {
			in, err := c.node(node).r.OpenCopy(t.Context(), name, nodeID(node), 0, -1)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(in)
			if err = errors.Join(err, in.Close()); err != nil || !bytes.Equal(got, right) {
				t.Errorf("%s gives %d bytes, %v", node, len(got), err)
			}
		}
	})
}
