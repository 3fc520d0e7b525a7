package catalog

import "holdfast/catalog/agree"

// ParseJSON reads the body as the programs write it.
func (a *Additions) ParseJSON(text []byte) bool {
	c, out := agree.NewScanner(text), Additions{}
	c.Must(`{"files":`)
	c.Each(func() {
		var a Addition
		c.Must(`{"name":`)
		a.Name = FileName(c.Text())
		c.Must(`,"size":`)
		a.Size = c.Int()
		c.Must(`,"sha256":`)
		a.SHA256 = c.Digest()
		c.Must(`,"collection":`)
		a.Collection = CollectionName(c.Text())
		c.Must(`,"source":`)
		a.Source = NodeID(c.Text())
		if c.Skip(`,"job":`) {
			a.Job = c.Uint()
		}
		if c.Skip(`,"attempt":`) {
			a.Attempt = c.Number()
		}
		c.Must(`}`)
		out.Files = append(out.Files, a)
	})
	c.Must(`}`)
	if c.Done() {
		*a = out
	}
	return c.Done()
}

// ParseJSON reads the body as the programs write it.
func (r *CopyReports) ParseJSON(text []byte) bool {
	c, out := agree.NewScanner(text), CopyReports{}
	c.Must(`{"node":`)
	out.Node = NodeID(c.Text())
	c.Must(`,"copies":`)
	c.Each(func() {
		var r CopyReport
		c.Must(`{"name":`)
		r.Name = FileName(c.Text())
		c.Must(`,"state":`)
		r.State = scanState(&c)
		if c.Skip(`,"sha256":`) {
			r.SHA256 = c.Digest()
		}
		r.Reason = c.Optional(`,"reason":`)
		c.Must(`}`)
		out.Copies = append(out.Copies, r)
	})
	c.Must(`}`)
	if c.Done() {
		*r = out
	}
	return c.Done()
}

// ParseJSON reads the body as the programs write it.
func (r *Releases) ParseJSON(text []byte) bool {
	c, out := agree.NewScanner(text), Releases{}
	c.Must(`{"node":`)
	out.Node = NodeID(c.Text())
	c.Must(`,"files":`)
	c.Each(func() { out.Files = append(out.Files, FileName(c.Text())) })
	c.Must(`}`)
	if c.Done() {
		*r = out
	}
	return c.Done()
}
