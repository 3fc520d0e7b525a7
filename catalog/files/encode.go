package files

import "holdfast/catalog/agree"

// AppendJSON writes the value as encoding/json would.
func (t Totals) AppendJSON(out []byte) ([]byte, bool) {
	o := agree.Object{Out: out}
	o.Int(`{"files":`, t.Files)
	o.Int(`,"bytes":`, t.Bytes)
	o.Int(`,"good":`, t.Good)
	o.Int(`,"owed":`, t.Owed)
	o.Int(`,"disputed":`, t.Disputed)
	return o.End()
}

// AppendJSON writes the value as encoding/json would.
func (r Root) AppendJSON(out []byte) ([]byte, bool) {
	o := agree.Object{Out: out}
	o.Int(`{"files":`, r.Files)
	o.Int(`,"bytes":`, r.Bytes)
	if !r.Sum.IsZero() {
		o.Digest(`,"sum":`, r.Sum)
	}
	return o.End()
}

// AppendJSON writes the value as encoding/json would.
func (f *File) AppendJSON(out []byte) ([]byte, bool) {
	o := agree.Object{Out: out}
	o.Text(`{"name":`, string(f.Name))
	o.Int(`,"size":`, f.Size)
	o.Digest(`,"sha256":`, f.SHA256)
	o.Text(`,"collection":`, string(f.Collection))
	o.Text(`,"source":`, string(f.Source))
	o.When(f.Released, `,"released":true`)
	o.Int(`,"added":`, int64(f.Added))
	if f.Job != 0 {
		o.Uint(`,"job":`, f.Job)
	}
	if f.Attempt != 0 {
		o.Int(`,"attempt":`, int64(f.Attempt))
	}
	if f.Removed != 0 {
		o.Int(`,"removed":`, int64(f.Removed))
	}
	o.Optional(`,"reason":`, f.Reason)
	o.Optional(`,"removedBy":`, f.RemovedBy)
	if f.Hidden != 0 {
		o.Int(`,"hidden":`, int64(f.Hidden))
	}
	if f.Until != 0 {
		o.Int(`,"until":`, int64(f.Until))
	}
	if f.Lost != 0 {
		o.Int(`,"lost":`, int64(f.Lost))
	}
	o.Optional(`,"lostWhy":`, f.LostWhy)
	o.Uint(`,"version":`, f.Version)
	for i := range f.Copies {
		o.When(i == 0, `,"copies":[`)
		o.When(i > 0, `,`)
		f.Copies[i].append(&o)
	}
	o.When(len(f.Copies) > 0, `]`)
	return o.End()
}

func (c *Copy) append(o *agree.Object) {
	o.Text(`{"replica":`, string(c.Replica))
	o.Text(`,"state":`, string(c.State))
	o.Optional(`,"node":`, string(c.Node))
	if !c.Found.IsZero() {
		o.Digest(`,"found":`, c.Found)
	}
	o.Optional(`,"reason":`, c.Reason)
	if c.Tries != 0 {
		o.Int(`,"tries":`, int64(c.Tries))
	}
	o.Int(`,"since":`, int64(c.Since))
	o.Optional(`,"fileList":`, string(c.FileList))
	o.Optional(`,"checksum":`, string(c.Checksum))
	o.When(c.Disputed, `,"disputed":true`)
	o.When(c.Surplus, `,"surplus":true`)
	o.Raw(`}`)
}
