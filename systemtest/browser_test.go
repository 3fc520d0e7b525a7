//go:build e2e

package systemtest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

func TestSmoke(t *testing.T) {
	dir := t.TempDir()
	c, err := NewCluster("/tmp/x/holdfast", dir, "log-level = \"debug\"\n", Three(func(i int) string { return fmt.Sprintf("127.0.10.%d", i) }))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Found(context.Background()); err != nil {
		t.Fatal(err)
	}
	err = Eventually(t.Context(), time.Minute, func() error { o, err := c.Do(t.Context(), "north-1", "status"); t.Logf("%s", o); return err })
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"north-1", "south-1", "third-1"} {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.PID(n)))
		t.Logf("%s", b)
		s := time.Now()
		c.Stop(n)
		t.Log(n, time.Since(s))
		l, _ := os.ReadFile(dir + "/" + n + ".log")
		t.Logf("%s", l[max(0, len(l)-6000):])
	}
}
