package replica

import (
	"errors"
	"io/fs"
	"os"

	"holdfast/catalog"
)

// present reports whether the copy is there, has its size, and is listed in the manifest as the catalog has it. When
// it is not so, or that cannot be told, the caller reads the copy: a presence audit itself judges nothing.
func (p *passing) present(f catalog.File) (bool, error) {
	want := heldAs(f)
	if p.sums != nil {
		return p.held[f.Name] == want, nil
	}
	if l, listed := p.lines[f.Name]; !listed || l.digest != f.SHA256 || p.store.loose.has(f.Name) {
		return false, nil
	}
	var info fs.FileInfo
	err := p.store.shards.inPlace(p.store.Path, f.Name, func(path string) (err error) {
		info, err = os.Lstat(path)
		return err
	})
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			p.log.Warn("a copy cannot be looked at and is read", "file", f.Name, "err", err)
		}
		return false, nil
	}
	return info.Mode().IsRegular() && info.Size() == f.Size, nil
}
