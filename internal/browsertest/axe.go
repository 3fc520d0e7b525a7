package browsertest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The axe-core that judges our pages. It comes from npm's registry, once a machine, and is no part of the program.
const (
	axeFile = "axe-core-4.14.1.tgz"
	axeName = "axe-core@4.14.1"
	axeSum  = "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"
)

// axe returns axe-core's script.
func axe() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "holdfast-checks")
	packed, err := os.ReadFile(filepath.Join(cache, axeFile))
	if err != nil || sum(packed) != axeSum {
		if packed, err = pack(cache); err != nil {
			return "", err
		}
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	for files := tar.NewReader(plain); ; {
		file, err := files.Next()
		if err != nil {
			return "", fmt.Errorf("%s: axe.min.js: %w", axeFile, err)
		}
		if file.Name == "package/axe.min.js" {
			script, err := io.ReadAll(files)
			return string(script), err
		}
	}
}

// pack lets npm bring the package into the cache.
func pack(cache string) ([]byte, error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	fresh, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(fresh)
	cmd := exec.Command("npm", "pack", "--silent", "--ignore-scripts", axeName)
	cmd.Dir = fresh
	if said, err := cmd.CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("these tests need Debian's package npm, which brings %s: %w", axeName, err)
	} else if err != nil {
		return nil, fmt.Errorf("npm pack %s: %w: %s", axeName, err, said)
	}
	packed, err := os.ReadFile(filepath.Join(fresh, axeFile))
	if err != nil {
		return nil, err
	}
	if sum(packed) != axeSum {
		return nil, fmt.Errorf("%s has the SHA-256 %s, not %s", axeFile, sum(packed), axeSum)
	}
	return packed, os.Rename(filepath.Join(fresh, axeFile), filepath.Join(cache, axeFile))
}

func sum(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// Findings returns what axe-core finds in the page against WCAG 2.2 at level AA, a line for each element.
func (tab *Tab) Findings(t testing.TB) (found []string) {
	t.Helper()
	script, err := tab.b.axe()
	if err != nil {
		t.Fatal(err)
	}
	tab.Eval(t, script+";0", nil)
	tab.Eval(t, `axe.run({
		runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"],
		rules: {"target-size": {enabled: true}},
		preload: false, resultTypes: ["violations"],
	}).then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + n.html.slice(0, 200) + ": " +
		n.failureSummary)))`, &found)
	return found
}
