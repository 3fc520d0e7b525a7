package batches

import (
	"regexp"
	"slices"
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/files"
)

// View answers questions about the subject; see agree.View.
type View struct{ agree.View }

// NewView returns a View of what r shows.
func NewView(r agree.Reader) View { return View{agree.View{Reader: r}} }

// Batches returns all batches, by id.
func (v View) Batches() ([]Batch, error) { return agree.List[Batch](v.Reader, PrefixBatches, "", 0) }

// Batch returns the batch, or ErrNotFound.
func (v View) Batch(id string) (Batch, error) {
	return agree.Found(agree.Get[Batch](v.Reader, keyBatch(id)))
}

// Names returns the list of names of a batch, in order.
func (v View) Names(b *Batch) ([]files.FileName, error) {
	parts, err := agree.List[names](v.Reader, prefixNamesOf(b.ID), "", 0)
	out := make([]files.FileName, 0, b.Named)
	for i := range parts {
		out = append(out, parts[i].Names...)
	}
	return out, err
}

// Reach returns the collections that a batch reads; none means all. One that was removed since, or made again, has an
// empty name: only who may read the whole archive may have to do with it.
func (v View) Reach(b *Batch) ([]cluster.CollectionName, error) {
	var out []cluster.CollectionName
	for _, name := range b.Selection.Collections {
		c, there, err := cluster.In(v.Reader).Collection(name)
		if err != nil {
			return nil, err
		}
		if !there || c.Created > b.Opened {
			name = ""
		}
		out = append(out, name)
	}
	return out, nil
}

// Selector decides which files a batch processes.
type Selector struct {
	b       *Batch
	matches *regexp.Regexp
}

// NewSelector returns the selector of a batch that has begun.
func NewSelector(b *Batch) (*Selector, error) {
	matches, err := expression(b.Selection.Files)
	return &Selector{b, matches}, err
}

// Prefix returns what the names of all selected files begin with. It is "" if they may begin with anything.
func (x *Selector) Prefix() string {
	if x.matches == nil {
		return ""
	}
	prefix, _ := regexp.MustCompile(strings.TrimPrefix(x.matches.String(), "^")).LiteralPrefix()
	return prefix
}

// Matches reports whether a file of that name may be selected.
func (x *Selector) Matches(name files.FileName) bool {
	return x.matches == nil || x.matches.MatchString(string(name))
}

// Selects reports whether the file is selected, as far as its entry says: the archive had it when the batch began. One
// that was removed since is; so is one that is declared lost.
func (x *Selector) Selects(f *files.File) bool {
	s := &x.b.Selection
	if f.Added > x.b.Begun || f.RemovedAt() != 0 && f.RemovedAt() <= x.b.Begun || !x.Matches(f.Name) ||
		len(s.Collections) > 0 && !slices.Contains(s.Collections, f.Collection) || s.Job != 0 && f.Job != s.Job {
		return false
	}
	if s.Replica == "" {
		return true
	}
	c := f.Copy(s.Replica)
	return c != nil && !c.Surplus || f.Removed != 0
}
