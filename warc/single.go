package warc

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"holdfast/internal/disk"
)

// NewFile returns a writer of the one WARC file at path, which is not rolled; the name's ending tells the compression.
// An unfinished file of that name is removed, a finished one is fs.ErrExist. Of cfg, only Format, Level, Info and Now
// count.
func NewFile(d disk.Disk, path string, cfg FilesConfig, finished func(Finished) error) (*Files, error) {
	cfg.Dir, cfg.Prefix, cfg.Node, cfg.MaxBytes = filepath.Dir(path), "", "", math.MaxInt64
	switch {
	case strings.HasSuffix(path, ".warc.gz"):
		cfg.Compression = Gzip
	case strings.HasSuffix(path, ".warc.zst"):
		cfg.Compression = Zstd
	case strings.HasSuffix(path, ".warc"):
		cfg.Compression = None
	default:
		return nil, fmt.Errorf("write %s: want a name that ends in .warc, .warc.gz or .warc.zst", path)
	}
	if exists(path) {
		return nil, fmt.Errorf("write %s: %w", path, os.ErrExist)
	}
	if exists(path + openSuffix) {
		if err := d.Remove(path + openSuffix); err != nil {
			return nil, err
		}
	}
	f, err := NewFiles(d, cfg, finished)
	if err != nil {
		return nil, err
	}
	f.exact = path
	return f, nil
}
