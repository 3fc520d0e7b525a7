package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/files"
)

// FileListing is the input of a list of files.
type FileListing struct {
	Paging
	Prefix     string `query:"prefix" maxLength:"200" doc:"list only names that begin with this"`
	Collection string `query:"collection" maxLength:"64" doc:"list only files of this collection"`
	Job        uint64 `query:"job" minimum:"1" maximum:"9007199254740991" doc:"list only files that this job made"`
	State      string `query:"state" enum:"complete,incomplete,owed,stuck,disputed,corrupt,missing,lost,removed,hidden" doc:"list only files in this state; by default, all but those that are removed and can be restored. hidden: it is removed and can be restored; removed: it is removed; complete: every replica has a verified copy that a node answers for; incomplete: it has not, and the file is neither removed nor lost; owed, disputed, corrupt, missing: a copy is so; stuck: a copy is owed, and no node that is alive, as the answering one hears, has good bytes"`
	Replica    string `query:"replica" maxLength:"64" doc:"list only files that belong on this replica; with a state of copies, only those whose copy on it is in that state"`
}

// Bounds of one page: how many files are read in all, and at once.
const (
	filesRead = 2000
	filesPage = 200
)

// filtered reports whether files may not match.
func (in *FileListing) filtered() bool {
	return in.Collection+in.State+in.Replica != "" || in.Job != 0
}

// within is what the names of all files that are looked for begin with; false if there are none.
func (in *FileListing) within() (string, bool) {
	if in.Job == 0 {
		return in.Prefix, true
	}
	ofJob := fmt.Sprintf("%d-", in.Job) // as nodes name what they harvest
	if strings.HasPrefix(in.Prefix, ofJob) {
		return in.Prefix, true
	}
	return ofJob, strings.HasPrefix(ofJob, in.Prefix)
}

// read returns the next n files behind one from the shortest list that has all which are looked for.
func (in *FileListing) read(v catalog.View, prefix string, after catalog.FileName, n int) ([]catalog.File, error) {
	switch in.State {
	case "lost":
		return v.Lost(after, n)
	case "hidden":
		return agreed.RemovalsIn(v.Reader).Hidden(after, n)
	case "disputed":
		return v.Disputed(after, n)
	}
	return v.Files(prefix, after, n)
}

// matches reports whether a file is one that is looked for, as far as its entry says: complete says whether one with
// all copies is shown as such, and whether it is stuck is asked of those that match.
func (in *FileListing) matches(f *catalog.File, prefix string, complete func() (bool, error)) (bool, error) {
	if !strings.HasPrefix(string(f.Name), prefix) || in.Collection != "" && string(f.Collection) != in.Collection ||
		in.Job != 0 && f.Job != in.Job {
		return false, nil
	}
	there := f.RemovedAt() == 0 && f.Lost == 0
	test := func(c *catalog.Copy) bool { return !c.Surplus }
	switch in.State {
	case "removed":
		there, test = f.RemovedAt() != 0, func(*catalog.Copy) bool { return true }
	case "lost":
		there = f.Lost != 0
	case "owed", "stuck":
		test = func(c *catalog.Copy) bool { return !c.Surplus && c.State != catalog.UploadCompleted }
	case "disputed":
		test = func(c *catalog.Copy) bool { return !c.Surplus && c.Disputed }
	case "corrupt":
		test = func(c *catalog.Copy) bool { return !c.Surplus && c.Checksum == catalog.ChecksumCorrupt }
	case "missing":
		test = func(c *catalog.Copy) bool { return !c.Surplus && c.FileList == catalog.FileListMissing }
	case "hidden":
		there = f.Hidden != 0
	case "":
		there = f.Hidden == 0
	}
	ofCopies := slices.Contains([]string{"owed", "stuck", "disputed", "corrupt", "missing"}, in.State)
	if !there || (ofCopies || in.Replica != "") && !slices.ContainsFunc(f.Copies, func(c catalog.Copy) bool {
		return (in.Replica == "" || string(c.Replica) == in.Replica) && test(&c)
	}) {
		return false, nil
	}
	if in.State != "complete" && in.State != "incomplete" {
		return true, nil
	}
	is, err := f.Complete(), error(nil)
	if is {
		is, err = complete()
	}
	return is == (in.State == "complete"), err
}

// list returns a page of files.
func (s files) list(ctx context.Context, in *FileListing) (wire.Page[wire.File], error) {
	page := wire.Page[wire.File]{Items: []wire.File{}}
	text, err := openCursor(in.After, "f")
	if err != nil {
		return page, err
	}
	prefix, some := in.within()
	if !some {
		return page, nil
	}
	window := min(in.Limit+1, filesPage)
	if in.filtered() {
		window = filesPage
	}
	err = s.Catalog.View(func(v catalog.View) error {
		stuck := s.stuckIn(ctx, v)
		for after, read := catalog.FileName(text), 0; ; {
			found, err := in.read(v, prefix, after, window)
			if err != nil {
				return err
			}
			for i := range found {
				f := &found[i]
				matches, err := in.matches(f, prefix, func() (bool, error) {
					shown, err := show(v, *f)
					return shown.Complete, err
				})
				var waits *wire.Stuck
				if err == nil && matches && in.State == "stuck" {
					waits, err = stuck.find(f, in.Replica)
					matches = waits != nil
				}
				if err != nil {
					return err
				}
				if matches && len(page.Items) == in.Limit || read == filesRead {
					page.Next = makeCursor("f", string(after))
					return nil
				}
				if matches {
					shown, err := show(v, *f)
					if err != nil {
						return err
					}
					shown.Stuck = waits
					page.Items = append(page.Items, shown)
				}
				after = f.Name
				read++
			}
			if len(found) < window {
				return nil
			}
		}
	})
	return page, err
}
